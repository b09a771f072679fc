"""The GPU: estimators that train there, with the steps of those on the processor.

An online algorithm becomes matrix products. The scores of a block of rows are one product,
``S = W·X'``, the Gram matrix is another, ``G = X·X'``. Each problem walks through its scores, one
warp per problem; a correction at row i adds ``τ·G[i, j]`` to the scores of the rows j after it. At
the end ``W += T·X`` with the coefficients T. These are exactly the steps of the sequential
algorithm; where the arithmetic is exact (whole numbers), so are the weights.

:mod:`~rosenblatt.gpu.device` finds the GPU and copies arrays to it and from it,
:mod:`~rosenblatt.gpu.blocks` trains models that share a row order,
:mod:`~rosenblatt.gpu.linear` and :mod:`~rosenblatt.gpu.dual` are learners
(:class:`rosenblatt.learners.protocol.Learner`), :mod:`~rosenblatt.gpu.estimators` and
:mod:`~rosenblatt.gpu.many` what users call, ``kernels.cu`` holds the kernels.
"""

from rosenblatt._lazy import lazily

_NAMES = {
    "device": ("DeviceError",),
    "estimators": ("KernelPerceptron", "Perceptron"),
    "many": ("Fits", "fit_many"),
}
_HOME: dict[str, str | None] = {
    name: f"{__name__}.{module}" for module, names in _NAMES.items() for name in names
}

__all__ = sorted(_HOME)
__getattr__, __dir__ = lazily(__name__, _HOME, globals())
