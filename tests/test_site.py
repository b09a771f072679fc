"""Every built page of the documentation reads well without a network, wide and narrow.

`make docs` builds the pages; without them these tests are skipped.
"""

from pathlib import Path

import pytest

BUILT = Path(__file__).parents[1] / "docs" / "_build" / "html"
INTERNAL = {"genindex.html", "py-modindex.html", "search.html"}
WIDTHS = (1280, 390)

RAW_TEX = r"""() => {
  const copy = document.body.cloneNode(true)
  for (const code of copy.querySelectorAll("pre, code, script, style, .sig")) code.remove()
  const found = copy.textContent.match(/.{0,30}(\\[a-zA-Z(\[]|\$\$|\$[a-zA-Z\\]).{0,30}/)
  return found && found[0]
}"""
TOO_WIDE = "() => document.documentElement.scrollWidth - window.innerWidth"
# The page follows the scheme in a listener, a moment after it has changed.
FOLLOWS = r"""(scheme) => {
  const ground = getComputedStyle(document.body).backgroundColor.match(/\d+/g).slice(0, 3)
  return (ground.map(Number).reduce((a, b) => a + b) > 380) == (scheme == "light")
}"""


def pages():
    if not BUILT.is_dir():
        return []
    found = (path.relative_to(BUILT).as_posix() for path in BUILT.rglob("*.html"))
    return sorted(name for name in found if name not in INTERNAL and not name.startswith("_"))


@pytest.fixture(scope="module")
def reader(browser):
    """A page without a network, and the requests that failed or would have left the machine."""
    context = browser.new_context(viewport={"width": WIDTHS[0], "height": 900})
    context.set_offline(True)
    page, failed = context.new_page(), []
    page.on("requestfailed", lambda request: failed.append(request.url))
    page.on(
        "request",
        lambda request: (
            failed.append(request.url)
            if not request.url.startswith(("file:", "data:", "blob:"))
            else None
        ),
    )
    page.on("pageerror", lambda error: failed.append(str(error)))
    yield page, failed
    context.close()


def test_the_documentation_was_built():
    if not BUILT.is_dir():
        pytest.skip("the documentation is not built: make docs")
    assert "index.html" in pages()
    assert {"course/1-perceptron.html", "reference/commands.html", "faq.html"} <= set(pages())


@pytest.mark.parametrize("name", pages())
def test_a_page_reads_without_a_network(reader, name):
    page, failed = reader
    failed.clear()
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": WIDTHS[0], "height": 900})
    page.goto((BUILT / name).as_uri())
    assert failed == []
    assert page.evaluate(RAW_TEX) is None
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate(TOO_WIDE) <= 0, f"{name} scrolls sideways at {width} pixels"
        page.wait_for_function(FOLLOWS, arg=scheme, timeout=5_000)
    assert failed == []
