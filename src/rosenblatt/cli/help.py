"""The help of the program and of each command, set to the width of the terminal."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterable
from enum import Enum
from pathlib import Path
from typing import Any, get_args

from rosenblatt.cli.lines import Styled, painted, width

_NAMES, _COMMANDS = 26, 10  # columns of the names of options and of commands


def of_command(command: Any, context: Any) -> str:
    """The help of one command: what it does, examples, arguments, options in groups."""
    about, _, notes = inspect.cleandoc(command.help or "").partition("\n\n")
    arguments, options = _parameters(command)
    usage = ["Usage:", context.command_path, "[OPTIONS]", *map(placeholder, arguments)]
    lines = [Styled(" ".join(usage), "strong"), "", *_wrapped(about), "", *_notes(notes)]
    if arguments:
        lines += ["", Styled("Arguments", "strong")]
        lines += _rows((placeholder(a), a.help or "") for a in arguments)
    kinds = inspect.signature(command.callback, eval_str=True).parameters
    panels: dict[str, list[Any]] = {}
    for option in options:
        panels.setdefault(getattr(option, "rich_help_panel", None) or "Options", []).append(option)
    for panel, members in panels.items():
        lines += ["", Styled(panel, "strong")]
        lines += _rows((_row_name(o, kinds[o.name].annotation), description(o)) for o in members)
    return _text(lines)


def of_program(group: Any, context: Any) -> str:
    """The help of the program: its commands in groups, with a line each."""
    lines = [Styled(f"Usage: {context.command_path} COMMAND ...", "strong"), ""]
    lines += _wrapped(group.help or "")
    panels: dict[str, list[Any]] = {}
    for command in group.commands.values():
        panels.setdefault(getattr(command, "rich_help_panel", None) or "Commands", []).append(
            command
        )
    for panel, commands in panels.items():
        lines += ["", Styled(panel, "strong")]
        abouts = [(c.name, (c.help or "").partition("\n\n")[0]) for c in commands]
        lines += _rows(abouts, _COMMANDS)
    lines += ["", Styled("Options", "strong")]
    lines += _rows((", ".join(o.opts), o.help or "") for o in _parameters(group)[1])
    lines += ["", "rosenblatt COMMAND --help shows the options of a command."]
    return _text(lines)


def placeholder(argument: Any) -> str:
    """How an argument stands in the usage.

    >>> from types import SimpleNamespace
    >>> placeholder(SimpleNamespace(metavar=None, name="file", nargs=1, required=False))
    '[FILE]'
    """
    name = (argument.metavar or argument.name).upper() + ("..." if argument.nargs == -1 else "")
    return name if argument.required else f"[{name}]"


def value_of(annotation: Any) -> str:
    """What stands behind the name of an option: choices, a number, a file, a word.

    >>> value_of(int | None), value_of(list[str]), value_of(Enum("Kind", {"a": "a", "b": "b"}))
    ('N', 'TEXT', 'a|b')
    """
    inner = [part for part in _flat(annotation) if isinstance(part, type)]
    for kind in inner:
        if issubclass(kind, Enum):
            return "|".join(choice.value for choice in kind)
    named = {int: "N", float: "X", Path: "FILE"}
    return next((named[kind] for kind in inner if kind in named), "TEXT")


def description(option: Any) -> str:
    """The help of an option, with its default if that is a number or a word."""
    text, default = option.help or "", option.default
    plain = isinstance(default, str | int | float) and not isinstance(default, bool)
    if plain and default != "":
        text += f" Default: {getattr(default, 'value', default)}."
    return " ".join(text.split())


def _parameters(command: Any) -> tuple[list[Any], list[Any]]:
    """The arguments and the options of a command that help shows."""
    shown = [p for p in command.params if not getattr(p, "hidden", False)]
    return (
        [p for p in shown if p.param_type_name == "argument"],
        [p for p in shown if p.param_type_name == "option" and "--help" not in p.opts],
    )


def _row_name(option: Any, annotation: Any) -> str:
    short = sorted(option.opts, key=len)
    names = ", ".join(short) + "".join(f" / {name}" for name in option.secondary_opts)
    return names if option.is_flag else f"{names} {option.metavar or value_of(annotation)}"


def _flat(annotation: Any) -> list[Any]:
    return [annotation, *(part for one in get_args(annotation) for part in _flat(one))]


def _notes(notes: str) -> list[Any]:
    """The other paragraphs of a help text; indented ones are examples and stand close together."""
    lines: list[Any] = []
    for paragraph in filter(None, notes.split("\n\n")):
        if paragraph.startswith(" "):
            parts = textwrap.wrap(
                paragraph.rstrip(), width() - 2, subsequent_indent="      ", break_on_hyphens=False
            )
            ends = [" \\"] * (len(parts) - 1) + [""]  # as a shell goes on with a command
            lines += [Styled(part + end, "name") for part, end in zip(parts, ends, strict=True)]
        else:
            is_title = paragraph.strip() == "Examples:"
            lines += [""] * bool(lines)
            lines += [Styled(paragraph.strip(), "strong")] if is_title else _wrapped(paragraph)
    return lines


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(" ".join(text.split()), width(), break_on_hyphens=False)


def _rows(rows: Iterable[tuple[str, str]], names: int = _NAMES) -> list[Any]:
    """Names in one column, what they mean in another; a long name has a line of its own."""
    lines: list[Any] = []
    for name, meaning in rows:
        text = textwrap.wrap(meaning, width() - names - 3, break_on_hyphens=False) or [""]
        if len(name) > names:
            lines.append([Styled(f"  {name}", "name")])
            name = ""
        lines.append([Styled(f"  {name:<{names}} ", "name"), text[0]])
        lines += [f"{'':<{names + 3}}{more}" for more in text[1:]]
    return lines


def _text(lines: Iterable[Any]) -> str:
    return "\n".join(painted(line) for line in lines)
