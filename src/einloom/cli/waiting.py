"""`waiting`: a spinner on the error stream of a terminal while work goes on; a pipe or a file gets nothing."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager

__all__ = ["at_terminal", "waiting"]

FRAMES = 5
"""Pictures a second: a process that draws on the core of one that is measured takes little of it."""


def at_terminal() -> bool:
    """Whether somebody looks at the error stream. It is None if its descriptor was closed before Python began."""
    return isinstance(sys.stderr, io.TextIOBase) and sys.stderr.isatty()


@contextmanager
def waiting(text: str = "") -> Generator[Callable[[str], None]]:
    """Say what is under way while the block runs. Nothing may be printed in it, and nothing of it stays.

    Yields:
        what to call with another text.
    """
    if not at_terminal():
        yield lambda text: None
        return
    from rich.console import Console
    from rich.live import Live
    from rich.spinner import Spinner
    from rich.text import Text

    spinner = Spinner("dots", Text(text), style="status.spinner")

    def tell(text: str) -> None:
        spinner.update(text=Text(text))
        live.refresh()

    with Live(spinner, console=Console(stderr=True), refresh_per_second=FRAMES, transient=True) as live:
        yield tell
