"""The same learners on a CUDA device: an online algorithm as matrix products.

Take a block of rows in their order: their scores are one product, ``S = W·X'``, their Gram matrix
is another, ``G = X·X'``. Then each problem walks through its scores, one warp per problem;
a correction at row i adds ``τ·G[i, j]`` to the scores of the rows j after it. At the end
``W += T·X`` with the coefficients T. These are the steps of the sequential algorithm, exactly;
where the arithmetic is exact (whole numbers), so are the weights.

:mod:`~rosenblatt.gpu.device` finds the device and says what is missing,
:mod:`~rosenblatt.gpu.rows` brings rows to it, :mod:`~rosenblatt.gpu.blocks` takes the steps of any
number of models that share a row order, :mod:`~rosenblatt.gpu.linear` is a learner
(:class:`rosenblatt.learners.protocol.Learner`), ``kernels.cu`` holds the kernels.
"""
