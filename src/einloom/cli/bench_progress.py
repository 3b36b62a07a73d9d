"""How far a suite is, on standard error: which case is done in a terminal, and a line for each in a pipe or a file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from einloom.bench.measure import Row
from einloom.bench.peers.contestants import Contestant

__all__ = ["figures_of", "progress"]


@contextmanager
def progress(total: int) -> Generator[Callable[[str, str], None]]:
    """Say which of `total` cases are done.

    Yields:
        a function of a case's name and its figures. A terminal shows the last name, and nothing at the end; elsewhere
        each case is a line, written at once, so that whoever reads a pipe or a log need not wait for the table.
    """
    done, is_drawn = 0, sys.stderr.isatty()

    def say(name: str, figures: str) -> None:
        nonlocal done
        done += 1
        counted = f"{done}/{total} {name}"
        if is_drawn:
            print(f"\r\x1b[K{counted}", end="", file=sys.stderr, flush=True)
        else:
            print(f"{counted}: {figures}", file=sys.stderr, flush=True)

    try:
        yield say
    finally:
        if is_drawn:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def figures_of(row: Row, peers: Sequence[Contestant]) -> str:
    """Return einloom's rate, its share of what the machine reached, and how many times as fast as each peer it is."""
    if not row.ours.usable:
        return "failed" if row.ours.right else "WRONG"
    found = [f"{row.case.amount / row.ours.median / 1e9:.1f} {row.case.unit}"]
    if row.share is not None:
        found.append(f"{row.share * 100:.0f} % of {row.case.ceiling}")
    ratios = ((peer.name, row.ratio(peer.name)) for peer in peers)
    found += [f"{name} -" if ratio is None else f"{name} {ratio:.2f}x" for name, ratio in ratios]
    return ", ".join(found)
