"""Rows that several tests of the theory share."""

from __future__ import annotations

import numpy as np


def unit_rows(seed, n, d):
    Z = np.random.default_rng(seed).normal(size=(n, d))
    return Z / np.linalg.norm(Z, axis=1)[:, None]
