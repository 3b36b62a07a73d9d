"""`einloom einsum EQUATION`: compile it, run it, check it, and show it beside the peers that are installed."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

from einloom.bench.measure import Options, measure_case
from einloom.bench.memory import check_memory
from einloom.bench.peers.contestants import PEERS, chosen_peers
from einloom.bench.report import is_good, make_report
from einloom.cli.sizes import add_equation, positive, sized_case
from einloom.cli.waiting import waiting
from einloom.config import thread_count
from einloom.jit.host import host

__all__ = ["add_parser", "run"]


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the command to argparse's subparsers and return its parser."""
    parser = subparsers.add_parser(
        "einsum",
        description="Compile an einsum for arrays of these sizes, check its result against NumPy in float64, and "
        "measure it beside the other libraries that are installed, each in a process of its own.",
    )
    add_equation(parser)
    parser.add_argument("--threads", type=positive, help="default: EINLOOM_THREADS, OMP_NUM_THREADS or all cores")
    parser.add_argument("--peers", metavar="A,B", help=f"among {', '.join(PEERS)}; default: numpy, and torch if there")
    parser.add_argument("--runs", type=positive, default=5, help="rounds (default: 5)")
    parser.add_argument(
        "--target",
        choices=["cpu", "interpreter"],
        default="cpu",
        help="machine code, or its meaning in NumPy (default: cpu)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Do what the command line asks for; 1 if einloom failed or was wrong, else 0."""
    case = sized_case(arguments.equation, arguments.sizes, arguments.dtype)
    peers, missing = chosen_peers("numpy,torch" if arguments.peers is None else arguments.peers)
    threads = thread_count(arguments.threads, cores=host().cores)
    options = Options(threads, arguments.runs, target=arguments.target)
    check_memory(case, peers, host())
    with waiting(case.equation) as tell:
        row = measure_case(case, peers, options, host(), lambda phase: tell(f"{case.equation}: {phase}"))
    report = make_report("einsum", [row], peers, missing if arguments.peers else [], options, host())
    if arguments.json:
        print(json.dumps(report, indent=1))
    else:
        _draw(report)
    return 0 if is_good(report) else 1


def _draw(report: dict[str, Any]) -> None:
    from rich.table import Table

    from einloom.bench.table import make_console, percent_text, print_table, ratio_text, remarks, time_text

    console, (row,) = make_console(), report["rows"]
    sizes = " ".join(f"{label}={size}" for label, size in row["sizes"].items())
    table = Table(title=f"{row['equation']}   {sizes}   {row['dtype']}", title_justify="left")
    table.add_column("", no_wrap=True)
    for name in ("to compile", "time", row["unit"], f"of {row['ceiling_is']}", "einloom is"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, figures in {"einloom": row["einloom"], **row["peers"]}.items():
        rate = figures["rate"]
        share = percent_text(rate / row["ceiling"] if rate and row["ceiling"] else None)
        compiled = time_text(figures["compile_seconds"])
        shown = f"{rate:.1f}" if rate is not None else "failed"
        table.add_row(name, compiled, time_text(figures["seconds"]), shown, share, ratio_text(figures.get("ratio")))
    print_table(console, table)
    for line in _verdict(row["einloom"]):
        console.print(line)
    for line in remarks(report):
        console.print(line, style="dim")


def _verdict(ours: dict[str, Any]) -> Iterator[str]:
    if ours["problem"]:
        yield f"[bold red]{ours['problem']}[/]"
    else:
        error = "exact" if not ours["error"] else f"largest error {ours['error'] * 100:.2g} % of the tolerance"
        yield f"[green]right[/]: {ours['compared_elements']:,} elements compared with float64, {error}"
