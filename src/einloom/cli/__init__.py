"""The command line: which commands there are, and how errors end. One file a command, imported when it is asked for.

Exit codes: 0 all good, 1 a check failed or einloom could not do the work here, 2 the command line or the equation is
wrong, 130 Ctrl-C ended it.
"""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Sequence

from einloom.errors import ArgumentError, DTypeError, EinloomError, EquationError, ScheduleError, ShapeError

__all__ = ["main", "make_parser"]

COMMANDS = {
    "info": ("einloom.cli.info", "what einloom knows about this machine"),
    "einsum": ("einloom.cli.einsum", "compile, run, check and compare one einsum"),
    "show": ("einloom.cli.show", "show what an einsum becomes: steps, passes, loop nest, machine code"),
    "bench": ("einloom.cli.bench", "measure a suite beside other libraries"),
    "tune": ("einloom.cli.tune", "search for a faster schedule of a contraction, and remember it"),
    "tune-loops": ("einloom.cli.tune_loops", "search for the fastest loop string of a blocked product"),
    "records": ("einloom.cli.records", "what searches have remembered"),
    "replay": ("einloom.cli.replay", "rebuild a recorded schedule, and measure it"),
    "space": ("einloom.cli.space", "size, dead ends and open decisions of an implementation space"),
    "bound": ("einloom.cli.bound", "a time that no implementation below a candidate can beat"),
    "paper": ("einloom.cli.paper", "experiments of the paper behind implementation spaces, done again"),
    "cache": ("einloom.cli.cache", "compiled programs that are kept for later processes: where, which, remove them"),
    "demo": ("einloom.cli.demo", "real work, compiled, checked and compared, in under a minute"),
}
"""Command to the module whose `add_parser(subparsers)` makes its parser, and its line of help."""

USAGE_ERRORS = (ArgumentError, EquationError, ShapeError, DTypeError, ScheduleError)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line, of this process by default, and return its exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    _escape_what_cannot_be_printed()
    try:
        parser = make_parser(given)  # It imports the command: Ctrl-C may come here, too.
        if not given:
            parser.print_help(sys.stderr)
            parser.exit(2)
        parsed = parser.parse_args(given)
        code = parsed.run(parsed)
        print(end="", flush=True)  # No method of stdout: it is None if its descriptor was closed before Python began.
        return code
    except EinloomError as error:
        print(f"einloom: {type(error).__name__}: {error}", file=sys.stderr)
        return 2 if isinstance(error, USAGE_ERRORS) else 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        where = "" if error.filename is None else f": {error.filename}"
        print(f"einloom: {error.strerror}{where}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _escape_what_cannot_be_printed() -> None:
    """Print labels of an equation, and signs of tables, as escapes where the terminal has no such characters."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")


def make_parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser for a command line: only the command that it names is imported."""
    parser = argparse.ArgumentParser(
        prog="einloom", description="Tensor expressions to machine code, from Python.", allow_abbrev=False
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    subparsers = parser.add_subparsers(required=True, metavar="command", title="commands")
    chosen = next(iter(arguments), None)
    for name, (module, description) in COMMANDS.items():
        if name != chosen:
            subparsers.add_parser(name, help=description)
        else:
            importlib.import_module(module).add_parser(subparsers)
    return parser


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        import einloom

        print(f"einloom {einloom.__version__}")
        parser.exit()
