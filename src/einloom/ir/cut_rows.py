"""Panels of fused axes that cut rows: their copy goes piece by piece, each inside one row and one panel.

A row is what one part of the fused axis has of contiguous indices in a tensor, a panel what lies together in scratch. A
few pieces repeat: they are so many copies in a row, each at its own place. Many, or those of blocks of several lengths,
are walked in steps that divide both rows and panels, by a loop that counts when either ends.

>>> from einloom.ir.schedule import Digit
>>> layout = PackedLayout.of((Digit("cd", 4), Digit("k"), Digit("cd")), {"cd": 12, "k": 5}, "in1")
>>> rows = CutRows.of("cd", layout, (12,), (Part("c", 2, 90), Part("d", 6, 1)))
>>> for piece in rows.pieces(0, rows.period):
...     print(piece)
Piece(size=4, outside=0, inside=0)
Piece(size=2, outside=4, inside=20)
Piece(size=2, outside=90, inside=22)
Piece(size=4, outside=92, inside=40)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from einloom.errors import ScheduleError
from einloom.frozen import frozen
from einloom.ir.copies import Level, in_few
from einloom.ir.fused import Part, rows_of
from einloom.ir.layout import PackedLayout
from einloom.ir.nest import Access, Block, Call, Carry, Node, Pack
from einloom.ir.operation import Primitive

__all__ = ["CutCopy", "CutRows", "cut_rows"]

MOST_PIECES = 16
"""Pieces that are copies of their own: each is a kernel of its own, too."""


@frozen
class Piece:
    """Indices of a fused axis that follow each other in the tensor and in scratch: how many, and where they begin."""

    size: int
    outside: int
    inside: int


@frozen
class Digits:
    """A fused index in mixed radix, as a tensor's parts or a packed layout's digits have it, the finest first.

    Attributes:
        steps: indices that one unit of each digit stands for; the first is 1.
        strides: how far one unit of each moves, in elements.
    """

    steps: tuple[int, ...]
    strides: tuple[int, ...]

    def place(self, index: int) -> int:
        """Return where an index lies."""
        above = (*self.steps[1:], index + 1)
        return sum(index % up // step * stride for step, up, stride in zip(self.steps, above, self.strides))

    @property
    def row(self) -> int:
        """Indices that follow each other with the finest stride; 0: all."""
        return self.steps[1] if len(self.steps) > 1 else 0

    def carries(self, buffer: str, indices: int) -> Iterator[Carry]:
        """Yield what an iteration over so many indices does not move by itself."""
        levels = list(zip(self.steps, self.strides))
        for (step, stride), (up, further) in pairwise(levels):
            yield Carry(buffer, up // indices, further - up // step * stride)


@frozen
class CutRows:
    """A fused axis whose rows panels cut.

    Attributes:
        axis: its name.
        walked: what loops walk: the axis where its blocks end early, else its first part.
        lengths: indices of a packed block, the most first.
        outside, inside: where an index lies in the tensor and in scratch.
        per: how many indices of the nest's axis each of them stands for (see `Level`).
    """

    axis: str
    walked: str
    lengths: tuple[int, ...]
    outside: Digits
    inside: Digits
    per: int = 1

    @staticmethod
    def of(axis: str, layout: PackedLayout, lengths: tuple[int, ...], parts: Sequence[Part]) -> CutRows:
        """Return the axis as a layout and the parts of a tensor have it."""
        digits = [(d.step, s) for d, s in zip(layout.digits, layout.strides) if d.axis == axis][::-1]
        steps = (*(rows_of(tuple(parts[i:])) for i in range(len(parts))),)[::-1]
        outside = Digits(steps, tuple(part.stride for part in parts[::-1]))
        steps, strides = zip(*digits)
        walked = axis if len(lengths) > 1 else parts[0].name
        return CutRows(axis, walked, lengths, outside, Digits(steps, strides))

    def level(self, step: int, span: int, outside: int, inside: int) -> Level:
        """Return what walks so many indices of the axis; short blocks end where they end."""
        return Level(self.walked, step, span, self.lengths[1:], outside, inside, self.per)

    @property
    def period(self) -> int:
        """Indices after which pieces repeat: whole units of the coarsest digits on both sides."""
        return math.lcm(self.outside.steps[-1], self.inside.steps[-1])

    @property
    def grain(self) -> int:
        """Indices that neither a row nor a panel ever cuts."""
        return math.gcd(self.outside.row, self.inside.row)

    def pieces(self, start: int, stop: int) -> list[Piece]:
        """Return the pieces of some indices: cut where a row or a panel ends."""
        ends = {stop, *range(start, stop, self.outside.row), *range(start, stop, self.inside.row)}
        places = sorted(ends)
        return [Piece(b - a, self.outside.place(a), self.inside.place(a)) for a, b in pairwise(places)]

    @property
    def repeats(self) -> bool:
        """Whether a few pieces repeat: short blocks must end with them."""
        alike = len(self.lengths) == 1 or not any(length % self.period for length in self.lengths)
        return alike and len(self.pieces(0, min(self.period, self.lengths[0]))) <= MOST_PIECES


def cut_rows(
    layout: PackedLayout, lengths: Mapping[str, tuple[int, ...]], parts: Mapping[str, tuple[Part, ...]], operand: str
) -> CutRows | None:
    """Return the fused axis of a packed block whose panels cut rows; None: there is none.

    Raises:
        ScheduleError: there are two, or the block itself ends inside a row.
    """
    found = [axis for axis in parts if _cuts(layout, axis, rows_of(parts[axis]))]
    if not found:
        return None
    if len(found) > 1:
        raise ScheduleError(
            f"pack of {operand}: panels of {' and of '.join(found)} cut rows\n"
            f"  Take multiples of {rows_of(parts[found[1]])} for {found[1]}, or no panels."
        )
    (axis,) = found
    row = rows_of(parts[axis])
    if any(length % row for length in lengths[axis]):
        raise ScheduleError(
            f"pack of {operand}: its block of {lengths[axis][0]} {axis} cuts rows of {row} indices\n"
            f"  Take a multiple of {row}, or pack it outside."
        )
    return CutRows.of(axis, layout, lengths[axis], parts[axis])


def _cuts(layout: PackedLayout, axis: str, row: int) -> bool:
    """Whether some panel of an axis begins or ends inside a row."""
    return any(digit.axis == axis and digit.step > 1 and digit.step % row for digit in layout.digits)


def _beside(others: Sequence[Level], axes: Container[str]) -> tuple[Level | None, list[Level]]:
    """Return the level that the primitive takes beside a piece, a few of its indices, and those that loops walk."""
    walked = [level for level in others if level.span > level.step]
    taken = min((each for each in walked if each.step == 1), key=lambda each: abs(each.outside), default=None)
    split = None if taken is None or abs(taken.outside) == 1 else in_few(taken, axes)
    if split is None:
        return taken, [level for level in walked if level is not taken]
    rest, few = split
    return few, [rest if level is taken else level for level in walked]


@frozen
class CutCopy:
    """The copy between a tensor and a packed block with panels that cut rows.

    Attributes:
        tensor, scratch: names of both buffers.
        rows: the axis whose rows are cut.
        axes: those of the nest that the copy is part of.
        staged: whether it leads out of scratch, past the caches.
        calls: returns what becomes of the copy of one piece.
    """

    tensor: str
    scratch: str
    rows: CutRows
    axes: Container[str]
    staged: bool = False
    calls: Callable[[Call], Iterable[Call]] = lambda call: (call,)

    def node(self, others: Sequence[Level]) -> Pack:
        """Return the copy of a block whose other levels are these.

        A few indices of what lies closest in the tensor are taken along; what is left of it and all else is walked
        outside.
        """
        beside, around = _beside(others, self.axes)
        body = self._pieces(beside) if self.rows.repeats else self._steps(beside)
        for number, level in enumerate(sorted(around, key=lambda level: abs(level.outside))):
            body = (level.loop(str(number), self.tensor, self.scratch, body),)
        way = (self.tensor, self.scratch) if self.staged else (self.scratch, self.tensor)
        return Pack(*way, body)

    def _pieces(self, beside: Level | None) -> tuple[Node, ...]:
        """The pieces of a period, as often as it fits, and of the rest."""
        rows, length = self.rows, self.rows.lengths[0]
        whole = length - length % rows.period
        rest = tuple(self._copies(rows.pieces(whole, length), beside)) if whole < length else ()
        if not whole:
            return rest
        body = tuple(self._copies(rows.pieces(0, rows.period), beside))
        period = rows.period
        level = rows.level(period, whole, rows.outside.place(period), rows.inside.place(period))
        return level.loop("rows", self.tensor, self.scratch, body), *rest

    def _steps(self, beside: Level | None) -> tuple[Node, ...]:
        """Steps that nothing cuts, which count when a row or a panel ends."""
        rows, grain = self.rows, self.rows.grain
        body = tuple(self._copies([Piece(grain, 0, 0)], beside))
        level = rows.level(grain, rows.lengths[0], grain * rows.outside.strides[0], grain * rows.inside.strides[0])
        loop = level.loop("rows", self.tensor, self.scratch, body)
        carries = (*rows.outside.carries(self.tensor, grain), *rows.inside.carries(self.scratch, grain))
        return (replace(loop, carries=carries),)

    def _copies(self, pieces: Iterable[Piece], beside: Level | None) -> Iterator[Call]:
        outside, inside = self.rows.outside.strides[0], self.rows.inside.strides[0]
        others = (beside.outside, beside.inside) if beside else (0, 0)
        for piece in pieces:
            tensor = Access(self.tensor, (outside, others[0]), piece.outside)
            scratch = Access(self.scratch, (inside, others[1]), piece.inside)
            blocks = (Block(None, piece.size), beside.block() if beside else Block(None, 1))
            way = (scratch, tensor) if self.staged else (tensor, scratch)
            yield from self.calls(Call(Primitive.IDENTITY, blocks, way, streams=self.staged))
