"""What keeps the commands quick to start."""

from __future__ import annotations

import sys


def skip_blas() -> None:
    """Let Numba start without looking for BLAS, which costs it the import of SciPy's algebra.

    No kernel of the engine calls BLAS. This is for the program's own process only: a library must
    not take BLAS away from the kernels of others.
    """
    if "scipy.linalg" in sys.modules or "numba.np.arraymath" in sys.modules:
        return
    sys.modules["scipy.linalg"] = None  # type: ignore[assignment]
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        del sys.modules["scipy.linalg"]
