"""Which options of training contradict each other, or have no effect together."""

from __future__ import annotations

from rosenblatt.errors import OptionError
from rosenblatt.jobs.goals import Goal
from rosenblatt.jobs.options import TrainOptions
from rosenblatt.jobs.outcome import Target


def check(options: TrainOptions) -> None:
    """Refuse options that contradict each other, or have no effect."""
    if options.resume and options.checkpoint is None:
        raise OptionError("resume needs checkpoint, the folder that the run was saved in")
    is_timed = options.checkpoint_rows is not None or options.checkpoint_seconds != 60.0
    if options.checkpoint is None and is_timed:
        raise OptionError(
            "checkpoint_seconds and checkpoint_rows have no effect without checkpoint=FOLDER"
        )
    if options.epochs is not None and (options.max_epochs, options.patience) != (None, 3):
        raise OptionError("max_epochs and patience have no effect where epochs says how many")
    if options.valid is not None and options.holdout:
        raise OptionError("valid and holdout exclude each other: drop one of them")
    for name in ("valid", "workers"):
        if options.group is not None and getattr(options, name) is not None:
            raise OptionError(f"group and {name} exclude each other: drop one of them")
    if options.shards is not None and options.workers is None:
        raise OptionError("shards are for workers: give both, or neither")
    if options.tune is not None:
        _check_tuning(options)
    for name in ("ordered", "workers", "start"):
        if (options.increasing or options.decreasing) and getattr(options, name):
            raise OptionError(f"increasing columns and {name} exclude each other: drop one")
    for name in ("tune", "workers", "start", "class_weight", "target", "multiclass"):
        if options.ordered and getattr(options, name) is not None:
            raise OptionError(f"ordered classes and {name} exclude each other: drop one of them")
    if options.target is not None:
        Target.parse(options.target)
    if options.tune_for is not None:
        _check_goal(options, options.tune_for)
    for what in ("target", "tune_for"):
        has_rows = options.valid is not None or options.held_out(False) > 0
        if getattr(options, what) is not None and not has_rows:
            raise OptionError(
                f"{what} needs held-out rows: give holdout (--holdout 0.1) or valid (--valid)"
            )


def _check_goal(options: TrainOptions, text: str) -> None:
    """Refuse a goal that is none, or that these classes do not have."""
    if (Goal.parse(text).name == "spearman") != options.ordered:
        raise OptionError("the goal spearman is for ordered classes (--ordered), and they for it")
    if options.workers is not None:
        raise OptionError("tune_for and workers exclude each other: drop one of them")


def _check_tuning(options: TrainOptions) -> None:
    """Refuse what cannot be combined with `tune`."""
    if options.workers is not None:
        raise OptionError("tune and workers exclude each other: tune on a part of the files")
    if options.start is not None:
        raise OptionError("tune cannot be combined with start (--from): drop one of them")
    if options.checkpoint is not None:
        raise OptionError("tune and checkpoint exclude each other: what is chosen takes time")
