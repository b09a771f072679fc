"""What tests and doctests share."""

import sys

import pytest


@pytest.fixture(autouse=True)
def _close_figures():
    """Pictures drawn by a test are gone after it, so that none is warned of as one too many."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
