"""`einloom demo`: real work in under a minute: compiled, checked, and measured beside the libraries that are there."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from einloom.bench.cases import Case
from einloom.bench.measure import Options, Row, measure_case
from einloom.bench.peers.contestants import chosen_peers
from einloom.bench.report import is_good, make_report
from einloom.cli.sizes import positive
from einloom.frozen import frozen
from einloom.jit.host import host
from einloom.machine import Machine

__all__ = ["SCENES", "add_parser", "called_as", "run"]


@frozen
class Scene:
    """One piece of work, and what it is in the words of those who need it."""

    about: str
    case: Case


def _scene(about: str, equation: str, **sizes: int) -> Scene:
    return Scene(about, Case.contraction(equation, sizes))


SCENES = (
    _scene("a matrix product, of a size that no block divides", "mk,kn->mn", m=1009, k=1009, n=1009),
    _scene("attention scores of 48 heads", "bhqd,bhkd->bhqk", b=4, h=12, q=256, k=256, d=64),
    _scene("coupled clusters, the term that dominates", "ijcd,abcd->ijab", i=16, j=16, a=48, b=48, c=48, d=48),
    _scene("a tensor contraction of the TCCG benchmark", "dega,gfbc->abcdef", a=16, b=16, c=20, d=20, e=20, f=20, g=24),
    _scene("a gate on two sites of a tensor network", "apb,bqc,pqst->astc", a=128, b=128, c=128, p=4, q=4, s=4, t=4),
    _scene("a permutation of four axes", "abcd->cdab", a=48, b=64, c=48, d=64),
)


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the command to argparse's subparsers and return its parser."""
    parser = subparsers.add_parser(
        "demo", description="Compile, check and time five contractions and a permutation beside NumPy."
    )
    parser.add_argument("--threads", type=positive, default=1, help="threads of each contestant (default: 1)")
    parser.set_defaults(run=run)
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Run the scenes and print what happens; 1 if a result was wrong, else 0."""
    from einloom.bench.table import draw_report, make_console

    console, machine, begin = make_console(), host(), time.perf_counter()
    threads = arguments.threads
    console.print(_greeting(machine, threads))
    peers, _ = chosen_peers("numpy,torch")
    options = Options(threads, runs=3, seconds=0.1)
    rows: list[Row] = []
    for number, scene in enumerate(SCENES, 1):
        with console.status(f"{number} of {len(SCENES)}: {scene.about}"):
            rows.append(measure_case(scene.case, peers, options, machine))
        console.print(_line(scene, rows[-1]))
    report = make_report("demo", rows, peers, [], options, machine)
    console.print()
    draw_report(report, console, "What this machine did just now")
    console.print(_farewell(report, time.perf_counter() - begin))
    return 0 if is_good(report) else 1


def _greeting(machine: Machine, threads: int) -> str:
    return (
        f"\n[bold]einloom[/] on {machine.name}, {machine.vector}, {threads} thread{'s' * (threads > 1)}\n\n"
        "Python now writes machine code for each of these, for exactly these sizes. Every result is checked against\n"
        "float64 arithmetic, then einloom and its peers take turns, each in a process of its own.\n"
    )


def _line(scene: Scene, row: Row) -> str:
    ours, case = row.ours, scene.case
    if not ours.usable:
        return f"[bold red]✗[/] {case.equation:20} {scene.about}: failed"
    rate = f"{case.amount / ours.median / 1e9:.1f} {case.unit}"
    compiled = f"compiled in {(ours.compile_seconds or 0.0) * 1e3:.0f} ms"
    return f"[bold green]✓[/] [cyan]{case.equation:20}[/] {scene.about:52} {compiled:19} {rate:>14}"


def _farewell(report: dict[str, Any], seconds: float) -> str:
    rows = report["rows"]
    wrong = [row["case"] for row in rows if row["einloom"]["problem"]]
    compiled = sum(row["einloom"]["compile_seconds"] or 0.0 for row in rows) * 1e3
    verdict = f"[bold red]failed: {', '.join(wrong)}[/]" if wrong else "[bold green]All results are right.[/]"
    return (
        f"\n{verdict} {len(rows)} expressions became machine code in {compiled:.0f} ms together, and no compiler was "
        f"needed. This took {seconds:.0f} s.\n\nGo on with your own:\n"
        f'  {called_as()} einsum "abc,cd->abd" --sizes a=80,b=90,c=100,d=110\n'
        f'  {called_as()} show   "abc,cd->abd" --sizes a=80,b=90,c=100,d=110 --what nest'
    )


def called_as() -> str:
    """Return how a shell calls the command line here: `make demo` leaves it where no shell looks by itself."""
    if shutil.which("einloom"):
        return "einloom"
    called = Path(sys.argv[0])
    return str(called) if called.name == "einloom" else "python -m einloom"
