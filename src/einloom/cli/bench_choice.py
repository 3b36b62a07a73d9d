"""What `einloom bench SUITE --choice` prints and writes: how far chosen schedules are behind the best proposals."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from einloom.bench.cases import Case
from einloom.bench.choice import WITHIN, Choice, mean_ratio, measure_choice
from einloom.cli.bench_progress import progress
from einloom.machine import Machine

__all__ = ["run_choice"]


def run_choice(cases: Sequence[Case], machine: Machine, runs: int, seconds: float, json_file: str | None) -> int:
    """Measure all proposals of the cases, print the table and write JSON.

    Returns:
        130 if Ctrl-C left cases out, else 1 if there is none, else 0.
    """
    found: list[Choice] = []
    with progress(cases) as under_way:
        for case in under_way:
            choice = measure_choice(case, machine, runs, seconds)
            under_way.done("no choice" if choice is None else f"{choice.ratio:.2f}x of the best")
            found += [] if choice is None else [choice]
    if not found and under_way.interrupted:
        return under_way.code(1)
    if json_file == "-":
        print(json.dumps([choice.to_json() for choice in found], indent=1))
    else:
        _draw(found, machine)
        if json_file:
            Path(json_file).write_text(json.dumps([choice.to_json() for choice in found], indent=1) + "\n")
    return under_way.code(0 if found else 1)


def _draw(choices: Sequence[Choice], machine: Machine) -> None:
    from rich.table import Table

    from einloom.bench.table import make_console, print_table, time_text

    table = Table(title="choice among proposals", title_justify="left")
    table.add_column("case", no_wrap=True)
    for head in ("proposals", "chosen", "time", "predicted", "of the\nbest", "best"):
        table.add_column(head, justify="left" if head in ("chosen", "best") else "right", no_wrap=True)
    for choice in choices:
        chosen, best = choice.tried[0], choice.best
        times = time_text(chosen.seconds), time_text(chosen.predicted), f"{choice.ratio:.2f}x"
        row = (choice.name, str(len(choice.tried)), chosen.family, *times, "" if best is chosen else best.family)
        table.add_row(*row)
    console = make_console()
    print_table(console, table)
    if choices:
        good = sum(choice.ratio <= WITHIN for choice in choices)
        worst = max(choice.ratio for choice in choices)
        rounds = sorted({choice.rounds for choice in choices})
        console.print(
            f"{good} of {len(choices)} within 5 % of the best, {worst:.2f}x at most, {mean_ratio(choices):.3f}x in the "
            f"geometric mean; {machine.name}, {machine.vector}, one thread, processor time; each proposal between two "
            f"turns of the chosen one, the median ratio of {_rounds_text(rounds)}",
            style="dim",
        )


def _rounds_text(counts: Sequence[int]) -> str:
    least, most = counts[0], counts[-1]
    return f"{most} round" + "s" * (most > 1) if least == most else f"{least} to {most} rounds"
