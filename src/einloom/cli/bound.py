"""`einloom bound KERNEL`: a time that no implementation below a candidate can beat, as a tree of figures.

With an equation and `--sizes` in place of a kernel the candidate is a set of schedules for this machine.
"""

from __future__ import annotations

import argparse
import ast
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from einloom.cli.sizes import option, parse_sizes, sized_case
from einloom.cli.space import DEFAULT_SIZES
from einloom.errors import ArgumentError, ScheduleError
from einloom.jit.host import host
from einloom.search.limits import known_limits, limits_beside
from einloom.search.records import chosen_file
from einloom.space import Candidate, CpuCandidate, CpuSpace, Figure, Space, cpu
from einloom.space.device import DEVICES
from einloom.space.kernels import KERNELS, kernel
from einloom.space.on_cpu.rates import MARGIN

__all__ = ["add_parser", "run"]


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the command to argparse's subparsers and return its parser; `run` executes it."""
    parser = subparsers.add_parser(
        "bound",
        description="Print a time that no implementation below a candidate can beat, and the figures that it follows "
        "from, as a tree. Without decisions the candidate is the whole space.",
    )
    parser.add_argument("kernel", help=f"what is implemented on a GPU: {', '.join(KERNELS)}; or an equation")
    parser.add_argument(
        "options", nargs="*", metavar="NAME=VALUE", help="of a kernel: m=1024 n=1024 k=1024 stride_a=32 …"
    )
    parser.add_argument("--sizes", type=parse_sizes, metavar="a=8,b=9", help="of an equation: the extent of each label")
    parser.add_argument("--dtype", choices=["float32", "float64"], help="of an equation (default: float32)")
    parser.add_argument("--device", choices=list(DEVICES), help="the GPU of a kernel (default: k4000)")
    parser.add_argument(
        "--decide",
        action="append",
        default=[],
        metavar="DECISION=VALUE",
        help="dim_kind(m.1)=THREAD; repeat it",
    )
    parser.add_argument("--candidate", type=Path, help="a file that Candidate.save wrote, of a kernel")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Print the bound of the candidate that the command line names; return the exit status."""
    candidate = _candidate(arguments)
    bound, where = candidate.bound(), _where(candidate)
    if arguments.json:
        print(json.dumps({"seconds": bound.seconds, "terms": dict(bound.terms), "tree": _record(bound.explain())}))
        return 0
    print(f"{candidate.space.name} on {where}, {len(candidate.open)} decisions open")
    print(bound.explain())
    return 0


def _candidate(arguments: argparse.Namespace) -> Candidate | CpuCandidate:
    decisions = dict(_decision(text) for text in arguments.decide)
    _check_kind(arguments)
    if arguments.sizes:
        return _cpu_space(arguments).root.apply(decisions)
    if arguments.kernel not in KERNELS:
        raise ScheduleError(
            f"there is no kernel called {arguments.kernel!r}\n  known: {', '.join(KERNELS)}; an equation needs --sizes."
        )
    options = dict(DEFAULT_SIZES[arguments.kernel]) | dict(option(text) for text in arguments.options)
    space = Space(kernel(arguments.kernel, **options), DEVICES[arguments.device or "k4000"])
    start = space.load(arguments.candidate) if arguments.candidate else space.root
    return start.apply(decisions)


def _check_kind(arguments: argparse.Namespace) -> None:
    """Refuse what is of a kernel beside an equation, and the other way round."""
    of_kernels = {"NAME=VALUE": arguments.options, "--device": arguments.device, "--candidate": arguments.candidate}
    others = of_kernels if arguments.sizes else {"--dtype": arguments.dtype}
    kind = "an equation, which runs on this machine" if arguments.sizes else "a kernel"
    for name, value in others.items():
        if value:
            raise ArgumentError(f"{name} says nothing about {kind}\n  Leave it out.")


def _cpu_space(arguments: argparse.Namespace) -> CpuSpace:
    """Return the space of an equation's schedules on this machine, by its limits as far as they are known."""
    dtype, machine, records = arguments.dtype or "float32", host(), chosen_file()
    case = sized_case(arguments.kernel, arguments.sizes, dtype)
    known = known_limits(limits_beside(records), machine) if records else None
    space = cpu(case.equation, *case.shapes[:-1], dtype=dtype, machine=machine)
    return space if known is None else replace(space, rates=known.times(MARGIN))


def _where(candidate: Candidate | CpuCandidate) -> str:
    space = candidate.space
    return space.machine.name if isinstance(space, CpuSpace) else space.device.name


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
