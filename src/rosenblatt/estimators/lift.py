"""Find the smallest feature map after which a hyperplane separates the classes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils import check_random_state, indexable

from rosenblatt.estimators.perceptron import Perceptron
from rosenblatt.learners.examples import check_sparse
from rosenblatt.lifts.registry import LIFTS
from rosenblatt.theory import Certificate, CertificateSet, certify

_MIN_ROWS = 20  # for RBF features: fewer rows are separated by any features of that number
_MAX_FEATURES = {False: 2000, True: 200_000}  # of maps to dense and to sparse rows


@dataclass(frozen=True)
class Attempt:
    """One map that was tried.

    Attributes
    ----------
    name : str
    transformer
        The map, fitted to the data.
    size : int
        The number of features it makes.
    verdict : str
        ``"separable"``, ``"quasi-separable"``, ``"inseparable"``, ``"undecided"`` (out of time) or
        ``"too large"`` (more features than asked for; not tried).
    certificate : Certificate, CertificateSet or None
        The proof; for several classes, one per class against the rest.
    validation_error : float
        The error of an averaged perceptron after this map, by stratified cross-validation; NaN if
        a class has a single row, or the map was not tried.
    seconds : float
        The time the certificate took.
    """

    name: str
    transformer: Any
    size: int
    verdict: str
    certificate: Certificate | CertificateSet | None = field(repr=False, default=None)
    validation_error: float = math.nan
    seconds: float = 0.0

    @property
    def separable(self) -> bool:
        """Whether a hyperplane separates the classes after this map."""
        return self.verdict == "separable"

    @property
    def certificates(self) -> list[Certificate]:
        """The certificates: one for two classes, else one per class."""
        if isinstance(self.certificate, CertificateSet):
            return list(self.certificate.values())
        return [] if self.certificate is None else [self.certificate]

    @property
    def margin(self) -> float:
        """A lower bound of the augmented margin, the least over classes; NaN if not separable."""
        margins = [c.augmented.lower for c in self.certificates if c.augmented is not None]
        return min(margins) if self.separable and margins else math.nan

    @property
    def mistake_bound(self) -> float:
        """The most updates of a perceptron from zero, over all classes; infinity if not known."""
        bounds = [c.mistake_bound for c in self.certificates]
        known = [b for b in bounds if b is not None]
        return sum(known) if self.separable and len(known) == len(bounds) else math.inf


@dataclass(frozen=True)
class LiftSearch:
    """The result of :func:`find_lift`; ``print`` shows it as a table.

    Attributes
    ----------
    found : Attempt or None
        The smallest map that separates the classes; None if none of those tried does.
    attempts : tuple of Attempt
        The maps in order of size, up to the one found.
    """

    found: Attempt | None
    attempts: tuple[Attempt, ...]

    @property
    def separable(self) -> bool:
        """Whether a map was found."""
        return self.found is not None

    @property
    def best(self) -> Attempt:
        """The map found, or else the one with the least validation error."""
        if self.found is not None:
            return self.found
        tried = [a for a in self.attempts if a.verdict != "too large"] or list(self.attempts)
        return min(tried, key=lambda a: math.inf if math.isnan(e := a.validation_error) else e)

    def transform(self, X: Any) -> Any:
        """Rows after the best map."""
        return self.best.transformer.transform(X)

    def pipeline(self, classifier: Any = None) -> Pipeline:
        """A pipeline of the best map and a classifier, not fitted.

        The default is a :class:`rosenblatt.Perceptron`; after a map that separates, one that
        runs until it has separated the rows, as the mistake bound guarantees.

        Examples
        --------
        >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
        >>> find_lift(X, y).pipeline().fit(X, y).score(X, y)
        1.0
        """
        if classifier is None:
            bound = math.inf if self.found is None else self.found.mistake_bound
            epochs = {"tol": None, "max_iter": int(bound) + 1} if math.isfinite(bound) else {}
            classifier = Perceptron.textbook(**epochs)
        return make_pipeline(clone(self.best.transformer), classifier)

    def __str__(self) -> str:
        lines = [f"{'map':<28}{'features':>9}  {'verdict':<16}{'validation error':>17}"]
        for a in self.attempts:
            error = "-" if math.isnan(a.validation_error) else f"{a.validation_error:.1%}"
            lines.append(f"{a.name:<28}{a.size:>9,}  {a.verdict:<16}{error:>17}")
        if self.found is None:
            return "\n".join([*lines, "None of these maps separates the classes."])
        found = self.found
        return "\n".join(
            [
                *lines,
                f"The smallest map that separates is {found.name!r}: {found.size} features, margin "
                f"{found.margin:.4g}, at most {found.mistake_bound:,} mistakes.",
            ]
        )


def find_lift(
    X: Any,
    y: Any,
    maps: Mapping[str, Any] | Sequence[Any] | None = None,
    *,
    max_features: int | None = None,
    time_limit: float | None = 60.0,
    folds: int = 5,
    random_state: Any = 0,
) -> LiftSearch:
    """Try maps in order of size and return the smallest after which the classes are separable.

    Data that no hyperplane separates may be separable after a map φ. Each answer is certified
    (:func:`rosenblatt.certify`): a separator, or rows that contradict each other, checked in whole
    numbers against the features as the map computes them.

    Parameters
    ----------
    X : array or sparse matrix (n, d), or a sequence of n strings
    y : array (n,)
        Labels of two or more classes; with more than two, each is separated from the rest.
    maps : mapping of names to transformers, or a sequence of transformers, default=None
        scikit-learn transformers to try. By default, for rows of numbers: identity, pairwise
        products, polynomials of degree 2 and 3; and for dense ones Nystroem features of the RBF
        kernel (100 and 500, for fewer than 100 rows half as many as rows), knots, and knots and
        pairs (:class:`rosenblatt.Lift`). For text: counts
        of words, of words and pairs, and up to triples.
    max_features : int or None, default=None
        Maps that make more features are not tried ("too large"). None: 2,000, or 200,000 for maps
        that make sparse rows.
    time_limit : float or None, default=60.0
        Seconds for each certificate.
    folds : int, default=5
        Folds of the cross-validation; fewer where a class has fewer rows, 0 for none.
    random_state : int, RandomState or None, default=0
        Seed of the folds and of the Nystroem features.

    Returns
    -------
    LiftSearch

    Notes
    -----
    With enough features anything is separable (T. Cover, 1965: n points in general position need
    no more than n - 1), so that separability alone says nothing about new rows: see the validation
    error and the margin too.

    Examples
    --------
    XOR needs the product of its two inputs:

    >>> print(find_lift([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0], folds=0))
    map                          features  verdict          validation error
    identity                            2  inseparable                     -
    pairwise products                   3  separable                       -
    The smallest map that separates is 'pairwise products': 3 features, margin 0.2, at most 100 \
mistakes.

    "not good" and "not bad" need pairs of words:

    >>> lift = find_lift(["good", "bad", "not good", "not bad"], [1, 0, 0, 1], folds=0)
    >>> lift.found.name, lift.found.size, lift.found.mistake_bound
    ('words and pairs', 5, 40)
    """
    check_sparse(X)
    X, y = indexable(X, y)
    if folds < 0:
        raise ValueError(f"folds must not be negative, got {folds}; 0 is for none.")
    if not hasattr(X, "shape"):
        X = np.asarray(X, dtype=object if _is_text(X) else None)
    y = np.asarray(y)
    random = check_random_state(random_state)
    named = _named(maps) if maps is not None else _default_maps(X, random)
    fitted = [(name, *_fit(transformer, X)) for name, transformer in named]
    fitted.sort(key=lambda entry: entry[2])
    attempts: list[Attempt] = []
    for name, transformer, size, largest in fitted:
        if size > (largest if max_features is None else max_features):
            attempts.append(Attempt(name, transformer, size, "too large"))
            continue
        features, began = transformer.transform(X), perf_counter()
        certificate = certify(features, y, time_limit=time_limit)
        seconds = perf_counter() - began
        error = _validation_error(transformer, X, y, folds, random)
        attempts.append(
            Attempt(name, transformer, size, certificate.verdict, certificate, error, seconds)
        )
        if attempts[-1].separable:
            return LiftSearch(attempts[-1], tuple(attempts))
    return LiftSearch(None, tuple(attempts))


def _validation_error(transformer, X, y, folds, random) -> float:
    k = min(folds, int(np.unique(y, return_counts=True)[1].min()))
    if k < 2:
        return math.nan
    seed = int(random.randint(2**31))
    model = make_pipeline(clone(transformer), Perceptron(random_state=seed))
    split = StratifiedKFold(k, shuffle=True, random_state=seed)
    return 1.0 - float(cross_val_score(model, X, y, cv=split).mean())


def _fit(transformer: Any, X: Any) -> tuple[Any, int, int]:
    """A fitted copy, the number of features it makes, and the default of `max_features`."""
    fitted = clone(transformer).fit(X)
    if isinstance(fitted, PolynomialFeatures):  # a single row may be too large
        return fitted, int(fitted.n_output_features_), _MAX_FEATURES[sparse.issparse(X)]
    row = fitted.transform(X[:1])
    return fitted, int(row.shape[1]), _MAX_FEATURES[sparse.issparse(row)]


def _named(maps: Mapping[str, Any] | Sequence[Any]) -> list[tuple[str, Any]]:
    named = maps.items() if isinstance(maps, Mapping) else [(str(m), m) for m in maps]
    if not named:
        raise ValueError("maps is empty: give at least one transformer, or None for the usual.")
    for name, transformer in named:
        if not hasattr(transformer, "transform"):
            raise TypeError(f"The map {name!r} is not a transformer: it has no method 'transform'.")
    return list(named)


def _is_text(X: Any) -> bool:
    """Whether X is a sequence of strings."""
    if getattr(X, "ndim", 1) != 1:
        return False
    return isinstance(X.iloc[0] if hasattr(X, "iloc") else X[0], str)


def _default_maps(X: Any, random: np.random.RandomState) -> list[tuple[str, Any]]:
    if _is_text(X):
        other = next((i for i, text in enumerate(X) if not isinstance(text, str)), None)
        if other is not None:
            raise ValueError(f"X[{other}] is not a string, but X[0] is: give text or numbers.")
        words = {"token_pattern": r"(?u)\b\w+\b"}
        names = ("words", "words and pairs", "words, pairs, triples")
        return [
            (name, CountVectorizer(ngram_range=(1, longest), **words))
            for longest, name in enumerate(names, start=1)
        ]
    maps = [
        (LIFTS["none"].title, LIFTS["none"].make()),
        (LIFTS["products"].title, LIFTS["products"].make()),
        *((f"polynomials of degree {d}", LIFTS["polynomial"].make(degree=d)) for d in (2, 3)),
    ]
    if sparse.issparse(X):
        # The number of products of millions of columns overflows.
        return maps[:1] if X.shape[1] > _MAX_FEATURES[True] else maps
    values = np.asarray(X, dtype=float)
    variance = float(values.var())
    gamma = 1.0 / (values.shape[1] * variance) if variance > 0 else 1.0
    n = len(values)
    for size in (100, 500) if n >= 100 else (n // 2,):
        if n >= _MIN_ROWS and size <= n:
            seed = int(random.randint(2**31))
            rbf = LIFTS["rbf"].make(gamma=gamma, landmarks=size, random_state=seed)
            maps.append((f"{size} RBF features", rbf))
    if n >= _MIN_ROWS:
        maps += [(LIFTS[name].title, LIFTS[name].make()) for name in ("knots", "pairs")]
    return maps
