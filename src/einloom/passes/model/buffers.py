"""`Buffers`: the operands of an operation as the cost model sees them, and the footprints of their blocks."""

from __future__ import annotations

from einloom.ir.fused import FusedView
from einloom.ir.operation import Operation
from einloom.ir.schedule import Fused
from einloom.passes.model.footprint import HUGE, HUGE_PAGE, PAGE, Footprint
from einloom.passes.model.walk import StridedAxis, Use, Walk

__all__ = ["Buffers"]


class Buffers:
    """The operands of an operation with some axes fused: what they are made of, and their footprints so far."""

    def __init__(self, operation: Operation, fused: tuple[Fused, ...]) -> None:
        self.view = view = FusedView.of(operation, fused)
        self.places = {axis.name: i for i, axis in enumerate(view.axes)}
        self.strided = [self._strided(operand.name) for operand in operation.operands]
        self.names = [operand.name for operand in operation.operands]
        self.sizes = [operand.dtype.size for operand in operation.operands]
        self.bytes = [operation.elements(operand) * operand.dtype.size for operand in operation.operands]
        self._known: dict[tuple[tuple[StridedAxis, ...], int], dict[tuple[float, ...], Footprint]] = {}

    def _strided(self, operand: str) -> tuple[StridedAxis, ...]:
        found = [StridedAxis(abs(s), self.places[name]) for name, s in self.view.strides[operand].items() if s]
        for name, parts in self.view.parts[operand].items():
            step = 1
            for part in reversed(parts):
                found.append(StridedAxis(abs(part.stride), self.places[name], step, step * part.extent))
                step *= part.extent
        return tuple(sorted(found))

    def use(self, position: int, walk: Walk, strided: tuple[StridedAxis, ...], first: int, last: int) -> Use:
        """Return the use of an operand, or of scratch for it, at the depths from `first` to `last`."""
        is_large = strided is self.strided[position] and self.bytes[position] >= HUGE
        size, page = self.sizes[position], HUGE_PAGE if is_large else PAGE
        known = self._known.setdefault((strided, page), {})

        def footprint(counts: tuple[float, ...]) -> Footprint:
            found = known.get(counts)
            if found is None:
                strides = [each.stride for each in strided]
                found = known[counts] = Footprint.of(zip(strides, counts), size, page)
            return found

        return Use.of(walk, strided, first, last, footprint)
