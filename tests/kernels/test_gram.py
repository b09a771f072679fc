"""The dual kernels against the sequential algorithm written down with no blocks."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rosenblatt.kernels.gram import vote, walk


@st.composite
def blocks(draw):
    """Whole-number rows, signs of some problems, weights, and scores from before the block."""
    b, problems = draw(st.integers(1, 7)), draw(st.integers(1, 3))
    numbers = st.integers(-3, 3)
    X = np.array(draw(st.lists(st.tuples(numbers, numbers), min_size=b, max_size=b)), float)
    signs = np.array(
        [[draw(st.sampled_from([-1, 0, 1])) for _ in range(b)] for _ in range(problems)]
    )
    S = np.array([[draw(numbers) for _ in range(b)] for _ in range(problems)], float)
    omega = np.array([draw(st.sampled_from([0.5, 1, 2, 3])) for _ in range(b)], float)
    return X, signs.astype(np.int8), S, omega


def call(X, signs, S, omega, threshold):
    problems = len(S)
    clock, squares = np.zeros(problems), np.zeros((2, problems))
    found, places = np.empty((S.size, 2)), np.empty((S.size, 2), np.int64)
    before, seen, order = S.copy(), np.empty_like(S), np.arange(len(X))
    ended = walk(
        X @ X.T, order, S, before, signs, omega, (threshold, threshold),
        (clock, squares), (found, places), seen,
    )  # fmt: skip
    S[:, : ended[0]] = seen[:, : ended[0]]
    return ended, found[: ended[1]], places[: ended[1]], clock, squares


def one_by_one(X, signs, S, omega, threshold):
    """Each copy of each row in turn; a fraction of a copy moves by that fraction."""
    S, moved, G = S.copy(), [], X @ X.T
    for i in range(len(X)):
        for p in range(len(S)):
            if signs[p, i] == 0:
                continue
            left, tau = omega[i], 0.0
            s = S[p, i]
            while left > 0 and signs[p, i] * s <= threshold:
                part = min(1.0, left)
                tau, left, s = tau + part, left - part, s + signs[p, i] * part * G[i, i]
            if tau:
                S[p, i + 1 :] += signs[p, i] * tau * G[i, i + 1 :]
                moved.append((p, i, signs[p, i] * tau))
    return S, moved


@given(blocks(), st.sampled_from([0.0, 2.0]))
def test_a_walk_takes_the_steps_of_the_sequential_algorithm(block, threshold):
    X, signs, S, omega = block
    omega = np.where(omega == 0.5, 1.0, omega)
    expected, moved = one_by_one(X, signs, S, omega, threshold)
    (walked, _, updates, mistaken), found, places, clock, _ = call(X, signs, S, omega, threshold)
    assert walked == len(X)
    assert [(p, i, tau) for (p, i), (tau, _) in zip(places, found, strict=True)] == moved
    assert np.array_equal(S, expected)
    assert mistaken == len({i for _, i, _ in moved})
    assert updates == sum(abs(tau) for _, _, tau in moved)
    assert np.array_equal(clock, (omega * (signs != 0)).sum(axis=1))


@given(blocks())
def test_the_squared_change_is_that_of_the_weights(block):
    X, signs, S, omega = block
    _, found, places, _, squares = call(X, signs, np.zeros_like(S), omega, 0.0)
    for p in range(len(S)):
        w = sum((tau * X[i] for (q, i), (tau, _) in zip(places, found, strict=True) if q == p), 0.0)
        assert np.isclose(squares[1, p], np.dot(w, w) if np.ndim(w) else 0.0)
        assert np.isclose(squares[0, p], squares[1, p])


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.sampled_from([-3.0, -1.0, 0.5, 1.0, 2.0])), max_size=6
    ),
    st.integers(0, 4),
)
def test_votes_are_those_of_all_weight_vectors_one_after_the_other(mistakes, idle):
    K = np.array([[1.0, -2.0, 3.0], [0.0, 1.0, -1.0]])
    found, places, v = [], [], np.zeros(2)
    time, expected = 0.0, np.zeros(2)
    for place, tau in mistakes:
        expected += idle * np.where(v > 0, 1, -1)  # right answers before the mistake
        time += idle
        found.append((tau, time))
        places.append(place)
        left = abs(tau)
        while left > 0:
            part = min(1.0, left)
            v, left, time = v + np.sign(tau) * part * K[:, place], left - part, time + part
            expected += part * np.where(v > 0, 1, -1)
    out, clock = np.empty((2, 1)), np.array([time])
    starts = np.array([0, len(found)])
    vote(K, starts, np.array(places, np.int64), np.reshape(found, (-1, 2)), clock, out)
    assert np.allclose(out[:, 0] * time, expected)
