"""What `einloom bench SUITE --tune N` prints and writes: what searches gain beside the heuristic, row by row."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from einloom.bench.cases import Case
from einloom.bench.tuned import TunedCase, mean_speedup, tuned_case
from einloom.cli.bench_progress import progress
from einloom.jit.host import host
from einloom.search.records import chosen_file

__all__ = ["run_tuned"]

CLEAR = 1.10
"""From so many times the heuristic's speed on a gain is clear."""


def run_tuned(
    cases: Sequence[Case], evaluations: int, records: Path | None, turns: int, seconds: float, json_file: str | None
) -> int:
    """Tune the cases, measure again, print the table and write JSON; return 0, or 130 if Ctrl-C left cases out.

    Args:
        cases: what to tune.
        evaluations: of each case, with those that are recorded.
        records: a file or folder that keeps what is measured, so that a later run goes on from there; None: nothing.
        turns, seconds: how often the best and the heuristic's schedule are measured again, and how long at least.
        json_file: where to write JSON: None for nowhere, `-` for instead of the table.
    """
    found: list[TunedCase] = []
    with tempfile.TemporaryDirectory() as folder:
        file = chosen_file(records or folder)
        assert file is not None
        with progress(cases) as under_way:
            for case in under_way:
                found.append(tuned_case(case, evaluations, file, turns, seconds))
                under_way.done(f"{found[-1].speedup:.2f}x")
    if not found:
        return under_way.code(0)
    if json_file == "-":
        print(json.dumps([each.to_json() for each in found], indent=1))
    else:
        _draw(found)
        if json_file:
            Path(json_file).write_text(json.dumps([each.to_json() for each in found], indent=1) + "\n")
    return under_way.code(0)


def _draw(found: Sequence[TunedCase]) -> None:
    from rich.table import Table

    from einloom.bench.table import make_console, print_table, time_text

    table = Table(title="tuned beside the heuristic", title_justify="left")
    table.add_column("case", no_wrap=True)
    for head in ("evaluations", "heuristic", "tuned", "speed", "differs in"):
        table.add_column(head, justify="left" if head == "differs in" else "right", no_wrap=True)
    for each in found:
        times = [time_text(min(times, default=None)) for times in (each.heuristic_times, each.best_times)]
        table.add_row(each.name, str(each.evaluations), *times, f"{each.speedup:.2f}x", each.difference)
    console = make_console()
    print_table(console, table)
    machine = host()
    console.print(
        f"{sum(each.speedup >= CLEAR for each in found)} of {len(found)} at {CLEAR:.2f}x or more, "
        f"{min(each.speedup for each in found):.2f}x at least, {mean_speedup(found):.3f}x in the geometric mean; "
        f"{machine.name}, {machine.vector}, one thread, in turns in a fresh process",
        style="dim",
    )
