"""The options of training, in one record: Python, the command line and checkpoints read it.

An option is one entry here: its type, default, text and limits. `rosenblatt.train` gets its
signature and its documentation from the record, and the command line its parameters.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple

from rosenblatt.errors import OptionError
from rosenblatt.jobs.option_values import class_order, class_weights, column_kinds

if TYPE_CHECKING:
    from rosenblatt.jobs.run import Run
    from rosenblatt.jobs.tune import Trial
    from rosenblatt.kernels.text import Ngrams
    from rosenblatt.models.model import Model

# The panels of the help page.
INPUT, FEATURES, LEARNING, OUTPUT = "Input", "Features", "Learning", "Output"
LONG_RUNS = "Long runs"
# The kinds of options: those that a source or a model decides, those about parsing files, those
# that decide the weights (and are recorded in the model), and those about the run.
FEATURE, PARSING, SETTING, RUN = "feature", "parsing", "setting", "run"
PROGRAM_MEMORY = 256 << 20  # with what is read ahead, but without weights and rows
# What may be written for None, which is decided by the data, or nothing.
_WORDS_FOR_NONE = {"multiclass": "auto", "calibrate": "none"}
_DEEP = " " * 8  # the indentation of an option's text in a docstring


class Option(NamedTuple):
    """What is known of an option besides its name, type and default."""

    kind: str
    panel: str | None  # None: not on the command line
    help: str
    flags: tuple[str, ...]  # on the command line; by default --its-name
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    metavar: str | None = None
    given_as: Any = None  # the type on the command line, if not that of the field
    shown: Any = None  # the default on the command line, if not that of the field
    parse: Callable[[Any], Any] | None = None  # makes the value of what the command line gives


def _option(
    kind: str, panel: str | None, help: str, *flags: str, default: Any = None, **more: Any
) -> Any:
    """A field with its :class:`Option`."""
    return field(default=default, metadata={"option": Option(kind, panel, help, flags, **more)})


def option_of(entry: Field) -> Option:
    """The :class:`Option` of a field."""
    return entry.metadata["option"]


def documented(text: str | None, record: type) -> str:
    """A docstring with the options of a record in the place of ``{options}``.

    >>> print(documented("    {options}", TrainOptions)[:99])
        label : str | int | Iterable[str] | None
            Label column: its name, or its position from 1
    """
    lines = []
    for entry in fields(record):
        default = "" if entry.default is None else f", default {entry.default!r}"
        lines.append(f"    {entry.name} : {entry.type}{default}")
        lines += wrap(option_of(entry).help, 96, initial_indent=_DEEP, subsequent_indent=_DEEP)
    return (text or "").replace("    {options}", "\n".join(lines))


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """The options of :func:`rosenblatt.train`.

    Parameters
    ----------
    {options}

    Examples
    --------
    >>> from rosenblatt import TrainOptions, train
    >>> options = TrainOptions(text="text", epochs=3)
    >>> frame = {"label": ["pos", "neg"] * 20, "text": ["good and fun", "bad and dull"] * 20}
    >>> train(frame, options=options).predict(["good", "dull"]).tolist()
    ['pos', 'neg']
    """

    # The table of the options.
    # fmt: off
    label: str | int | Iterable[str] | None = _option(
        FEATURE, INPUT,
        "Label column: its name, or its position from 1 (-1 is the last); by default 'label'. "
        "Several, as A,B,C, are columns of 0 and 1, one per label.",
        "--label", "-l",
    )
    label_separator: str | None = _option(
        FEATURE, INPUT,
        "Separator of the labels of a row, if rows have several. Each label is then learned "
        "independently. FastText files and several label columns need none.",
    )
    format: str | None = _option(
        PARSING, INPUT,
        "csv, tsv, jsonl, parquet, arrow, svmlight, fasttext (fasttext:# if labels begin with #), "
        "vw or text. Detected by default.",
    )
    header: bool | None = _option(
        PARSING, INPUT,
        "Whether the first row has column names. Detected by default.",
        "--header/--no-header",
    )
    missing: Iterable[str] | None = _option(
        FEATURE, INPUT,
        "Values that count as missing, besides empty cells. Default: ? and the words of pandas, "
        "such as NA n/a #N/A <NA> nan null None. Labels are missing only where empty.",
        given_as=list[str], metavar="WORD",
    )
    decimal: str | None = _option(
        FEATURE, INPUT, "The sign before decimals: a comma for 1.234,5; a point by default.",
        choices=(".", ","),
    )
    skip_bad_rows: bool = _option(
        PARSING, INPUT, "Skip and count rows that cannot be read.", "--skip-bad-rows", default=False
    )
    text: str | Iterable[str] | None = _option(
        FEATURE, FEATURES, "Use only this text column.", given_as=list[str]
    )
    columns: Iterable[str] | Mapping[str, str] | None = _option(
        FEATURE, FEATURES,
        "Kind of a column: text, category, number, date or ignore; also number:comma, "
        "date:dayfirst, date:monthfirst, date:seconds, date:milliseconds, and date:age for the "
        "age of a date as a number. Others are detected.",
        "--column", given_as=list[str], metavar="NAME=KIND", parse=column_kinds,
    )
    ngrams: int | str | tuple[int, int] | None = _option(
        FEATURE, FEATURES,
        "N-grams of up to N words, or of N to M; 1-2 by default, of characters 2-5. In Vowpal "
        "Wabbit files, of features of a namespace; none by default.",
        given_as=str, metavar="N or N-M",
    )
    analyzer: str | None = _option(
        FEATURE, FEATURES,
        "What n-grams are of: word, words alone, which is the fastest; marks, words and, beside "
        "them, marks such as ! or :; char, characters within words; pieces, words and marks and, "
        "beside them, 1 to 5 characters of what stands between spaces. By default pieces; for two "
        "classes of texts of more than 500 bytes on average, marks.",
        choices=("word", "marks", "char", "pieces"), metavar="NAME",
    )
    cross: Iterable[str] | None = _option(
        FEATURE, FEATURES,
        "In Vowpal Wabbit files, multiply the features of namespaces that begin with these two "
        "letters; a colon stands for any.",
        given_as=list[str], metavar="AB",
    )
    bits: int | None = _option(
        FEATURE, FEATURES,
        "Hash to 2^BITS columns; 22 by default, fewer for many classes of text.",
        low=8, high=26,
    )
    lift: str = _option(
        SETTING, FEATURES,
        "What numbers and categories of a table become besides: none; knots, piecewise linear "
        "curves; pairs, also surfaces of two columns; auto: which of them errs least on held-out "
        "rows of a sample, for tables without text.",
        default="auto", choices=("auto", "none", "knots", "pairs"),
    )
    increasing: Iterable[str] | None = _option(
        SETTING, FEATURES,
        "A column of numbers with which the score of the second of two classes never falls, all "
        "else being equal. It is in no pair.",
        given_as=list[str], metavar="COLUMN",
    )
    decreasing: Iterable[str] | None = _option(
        SETTING, FEATURES, "The same for a column with which it never rises.",
        given_as=list[str], metavar="COLUMN",
    )
    valid: Any = _option(
        RUN, LEARNING,
        "Validation files, or rows, which decide the number of epochs instead of held-out rows.",
        given_as=list[str],
    )
    holdout: float | None = _option(
        SETTING, LEARNING,
        "Fraction of the rows to hold out; a tenth, if neither epochs nor validation files are "
        "given. After 50,000 held-out rows it is halved, and again each time the rows double.",
        low=0.0,
    )
    epochs: int | None = _option(
        SETTING, LEARNING, "Number of epochs; decided by held-out rows unless given.", low=1
    )
    max_epochs: int | None = _option(
        SETTING, LEARNING,
        "The most epochs where held-out rows decide: 20 by default; 16 on several shards, and 64 "
        "for tables.",
        low=1,
    )
    patience: int = _option(
        SETTING, LEARNING,
        "Epochs without a smaller error on held-out rows that end the run. Tables without text "
        "have 20,000 visits of rows or 16 epochs first, as few held-out rows decide badly.",
        default=3, low=1,
    )
    rule: str | None = _option(
        SETTING, LEARNING,
        "The learning rule: perceptron (default), arow, pa1, scw1:C=0.5, ...; auto: arow for a "
        "single epoch, else the perceptron. See rosenblatt.compare.",
    )
    threshold: float | None = _option(
        SETTING, LEARNING,
        "Update when the margin is at most this; rows have a length of about 1. By default 2, for "
        "tables and 32 classes or more 4; on S shards at most 4/S, for tables 4/√S. For the "
        "perceptron.",
        low=0.0,
    )
    padding: float | None = _option(
        SETTING, LEARNING, "The padding constant c; 0.1 by default, for tables 0.5.", low=0.0
    )
    average: bool | None = _option(
        SETTING, LEARNING,
        "Average the weights over the last half of the run, for tables over all of it (default), "
        "or take the last.",
        "--averaged/--last",
    )
    rates: str | None = _option(
        SETTING, LEARNING,
        "Learning rates of features: auto, by how rare features are and, in svmlight and Vowpal "
        "Wabbit files, how large; tables have none. none: all learn alike.",
        choices=("auto", "none"),
    )
    multiclass: str | None = _option(
        SETTING, LEARNING,
        "ovr: one-vs-rest; ovo: one-vs-one, all pairs of classes vote; joint: against the best "
        "other class. auto (default): joint for tables and 32 classes or more, else ovr.",
        choices=("auto", "ovr", "ovo", "joint"),
    )
    tune: float | str | None = _option(
        RUN, LEARNING,
        "Choose n-grams, bits, threshold, padding, average, multiclass and rule by their error on "
        "held-out rows, and train, within this time: 60s, 5m. Options that are given are not "
        "tuned.",
        given_as=str, metavar="TIME",
    )
    tune_for: str | None = _option(
        SETTING, LEARNING,
        "By what held-out rows decide, on epochs and with --tune on settings, instead of by wrong "
        "predictions: macro-f1, f1:LABEL, recall@precision=0.9 (of the last class, or with :LABEL) "
        "or, for ordered classes, spearman.",
        metavar="GOAL",
    )
    weight: str | None = _option(
        SETTING, LEARNING,
        "Column of sample weights: the copies each row counts for. It is not a feature.",
    )
    group: str | None = _option(
        SETTING, LEARNING,
        "Column whose equal values mark rows that are held out together, such as a customer. It is "
        "not a feature. Of texts, near copies of a row always are.",
        metavar="COLUMN",
    )
    ordered: bool = _option(
        SETTING, LEARNING,
        "Learn classes that have an order, such as ratings: one weight per feature, and thresholds "
        "between the classes, which are ordered as numbers.",
        "--ordered", default=False,
    )
    order: Iterable[str] | None = _option(
        SETTING, LEARNING,
        "The same for other classes: all of them from the lowest, as low,medium,high.",
        given_as=str, metavar="A,B,C", parse=class_order,
    )
    class_weight: str | Mapping[str, float] | None = _option(
        SETTING, LEARNING,
        "Weights of classes: balanced (inversely proportional to their rows), or a=2,b=1.",
    )
    calibrate: str | None = _option(
        SETTING, LEARNING,
        "Probabilities from held-out rows: sigmoid, isotonic or none.",
        default="sigmoid", choices=("sigmoid", "isotonic"),
    )
    target: str | None = _option(
        SETTING, LEARNING,
        "The goal of the threshold between two classes, on held-out rows: precision=0.95, "
        "recall=0.9 or f1; for the second class, or LABEL:precision=0.95.",
    )
    seed: int = _option(
        SETTING, LEARNING, "Seed of the row orders and the held-out rows.", default=0, low=0
    )
    memory: int = _option(
        SETTING, LONG_RUNS,
        "Memory of the process, in bytes (on the command line in MB), without that of the weights: "
        "256 MB are for the program and what it reads, the others for rows; more rows go to disk.",
        default=512 << 20, low=1, shown=512, parse=lambda megabytes: megabytes << 20,
    )
    checkpoint: str | os.PathLike[str] | None = _option(
        RUN, LONG_RUNS, "Folder to save checkpoints of the run in.", given_as=Path
    )
    checkpoint_seconds: float = _option(
        RUN, LONG_RUNS, "Seconds between checkpoints.", "--every", default=60.0, low=0.0
    )
    checkpoint_rows: int | None = _option(
        RUN, LONG_RUNS, "Rows between checkpoints, regardless of time.", "--every-rows", low=1
    )
    resume: bool = _option(
        RUN, LONG_RUNS,
        "Continue the run saved in the checkpoint folder; it ends in the same model.",
        "--resume", default=False,
    )
    start: Model | str | os.PathLike[str] | None = _option(
        RUN, LONG_RUNS,
        "Continue training this model, with its features and classes. What a rule keeps beside "
        "the weights, such as variances, begins anew.",
        "--from", given_as=Path,
    )
    n_jobs: int | None = _option(
        RUN, LONG_RUNS,
        "Training threads; -1 for all cores. The model is the same.",
        "--jobs", default=-1,
    )
    workers: Any = _option(
        RUN, LONG_RUNS,
        "Distribute the work over shards of the files: N processes, or a Dask scheduler such as "
        "tcp://host:8786; in Python also a distributed.Client or a concurrent.futures.Executor. "
        "The model depends on the shards, not on the workers.",
        given_as=str,
    )
    shards: int | None = _option(
        RUN, LONG_RUNS,
        "With --workers: approximate number of shards; at least 16 by default.",
        low=1,
    )
    out: str | os.PathLike[str] | None = _option(
        RUN, OUTPUT,
        "The model file to write; on the command line by default FILE with the ending .model.",
        "--out", "-o", given_as=Path,
    )
    report: Callable[[Run], Any] | None = _option(
        RUN, None, "Called with the run after every step."
    )
    report_trial: Callable[[Trial], Any] | None = _option(
        RUN, None, "Called with every trial of `tune`."
    )
    # fmt: on

    def __post_init__(self) -> None:
        """Check each option by itself."""
        object.__setattr__(self, "class_weight", class_weights(self.class_weight))
        if hasattr(self.label, "shape"):
            raise OptionError(
                "label is the name of a column, not the labels: TableClassifier().fit(frame, y)"
            )
        for name in ("increasing", "decreasing"):
            columns = getattr(self, name)
            if columns is not None:
                columns = (columns,) if isinstance(columns, str) else tuple(columns)
                object.__setattr__(self, name, columns or None)
        if self.order is not None:
            object.__setattr__(self, "order", tuple(map(str, self.order)))
            object.__setattr__(self, "ordered", True)
        if self.rule == "auto":
            from rosenblatt.training.defaults import auto_rule

            object.__setattr__(self, "rule", auto_rule(self.epochs))
        for name, word in _WORDS_FOR_NONE.items():
            if getattr(self, name) == word:
                object.__setattr__(self, name, None)
        for entry in fields(self):
            name, option = entry.name, option_of(entry)
            value = getattr(self, name)
            if value is None:
                continue
            if option.choices and value not in option.choices:
                raise OptionError(f"{name} is one of {', '.join(option.choices)}, got {value!r}")
            if option.low is not None and not value >= option.low:
                raise OptionError(f"{name} must be at least {option.low:g}, got {value}")
            if option.high is not None and not value <= option.high:
                raise OptionError(f"{name} must be at most {option.high:g}, got {value}")
        if self.holdout is not None and not self.holdout < 1:
            raise OptionError(f"holdout is a share of the rows below 1, got {self.holdout}")
        if self.ngrams is not None:
            self.hashing()  # which checks them

    def held_out(self, has_validation: bool) -> float:
        """The share of rows to hold out."""
        if self.holdout is not None:
            return self.holdout
        return 0.1 if self.epochs is None and not has_validation else 0.0

    @property
    def rows_memory(self) -> int:
        """The bytes of rows to keep in memory."""
        return max(0, self.memory - PROGRAM_MEMORY)

    def of_kind(self, *kinds: str) -> dict[str, Any]:
        """The options of some kinds, by name."""
        return {
            entry.name: getattr(self, entry.name)
            for entry in fields(self)
            if option_of(entry).kind in kinds
        }

    @property
    def settings(self) -> dict[str, Any]:
        """The options that decide the weights: what models and checkpoints record."""
        return self.of_kind(SETTING)

    def hashing(self, mean_length: float = math.inf, n_classes: float = 2) -> Ngrams:
        """How texts of this mean length, in bytes, and so many classes are hashed.

        >>> [TrainOptions(ngrams=n, analyzer="char").hashing()[:2] for n in (4, "4", "3-4", None)]
        [(1, 4), (2, 4), (3, 4), (2, 5)]
        >>> [TrainOptions().hashing(length).analyzer for length in (80, 1300)]
        ['pieces', 'marks']
        """
        from rosenblatt.kernels.text import Ngrams
        from rosenblatt.training.defaults import analyzer_of, bits_of

        analyzer = self.analyzer or analyzer_of(mean_length, n_classes)
        usual: Any = (2, 5) if analyzer == "char" else (1, 2)
        ngrams = usual if self.ngrams is None else self.ngrams
        try:
            if isinstance(ngrams, str):
                first, dash, last = ngrams.partition("-")
                high = int(last if dash else first)
                low = int(first) if dash else min(usual[0], high)
            else:
                low, high = ngrams if isinstance(ngrams, tuple) else (1, ngrams)
        except ValueError:
            low = high = 0
        if not 1 <= low <= high <= 20:
            raise OptionError(f"ngrams is N or N-M with 1 <= N <= M <= 20, got {self.ngrams!r}")
        by_pairs = self.rule in (None, "perceptron") and self.workers is None
        usual = 22 if by_pairs and not self.label_separator else bits_of(n_classes)
        return Ngrams(low, high, analyzer, usual if self.bits is None else self.bits)


TrainOptions.__doc__ = documented(TrainOptions.__doc__, TrainOptions)
