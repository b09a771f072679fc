"""The Python blocks of the README and of every page run when pasted, and so does the gallery.

Values in their comments are compared.

The chapters of the course are run by tests/course/test_chapters.py, with their commands.
"""

import ast
import doctest
import io
import os
import re
import runpy
import shlex
import subprocess
import sys
import tokenize
from contextlib import nullcontext, redirect_stdout, suppress
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
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
BLOCK = re.compile(r"^```python\n(.*?)^```(?:\n\n```text\n(.*?)^```)?", re.DOTALL | re.MULTILINE)
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)
CHANGING = re.compile(r"(?<=at )\d+ MB/s|(?<=in )[\d.]+ s\b")  # what differs from run to run
COMMAND = re.compile(r"^\$ (?:\w+ .*\| )?(rosenblatt .*)$", re.MULTILINE)
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]


def _blocks(page):
    """The Python blocks of a page, each with the block of text below it, which it prints."""
    return BLOCK.findall(page.read_text("utf-8"))


def _assert_shown(printed, shown, name):
    """What was printed is what a page shows; dots stand for any lines."""
    lines, place, may_skip = printed.splitlines(), 0, False
    for line in shown.splitlines():
        if line == "...":
            may_skip = True
            continue
        end = len(lines) if may_skip else place + 1
        assert line in lines[place:end], f"{name}: {line!r} is not in\n{printed}"
        place, may_skip = lines.index(line, place) + 1, False
    assert may_skip or place == len(lines), f"{name} does not show {lines[place:]}"


def test_the_papers_of_the_rules_are_listed_with_links():
    from rosenblatt.rules import registry

    page = " ".join((ROOT / "docs" / "theory" / "papers.md").read_text("utf-8").split())
    for rule in registry._packaged().values():  # others register more
        for paper in rule.paper.split("; "):
            authors, year = paper.partition(")")[0].split(" (")
            assert f"{authors.split(',')[0]}" in page, paper
            assert f"({year})" in page, paper
    assert page.count("](https://") > 30


@pytest.mark.parametrize("page", [p for p in PAGES if _blocks(p)], ids=lambda p: p.stem)
def test_the_blocks_of_a_page_run_in_order(page, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    pytest.importorskip("panel")
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    for block, shown in _blocks(page):
        if block.startswith(">>>"):
            _check_prompts(block, namespace, page.name)
            continue
        printed = io.StringIO()
        with redirect_stdout(printed):
            _run(block, namespace, page.name)
        if shown:
            _assert_shown(printed.getvalue(), shown, page.name)


def _console(page, first=0, last=None):
    """The commands of the console blocks of a page, each with the output that is shown below it."""
    for block in CONSOLE.findall(page.read_text("utf-8"))[first:last]:
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, shown = re.match(r"((?:[^\n]*\\\n)*[^\n]*\n?)(.*)", part, re.DOTALL).groups()
            yield command, shown.strip("\n")


def _run_console(commands, folder, name):
    """Run commands in a shell, as pasted, and compare what they print with what is shown."""
    ours = f'rosenblatt() {{ "{sys.executable}" -m rosenblatt "$@"; }}\n'
    for command, shown in commands:
        done = subprocess.run(
            ["bash", "-c", ours + command], cwd=folder, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, f"{name}: {command}{done.stderr}"
        if shown:
            printed, shown = (CHANGING.sub("#", text) for text in (done.stdout, shown))
            _assert_shown(printed, shown, name)


def test_the_quick_start_runs_on_the_command_line(tmp_path):
    page = ROOT / "docs" / "quick-start" / "command-line.md"
    commands = list(_console(page, last=-1))  # the last block opens a browser
    assert len(commands) > 6
    _run_console(commands, tmp_path, page.name)


def test_a_trace_prints_what_its_page_shows(tmp_path):
    page = ROOT / "docs" / "guide" / "trace.md"
    _run_console(_console(page, last=1), tmp_path, page.name)


@pytest.mark.parametrize("name", ["README.md", "docs/guide/command-line.md"])
def test_commands_on_reviews_print_what_the_page_shows(name, tmp_path):
    """The output on the reviews of IMDB, where these are."""
    texts = Path(os.environ.get("ROSENBLATT_DATA", ROOT / ".." / "shared" / "data")) / "text"
    for source, target in (("imdb_train", "reviews"), ("imdb_test", "test")):
        if not (texts / f"{source}.tsv.zst").exists():
            pytest.skip(f"needs {source}.tsv.zst in the folder text of ROSENBLATT_DATA")
        with pa.input_stream(str(texts / f"{source}.tsv.zst")) as file:
            (tmp_path / f"{target}.tsv").write_bytes(file.read())
    commands = [pair for pair in _console(ROOT / name) if pair[1]]
    assert len(commands) > 1
    _run_console(commands, tmp_path, name)


@pytest.mark.parametrize(
    ("printed", "shown", "is_true"),
    [
        ("a\nb\n", "a\nb", True),
        ("a\nb\n", "a", False),
        ("a\nb\nc\n", "a\n...\nc", True),
        ("a\nb\nc\n", "...\nb\n...", True),
        ("a\nb\nc\n", "a\nc", False),
    ],
)
def test_shown_output_is_compared(printed, shown, is_true):
    with nullcontext() if is_true else pytest.raises(AssertionError):
        _assert_shown(printed, shown, "a page")


@pytest.mark.parametrize(
    ("block", "is_true"),
    [
        ("1 / 3  # 0.33: a third", True),
        ("1 / 3  # 0.34", False),
        ("np.array([1, 0]) > 0  # array([True, False])", True),
        ("x = (2, 'a')  # (2, 'b')", False),
        ("print(\n    b'a'\n)  # b'a'", True),
        ("print(1)  # 2", False),
        ("[1.0, 2]  # [1.0, 2, 3]", False),
        ("1 + 1  # the sum, 3", True),
    ],
)
def test_values_in_comments_are_compared(block, is_true):
    context = nullcontext() if is_true else pytest.raises(AssertionError)
    with context:
        _run(block, {"np": np}, "a page")


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda p: p.stem)
def test_the_examples_of_the_gallery_run(example, monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.chdir(example.parent)  # as the gallery does
    before = plt.get_fignums()
    runpy.run_path(str(example))
    assert plt.get_fignums() != before
    plt.close("all")


def _run(block, namespace, name):
    """Run a block; a literal in the comment behind a statement must be its value, or its print."""
    comments = {
        token.start[0]: token.string.lstrip("# ")
        for token in tokenize.generate_tokens(io.StringIO(block).readline)
        if token.type == tokenize.COMMENT
    }
    for statement in ast.parse(block).body:
        expected = _literal(comments.get(statement.end_lineno, ""))
        if isinstance(statement, ast.Expr) and expected is not None:
            printed = io.StringIO()
            with redirect_stdout(printed):
                code = compile(ast.Expression(statement.value), name, "eval")
                value = eval(code, namespace)
            value = _literal(printed.getvalue()) if printed.getvalue() else value
            assert _agree(value, expected), f"{name}: {ast.unparse(statement)} is {value!r}"
            continue
        exec(compile(ast.Module([statement], []), name, "exec"), namespace)
        if isinstance(statement, ast.Assign) and expected is not None:
            value = namespace[ast.unparse(statement.targets[0])]
            assert _agree(value, expected), f"{name}: {ast.unparse(statement)} is {value!r}"


def _literal(comment):
    """The literal that a comment is or begins with, before a colon; None without one.

    An array is its list.
    """
    text = re.sub(r"^array\((.*)\)$", r"\1", comment)
    for part in (text, *(text[: colon.start()] for colon in re.finditer(": ", text))):
        with suppress(ValueError, SyntaxError):
            return ast.literal_eval(part)
    return None


def _agree(value, expected):
    """Whether a value is the expected one, to the decimals of that."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(expected, tuple | list):
        pairs = zip(value, expected, strict=False)
        return len(value) == len(expected) and all(_agree(*pair) for pair in pairs)
    if isinstance(expected, float):
        decimals = len(repr(expected).partition(".")[2])
        return abs(value - expected) <= 0.5 * 10**-decimals
    return value == expected


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
