"""The command reference, written from the program itself."""

from __future__ import annotations

import inspect
from enum import Enum
from pathlib import Path
from typing import Any, get_args

import typer
from typer.main import get_command


def markdown(app: typer.Typer) -> str:
    """One section per command: what it does, its usage, its arguments and options."""
    program: Any = get_command(app)
    return "\n".join(_section(name, command) for name, command in program.commands.items())


def _section(name: str, command: Any) -> str:
    about, _, rest = inspect.cleandoc(command.help or "").partition("\n\n")
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and _is_shown(p)]
    usage = " ".join(["rosenblatt", name, "[OPTIONS]", *map(_placeholder, arguments)])
    kinds = inspect.signature(command.callback, eval_str=True).parameters
    lines = [f"## {name}", "", " ".join(about.split()), "", "```text", usage, "```", ""]
    lines += _notes(rest)
    if arguments:
        rows = [f"| `{_placeholder(p)}` | {_escaped(p.help)} |" for p in arguments]
        lines += ["| argument | |", "|---|---|", *rows, ""]
    if options:
        rows = [f"| {_names(p, kinds[p.name].annotation)} | {_about(p)} |" for p in options]
        lines += ["| option | |", "|---|---|", *rows, ""]
    return "\n".join(lines)


def _is_shown(option: Any) -> bool:
    return not option.hidden and "--help" not in option.opts


def _placeholder(argument: Any) -> str:
    name = (argument.metavar or argument.name).upper() + ("..." if argument.nargs == -1 else "")
    return name if argument.required else f"[{name}]"


def _notes(rest: str) -> list[str]:
    """The remaining paragraphs of the help; indented ones are commands."""
    lines: list[str] = []
    for paragraph in filter(None, rest.split("\n\n")):
        if not paragraph.startswith("  "):
            lines += [" ".join(paragraph.split()), ""]
        elif lines and lines[-2:] == ["```", ""]:
            lines[-2:] = [f"$ {paragraph.strip()}", "```", ""]
        else:
            lines += ["```console", f"$ {paragraph.strip()}", "```", ""]
    return lines


def _names(option: Any, annotation: Any) -> str:
    names = " ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    return names if option.is_flag else f"{names} {_kind(annotation)}"


def _kind(annotation: Any) -> str:
    """What stands behind the name of an option: a choice, a number, a file, a word."""
    inner = [a for a in _flat(annotation) if isinstance(a, type)]
    for kind in inner:
        if issubclass(kind, Enum):
            return " or ".join(f"`{choice.value}`" for choice in kind)
    named = {int: "N", float: "X", Path: "FILE"}
    return next((named[kind] for kind in inner if kind in named), "TEXT")


def _flat(annotation: Any) -> list[Any]:
    inside = [part for one in get_args(annotation) for part in _flat(one)]
    return [annotation, *inside]


def _about(option: Any) -> str:
    text, default = option.help or "", option.default
    plain = isinstance(default, str | int | float) and not isinstance(default, bool)
    if plain and default != "":
        text += f" Default: {getattr(default, 'value', default)}."
    return _escaped(text)


def _escaped(text: str | None) -> str:
    escapes = {"<": "&lt;", "*": "\\*", "$": "\\$", "|": "\\|", "`": "\\`"}
    return " ".join("".join(escapes.get(sign, sign) for sign in text or "").split())
