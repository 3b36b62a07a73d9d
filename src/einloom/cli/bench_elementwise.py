"""What `einloom bench elementwise` prints and writes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from einloom.bench.elementwise import COLUMNS, ROWS, ElementWiseResult, load_cases, measure_case
from einloom.cli.bench_progress import progress
from einloom.jit.host import host

__all__ = ["run_elementwise"]


def run_elementwise(substring: str, seconds: float, json_file: str | None) -> int:
    """Measure the cases that `substring` chooses, print the table and write JSON.

    Returns:
        130 if Ctrl-C left cases out, else 0.
    """
    from einloom.bench.table import time_text

    cases, results = load_cases(substring), list[ElementWiseResult]()
    with progress(cases) as under_way:
        for case in under_way:
            results.append(measure_case(case, seconds))
            under_way.done(time_text(results[-1].seconds))
    if not results:
        return under_way.code(0)
    machine = host()
    report: dict[str, Any] = {
        "suite": "elementwise",
        "machine": {"name": machine.name, "vector": machine.vector},
        "rows": [result.to_json() for result in results],
    }
    if json_file == "-":
        print(json.dumps(report, indent=1))
        return under_way.code(0)
    _draw(results)
    if json_file:
        Path(json_file).write_text(json.dumps(report, indent=1) + "\n")
    return under_way.code(0)


def _draw(results: Sequence[ElementWiseResult]) -> None:
    from rich.table import Table

    from einloom.bench.table import make_console, percent_text, print_table, time_text

    table = Table(title="elementwise", title_justify="left")
    table.add_column("case", no_wrap=True)
    for head in ("time", "GB/s", "loads and\nstores alone", "of\nbound", "code\nbytes"):
        table.add_column(head, justify="right", no_wrap=True)
    for result in results:
        rates = (result.bytes / time / 1e9 for time in (result.seconds, result.bound_seconds))
        shares = percent_text(result.bound_seconds / result.seconds), str(result.code_bytes)
        table.add_row(result.name, time_text(result.seconds), *(f"{rate:.1f}" for rate in rates), *shares)
    console, machine = make_console(), host()
    print_table(console, table)
    console.print(f"{machine.name}, {machine.vector}, one thread, {ROWS}x{COLUMNS} in L1, best of turns", style="dim")
