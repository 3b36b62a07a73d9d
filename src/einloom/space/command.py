"""`einloom space KERNEL`: the size of a space, its dead ends and its nodes by depth, beside the paper's figures."""

from __future__ import annotations

import argparse
import ast
import json
from dataclasses import dataclass
from typing import Any

from einloom.errors import ScheduleError
from einloom.space.candidate import Space
from einloom.space.device import DEVICES
from einloom.space.estimate import Estimate, dead_end_ratio, estimate
from einloom.space.kernels import KERNELS

__all__ = ["PAPER", "PaperRow", "add_parser", "run"]


@dataclass(frozen=True, slots=True)
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
}


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the command to argparse's subparsers and return its parser; `run` executes it."""
    parser = subparsers.add_parser("space", help="size, dead ends and open decisions of an implementation space")
    parser.add_argument("kernel", choices=list(KERNELS))
    parser.add_argument("sizes", nargs="*", metavar="NAME=VALUE", help="m=1024 n=1024 k=1024 stride_a=32 …")
    parser.add_argument("--device", choices=list(DEVICES), default="k4000", help="limits of the GPU")
    parser.add_argument("--estimate", choices=["exact", "knuth", "chen"], help="measure the size")
    parser.add_argument("--samples", type=int, help="how many samples the estimator averages")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dead-ends", action="store_true", help="measure how often a random descent fails")
    parser.add_argument("--order", help="groups of decisions, as in size,dim_kind,order")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Print what the command line asks for; return the exit status."""
    options = dict(DEFAULT_SIZES[arguments.kernel]) | dict(_option(text) for text in arguments.sizes)
    space = _space(arguments, options)
    found = None
    if arguments.estimate:
        found = estimate(space, arguments.estimate, arguments.samples, arguments.seed, progress=not arguments.json)
    dead = None
    if arguments.dead_ends:
        dead = dead_end_ratio(space, arguments.samples or 1000, arguments.seed, progress=not arguments.json)
    paper = PAPER.get((arguments.kernel, tuple(sorted((k, v) for k, v in options.items() if isinstance(v, int)))))
    print(
        json.dumps(_record(space, found, dead, paper), indent=1)
        if arguments.json
        else _table(space, found, dead, paper)
    )
    return 0


def _option(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ScheduleError(f"{text!r} is no option of a kernel\n  Write NAME=VALUE, as in m=1024.")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def _space(arguments: argparse.Namespace, options: dict[str, Any]) -> Space:
    from einloom.space import gpu

    space = gpu(arguments.kernel, device=DEVICES[arguments.device], **options)
    if not arguments.order:
        return space
    groups = tuple(group.strip() for group in arguments.order.split(","))
    return Space(space.name, space.kernel, space.device, groups)


def _record(
    space: Space, found: Estimate | None, dead: tuple[float, float] | None, paper: PaperRow | None
) -> dict[str, Any]:
    root = space.root
    record: dict[str, Any] = {
        "space": space.name,
        "device": space.device.name,
        "order": list(space.order),
        "instructions": len(space.backbone.instructions),
        "dimensions": len(space.backbone.dimensions),
        "open_decisions": len(root.open),
    }
    if found:
        record["estimate"] = {
            "method": found.method,
            "samples": found.samples,
            "size": found.size,
            "interval": list(found.interval),
            "nodes_per_depth": list(found.nodes_per_depth),
        }
    ratio = dead or ((found.dead_ends, None) if found and found.dead_ends is not None else None)
    if ratio:
        record["dead_ends"] = {"ratio": ratio[0], "half_interval": ratio[1]}
    if paper:
        record["paper"] = {"size": paper.size, "dead_ends": paper.dead_ends, "nodes_at_depth_10": paper.nodes}
    return record


def _table(space: Space, found: Estimate | None, dead: tuple[float, float] | None, paper: PaperRow | None) -> str:
    lines = [repr(space), "order of decisions: " + ", ".join(space.order)]
    if not found and not dead:
        return "\n".join([*lines, repr(space.root)])
    rows = [("", "here", "paper")]
    if found:
        half = (found.interval[1] - found.interval[0]) / 2
        rows.append(("implementations", f"{found.size:.3g} ± {half:.2g}", f"{paper.size:.3g}" if paper else ""))
        if len(found.nodes_per_depth) > 10:
            nodes = f"{found.nodes_per_depth[10]:,.0f}"
            rows.append(("nodes at depth 10", nodes, f"{paper.nodes:,}" if paper else ""))
    if dead is None and found and found.dead_ends is not None:
        dead = (found.dead_ends, 0.0)
    if dead:
        share = f"{100 * dead[0]:.2g} % ± {100 * dead[1]:.2g}"
        rows.append(("dead ends", share, f"{100 * paper.dead_ends:.2g} %" if paper else ""))
    return "\n".join([*lines, *(f"  {name:20} {here:>24} {there:>12}" for name, here, there in rows)])
