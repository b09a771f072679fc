"""The same learners on the GPU: an online algorithm as matrix products.

The scores of a block of rows are one product, ``S = W·X'``, the Gram matrix is another,
``G = X·X'``. Each problem walks through its scores, one warp per problem; a correction at row i
adds ``τ·G[i, j]`` to the scores of the rows j after it. At the end ``W += T·X`` with the
coefficients T. These are exactly the steps of the sequential algorithm; where the arithmetic is
exact (whole numbers), so are the weights.

:mod:`~rosenblatt.gpu.device` finds the GPU, :mod:`~rosenblatt.gpu.rows` copies rows to it,
:mod:`~rosenblatt.gpu.blocks` trains models that share a row order, :mod:`~rosenblatt.gpu.linear`,
:mod:`~rosenblatt.gpu.model_group` and :mod:`~rosenblatt.gpu.dual` are learners
(:class:`rosenblatt.learners.protocol.Learner`), ``kernels.cu`` holds the kernels.
"""
