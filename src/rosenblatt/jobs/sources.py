"""Open the files that the options of training name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rosenblatt import data
from rosenblatt.data import Source
from rosenblatt.data.bytes import is_stream
from rosenblatt.data.formats import refuse_unused_options
from rosenblatt.data.labels import joined_label
from rosenblatt.data.open import missing_words
from rosenblatt.errors import OptionError
from rosenblatt.jobs.options import FEATURE, PARSING, TrainOptions
from rosenblatt.kernels.text import Ngrams
from rosenblatt.models.model import Model
from rosenblatt.rules.registry import parse


def open_rows(
    files: Any, options: TrainOptions, start: Model | None = None
) -> tuple[Source, Source | None]:
    """The rows to train on, and those to validate on; with the features of `start`, if given."""
    rows = _open(files, options, start)
    _check_multilabel(rows, options)
    if options.tune is not None and rows.format != "table" and any(map(is_stream, rows.files)):
        raise OptionError(
            "tune reads the rows more than once: name files, not pipes or standard input"
        )
    if options.valid is None:
        return _weighted(rows, options), None
    if isinstance(options.valid, Source):
        valid = options.valid
    elif start is not None:
        valid = _open(options.valid, options, start)
    else:
        valid = data.open(options.valid, features=rows.features, **options.of_kind(PARSING))
    return _weighted(rows, options), _weighted(valid, options)


def open_again(files: Any, source: Source, options: TrainOptions, ngrams: Ngrams) -> Source:
    """The files of a source with other n-grams."""
    if isinstance(files, Source):
        raise OptionError("tune opens the files itself: give their names, not an open source")
    features = replace(source.features, ngrams=ngrams)
    again = _weighted(data.open(files, features=features, **options.of_kind(PARSING)), options)
    again.sampled_classes = source.sampled_classes
    return again


def reading(options: TrainOptions, start: Model | None = None) -> dict[str, Any]:
    """The options of :func:`rosenblatt.data.open`; without n-grams if a model decides them."""
    values = options.of_kind(FEATURE, PARSING)
    hashing = [values.pop(name) for name in ("ngrams", "analyzer", "bits")]
    if start is not None:
        _check_start(options, start)
        return values
    return values | {"ngrams": options.hashing, "expect_text": hashing[:2] != [None, None]}


def _open(files: Any, options: TrainOptions, start: Model | None) -> Source:
    """Open files by the options, or by the features of a model to go on from."""
    if isinstance(files, Source):
        refuse_unused_options("opened", options.of_kind(FEATURE, PARSING))
        return files
    if start is not None:
        _check_start(options, start)
        parsing = options.of_kind(PARSING)
        source = data.open(files, features=start.features, classes=start.classes, **parsing)
        source.take_new_classes()
        source.sampled_classes = len(start.classes)
        return source
    counts: list[float] = [0.0]

    def hashing(mean_length: float, n_classes: float) -> Ngrams:
        counts.append(n_classes)
        return options.hashing(mean_length, n_classes)

    source = data.open(files, **(reading(options) | {"ngrams": hashing}))
    source.sampled_classes = counts[-1]
    refuse_unused_options(source.format, options.of_kind(FEATURE, PARSING))
    return source


def _check_start(options: TrainOptions, start: Model) -> None:
    """Refuse options that differ from what the start model was trained with."""
    options_given = [name for name, value in options.of_kind(FEATURE).items() if value is not None]
    names = [name for name in options_given if not _is_as_in(start, options, name)]
    if names:
        drop = "that option" if len(names) == 1 else "those options"
        raise OptionError(f"start (--from MODEL) fixes {', '.join(names)}: drop {drop}")
    before, now = (
        parse(rule or "perceptron")[0] for rule in (start.parameters.get("rule"), options.rule)
    )
    if before is not now:
        raise OptionError(
            f"start (--from MODEL) was trained with the rule {before.name}: drop the rule, or "
            "train a new model"
        )


def as_before(options: TrainOptions, start: Model) -> TrainOptions:
    """Options with the rule and the scheme for several classes that a model was trained with."""
    changes: dict[str, Any] = {
        name: start.parameters.get(name)
        for name in ("rule", "multiclass")[: 1 if start.multilabel else 2]
        if getattr(options, name) is None
    }
    options = replace(options, **changes)
    if len(start.classes) > 2 and start.by_pairs != (options.multiclass == "ovo"):
        raise OptionError(
            "start (--from MODEL) has weights for each "
            + ("pair of classes: drop multiclass" if start.by_pairs else "class: not ovo, but ovr")
            + ", or train a new model"
        )
    return options


def _is_as_in(start: Model, options: TrainOptions, name: str) -> bool:
    """Whether an option says what the features of the start model are anyway."""
    features, value = start.features, getattr(options, name)
    kinds = {column.name: column.kind for column in features.columns}
    if name == "label":
        return bool(joined_label(value) == features.label)
    if name == "label_separator":
        return bool(value == features.separator)
    if name == "missing":
        return set(missing_words(value)) == set(features.missing_words)
    if name == "text":
        texts = [value] if isinstance(value, str) else list(value)
        return kinds == dict.fromkeys(texts, "text")
    if name == "columns":
        if not isinstance(value, Mapping):
            return set(value) == set(kinds)
        return all(kinds.get(column, "ignore") == kind for column, kind in value.items())
    hashing, before = options.hashing(), features.ngrams
    if name == "cross":
        return tuple(value) == features.crosses
    if name == "bits":
        return hashing.bits == before.bits
    if name == "analyzer":
        return value == before.analyzer
    return name == "ngrams" and hashing[:2] == before[:2]


def _check_multilabel(source: Source, options: TrainOptions) -> None:
    """Refuse options that need exactly one label per row, if rows may have several."""
    if not source.features.multilabel:
        return
    for name in ("class_weight", "multiclass", "tune"):
        if getattr(options, name) not in (None, "ovr"):
            raise OptionError(f"{name} is for one label per row, and here a row may have several")


def _weighted(source: Source, options: TrainOptions) -> Source:
    """A source that reads the weights of rows, and their groups, if there are columns of them."""
    if options.weight is not None:
        source.weigh_by(options.weight)
    if options.group is not None:
        source.group_by(options.group)
    return source
