"""What caches no longer have of a schedule's buffers when a loop comes round again.

They keep it if all that one iteration touches fits (`share_forgotten`); lines that fall into few sets need more space.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import add

from einloom.passes.model.buffers import FULL, OVER, share_forgotten
from einloom.passes.model.footprint import LINE
from einloom.passes.model.walk import Forgotten, Use

__all__ = ["Forgetting", "added"]


class Forgetting:
    """What is forgotten at each depth, by the uses of all buffers.

    Args:
        uses: of every buffer.
        past: the use of what passes the caches, since it is staged, or None.
        moves: whether the primitive only moves, or works element by element.
        caches: bytes of each.

    Attributes:
        bytes: by depth, of the lines that the caches see of all buffers together.
        lines: what each cache forgets of a buffer whose lines fall into many sets.
    """

    def __init__(self, uses: Sequence[Use], past: Use | None, moves: bool, caches: Sequence[int]) -> None:
        self._moves, self._caches = moves, caches
        self._touched = [use for use in uses if use is not past]
        self.bytes = [LINE * lines for lines in added([use.lines for use in self._touched])]
        near = far = self.bytes
        if moves:
            near, far = added([use.rooms for use in self._touched]), added([use.far_rooms for use in self._touched])
        first, second, third = caches
        self.lines = [_forgotten(near, first), _forgotten(far, second), _forgotten(near, third)]
        self._lines_moved = {id(past): self.lines}

    def lines_of(self, use: Use) -> list[Forgotten]:
        """Return what the caches forget of one buffer: lines of its own may push each other out of a few sets."""
        if self._moves:
            found = self._lines_moved.get(id(use))
            if found is None:
                found = self._lines_moved[id(use)] = self._lines_of_moved(use)
            return found
        if not use.crowded:
            return self.lines
        caches = zip(self.lines, self._caches)
        return [_either(gone, _forgotten(use.rooms, cache)) for gone, cache in caches]

    def _lines_of_moved(self, use: Use) -> list[Forgotten]:
        """Return the same where all is moved and nothing computed: both buffers are walked at once.

        In the sets into which lines of the other one crowd, its room counts; elsewhere nothing of it is.
        """
        others = [each for each in self._touched if each is not use]
        if not any(each.crowded for each in others):
            return self.lines
        lines = added([each.lines for each in others])
        near, far = added([each.rooms for each in others]), added([each.far_rooms for each in others])
        beside = zip((use.rooms, use.far_rooms, use.rooms), (near, far, near), self.lines, self._caches)
        found: list[Forgotten] = []
        for own, rooms, gone, cache in beside:
            share = [LINE * some / room if room else 1.0 for some, room in zip(lines, rooms)]
            found.append(_partly(gone, _forgotten(own, cache), share))
        return found


def added(lists: Iterable[Sequence[float]]) -> Sequence[float]:
    """Return the sums of lists, number by number."""
    first, *others = lists
    for each in others:
        first = list(map(add, first, each))
    return first


def _forgotten(rooms: Sequence[float], cache: float) -> Forgotten:
    """Return what is gone of what was touched when a body of so much room, by depth, comes round again."""
    depths, innermost, surely, full, over = len(rooms), 0, 0, FULL * cache, OVER * cache
    if max(rooms) <= full:
        return Forgotten([0.0] * depths, 0, 0)
    for depth in range(depths - 1, 0, -1):
        if rooms[depth] > full:
            innermost = depth
            break
    for room in rooms[1 : innermost + 1]:
        if room < over:
            break
        surely += 1
    partly = [share_forgotten(room, cache) for room in rooms[surely + 1 : innermost + 1]]
    return Forgotten([1.0] * (surely + 1) + partly + [0.0] * (depths - 1 - innermost), innermost, surely)


def _either(one: Forgotten, other: Forgotten) -> Forgotten:
    """Return what is gone for either of two reasons."""
    shares = list(map(max, one.shares, other.shares))
    return Forgotten(shares, max(one.innermost, other.innermost), max(one.surely, other.surely))


def _partly(everywhere: Forgotten, elsewhere: Forgotten, dense: Sequence[float]) -> Forgotten:
    """Return what is gone if the first happens in a share of the sets, by depth, and the second in the others."""
    each = zip(everywhere.shares, elsewhere.shares, dense)
    shares = [share * gone + (1 - share) * other for gone, other, share in each]
    return Forgotten(shares, everywhere.innermost, elsewhere.surely)
