"""`einloom paper table2|table3|orders|device|cpu`: experiments of the paper behind the spaces, done again.

Ollivier and others, sections 5.2 to 5.5: the sizes of four spaces and how often random descents end dead; what the
bound leaves of them; and what the order of decisions does to it. The GPU is the paper's, by its data sheet. `device`
searches in the same kernels on the device at hand, and says how fast what was found is beside cuBLAS or the naive
kernel; `cpu` does so on the processor, beside NumPy.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from math import inf
from typing import Any

from einloom.cli import cpu_table
from einloom.cli.device_table import HEADER, device_row
from einloom.cli.sizes import positive
from einloom.errors import ArgumentError
from einloom.frozen import frozen
from einloom.space.candidate import Space
from einloom.space.cutting import descents, nodes_left, share_left
from einloom.space.descent import PAPER_ORDER
from einloom.space.device import K4000
from einloom.space.kernels import kernel
from einloom.space.sampling import Estimate, estimate

__all__ = ["add_parser", "run"]

LAUNCH = 5e-6
"""Seconds that a launch takes, as is assumed: the paper's times hold it, and its cuts do not."""

LEVELS = 10
"""Decisions whose nodes are cut."""

MANY, DEEPEST = 1e5, 24
"""Nodes from which on section 5.5 looks at a depth, and where it is looked for."""


@frozen
class Row:
    """A row of Tables 2 and 3.

    Attributes:
        name: of the kernel; sizes: its options.
        best: the paper's best time, in seconds.
        size, dead_ends: of the space, there.
        size_cut, nodes_left: how many times smaller the cut made the space, and the share of nodes left at depth 10.
    """

    name: str
    sizes: dict[str, int]
    best: float
    size: float
    dead_ends: float
    size_cut: float
    nodes_left: float

    @property
    def title(self) -> str:
        """What the paper calls it."""
        return f"{self.name}({', '.join(f'{name}={value}' for name, value in self.sizes.items())})"


ROWS = (
    Row("axpy", {"n": 2**26}, 7.05e-3, 1.1e11, 0.001, 3800, 0.0014),
    Row("matmul", {"m": 256, "n": 256, "k": 32}, 34.2e-6, 1.83e21, 0.14, 520, 0.15),
    Row("matmul", {"m": 1024, "n": 1024, "k": 1024}, 4.81e-3, 3.5e21, 0.028, 3700, 0.04),
    Row("matmul", {"m": 1024, "n": 1024, "k": 1024, "stride_a": 32}, 10.1e-3, 6.0e20, 0.023, 740, 0.07),
)


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the command to argparse's subparsers and return its parser; `run` executes it."""
    parser = subparsers.add_parser(
        "paper",
        description="Do experiments of the paper again: sizes and dead ends of its spaces (table2), what its best "
        "times cut of them (table3), what the order of decisions does to that (orders), and how fast kernels become "
        "that are found on the device at hand (device), or on its processor (cpu).",
    )
    parser.add_argument("experiment", choices=list(EXPERIMENTS), help="which")
    parser.add_argument("--rows", default="0,1,2,3", help="which rows of the tables (default: 0,1,2,3)")
    parser.add_argument("--samples", type=positive, default=200, help="descents (default: 200)")
    parser.add_argument(
        "--method", choices=["knuth", "chen"], default="knuth", help="of table2; chen takes a twentieth of the samples"
    )
    parser.add_argument("--processes", type=positive, default=1, help="that draw the samples of table2 (default: 1)")
    parser.add_argument("--kind", choices=["opencl", "cuda", "gpu"], default="gpu", help="of device (default: gpu)")
    parser.add_argument("--budget", type=positive, default=100, help="evaluations of a search (default: 100)")
    parser.add_argument("--searches", type=positive, default=4, help="how many, each with a seed of its own")
    parser.add_argument("--shrink", type=positive, default=1, help="divide the sizes by this, for small devices")
    parser.add_argument("--seed", type=int, default=0, help="default: 0")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Do an experiment on the rows that are asked for."""
    if arguments.processes > 1 and arguments.experiment != "table2":
        raise ArgumentError("--processes draw the samples of table2\n  Leave it out.")
    rows = _rows(arguments.rows)
    header, measure = EXPERIMENTS[arguments.experiment]
    if not arguments.json:
        print(header)
    for row in rows:
        for line, record in measure(row, arguments):
            print(json.dumps(record) if arguments.json else line, flush=True)
    return 0


def _rows(text: str) -> list[Row]:
    places = {str(place): row for place, row in enumerate(ROWS)}
    try:
        return [places[each.strip()] for each in text.split(",")]
    except KeyError:
        raise ArgumentError(
            f"--rows {text}: the tables have the rows {', '.join(places)}\n  Give some of them, with commas between."
        ) from None


Lines = Sequence[tuple[str, dict[str, Any]]]


def _table2(row: Row, arguments: argparse.Namespace) -> Lines:
    found = _estimate(row, arguments)
    line = (
        f"| {row.title} | {found.size:.3g}{found.factors} | {row.size:.3g} | {100 * found.dead_ends:.2g} % | "
        f"{100 * row.dead_ends:.2g} % |"
    )
    return [(line, {"row": row.title, **asdict(found)})]


def _table3(row: Row, arguments: argparse.Namespace) -> Lines:
    """Cut the first ten levels at the paper's best time, and at that less a launch."""
    found, lines = descents(_space(row), arguments.samples, arguments.seed), list[tuple[str, dict[str, Any]]]()
    for cut, launch in ((row.best, "with"), (row.best - LAUNCH, "without")):
        kept, (low, high) = share_left(found, LEVELS, cut, arguments.seed)
        share = nodes_left(found, LEVELS, cut) / nodes_left(found, LEVELS)
        line = (
            f"| {row.title} | {1e3 * cut:.4g} ms, {launch} launch | {_times(kept)} ({_times(high)} to {_times(low)}) | "
            f"{row.size_cut:g}x | {100 * share:.2g} % | {100 * row.nodes_left:.2g} % |"
        )
        record = {"row": row.title, "cut": cut, "leaves_left": kept, "interval": (low, high), "nodes_left": share}
        lines.append((line, record))
    return lines


def _times(share: float) -> str:
    """How many times smaller what is left is."""
    return f"{1 / share:,.3g}x" if share else "more"


def _orders(row: Row, arguments: argparse.Namespace) -> Lines:
    """Compare what is left at the first depth with many nodes, in the paper's order of decisions and in the reverse."""
    lines = list[tuple[str, dict[str, Any]]]()
    for name, order in (("default", PAPER_ORDER), ("reversed", tuple(reversed(PAPER_ORDER)))):
        found = descents(_space(row), arguments.samples, arguments.seed, DEEPEST, order, whole=False)
        depth = next(depth for depth in range(DEEPEST) if nodes_left(found, depth) > MANY)
        before, after = nodes_left(found, depth), nodes_left(found, depth, row.best)
        factor = before / after if after else inf
        pruned = f"{factor:.3g}x" if after else "all that was seen"
        line = f"| {row.title} | {name} | {depth} | {before:,.0f} | {after:,.0f} | {pruned} |"
        lines.append((line, {"row": row.title, "order": list(order), "depth": depth, "pruned": factor}))
    return lines


def _on_device(row: Row, arguments: argparse.Namespace) -> Lines:
    sizes = {n: size if n == "stride_a" else max(size // arguments.shrink, 1) for n, size in row.sizes.items()}
    found = device_row(kernel(row.name, **sizes), arguments.kind, arguments.budget, arguments.searches, arguments.seed)
    return [(found.line(), found.to_json())]


def _on_cpu(row: Row, arguments: argparse.Namespace) -> Lines:
    found = cpu_table.cpu_row(row.title, arguments.samples, arguments.budget, arguments.searches, arguments.seed)
    return [(found.line(), found.to_json())]


EXPERIMENTS = {
    "table2": ("| space | size | paper | dead ends | paper |\n| --- | --- | --- | --- | --- |", _table2),
    "table3": (
        "| space | cut at | size cut | paper | nodes left at depth 10 | paper |\n| --- | --- | --- | --- | --- | --- |",
        _table3,
    ),
    "device": (HEADER, _on_device),
    "cpu": (cpu_table.HEADER, _on_cpu),
    "orders": (
        "| space | order | depth | nodes | left | pruned |\n| --- | --- | --- | --- | --- | --- |",
        _orders,
    ),
}


def _estimate(row: Row, arguments: argparse.Namespace) -> Estimate:
    samples = arguments.samples if arguments.method == "knuth" else max(arguments.samples // 20, 2)
    return estimate(_space(row), arguments.method, samples, arguments.seed, processes=arguments.processes)


def _space(row: Row) -> Space:
    return Space(kernel(row.name, **row.sizes), K4000)
