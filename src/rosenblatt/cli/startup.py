"""Keep the commands quick to start."""

from __future__ import annotations

import os
import sys


def skip_blas() -> None:
    """Start without BLAS: no kernel of the engine calls it.

    NumPy then starts no threads for it, and Numba, if a kernel has to be compiled, does not look
    for it. This is for the program's own process only: a library must not take BLAS away from the
    code of others.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from rosenblatt.compiled import jit as old_jit
    from rosenblatt.kernels import jit

    old_jit.before_compiling = _import_numba_without_blas
    jit.on_compile(_say_that_it_compiles)


def _say_that_it_compiles(kernel: str) -> None:
    """Tell the user, once, what takes so long; this replaces the library's own message."""
    if "numba" not in sys.modules and not os.environ.get("ROSENBLATT_QUIET"):
        print("rosenblatt: compiling, once on this machine ...", file=sys.stderr, flush=True)
    _import_numba_without_blas()


def _import_numba_without_blas() -> None:
    """Import Numba without SciPy's linear algebra, which is a good part of the time it takes."""
    if "scipy.linalg" in sys.modules or "numba.np.arraymath" in sys.modules:
        return
    sys.modules["scipy.linalg"] = None  # type: ignore[assignment]
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        del sys.modules["scipy.linalg"]
