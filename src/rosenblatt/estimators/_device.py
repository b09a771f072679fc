"""Arrays on a CUDA device, and the choice between it and the processor."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_feature_names, _check_n_features

from rosenblatt.gpu.device import CUDA, CUDA_MANAGED, DeviceError, current_device, translated_errors
from rosenblatt.kernels.learn import PADDING
from rosenblatt.learners.examples import Examples
from rosenblatt.learners.linear import Linear
from rosenblatt.learners.problems import Problems, n_problems
from rosenblatt.learners.protocol import Array

if TYPE_CHECKING:  # the learners on a device are imported when one is used
    from rosenblatt.gpu.dual import DeviceDual
    from rosenblatt.gpu.linear import DeviceLinear
    from rosenblatt.gpu.model_group import ModelGroup
    from rosenblatt.learners.log import DualState, Log

DEVICES = {"auto", "cpu", "cuda"}
# From which size on device="auto" takes the GPU.
_MIN_PROBLEMS = 8  # with fewer, a GPU mostly waits for kernel launches
_MIN_PRODUCTS = 1 << 33  # multiplications per epoch
_MIN_GRAM_PRODUCTS = 1 << 38  # multiplications for a whole Gram matrix


def is_on_cuda(array: Any) -> bool:
    """Whether an array lies on a CUDA device."""
    if not hasattr(array, "__dlpack_device__"):
        return False
    return int(array.__dlpack_device__()[0]) in (CUDA, CUDA_MANAGED)


def _device_of(array: Any) -> Any:
    """The current device; an error if the array lies on another one."""
    device, number = current_device(), int(array.__dlpack_device__()[1])
    if number != device.number:
        raise DeviceError(
            f"Data lie on CUDA device {number}, but the current one is {device.number}: move them "
            "there, or make their device the current one."
        )
    return device


def is_available() -> bool:
    """Whether there is a CUDA device to train on."""
    try:
        current_device()
    except DeviceError:
        return False
    return True


# Arrays


def to_host(array: Any) -> Any:
    """A copy in host memory of an array on a CUDA device; other arrays unchanged."""
    if not is_on_cuda(array):
        return array
    device = _device_of(array)
    with translated_errors():
        return device.host(device.xp.from_dlpack(array))


def examples_on_host(examples: Examples) -> Examples:
    """The examples with their rows in host memory."""
    if not examples.is_dense or not is_on_cuda(examples.rows.X):  # type: ignore[union-attr]
        return examples
    rows = examples.rows._replace(X=to_host(examples.rows.X))  # type: ignore[call-arg,union-attr]
    return replace(examples, rows=rows)


def like_input(result: Any, X: Any) -> Any:
    """The result as the kind of array that X is (CuPy, torch, JAX), if X is on a CUDA device."""
    if not is_on_cuda(X):
        return result
    with translated_errors():
        result = current_device().xp.asarray(result)
    module = sys.modules.get(type(X).__module__.partition(".")[0])
    if module is None or module.__name__ == "cupy" or not hasattr(module, "from_dlpack"):
        return result
    return module.from_dlpack(result)


def upload(X: Any) -> Any:
    """X on the current device, unless it would fill more than half of the free memory."""
    device = current_device()
    if is_on_cuda(X) or not hasattr(X, "dtype") or X.nbytes > device.free_bytes() // 2:
        return X
    with translated_errors():
        return device.xp.asarray(X)


def take_rows(X: Any, rows: Array) -> Any:
    """Some rows of a matrix or data frame, on the device it is on."""
    return X[rows] if is_on_cuda(X) else _safe_indexing(X, rows)


def checked_on_device(
    estimator: Any, X: Any, y: Any = "no_validation", *, dtype: Any, reset: bool = True
) -> Any:
    """`checked_data` for rows on a CUDA device: they stay there, y is copied to the host.

    The checks are those of scikit-learn's `validate_data`, as far as a device array can fail them.
    """
    device, name = _device_of(X), type(estimator).__name__
    with translated_errors():
        X = device.xp.from_dlpack(X)
        if X.ndim != 2:
            raise ValueError(f"Expected a 2D array, got one of {X.ndim} dimensions; reshape X.")
        if X.shape[0] == 0 or X.shape[1] == 0:
            raise ValueError(f"X has shape {X.shape}; {name} needs at least one row and column.")
        if X.dtype.kind not in "fiub":
            raise ValueError(f"X holds {X.dtype}; {name} needs real numbers.")
        wanted = [np.dtype(one) for one in (dtype if isinstance(dtype, list) else [dtype])]
        X = device.xp.ascontiguousarray(X, dtype=X.dtype if X.dtype in wanted else wanted[0])
        if not bool(device.xp.isfinite(X).all()):
            raise ValueError(f"Input X contains NaN or infinity, which {name} does not accept.")
    _check_feature_names(estimator, X, reset=reset)
    _check_n_features(estimator, X, reset=reset)
    if isinstance(y, str) and y == "no_validation":
        return X
    y = np.asarray(to_host(y))
    if y.ndim == 2:
        raise ValueError(
            "Several labels per row are learned on the processor: give X as a NumPy array."
        )
    if y.shape != (len(X),):
        raise ValueError(f"y has shape {y.shape}; X has {len(X)} rows, so give ({len(X)},).")
    return X, y


# Where to train


def _choose(device: str | None, on_cuda: bool, dense: bool, is_large: bool) -> str:
    """ "cpu" or "cuda", by the parameter `device`, where X lies, and whether a GPU would be faster.

    Raises DeviceError where `device` and X do not go together.
    """
    if device == "cpu" and on_cuda:
        raise DeviceError(
            "X lies on a CUDA device, but device='cpu': use device='cuda' or 'auto', or give X as "
            "a NumPy array."
        )
    if device == "cuda" and not dense:
        raise DeviceError("device='cuda' takes dense rows: use device='cpu' for a sparse X.")
    if on_cuda or device == "cuda":
        return "cuda"
    return "cuda" if device == "auto" and dense and is_large and is_available() else "cpu"


def _is_large(problems: int, cells: int) -> bool:
    """Whether training of linear models on X with this many cells is faster on a GPU."""
    return problems >= _MIN_PROBLEMS and cells * problems >= _MIN_PRODUCTS


def rows_to_host(estimator: Any, X: Any) -> Any:
    """X in host memory, where `partial_fit` learns; ``device="cpu"`` takes no rows on a GPU."""
    _choose(getattr(estimator, "device", None), is_on_cuda(X), dense=True, is_large=False)
    return to_host(X)


def linear_device(estimator: Any, examples: Examples, n_classes: int) -> str:
    """Where to train a linear model, "cpu" or "cuda"."""
    dense = examples.is_dense
    on_cuda = dense and is_on_cuda(examples.rows.X)  # type: ignore[union-attr]
    penalty, multiclass = getattr(estimator, "penalty", None), estimator.multiclass_
    device = getattr(estimator, "device", "cpu")
    if on_cuda and penalty is not None and device == "auto":
        raise DeviceError(
            f"penalty={penalty!r} is learned on the processor: give X as a NumPy array."
        )
    problems = n_problems(n_classes, multiclass)
    # keep="best" looks at the weights within an epoch, as the GPU does not.
    possible = penalty is None and multiclass != "labels" and estimator.keep != "best"
    is_large = possible and _is_large(problems, len(examples) * examples.n_features)
    return _choose(device, on_cuda, dense, is_large)


def dual_device(estimator: Any, X: Any, on_cuda: bool) -> str:
    """Where to train a kernel model, "cpu" or "cuda", on checked rows that were given there."""
    possible = not callable(estimator.kernel)
    is_large = possible and X.shape[0] ** 2 * X.shape[1] >= _MIN_GRAM_PRODUCTS
    device = _choose(estimator.device, on_cuda, not sparse.issparse(X), is_large)
    if device == "cuda" and not possible:
        raise DeviceError(
            "device='cuda' does not know a kernel of your own: use device='cpu' and host arrays."
        )
    return device


def device_of_many(device: str, X: Any, y: Array, models: list[Any]) -> str:
    """Where to train many linear models on the same rows, "cpu" or "cuda"."""
    if y.ndim == 2 and device == "cuda":
        raise ValueError("device='cuda' is for one class per row, but y is an indicator matrix.")
    if y.ndim == 2:
        return "cpu"
    on_cuda, n_classes = is_on_cuda(X), len(np.unique(y))
    if on_cuda:
        _device_of(X)
    problems = sum(n_problems(n_classes, getattr(model, "multiclass", "ovr")) for model in models)
    is_large = _is_large(problems, math.prod(getattr(X, "shape", (0,))))
    return _choose(device, on_cuda, not sparse.issparse(X), is_large)


# Linear models


def squared_lengths_on_device(X: Any, rates: Array) -> Array:
    """The squared lengths of rows on a CUDA device, each feature times its rate."""
    device = current_device()
    by_feature = np.full(X.shape[1], rates[-1], np.float64)
    by_feature[: rates.size] = rates[: by_feature.size]
    size = max(1, (1 << 27) // X.shape[1])
    with translated_errors():
        factors = device.xp.asarray(by_feature)
        parts = [
            (X[i : i + size].astype(np.float64) ** 2) @ factors for i in range(0, len(X), size)
        ]
        return device.host(device.xp.concatenate(parts))


def scores_on_device(X: Any, weights: Array, bias: Array) -> Any:
    """``X·Wᵀ + b`` of rows on a CUDA device."""
    xp = current_device().xp
    with translated_errors():
        return X @ xp.asarray(weights).T + xp.asarray(bias.astype(weights.dtype))


def linear_on_device(learner: Linear) -> DeviceLinear:
    """A learner on the current CUDA device in the state of one on the processor."""
    from rosenblatt.gpu.linear import DeviceLinear

    copy = DeviceLinear(
        current_device(), learner.n_classes, learner.n_features, multiclass=learner.multiclass,
        thresholds=learner.thresholds, padding=learner.padding,
        averaging=learner.averaging, rates=learner.rates, dtype=learner.dtype, batch=learner.batch,
    )  # fmt: skip
    copy.restore(learner.state())
    return copy


def group_on_device(learners: list[Linear], weightings: Array) -> ModelGroup:
    """Learners of the same classes and features, to be trained together on the current device."""
    from rosenblatt.gpu.model_group import ModelGroup
    from rosenblatt.gpu.problem_table import ModelSettings

    first = learners[0]
    settings = [
        ModelSettings(learner.thresholds, math.sqrt(learner.rule[PADDING]), learner.averaging)
        for learner in learners
    ]
    return ModelGroup(
        current_device(), settings, weightings, first.n_classes, first.n_features,
        multiclass=first.multiclass, dtype=first.dtype, rates=first.rates,
    )  # fmt: skip


# Kernel models


def dual_on_device(kernel: Any, X: Array, problems: Problems, state: DualState) -> DeviceDual:
    """A kernel learner on the current device; `kernel` is a ModelKernel."""
    from rosenblatt.gpu.dual import DeviceDual
    from rosenblatt.gpu.gram import DeviceGram

    function = None if kernel.is_precomputed else kernel.function_by
    with translated_errors():
        return DeviceDual(problems, DeviceGram(current_device(), function, X), state)


def dual_scores(
    kernel: Any, X: Any, support: Any, log: Log, clock: Array, keep: str, joint: bool
) -> Any:
    """The scores of rows on the device, by the updates of a log."""
    from rosenblatt.gpu.dual import VOTE_MEGABYTES, device_votes
    from rosenblatt.gpu.gram import DeviceGram
    from rosenblatt.learners.votes import scores_by

    device = current_device()
    with translated_errors(), device.after_caller():
        if kernel.is_precomputed:
            columns = device.xp.asarray(support)

            def entries(rows: slice) -> Any:
                return X[rows][:, columns]
        else:
            gram = DeviceGram(device, kernel.function_by, support, megabytes=0)

            def entries(rows: slice) -> Any:
                return gram.kernel(gram.X, X[rows]).T  # type: ignore[misc]

        return scores_by(
            entries, len(X), log, clock, keep, support.shape[0], VOTE_MEGABYTES, joint,
            vote=partial(device_votes, device), xp=device.xp,
        )  # fmt: skip
