"""How far a search is, as one line that is drawn anew: the best so far, the bound, what was cut, how fast it goes."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from math import inf
from typing import Protocol, TypeVar

from einloom.search.search import Trial

__all__ = ["Running", "shown", "status_line"]


class Running(Protocol):
    """A search that is under way.

    Attributes:
        history: its trials, in order.
    """

    history: list[Trial]

    @property
    def floor(self) -> float:
        """A time that nothing can beat; 0 if that is not known."""
        ...

    @property
    def share_cut(self) -> float:
        """The share of the candidates looked at that were cut."""
        ...

    @property
    def left(self) -> float:
        """About how many seconds are left; inf where nobody knows."""
        ...


R = TypeVar("R", bound=Running)


def status_line(run: Running) -> str:
    """Return how far a search is."""
    trial = run.history[-1]
    rate = trial.number / max(trial.elapsed, 1e-9)
    left = "" if run.left == inf else f"; {run.left:.0f} s left"
    return (
        f"{trial.number} evaluated, {rate:.1f} a second; best {1e3 * trial.best:.4g} ms, nothing is faster than "
        f"{1e3 * run.floor:.4g} ms; {100 * run.share_cut:.0f} % cut; last: {trial.outcome.status}{left}"
    )


@contextmanager
def shown(progress: bool | Callable[[R], None]) -> Generator[Callable[[R], None]]:
    """Give what to call after every evaluation: it draws a line, calls what was given, or does nothing."""
    if not isinstance(progress, bool):
        yield progress
    elif not progress:
        yield lambda run: None
    else:
        from rich.console import Console

        with Console(stderr=True).status("the first candidates are compiled") as status:
            yield lambda run: status.update(status_line(run))
