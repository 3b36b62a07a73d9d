"""`einloom show`: what an einsum becomes: steps, passes, loop nest, machine code."""

from __future__ import annotations

import argparse
from typing import Any

from einloom.api import compile
from einloom.cli.sizes import add_equation, positive, sized_case
from einloom.jit.host import host
from einloom.machine import VECTORS

__all__ = ["add_parser", "run"]


def add_parser(subparsers: Any) -> None:
    """Add the command to argparse's subparsers."""
    parser = subparsers.add_parser(
        "show",
        description="Compile an einsum for arrays of these sizes without running it, and print its steps (tree), what "
        "each pass of the optimiser did and why (passes), schedules and loop nests (nest) or the listing (asm).",
    )
    add_equation(parser)
    parser.add_argument("--what", choices=["tree", "passes", "nest", "asm"], default="nest", help="default: nest")
    parser.add_argument("--threads", type=positive, help="default: EINLOOM_THREADS, OMP_NUM_THREADS or all cores")
    isas = [name for name in VECTORS if name != "none"]
    parser.add_argument(
        "--isa", choices=isas, help="for another vector ISA than this machine's best, also a foreign one"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Compile and print; 0."""
    case = sized_case(arguments.equation, arguments.sizes, arguments.dtype)
    target = "cpu" if arguments.isa is None else host().with_vector(arguments.isa)
    shapes = case.shapes[:-1]
    expression = compile(case.equation, *shapes, dtype=case.dtype, threads=arguments.threads, target=target)
    print(expression)
    print(expression.show(arguments.what))
    return 0
