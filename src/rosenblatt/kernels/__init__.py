"""The algorithm at memory speed: Numba kernels over arrays, nothing else."""
