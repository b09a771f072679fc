"""Data sets and options for the invariants: integer-valued, so that every sum is exact."""

import numpy as np
from hypothesis import strategies as st
from scipy import sparse


@st.composite
def data_sets(draw, n_classes=2, max_rows=9, max_columns=4):
    """A small integer matrix, and class numbers in which every class comes up."""
    n = draw(st.integers(n_classes, max_rows))
    d = draw(st.integers(1, max_columns))
    entries = st.lists(st.integers(-3, 3), min_size=d, max_size=d)
    X = np.array(draw(st.lists(entries, min_size=n, max_size=n)), dtype=float)
    labels = st.lists(st.integers(0, n_classes - 1), min_size=n - n_classes, max_size=n - n_classes)
    y = np.array(draw(st.permutations([*range(n_classes), *draw(labels)])))
    return X, y


@st.composite
def separable_sets(draw):
    """Rows labelled by a line of small integers, none of them on it."""
    X, _ = draw(data_sets(max_rows=12))
    line = draw(st.lists(st.integers(-3, 3), min_size=X.shape[1] + 1, max_size=X.shape[1] + 1))
    scores = X @ line[1:] + line[0]
    y = (scores > 0).astype(int)
    keep = scores != 0
    return X[keep], y[keep]


LAYOUTS = {
    "dense float64": lambda X: X,
    "dense float32": lambda X: X.astype(np.float32),
    "sparse float64": sparse.csr_array,
    "sparse float32": lambda X: sparse.csr_matrix(X.astype(np.float32)),
    "columns first": np.asfortranarray,
}


def alternating(t):
    """A learning rate that varies and stays a whole number."""
    return 1 + t % 3


layouts = st.sampled_from(sorted(LAYOUTS))
options = st.fixed_dictionaries(
    {
        "eta0": st.sampled_from([1, 2]),
        "learning_rate": st.sampled_from(["constant", alternating]),
        "threshold": st.integers(0, 3),
        "fit_intercept": st.booleans(),
        "intercept_scaling": st.sampled_from([1, 2]),
        "keep": st.sampled_from(["last", "average"]),
        "mistake": st.sampled_from(["margin", "sign"]),
    }
).map(lambda o: {**o, "threshold": 0 if o["mistake"] == "sign" else o["threshold"]})


def in_the_words_of_the_reference(options):
    """The same options as the reference names them."""
    rate = options["learning_rate"]
    return {
        "eta": options["eta0"] if rate == "constant" else rate,
        "threshold": options["threshold"],
        "mistake": options["mistake"],
        "padding": options["intercept_scaling"] if options["fit_intercept"] else None,
    }
