"""Run the code blocks of a Markdown page and insert their output and pictures below them.

A ``{scene} NAME`` block becomes a box that opens a scene of the lab. ``python`` blocks share one
namespace per page. In ``console`` blocks, ``rosenblatt`` commands, and ``printf``, which makes
files, are run, except those that open a browser; ``| head -N`` and ``| tail -N`` shorten the
output. A line ``# Figure: TEXT`` in a block is the caption of the picture that the block draws, and
what follows a line ``# Drawing:`` is folded away below the picture.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any
from unittest import mock

from rosenblatt.lab.recordings import box

Command = Callable[[list[str]], str]

FENCE = re.compile(r"^```(python|console)\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
_SCENE = re.compile(r"^```\{scene\} ([\w-]+)( open)?\n```\n", re.MULTILINE)
_CAPTION = re.compile(r"^# Figure: (.*)\n", re.MULTILINE)
_DRAWING = "# Drawing:\n"  # separates what teaches from what only draws
_FOLDED = '\n<details class="drawing"><summary>How it is drawn</summary>\n\n{}\n</details>\n'
_OPEN_A_BROWSER = ("lab", "course")
_PIXELS_PER_INCH = 144


class CellError(Exception):
    """A block of a page failed; the message shows the block."""


def execute(
    page: str,
    figures: Path,
    *,
    prefix: str,
    link: str,
    scenes: str = "scenes",
    command: Command | None = None,
) -> str:
    """The page with the output of its blocks inserted.

    Parameters
    ----------
    page
        The text of the page, in Markdown.
    figures
        The folder for the pictures.
    prefix
        The start of the file names of the pictures.
    link
        The folder of the pictures, relative to the page.
    scenes
        The folder that :func:`rosenblatt.lab.recordings.write` wrote, relative to the page.
    command
        A function that runs a ``rosenblatt`` command, given its arguments, and returns its output;
        without it, commands are not run.

    Examples
    --------
    >>> page = "```python\\n1 + 1\\n```\\n"
    >>> print(execute(page, Path("figures"), prefix="a", link="figures"))
    ```python
    1 + 1
    ```
    <BLANKLINE>
    ```output
    2
    ```
    <BLANKLINE>
    """
    namespace: dict[str, Any] = {"__name__": "__main__"}
    drawn: list[str] = []

    def complete(block: re.Match[str]) -> str:
        kind, code = block.groups()
        if kind == "console":
            return _console(code, command)
        printed = _run(code, namespace)
        code = _CAPTION.sub("", block[2])
        shown, _, drawing = code.partition(_DRAWING)
        shown = _block(shown) if shown.strip() else ""
        folded = _FOLDED.format(_block(drawing)) if drawing else ""
        pictures = _save_figures(figures, f"{prefix}-{len(drawn) + 1}")
        drawn.extend(pictures)
        caption = (_CAPTION.findall(block[2]) or ["A picture drawn by the code above."])[0]
        images = "".join(f"\n![{caption}]({link}/{name})\n" for name in pictures)
        if images:
            images += f"\n*{caption}*\n"
        return shown + _output(printed) + images + folded

    # Draw without a window, and write files into an empty folder.
    backend = mock.patch.dict(os.environ, MPLBACKEND="agg")
    with backend, tempfile.TemporaryDirectory() as folder, chdir(folder):
        page = FENCE.sub(complete, page)
    return with_scenes(page, scenes)


def with_scenes(page: str, scenes: str) -> str:
    """The page with a box for each scene; ``{scene} NAME open`` shows the picture at once."""
    if not _SCENE.search(page):
        return page
    page = _SCENE.sub(lambda scene: box(scene[1], bool(scene[2])) + "\n", page)
    return f'{page}\n<script src="{scenes}/scenes.js" defer></script>\n'


def _block(code: str) -> str:
    return f"```python\n{code.strip()}\n```\n"


def _run(code: str, namespace: dict[str, Any]) -> str:
    """Run a block and return its output; like a notebook, print the value of a last expression."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = StringIO()
    try:
        with redirect_stdout(printed):
            exec(compile(tree, "<page>", "exec"), namespace)
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), "<page>", "eval"), namespace)
                if not _is_drawing(value):
                    print(value if isinstance(value, str) else repr(value))
    except Exception as error:
        raise CellError(f"{type(error).__name__}: {error}\nin the block\n{code}") from error
    return printed.getvalue()


def _is_drawing(value: Any) -> bool:
    """Whether a value is None or an object of a picture, which is not printed."""
    if isinstance(value, list | tuple) and value:
        return all(map(_is_drawing, value))
    kind = type(value).__module__
    return value is None or kind.startswith(("matplotlib", "rosenblatt.viz"))


def _console(code: str, command: Command | None) -> str:
    """A block of commands with their output; unchanged if it already shows output."""
    entries = code.replace("\\\n", "\\\0").splitlines()  # a command may take several lines
    if command is None or not all(line.startswith("$ ") for line in entries):
        return f"```console\n{code}```\n"
    shown = ""
    for line in (entry.replace("\0", "\n") for entry in entries):
        if line.startswith("$ printf "):
            subprocess.run(line.removeprefix("$ "), shell=True, check=True)
        words = shlex.split(line.removeprefix("$ ").partition("  #")[0])
        printed = ""
        if words[0] == "rosenblatt" and words[1] not in _OPEN_A_BROWSER:
            printed = _piped(words[1:], command)
        shown += f"{line}\n{printed.rstrip()}\n" if printed.strip() else f"{line}\n"
    return f"```console\n{shown}```\n"


def _piped(words: list[str], command: Command) -> str:
    """The output of a command, perhaps shortened by ``| head -N`` or ``| tail -N``."""
    at = words.index("|") if "|" in words else len(words)
    try:
        lines = command(words[:at]).rstrip().splitlines()
    except Exception as error:
        raise CellError(f"{type(error).__name__}: {error}\nin {shlex.join(words)}") from error
    if at == len(words):
        return "\n".join(lines)
    program, count = words[at + 1], int(words[at + 2].lstrip("-"))
    return "\n".join(lines[:count] if program == "head" else lines[-count:])


def _output(printed: str) -> str:
    return f"\n```output\n{printed.rstrip()}\n```\n" if printed.strip() else ""


def _save_figures(folder: Path, name: str) -> list[str]:
    """Save and close the open figures of matplotlib; returns the file names."""
    if "matplotlib.pyplot" not in sys.modules:
        return []
    from matplotlib import pyplot

    saved: list[str] = []
    for number in pyplot.get_fignums():
        folder.mkdir(parents=True, exist_ok=True)
        figure = pyplot.figure(number)
        width, height = figure.get_size_inches()
        # The pages let a wide picture scroll on a phone: its letters would be too small to read.
        wide = "-wide" if width > 1.8 * height else ""
        saved.append(f"{name}{'abcdefgh'[len(saved)] if saved else ''}{wide}.png")
        figure.savefig(folder / saved[-1], dpi=_PIXELS_PER_INCH)
    pyplot.close("all")
    return saved
