"""How far a long computation is: a bar on a terminal, and lines where the error stream is a pipe or a file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager

__all__ = ["progress_bar"]

LINES = 10
"""Lines that a whole computation prints where no bar can be drawn."""


@contextmanager
def progress_bar(shown: bool, title: str, total: int) -> Generator[Callable[[], None]]:
    """Show progress on the error stream, or nothing; the value counts one of `total` steps as done."""
    if not shown:
        yield lambda: None
    elif sys.stderr.isatty():
        with _drawn(title, total) as advance:
            yield advance
    else:
        yield _printed(title, total)


@contextmanager
def _drawn(title: str, total: int) -> Generator[Callable[[], None]]:
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total)
        yield lambda: bar.advance(task)


def _printed(title: str, total: int) -> Callable[[], None]:
    done = 0

    def advance() -> None:
        nonlocal done
        done += 1
        if done * LINES // total > (done - 1) * LINES // total:
            print(f"{title}: {done} of {total}", file=sys.stderr, flush=True)

    return advance
