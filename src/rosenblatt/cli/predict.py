"""`rosenblatt predict`: predicted labels, scores and probabilities, from files or in a pipe."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from rosenblatt.cli import options as o
from rosenblatt.cli.lines import say
from rosenblatt.errors import NoRowsError, OptionError, counted


def predict(
    model: o.ModelFile,
    files: Annotated[
        list[str], typer.Argument(help="Files to predict, or -; they need no labels.")
    ],
    out: Annotated[
        str,
        typer.Option(
            "--out", "-o",
            help="Output: .csv, .tsv, .jsonl, .txt, .parquet or .arrow, also as .gz or .zst; a "
            "folder, for one output per file; or - for standard output.",
        ),
    ] = "-",
    to: Annotated[
        str | None,
        typer.Option(help="The format to write: csv, tsv, jsonl, text, parquet or arrow."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Write JSON lines.")] = False,
    top: Annotated[int, typer.Option(min=1, help="Write the K best labels.")] = 1,
    scores: Annotated[
        bool, typer.Option("--scores", help="Add a column for every class.")
    ] = False,
    proba: Annotated[
        bool, typer.Option("--proba", help="Write probabilities instead of scores.")
    ] = False,
    columns: Annotated[
        str | None, typer.Option(help="Input columns to write, as a,b; all by default.")
    ] = None,
    only: Annotated[
        str | None, typer.Option(help="Write only these columns, as predicted,score.")
    ] = None,
    keep_if: Annotated[
        list[str] | None,
        typer.Option(help="Write only rows with this label: label=NAME (repeat for several)."),
    ] = None,
    at_least: Annotated[
        float | None,
        typer.Option(help="Write only rows whose label has at least this probability."),
    ] = None,
    min_score: Annotated[
        float | None, typer.Option(help="Write only rows whose label has at least this score.")
    ] = None,
    workers: o.Workers = None,
    shards: o.Shards = None,
    format: o.Format = None,
    header: o.Header = None,
    skip_bad_rows: o.SkipBadRows = False,
    quiet: o.Quiet = False,
) -> None:  # fmt: skip
    """Write the rows, in order, with the columns `predicted` and `score` added.

    Without --out it is a filter: one line in, one line out, in the format of the input. Lines of
    plain text come out as label, score and text, separated by tabs.

    Examples:

      rosenblatt predict reviews.model new.csv --out predicted.csv

      rosenblatt predict reviews.model 'new/*.parquet' --out predicted/

      rosenblatt predict reviews.model 'new/*.parquet' --out predicted/ --workers 8

      zcat crawl.gz | rosenblatt predict q.model - --keep-if label=good --at-least 0.8 --only text

      tail -f log.txt | rosenblatt predict alarm.model - --json --top 3
    """
    o.disable_blas_threads()
    from rosenblatt.atomic_files import check_output
    from rosenblatt.jobs.predict import STDOUT, OutputOptions
    from rosenblatt.models.model_file import read_model

    if json and to not in (None, "jsonl"):
        raise OptionError("--json and --to exclude each other")
    to = "jsonl" if json else to
    out = STDOUT if out == "/dev/stdout" else out
    o.model_first(model, files)
    output = OutputOptions(
        top, scores, proba, _names(columns), _names(only), _labels(keep_if), at_least, min_score
    )
    loaded = read_model(model)
    reading = {"format": format, "header": header, "skip_bad_rows": skip_bad_rows}
    if workers is not None or shards is not None:
        from rosenblatt.cluster.scoring import predict_on_shards

        workers = o.required_workers(workers, shards)
        rows, bad = predict_on_shards(
            model, files, workers, out, output, to=to, shards=shards, **reading
        )
        lines = iter([_done_line(out, rows, bad)])
    else:
        jobs = _jobs(files, out, to)
        if out == STDOUT:
            _exit_on_closed_pipe()
        for inputs, target in jobs:
            if target != STDOUT:
                check_output(Path(target), [*inputs, model])
        lines = _predict_all(jobs, loaded, output, to, reading)
    for line in lines:
        if not quiet:
            say(line, err=out == STDOUT)


def _jobs(files: list[str], out: str, to: str | None) -> list[tuple[list[str], str]]:
    """Pairs of input files and output: all files to one output, or one output per file."""
    from rosenblatt.data.bytes import expand_paths
    from rosenblatt.jobs.predict import STDOUT, output_beside

    paths = expand_paths(files)
    if out == STDOUT or not (out.endswith(os.sep) or Path(out).is_dir()):
        return [(paths, out)]
    Path(out).mkdir(parents=True, exist_ok=True)
    targets = [output_beside(path, Path(out), to) for path in paths]
    if len(set(targets)) < len(targets):
        raise OptionError(f"two files would have the same output in {out}; name others")
    return [([path], str(target)) for path, target in zip(paths, targets, strict=True)]


def _done_line(target: str, rows: int, bad: int) -> str:
    left = f", {counted(bad, 'bad row')} skipped" if bad else ""
    return f"{target}: {counted(rows, 'row')}{left}"


def _predict_all(
    jobs: list[tuple[list[str], str]], model: Any, output: Any, to: str | None, reading: Any
) -> Any:
    """Predict the files of each job, in parallel; yields a line to print per job, in order."""
    from rosenblatt import data
    from rosenblatt.data.source import in_order
    from rosenblatt.jobs.predict import STDOUT, write_nothing, write_predictions

    def run(job: tuple[list[str], str]) -> str:
        inputs, target = job
        try:
            source = data.open(inputs, features=model.features, live=True, **reading)
            source.labelled = False
            rows = write_predictions(model, source, target, output, to)
        except NoRowsError as error:
            write_nothing(target, to)
            return f"rosenblatt: {error}"
        is_silent = target == STDOUT and not source.bad
        return "" if is_silent else _done_line(target, rows, source.bad)

    # A single job runs in this thread, so that a signal ends it at once.
    lines = map(run, jobs) if len(jobs) == 1 else in_order(iter(jobs), run)
    return (line for line in lines if line)


def _exit_on_closed_pipe() -> None:
    """Let SIGPIPE end the process, as it ends other filters, when the reader closes the pipe.

    An exception would have to wait for the thread that is reading the input.
    """
    with suppress(AttributeError, OSError, ValueError):
        if sys.stdout.fileno() == 1:  # not replaced by a test or a notebook
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)


def _names(given: str | None) -> tuple[str, ...] | None:
    return None if given is None else tuple(name.strip() for name in given.split(",") if name)


def _labels(given: list[str] | None) -> tuple[str, ...]:
    """The names in options of the form ``label=NAME``."""
    labels = []
    for entry in given or ():
        name, equals, label = entry.partition("=")
        if not equals or name not in ("label", "predicted"):
            raise typer.BadParameter(f"{entry!r} is not label=NAME", param_hint="--keep-if")
        labels.append(label)
    return tuple(labels)
