"""The command reference, written from the program itself."""

from __future__ import annotations

import inspect
from typing import Any

import typer
from typer.main import get_command

from rosenblatt.cli.help import description, placeholder, value_of


def markdown(app: typer.Typer) -> str:
    """One section per command: what it does, its usage, its arguments and options."""
    program: Any = get_command(app)
    return "\n".join(_section(name, command) for name, command in program.commands.items())


def _section(name: str, command: Any) -> str:
    about, _, rest = inspect.cleandoc(command.help or "").partition("\n\n")
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and _is_shown(p)]
    usage = " ".join(["rosenblatt", name, "[OPTIONS]", *map(placeholder, arguments)])
    kinds = inspect.signature(command.callback, eval_str=True).parameters
    lines = [f"## {name}", "", " ".join(about.split()), "", "```text", usage, "```", ""]
    lines += _notes(rest)
    if arguments:
        rows = [f"| `{placeholder(p)}` | {_escaped(p.help)} |" for p in arguments]
        lines += ["| argument | |", "|---|---|", *rows, ""]
    if options:
        rows = [
            f"| {_names(p, kinds[p.name].annotation)} | {_escaped(description(p))} |"
            for p in options
        ]
        lines += ["| option | |", "|---|---|", *rows, ""]
    return "\n".join(lines)


def _is_shown(option: Any) -> bool:
    return not option.hidden and "--help" not in option.opts


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
    return names if option.is_flag else f"{names} {_value(option, annotation)}"


def _value(option: Any, annotation: Any) -> str:
    value = option.metavar or value_of(annotation)
    return " or ".join(f"`{choice}`" for choice in value.split("|")) if "|" in value else value


def _escaped(text: str | None) -> str:
    escapes = {"<": "&lt;", "*": "\\*", "$": "\\$", "|": "\\|", "`": "\\`"}
    return " ".join("".join(escapes.get(sign, sign) for sign in text or "").split())
