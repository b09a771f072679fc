"""What the commands print: a live line on a terminal, plain lines elsewhere, JSON on request."""

from __future__ import annotations

import json as json_module
import math
import shutil
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import typer

from rosenblatt.cli.understood import understood
from rosenblatt.counts import counted, noun
from rosenblatt.data.report import describe
from rosenblatt.errors import listed
from rosenblatt.kernels import jit

if TYPE_CHECKING:
    from rosenblatt.data import Source
    from rosenblatt.data.report import ColumnReport
    from rosenblatt.estimators.evaluation import Evaluation
    from rosenblatt.estimators.file_run import FileRun
    from rosenblatt.estimators.label_evaluation import LabelEvaluation
    from rosenblatt.estimators.tuning import Trial
    from rosenblatt.models import Model

# As in the demo: what is reached is green, what to look at yellow. On terminals only.
_COLOURS = {"model ": "green", " " * 11 + "note:": "yellow", "left out": "yellow"}
_WIDTH = 80
_REFRESH = 0.1  # seconds between two refreshes of the live line
_MOST_COLUMNS = 20  # that are named


class ProgressPrinter:
    """Prints the progress of training.

    Parameters
    ----------
    quiet, json : bool
        Print nothing; or only one JSON object at the end.
    """

    def __init__(self, quiet: bool = False, json: bool = False) -> None:
        self.quiet, self.json = quiet, json
        self.live = sys.stderr.isatty() and not quiet and not json
        self.run: FileRun | None = None
        self._began = self._shown = self._epoch_began = self._clock()
        self._epochs = self._width = 0
        self._compiling = False
        self._tried = False
        self._reports: list[ColumnReport] | None = None
        jit.on_compile(self._announce)

    def say_what_was_understood(self, source: Source) -> None:
        """Print what the columns of a source were taken for."""
        self._reports = describe(source)
        if self.json:
            columns = [report.to_json() for report in self._reports]
            typer.echo(json_module.dumps({"format": source.format, "columns": columns}))
            return
        for line in understood(source, self._reports):
            self._line(line)

    def step(self, run: FileRun) -> None:
        """Print finished epochs and refresh the live line; called after every step."""
        self.run = run
        if self.quiet or self.json:
            return
        now = self._clock()
        if self._reports is None:
            self.say_what_was_understood(run.source)
        for epoch in run.history[self._epochs :]:
            if epoch.epoch == 1:
                self._line(_reading_line(run, now - self._epoch_began))
                if run.shards:
                    self._line(_shards_line(run))
            self._line(_epoch_line(epoch.epoch, epoch.updates, asdict(epoch)))
            self._epoch_began = now
            self._epochs += 1
        if self.live and now - self._shown > _REFRESH:
            self._shown = now
            self._rewrite(_live_line(run, now - self._epoch_began))

    def trial(self, trial: Trial) -> None:
        """Print what was tried while settings are chosen."""
        if self.quiet or self.json:
            return
        if not self._tried:
            self._line(f"{'error':>10}  {'rows':>9}  tried")
        self._tried = True
        self._line(trial_line(trial))

    def trained(self, model: Model, out: Path) -> None:
        """Print why training stopped, what was left out, and the model file."""
        self.close()
        jit.on_compile(None)
        seconds = self._clock() - self._began
        run = self.run
        assert run is not None, "training takes a step at least"
        if self.json:
            typer.echo(json_module.dumps(_summary(model, run, out, seconds)))
        if self.quiet or self.json:
            return
        why = {
            "validation": f"no better for {counted(run.settings.patience, 'epoch')}",
            "separated": "an epoch without an update",
            "budget": "all epochs done",
        }[run.stop_reason or ""]
        epochs = counted(run.refit_epochs, "epoch")
        again = f"; retrained on all rows for {epochs}" if run.refit_epochs else ""
        self._line(f"stopped    {why}{again}")
        if "mixing" in model.parameters:
            self._line(_mixing_line(model.parameters["mixing"]))
        if run.held_out.reached is not None:
            self._line(_target_line(run))
        if run.source.bad:
            self._line(f"left out   {counted(run.source.bad, 'bad row')}")
        if run.source.missing:
            most = run.source.missing.most_common(5)
            worst = ", ".join(f"{count:,} in {name}" for name, count in most)
            self._line(f"missing    values: {worst}")
        size = readable_size(out.stat().st_size)
        about = f"{_extent(model)}, {size}, in {seconds:.2f} s"
        line = f"model      {out}  {about}"
        for part in [line] if len(line) <= _WIDTH else [f"model      {out}", f"           {about}"]:
            self._line(part)

    @contextmanager
    def warnings(self) -> Iterator[None]:
        """Print warnings as one line each."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore" if self.quiet else "always")
            warnings.showwarning = self._warn  # type: ignore[assignment]
            yield

    def _warn(self, message: Warning | str, *rest: Any) -> None:
        self.close()
        typer.echo(f"rosenblatt: {message}", err=True)

    def _announce(self, kernel: str) -> None:
        """Say once, before the wait, that kernels are compiled."""
        if not self._compiling and not self.quiet and not self.json:
            self.close()
            typer.echo("compiling, once on this machine ...", err=True)
        self._compiling = True

    @staticmethod
    def _clock() -> float:
        """Seconds, without those that kernels were compiled in."""
        return perf_counter() - jit.compile_seconds()

    def close(self) -> None:
        """Clear the live line."""
        if self.live and self._width:
            self._rewrite("")

    def _line(self, text: str) -> None:
        self.close()
        colour = next((c for start, c in _COLOURS.items() if text.startswith(start)), None)
        typer.secho(text, fg=colour)

    def _rewrite(self, text: str) -> None:
        text = text[: shutil.get_terminal_size().columns - 1]
        sys.stderr.write("\r" + text.ljust(self._width) + "\r")
        sys.stderr.flush()
        self._width = len(text)


def trial_line(trial: Trial) -> str:
    """A trial in at most 80 characters.

    >>> from rosenblatt.estimators.tuning import Choice, Trial
    >>> from rosenblatt.kernels.text import Ngrams
    >>> trial_line(Trial(Choice(Ngrams()), 2500, 0.0925, 4, 0.3))
    '    9.25 %      2,500  words 1-2 2^22, threshold 2, padding 0.1'
    """
    c, n = trial.choice, trial.choice.ngrams
    parts = [f"{'chars' if n.chars else 'words'} {n.low}-{n.high} 2^{n.bits}"]
    parts += [f"threshold {c.threshold:g}"] if c.rule == "perceptron" else [c.rule]
    parts += [f"padding {c.padding:g}"]
    parts += ["last"] if not c.average else []
    parts += ["joint"] if c.multiclass == "joint" else []
    return f"{percent(trial.error):>10}  {trial.rows:>9,}  {', '.join(parts)}"


def readable_size(bytes: float) -> str:
    """A number of bytes for readers.

    >>> readable_size(740), readable_size(33_300), readable_size(22_100_000)
    ('740 bytes', '33.3 kB', '22.1 MB')
    """
    if bytes < 1000:
        return counted(int(bytes), "byte")
    return f"{bytes / 1e3:.1f} kB" if bytes < 1e6 else f"{bytes / 1e6:.1f} MB"


def percent(share: float) -> str:
    """A share as a percentage, or a dash.

    >>> percent(0.0925), percent(float("nan"))
    ('9.25 %', '-')
    """
    return "-" if math.isnan(share) else f"{100 * share:.2f} %"


def _extent(model: Model) -> str:
    classes = counted(len(model.classes), "class", "classes")
    return f"{classes}, {counted(len(model.columns), 'feature')}"


def _epoch_line(number: int, updates: int, record: dict[str, Any]) -> str:
    """An epoch in at most 80 characters."""
    progressive, validation = (
        percent(record.get(name, math.nan)) for name in ("progressive_error", "validation_error")
    )
    return (
        f"epoch {number:<3} {updates:>9,} {noun(updates, 'update'):<7}   "
        f"progressive error {progressive:>8}   validation {validation:>8}"
    )


def _reading_line(run: FileRun, seconds: float) -> str:
    """How much was read, and how fast."""
    size = run.rows.bytes
    rate = f" at {size / 1e6 / max(seconds, 1e-9):.0f} MB/s" if size > 1e6 else ""
    return f"read       {counted(len(run.rows.store), 'row')}, {readable_size(size)}{rate}"


def _shards_line(run: Any) -> str:
    """How many shards and workers there are, and where these can be watched."""
    watched = f", dashboard {run.engine.dashboard}" if run.engine.dashboard else ""
    return f"shards     {run.shards}, for {counted(run.engine.workers, 'worker')}{watched}"


def _mixing_line(mixing: dict[str, Any]) -> str:
    """The updates of a run by several workers beside their bound.

    >>> _mixing_line({"updates": 90, "mixed_updates": 22.5, "mixed_bound": 40.0, "bound": 160.0})
    'mixing     90 updates (at most 160), 22.5 by shares (at most 40.0)'
    """
    updates, mixed = counted(mixing["updates"], "update"), f"{mixing['mixed_updates']:,.1f}"
    if "bound" not in mixing:
        return f"mixing     {updates}, {mixed} by shares"
    total, least = f"{math.ceil(mixing['bound']):,}", f"{mixing['mixed_bound']:,.1f}"
    return f"mixing     {updates} (at most {total}), {mixed} by shares (at most {least})"


def _kinds(columns: Any) -> str:
    """The names and kinds of columns, the first of many.

    >>> from rosenblatt.data import Column
    >>> _kinds([Column("age", "number"), Column("job", "category")])
    'age (number), job (category)'
    """
    more = ["..."] if len(columns) > _MOST_COLUMNS else []
    return ", ".join([*(f"{c.name} ({c.kind})" for c in columns[:_MOST_COLUMNS]), *more])


def _target_line(run: FileRun) -> str:
    """What the threshold reached on the rows that chose it."""
    reached = run.held_out.reached or {}
    parts = ", ".join(f"{name} {percent(value)}" for name, value in reached.items())
    return f"target     {run.settings.target}: on held-out rows {parts}"


def _live_line(run: FileRun, seconds: float) -> str:
    if run.shards:
        what = f"epoch {run.progress.epoch + 1} ({run.phase})" if run.history else "first pass"
        return f"{what}  {run.done} of {counted(run.tasks, 'task')} done, {seconds:.0f} s"
    visits, counts = run.progress.position, run.progress.counts
    rate = visits / max(seconds, 1e-9)
    parts = [f"epoch {run.progress.epoch + 1} ({run.phase})", counted(visits, "row")]
    if visits:
        parts.append(f"{rate:,.0f} rows/s")
    if run.phase == "reading":
        parts.append(f"{run.rows.bytes / 1e6 / max(seconds, 1e-9):.0f} MB/s")
    elif visits:
        parts.append(f"{max(0, len(run.rows.store) - visits) / rate:.0f} s left")
    error = percent(counts.mistakes / visits) if visits else "-"
    parts += [counted(counts.updates, "update"), f"progressive error {error}"]
    if not math.isnan(run.validation_error):
        parts.append(f"best validation {percent(run.validation_error)}")
    return "  ".join(parts)


def _summary(model: Model, run: FileRun, out: Path, seconds: float) -> dict[str, Any]:
    return {
        "model": str(out),
        "classes": list(model.classes),
        "features": len(model.columns),
        "columns": [report.to_json() for report in describe(run.source)],
        "rows": len(run.rows.store),
        "bad_rows": run.source.bad,
        "missing": dict(run.source.missing),
        "stop_reason": run.stop_reason,
        "refit_epochs": run.refit_epochs,
        "calibrated": model.calibration is not None,
        "threshold": model.threshold,
        "held_out": run.held_out.reached,
        "seconds": round(seconds, 3),
        "history": model.history,
    }


def show_label_evaluation(result: LabelEvaluation, as_json: bool) -> None:
    """Print how well several labels per row are predicted."""
    if as_json:
        typer.echo(json_module.dumps(result.to_json()))
        return
    typer.echo(f"rows       {result.rows:,}")
    typer.echo(f"micro F1   {percent(result.micro_f1)}   macro F1 {percent(result.macro_f1)}")
    for rank, (precision, recall) in result.at_rank.items():
        typer.echo(f"{f'P@{rank}':<10} {percent(precision)}   R@{rank} {percent(recall)}")
    _show_notes(result)
    _show_classes(result)


def _show_notes(result: Evaluation | LabelEvaluation) -> None:
    """What was left out, and whether the model knows the rows."""
    if result.bad:
        typer.echo(f"left out   {counted(result.bad, 'bad row')}")
    if result.trained_on:
        typer.echo(f"note       the model was trained on {listed(result.trained_on, 3)}:")
        typer.echo("           on new rows it errs more often")


def _show_classes(result: Evaluation | LabelEvaluation) -> int:
    """A line per class; how wide its name may be."""
    width = max(10, *(len(name) for name in result.classes))
    typer.echo(f"\n{'class':<{width}} {'precision':>10} {'recall':>10} {'F1':>10} {'rows':>10}")
    for name, row in result.by_class().items():
        cells = "".join(f" {percent(row[key]):>10}" for key in ("precision", "recall", "f1"))
        typer.echo(f"{name:<{width}}{cells} {row['rows']:>10,}")
    return width


def show_evaluation(result: Evaluation, as_json: bool) -> None:
    """Print accuracy with its interval, each class, and the confusion matrix."""
    if as_json:
        typer.echo(json_module.dumps(result.to_json()))
        return
    low, high = result.interval()
    typer.echo(
        f"accuracy   {percent(result.accuracy)}  "
        f"(95 % interval {percent(low)} to {percent(high)}, {counted(result.rows, 'row')})"
    )
    area = "" if result.roc_auc is None else f"   ROC-AUC {result.roc_auc:.4f}"
    typer.echo(f"macro F1   {percent(result.macro_f1)}{area}")
    if result.reliability is not None:
        brier, error = result.reliability.brier, result.reliability.error
        typer.echo(f"calibrated Brier score {brier:.4f}   calibration error {percent(error)}")
    _show_notes(result)
    width = _show_classes(result)
    if max(width, 18) + 11 * len(result.classes) > _WIDTH:
        typer.echo("\nThe confusion matrix is too wide for a terminal: use --json or --plot FILE.")
    else:
        heading = r"actual \ predicted"
        width = max(width, len(heading))
        names = "".join(f" {name[:10]:>10}" for name in result.classes)
        typer.echo(f"\n{heading:<{width}}{names}")
        for name, counts in zip(result.classes, result.confusion, strict=True):
            typer.echo(f"{name:<{width}}" + "".join(f" {count:>10,}" for count in counts))


def show_model(model: Model, path: Path, top: int, as_json: bool) -> None:
    """Print what a model is, its history, and the strongest features of each class."""
    if as_json:
        typer.echo(json_module.dumps(_described(model)))
        return
    typer.echo(f"{path}: {_extent(model)}")
    typer.echo(f"trained by rosenblatt {model.package} on {_trained_on(model)}")
    for line in _feature_lines(model):
        typer.echo(line)
    for epoch in model.history:
        typer.echo(_epoch_line(epoch["epoch"], epoch.get("updates", 0), epoch))
    for name in model.classes:
        pairs = model.words.get(name, [])[:top]
        if pairs:
            typer.echo(f"\nstrongest features for {name}:")
        for word, weight in pairs:
            typer.echo(f"  {weight:>+9.3f}  {word}")


def _feature_lines(model: Model) -> list[str]:
    """The columns a model reads, and how they become features."""
    f = model.features
    if f.origin != "table":
        return [f"features as they stand in {f.origin} files"]
    lines = [f"label {f.label}; columns {_kinds(f.columns)}"]
    kinds = {column.kind for column in f.columns}
    if "text" in kinds:
        units = "characters" if f.ngrams.chars else "words"
        lines.append(
            f"n-grams of {f.ngrams.low} to {f.ngrams.high} {units}, hashed to 2^{f.ngrams.bits}"
        )
    elif "category" in kinds:
        lines.append(f"categories hashed to 2^{f.ngrams.bits} columns")
    return lines


def _trained_on(model: Model) -> str:
    files = model.fingerprint.get("files", [])
    return ", ".join(str(file.get("name")) for file in files[:5]) or "unknown files"


def _described(model: Model) -> dict[str, Any]:
    return {
        "classes": list(model.classes),
        "n_features": len(model.columns),
        "features": model.features.to_json(),
        "parameters": model.parameters,
        "history": model.history,
        "fingerprint": model.fingerprint,
        "words": model.words,
        "package": model.package,
    }
