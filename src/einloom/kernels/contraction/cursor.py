"""`Cursor`: where the elements of one operand of a tile lie, relative to the pointers that walk it.

Strides are in bytes: an `int` becomes a displacement, the name of a variable an index register where the ISA has them,
else a pointer of its own for every column.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat

from einloom.kernels.contraction.product import StridedMatrix
from einloom.kernels.verbs.frame import Frame
from einloom.kernels.verbs.scalar import A, R, ScalarVerbs

__all__ = ["Cursor", "Strides"]


class Strides:
    """Strides of the operands in bytes; those that no displacement can say become variables."""

    def __init__(self, reach: int) -> None:
        self._reach = reach
        self.scaled: dict[str, int] = {}  # arguments in elements, with the element's size
        self.constants: dict[str, int] = {}

    def of(self, operand: StridedMatrix, extents: tuple[int, ...]) -> tuple[int | str, ...]:
        """Return the strides of an operand whose tile spans `extents` indices of each axis."""
        room, element = self._reach, operand.dtype.size
        result: list[int | str] = []
        for axis, (stride, extent) in enumerate(zip(operand.strides, extents)):
            if isinstance(stride, str):
                self.scaled[stride] = element
                result.append(stride)
                continue
            span = abs(stride) * element * max(extent - 1, 0)
            if span <= room:
                room -= span
                result.append(stride * element)
            else:
                name = f"{operand.name}_{'mnkb'[axis]}"
                self.constants[name] = stride * element
                result.append(name)
        return tuple(result)


@dataclass(slots=True)
class Cursor:
    """One operand of a tile.

    Attributes:
        operand: whose elements.
        strides: along (m, n, k, batch) in bytes, or names of variables.
        pointers: variables that point to columns 0, `group`, 2 `group`, …; the first one to the tile's first element.
        group: columns that one pointer reaches by index registers.
        triple: variable that holds three times the stride along n.
    """

    operand: StridedMatrix
    strides: tuple[int | str, ...]
    pointers: tuple[str, ...]
    group: int
    triple: str | None

    @staticmethod
    def of(
        km: ScalarVerbs[R, A], operand: StridedMatrix, strides: tuple[int | str, ...], columns: int, base: str
    ) -> Cursor:
        """Return the cursor over `columns` columns that starts from the variable `base`."""
        if isinstance(strides[1], int) or columns == 1:
            return Cursor(operand, strides, (base,), max(columns, 1), None)
        group = 5 if km.scales else 1
        count = -(-columns // group)
        pointers = (base, *(f"{operand.name}_column{group * i}" for i in range(1, count)))
        triple = f"{strides[1]}_3" if km.scales and columns > 3 else None
        return Cursor(operand, strides, pointers, group, triple)

    @property
    def variables(self) -> list[str]:
        """Variables that every step uses."""
        names = list(self.pointers)
        if len(self.pointers) > 1 or self.group > 1:
            names += [stride for stride in (self.strides[1], self.triple) if isinstance(stride, str)]
        names += [stride for stride in (self.strides[0], self.strides[2]) if isinstance(stride, str)]
        return names

    def spread(self, frame: Frame[R, A], columns: int) -> None:
        """Set the pointers of the further groups of columns from the first one."""
        for index in range(1, -(-columns // self.group)):
            before, this = self.pointers[index - 1 : index + 1]
            with frame.assigned(this) as pointer:
                frame.km.sum_multiple(pointer, frame.read(before), frame.read(str(self.strides[1])), self.group)

    def address(self, frame: Frame[R, A], row_bytes: int, column: int, step: int) -> tuple[R, int, R | None, int]:
        """Return (base, offset, index, scale) of a column and step; `row_bytes` is the known distance along m."""
        offset = row_bytes + (step * self.strides[2] if isinstance(self.strides[2], int) else 0)
        if isinstance(self.strides[1], int):
            return frame.read(self.pointers[0]), offset + column * self.strides[1], None, 1
        group, rest = divmod(column, self.group)
        base = frame.read(self.pointers[group])
        if rest == 0:
            return base, offset, None, 1
        if rest == 3:
            return base, offset, frame.read(str(self.triple)), 1
        return base, offset, frame.read(self.strides[1]), rest

    def place(self, frame: Frame[R, A], row_bytes: int, column: int, step: int) -> A:
        """Return the address of an element as a place."""
        return frame.km.place(*self.address(frame, row_bytes, column, step))

    def places(self, frame: Frame[R, A], step: int, columns: int) -> Iterator[A]:
        """Return the place of the first element of each column; one is used before the next is asked for."""
        along_n = self.strides[1]
        if isinstance(along_n, str):
            return (self.place(frame, 0, column, step) for column in range(columns))
        base, offset, *_ = self.address(frame, 0, 0, step)
        offsets = range(offset, offset + columns * along_n, along_n) if along_n else repeat(offset, columns)
        return map(frame.km.place, repeat(base), offsets)

    def advance(self, frame: Frame[R, A], columns: int, steps: int) -> None:
        """Move the pointers of `columns` columns by `steps` of k."""
        for name in self.pointers[: -(-columns // self.group)]:
            frame.advance(name, self.strides[2], steps)
