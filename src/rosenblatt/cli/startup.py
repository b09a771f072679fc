"""Keep the commands quick to start."""

from __future__ import annotations

import os


def skip_blas() -> None:
    """Let NumPy start no threads for BLAS, which no kernel calls.

    This is for the program's own process only: a library must not take BLAS away from the code of
    others.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
