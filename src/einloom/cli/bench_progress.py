"""How far a suite is, on standard error: the case under way in a terminal, a line a case in a pipe or a file."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar

from einloom.bench.measure import Row
from einloom.bench.peers.contestants import Contestant
from einloom.cli.waiting import at_terminal, waiting

__all__ = ["Progress", "ended", "figures_of", "progress", "say_aside"]


class Named(Protocol):
    """A case, as far as it is spoken of."""

    @property
    def name(self) -> str:
        """What a report calls it."""
        ...


C = TypeVar("C", bound=Named)


class Progress(Generic[C]):
    """The cases of a suite, one after the other: each is named before it starts.

    Args:
        cases: all of them.
        draw: shows a text in place of the last one.

    Attributes:
        interrupted: whether Ctrl-C left cases out.
    """

    def __init__(self, cases: Sequence[C], draw: Callable[[str], None]) -> None:
        self._cases, self._draw, self._counted = cases, draw, ""
        self._done = 0
        self.interrupted = False

    def __iter__(self) -> Iterator[C]:
        """Yield each case, once it has been named."""
        for number, case in enumerate(self._cases, 1):
            self._counted = f"{number}/{len(self._cases)} {case.name}"
            self._draw(self._counted)
            yield case

    def tell(self, phase: str) -> None:
        """Say what the case under way is at; a terminal shows it."""
        self._draw(f"{self._counted}: {phase}")

    def done(self, figures: str) -> None:
        """Say what came of it; elsewhere than in a terminal it is a line."""
        self._done += 1
        if not at_terminal():
            say_aside(f"{self._counted}: {figures}\n")

    def code(self, code: int) -> int:
        """Return the exit code of a command that would end with `code`; after Ctrl-C 130, and say what was left out."""
        if not self.interrupted:
            return code
        return ended(len(self._cases), self._done)


@contextmanager
def progress(cases: Sequence[C]) -> Generator[Progress[C]]:
    """Say which case is under way, and which are done. Ctrl-C ends the block alone: what is measured is still wanted.

    Yields:
        the cases to go through. A terminal shows the one under way, and nothing at the end; elsewhere each that is done
        is a line, written at once, so that whoever reads a pipe or a log need not wait for the table.
    """
    with waiting() as draw:
        made = Progress(cases, draw)
        try:
            yield made
        except KeyboardInterrupt:
            made.interrupted = True


def ended(total: int, done: int) -> int:
    """Say how many cases Ctrl-C left out, and return the exit code of a command that it ended."""
    say_aside(f"einloom: ended by Ctrl-C after {done} of {total} cases\n")
    return 130


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
