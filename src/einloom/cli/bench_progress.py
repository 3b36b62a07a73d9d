"""How far a suite is, on standard error: which case is done in a terminal, and a line for each in a pipe or a file."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from einloom.bench.measure import Row
from einloom.bench.peers.contestants import Contestant

__all__ = ["figures_of", "progress", "say_aside"]


@contextmanager
def progress(total: int) -> Generator[Callable[[str, str], None]]:
    """Say which of `total` cases are done.

    Yields:
        a function of a case's name and its figures. A terminal shows the last name, and nothing at the end; elsewhere
        each case is a line, written at once, so that whoever reads a pipe or a log need not wait for the table.
    """
    done, is_drawn = 0, isinstance(sys.stderr, io.TextIOBase) and sys.stderr.isatty()

    def say(name: str, figures: str) -> None:
        nonlocal done
        done += 1
        counted = f"{done}/{total} {name}"
        if is_drawn:
            say_aside(f"\r\x1b[K{counted}")
        else:
            say_aside(f"{counted}: {figures}\n")

    try:
        yield say
    finally:
        if is_drawn:
            say_aside("\r\x1b[K")


def say_aside(text: str) -> None:
    """Write a text to standard error at once. Where nobody can read it any more the figures are still wanted."""
    if not isinstance(sys.stderr, io.TextIOBase):  # It is None if its descriptor was closed before Python began.
        return
    try:
        print(text, end="", file=sys.stderr, flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())  # Else what it holds fails again at the end.


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
