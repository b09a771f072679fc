"""What scores stand for, on the device: problems in rows, examples in columns."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from rosenblatt.learners.problems import Problems


def decide(xp: Any, problems: Problems, S: Any) -> Any:
    """The class numbers that (problems, rows) scores stand for."""
    if problems.n_classes <= 2:
        return (S[0] > 0).astype(np.int32)
    if problems.multiclass == "ovo":
        S = votes(xp, S, problems)
    return S.argmax(axis=0).astype(np.int32)


def votes(xp: Any, S: Any, problems: Problems) -> Any:
    """Votes per class from the scores of all pairs: :func:`rosenblatt.learners.problems.votes`."""
    n_classes = problems.n_classes
    votes = xp.zeros((n_classes, S.shape[1]))
    sums = xp.zeros_like(votes)
    for pair, (negative, positive) in enumerate(combinations(range(n_classes), 2)):
        score = S[pair].astype(np.float64)
        votes[positive] += score > 0
        votes[negative] += score <= 0
        sums[positive] += score
        sums[negative] -= score
    return votes + sums / (3 * (xp.abs(sums) + problems.unit))


def is_mistaken(xp: Any, problems: Problems, S: Any, codes: Any) -> Any:
    """Which rows are predicted wrong."""
    return decide(xp, problems, S) != codes


def is_wrong(xp: Any, problems: Problems, S: Any, codes: Any) -> Any:
    """Which rows are on the wrong side; for two classes those of ``y·s <= 0``."""
    if problems.n_classes <= 2:
        return (2 * codes - 1) * S[0] <= 0
    return is_mistaken(xp, problems, S, codes)


def is_corrected(xp: Any, problems: Problems, S: Any, codes: Any) -> Any:
    """Which rows would be corrected in any problem."""
    return (corrections(xp, problems, S, codes) != 0).any(axis=0)


def corrections(xp: Any, problems: Problems, S: Any, codes: Any) -> Any:
    """The sign by which each row corrects each problem (problems, rows): -1, 0 or +1."""
    below, above = problems.thresholds
    if not problems.joint:
        signs = xp.asarray(problems.signs.T)[:, codes]
        limits = xp.where(signs > 0, above, below)
        return xp.where(signs * S <= limits, signs, 0)
    here = xp.arange(S.shape[1])
    others = S.copy()
    others[codes, here] = -np.inf
    rivals = others.argmax(axis=0)
    wrong = S[codes, here] - S[rivals, here] <= xp.where(codes > rivals, above, below)
    out = xp.zeros(S.shape, np.int8)
    out[codes[wrong], here[wrong]] = 1
    out[rivals[wrong], here[wrong]] = -1
    return out
