"""The Python blocks of the README and of every page run when pasted, and so does the gallery.

The chapters of the course are run by tests/course/test_chapters.py, with their commands.
"""

import doctest
import re
import runpy
import shlex
from functools import cache
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rosenblatt.cli import app

ROOT = Path(__file__).parents[1]
BUILT = ("_build", "gallery", "generated", "course")
PAGES = [
    ROOT / "README.md",
    *sorted(p for p in (ROOT / "docs").rglob("*.md") if not set(p.parts) & set(BUILT)),
]
EXAMPLES = sorted((ROOT / "docs" / "examples").rglob("plot_*.py"))
COURSE = sorted((ROOT / "docs" / "course").glob("*.md"))
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^\$ (?:\w+ .*\| )?(rosenblatt .*)$", re.MULTILINE)
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]


def _blocks(page):
    return BLOCK.findall(page.read_text("utf-8"))


@pytest.mark.parametrize("page", [p for p in PAGES if _blocks(p)], ids=lambda p: p.stem)
def test_the_blocks_of_a_page_run_in_order(page, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    pytest.importorskip("panel")
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    for block in _blocks(page):
        if block.startswith(">>>"):
            _check_prompts(block, namespace, page.name)
        else:
            exec(compile(block, str(page), "exec"), namespace)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda p: p.stem)
def test_the_examples_of_the_gallery_run(example, monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.chdir(example.parent)  # as the gallery does
    before = plt.get_fignums()
    runpy.run_path(str(example))
    assert plt.get_fignums() != before
    plt.close("all")


def _check_prompts(block, namespace, name):
    """Run a block with prompts, and compare what it prints."""
    test = doctest.DocTestParser().get_doctest(block, namespace, name, name, 0)
    test.globs = namespace
    assert doctest.DocTestRunner().run(test, clear_globs=False).failed == 0


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_command_on_a_page_exists_with_its_options(page):
    for line in COMMAND.findall(page.read_text("utf-8")):
        words = shlex.split(line.partition("  #")[0].partition(" | ")[0])[1:]
        if not words or words[0].startswith("-") or not words[0].islower():
            continue
        for option in (word.partition("=")[0] for word in words if word.startswith("--")):
            assert option in _help(words[0]), line


@pytest.mark.parametrize("page", [*PAGES, *COURSE], ids=lambda p: str(p.relative_to(ROOT)))
def test_every_formula_has_a_form_that_needs_no_network(page, monkeypatch):
    pytest.importorskip("sphinx")
    pytest.importorskip("latex2mathml")
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_ext"))
    from mathml import mathml

    text = re.sub(
        r"^```.*?^```|`[^`\n]*`", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    for display, inline in re.findall(r"\$\$(.*?)\$\$|(?<!\\)\$([^$\n]+)\$", text, re.DOTALL):
        assert "<math" in mathml(display or inline)


@cache
def _help(command):
    shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"})
    assert shown.exit_code == 0, command
    return shown.stdout
