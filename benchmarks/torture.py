"""The long forms of the hardening tests: ``python -m benchmarks.torture NAME [options]``.

Each module ``torture_NAME.py`` in this folder is a subcommand. It has a docstring, whose first line
is the help, `add_options(parser)` and `run(options)`, which returns the exit code.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence
from pathlib import Path


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.torture", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="NAME")
    for file in sorted(Path(__file__).parent.glob("torture_*.py")):
        module = importlib.import_module(f"benchmarks.{file.stem}")
        summary = (module.__doc__ or "").strip().split("\n")[0]
        command = commands.add_parser(file.stem.removeprefix("torture_"), help=summary)
        module.add_options(command)
        command.set_defaults(run=module.run)
    options = parser.parse_args(arguments)
    return int(options.run(options))


if __name__ == "__main__":
    raise SystemExit(main())
