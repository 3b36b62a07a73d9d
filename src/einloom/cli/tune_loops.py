"""`einloom tune-loops`: measure loop strings for a blocked matrix product, and print the best."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from einloom.loop_tuning import BlockedProduct, StringTrial, tune_loops

__all__ = ["add_parser", "run"]

SHOWN = 5


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the command to argparse's subparsers and return its parser; `run` executes it."""
    parser = subparsers.add_parser(
        "tune-loops",
        description="Measure loop strings for C = A B in blocks (loops a = K, b = M, c = N), within a budget.",
    )
    for name in ("m", "n", "k"):
        parser.add_argument(name, type=int, help="a size of the product")
    parser.add_argument("--blocks", nargs=3, type=int, default=(32, 32, 32), metavar=("BM", "BN", "BK"))
    parser.add_argument("--parts", type=int, default=1, help="into how many parts the sum is cut (default: 1)")
    parser.add_argument("--strings", default="a_0_K,b_1_M,c_1_N", help="letter_blockings_kind of each loop")
    parser.add_argument("--strategy", choices=("exhaustive", "random", "best-first"), default="best-first")
    parser.add_argument("--evaluations", type=int, default=50, help="most strings that are measured (default: 50)")
    parser.add_argument("--seconds", type=float, default=60.0, help="most seconds (default: 60)")
    parser.add_argument("--threads", type=int, help="threads of each loop; the settings' if it is left out")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--record", type=Path, help="a file of JSON lines: what it holds is not measured again")
    parser.set_defaults(run=run)
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Tune, with a line of progress; return the exit status: 1 if no string could be measured."""
    from rich.console import Console

    m, n, k = arguments.m, arguments.n, arguments.k
    product = BlockedProduct(m, n, k, *arguments.blocks, parts=arguments.parts)
    with Console(stderr=True).status("strings are ranked") as status:

        def progress(number: int, best: StringTrial) -> None:
            status.update(f"{number} measured; best {_figures(product, best)}")

        trials = tune_loops(
            product,
            arguments.strings,
            strategy=arguments.strategy,
            evaluations=arguments.evaluations,
            seconds=arguments.seconds,
            threads=arguments.threads,
            seed=arguments.seed,
            record=arguments.record,
            progress=progress,
        )
    print(f"{len(trials)} strings measured; the best:")
    for trial in trials[:SHOWN]:
        print(f"  {_figures(product, trial)}")
    return int(not trials or trials[0].seconds is None)


def _figures(product: BlockedProduct, trial: StringTrial) -> str:
    if trial.seconds is None:
        return f"{trial.string}: {trial.status}"
    rate = 2e-9 * product.m * product.n * product.k / trial.seconds
    guess = "" if trial.predicted is None else f", {1e3 * trial.predicted:.3f} predicted"
    threads = f"{trial.threads} thread" + "s" * (trial.threads > 1)
    return f"{trial.string}: {rate:.1f} GFLOP/s, {1e3 * trial.seconds:.3f} ms{guess}, {threads}"
