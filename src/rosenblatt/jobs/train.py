"""Train a linear classifier on files or frames: what ``rosenblatt train`` calls."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, ParamSpec, Protocol, overload

from rosenblatt.atomic_files import remove_leftovers
from rosenblatt.data import Source
from rosenblatt.jobs.checkpoint import Checkpoint
from rosenblatt.jobs.lift import LiftTrial, lift_source
from rosenblatt.jobs.option_checks import check as check_options
from rosenblatt.jobs.options import TrainOptions, documented
from rosenblatt.jobs.ordered import ordered_rows
from rosenblatt.jobs.outcome import check_model_path, finished, stopped
from rosenblatt.jobs.rows import FileRows
from rosenblatt.jobs.run import Run
from rosenblatt.jobs.sources import as_before, open_again, open_rows
from rosenblatt.jobs.start import check_can_learn
from rosenblatt.jobs.tune import Trial, Verdict, parse_seconds, tune
from rosenblatt.models.model import Model
from rosenblatt.models.model_file import read_model
from rosenblatt.process import interrupts, threads_of
from rosenblatt.training import run as run_epochs

P = ParamSpec("P")


class _Train(Protocol[P]):
    """The type of :func:`train`: the options as keywords, or as a record."""

    @overload
    def __call__(self, source: Any, *args: P.args, **options: P.kwargs) -> Model: ...
    @overload
    def __call__(self, source: Any, *, options: TrainOptions, **changes: Any) -> Model: ...


def _with_options_of(
    record: Callable[P, TrainOptions],
) -> Callable[[Callable[..., Model]], _Train[P]]:
    """Give a function the signature of a record, and its texts in place of ``{options}``."""

    def describe(function: Callable[..., Model]) -> Any:
        keywords = inspect.signature(record).parameters.values()
        parameters = inspect.signature(function).parameters
        function.__doc__ = documented(function.__doc__, TrainOptions)
        function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [parameters["source"], parameters["options"], *keywords], return_annotation=Model
        )
        return function

    return describe


@_with_options_of(TrainOptions)
def train(source: Any, *labels: Any, options: TrainOptions | None = None, **changes: Any) -> Model:
    """Train a linear classifier on files of any size, or on a frame.

    The first pass hashes the rows, learns from them in their order, and stores them; later epochs
    visit the stored rows in random order. Held-out rows decide when to stop; the model is then
    trained on all rows for as many epochs, if they fit in memory. The model is that of
    ``make_pipeline(HashedNgrams(analyzer="pieces"), Perceptron(threshold=2.0,
    intercept_scaling=0.1, multiclass="ovr", keep="late_average", feature_rates="idf",
    shuffle="after_first", tol=None))``, bit for bit, if the features are one column of text (and
    ``analyzer="marks"`` for two classes of long texts).

    Parameters
    ----------
    source : path, several paths, or a frame
        Files, patterns such as ``"logs/*.csv.gz"``, ``"-"`` for standard input; or a table in
        memory (pandas, polars, pyarrow, dict of columns); or the result of
        :func:`rosenblatt.data.open`.
    options : TrainOptions, optional
        The options as a record; keywords replace some of them.
    {options}

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
    (['pos', 'neg'], 74)
    """
    if labels:
        raise TypeError(
            "train takes one source, whose rows have their labels: train(frame, label='kind'). "
            "Beside labels y, use TableClassifier().fit(frame, y) or Perceptron().fit(X, y)."
        )
    options = TrainOptions(**changes) if options is None else replace(options, **changes)
    check_options(options)
    start = options.start
    if start is not None and not isinstance(start, Model):
        start = read_model(start)
    if start is not None:
        check_can_learn(start)
    if start is not None:
        options = as_before(options, start)
    if options.workers is not None:
        from rosenblatt.cluster.train import train_on_shards  # the only call to the floor above

        return train_on_shards(source, replace(options, start=start))
    return _train(source, options, start)


def _train(source: Any, options: TrainOptions, start: Model | None) -> Model:
    """Train in this process."""
    saved, out = None, options.out
    if options.checkpoint is not None:
        saved = Checkpoint(
            Path(options.checkpoint), options.checkpoint_seconds, options.checkpoint_rows
        )
    rows, valid = open_rows(source, options, start)
    if out is not None:
        check_model_path(Path(out), [*rows.files, *(valid.files if valid else ())], saved)
    remove_leftovers()
    threads = threads_of(options.n_jobs)
    trials: list[Trial] = []
    verdict: Verdict | None = None
    if options.tune is not None:
        seconds = parse_seconds(options.tune)
        choice, trials, verdict = tune(rows, valid, options, seconds, threads, options.report_trial)
        options = choice.options(options)
        rows = open_again(source, rows, options, choice.ngrams)
        if valid is not None:
            valid = open_again(options.valid, valid, options, choice.ngrams)
    lifts: list[LiftTrial] = []
    if start is None:
        rows.features, lifts = lift_source(rows, options)
        if valid is not None:
            valid.features = rows.features
    if options.ordered:
        rows = ordered_rows(rows, options)
        valid = None if valid is None else rows.like(valid)
    with (
        _opened_run(rows, options, saved, valid=valid, start=start, threads=threads) as run,
        interrupts(all_signals=saved is not None or out is not None) as signals,
    ):
        run.tuning, run.verdict = [trial.to_json() for trial in trials], verdict
        run.lifts = lifts
        return complete(run, saved, signals)


def complete(run: Run, saved: Checkpoint | None, signals: list[int]) -> Model:
    """Train to the end, or until a signal asks to stop; saves and returns the model."""
    options = run.options
    for part, plan in run.phases():
        for _ in run_epochs(run.learner, part, plan, run.progress):
            if saved is not None:
                saved.step(run)
            if options.report is not None:
                options.report(run)
            if signals:
                raise stopped(run, saved, options.out, signals[0])
    return finished(run, saved, options.out)


@contextmanager
def _opened_run(
    rows: Source, options: TrainOptions, saved: Checkpoint | None, **sources: Any
) -> Iterator[Run]:
    """A new run, or the one saved in the checkpoint."""
    with nullcontext() if saved is None else saved.locked(options.resume):
        folder = None if saved is None or saved.file.exists() else saved.row_cache
        run = Run(FileRows(rows, options, folder=folder, **sources), options)
        if saved is not None:
            saved.resume(run)
        with closing(run.rows):
            yield run
