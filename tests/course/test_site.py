"""The chapters become pages that need nothing from elsewhere, all of them or none."""

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from rosenblatt.course import build, built, site

pytest.importorskip("latex2mathml")
pytest.importorskip("mdit_py_plugins")

PAGE = """# One `thing`

See {func}`rosenblatt.trace`, {func}`~rosenblatt.theory.pad`, {doc}`the map <../theory/map>` and
[two](two.md). It is $a^2$.

$$\\sum_i x_i \\le 1$$

```python
2 + 3
```

```{toctree}
two
```

| a | b |
|---|---|
| 1 | 2 |
"""


@pytest.fixture
def chapters(tmp_path, monkeypatch):
    folder = tmp_path / "chapters"
    folder.mkdir()
    (folder / "index.md").write_text(PAGE)
    (folder / "two.md").write_text("# Two\n\nwords\n")
    monkeypatch.setattr(site, "chapters", lambda: folder)
    return folder


def test_pages_hold_the_output_the_formulas_and_no_directive(chapters, tmp_path):
    lines = []
    entry = build(tmp_path / "out", progress=lines.append)
    text = entry.read_text("utf-8")
    assert lines == ["building 1 of 2: One thing", "building 2 of 2: Two"]
    assert ">5\n</code>" in text
    assert text.count("<math") == 2
    assert "toctree" not in text
    assert "<code>rosenblatt.trace</code>, <code>pad</code>, the map" in text
    assert '<a href="two.html">two</a>' in text
    assert "<td>1</td>" in text
    assert "http" not in text.replace("http://www.w3.org/1998/Math/MathML", "")


def test_a_course_is_found_again_until_its_chapters_change(chapters, tmp_path):
    assert built(tmp_path / "out") is None
    entry = build(tmp_path / "out", progress=lambda line: None)
    assert built(tmp_path / "out") == entry
    (chapters / "two.md").write_text("# Two\n\nother words\n")
    assert built(tmp_path / "out") is None


@pytest.mark.parametrize("place", ["", "- ", "1. "])
def test_a_long_formula_scrolls_by_itself_on_a_narrow_screen(chapters, tmp_path, browser, place):
    formula = "w=" + "+".join(f"y_{{{i}}}x_{{{i}}}" for i in range(40))
    (chapters / "two.md").write_text(f"# Two\n\n{place}**So**: ${formula}$ holds.\n")
    entry = build(tmp_path / "out", progress=lambda line: None)
    page = browser.new_page(viewport={"width": 390, "height": 800})
    page.goto(entry.with_name("two.html").as_uri())
    widths = page.evaluate(
        "() => [document.documentElement.scrollWidth, document.querySelector('math').scrollWidth]"
    )
    page.close()
    assert widths[0] == 390 < widths[1]


def test_a_failed_build_leaves_nothing_that_looks_finished(chapters, tmp_path):
    (chapters / "two.md").write_text("# Two\n\n```python\n1 / 0\n```\n")
    with pytest.raises(Exception, match="ZeroDivisionError"):
        build(tmp_path / "out", progress=lambda line: None)
    assert built(tmp_path / "out") is None
    assert list((tmp_path / "out").iterdir()) == []


def test_the_shipped_chapters_are_found():
    assert (site.chapters() / "index.md").is_file()


SCENES = "# Two\n\n```{scene} offset\n```\n\nwords\n\n```{scene} movies\n```\n"


def solve(page, box):
    """Open the scene, choose the variant with a bias, run it to the end, and wait for the tick."""
    assert box.locator(".done-mark").is_hidden()
    box.locator("button", has_text="open the scene").click()
    box.locator(".variant").select_option(label="with a bias")
    box.locator(".finish").click()
    box.locator(".done-mark").wait_for()


@pytest.mark.parametrize("served", [False, True])
def test_an_exercise_is_solved_in_the_static_pages(chapters, tmp_path, browser, served):
    (chapters / "two.md").write_text(SCENES)
    entry = build(tmp_path / "out", progress=lambda line: None)
    handler = partial(QuietHandler, directory=str(entry.parent))
    errors, page = [], browser.new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/two.html"
        page.goto(address if served else entry.with_name("two.html").as_uri())
        offset = page.locator('[data-scene="offset"]')
        solve(page, offset)
        page.locator('[data-scene="movies"] button', has_text="open the scene").click()
        page.locator('[data-scene="movies"] .step').click()
        page.locator('[data-scene="movies"] .counts', has_text="step 1").wait_for()
        page.reload()
        offset.locator(".done-mark").wait_for()  # it is remembered
        server.shutdown()
    page.close()
    assert errors == []


def test_the_served_course_has_the_lab_inside(chapters, tmp_path, browser):
    pytest.importorskip("panel", reason="panel is not installed")
    from rosenblatt.lab.server import free_port, serve

    (chapters / "two.md").write_text(SCENES)
    entry = build(tmp_path / "out", progress=lambda line: None)
    port = free_port()
    server = serve(port=port, show=False, threaded=True, pages=entry.parent)
    page = browser.new_page()
    page.goto(f"http://127.0.0.1:{port}/")
    page.locator("h1", has_text="One").wait_for()
    page.goto(f"http://127.0.0.1:{port}/rosenblatt-course/two.html")
    box = page.locator('[data-scene="offset"]')
    box.locator("button").click()
    lab = page.frame_locator('[data-scene="offset"] iframe')
    lab.locator(".certificate", has_text="No line separates them").wait_for()
    lab.locator("#setting-bias").check()
    lab.locator(".finish").click()
    box.locator(".done-mark").wait_for()
    page.close()
    server.stop()


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass
