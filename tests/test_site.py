"""Every built page of the documentation reads well without a network, wide and narrow.

`make docs` builds the pages; without them these tests are skipped.
"""

import io
import os
import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from PIL import Image, ImageStat

DOCS = Path(__file__).parents[1] / "docs"
BUILT = Path(os.environ.get("ROSENBLATT_DOCS", DOCS / "_build" / "html"))
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
    if not BUILT.is_dir():
        pytest.skip("the documentation is not built: make docs")
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


def test_every_link_leads_to_a_page_and_a_place_in_it():
    if not BUILT.is_dir():
        pytest.skip("the documentation is not built: make docs")
    texts = {path.resolve(): path.read_text("utf-8") for path in BUILT.rglob("*.html")}
    places = {path: set(re.findall(r'(?:id|name)="([^"]+)"', text)) for path, text in texts.items()}
    lost = []
    for path, text in texts.items():
        links = set(re.findall(r'href="([^"{]+)"', text)) if "_static" not in path.parts else ()
        for link in links:
            file, _, place = unquote(link).partition("#")
            if ":" in file or not (file or place):
                continue
            target = (path.parent / file.partition("?")[0]).resolve() if file else path
            if not target.exists() or (place and place not in places.get(target, {place})):
                lost.append((path.name, link))
    assert lost == []


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


@pytest.mark.parametrize(
    "part", ["quick-start", "guide", "how-to", "benchmarks", "theory", "about"]
)
def test_an_index_says_what_each_page_gives(part):
    index = (DOCS / part / "index.md").read_text("utf-8").partition("```{toctree}")[0]
    names = {path.stem for path in (DOCS / part).glob("*.md")} - {"index"}
    assert {name for name in names if f"{{doc}}`{name}`" not in index} == set()


def test_no_picture_of_the_pages_was_made_by_hand():
    made = ("_build", "gallery", "_figures")
    pictures = (p for kind in ("png", "jpg", "gif") for p in DOCS.rglob(f"*.{kind}"))
    assert [path for path in pictures if not set(path.parts) & set(made)] == []


@pytest.mark.parametrize("name", ["speed", "family", "text", "defaults", "certificates", "gpu"])
def test_a_chart_is_drawn_of_the_table_below_it_and_the_best_value_is_bold(
    name, tmp_path, monkeypatch
):
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    import charts

    source = (DOCS / "benchmarks" / f"{name}.md").read_text("utf-8")
    page = charts.with_charts(source, tmp_path, name, "pictures")
    assert "<!-- chart" not in page
    assert f"(pictures/{name}-1.png)" in page
    assert (tmp_path / f"{name}-1.png").stat().st_size > 5_000
    below = page.partition(f"{name}-1.png)")[2].partition("|\n\n")[0]
    assert "**" in below


WORDS = {
    "early stopping": "guide/perceptron.html",
    "imbalanced classes": "how-to/imbalance.html",
    "csv": "guide/files.html",
}


@pytest.mark.parametrize("words", WORDS)
def test_the_search_leads_to_the_page(reader, words):
    page, failed = reader
    failed.clear()
    page.goto(f"{(BUILT / 'search.html').as_uri()}?q={words.replace(' ', '+')}")
    page.locator(".search li a").first.wait_for()
    page.wait_for_function("() => document.querySelector('.search-summary')?.textContent.trim()")
    links = page.locator(".search li > a").evaluate_all("all => all.map((one) => one.pathname)")
    assert any(link.endswith(WORDS[words]) for link in links[:5]), links[:8]
    assert "rosenblatt.lab." not in links[0]


def test_the_start_page_shows_where_to_begin_and_then_a_live_picture(reader):
    page, failed = reader
    failed.clear()
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": WIDTHS[0], "height": 900})
    page.goto((BUILT / "index.html").as_uri())
    assert page.title() == "rosenblatt: the perceptron in Python"
    table, picture = page.locator("table").first, page.locator(".lab-page")
    picture.wait_for()
    assert table.bounding_box()["y"] < picture.bounding_box()["y"]
    picture.locator(".to-mistake").click()
    picture.locator(".counts", has_text="updates 1").wait_for()
    assert failed == []


def test_no_table_scrolls_sideways_on_a_wide_screen(reader):
    page, _ = reader
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": WIDTHS[0], "height": 900})
    for path in sorted(BUILT.glob("*/*.html")):
        page.goto(path.as_uri())
        scrolling = page.locator(".bd-article table").evaluate_all(
            "all => all.filter((one) => one.parentElement.scrollWidth > "
            "one.parentElement.clientWidth + 1).map((one) => one.innerText.slice(0, 80))"
        )
        assert scrolling == [], path.name


def test_the_text_begins_at_the_same_place_on_every_page(reader):
    page, _ = reader
    page.set_viewport_size({"width": WIDTHS[0], "height": 900})
    edges = set()
    for name in ("index", "benchmarks/speed", "guide/lab", "reference/commands"):
        page.goto((BUILT / f"{name}.html").as_uri())
        edges.add(round(page.locator("h1").first.bounding_box()["x"]))
    assert len(edges) == 1


def test_a_long_signature_is_cut(reader):
    page, _ = reader
    page.goto((BUILT / "reference/generated/rosenblatt.Perceptron.html").as_uri())
    signature = page.locator("dt.sig").first
    assert signature.inner_text().count("=") < 10
    assert signature.bounding_box()["height"] < 110


def test_a_figure_is_dark_on_a_dark_page(reader):
    page, _ = reader
    page.set_viewport_size({"width": WIDTHS[0], "height": 900})
    page.goto((BUILT / "benchmarks" / "speed.html").as_uri())
    figure, shown = page.locator(".bd-content img").first, {}
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        page.wait_for_function(FOLLOWS, arg=scheme, timeout=5_000)
        with Image.open(io.BytesIO(figure.screenshot())) as picture:
            shown[scheme] = ImageStat.Stat(picture.convert("L")).median[0]
    assert shown["light"] > 240
    assert shown["dark"] < 40


def test_a_button_copies_commands_and_not_their_output(reader):
    page, _ = reader
    page.goto((BUILT / "quick-start" / "command-line.html").as_uri())
    page.evaluate(
        "() => addEventListener('copy', () => { window.copied = document.activeElement.value })"
    )
    block = page.locator(".highlight-console", has_text="rosenblatt evaluate").first
    block.hover()
    block.locator("button.copybtn").click()
    page.wait_for_function("() => window.copied")
    assert page.evaluate("() => window.copied").strip() == (
        "rosenblatt evaluate reviews.model reviews.csv"
    )


def test_axe_finds_nothing_serious_on_pages_of_all_kinds(reader, barriers):
    page, _ = reader
    names = ["index", "course/1-perceptron", "benchmarks/speed", "guide/lab", "reference/commands"]
    names += ["gallery/index", "guide/family", "faq", "reference/generated/rosenblatt.Perceptron"]
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for name in names:
            page.goto((BUILT / f"{name}.html").as_uri())
            assert barriers(page) == [], (name, scheme)
