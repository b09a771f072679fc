"""Small files, and workers to share them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from .reviews import write_reviews


@pytest.fixture(scope="session")
def reviews(tmp_path_factory):
    return write_reviews(tmp_path_factory.mktemp("reviews") / "reviews.csv")


@pytest.fixture
def threads():
    """An executor, which is all that a run needs."""
    with ThreadPoolExecutor(3) as pool:
        yield pool
