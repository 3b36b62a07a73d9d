"""`einloom bound KERNEL`: a time that no implementation below a candidate can beat, as a tree of figures."""

from __future__ import annotations

import argparse
import ast
import json
from pathlib import Path
from typing import Any

from einloom.cli.space import DEFAULT_SIZES, option
from einloom.errors import ScheduleError
from einloom.space import Candidate, Figure, Space
from einloom.space.device import DEVICES
from einloom.space.kernels import KERNELS, kernel

__all__ = ["add_parser", "run"]


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the command to argparse's subparsers and return its parser; `run` executes it."""
    parser = subparsers.add_parser(
        "bound",
        description="Print a time that no implementation below a candidate can beat, and the figures that it follows "
        "from, as a tree. Without decisions the candidate is the whole space.",
    )
    parser.add_argument("kernel", choices=list(KERNELS), help="what is implemented")
    parser.add_argument("sizes", nargs="*", metavar="NAME=VALUE", help="m=1024 n=1024 k=1024 stride_a=32 …")
    parser.add_argument("--device", choices=list(DEVICES), default="k4000", help="the GPU (default: k4000)")
    parser.add_argument(
        "--decide",
        action="append",
        default=[],
        metavar="DECISION=VALUE",
        help="dim_kind(m.1)=THREAD; repeat it",
    )
    parser.add_argument("--candidate", type=Path, help="a file that Candidate.save wrote")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Print the bound of the candidate that the command line names; return the exit status."""
    candidate = _candidate(arguments)
    bound = candidate.bound()
    if arguments.json:
        print(json.dumps({"seconds": bound.seconds, "terms": dict(bound.terms), "tree": _record(bound.explain())}))
        return 0
    print(f"{candidate.space.name} on {candidate.space.device.name}, {len(candidate.open)} decisions open")
    print(bound.explain())
    return 0


def _candidate(arguments: argparse.Namespace) -> Candidate:
    options = dict(DEFAULT_SIZES[arguments.kernel]) | dict(option(text) for text in arguments.sizes)
    space = Space(kernel(arguments.kernel, **options), DEVICES[arguments.device])
    start = space.load(arguments.candidate) if arguments.candidate else space.root
    return start.apply(dict(_decision(text) for text in arguments.decide))


def _decision(text: str) -> tuple[str, str | int]:
    name, equals, value = text.rpartition("=")
    if not equals:
        raise ScheduleError(f"{text!r} is no decision\n  Write DECISION=VALUE, as in dim_kind(m.1)=THREAD.")
    try:
        return name, int(ast.literal_eval(value))
    except (ValueError, SyntaxError, TypeError):
        return name, value


def _record(figure: Figure) -> dict[str, Any]:
    record: dict[str, Any] = {"name": figure.name, "value": figure.value}
    if figure.parts:
        record |= {"rule": figure.rule, "parts": [_record(each) for each in figure.parts]}
    return record
