"""Labels become problems; scores become decisions."""

import numpy as np
from sklearn.utils.multiclass import _ovr_decision_function

from rosenblatt.kernels.rows import rows_of
from rosenblatt.kernels.tasks import Binary, OneVsRest, norm_and_change, votes


def test_votes_decide_as_scikit_learn_decides():
    scores = np.random.default_rng(0).normal(size=(50, 6))
    theirs = _ovr_decision_function(scores > 0, scores, 4)
    assert np.allclose(votes(scores, 4), theirs)


def test_classes_are_shared_out_among_threads_without_gap_or_overlap():
    rows = rows_of(np.ones((4, 2)))
    for classes, threads in ((3, 2), (10, 3), (4, 9)):
        task = OneVsRest(rows, np.zeros(4), np.ones(1), classes, threads)
        covered = [c for share in task.shares for c in range(share.start, share.stop)]
        assert covered == list(range(classes))


def test_counting_stops_when_there_is_enough():
    n = 10_000
    task = Binary(rows_of(np.ones((n, 1))), np.zeros(n), np.ones(1), 2)
    assert task.count_wrong(np.ones((1, 1)), np.zeros(1)) == n
    assert task.count_wrong(np.ones((1, 1)), np.zeros(1), enough=10) < n


def test_norm_and_change_make_the_old_the_new():
    new, old = np.array([3.0, 4.0]), np.array([3.0, 0.0])
    assert norm_and_change(new, old) == (25.0, 16.0)
    assert np.array_equal(old, new)
