"""The batch rule: what all rows together correct, from their scores."""

from __future__ import annotations

import numpy as np

from rosenblatt.learners.problems import Problems
from rosenblatt.learners.protocol import Array


def corrections(
    problems: Problems, scores: Array, codes: Array, weight: Array
) -> tuple[Array, int]:
    """What each row adds to each problem (rows, problems), for a rate of one, and the updates.

    >>> coefficients, updates = corrections(
    ...     Problems(2), np.array([[0.5], [0.5]]), np.array([0, 1]), np.ones(2)
    ... )
    >>> coefficients.tolist(), updates
    ([[-1.0], [0.0]], 1)
    """
    if problems.joint:
        here, rivals = np.arange(len(codes)), problems.rivals(scores, codes)
        wrong = problems.is_corrected(scores, codes)
        out = np.zeros(scores.shape)
        out[here[wrong], codes[wrong]] = weight[wrong]
        out[here[wrong], rivals[wrong]] = -weight[wrong]
        return out, int(np.count_nonzero(wrong))
    signs, (below, above) = problems.signs[codes], problems.thresholds
    wrong = (signs != 0) & (signs * scores <= np.where(signs > 0, above, below))
    copies = np.maximum(1, np.ceil(weight)).astype(np.int64)
    return wrong * signs * weight[:, None], int((wrong * copies[:, None]).sum())
