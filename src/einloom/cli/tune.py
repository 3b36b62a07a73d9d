"""`einloom tune EQUATION`: search for a faster schedule of a contraction, and remember it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from einloom.cli.sizes import add_equation, positive, sized_case
from einloom.search.search import Budget
from einloom.search.strategies import STRATEGIES
from einloom.tuning import tune

__all__ = ["add_parser", "run"]


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the command to argparse's subparsers and return its parser; `run` executes it."""
    parser = subparsers.add_parser(
        "tune",
        description="Search for a schedule that is faster here than the heuristic's. What is found is remembered, and "
        "used from then on without being asked for.",
    )
    add_equation(parser)
    parser.add_argument("--budget", type=positive, default=200, help="evaluations (default: 200)")
    parser.add_argument("--seconds", type=float, help="end after so long")
    parser.add_argument("--gap", type=float, help="end once within this share of the best possible, as in 0.05")
    parser.add_argument("--strategy", choices=list(STRATEGIES), default="tag", help="default: tag")
    parser.add_argument("--seed", type=int, default=0, help="default: 0")
    parser.add_argument("--threads", type=positive, help="default: the settings'")
    parser.add_argument("--records", type=Path, help="file or folder of records (default: the user's)")
    parser.add_argument("--no-records", action="store_true", help="read and remember nothing")
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
    case = sized_case(arguments.equation, arguments.sizes, arguments.dtype)
    tuned = tune(
        case.equation,
        *case.shapes[:-1],
        budget=Budget(arguments.budget, arguments.seconds, arguments.gap),
        strategy=arguments.strategy,
        seed=arguments.seed,
        records=False if arguments.no_records else arguments.records,
        threads=arguments.threads,
        dtype=arguments.dtype,
        log=arguments.log,
        progress=not arguments.json,
    )
    if arguments.plot:
        tuned.plot(arguments.plot)
    if arguments.json:
        found = {"best": tuned.best, "heuristic": tuned.heuristic}
        report: dict[str, Any] = {name: {"schedule": str(e.schedule), "times": e.times} for name, e in found.items()}
        report |= {"speedup": tuned.speedup, "evaluations": len(tuned.history), "ended": tuned.run.ended}
        print(json.dumps(report, indent=1))
    else:
        print(tuned)
        if arguments.explain:
            print(f"\n{tuned.explain()}")
    return 0
