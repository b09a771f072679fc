"""Where a model is trained: arrays that lie on a CUDA device, and when it pays to go there."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_feature_names, _check_n_features

from rosenblatt.gpu.device import CUDA, CUDA_MANAGED, DeviceError, current_device, in_plain_words
from rosenblatt.kernels.learn import PADDING
from rosenblatt.learners.examples import Examples
from rosenblatt.learners.linear import Linear
from rosenblatt.learners.problems import Problems, n_problems
from rosenblatt.learners.protocol import Array

if TYPE_CHECKING:  # what learns on a device is imported when one is asked for
    from rosenblatt.gpu.dual import DeviceDual
    from rosenblatt.gpu.linear import DeviceLinear
    from rosenblatt.gpu.together import Group
    from rosenblatt.learners.log import DualState, Log

DEVICES = {"auto", "cpu", "cuda"}
# What device="auto" moves to a GPU: so many problems, and scores of an epoch times features.
_ENOUGH_PROBLEMS = 8
_ENOUGH_WORK = 1 << 33
_ENOUGH_GRAM = 1 << 38  # numbers multiplied for a whole Gram matrix


def is_on_cuda(array: Any) -> bool:
    """Whether an array lies on a CUDA device.

    >>> is_on_cuda(np.ones(2)), is_on_cuda([1, 2])
    (False, False)
    """
    if not hasattr(array, "__dlpack_device__"):
        return False
    return int(array.__dlpack_device__()[0]) in (CUDA, CUDA_MANAGED)


def to_host(array: Any) -> Any:
    """An array that lies on a CUDA device, copied to the processor; others as they are."""
    if not is_on_cuda(array):
        return array
    device = _device_of(array)
    with in_plain_words():
        return device.host(device.xp.from_dlpack(array))


def _device_of(array: Any) -> Any:
    """The current device, which an array must lie on."""
    device, number = current_device(), int(array.__dlpack_device__()[1])
    if number != device.number:
        raise DeviceError(
            f"Data lie on CUDA device {number}, but the current one is {device.number}: move them "
            "there, or make their device the current one."
        )
    return device


def _wanted(device: str | None, there: bool, dense: bool) -> str:
    """Where rows are learned from, "cpu" or "cuda"; "auto" where that is yet to be seen."""
    if device == "cpu" and there:
        raise DeviceError(
            "X lies on a CUDA device, but device='cpu': use device='cuda' or 'auto', or give X as "
            "a NumPy array."
        )
    if device == "cuda" and not dense:
        raise DeviceError("device='cuda' takes dense rows: use device='cpu' for a sparse X.")
    return "cuda" if there or device == "cuda" else str(device)


def _pays(problems: int, cells: int) -> bool:
    """Whether "auto" goes to a GPU, which few problems would keep waiting for launches."""
    return problems >= _ENOUGH_PROBLEMS and cells * problems >= _ENOUGH_WORK and is_at_hand()


def rows_to_host(estimator: Any, X: Any) -> Any:
    """Rows to learn from on the processor, as `partial_fit` does; ``device="cpu"`` takes no others.

    >>> rows_to_host(None, [[1.0, 2.0]])
    [[1.0, 2.0]]
    """
    _wanted(getattr(estimator, "device", None), is_on_cuda(X), dense=True)
    return to_host(X)


def given_back(result: Array, given: Any) -> Any:
    """What the processor made of data, where these lie and as the kind of array they are."""
    if not is_on_cuda(given):
        return result
    with in_plain_words():
        return like(current_device().xp.asarray(result), given)


def checked_on_device(
    estimator: Any, X: Any, y: Any = "no_validation", *, dtype: Any, reset: bool = True, **_: Any
) -> Any:
    """What `checked_data` does, for rows on a CUDA device: they stay there; y comes to the host.

    The checks are those of scikit-learn's `validate_data`, as far as a device array can fail them.
    """
    device, name = _device_of(X), type(estimator).__name__
    with in_plain_words():
        X = device.xp.from_dlpack(X)
        if X.ndim != 2:
            raise ValueError(f"Expected a 2D array, got one of {X.ndim} dimensions; reshape X.")
        if X.shape[0] == 0 or X.shape[1] == 0:
            raise ValueError(f"X has shape {X.shape}; {name} needs at least one row and column.")
        wanted = [np.dtype(one) for one in (dtype if isinstance(dtype, list) else [dtype])]
        if X.dtype.kind not in "fiub":
            raise ValueError(f"X holds {X.dtype}; {name} needs real numbers.")
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


def hosted(examples: Examples) -> Examples:
    """Examples with their rows on the processor."""
    if not examples.is_dense or not is_on_cuda(examples.rows.X):  # type: ignore[union-attr]
        return examples
    rows = examples.rows._replace(X=to_host(examples.rows.X))  # type: ignore[call-arg,union-attr]
    return replace(examples, rows=rows)


def chosen_device(estimator: Any, examples: Examples, n_classes: int) -> str:
    """Where to train a linear model, "cpu" or "cuda", by its `device` and what would pay."""
    device, dense = getattr(estimator, "device", "cpu"), examples.is_dense
    where = _wanted(device, dense and is_on_cuda(examples.rows.X), dense)  # type: ignore[union-attr]
    multiclass = getattr(estimator, "multiclass_", "ovr")
    # Penalties are the family's.
    has_kernels = getattr(estimator, "penalty", None) is None and multiclass != "labels"
    if device != "auto" or (has_kernels and where == "cuda"):
        return where
    problems = n_problems(n_classes, multiclass)
    looks_within = getattr(estimator, "keep", None) == "best"  # epochs, by its ratchet
    goes = has_kernels and dense and not looks_within
    return "cuda" if goes and _pays(problems, len(examples) * examples.n_features) else "cpu"


def is_at_hand() -> bool:
    """Whether there is a CUDA device to train on; CuPy is not imported where it is missing."""
    if find_spec("cupy") is None:
        return False
    try:
        current_device()
    except DeviceError:
        return False
    return True


def like(result: Any, given: Any) -> Any:
    """A CuPy array as the kind of array that was given (torch, JAX), where it lies."""
    module = sys.modules.get(type(given).__module__.partition(".")[0])
    if module is None or module.__name__ == "cupy" or not hasattr(module, "from_dlpack"):
        return result
    return module.from_dlpack(result)


def where_many(wanted: str, X: Any, n_classes: int, models: list[Any]) -> str:
    """Where models are trained together: "cpu" or "cuda"."""
    there, dense = is_on_cuda(X), not sparse.issparse(X)
    where = _wanted(wanted, there, dense)
    if there:
        _device_of(X)
    if where != "auto":
        return where
    problems = sum(n_problems(n_classes, getattr(model, "multiclass", "ovr")) for model in models)
    return "cuda" if dense and _pays(problems, math.prod(getattr(X, "shape", (0,)))) else "cpu"


def brought(X: Any) -> Any:
    """Rows on the device, if they lie there or fit."""
    device = current_device()
    if is_on_cuda(X) or not hasattr(X, "dtype") or X.nbytes > device.free_bytes() // 2:
        return X
    with in_plain_words():
        return device.xp.asarray(X)


def some_rows(X: Any, rows: Array) -> Any:
    """Some rows of a matrix or data frame, where they lie."""
    return X[rows] if is_on_cuda(X) else _safe_indexing(X, rows)


def group_of(learners: list[Linear], kinds: Array) -> Group:
    """Learners of the same classes and features on the device, to be trained together."""
    from rosenblatt.gpu.table import Settings
    from rosenblatt.gpu.together import Group

    first = learners[0]
    settings = [
        Settings(learner.thresholds, math.sqrt(learner.rule[PADDING]), learner.averaging)
        for learner in learners
    ]
    return Group(
        current_device(), settings, kinds, first.n_classes, first.n_features,
        multiclass=first.multiclass, dtype=first.dtype, rates=first.rates,
    )  # fmt: skip


def device_lengths(X: Any, rates: Array) -> Array:
    """The squared lengths of rows on a CUDA device, each feature times its rate."""
    device = current_device()
    every = np.full(X.shape[1], rates[-1], np.float64)
    every[: rates.size] = rates[: every.size]
    with in_plain_words():
        each, size = device.xp.asarray(every), max(1, (1 << 27) // X.shape[1])
        parts = [
            (X[i : i + size].astype(np.float64) ** 2) @ each for i in range(0, X.shape[0], size)
        ]
        return device.host(device.xp.concatenate(parts))


def device_scores(X: Any, weights: Array, bias: Array) -> Any:
    """The scores ``X·W' + b`` of rows on a CUDA device, there; a vector for a single problem."""
    xp = current_device().xp
    with in_plain_words():
        scores = X @ xp.asarray(weights, X.dtype).T + xp.asarray(bias, X.dtype)
        return scores[:, 0] if len(bias) == 1 else scores


def moved_to_cuda(learner: Linear) -> DeviceLinear:
    """A learner on the current CUDA device that goes on from where one on the processor stands."""
    from rosenblatt.gpu.linear import DeviceLinear

    moved = DeviceLinear(
        current_device(), learner.n_classes, learner.n_features, multiclass=learner.multiclass,
        thresholds=learner.thresholds, padding=learner.padding,
        averaging=learner.averaging, rates=learner.rates, dtype=learner.dtype, batch=learner.batch,
    )  # fmt: skip
    moved.restore(learner.state())
    return moved


def predicted(classes: Array | None, scores: Any, given: Any) -> Any:
    """The labels that scores on the device stand for; there, where labels are numbers.

    Without `classes`, which of several labels each row has.
    """
    scores = current_device().xp.from_dlpack(scores)
    if classes is None:
        return like((scores > 0).astype(np.int64), given)
    codes = scores.argmax(axis=1) if scores.ndim > 1 else (scores > 0).astype(np.intp)
    if classes.dtype.kind not in "iufb":
        return classes[current_device().host(codes)]
    return like(current_device().xp.asarray(classes)[codes], given)


def fixed_device(estimator: Any, X: Any) -> str:
    """Where a kernel model is to be trained: "cpu", "cuda", or "auto" if that is yet to be seen."""
    where = _wanted(estimator.device, is_on_cuda(X), not sparse.issparse(X))
    if where == "cuda":
        if not _knows_dual(estimator):
            name = "a kernel of your own" if callable(estimator.kernel) else "max_support"
            raise DeviceError(
                f"device='cuda' does not know {name}: use device='cpu' and host arrays."
            )
        current_device()
    return where


def _knows_dual(estimator: Any) -> bool:
    return not callable(estimator.kernel) and estimator.max_support is None


def dual_pays(estimator: Any, X: Any) -> bool:
    """Whether "auto" trains a kernel model on a GPU: many dense rows, and there is one."""
    many = X.shape[0] ** 2 * X.shape[1] >= _ENOUGH_GRAM
    return _knows_dual(estimator) and not sparse.issparse(X) and many and is_at_hand()


def dual_learner(fixed: Any, X: Array, problems: Problems, state: DualState) -> DeviceDual:
    """A kernel learner on the current device."""
    from rosenblatt.gpu.dual import DeviceDual
    from rosenblatt.gpu.gram import DeviceGram

    device = current_device()
    function = None if fixed.options["kernel"] == "precomputed" else fixed.function_by
    with in_plain_words():
        return DeviceDual(problems, DeviceGram(device, function, X), state)


def dual_scores(
    fixed: Any, X: Any, support: Any, log: Log, clock: Array, keep: str, joint: bool
) -> Any:
    """The scores of rows on the device by the updates of a log."""
    from rosenblatt.gpu.gram import DeviceGram
    from rosenblatt.gpu.votes import MEGABYTES, votes_on_device
    from rosenblatt.learners.votes import scores_by

    device = current_device()
    with in_plain_words(), device.at_work():
        if fixed.options["kernel"] == "precomputed":
            places = device.xp.asarray(support)

            def entries(rows: slice) -> Any:
                return X[rows][:, places]
        else:
            gram = DeviceGram(device, fixed.function_by, support, megabytes=0)

            def entries(rows: slice) -> Any:
                return gram.kernel(gram.X, X[rows]).T  # type: ignore[misc]

        return scores_by(
            entries, len(X), log, clock, keep, support.shape[0], MEGABYTES, joint,
            vote=partial(votes_on_device, device), xp=device.xp,
        )  # fmt: skip
