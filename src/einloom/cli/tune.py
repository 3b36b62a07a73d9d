"""`einloom tune EQUATION`: search for a faster schedule of a contraction, and remember it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from einloom.cli.sizes import option, parse_sizes, positive, sized_case
from einloom.errors import ArgumentError
from einloom.expression.options import GPU_TARGETS
from einloom.search.on_gpu.result import TunedKernel
from einloom.search.result import Tuned
from einloom.search.search import Budget
from einloom.search.strategies import STRATEGIES
from einloom.space.kernels import KERNELS, kernel
from einloom.tuning import tune, tune_on_gpu

__all__ = ["add_parser", "run"]


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the command to argparse's subparsers and return its parser; `run` executes it."""
    parser = subparsers.add_parser(
        "tune",
        description="Search for a schedule that is faster here than the heuristic's. What is found is remembered, and "
        "used from then on without being asked for.",
    )
    parser.add_argument("problem", nargs="*", help="as for numpy.einsum, 'abc,cd->abd'; with --kernel: m=64 n=64 …")
    parser.add_argument("--sizes", type=parse_sizes, metavar="a=8,b=9", help="the extent of each label of an equation")
    parser.add_argument("--dtype", default="float32", help="default: float32")
    parser.add_argument("--target", choices=["cpu", *GPU_TARGETS], default="cpu", help="where (default: cpu)")
    parser.add_argument("--kernel", choices=list(KERNELS), help="tune a kernel of the paper's on a GPU")
    parser.add_argument("--budget", type=positive, default=200, help="evaluations (default: 200)")
    parser.add_argument("--seconds", type=float, help="end after so long")
    parser.add_argument("--gap", type=float, help="end once within this share of the best possible, as in 0.05")
    parser.add_argument("--strategy", choices=list(STRATEGIES), default="tag", help="default: tag")
    parser.add_argument("--seed", type=int, default=0, help="default: 0")
    parser.add_argument("--threads", type=positive, help="default: the settings'")
    kept = parser.add_mutually_exclusive_group()
    kept.add_argument("--records", type=Path, help="file or folder of records (default: the user's)")
    kept.add_argument("--no-records", action="store_true", help="read and remember nothing")
    parser.add_argument(
        "--log", type=Path, metavar="FILE", help="write what the search does; `einloom replay` reads it"
    )
    parser.add_argument("--explain", action="store_true", help="say why the best is the best")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw times against evaluations")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Search; print what was found."""
    tuned = _tuned(arguments)
    if arguments.plot:
        tuned.plot(arguments.plot)
    if arguments.json:
        found = {"best": tuned.best, "heuristic": tuned.heuristic}
        report: dict[str, Any] = {name: {"schedule": str(e.schedule), "times": e.times} for name, e in found.items()}
        report |= {"speedup": tuned.speedup, "evaluations": len(tuned.history), "ended": tuned.run.ended}
        report |= {"explanation": tuned.explain()} if arguments.explain else {}
        print(json.dumps(report, indent=1))
    else:
        print(tuned)
        if arguments.explain:
            print(f"\n{tuned.explain()}")
    return 0


def _tuned(arguments: argparse.Namespace) -> Tuned | TunedKernel:
    """Search for a schedule of an equation, or for a leaf of a kernel.

    Raises:
        ShapeError: the sizes of an equation are missing.
        ArgumentError: a kernel is to run on a processor, or more or less than one equation is given.
    """
    budget = Budget(arguments.budget, arguments.seconds, arguments.gap)
    records = False if arguments.no_records else arguments.records
    if arguments.kernel:
        if arguments.target == "cpu":
            raise ArgumentError(f"--kernel {arguments.kernel} is for GPUs\n  Add --target opencl, cuda or gpu.")
        _refuse_beside_kernel(arguments, "sizes", "log", "threads")
        options = dict(option(text) for text in arguments.problem)
        made = kernel(arguments.kernel, dtype=arguments.dtype, **options)
        return tune_on_gpu(
            made, arguments.target, budget, arguments.strategy, arguments.seed, records, not arguments.json
        )
    equation, *others = arguments.problem or [""]
    if not equation:
        raise ArgumentError("nothing to tune\n  Give an equation as for numpy.einsum, 'abc,cd->abd', or --kernel.")
    if others:
        raise ArgumentError(
            f"{' '.join(others)} behind the equation {equation}\n"
            "  Give the extent of each label as --sizes a=8,b=9, and quote an equation with spaces."
        )
    case = sized_case(equation, arguments.sizes or {}, arguments.dtype)
    return tune(
        case.equation,
        *case.shapes[:-1],
        budget=budget,
        strategy=arguments.strategy,
        seed=arguments.seed,
        records=records,
        threads=arguments.threads,
        dtype=arguments.dtype,
        log=arguments.log,
        progress=not arguments.json,
        target=arguments.target,
    )


def _refuse_beside_kernel(arguments: argparse.Namespace, *names: str) -> None:
    """Refuse options that say nothing of a kernel on a GPU."""
    given = [name for name in names if getattr(arguments, name) is not None]
    if given:
        raise ArgumentError(f"--{given[0]} is not for --kernel\n  Leave it out; write sizes as m=64.")
