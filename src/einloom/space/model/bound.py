"""`Bound`: a time that no implementation below a candidate can beat, by resource, with the reasons."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from einloom.frozen import frozen
from einloom.space.model.figure import Figure

__all__ = ["Bound"]


@frozen
class _Known:
    """A tree of figures that was made before."""

    figure: Figure

    def __call__(self) -> Figure:
        return self.figure


@frozen(slots=False)
class Bound:
    """A lower bound on the time of every implementation below a candidate.

    Attributes:
        seconds: the largest of the terms.
        terms: seconds by resource; resources work at the same time, so they are never added.
        above: the bound of a candidate higher up, if it says more than the terms: it holds here too.
        explained: makes the tree of figures.
    """

    seconds: float
    terms: Mapping[str, float]
    explained: Callable[[], Figure]
    above: Bound | None = None

    def explain(self) -> Figure:
        """Return the bound as a tree of figures; what the numbers at its ends give is the bound."""
        return self.explained() if self.above is None else self.above.explain()

    def under(self, above: Bound | None) -> Bound:
        """Return the larger one of this bound and that of a candidate higher up."""
        if above is None or above.seconds <= self.seconds:
            return self
        return Bound(above.seconds, self.terms, self.explained, above)

    def __reduce__(self) -> tuple[Any, ...]:
        return Bound, (self.seconds, dict(self.terms), _Known(self.explained()), self.above)

    def __repr__(self) -> str:
        ordered = sorted(self.terms.items(), key=lambda term: -term[1])
        terms = ", ".join(f"{name} {seconds:.3g}" for name, seconds in ordered if seconds)
        return f"at least {self.seconds:.4g} s ({terms})"
