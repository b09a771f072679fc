"""The table of the problems of linear models that kernels read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from rosenblatt.learners.problems import n_problems

PROBLEM = np.dtype(
    [
        ("below", "f8"), ("above", "f8"), ("padding", "f8"), ("negative", "i4"), ("positive", "i4"),
        ("weights", "i4"), ("rates", "i4"), ("model", "i4"), ("active", "i4"),
    ]
)  # fmt: skip
"""struct Problem of kernels.cu."""


@dataclass(frozen=True)
class ModelSettings:
    """The settings in which models that are trained together may differ."""

    thresholds: tuple[float, float] = (0.0, 0.0)
    padding: float = 1.0
    averaging: bool = False


def problem_table(
    models: Sequence[ModelSettings], n_classes: int, multiclass: str, dtype: Any
) -> np.ndarray[Any, np.dtype[Any]]:
    """The problems of some models, one model after the other.

    >>> problem_table([ModelSettings()], 3, "ovo", np.float64)[["negative", "positive"]].tolist()
    [(0, 1), (0, 2), (1, 2)]
    """
    per_model = n_problems(n_classes, multiclass)
    table = np.zeros(len(models) * per_model, PROBLEM)
    if n_classes <= 2:
        sides = [(0, 1)]
    elif multiclass == "ovo":
        sides = list(combinations(range(n_classes), 2))
    else:
        sides = [(-1, c) for c in range(n_classes)]
    for number, model in enumerate(models):
        own = table[number * per_model : (number + 1) * per_model]
        own["below"], own["above"] = (rounded_down(t, dtype) for t in model.thresholds)
        own["padding"] = model.padding * model.padding
        own["negative"], own["positive"] = zip(*sides, strict=True)
        own["model"], own["active"] = number, 1
    return table


def rounded_down(number: float, dtype: Any) -> float:
    """The largest number of a type that is not above a number; no score lies between the two.

    >>> rounded_down(-5e-324, np.float32) < 0 < 0.1 - rounded_down(0.1, np.float32)
    True
    """
    kind = np.dtype(dtype).type
    rounded = kind(number)
    if float(rounded) > number:
        rounded = np.nextafter(rounded, kind(-np.inf))
    return float(rounded)


def screen_error(features: int) -> float:
    """A bound on the error of a score computed on tensor cores, relative to ``‖w‖·‖x‖``.

    Entries are truncated to 10 bits: the relative error of each is below 2⁻¹⁰, that of each product
    below ``2⁻⁹ + 2⁻²⁰``; by the Cauchy-Schwarz inequality the error of their sum is at most that
    share of ``‖w‖·‖x‖``. Summing n numbers, truncated to 23 bits at every step, adds less than
    ``n·2⁻²²`` of the sum of their absolute values. The score in single precision, which replaces it
    near the threshold, has half of the latter error itself.

    >>> round(screen_error(2048), 5)
    0.00269
    """
    return 2.0**-9 + 2.0**-20 + 1.5 * features * 2.0**-22
