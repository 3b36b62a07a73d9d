"""`make_report`: the rows of a measurement as one JSON object, from which tables and plots are drawn.

    {"suite": "tccg24", "einloom": "0.1.0", "machine": {…}, "threads": 1, "runs": 5, "peers": {"numpy": "2.4.6"},
     "missing": ["etops"], "import_seconds": 0.04, "rows": [{"case": …, "unit": "GFLOP/s", "einloom": {…},
     "ceiling": 158.2, "share": 0.91, "bound_share": 0.91, "peers": {"numpy": {"rate": 61.2, "ratio": 2.4, …}}}],
     "summary": {…}, "left_out": []}

Rates are in the row's unit, times in seconds. `share` is of the ceiling, `bound_share` of what arithmetic and traffic
allow the row. `ratio` is how many times as fast as the peer einloom is. Where there are
no figures, `problem` says why and `rate` is null. `left_out` names the cases that Ctrl-C left out.
"""

from __future__ import annotations

import math
import platform
import statistics
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from einloom.bench.measure import Figures, Options, Row
from einloom.bench.peers.contestants import Contestant
from einloom.machine import Machine

__all__ = ["LEVEL", "is_good", "make_report"]

LEVEL = 0.99
"""A ratio from which on einloom counts as not behind."""


def make_report(
    suite: str,
    rows: Sequence[Row],
    peers: Sequence[Contestant],
    missing: Sequence[str],
    options: Options,
    machine: Machine,
    left_out: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the report of a measurement; `left_out` are the names of cases that nobody came to."""
    entries = [_row(row, peers) for row in rows]
    return {
        "suite": suite,
        "einloom": rows[0].ours.version if rows else "",
        "machine": {"name": machine.name, "isa": machine.isa, "vector": machine.vector, "cores": machine.cores},
        "python": platform.python_version(),
        "numpy": np.__version__,
        "threads": options.threads,
        "isa_of_all": options.vector,
        "runs": options.runs,
        "peers": {peer.name: rows[0].best(peer.name).version if rows else "" for peer in peers},
        "missing": list(missing),
        "import_seconds": statistics.median(row.ours.import_seconds for row in rows) if rows else None,
        "rows": entries,
        "summary": _summary(entries, [peer.name for peer in peers]),
        "left_out": list(left_out),
    }


def is_good(report: dict[str, Any]) -> bool:
    """Whether einloom ran every case and every result was right."""
    return all(row["einloom"]["rate"] is not None for row in report["rows"])


def _row(row: Row, peers: Sequence[Contestant]) -> dict[str, Any]:
    case = row.case
    return {
        "case": case.name,
        "equation": case.equation,
        "sizes": dict(case.sizes),
        "dtype": case.dtype,
        "flops": case.flops,
        "bytes": case.bytes,
        "unit": case.unit,
        "ceiling_is": case.ceiling,
        "einloom": _figures(row, row.ours),
        "ceiling": row.ceiling / 1e9 or None,
        "share": row.share,
        "ceilings": {ceiling: row.rate_of(ceiling) / 1e9 or None for ceiling in case.ceilings},
        "bound_share": row.bound_share,
        "peers": {peer.name: _peer(row, peer.name) for peer in peers},
    }


def _peer(row: Row, name: str) -> dict[str, Any]:
    settings = [figures for figures in row.peers if figures.contestant == name]
    rates = {figures.variant: _rate(row, figures) for figures in settings}
    return {**_figures(row, row.best(name)), "ratio": row.ratio(name), "rates_of_settings": rates}


def _figures(row: Row, figures: Figures) -> dict[str, Any]:
    return {
        "rate": _rate(row, figures),
        "seconds": figures.median if figures.seconds else None,
        "rounds": list(figures.seconds),
        "compile_seconds": figures.compile_seconds,
        "right": figures.right,
        "compared_elements": figures.elements,
        "error": figures.error if math.isfinite(figures.error) else None,
        "setting": figures.variant,
        "note": figures.note,
        "problem": figures.problem or ("" if figures.right else _wrong(figures)),
    }


def _wrong(figures: Figures) -> str:
    return f"wrong result: error {figures.error:.3g} times the tolerance"


def _rate(row: Row, figures: Figures) -> float | None:
    return row.case.amount / figures.median / 1e9 if figures.usable else None


def _summary(entries: Sequence[dict[str, Any]], peers: Sequence[str]) -> dict[str, Any]:
    """Geometric means over the rows that have the figure, and how often einloom is not behind a peer."""
    summary: dict[str, Any] = {
        "rate": _geometric_mean(entry["einloom"]["rate"] for entry in entries),
        "share": _geometric_mean(entry["share"] for entry in entries),
        "bound_share": _geometric_mean(entry["bound_share"] for entry in entries),
        "compile_seconds": _geometric_mean(entry["einloom"]["compile_seconds"] for entry in entries),
        "peers": {},
    }
    for name in peers:
        ratios = [entry["peers"][name]["ratio"] for entry in entries]
        known = [ratio for ratio in ratios if ratio is not None]
        summary["peers"][name] = {
            "rate": _geometric_mean(entry["peers"][name]["rate"] for entry in entries),
            "ratio": _geometric_mean(known),
            "not_behind": sum(ratio >= LEVEL for ratio in known),
            "compared": len(known),
            "least_ratio": min(known, default=None),
        }
    return summary


def _geometric_mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value]
    return statistics.geometric_mean(known) if known else None
