"""`lanes_of`: which axes of a product of complex numbers lie inside vectors of A and C, which are read as they lie.

Matrices of two by two or four by four that meet a long tensor at its innermost axes, gates at late sites of a state,
sum over elements that lie in one vector, and put others where those were:

    lanes of A    r0 s0   r0 s1   r1 s0   r1 s1        s: run of both A and C
    lanes of C    z0 s0   z0 s1   z1 s0   z1 s1        z takes the place of r, which is summed

So a vector of C is a sum over exchanges of lanes of vectors of A, each times a vector of elements of B.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import accumulate, product
from typing import NamedTuple

from einloom.frozen import frozen

__all__ = ["FEWEST", "Digit", "LaneAxis", "Lanes", "lanes_of"]

MOST_COLUMNS = 16
"""Vectors of C that are emitted one behind the other."""

FEWEST = 8
"""Vectors of A that repay loading vectors of B's elements."""

OTHERS = 3
"""Registers beside the sums and B's elements: a vector of A, the same with its parts exchanged, and a spare one."""


class LaneAxis(NamedTuple):
    """So many indices, and how far apart they lie in A, B and C, in elements."""

    extent: int
    a: int
    b: int
    c: int

    @property
    def is_row(self) -> bool:
        """Whether B does not depend on it."""
        return self.b == 0 and self.a != 0 and self.c != 0

    @property
    def is_summed(self) -> bool:
        """Whether C does not depend on it."""
        return self.c == 0

    def divided(self, extent: int) -> LaneAxis:
        """The same indices in groups of so many."""
        return LaneAxis(self.extent // extent, *(extent * stride for stride in self[1:]))


class Digit(NamedTuple):
    """Neighbouring lanes: those of a run, or those in which a summed axis of A gives way to a column of C.

    Attributes:
        extent: a power of two.
        place: how many elements one index is from the next, in A and in C.
        summed, column: how far apart its indices lie in B; None in a run.
    """

    extent: int
    place: int
    summed: int | None = None
    column: int | None = None


@frozen
class Lanes:
    """How vectors of A, B's elements and vectors of C belong together.

    Attributes:
        room: elements of a vector.
        digits: those of the lanes, the innermost first.
        rows: the axis along which vectors follow each other, in elements of `period`.
        period: elements of all digits together: what the next index of `rows` begins behind, if it is below `room`.
        summed: where the vectors of A that are summed lie, and B's elements with them: (in A, in B).
        columns: where the vectors of C lie that vectors of A are used for, and B's elements: (in B, in C).
    """

    room: int
    digits: tuple[Digit, ...]
    rows: LaneAxis
    period: int
    summed: tuple[tuple[int, int], ...]
    columns: tuple[tuple[int, int], ...]

    @property
    def each(self) -> int:
        """Indices of `rows` that a vector takes."""
        return self.room // self.period

    @property
    def sums_lanes(self) -> bool:
        """Whether elements of the same vector are summed."""
        return any(digit.column is not None for digit in self.digits)

    def columns_at_once(self, registers: int) -> int:
        """Return for how many columns the vectors of B's elements and the sums fit registers."""
        each = 2 * len(self.summed) * (1 + len(self.exchanges)) + 1
        return min((registers - OTHERS) // each, len(self.columns))

    def repays(self, registers: int) -> bool:
        """Whether registers hold B's elements, and more vectors of A meet them than it takes to load them."""
        return self.rows.extent >= FEWEST * self.each and self.columns_at_once(registers) > 0

    @property
    def exchanges(self) -> list[int]:
        """The distances, in elements, over which lanes change places between one term of a sum and the next."""
        bits = [each.place << bit for each in self.digits if each.column for bit in range(each.extent.bit_length() - 1)]
        # In the order of Gray's code one exchange leads from each combination to the next.
        return [bits[(step & -step).bit_length() - 1] for step in range(1, 1 << len(bits))]

    @property
    def exchanged(self) -> list[int]:
        """For each term of a sum, the distances over which lanes have changed places by then, added up."""
        return list(accumulate(self.exchanges, lambda before, distance: before ^ distance, initial=0))

    def offsets(self, exchanged: int) -> list[int]:
        """Where B's element for each lane of C lies, if A's lanes have been exchanged over a sum of distances."""

        def offset(lane: int) -> int:
            total = 0
            for digit in self.digits:
                if digit.summed is not None and digit.column is not None:
                    of_a, of_c = (number // digit.place % digit.extent for number in (lane ^ exchanged, lane))
                    total += of_a * digit.summed + of_c * digit.column
            return total

        return [offset(lane) for lane in range(self.room)]


def lanes_of(axes: Iterable[LaneAxis], room: int) -> Lanes | None:
    """Return how a product over these axes fills vectors of so many elements; None where it does not."""
    axes = list(axes)
    if room < 2 or min(axis.extent for axis in axes) < 1:
        return None
    return _filled([axis for axis in axes if axis.extent > 1], room)


def _filled(axes: list[LaneAxis], room: int) -> Lanes | None:
    digits: list[Digit] = []
    place = 1
    while place < room:
        row = next((axis for axis in axes if axis.is_row and axis.a == axis.c == place), None)
        if row is None:
            digit = _summed_digit(axes, place, room)
        elif _is_power(row.extent) and row.extent * place <= room - (not _rows(axes, row)):
            axes.remove(row)
            digit = Digit(row.extent, place)
        else:
            break
        if digit is None:
            return None
        digits.append(digit)
        place *= digit.extent
    rows = max((each for each in axes if each.is_row and (place == room or each.a == each.c == place)), default=None)
    if rows is None:
        return None
    axes.remove(rows)
    summed = [axis for axis in axes if axis.is_summed]
    columns = [axis for axis in axes if axis.a == 0 and axis.c != 0]
    if len(summed) + len(columns) < len(axes) or math.prod(axis.extent for axis in columns) > MOST_COLUMNS:
        return None
    of_sums, of_columns = _places(summed), _places(columns)
    return Lanes(
        room,
        tuple(digits),
        rows,
        place,
        tuple((each.a, each.b) for each in of_sums),
        tuple((each.b, each.c) for each in of_columns),
    )


def _rows(axes: list[LaneAxis], row: LaneAxis) -> bool:
    """Whether there are others that vectors may follow each other along."""
    return any(axis.is_row for axis in axes if axis is not row)


def _summed_digit(axes: list[LaneAxis], place: int, room: int) -> Digit | None:
    """Take from the axes what is summed at a place of A, and the columns at the same place of C."""
    summed = next((axis for axis in axes if axis.is_summed and axis.a == place), None)
    column = next((axis for axis in axes if axis.a == 0 and axis.c == place), None)
    if summed is None or column is None:
        return None
    extent = min(summed.extent, column.extent, room // place)
    if extent < 2 or not _is_power(extent) or summed.extent % extent or column.extent % extent:
        return None
    for axis in (summed, column):
        axes.remove(axis)
        axes += [axis.divided(extent)] if axis.extent > extent else []
    return Digit(extent, place, summed.b, column.b)


def _places(axes: list[LaneAxis]) -> Iterator[LaneAxis]:
    """Yield where each combination of indices lies."""
    for indices in product(*(range(axis.extent) for axis in axes)):
        yield LaneAxis(1, *(sum(i * axis[way] for i, axis in zip(indices, axes)) for way in (1, 2, 3)))


def _is_power(number: int) -> bool:
    return number & (number - 1) == 0
