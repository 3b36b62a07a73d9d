"""What `einloom bench loops` prints and writes."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial
from importlib.util import find_spec
from math import exp, log
from pathlib import Path
from typing import Any

from einloom.bench.loops import LoopRow, load_loop_cases, measure_loops
from einloom.bench.peers.cpp_loops import COMPILER
from einloom.bench.strings import measure_strings
from einloom.cli.bench_progress import ended, say_aside
from einloom.cli.waiting import waiting
from einloom.jit.host import host

__all__ = ["run_loops"]

STRINGS = "strings"
"""What is measured beside the cases: the cost of a string. It is a choice like the names of cases."""


def run_loops(substring: str, peers: str, threads: int, runs: int, seconds: float, json_file: str | None) -> int:
    """Measure the cases that `substring` chooses, and what strings cost, and print a line for each.

    Where the report is printed as JSON, the lines go to standard error.

    Returns:
        130 if Ctrl-C left cases out, else 1 if a case failed, else 0.
    """
    names = ["einloom", *(["torch"] if "torch" in peers.split(",") and find_spec("torch") else [])]
    cases = load_loop_cases(substring) if substring != STRINGS else []
    rows: list[LoopRow] = []
    costs, interrupted = None, False
    say = say_aside if json_file == "-" else partial(print, end="", flush=True)
    try:
        if substring in ("", STRINGS):
            with waiting("what a loop string costs"):
                costs = measure_strings(COMPILER in peers.split(","))
            say(f"{costs}\n")
        for case in cases:
            with waiting(f"{len(rows) + 1}/{len(cases)} {case.name}"):
                rows.append(measure_loops(case, names, threads, runs, seconds))
            say(f"{_line(rows[-1])}\n")
    except KeyboardInterrupt:
        interrupted = True
    code = ended(len(cases), len(rows)) if interrupted else int(any(row.problem for row in rows))
    if costs is None and not rows:
        return code
    report: dict[str, Any] = {
        "suite": "loops",
        "machine": host().name,
        "threads": threads,
        "strings": None if costs is None else asdict(costs),
        "rows": list(map(_json, rows)),
    }
    if json_file == "-":
        print(json.dumps(report, indent=1))
        return code
    ratios = [row.ratio for row in rows if row.ratio is not None]
    if ratios:
        mean, ahead = exp(sum(map(log, ratios)) / len(ratios)), sum(ratio >= 1 for ratio in ratios)
        print(f"torch: geometric mean {mean:.2f}x, {ahead} of {len(ratios)} rows ahead, least {min(ratios):.2f}x")
    if json_file:
        Path(json_file).write_text(json.dumps(report, indent=1) + "\n")
    return code


def _line(row: LoopRow) -> str:
    if row.problem:
        return f"{row.case.name:42} {row.problem}"
    peak = f"{row.rate / row.peak:6.0%} of peak" if not row.case.narrow else " " * 14
    torch = "" if row.ratio is None else f"{row.ratio:6.2f}x torch"
    return f"{row.case.name:42} {row.rate / 1e9:8.1f} GFLOP/s {peak} {torch}  error {row.error:.1g}"


def _json(row: LoopRow) -> dict[str, Any]:
    figures = {"seconds": row.seconds, "flops": row.flops, "error": row.error, "peak": row.peak}
    return {"name": row.case.name, "arguments": row.case.arguments, **figures, "problem": row.problem}
