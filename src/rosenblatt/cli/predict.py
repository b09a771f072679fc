"""`rosenblatt predict`: predicted labels, scores and probabilities, from files or in a pipe."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable
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
        list[str],
        typer.Argument(help="Further models, if any, then files to predict, or -, without labels."),
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
    only: Annotated[
        str | None,
        typer.Option(
            help="The columns to write, of the input and new ones, as id,predicted,score; by "
            "default all."
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            help="Write only rows with 'MODEL>0.9' (also >=, <, <=: a probability or score), "
            "MODEL=LABEL,LABEL (also !=) or 'MODEL:LABEL>0.3', the probability of one label; a "
            "model goes by its file's name. Repeat for several."
        ),
    ] = None,
    keep_top: Annotated[
        str | None,
        typer.Option(help="Write only the rows with the best 10% of the first model's values."),
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="With --keep-top: of each group, by the cells of a column.")
    ] = None,
    labels: Annotated[
        str | None, typer.Option(help="Decide among these labels alone, as en,no.")
    ] = None,
    workers: o.Workers = None,
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

      rosenblatt predict quality.model lang.model 'crawl/*.parquet' --out scored/ --workers 8

      rosenblatt predict quality.model crawl/*.jsonl --out good/ --keep-top 10% --by source

      zcat crawl.gz | rosenblatt predict q.model - --keep 'q:good>0.8' --only text

      tail -f log.txt | rosenblatt predict alarm.model - --json --top 3
    """
    o.disable_blas_threads()
    from rosenblatt.data.bytes import expand_paths
    from rosenblatt.jobs.conditions import Condition
    from rosenblatt.jobs.predict import STDOUT, OutputOptions
    from rosenblatt.jobs.scoring import Job, score_files
    from rosenblatt.models.compress import parse_share

    if json and to not in (None, "jsonl"):
        raise OptionError("--json and --to exclude each other")
    to = "jsonl" if json else to
    out = STDOUT if out == "/dev/stdout" else out
    o.model_first(model, files)
    count = next((i for i, name in enumerate(files) if not name.endswith(".model")), len(files))
    models, files = [str(model), *files[:count]], files[count:]
    if not files:
        raise OptionError("name the files to predict after the models")
    output = OutputOptions(
        top, scores, proba, _names(only),
        tuple(map(Condition.parse, keep or ())), by=by,
    )  # fmt: skip
    reading = {"format": format, "header": header, "skip_bad_rows": skip_bad_rows}
    job = Job(tuple(models), output, to, tuple(reading.items()), _names(labels) or ())
    paths = expand_paths(files)
    folder = _folder(out, keep_top is not None or workers is not None)
    _check(job, folder, keep_top, workers)
    if folder is not None:
        share, run = None if keep_top is None else parse_share(keep_top), None
        if workers is not None:
            from rosenblatt.cluster.scoring import on_workers

            run = on_workers(workers)
        lines: Iterable[str] = map(_done_line, score_files(job, paths, folder, share, run))
    else:
        lines = [_predict_all(job, paths, out)]
    for line in filter(None, lines):
        if not quiet:
            say(line, err=out == STDOUT)


def _folder(out: str, is_likely: bool) -> Path | None:
    """The folder of the outputs, if there is one per input."""
    named = out.endswith(os.sep) or Path(out).is_dir() or (is_likely and not Path(out).suffix)
    is_folder = out != "-" and named
    return Path(out) if is_folder else None


def _check(job: Any, folder: Path | None, keep_top: str | None, workers: str | None) -> None:
    """Refuse options that contradict each other."""
    used = [("--keep-top", keep_top), ("--workers", workers)]
    for name in [name for name, value in used if value is not None and folder is None]:
        raise OptionError(f"{name} needs a folder for one output per file: --out predicted/")
    if job.options.by is not None and keep_top is None:
        raise OptionError(f"--by {job.options.by} is for --keep-top: give both, or neither")
    alone = {"top": 1, "scores": False, "proba": False}
    if len(job.paths) > 1:
        for name, value in alone.items():
            if getattr(job.options, name) != value:
                flag = "--" + name.replace("_", "-")
                raise OptionError(f"{flag} is for one model")


def _done_line(done: Any) -> str:
    """What is printed of an output."""
    if done.note:
        return f"rosenblatt: {done.note}"
    left = f", {counted(done.bad, 'bad row')} skipped" if done.bad else ""
    return f"{done.target}: {counted(done.rows, 'row')}{left}"


def _predict_all(job: Any, paths: list[str], out: str) -> str:
    """Predict all files into one output; returns a line to print, or nothing."""
    from rosenblatt.atomic_files import check_output
    from rosenblatt.jobs.predict import STDOUT, write_nothing
    from rosenblatt.jobs.scoring import Done, write_one

    if out == STDOUT:
        _exit_on_closed_pipe()
    else:
        check_output(Path(out), [*paths, *job.paths])
    try:
        done = Done(Path(out), **write_one(job, paths, out, live=True))
    except NoRowsError as error:
        write_nothing(out, job.to)
        return f"rosenblatt: {error}"
    return "" if out == STDOUT and not done.bad else _done_line(done)


def _exit_on_closed_pipe() -> None:
    """Let SIGPIPE end the process, as it ends other filters, when the reader closes the pipe.

    An exception would have to wait for the thread that is reading the input.
    """
    with suppress(AttributeError, OSError, ValueError):
        if sys.stdout.fileno() == 1:  # not replaced by a test or a notebook
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)


def _names(given: str | None) -> tuple[str, ...] | None:
    return None if given is None else tuple(name.strip() for name in given.split(",") if name)
