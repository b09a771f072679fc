"""Kernel functions of matrices, by scikit-learn's names and conventions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import safe_sparse_dot

from rosenblatt.learners.column_scale import ColumnScale
from rosenblatt.learners.examples import examples_of
from rosenblatt.training.defaults import are_in_units, gamma_of

Kernel = Callable[[Any, Any], np.ndarray]

EXACT_SINGLE = 2.0**24  # whole numbers up to this are exact in single precision
SAFE_EXPONENT = 64.0  # exponents made of terms up to this are good to 1e-4 in single precision
_DIAGONAL_ROWS = 32  # rows per block when the diagonal of the Gram matrix is computed


@dataclass(frozen=True)
class ModelKernel:
    """The kernel of a model, with what its first rows decided."""

    options: dict[str, Any]  # the parameters kernel, gamma, coef0, degree and scale
    gamma: float  # the number that "scale" and "auto" stand for
    dtype: Any  # of Gram entries
    unit: float = 1.0  # the mean of K(x, x): what an update adds to its own score
    scale: ColumnScale | None = None  # of the columns, before the function sees them

    @classmethod
    def of(cls, model: Any, gamma: float, dtype: Any) -> ModelKernel:
        """The kernel that the parameters of a model ask for."""
        names = ("kernel", "gamma", "coef0", "degree", "scale")
        return cls({name: getattr(model, name) for name in names}, gamma, np.dtype(dtype))

    @classmethod
    def by_rows(cls, model: Any, X: Any, weights: np.ndarray) -> ModelKernel:
        """The same, with all else decided by rows and their weights."""
        scale = None
        if model.scale is not None and isinstance(model.kernel, str):
            examples = examples_of(X, np.zeros(X.shape[0]))
            if model.kernel != "precomputed":  # the linear kernel has no offset
                scale = ColumnScale.of(examples, weights, centred=model.kernel != "linear")
        X = X if scale is None else scale.rows(X)
        gamma = gamma_of(model.gamma, X, weights)
        dtype = working_dtype(X, model.kernel, gamma, model.coef0, model.degree)
        kernel = replace(cls.of(model, gamma, dtype), scale=scale)
        if model.kernel == "rbf" or not are_in_units(model.threshold):
            return kernel
        return replace(kernel, unit=_mean_diagonal(kernel.function, X.astype(dtype, copy=False)))

    @property
    def is_precomputed(self) -> bool:
        """Whether rows hold Gram entries."""
        return isinstance(self.options["kernel"], str) and self.options["kernel"] == "precomputed"

    @property
    def function(self) -> Kernel | None:
        """The function of two matrices; None if precomputed."""
        return None if self.is_precomputed else self.function_by(_linear)

    def function_by(self, product: Kernel) -> Kernel:
        """The function of two matrices, given one that computes ``A·Bᵀ``."""
        options = self.options
        return kernel_of(
            options["kernel"], self.gamma, options["coef0"], options["degree"], product
        )

    def rows(self, X: Any) -> Any:
        """Checked rows as the function sees them, in its precision."""
        return (X if self.scale is None else self.scale.rows(X)).astype(self.dtype, copy=False)

    def entries(self, X: Any, support: Any) -> np.ndarray:
        """The entries between rows and support rows, or support row numbers if precomputed."""
        function = self.function
        return np.ascontiguousarray(X[:, support] if function is None else function(X, support))

    def check_same(self, model: Any) -> None:
        """Refuse to continue if the parameters of the kernel were changed."""
        changed = [name for name, was in self.options.items() if getattr(model, name) != was]
        if changed:
            was = ", ".join(f"{name}={self.options[name]!r}" for name in changed)
            now = ", ".join(f"{name}={getattr(model, name)!r}" for name in changed)
            raise ValueError(
                f"A model that was trained with {was} cannot continue with {now}. Set it back, or "
                "fit a new model."
            )


def stacked(above: Any, below: Any) -> Any:
    """The rows of two matrices, dense or sparse; sparse if either is."""
    if sparse.issparse(above) or sparse.issparse(below):
        return sparse.vstack([above, below], format="csr", dtype=below.dtype)
    return np.concatenate([above, below])


def _mean_diagonal(function: Kernel | None, X: Any) -> float:
    """The mean of K(x, x) over the rows; 1 if that is not positive."""
    if function is None:
        diagonal = np.asarray(X.diagonal(), dtype=np.float64)
    else:
        blocks = (X[i : i + _DIAGONAL_ROWS] for i in range(0, X.shape[0], _DIAGONAL_ROWS))
        diagonals = [np.diag(function(block, block)) for block in blocks]
        diagonal = np.concatenate(diagonals).astype(np.float64)
    mean = float(diagonal.mean())
    return mean if 0 < mean < np.inf else 1.0


def _linear(A: Any, B: Any) -> np.ndarray:
    return safe_sparse_dot(A, B.T, dense_output=True)


def kernel_of(
    kernel: Any, gamma: float, coef0: float, degree: float, product: Kernel = _linear
) -> Kernel:
    """The function of two matrices that computes a block of Gram entries.

    `product` computes ``A·Bᵀ``.

    >>> kernel_of("poly", gamma=1.0, coef0=1.0, degree=2)(np.eye(2), np.eye(2))
    array([[4., 1.],
           [1., 4.]])
    """
    if callable(kernel):
        return partial(_checked, kernel)
    if kernel == "linear":
        return product
    if kernel == "rbf":
        return partial(_gaussian, product=product, gamma=gamma)

    def entries(A: Any, B: Any) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):  # training reports it, with advice
            K = product(A, B)
            if gamma != 1:  # a pass over all entries
                K *= K.dtype.type(gamma)
            K += K.dtype.type(coef0)
            return _power(K, degree) if kernel == "poly" else np.tanh(K, out=K)

    return entries


def working_dtype(X: Any, kernel: Any, gamma: float, coef0: float, degree: float) -> np.dtype:
    """The precision of X, but double where single precision would round a kernel of whole numbers.

    A linear or polynomial kernel of whole numbers is exact in single precision up to 2²⁴, in double
    precision up to 2⁵³. Entries are bounded by Cauchy-Schwarz: ``|x·y| <= R²``.

    >>> pixels = np.full((2, 784), 255, np.float32)
    >>> working_dtype(pixels, "poly", 1.0, 1.0, 2), working_dtype(pixels / 255, "poly", 1.0, 1.0, 2)
    (dtype('float64'), dtype('float32'))
    """
    if X.dtype != np.float32 or kernel not in ("linear", "poly"):
        return np.dtype(X.dtype)
    if kernel == "poly" and not all(float(v).is_integer() for v in (gamma, coef0, degree)):
        return np.dtype(np.float32)
    values = X.data if sparse.issparse(X) else X
    if values.size == 0 or not np.array_equal(values, np.rint(values)):
        return np.dtype(np.float32)
    largest = float(_squared_lengths(X).max())
    if kernel == "poly":
        largest = (abs(gamma) * largest + abs(coef0)) ** degree
    return np.dtype(np.float32 if largest <= EXACT_SINGLE else np.float64)


def _power(K: np.ndarray, degree: float) -> np.ndarray:
    """K to the power `degree`, in place if possible; exact for whole numbers."""
    if not float(degree).is_integer():
        return np.power(K, K.dtype.type(degree), out=K)
    if degree == 0:
        return np.ones_like(K)
    base = K.copy() if degree > 2 else K
    for bit in bin(int(degree))[3:]:
        K *= K
        if bit == "1":
            K *= base
    return K


def _gaussian(A: Any, B: Any, product: Kernel, gamma: float) -> np.ndarray:
    """``exp(-gamma·‖a - b‖²)`` by one product, ``‖a‖² - 2a·b + ‖b‖²``.

    In double precision if rows are so far from the origin that single precision would cancel.
    """
    a, b = _squared_lengths(A), _squared_lengths(B)
    longest = max([float(some.max()) for some in (a, b) if some.size], default=0.0)
    if A.dtype == np.float32 and gamma * longest > SAFE_EXPONENT:
        double = _gaussian(A.astype(np.float64), B.astype(np.float64), product, gamma)
        return double.astype(np.float32)
    K = product(A, B)
    K *= K.dtype.type(-2.0)
    K += a[:, None]
    K += b
    np.maximum(K, 0.0, out=K)  # rounding may make distances of equal rows negative
    K *= K.dtype.type(-gamma)
    return np.exp(K, out=K)


def _squared_lengths(A: Any) -> np.ndarray:
    if sparse.issparse(A):
        return np.asarray(A.multiply(A).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", A, A)


def _checked(function: Any, A: Any, B: Any) -> np.ndarray:
    """The Gram entries that a user's function returns, checked."""
    K = function(A, B)
    K = np.asarray(K.toarray() if sparse.issparse(K) else K)
    if K.shape != (A.shape[0], B.shape[0]):
        raise ValueError(
            f"The kernel returned shape {K.shape} for {A.shape[0]} and {B.shape[0]} rows; it must "
            "be a function of two matrices that returns one entry for each pair of rows."
        )
    if K.dtype.kind not in "fiub":
        raise TypeError(
            f"The kernel returned entries of type {K.dtype}; they must be real numbers."
        )
    K = K.astype(A.dtype)  # a copy: the function may keep what it returned
    if not np.isfinite(K).all():
        raise ValueError("The kernel returned NaN or infinity.")
    return K
