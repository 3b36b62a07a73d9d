"""How long the blocks of an axis are: loops cut it in steps that need not divide what they cut.

>>> cut((100,), 48)
(48, 4)
>>> cut(cut((100,), 48), 20)
(20, 8, 4)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from einloom.ir.operation import Axis, DimType
from einloom.ir.schedule import ScheduledLoop

__all__ = ["Blocks", "cut"]


def cut(lengths: Iterable[int], step: int) -> tuple[int, ...]:
    """Return the lengths of blocks, the longest first, that ranges of `lengths` are cut into by steps of `step`."""
    found = {min(length, step) for length in lengths} | {length % step for length in lengths if length % step}
    return tuple(sorted(found, reverse=True))


class Blocks:
    """The blocks of every axis at every depth of a schedule's loops.

    Attributes:
        extents: of the axes that the loops walk, by name.
        roles: of these axes.
        loops: outermost first.
    """

    def __init__(self, axes: Iterable[Axis], loops: Sequence[ScheduledLoop]) -> None:
        axes = tuple(axes)
        self.extents = {axis.name: axis.extent for axis in axes}
        self.roles = {axis.name: axis.role for axis in axes}
        self.loops = loops
        self._lengths: list[dict[str, tuple[int, ...]]] = [{name: (extent,) for name, extent in self.extents.items()}]
        for loop in loops:
            around = self._lengths[-1]
            known = around.get(loop.axis, ())  # Who names an axis that there is not is refused by `check_schedule`.
            self._lengths.append(around | {loop.axis: cut(known, loop.step)})

    def lengths(self, axis: str, depth: int) -> tuple[int, ...]:
        """How many indices of `axis` may be left inside the first `depth` loops, the most first."""
        return self._lengths[depth][axis]

    def span(self, axis: str, depth: int) -> int:
        """Indices of `axis` that are left inside the first `depth` loops; fewer in short blocks."""
        return self.lengths(axis, depth)[0]

    def innermost(self, axis: str) -> tuple[int, ...]:
        """How many indices of `axis` the primitive takes, the most first."""
        return self.lengths(axis, len(self.loops))

    def cuts(self, loop: ScheduledLoop, role: DimType) -> bool:
        """Whether a loop goes more than once over blocks of an axis with this role."""
        return self.roles[loop.axis] is role and loop.step < self.extents[loop.axis]

    @property
    def sum_nothing(self) -> bool:
        """Whether a contracted axis has no indices."""
        return any(self.extents[name] == 0 for name, role in self.roles.items() if role is DimType.K)

    @property
    def write_nothing(self) -> bool:
        """Whether an axis of the output has no indices."""
        return any(self.extents[name] == 0 for name, role in self.roles.items() if role is not DimType.K)
