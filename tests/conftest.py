"""What all tests share: the profiles of Hypothesis, and a browser where there is one.

``suite``, the default, draws the same examples every time, so that a failure is the fault of a
change. ``random`` draws new ones (``make test-random``, meant to run every night): what it finds
is kept in ``.hypothesis/`` and printed with the decorator that reproduces it. Tests that set
``max_examples`` themselves draw that many in either profile.
"""

import os
import shutil

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "suite",
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "random",
    settings.get_profile("suite"),
    max_examples=500,
    derandomize=False,
    print_blob=True,
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))

os.environ.setdefault("ROSENBLATT_QUIET", "1")  # do not say that kernels are compiled


def _program():
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


@pytest.fixture(scope="session")
def barriers():
    """A function that names what axe finds on a page, and who it keeps out: serious faults only."""
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed"
    ).Axe()

    def barriers(page):
        # A colour on its way from one scheme to the other is no fault of the page.
        page.evaluate("() => Promise.all(document.getAnimations().map((one) => one.finished))")
        found = axe.run(page).response["violations"]
        serious = [one for one in found if one["impact"] in ("serious", "critical")]
        return [
            (one["id"], node["target"], node["html"]) for one in serious for node in one["nodes"]
        ]

    return barriers


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = _program()
    if program is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()
