"""Names of classes, columns and files that are escape sequences reach no terminal as they are."""

from __future__ import annotations

import ast
import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import rosenblatt
from rosenblatt.errors import visible

pty = pytest.importorskip("pty")

NAMES = [
    "a\x1b[2K\rPROVEN: separable", "b\nPROVEN: separable", "c\rPROVEN", "d\x1b]0;title\x07",
    "e\x07bell", "f\x9b2Jclear", "g\u202eDEVORP", "h\u2066isolated\u2069", "i\x1b[31mred\x1b[0m",
    "j\x1b[8mhidden", "k\x1bcreset", "l\x1b[1Aup", "m\x08\x08back", "n\x0bdown", "o\x0cpage",
    "p\x7fdelete", "q\u200fmark", "r\u2028line", "s\x85next", "t\ufeffzero\U000e0041tag",
]  # fmt: skip
FILE = "".join(name[:6] for name in NAMES)

RUN = """
import sys, traceback
from rosenblatt.cli import main
for arguments in {runs!r}:
    print("RUN", *map(ascii, arguments), flush=True)
    sys.argv = ["rosenblatt", *arguments]
    try:
        main()
        code = 0
    except SystemExit as end:
        code = end.code or 0
    print("EXIT", code, flush=True)
"""


def in_terminal(runs, folder):
    """What a pseudo-terminal shows of each run, and the exit codes."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "TERM": "xterm", "COLUMNS": "80"
    }  # fmt: skip
    screen, terminal = pty.openpty()
    command = [sys.executable, "-X", "utf8", "-c", RUN.format(runs=runs)]
    process = subprocess.Popen(
        command, stdin=terminal, stdout=terminal, stderr=terminal, env=environment, cwd=folder
    )
    os.close(terminal)
    shown = b""
    while True:
        try:
            content = os.read(screen, 1 << 16)
        except OSError:  # the process has ended
            break
        shown += content
        if not content:
            break
    os.close(screen)
    assert process.wait(60) == 0, shown.decode()
    parts = re.split(r"^RUN [^\n]*\n", shown.decode().replace("\r\n", "\n"), flags=re.MULTILINE)
    ends = [re.fullmatch(r"(.*?)EXIT (\d+)\n", part, re.DOTALL) for part in parts[1:]]
    assert all(ends), parts
    return [end[1] for end in ends], [int(end[2]) for end in ends]


def hidden_in(text):
    """Control characters of a text, but for line breaks, colours and the live line of `train`."""
    plain = re.sub("\x1b\\[[0-9;]*m", "", text).replace("\n", "")
    plain = re.sub("\r[^\r]*\r", "", plain)
    return {sign for sign in plain if visible(sign) != sign}


def write_files(folder):
    with (folder / FILE).open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["label", *NAMES, "words\x1b[2J"])
        for i in range(200):
            name = NAMES[i % 20]
            cells = [int(i % 20 == j) for j in range(19)] + [f"{NAMES[i % 20]}x"]
            rows.writerow([name, *cells, f"film\x1b[2J {i % 20} \u202egood {i}"])
    with (folder / f"two{FILE}").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow([*NAMES[:2], "label"])
        rows.writerows([[i, 2 * i - 7, NAMES[i > 3]] for i in range(8)])
    with (folder / f"bad{FILE}").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow([*NAMES[:2], "label"])
        rows.writerows([[i, f"{NAMES[i]}", NAMES[i > 3]] for i in range(8)])


def test_no_command_shows_control_characters_of_names(tmp_path):
    write_files(tmp_path)
    data, two, bad = FILE, f"two{FILE}", f"bad{FILE}"
    model, small, proof = f"{FILE}.model", f"small{FILE}.model", f"{FILE}.json"
    row = json.dumps(dict.fromkeys([*NAMES, "words\x1b[2J"], "\x1b[2J 1"))
    runs = {
        "dry run": ["train", data, "--dry-run"],
        "train": ["train", data, "-o", model, "--epochs", "2"],
        "tune": ["train", data, "-o", small, "--tune", "0.5s"],
        "bad rows": ["train", bad, "-o", small, "--column", f"{NAMES[1]}=number"],
        "no such column": ["train", data, "-l", NAMES[0]],
        "inspect": ["inspect", model],
        "evaluate": ["evaluate", model, data],
        "predict": ["predict", model, data, "-o", f"{FILE}.csv"],
        "predict to no folder": ["predict", model, data, "-o", f"no{NAMES[0]}/x.csv"],
        "explain": ["explain", model, row],
        "explain no class": ["explain", model, row, "--label", NAMES[2] + "!"],
        "explain no column": ["explain", model, json.dumps({NAMES[0] + "!": 1})],
        "compress": ["compress", model, "-o", small],
        "export": ["export", model, "-o", f"{FILE}.onnx"],
        "certify": ["certify", two, "-o", proof],
        "certify one against one": ["certify", data],
        "verify": ["verify", proof, two],
        "verify another": ["verify", proof, bad],
        "trace": ["trace", two],
        "trace as a table": ["trace", two, "--style", "table", "--proof"],
        "trace in markdown": ["trace", two, "--format", "markdown"],
        "no such file": ["train", "no" + FILE],
        "bytes in a name": ["train", "no\udcff\x1b[2J"],
        "no such model": ["inspect", "no" + FILE],
        "no model": ["inspect", data],
        "debug": ["--debug", "inspect", data],
        "no such option": ["train", f"--{NAMES[0]}"],
        "no such command": [NAMES[0]],
        "bad value": ["train", data, "--epochs", NAMES[0]],
        "lab": ["lab", "no" + FILE, "--no-show"],
        "rules": ["warm-up", "--rule", NAMES[0]],
    }
    shown, codes = in_terminal(list(runs.values()), tmp_path)
    assert len(shown) == len(runs)
    for name, text, code in zip(runs, shown, codes, strict=True):
        assert not hidden_in(text), (name, hidden_in(text), text)
        assert not [raw for raw in NAMES if raw in text], (name, text)
        assert not re.search("^PROVEN", text, re.MULTILINE) or name == "verify", (name, text)
        assert text.strip(), name
        assert "Traceback" not in text, text
        assert code in ((1,) if name == "verify another" else (0, 1, 2)), (name, text)
    escaped = "".join(shown)
    assert all(visible(name) in escaped for name in NAMES)


# Functions that print what needs no escaping: why.
PRINTERS = {
    "cli/__init__.py _print_version": "the version",
    "cli/lines.py say": "the escaping function's own line",
    "cli/progress.py _echo": "lines of `train`, escaped by its caller",
    "cli/models.py inspect": "TSV for programs",
    "cli/demo.py": "the rows of the package's own example",
    "course/cells.py _run": "Python's output in a page",
    "kernels/_unicode.py": "a table for developers",
    "kernels/jit.py print_once": "sentences of the package",
    "lab/server.py": "a port",
    "serve/engine.py say": "a line of JSON",
    "theory/plain_check.py": "names are written by !a",
}


def printing_calls(tree):
    """Calls that write to a stream for people, with the name of the function they are in."""
    inside = {}
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            inside |= dict.fromkeys(ast.walk(function), function.name)
    for node in ast.walk(tree):
        called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
        printers = ("print", "typer.echo", "typer.secho", "console.print")
        if called in printers or called in ("sys.stderr.write", "sys.stdout.write"):
            yield inside.get(node, ""), ast.unparse(node)


def test_every_line_for_people_goes_through_the_escaping_function():
    folder = Path(rosenblatt.__file__).parent
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(folder).as_posix()
        for function, call in printing_calls(ast.parse(path.read_text(encoding="utf-8"))):
            escaped = "visible(" in call or "json" in call
            if not (escaped or {name, f"{name} {function}"} & PRINTERS.keys()):
                raise AssertionError(f"{name}, {function}: print with say(), or visible(): {call}")
