"""What the commands print: a live line on a terminal, plain lines elsewhere, JSON on request."""

from __future__ import annotations

import json as json_module
import math
import sys
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import typer

from rosenblatt.counts import counted, noun

if TYPE_CHECKING:
    from rosenblatt.jobs.evaluate import Evaluation
    from rosenblatt.jobs.train import Trainer
    from rosenblatt.models import Model

_REFRESH = 0.1  # seconds between two refreshes of the live line
_MOST_CLASSES = 12  # of a confusion matrix that fits a terminal


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
        self._began = self._shown = self._epoch_began = perf_counter()
        self._epochs = 0
        self._width = 0

    def step(self, trainer: Trainer) -> None:
        """Print finished epochs and refresh the live line; called after every step."""
        if self.quiet or self.json:
            return
        for epoch in trainer.history[self._epochs :]:
            if epoch.epoch == 1:
                self._line(_reading_line(trainer, perf_counter() - self._epoch_began))
            self._line(_epoch_line(epoch.epoch, epoch.updates, asdict(epoch)))
            self._epoch_began = perf_counter()
            self._epochs += 1
        now = perf_counter()
        if self.live and now - self._shown > _REFRESH:
            self._shown = now
            self._rewrite(_live_line(trainer, now - self._epoch_began))

    def trained(self, model: Model, trainer: Trainer, out: Path) -> None:
        """Print why training stopped, what was left out, and the model file."""
        self.close()
        seconds = perf_counter() - self._began
        if self.json:
            typer.echo(json_module.dumps(_summary(model, trainer, out, seconds)))
        if self.quiet or self.json:
            return
        p, source = trainer.progress, trainer.source
        patience = counted(trainer.settings.patience, "epoch")
        why = {
            "validation": f"no better for {patience}",
            "separated": "an epoch without an update",
            "budget": "all epochs done",
        }[p.stop_reason]
        epochs = counted(p.refit_epochs, "epoch")
        again = f"; retrained on all rows for {epochs}" if p.refit_epochs else ""
        self._line(f"stopped    {why}{again}")
        if source.bad:
            self._line(f"left out   {counted(source.bad, 'bad row')}")
        if source.missing:
            worst = [f"{count:,} in {name}" for name, count in source.missing.most_common(5)]
            self._line(f"missing    values: {', '.join(worst)}")
        size = readable_size(out.stat().st_size)
        self._line(f"model      {out}  {_extent(model)}, {size}, in {seconds:.2f} s")

    def close(self) -> None:
        """Clear the live line."""
        if self.live and self._width:
            self._rewrite("")

    def _line(self, text: str) -> None:
        self.close()
        typer.echo(text)

    def _rewrite(self, text: str) -> None:
        sys.stderr.write("\r" + text.ljust(self._width) + "\r")
        sys.stderr.flush()
        self._width = len(text)


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
    return (
        f"epoch {number:<3} {updates:>9,} {noun(updates, 'update'):<7}   "
        f"progressive error {percent(_progressive_error(record)):>8}   "
        f"validation {percent(record.get('validation_error', math.nan)):>8}"
    )


def _progressive_error(record: dict[str, Any]) -> float:
    """Wrong predictions before learning; model files of version 2 call it ``online_error``."""
    return float(record.get("progressive_error", record.get("online_error", math.nan)))


def _reading_line(trainer: Trainer, seconds: float) -> str:
    size = trainer.progress.bytes
    rate = f" at {size / 1e6 / max(seconds, 1e-9):.0f} MB/s" if size > 1e6 else ""
    return f"read       {counted(len(trainer.store), 'row')}, {readable_size(size)}{rate}"


def _live_line(trainer: Trainer, seconds: float) -> str:
    p, outcome = trainer.progress, trainer.outcome
    rate = p.visits / max(seconds, 1e-9)
    error = percent(outcome.wrong / outcome.steps) if outcome.steps else "-"
    parts = [f"epoch {p.epoch} ({p.phase})", counted(p.visits, "row")]
    if p.visits:
        parts.append(f"{rate:,.0f} rows/s")
    if p.phase == "reading":
        parts.append(f"{p.bytes / 1e6 / max(seconds, 1e-9):.0f} MB/s")
    elif p.visits:
        parts.append(f"{max(0, len(trainer.store) - p.visits) / rate:.0f} s left")
    parts += [counted(outcome.updates, "update"), f"progressive error {error}"]
    if not math.isnan(trainer.error):
        parts.append(f"best validation {percent(trainer.error)}")
    return "  ".join(parts)


def _summary(model: Model, trainer: Trainer, out: Path, seconds: float) -> dict[str, Any]:
    return {
        "model": str(out),
        "classes": list(model.classes),
        "features": len(model.columns),
        "rows": len(trainer.store),
        "bad_rows": trainer.source.bad,
        "missing": dict(trainer.source.missing),
        "stop_reason": trainer.progress.stop_reason,
        "refit_epochs": trainer.progress.refit_epochs,
        "seconds": round(seconds, 3),
        "history": _history(model),
    }


def _history(model: Model) -> list[dict[str, Any]]:
    """The epochs under the names of today; see :func:`_progressive_error`."""
    rename = {"online_error": "progressive_error"}
    return [{rename.get(name, name): v for name, v in epoch.items()} for epoch in model.history]


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
    if result.bad:
        typer.echo(f"left out   {counted(result.bad, 'bad row')}")
    width = max(10, *(len(name) for name in result.classes))
    typer.echo(f"\n{'class':<{width}} {'precision':>10} {'recall':>10} {'F1':>10} {'rows':>10}")
    for name, row in result.by_class().items():
        cells = "".join(f" {percent(row[key]):>10}" for key in ("precision", "recall", "f1"))
        typer.echo(f"{name:<{width}}{cells} {row['rows']:>10,}")
    if len(result.classes) > _MOST_CLASSES:
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
    for epoch in _history(model):
        typer.echo(_epoch_line(epoch["epoch"], epoch.get("updates", epoch["mistakes"]), epoch))
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
    shown = ", ".join(f"{c.name} ({c.kind})" for c in f.columns[:20])
    lines = [f"label {f.label}; columns {shown}{' ...' if len(f.columns) > 20 else ''}"]
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
        "history": _history(model),
        "fingerprint": model.fingerprint,
        "words": model.words,
        "package": model.package,
    }
