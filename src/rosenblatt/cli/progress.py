"""The output of `rosenblatt train`: a live line on a terminal, plain lines, or JSON."""

from __future__ import annotations

import json as json_module
import math
import os
import shutil
import sys
import textwrap
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from rosenblatt.cli.lines import (
    WIDTH,
    epoch_line,
    extent,
    feature_line,
    ngram_range,
    percent,
    readable_size,
)
from rosenblatt.data.report import describe
from rosenblatt.errors import counted, visible
from rosenblatt.kernels import jit

if TYPE_CHECKING:
    from rosenblatt.data import Source
    from rosenblatt.data.report import ColumnReport
    from rosenblatt.jobs.folds import FoldScore
    from rosenblatt.jobs.run import Run
    from rosenblatt.jobs.tune import Trial
    from rosenblatt.models.model import Model

# By how a line begins; on terminals only.
_MISLEADING = 0.8  # the share of one class from which accuracy says little
_COLOURS = {"model ": "green", " " * 11 + "note:": "yellow", "left out": "yellow"}
_MOST_COLUMNS = 20  # listed by name
_LONGEST_NAME = 18
_PAYING_BYTES = 1 << 30  # of files, from which workers on one machine are faster than none
_SAMPLED_AT_START = (
    "sampled    only the beginning, as of every pipe and compressed file: kinds and",
    "           scales come from the first 4 MB, and files in the order of time mislead",
)
_REFRESH = 0.1  # seconds between two refreshes of the live line


class ProgressPrinter:
    """Prints the progress of training; training goes on if printing fails.

    Parameters
    ----------
    quiet, json : bool
        Print nothing; or only one JSON object at the end.
    """

    def __init__(self, quiet: bool = False, json: bool = False) -> None:
        self.quiet, self.json = quiet, json
        self.live = sys.stderr.isatty() and not quiet and not json
        self.run: Run | None = None
        self._began = self._shown = self._epoch_began = self._clock()
        self._epochs = self._width = 0
        self._next_visits = 1000  # of which to print a line where there is no live line
        self._announced = False
        self._has_trials = False
        self.replaces = False  # whether the model file was there before
        self._reports: list[ColumnReport] | None = None
        self.cross_validation: dict[str, Any] | None = None
        self._write_error: OSError | None = None
        jit.on_compile(self._announce_compiling)

    def show_columns(self, source: Source) -> None:
        """Print the detected kinds of the columns of a source."""
        self._reports = describe(source)
        if self.json:
            columns = [report.to_json() for report in self._reports]
            self._echo(json_module.dumps({"format": source.format, "columns": columns}))
            return
        for line in _column_lines(source, self._reports):
            self._line(line)

    def step(self, run: Run) -> None:
        """Print finished epochs and refresh the live line; called after every step."""
        self.run = run
        if self.quiet or self.json:
            return
        now = self._clock()
        if self._reports is None:
            self.show_columns(run.source)
            if run.lifts:
                self._line(_lift_line(run))
            if run.verdict is not None:
                chosen = "to gain" if run.verdict.is_worth_it else "defaults kept: the best gains"
                self._line(f"tuned      {chosen} {run.verdict}")
        for epoch in run.history[self._epochs :]:
            if epoch.epoch == 1:
                self._line(_reading_line(run, now - self._epoch_began))
                if run.rows.engine is not None:
                    self._line(_shards_line(run))
                    if run.rows.bytes < _PAYING_BYTES and not run.rows.engine.dashboard:
                        self._line(
                            "           note: without --workers so few bytes are learned sooner"
                        )
            self._line(epoch_line(epoch.epoch, epoch.updates, asdict(epoch)))
            self._epoch_began = now
            self._epochs += 1
        if self.live and now - self._shown > _REFRESH:
            self._shown = now
            self._rewrite(_live_line(run, now - self._epoch_began))
        visits, is_first_pass = run.progress.visits, run.phase == "reading"
        says_visits = is_first_pass and run.rows.engine is None and not self.live
        if says_visits and visits >= self._next_visits:
            self._next_visits = 1000 << (visits // 1000).bit_length()
            self._echo(_visits_line(run), err=True)

    def folds(self, folds: Iterable[FoldScore]) -> None:
        """Print each fold of a cross-validation when it is done, then means and standard errors."""
        done: list[FoldScore] = []
        for fold in folds:
            done.append(fold)
            if not self.json and not self.quiet:
                self._line(f"fold {len(done):<5} {_fold_line(fold.accuracy, fold.log_loss)}")
        (accuracy, its_error), (loss, other) = (
            _mean_and_error([fold[place] for fold in done]) for place in (1, 2)
        )
        self.cross_validation = {
            "accuracy": {"mean": accuracy, "standard_error": its_error},
            "log_loss": None if math.isnan(loss) else {"mean": loss, "standard_error": other},
        }
        if not self.json and not self.quiet:
            self._line(f"{'mean':<10} {_fold_line(accuracy, loss)}")
            self._line(f"{'± error':<10} {_fold_line(its_error, other)}")

    def trial(self, trial: Trial) -> None:
        """Print one trial of the settings to choose from."""
        if self.quiet or self.json:
            return
        if not self._has_trials:
            self._line(f"{'error':>10}  {'rows':>9}  tried")
        self._has_trials = True
        self._line(_trial_line(trial))

    def trained(self, model: Model, out: Path) -> None:
        """Print why training stopped, which rows were skipped, and the model file."""
        self.close()
        jit.on_compile(None)
        seconds = self._clock() - self._began
        run = self.run
        assert run is not None, "training takes a step at least"
        if self.json:
            summary = _summary(model, run, out, seconds)
            if self.cross_validation is not None:
                summary["cross_validation"] = self.cross_validation
            self._echo(json_module.dumps(summary))
        if self.quiet or self.json:
            return
        reasons = {
            "validation": f"no better for {counted(run.options.patience, 'epoch')}",
            "separated": "an epoch without an update",
            "budget": "all epochs done",
        }
        why = reasons.get(run.stop_reason or "", run.stop_reason)
        epochs = counted(run.refit_epochs, "epoch")
        again = f"; retrained on all rows for {epochs}" if run.refit_epochs else ""
        if run.refit_epochs > run.decided_epochs:
            again += f" ({run.decided_epochs} were best, which few held-out rows tell badly)"
        self._line(f"stopped    {why}{again}")
        if run.held_out.reached is not None:
            self._line(_target_line(run))
        new = sorted(set(model.classes) - set((run.rows.start or model).classes))
        if new:
            self._line(f"new        {'label' if len(new) == 1 else 'labels'} {', '.join(new)}")
        if run.source.bad:
            self._line(f"left out   {counted(run.source.bad, 'bad row')}")
        missing = run.source.missing.copy()
        if unlabelled := missing.pop(run.source.features.label or "", 0):
            rows = counted(unlabelled, "row")
            self._line(f"left out   {rows} without a label")
        if missing:
            most = missing.most_common(5)
            worst = ", ".join(f"{count:,} in {name}" for name, count in most)
            self._line(f"missing    values: {worst}")
        for part in _imbalance_lines(run):
            self._line(part)
        size = readable_size(out.stat().st_size)
        about = f"{extent(model)}, {size}, in {seconds:.2f} s"
        about += ", in place of an earlier one" if self.replaces else ""
        line = f"model      {out}  {about}"
        for part in [line] if len(line) <= WIDTH else [f"model      {out}", f"           {about}"]:
            self._line(part)

    def check(self, lead: str = "") -> None:
        """Raise OSError if something could not be printed, except to a closed pipe."""
        if self._write_error is not None and not isinstance(self._write_error, BrokenPipeError):
            raise OSError(f"{lead}the output cannot be written: {self._write_error.strerror}")

    @contextmanager
    def warnings(self) -> Iterator[None]:
        """Print warnings as one line each."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore" if self.quiet else "always")
            warnings.showwarning = self._warn  # type: ignore[assignment]
            yield

    def _warn(self, message: Warning | str, *rest: Any) -> None:
        self.close()
        self._echo(visible(f"rosenblatt: {message}"), err=True)

    def _announce_compiling(self, kernel: str) -> None:
        """Say once, before the wait, that kernels are being compiled."""
        if not self._announced and not self.quiet and not self.json:
            self.close()
            if note := jit.compiling_note():
                self._echo(note, err=True)
        self._announced = True

    @staticmethod
    def _clock() -> float:
        """Seconds, without those spent compiling kernels."""
        return perf_counter() - jit.compile_seconds()

    def close(self) -> None:
        """Clear the live line."""
        if self.live and self._width:
            self._rewrite("")

    def _line(self, text: str) -> None:
        self.close()
        text = visible(text)
        colour = next((c for start, c in _COLOURS.items() if text.startswith(start)), None)
        self._echo(text, fg=colour)

    def _rewrite(self, text: str) -> None:
        text, width = visible(text)[: shutil.get_terminal_size().columns - 1], self._width
        self._width = len(text)
        self._echo("\r" + text.ljust(width) + "\r", err=True, nl=False)

    def _echo(self, text: str, err: bool = False, **style: Any) -> None:
        """Print; after an error, print nothing more and let training go on."""
        stream = sys.stderr if err else sys.stdout
        try:
            typer.secho(text, err=err, **style)
            stream.flush()
        except OSError as error:
            self._write_error, self.quiet, self.live = error, True, False
            with suppress(OSError, ValueError):  # flushing the rest of the buffer must not fail
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _column_lines(source: Source, reports: list[ColumnReport]) -> list[str]:
    """One line per column with its remark below, and how text is hashed.

    Of more than 20 columns, only the first and those with a remark are listed.
    """
    shown = [r for place, r in enumerate(reports) if place <= _MOST_COLUMNS or r.remark]
    width = min(_LONGEST_NAME, max((len(visible(r.name)) for r in shown), default=0))
    lines = [line for report in shown for line in _column(report, width)]
    columns = source.features.columns
    if len(columns) > _MOST_COLUMNS:
        lines.append(f"in all     {counted(len(columns), 'column')}")
    if source.is_sampled_at_start:
        lines += _SAMPLED_AT_START
    if any(c.kind == "text" for c in columns):
        lines.append(f"n-grams    {ngram_range(source.features.ngrams)} columns")
    elif source.features.origin != "table":
        lines.append(feature_line(source.features, 11))
    return lines


def _column(report: ColumnReport, width: int) -> list[str]:
    """The line of a column, and the lines of its remark.

    >>> from rosenblatt.data.report import ColumnReport
    >>> _column(ColumnReport("age", "number", 99, 60, 3, "39", "17 to 90", "odd"), width=4)
    ['number     age   17 to 90, 3 missing, as 39', '           note: odd']
    """
    name = visible(report.name)
    name = name if len(name) <= width else name[: width - 3] + "..."
    parts = []
    if report.kind == "label":
        parts.append(f"{counted(report.values, 'value')}: {report.about}")
    elif report.about:
        parts.append(report.about)
    elif report.kind in ("text", "category"):
        parts.append(f"{report.values:,} different in {report.rows:,}")
    if report.missing:
        parts.append(f"{report.missing:,} missing")
    if report.example and report.kind != "label":
        quoted = report.example if report.kind in ("number", "date") else f'"{report.example}"'
        parts.append("as " + " ".join(quoted.split()))
    line = visible(f"{report.kind:<10} {name:<{width}}  {', '.join(parts)}".rstrip())
    cut = line if len(line) <= WIDTH else line[: WIDTH - 3] + "..."
    note = visible(f"note: {report.remark}") if report.remark else ""
    return [cut, *textwrap.wrap(note, WIDTH, initial_indent=" " * 11, subsequent_indent=" " * 11)]


def _fold_line(accuracy: float, log_loss: float) -> str:
    """Accuracy and log loss, or their standard errors.

    >>> _fold_line(0.9125, float("nan"))
    '  91.25 % right  log loss       -'
    """
    loss = "-" if math.isnan(log_loss) else f"{log_loss:.4f}"
    return f"{percent(accuracy):>9} right  log loss {loss:>7}"


def _mean_and_error(values: list[float]) -> tuple[float, float]:
    """The mean over folds, and its standard error."""
    mean = sum(values) / len(values)
    squares = sum((value - mean) ** 2 for value in values)
    return mean, math.sqrt(squares / (len(values) * (len(values) - 1)))


def _trial_line(trial: Trial) -> str:
    """A trial in at most 80 characters.

    >>> from rosenblatt.jobs.tune import Choice, Trial
    >>> from rosenblatt.kernels.text import Ngrams
    >>> _trial_line(Trial(Choice(Ngrams()), 2500, 0.0925, 4, 0.3))
    '    9.25 %      2,500  word 1-2 2^22, threshold 2, padding 0.1'
    """
    c, n = trial.choice, trial.choice.ngrams
    parts = [f"{n.analyzer} {n.low}-{n.high} 2^{n.bits}"]
    parts += [f"threshold {c.threshold:g}"] if c.rule == "perceptron" else [c.rule]
    parts += [f"padding {c.padding:g}"]
    parts += ["last"] if not c.average else []
    parts += ["joint"] if c.multiclass == "joint" else []
    return f"{percent(trial.error):>10}  {trial.rows:>9,}  {', '.join(parts)}"


def _imbalance_lines(run: Run) -> list[str]:
    """Lines for classes that are so unequal that a share of right answers says little."""
    shares, options = run.class_shares, run.options
    if not shares or options.class_weight or options.tune_for or options.target:
        return []
    name = max(shares, key=shares.__getitem__)
    if shares[name] < _MISLEADING:
        return []
    about = f"{percent(shares[name])} of the rows are {visible(name)[:40]}: accuracy says little;"
    return [
        f"note       {about}",
        "           see the macro F1 of evaluate, and --class-weight balanced, --tune-for macro-f1",
    ]


def _lift_line(run: Run) -> str:
    """The lift that was chosen, and how the others did on the held-out rows of the sample."""
    lift = run.source.features.lift
    chosen = "none" if lift is None else "pairs" if lift.pairs else "knots"
    errors = [f"{trial.lift} {percent(trial.error)}" for trial in run.lifts]
    return f"lift       {chosen}; errors on held-out rows: {', '.join(errors)}"


def _reading_line(run: Run, seconds: float) -> str:
    """The number of rows read, their size, and the rate."""
    size = run.rows.bytes
    rate = f" at {size / 1e6 / max(seconds, 1e-9):.0f} MB/s" if size > 1e6 else ""
    return f"read       {counted(run.rows.count, 'row')}, {readable_size(size)}{rate}"


def _shards_line(run: Run) -> str:
    """The number of shards and workers, and the address of the dashboard."""
    engine = run.rows.engine
    watched = f", dashboard {engine.dashboard}" if engine.dashboard else ""
    return f"shards     {run.rows.shards}, for {counted(engine.workers, 'worker')}{watched}"


def _target_line(run: Run) -> str:
    """Precision, recall or F1 of the threshold on the held-out rows that chose it."""
    reached = run.held_out.reached or {}
    parts = ", ".join(f"{name} {percent(value)}" for name, value in reached.items())
    return f"target     {run.options.target}: on held-out rows {parts}"


def _visits_line(run: Run) -> str:
    """The rows that the first pass has visited so far, and their error."""
    visits, error = run.progress.visits, run.progress.counts.mistakes / run.progress.visits
    return f"visited {counted(visits, 'row')}, progressive error {percent(error)}"


def _live_line(run: Run, seconds: float) -> str:
    if run.rows.engine is not None:
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
        parts.append(f"{max(0, run.rows.count - visits) / rate:.0f} s left")
    error = percent(counts.mistakes / visits) if visits else "-"
    parts += [counted(counts.updates, "update"), f"progressive error {error}"]
    if not math.isnan(run.validation_error):
        parts.append(f"best validation {percent(run.validation_error)}")
    return "  ".join(parts)


def _summary(model: Model, run: Run, out: Path, seconds: float) -> dict[str, Any]:
    return {
        "model": str(out),
        "classes": list(model.classes),
        "features": len(model.columns),
        "columns": [report.to_json() for report in describe(run.source)],
        "rows": run.rows.count,
        "bad_rows": run.source.bad,
        "missing": dict(run.source.missing),
        "strays": {"cells": dict(run.source.strays), "first": run.source.named_strays},
        "stop_reason": run.stop_reason,
        "refit_epochs": run.refit_epochs,
        "calibrated": model.calibration is not None,
        "threshold": np.asarray(model.threshold).tolist(),
        "held_out": run.held_out.reached,
        "lifts": [trial.to_json() for trial in run.lifts],
        "seconds": round(seconds, 3),
        "history": model.history,
    }
