"""The one notion of the engine: a propagator says what it watches, what it does when woken, and how it explains that.

A *constraint* is the part that never changes and that all states share: it knows its slots, says what to watch
(`watches`) and puts a removal into words (`explain`). What it does when woken needs domains: a function bound to the
`Store` of one state, called by number, so that watch lists can be shared too. The reason of a change on the trail is
the constraint itself, or a tuple of it and what else `explain` wants to know.

Kinds:

    table        clauses over the same few slots; all values without support go
    disjunction  a clause that no table holds; the last part that can hold is enforced
    line         clauses over three objects, the same done for a whole row of third objects at once
    path         a relation algebra: path consistency, a row of objects at a time
    counter      sums and products: bounds, and exact results where there are few
    quotient     which objects represent their class
    trigger      when the objects of an extension begin to exist
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from einloom.csp.propagators.watches import Watches
from einloom.frozen import frozen

__all__ = ["Change", "Constraint", "Explanation", "extension_slots"]

Explanation = tuple[str, Sequence[int]]
"""What a constraint says about a change, and the slots that it read; extension i counts as slot -1 - i."""


@frozen
class Change:
    """What is to be explained.

    Attributes:
        slot: the slot that changed; None if a constraint failed without one.
        lost: the values that it lost.
        masks: all domains before the change.
    """

    slot: int | None
    lost: int
    masks: Sequence[int]


class Constraint(Protocol):
    """The part of a propagator that all states share."""

    def watch(self, watches: Watches) -> None:
        """Enter what wakes the propagator into the watch lists."""
        ...

    @property
    def explain(self) -> Callable[..., Explanation]:
        """`explain(change, names, *detail)` says why this constraint made a change, and which slots it read; `detail`
        is the rest of the reason."""
        ...


def extension_slots(need: int) -> tuple[int, ...]:
    """Return extensions as slots of an explanation.

    >>> extension_slots(0b101)
    (-1, -3)
    """
    return tuple(-1 - i for i in range(need.bit_length()) if need >> i & 1)
