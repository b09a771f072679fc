"""Train a linear classifier on files or frames: what ``rosenblatt train`` calls."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from rosenblatt import data
from rosenblatt.data import Source
from rosenblatt.data.files import STDIN
from rosenblatt.data.schema import refuse_idle
from rosenblatt.errors import DataError, OptionError
from rosenblatt.estimators._interrupts import Stopped, interrupts
from rosenblatt.estimators._threads import threads_of
from rosenblatt.estimators.checkpoint import Checkpoint
from rosenblatt.estimators.file_run import FileRun, Settings
from rosenblatt.estimators.held_out import Target
from rosenblatt.estimators.model_target import check_target, save_somewhere
from rosenblatt.estimators.trained_model import trained_model
from rosenblatt.estimators.tuning import Trial, parse_seconds
from rosenblatt.estimators.tuning import tune as choose
from rosenblatt.files import remove_leftovers
from rosenblatt.kernels.text import Ngrams
from rosenblatt.models import Model, read_model
from rosenblatt.models.calibration import METHODS
from rosenblatt.training import run as run_epochs

_OF_NGRAMS = ("ngrams", "analyzer", "bits")
_OF_FEATURES = ("label", "text", "columns", *_OF_NGRAMS, "missing", "label_separator")


def train(
    source: Any,
    *,
    label: str | int | None = None,
    text: str | Iterable[str] | None = None,
    columns: Iterable[str] | Mapping[str, str] | None = None,
    ngrams: int | tuple[int, int] | None = None,
    analyzer: str | None = None,
    bits: int | None = None,
    format: str | None = None,
    header: bool | None = None,
    missing: Iterable[str] | None = None,
    label_separator: str | None = None,
    skip_bad_rows: bool = False,
    valid: Any = None,
    holdout: float | None = None,
    epochs: int | None = None,
    max_epochs: int = 20,
    patience: int = 3,
    threshold: float | None = None,
    padding: float | None = None,
    average: bool = True,
    rule: str = "perceptron",
    multiclass: str | None = None,
    tune: float | str | None = None,
    seed: int = 0,
    weight: str | None = None,
    class_weight: str | Mapping[str, float] | None = None,
    calibrate: str | None = "sigmoid",
    target: str | None = None,
    start: Model | str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_seconds: float = 60.0,
    checkpoint_rows: int | None = None,
    resume: bool = False,
    memory: int = 128 << 20,
    n_jobs: int | None = -1,
    workers: Any = None,
    shards: int | None = None,
    report: Callable[[FileRun], Any] | None = None,
    report_trial: Callable[[Trial], Any] | None = None,
) -> Model:
    """Train a linear classifier on files of any size, or on a frame.

    The first pass hashes the rows, learns from them in their order, and keeps them; later epochs
    visit the kept rows in random order. Held-out rows decide when to stop; the model is then
    trained on all rows for as many epochs, if they fit in memory. The model is that of
    ``make_pipeline(HashedNgrams(), Perceptron(threshold=2.0, intercept_scaling=0.1,
    multiclass="ovr", keep="late_average", feature_rates="idf", shuffle="after_first",
    tol=None))``, bit for bit,
    where the features are one column of text.

    Parameters
    ----------
    source : path, several paths, or a frame
        Files, patterns such as ``"logs/*.csv.gz"``, ``"-"`` for standard input; or a table in
        memory (pandas, polars, pyarrow, dict of columns). See :func:`rosenblatt.data.open`, whose
        result will do, too.
    label, text, columns, format, header, missing, skip_bad_rows
        How to read it, see :func:`rosenblatt.data.open`.
    ngrams, analyzer, bits
        How text is hashed, see :class:`rosenblatt.HashedNgrams`; by default n-grams of one and two
        words, hashed to 2^22 columns. Who gives `ngrams` or `analyzer` means text: a column of
        words is then taken for text, and without one the call is refused.
    label_separator : str, optional
        What separates labels, where a row may have several; then each label is learned by itself,
        and ``predict`` gives an indicator matrix. Of fastText files this is detected.
    valid : as `source`, optional
        Rows that decide the number of epochs, instead of held-out ones.
    holdout : float, optional
        The share of rows held out, at most 50,000 rows; a tenth, if neither `epochs` nor `valid`
        is given.
    epochs : int, optional
        How many, without held-out rows to decide.
    max_epochs, patience : int
        With validation: the most epochs, and how many without a better result end the run. A table
        without text is visited at least 20,000 times before (or 16 epochs long): few held-out rows
        cannot tell.
    threshold, padding : float, optional
        A row is corrected when its margin is at most the threshold; the padding constant c. Rows
        have a length of about 1. By default 2 and 0.1; 4 and 0.5 for a table without text.
    average : bool
        Whether the model is the average of the weights over the last half of the run (see
        ``keep="late_average"`` of :class:`rosenblatt.training.Plan`), or the last weights. A table
        without text is averaged over the whole run.
    rule : str
        What learns: ``"perceptron"``, or another member of the family by name, with its parameters
        after a colon if need be: ``"arow"``, ``"pa1:C=0.1"``, ``"scw1:C=0.5,confidence=0.8"`` (see
        :func:`rosenblatt.compare`). `threshold` is the perceptron's alone.
    multiclass : {"ovr", "joint"}, optional
        More than two classes: each against the rest, or each update between the right class and
        the best wrong one. By default the first; the second for a table without text.
    tune : float or str, optional
        Seconds (or ``"60s"``, ``"5m"``) in which to choose n-grams, bits, threshold, padding,
        average, multiclass and rule by their error on held-out rows and to train the model; what is
        given is not tried otherwise. What was tried is in ``model.parameters["tuning"]``.
    seed : int
        Decides the orders and which rows are held out.
    weight : str, optional
        The column that says how many copies of itself a row stands for; it is not a feature.
    class_weight : "balanced" or mapping of label to weight, optional
        Weights of classes, which multiply those of their rows; balanced ones are inversely
        proportional to how many rows a class has.
    calibrate : {"sigmoid", "isotonic"} or None
        How scores become probabilities (:meth:`Model.predict_proba`), by the held-out rows; where
        none are held out, there are no probabilities.
    target : str, optional
        What the threshold between two classes is to reach on the held-out rows, for the second
        class or that of ``LABEL:`` before it: ``"precision=0.95"``, ``"recall=0.9"`` or ``"f1"``.
    start : Model or path, optional
        A model to go on from; its features and classes are taken over. What a rule keeps beside
        the weights, such as variances, begins anew.
    out : path, optional
        Write the model file here, too. That this is possible is checked before training.
    checkpoint : path, optional
        A folder to save the run in, every `checkpoint_seconds` seconds and, if given, every
        `checkpoint_rows` rows; for one run at a time.
    resume : bool
        Go on with the run saved in `checkpoint`, if there is one; it ends in the same model.
    memory : int
        Bytes of rows kept in memory; more go to disk.
    n_jobs : int or None
        Threads that learn: None is 1, -1 all cores. The model is the same. (Reading has threads of
        its own.)
    workers : int, str, distributed.Client or concurrent.futures.Executor, optional
        Train on shards of the files by so many processes of this machine, by the workers of the
        Dask scheduler at an address such as ``"tcp://host:8786"``, or by an executor. Each epoch
        starts on every shard from the same weights, which are then mixed: the model depends on the
        shards, and not on the workers. Files may lie in stores (``"s3://bucket/part-*.parquet"``).
    shards : int, optional
        With workers: about how many; by default 16, or more if these were larger than 64 MB.
    report : callable, optional
        Called with the :class:`FileRun` after every step.
    report_trial : callable, optional
        Called with every :class:`rosenblatt.estimators.tuning.Trial` of `tune`.

    Returns
    -------
    Model

    Raises
    ------
    Stopped
        A KeyboardInterrupt: after Ctrl-C, SIGTERM or SIGHUP, when the checkpoint or else the model
        so far is saved.

    Examples
    --------
    >>> from rosenblatt import train
    >>> frame = {"label": ["pos", "neg"] * 20, "text": ["good and fun", "bad and dull"] * 20}
    >>> model = train(frame, text="text", epochs=3)
    >>> model.predict(["good", "dull"]).tolist(), len(model.columns)
    (['pos', 'neg'], 8)
    """
    settings = Settings(
        epochs, threshold, padding, average, holdout, max_epochs, patience, seed, memory,
        multiclass, calibrate, target, _plain_weights(class_weight), weight, rule,
    )  # fmt: skip
    _check(settings, valid is not None, checkpoint is not None, resume)
    if checkpoint is None and (checkpoint_rows is not None or checkpoint_seconds != 60.0):
        raise OptionError("how often to save a checkpoint has no effect without its folder")
    reading = {
        "label": label, "text": text, "columns": columns, "ngrams": ngrams, "analyzer": analyzer,
        "bits": bits, "format": format, "header": header, "missing": missing,
        "skip_bad_rows": skip_bad_rows, "label_separator": label_separator,
    }  # fmt: skip
    begin = read_model(start) if isinstance(start, str | os.PathLike) else start
    if workers is not None:
        if tune is not None:
            raise OptionError("tune and workers exclude each other: tune on a part of the files")
        return _train_on_shards(
            source, settings, reading, begin, workers=workers, shards=shards, valid=valid, out=out,
            checkpoint=checkpoint, resume=resume, report=report,
        )  # fmt: skip
    if shards is not None:
        raise OptionError("shards are for workers: give both, or neither")
    saved = None
    if checkpoint is not None:
        saved = Checkpoint(Path(checkpoint), checkpoint_seconds, checkpoint_rows)
    rows = _open(source, reading, begin)
    held = None if valid is None else _open(valid, reading, begin, rows)
    _weigh(weight, rows, held)
    _check_several_labels(rows, settings, tune is not None)
    if out is not None:
        check_target(Path(out), [*rows.files, *(held.files if held else ())], saved)
    remove_leftovers()
    trials: list[Trial] = []
    if tune is not None:
        _check_tuning(rows, start is not None, saved is not None)
        choice, trials = choose(
            rows, held, settings.for_features(rows.features), _fixed(settings, reading, rows),
            parse_seconds(tune),
            threads_of(n_jobs), report_trial,
        )  # fmt: skip
        settings = choice.settings(settings)
        rows = _opened_again(source, reading, rows, choice.ngrams)
        held = None if held is None else _opened_again(valid, reading, rows, choice.ngrams)
        _weigh(weight, rows, held)
    with saved.held() if saved is not None else nullcontext():
        run = _begun(rows, settings, held, begin, threads_of(n_jobs), saved, resume)
        run.tuning = [trial.to_json() for trial in trials]
        with closing(run.rows):
            return _trained(run, saved, out, report)


def _check_several_labels(source: Source, settings: Settings, tunes: bool) -> None:
    """Refuse what has a meaning only where each row has one label."""
    if source.features.separator is None:
        return
    idle = {
        "class_weight": settings.class_weight is not None,
        "target": settings.target is not None,
        "multiclass": settings.multiclass not in (None, "ovr"),
        "rule": settings.rule != "perceptron",
        "tune": tunes,
    }
    for name, given in idle.items():
        if given:
            raise OptionError(f"{name} is for one label per row, and here a row may have several")


def _train_on_shards(
    source: Any, settings: Settings, reading: dict[str, Any], start: Model | None, **rest: Any
) -> Model:
    """Hand the run over to the room above, which is the only call upwards."""
    from rosenblatt.cluster.train import Job, train_on_shards

    _check_reading(reading, start)
    for name in ("out", "checkpoint"):
        rest[name] = None if rest[name] is None else Path(rest[name])
    options = {name: given for name, given in reading.items() if name not in _OF_NGRAMS}
    if start is None:
        options["ngrams"] = _ngrams(*(reading[name] for name in _OF_NGRAMS))
        options["expect_text"] = reading["ngrams"] is not None or reading["analyzer"] is not None
    return train_on_shards(Job(source, settings, options, start=start, **rest))


def _weigh(column: str | None, *sources: Source | None) -> None:
    """Let a column hold the weights of rows."""
    for source in sources:
        if column is not None and source is not None:
            source.weigh_by(column)


def _check_tuning(source: Source, goes_on: bool, is_saved: bool) -> None:
    """Refuse to tune where that has no meaning."""
    if goes_on:
        raise OptionError("tune begins anew: the model to go on from has its settings")
    if is_saved:
        raise OptionError("tune and checkpoint exclude each other: what is chosen depends on time")
    if STDIN in source.files:
        raise OptionError("tune reads the rows more than once, and standard input cannot be")


def _fixed(settings: Settings, reading: dict[str, Any], source: Source) -> dict[str, Any]:
    """What was asked for otherwise than by default, and so is not tuned."""
    usual = Settings()
    names = ("threshold", "padding", "average", "multiclass", "rule")
    fixed = {
        name: getattr(settings, name)
        for name in names
        if getattr(settings, name) != getattr(usual, name)
    }
    if any(reading[name] is not None for name in ("ngrams", "analyzer", "bits")):
        fixed["ngrams"] = source.features.ngrams
    return fixed


def _opened_again(files: Any, reading: dict[str, Any], source: Source, ngrams: Ngrams) -> Source:
    """The same files with other n-grams."""
    if isinstance(files, Source):
        raise OptionError("tune opens the files itself: give their names, not an open source")
    options = {name: given for name, given in reading.items() if name not in _OF_FEATURES}
    return data.open(files, features=replace(source.features, ngrams=ngrams), **options)


def open_for_training(source: Any, **reading: Any) -> Source:
    """Open what :func:`train` would be given, with the same options of reading, and refuse as it.

    >>> frame = {"label": ["a", "b"], "text": ["so good", "so bad"]}
    >>> open_for_training(frame, ngrams=3).features.ngrams.high
    3
    """
    unset: dict[str, Any] = dict.fromkeys((*_OF_FEATURES, "format", "header"))
    return _open(source, unset | {"skip_bad_rows": False} | reading, None)


def _trained(
    run: FileRun, saved: Checkpoint | None, out: Any, report: Callable[[FileRun], Any] | None
) -> Model:
    """Take a run to its end, or to where it is asked to stop; the model, which is saved."""
    with interrupts(all_signals=saved is not None or out is not None) as asked:
        for part, plan in run.phases():
            for _ in run_epochs(run.learner, part, plan, run.progress):
                if saved is not None:
                    saved.step(run)
                if report is not None:
                    report(run)
                if asked:
                    raise _stop(run, saved, out, asked[0])
        model = trained_model(run)
        if out is not None:
            save_somewhere(model, Path(out))
        if saved is not None:
            saved.remove()
    return model


def _check(settings: Settings, has_valid: bool, has_checkpoint: bool, resume: bool) -> None:
    """Refuse settings that have no meaning, or contradict each other."""
    s = settings
    if resume and not has_checkpoint:
        raise OptionError("resume needs checkpoint, the folder that the run was saved in")
    if s.epochs is not None and (s.max_epochs, s.patience) != (20, 3):
        raise OptionError("max_epochs and patience have no effect where epochs says how many")
    if has_valid and s.holdout:
        raise OptionError("valid and holdout exclude each other: both decide the number of epochs")
    for name, low in (("epochs", 1), ("max_epochs", 1), ("patience", 1), ("seed", 0)):
        value = getattr(s, name)
        if value is not None and value < low:
            raise OptionError(f"{name} must be at least {low}, got {value}")
    if any(value is not None and not value >= 0 for value in (s.threshold, s.padding)):
        raise OptionError("threshold and padding must not be negative")
    if s.multiclass not in (None, "ovr", "joint"):
        raise OptionError(f"multiclass is 'ovr' or 'joint', got {s.multiclass!r}")
    if s.holdout is not None and not 0 <= s.holdout < 1:
        raise OptionError(f"holdout is a share of the rows, from 0 to less than 1, got {s.holdout}")
    if s.calibrate not in (None, *METHODS):
        raise OptionError(f"calibrate is one of {', '.join(METHODS)} or None, got {s.calibrate!r}")
    if s.target is not None:
        Target.parse(s.target)
        if not has_valid and not s.held_out(has_valid) > 0:
            raise OptionError(
                "a target needs held-out rows: give holdout (--holdout 0.1) or valid (--valid)"
            )


def _plain_weights(given: str | Mapping[str, float] | None) -> str | dict[str, float] | None:
    """Weights of classes, checked."""
    if given is None or given == "balanced":
        return given
    if not isinstance(given, Mapping):
        raise OptionError(f"class_weight is 'balanced' or a weight for each label, got {given!r}")
    weights = {str(label): float(weight) for label, weight in given.items()}
    for label, weight in weights.items():
        if not (math.isfinite(weight) and weight >= 0):
            raise OptionError(f"the weight of {label!r} is {weight:g}, but weights are from 0 on")
    return weights


def _begun(
    source: Source,
    settings: Settings,
    valid: Source | None,
    start: Model | None,
    threads: int,
    saved: Checkpoint | None,
    resume: bool,
) -> FileRun:
    """A run that has yet to begin, or one where it was saved."""
    if saved is not None and saved.file.exists():
        if not resume:
            raise DataError("a run is saved here; add --resume (resume=True)", path=saved.file)
        run = FileRun(source, settings, valid=valid, start=start, threads=threads)
        saved.resume(run)
        return run
    folder = None if saved is None else saved.row_folder
    return FileRun(source, settings, valid=valid, start=start, threads=threads, folder=folder)


def _open(
    files: Any, reading: dict[str, Any], start: Model | None, first: Source | None = None
) -> Source:
    """A source; one for validation reads as the first one does, one to go on as the model does."""
    if isinstance(files, Source):
        if first is None:
            refuse_idle("opened", reading)
        return _with_finite_scales(files)
    options = {name: given for name, given in reading.items() if name not in _OF_FEATURES}
    of_features = {name: reading[name] for name in _OF_FEATURES}
    if start is not None:
        _check_reading(reading, start)
        return data.open(files, features=start.features, classes=start.classes, **options)
    if first is not None:
        return data.open(files, features=first.features, **options)
    asked = of_features["ngrams"] is not None or of_features["analyzer"] is not None
    of_features["ngrams"] = _ngrams(*(of_features.pop(n) for n in _OF_NGRAMS))
    source = data.open(files, **of_features, **options, expect_text=asked)
    refuse_idle(source.format, reading)
    return _with_finite_scales(source)


def _check_reading(reading: dict[str, Any], start: Model | None) -> None:
    """Refuse options that the model to go on from decides about."""
    given = [name for name in _OF_FEATURES if reading[name] is not None]
    if start is not None and reading["label"] == start.features.label and "label" in given:
        given.remove("label")
    if start is not None and given:
        raise OptionError(f"the model to go on from decides about {', '.join(given)}")


def _with_finite_scales(source: Source) -> Source:
    """Refuse a column whose numbers are too large for a mean and a scale."""
    for column in source.features.columns:
        if not (math.isfinite(column.mean) and math.isfinite(column.scale)):
            raise DataError(
                "its numbers are too large to be scaled; correct them, or leave the column out "
                f"(--column {column.name}=ignore)",
                path=source.files[0] if source.files else None,
                column=column.name,
            )
    return source


def _ngrams(ngrams: int | tuple[int, int] | None, analyzer: str | None, bits: int | None) -> Ngrams:
    if analyzer not in (None, "word", "char"):
        raise OptionError(f"analyzer is 'word' or 'char', got {analyzer!r}")
    low, high = ngrams if isinstance(ngrams, tuple) else (1, 2 if ngrams is None else ngrams)
    if not 1 <= low <= high:
        raise OptionError(f"ngrams must be n >= 1 or 1 <= low <= high, got {ngrams!r}")
    return Ngrams(low, high, analyzer == "char", 22 if bits is None else bits)


def _stop(run: FileRun, saved: Checkpoint | None, out: Any, signal: int) -> BaseException:
    """Save what there is after a signal to stop, and say how to go on."""
    if saved is not None:
        saved.save(run)
        message = f"stopped; go on with the same command and --resume ({saved.file})"
        return Stopped(message, signal)
    if out is None:
        return KeyboardInterrupt()
    if run.progress.visits == 0 and len(run.runs) == 1:
        return Stopped("stopped before anything was learned", signal)
    save_somewhere(trained_model(run), Path(out))
    return Stopped(f"stopped; what was learned is in {out}, go on with --from {out}", signal)
