"""What the commands print: live on a terminal, plain lines elsewhere, JSON on request."""

from __future__ import annotations

import json as json_module
import math
import sys
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import typer

from rosenblatt.counts import counted, noun

if TYPE_CHECKING:
    from rosenblatt.jobs.evaluate import Evaluation
    from rosenblatt.jobs.train import Trainer
    from rosenblatt.models import Model

_BETWEEN = 0.1  # seconds between two updates of the live line


class Display:
    """The progress of training.

    Parameters
    ----------
    quiet, json : bool
        Print nothing; print one JSON object at the end.
    """

    def __init__(self, quiet: bool = False, json: bool = False) -> None:
        self.quiet, self.json = quiet, json
        self.live = sys.stderr.isatty() and not quiet and not json
        self._began = self._shown = self._epoch_began = perf_counter()
        self._epochs = 0
        self._width = 0

    def step(self, trainer: Trainer) -> None:
        """Show where training stands; called after every step."""
        if self.quiet or self.json:
            return
        for epoch in trainer.history[self._epochs :]:
            self._line(_epoch_line(trainer, epoch, perf_counter() - self._epoch_began))
            self._epoch_began = perf_counter()
            self._epochs += 1
        now = perf_counter()
        if self.live and now - self._shown > _BETWEEN:
            self._shown = now
            self._rewrite(_live_line(trainer, now - self._epoch_began))

    def trained(self, model: Model, trainer: Trainer, out: Path) -> None:
        """Say what came of it."""
        self.close()
        seconds = perf_counter() - self._began
        if self.json:
            typer.echo(json_module.dumps(_summary(model, trainer, out, seconds)))
        if self.quiet or self.json:
            return
        p, source = trainer.progress, trainer.source
        why = {
            "validation": "the validation error no longer fell",
            "separated": "an epoch passed without a mistake",
            "budget": "the epochs were used up",
        }[p.stop_reason]
        again = f"; then all rows for {counted(p.refit_epochs, 'epoch')}" if p.refit_epochs else ""
        self._line(f"stopped    {why}{again}")
        if source.bad:
            self._line(f"left out   {counted(source.bad, 'bad row')}")
        if source.missing:
            worst = ", ".join(f"{name} {count:,}" for name, count in source.missing.most_common(5))
            self._line(f"missing    {worst}")
        self._line(
            f"model      {out}  {_extent(model)}, "
            f"{out.stat().st_size / 1e6:.1f} MB, in {seconds:.2f} s"
        )

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


def percent(share: float) -> str:
    """A share as a percentage, or a dash.

    >>> percent(0.0925), percent(float("nan"))
    ('9.25 %', '-')
    """
    return "-" if math.isnan(share) else f"{100 * share:.2f} %"


def _extent(model: Model) -> str:
    classes = counted(len(model.classes), "class", "classes")
    return f"{classes}, {counted(len(model.columns), 'feature')}"


def _mistakes(count: int) -> str:
    """Mistakes in a column of such counts."""
    return f"{count:>9,} {noun(count, 'mistake'):<8}"


def _epoch_line(trainer: Trainer, epoch: Any, seconds: float) -> str:
    rows = len(trainer.store)
    if epoch.epoch == 1:
        size = trainer.progress.bytes / 1e6
        what = f"read {counted(rows, 'row')}, {size:.1f} MB at {size / max(seconds, 1e-9):.0f} MB/s"
    else:
        what = f"{rows / max(seconds, 1e-9) / 1e6:.2f} M rows/s"
    validation = percent(epoch.validation_error)
    return (
        f"epoch {epoch.epoch:<4} {_mistakes(epoch.mistakes)}   "
        f"progressive error {percent(epoch.online_error):>8}   validation {validation:>8}   {what}"
    )


def _live_line(trainer: Trainer, seconds: float) -> str:
    p, outcome = trainer.progress, trainer.outcome
    rate = p.visits / max(seconds, 1e-9)
    error = percent(outcome.wrong / outcome.steps) if outcome.steps else "-"
    parts = [f"epoch {p.epoch} ({p.phase})", counted(p.visits, "row"), f"{rate:,.0f} rows/s"]
    if p.phase == "reading":
        parts.append(f"{p.bytes / 1e6 / max(seconds, 1e-9):.0f} MB/s")
    else:
        parts.append(f"{max(0, len(trainer.store) - p.visits) / max(rate, 1e-9):.0f} s left")
    parts += [counted(outcome.mistakes, "mistake"), f"error {error}"]
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
        "history": model.history,
    }


def show_evaluation(result: Evaluation, as_json: bool) -> None:
    """Accuracy with its interval, each class, and the confusion matrix."""
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
    if len(result.classes) <= 12:
        typer.echo(f"\n{'true, said':<{width}}" + "".join(f" {n[:10]:>10}" for n in result.classes))
        for name, counts in zip(result.classes, result.confusion, strict=True):
            typer.echo(f"{name:<{width}}" + "".join(f" {count:>10,}" for count in counts))


def show_model(model: Model, path: Path, top: int, as_json: bool) -> None:
    """What a model is, the words that speak for each class, its history."""
    if as_json:
        typer.echo(json_module.dumps(_described(model)))
        return
    f = model.features
    typer.echo(f"{path}: {_extent(model)}")
    typer.echo(f"trained by rosenblatt {model.package} on {_trained_on(model)}")
    if f.origin == "table":
        kinds = ", ".join(f"{c.name} ({c.kind})" for c in f.columns[:20])
        typer.echo(f"label {f.label}; columns {kinds}{' ...' if len(f.columns) > 20 else ''}")
    typer.echo(f"hashed to 2^{f.ngrams.bits} columns, n-grams {f.ngrams.low} to {f.ngrams.high}")
    for epoch in model.history:
        online, valid = (epoch.get(k, math.nan) for k in ("online_error", "validation_error"))
        typer.echo(
            f"epoch {epoch['epoch']:<4} {_mistakes(epoch['mistakes'])}   "
            f"progressive error {percent(online):>8}   validation {percent(valid):>8}"
        )
    for name in model.classes:
        pairs = model.words.get(name, [])[:top]
        if pairs:
            typer.echo(f"\nfor {name}:")
        for word, weight in pairs:
            typer.echo(f"  {weight:>+9.3f}  {word}")


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
