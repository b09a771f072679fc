"""Train a linear classifier on files or frames: what ``rosenblatt train`` calls."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from rosenblatt.atomic_files import remove_leftovers
from rosenblatt.data import Source
from rosenblatt.errors import OptionError
from rosenblatt.jobs.checkpoint import Checkpoint
from rosenblatt.jobs.options import (
    Reading,
    check_settings,
    check_several_labels,
    check_tuning,
    checked_class_weights,
)
from rosenblatt.jobs.run import FileRun, Settings
from rosenblatt.jobs.trained_model import check_model_path, finished, stopped
from rosenblatt.jobs.tune import Choice, Trial, parse_seconds
from rosenblatt.jobs.tune import tune as choose
from rosenblatt.models.model import Model
from rosenblatt.models.model_file import read_model
from rosenblatt.process import interrupts, threads_of
from rosenblatt.training import run as run_epochs


def train(
    source: Any,
    *,
    label: str | int | Iterable[str] | None = None,
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
    max_epochs: int | None = None,
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

    The first pass hashes the rows, learns from them in their order, and stores them; later epochs
    visit the stored rows in random order. Held-out rows decide when to stop; the model is then
    trained on all rows for as many epochs, if they fit in memory. The model is that of
    ``make_pipeline(HashedNgrams(), Perceptron(threshold=2.0, intercept_scaling=0.1,
    multiclass="ovr", keep="late_average", feature_rates="idf", shuffle="after_first",
    tol=None))``, bit for bit, if the features are one column of text.

    Parameters
    ----------
    source : path, several paths, or a frame
        Files, patterns such as ``"logs/*.csv.gz"``, ``"-"`` for standard input; or a table in
        memory (pandas, polars, pyarrow, dict of columns); or the result of
        :func:`rosenblatt.data.open`.
    label, text, columns, format, header, missing, skip_bad_rows
        How to read it, see :func:`rosenblatt.data.open`.
    ngrams, analyzer, bits
        How text is hashed, see :class:`rosenblatt.HashedNgrams`; by default n-grams of one and two
        words, hashed to 2^22 columns. With `ngrams` or `analyzer`, a column of words is treated as
        text, and data without one are refused.
    label_separator : str, optional
        Separates the labels of a row, which may have several; each label is then learned
        independently, and ``predict`` returns an indicator matrix. Not needed for fastText files,
        and for several label columns of 0 and 1 (``label=["toxic", "insult", "threat"]``).
    valid : as `source`, optional
        Validation rows, which decide the number of epochs instead of held-out ones.
    holdout : float, optional
        The share of rows held out, at most 50,000 rows; a tenth, if neither `epochs` nor `valid`
        is given.
    epochs : int, optional
        The number of epochs, which is then not decided by held-out rows.
    max_epochs, patience : int
        With validation: the largest number of epochs (by default 20), and the number of epochs
        without improvement that ends the run. Rows of a table without text are visited at least
        20,000 times, or for 16 epochs, as few held-out rows decide badly. On several shards the
        defaults are 16 epochs, and 64 for a table.
    threshold, padding : float, optional
        A row is corrected when its margin is at most the threshold; the padding constant c. Rows
        have a length of about 1. By default 2 and 0.1; 4 and 0.5 for a table without text. On
        S shards at most 4/S, and 4/√S for a table.
    average : bool
        Whether the model is the average of the weights over the last half of the run (see
        ``keep="late_average"`` of :class:`rosenblatt.training.Plan`), or the last weights. A table
        without text is averaged over the whole run.
    rule : str
        The learning rule: ``"perceptron"``, or another member of the family by name, optionally
        with parameters: ``"arow"``, ``"pa1:C=0.1"``, ``"scw1:C=0.5,confidence=0.8"`` (see
        :func:`rosenblatt.compare`). Only the perceptron has a `threshold`.
    multiclass : {"ovr", "joint"}, optional
        More than two classes: each against the rest, or each update between the right class and
        the best wrong one. By default the first; the second for a table without text.
    tune : float or str, optional
        Seconds (or ``"60s"``, ``"5m"``) in which to choose n-grams, bits, threshold, padding,
        average, multiclass and rule by their error on held-out rows and to train the model; options
        that are given are not tuned. The trials are in ``model.parameters["tuning"]``.
    seed : int
        Decides the orders and which rows are held out.
    weight : str, optional
        The column of row weights (a weight of 2 counts as two copies); it is not a feature.
    class_weight : "balanced" or mapping of label to weight, optional
        Class weights, which multiply those of their rows; balanced ones are inversely proportional
        to the number of rows of a class.
    calibrate : {"sigmoid", "isotonic"} or None
        How scores become probabilities (:meth:`Model.predict_proba`), fitted to the held-out rows;
        without held-out rows there are no probabilities.
    target : str, optional
        What the decision threshold between two classes is to reach on the held-out rows:
        ``"precision=0.95"``, ``"recall=0.9"`` or ``"f1"``, of the second class or of the one in
        ``"LABEL:f1"``.
    start : Model or path, optional
        A model to continue from, with its features and classes. What a rule keeps beside the
        weights, such as variances, is not part of it.
    out : path, optional
        Also write the model file here; whether that is possible is checked before training.
    checkpoint : path, optional
        A folder to save the run in, every `checkpoint_seconds` seconds and, if given, every
        `checkpoint_rows` rows; for one run at a time.
    resume : bool
        Continue the run saved in `checkpoint`, if there is one; it ends in the same model.
    memory : int
        Bytes of rows to keep in memory; more go to disk.
    n_jobs : int or None
        Threads that learn: None is 1, -1 all cores. The model is the same. (Reading has threads of
        its own.)
    workers : int, str, distributed.Client or concurrent.futures.Executor, optional
        Train on shards of the files with this number of local processes, with the workers of the
        Dask scheduler at an address such as ``"tcp://host:8786"``, or with an executor. Each epoch
        starts on every shard from the same weights, which are then mixed: the model depends on the
        shards, not on the workers. Files may be remote (``"s3://bucket/part-*.parquet"``).
    shards : int, optional
        With workers: the approximate number of shards; by default 16, or more if these were larger
        than 64 MB.
    report : callable, optional
        Called with the :class:`FileRun` after every step.
    report_trial : callable, optional
        Called with every :class:`rosenblatt.jobs.tune.Trial` of `tune`.

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
        multiclass, calibrate, target, checked_class_weights(class_weight), weight, rule,
    )  # fmt: skip
    check_settings(settings, valid is not None, checkpoint is not None, resume)
    if checkpoint is None and (checkpoint_rows is not None or checkpoint_seconds != 60.0):
        raise OptionError("how often to save a checkpoint has no effect without its folder")
    reading = Reading(
        label, text, columns, ngrams, analyzer, bits, format, header, missing, label_separator,
        skip_bad_rows,
    )  # fmt: skip
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
    rows = reading.open(source, begin)
    held = None if valid is None else reading.open(valid, begin, rows)
    _use_weights(weight, rows, held)
    check_several_labels(rows, settings, tune is not None)
    if out is not None:
        check_model_path(Path(out), [*rows.files, *(held.files if held else ())], saved)
    remove_leftovers()
    threads = threads_of(n_jobs)
    trials: list[Trial] = []
    if tune is not None:
        check_tuning(rows, start is not None, saved is not None)
        fixed = _fixed_choices(settings, reading, rows)
        choice, trials = choose(
            rows, held, settings.for_features(rows.features), fixed, parse_seconds(tune), threads,
            report_trial,
        )  # fmt: skip
        settings = choice.settings(settings)
        rows = reading.open_again(source, rows, choice.ngrams)
        held = None if held is None else reading.open_again(valid, rows, choice.ngrams)
        _use_weights(weight, rows, held)
    with (
        _opened_run(rows, settings, saved, resume, valid=held, start=begin, threads=threads) as run,
        interrupts(all_signals=saved is not None or out is not None) as asked,
    ):
        run.tuning = [trial.to_json() for trial in trials]
        for part, plan in run.phases():
            for _ in run_epochs(run.learner, part, plan, run.progress):
                if saved is not None:
                    saved.step(run)
                if report is not None:
                    report(run)
                if asked:
                    raise stopped(run, saved, out, asked[0])
        return finished(run, saved, out)


@contextmanager
def _opened_run(
    rows: Source, settings: Settings, saved: Checkpoint | None, resume: bool, **rest: Any
) -> Iterator[FileRun]:
    """A new run, or the one saved in the checkpoint."""
    with nullcontext() if saved is None else saved.locked(resume):
        folder = None if saved is None or saved.file.exists() else saved.row_cache
        run = FileRun(rows, settings, folder=folder, **rest)
        if saved is not None:
            saved.resume(run)
        with closing(run.rows):
            yield run


def _use_weights(column: str | None, *sources: Source | None) -> None:
    """Read the weights of rows from a column."""
    for source in sources:
        if column is not None and source is not None:
            source.weigh_by(column)


def _fixed_choices(settings: Settings, reading: Reading, source: Source) -> dict[str, Any]:
    """The values other than the defaults, which are not tuned."""
    default = Settings()
    given = {name: getattr(settings, name) for name in Choice.SETTINGS}
    fixed = {name: value for name, value in given.items() if value != getattr(default, name)}
    if reading.has_ngrams:
        fixed["ngrams"] = source.features.ngrams
    return fixed


def _train_on_shards(
    source: Any, settings: Settings, reading: Reading, start: Model | None, **rest: Any
) -> Model:
    """Train with workers; the only call to a package above this one."""
    from rosenblatt.cluster.train import Job, train_on_shards

    for name in ("out", "checkpoint"):
        rest[name] = None if rest[name] is None else Path(rest[name])
    return train_on_shards(Job(source, settings, reading.options(start), start=start, **rest))
