"""The command-line program: one file per command, a thin layer over the library.

Commands import the library when they run, so that ``rosenblatt --help`` stays quick.
"""

from __future__ import annotations

import copy
import gc
import inspect as inspect_module
import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from rosenblatt import __version__
from rosenblatt.cli.browser import course, lab
from rosenblatt.cli.demo import demo
from rosenblatt.cli.evaluate import evaluate
from rosenblatt.cli.help import of_command, of_program
from rosenblatt.cli.lines import say
from rosenblatt.cli.models import compress, explain, export, import_, inspect
from rosenblatt.cli.predict import predict
from rosenblatt.cli.prove import certify, verify
from rosenblatt.cli.serve import replay, serve
from rosenblatt.cli.trace import trace
from rosenblatt.cli.train import train
from rosenblatt.cli.warm_up import warm_up
from rosenblatt.errors import OptionError, visible


class _Commands(TyperGroup):
    """The commands; messages about bad usage show control characters escaped."""

    def make_context(self, *args: Any, **options: Any) -> Any:
        with _visible_usage():
            return super().make_context(*args, **options)

    def invoke(self, context: Any) -> Any:
        with _visible_usage():
            return super().invoke(context)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, args or ["--help"])

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(of_program(self, ctx))


@contextmanager
def _visible_usage() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        message = getattr(error, "message", None)  # of bad usage; typer's class of it is private
        if isinstance(message, str):
            vars(error)["message"] = visible(message)
        raise


app = typer.Typer(
    cls=_Commands,
    name="rosenblatt",
    help="The perceptron: train it at memory speed, watch it learn, prove what it learned.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_COMMANDS = {
    "Train and predict": (train, evaluate, predict, explain, inspect, compress, export, import_),
    "Serve": (serve, replay),
    "Prove": (certify, verify),
    "Watch and learn": (demo, trace, lab, course),
    "Set up": (warm_up,),
}


# What to say instead of the options of Vowpal Wabbit.
_VW_OPTIONS = {
    name: hint
    for names, hint in (
        ("--passes", "did you mean --epochs?"),
        ("-b --bit_precision", "did you mean --bits?"),
        ("-d --data", "name the files without an option"),
        ("-f --final_regressor", "did you mean --out?"),
        (
            "-i --initial_regressor",
            "name the model without an option, or say --from MODEL to go on from it",
        ),
        ("-t --testonly", "rosenblatt predict and evaluate do not learn"),
        ("-p --predictions", "did you mean rosenblatt predict MODEL FILE --out?"),
        ("-r --raw_predictions", "rosenblatt predict prints the scores"),
        ("--link", "rosenblatt predict --proba prints probabilities"),
        ("-c --cache --cache_file -k --kill_cache", "rows are stored by themselves: leave it out"),
        (
            "--learning_rate --power_t --initial_t --adaptive --normalized --invariant --sgd",
            "the perceptron has no learning rate; see --threshold, and --rule for other rules",
        ),
        ("--loss_function --l1 --l2", "see --rule, and rosenblatt.compare for the rules there are"),
        ("--ngram", "did you mean --ngrams?"),
        ("-q --quadratic --interactions", "did you mean --cross?"),
        ("--oaa", "classes are detected from the labels"),
        ("--holdout_off", "say --epochs N, which holds no rows out"),
        ("--invert_hash --readable_model", "see rosenblatt inspect MODEL --all --names FILE"),
        ("-a --audit", "see rosenblatt explain MODEL FILE"),
        ("--save_resume", "leave it out: --from MODEL goes on from any model"),
        ("--daemon", "see rosenblatt serve"),
        ("-P --progress", "a line comes after 1, 2, 4, 8 ... thousand rows"),
        (
            "--noconstant --hash --skips --ignore --cubic --nn --bfgs --ftrl --csoaa --wap --ect "
            "--cb --cb_explore --cb_adf --lda --boosting --bootstrap --log_multi --search",
            "nothing here corresponds to this option of Vowpal Wabbit",
        ),
    )
    for name in names.split()
}
_NEGATIVE_LINE = re.compile(r"-[\d.][^|]*\|")


class _Command(TyperCommand):
    """A command that takes a line such as ``"-1 | good"``, and knows Vowpal Wabbit's options."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(of_command(self, ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; one that begins with a blank is never an option."""
        args = [f" {a}" if _NEGATIVE_LINE.match(a) else a for a in args]
        known = {name for parameter in self.params for name in parameter.opts}
        for name in (a.partition("=")[0] for a in args):
            if name == "--":
                break
            if name in _VW_OPTIONS and name not in known:
                raise OptionError(f"no such option: {name}; {_VW_OPTIONS[name]}")
        return super().parse_args(ctx, args)


def _help(command: Callable[..., None]) -> str:
    """The docstring of a command with each paragraph on one line, for typer to wrap."""
    paragraphs = inspect_module.cleandoc(command.__doc__ or "").split("\n\n")
    return "\n\n".join(p if p.startswith(" ") else " ".join(p.split()) for p in paragraphs)


for _group, _commands in _COMMANDS.items():
    for _command in _commands:
        _name = _command.__name__.strip("_").replace("_", "-")
        app.command(_name, rich_help_panel=_group, help=_help(_command), cls=_Command)(_command)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rosenblatt {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(
        False,
        "--version",
        callback=_print_version,
        is_eager=True,
        help="Show the version and exit.",
    ),
    debug: bool = typer.Option(False, "--debug", help="Show the traceback of an error."),
) -> None:
    """Options before the command."""


def _sentence(error: Exception) -> str:
    """The message of an error, without the errno of an OSError."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{os.fspath(error.filename)}: {error.strerror}"
    return str(error)


def _program(named: list[str]) -> typer.Typer:
    """The program with the named command, or with all: setting up 17 takes a tenth of a start."""
    program = copy.copy(app)
    commands = [command for command in app.registered_commands if command.name in named]
    program.registered_commands = commands or app.registered_commands
    return program


def main() -> None:
    """Run the program: bad usage exits with 2, bad data with one plain sentence and 1."""
    # Imports leave little garbage: with rarer collections, commands start a tenth faster.
    gc.set_threshold(100_000, 50, 50)
    warnings.showwarning = lambda message, *_, **__: say(f"rosenblatt: {message}", err=True)
    try:
        _program(sys.argv[1:2])()
    except (ValueError, OSError, ImportError) as error:
        if "--debug" in sys.argv:
            traceback.print_tb(error.__traceback__)
        say(f"rosenblatt: {_sentence(error)}", err=True, wrap=False)
        raise SystemExit(2 if isinstance(error, OptionError) else 1) from None
    finally:
        gc.freeze()  # skips the last garbage collection: the process is about to end
