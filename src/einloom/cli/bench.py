"""`einloom bench SUITE`: measure a suite beside peers, print the table, write JSON and a plot."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from einloom.bench.cases import SUITES, load_suite
from einloom.bench.measure import Options, Row, measure_case
from einloom.bench.peers.contestants import PEERS, chosen_peers, restricted_machine
from einloom.bench.plot import draw_plot
from einloom.bench.report import is_good, make_report
from einloom.cli.bench_choice import run_choice
from einloom.cli.bench_elementwise import run_elementwise
from einloom.cli.bench_loops import run_loops
from einloom.cli.bench_progress import figures_of, progress
from einloom.cli.bench_tuned import run_tuned
from einloom.cli.sizes import new_file, positive, seconds
from einloom.dtypes import COMPUTED
from einloom.figures import check_figures
from einloom.jit.host import host

__all__ = ["add_parser", "run"]

ELEMENT_WISE = "elementwise"
"""The suite of kernels that no peer offers by themselves: it is measured beside loads and stores alone."""

LOOPS = "loops"
"""The samples of loops, which are no einsums: torch is a peer that does such work, g++ one that compiles nests."""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the command to argparse's subparsers and return its parser."""
    parser = subparsers.add_parser(
        "bench",
        description="Measure a suite. Peers that are not installed are named and left out. Every contestant works in a "
        "process of its own and takes turns with the others; every result is checked.",
    )
    suites = [*SUITES, ELEMENT_WISE, LOOPS]
    parser.add_argument("suite", choices=suites, metavar="SUITE", help=f"which cases: {', '.join(suites)}")
    parser.add_argument("--peers", default="numpy", metavar="A,B", help=f"among {', '.join(PEERS)} (default: numpy)")
    parser.add_argument("--isa", choices=["avx512", "avx2"], help="put einloom and every peer on this vector ISA")
    parser.add_argument(
        "--dtype", choices=[*COMPUTED], help="type of all arrays of a suite of expressions (default: its own)"
    )
    parser.add_argument("--threads", type=positive, default=1, help="threads of each contestant (default: 1)")
    parser.add_argument("--runs", type=positive, default=5, help="rounds (default: 5)")
    parser.add_argument("--seconds", type=seconds, default=0.05, help="least time of a turn (default: 0.05)")
    parser.add_argument("--cases", default="", metavar="TEXT", help="only cases whose name contains this")
    parser.add_argument(
        "--choice", action="store_true", help="run every proposed schedule, and say how far the chosen one is behind"
    )
    parser.add_argument(
        "--tune", type=positive, metavar="N", help="tune every case by N evaluations, and say what it gains"
    )
    parser.add_argument(
        "--records", type=Path, help="file or folder that keeps what --tune measures, and goes on from it"
    )
    parser.add_argument(
        "--json", type=new_file, metavar="FILE", help="write every figure; - prints JSON instead of the table"
    )
    parser.add_argument("--plot", type=new_file, metavar="FILE", help="draw bars to an image (needs matplotlib)")
    parser.set_defaults(run=run)
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Measure, print and write what the command line asks for.

    Returns:
        130 if Ctrl-C left cases out, else 1 if einloom failed on a case, else 0.
    """
    from einloom.bench.table import draw_report, make_console

    if arguments.suite == ELEMENT_WISE:
        return run_elementwise(arguments.cases, arguments.seconds, arguments.json)
    if arguments.suite == LOOPS:
        each = arguments.cases, arguments.peers, arguments.threads, arguments.runs, arguments.seconds
        return run_loops(*each, arguments.json)
    cases = load_suite(arguments.suite, arguments.cases)
    if arguments.dtype:
        cases = [case.of_type(arguments.dtype) for case in cases]
    if arguments.choice:
        machine = host().with_vector(arguments.isa)
        return run_choice(cases, machine, arguments.runs, arguments.seconds, arguments.json)
    if arguments.tune:
        again = arguments.runs, arguments.seconds
        return run_tuned(cases, arguments.tune, arguments.records, *again, arguments.json)
    peers, missing = chosen_peers(arguments.peers)
    if arguments.plot:
        check_figures()
    machine = restricted_machine(host(), arguments.isa)
    options = Options(arguments.threads, arguments.runs, arguments.seconds, vector=arguments.isa)
    rows: list[Row] = []
    with progress(cases) as under_way:
        for case in under_way:
            rows.append(measure_case(case, peers, options, machine, under_way.tell))
            under_way.done(figures_of(rows[-1], peers))
    if not rows:
        return under_way.code(0)
    left_out = [case.name for case in cases[len(rows) :]]
    report = make_report(arguments.suite, rows, peers, missing, options, machine, left_out)
    if arguments.json == "-":
        print(json.dumps(report, indent=1))
    else:
        draw_report(report, make_console(), " ".join(filter(None, (arguments.suite, arguments.dtype))))
        if arguments.json:
            Path(arguments.json).write_text(json.dumps(report, indent=1) + "\n")
    if arguments.plot:
        draw_plot(report, arguments.plot)
    return under_way.code(0 if is_good(report) else 1)
