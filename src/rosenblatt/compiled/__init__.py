"""Functions that run as machine code: how they are declared, compiled, kept and found again.

It knows nothing of what they compute. The engine has kernels, and so has the theory, each its own.
"""
