"""`einloom space KERNEL`: the size of a space, its dead ends and its nodes by depth, beside the paper's figures."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from math import inf
from typing import Any

from einloom.cli.leaf import add_arguments, check_asked, show_leaf
from einloom.cli.sizes import option, positive
from einloom.errors import ArgumentError
from einloom.frozen import frozen
from einloom.space.candidate import Space
from einloom.space.descent import PAPER_ORDER
from einloom.space.device import DEVICES
from einloom.space.kernels import KERNELS, kernel
from einloom.space.model.bound import Bound
from einloom.space.on_gpu.fragments import fitted
from einloom.space.sampling import Estimate, dead_end_ratio, estimate, nodes_at_depth

__all__ = ["DEFAULT_SIZES", "PAPER", "PaperRow", "Report", "add_parser", "run"]


@frozen
class PaperRow:
    """A row of the paper's Tables 2 and 3: size, dead ends (a share), nodes at depth 10 without a bound."""

    size: float
    dead_ends: float
    nodes: int


PAPER: dict[tuple[str, tuple[tuple[str, int], ...]], PaperRow] = {
    ("axpy", (("n", 2**26),)): PaperRow(1.1e11, 0.001, 86_587),
    ("matmul", (("k", 32), ("m", 256), ("n", 256))): PaperRow(1.83e21, 0.14, 134_060),
    ("matmul", (("k", 1024), ("m", 1024), ("n", 1024))): PaperRow(3.5e21, 0.028, 161_980),
    ("matmul", (("k", 1024), ("m", 1024), ("n", 1024), ("stride_a", 32))): PaperRow(6.0e20, 0.023, 142_780),
}
"""Tables 2 and 3 of the paper, by kernel and sizes (its last row is the strided matmul)."""

DEFAULT_SIZES: dict[str, dict[str, int]] = {
    "axpy": {"n": 2**26},
    "mv": {"m": 1024, "n": 1024},
    "gesummv": {"m": 1024, "n": 1024},
    "matmul": {"m": 1024, "n": 1024, "k": 1024},
    "batch_matmul": {"b": 64, "m": 128, "n": 128, "k": 128},
    "doitgen": {"r": 64, "q": 128, "p": 128, "s": 128},
    "chain": {"m": 1024, "n": 64, "k": 64, "l": 1024},
}


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the command to argparse's subparsers and return its parser; `run` executes it."""
    parser = subparsers.add_parser(
        "space",
        description="Print the open decisions of the space of a kernel's GPU implementations; on request its estimated "
        "size, its dead ends and its nodes, beside the paper's figures where there are any.",
    )
    parser.add_argument("kernel", choices=list(KERNELS), help="what is implemented")
    parser.add_argument("sizes", nargs="*", metavar="NAME=VALUE", help="m=1024 n=1024 k=1024 stride_a=32 …")
    parser.add_argument(
        "--device",
        choices=list(DEVICES),
        default="k4000",
        help="limits of the GPU (default: k4000; with --run the device itself)",
    )
    parser.add_argument("--estimate", choices=["exact", "knuth", "chen"], help="measure the size")
    parser.add_argument("--samples", type=positive, help="how many samples the estimator averages")
    parser.add_argument("--processes", type=positive, default=1, help="that draw the samples (default: 1)")
    parser.add_argument("--seed", type=int, default=0, help="the same seed gives the same figures (default: 0)")
    parser.add_argument("--dead-ends", action="store_true", help="measure how often a random descent fails")
    parser.add_argument("--descents", type=positive, default=1000, help="how many descents that takes (default: 1000)")
    parser.add_argument("--depth", type=int, help="count the nodes after this many decisions, all of them")
    parser.add_argument("--order", help="groups of decisions, as in size,dim_kind,order")
    parser.add_argument("--cut", type=float, help="seconds: leave out what a bound shows to be no faster")
    parser.add_argument("--cut-levels", type=int, default=10, help="decisions after which nothing is cut (default 10)")
    parser.add_argument("--bound", action="store_true", help="print a time that no implementation can beat")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_arguments(parser)
    parser.set_defaults(run=run)
    return parser


@frozen
class Report:
    """What one call measured.

    Attributes:
        space: the space.
        estimate: its size, if asked for.
        dead_ends: share of descents that fail and half its 95 % interval, if known.
        nodes: a depth and the number of nodes there, if counted.
        paper: the paper's figures for the same kernel and sizes.
        bound: a time that no implementation can beat, if asked for.
    """

    space: Space
    estimate: Estimate | None
    dead_ends: tuple[float, float] | None
    nodes: tuple[int, int] | None
    paper: PaperRow | None
    bound: Bound | None = None


def run(arguments: argparse.Namespace) -> int:
    """Print what the command line asks for; return the exit status."""
    options = dict(DEFAULT_SIZES[arguments.kernel]) | dict(option(text) for text in arguments.sizes)
    check_asked(arguments)
    _check_measured(arguments)
    if arguments.show or arguments.device_kind:
        show_leaf(_space(arguments, options), arguments)
        return 0
    report = _measure(arguments, options)
    print(json.dumps(_record(report), indent=1) if arguments.json else _table(report))
    return 0


def _check_measured(arguments: argparse.Namespace) -> None:
    """Refuse what would have no effect."""
    if arguments.samples is not None and not arguments.estimate:
        raise ArgumentError("--samples is of an estimate\n  Say --estimate knuth or chen, too.")
    if arguments.processes > 1 and arguments.estimate not in ("knuth", "chen"):
        raise ArgumentError("--processes draw samples\n  Say --estimate knuth or chen, too.")
    if arguments.cut is not None and not arguments.estimate and arguments.depth is None:
        raise ArgumentError("--cut leaves out nodes that are counted\n  Say --estimate or --depth, too.")


def _measure(arguments: argparse.Namespace, options: dict[str, Any]) -> Report:
    space, shown = _space(arguments, options), not arguments.json
    found = dead = nodes = None
    if arguments.estimate:
        found = estimate(
            space,
            arguments.estimate,
            arguments.samples,
            arguments.seed,
            cut=_cut(arguments),
            cut_levels=arguments.cut_levels,
            processes=arguments.processes,
            progress=shown,
        )
        dead = found.dead_ends, found.dead_ends_half
    if arguments.dead_ends:
        dead = dead_end_ratio(space, arguments.descents, arguments.seed, progress=shown)
    if arguments.depth is not None:
        nodes = arguments.depth, nodes_at_depth(space, arguments.depth, cut=_cut(arguments))
    sizes = tuple(sorted((name, value) for name, value in options.items() if isinstance(value, int)))
    bound = space.root.bound() if arguments.bound else None
    return Report(space, found, dead, nodes, PAPER.get((arguments.kernel, sizes)), bound)


def _cut(arguments: argparse.Namespace) -> float:
    return inf if arguments.cut is None else arguments.cut


def _space(arguments: argparse.Namespace, options: dict[str, Any]) -> Space:
    groups = tuple(group.strip() for group in arguments.order.split(",")) if arguments.order else PAPER_ORDER
    made = kernel(arguments.kernel, **options)
    space = Space(made, fitted(DEVICES[arguments.device], made), groups)
    space.slots()
    return space


def _record(report: Report) -> dict[str, Any]:
    space, found, paper = report.space, report.estimate, report.paper
    record: dict[str, Any] = {
        "space": space.name,
        "device": space.device.name,
        "order": list(space.order),
        "instructions": len(space.backbone.instructions),
        "dimensions": len(space.backbone.dimensions),
        "open_decisions": len(space.root.open),
    }
    if found:
        record["estimate"] = {
            "method": found.method,
            "samples": found.samples,
            "size": found.size,
            "interval": list(found.interval),
            "nodes_per_depth": list(found.nodes_per_depth),
        }
    if report.dead_ends:
        record["dead_ends"] = {"ratio": report.dead_ends[0], "half_interval": report.dead_ends[1]}
    if report.nodes:
        record["nodes"] = {"depth": report.nodes[0], "count": report.nodes[1]}
    if report.bound:
        record["bound"] = {"seconds": report.bound.seconds, "terms": dict(report.bound.terms)}
    if paper:
        record["paper"] = {"size": paper.size, "dead_ends": paper.dead_ends, "nodes_at_depth_10": paper.nodes}
    return record


def _table(report: Report) -> str:
    lines = [repr(report.space), "order of decisions: " + ", ".join(report.space.order)]
    rows = list(_rows(report))
    if not rows:
        return "\n".join([*lines, repr(report.space.root)])
    rows.insert(0, ("", "here", "paper"))
    return "\n".join([*lines, *(f"  {name:22} {here:>24} {there:>12}" for name, here, there in rows)])


def _rows(report: Report) -> Iterator[tuple[str, str, str]]:
    """Yield the rows of the table: what, here, in the paper."""
    found, paper = report.estimate, report.paper
    if found:
        yield "implementations", f"{found.size:.3g}{found.factors}", f"{paper.size:.3g}" if paper else ""
        if len(found.nodes_per_depth) > 10 and not report.nodes:
            yield "nodes at depth 10", f"{found.nodes_per_depth[10]:,.0f}", f"{paper.nodes:,}" if paper else ""
    if report.nodes:
        known = f"{paper.nodes:,}" if paper and report.nodes[0] == 10 else ""
        yield f"nodes at depth {report.nodes[0]}", f"{report.nodes[1]:,}", known
    if report.bound:
        yield "nothing is faster than", f"{1e3 * report.bound.seconds:.4g} ms", ""
    if report.dead_ends:
        ratio, half = report.dead_ends
        yield "dead ends", f"{100 * ratio:.2g} % ± {100 * half:.2g}", f"{100 * paper.dead_ends:.2g} %" if paper else ""
