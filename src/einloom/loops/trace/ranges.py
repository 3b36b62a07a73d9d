"""Which values symbols take: for checks that subscripts stay inside their tensors, and for tests of remainders."""

from __future__ import annotations

from dataclasses import replace

from einloom.errors import ShapeError
from einloom.frozen import frozen
from einloom.ir.sharing import THREAD, Dimension, Grid
from einloom.loops.nest import LETTERS, LoopNest
from einloom.loops.trace.index import Condition, Index
from einloom.loops.trace.recorder import RecordedCall
from einloom.loops.trace.tensor import Part, Tensor

__all__ = ["Ranges", "check_inside", "touched"]


@frozen(slots=False)
class Ranges:
    """The least and the greatest value of every symbol."""

    nest: LoopNest
    values: dict[str, tuple[int, int]]

    @staticmethod
    def of(nest: LoopNest) -> Ranges:
        """Return the ranges in all iterations of a nest."""
        values: dict[str, tuple[int, int]] = {}
        for letter, spec in zip(LETTERS, nest.specs):
            last, left = spec.start, spec.extent
            for loop in nest.loops:
                if loop.letter == letter and left:
                    skipped = (left - 1) // loop.step * loop.step
                    last, left = last + skipped, min(left - skipped, loop.step)
            values[letter] = (spec.start, last)
        grid = nest.grid or Grid()
        counts = dict(zip(Dimension, (grid.rows, grid.columns, grid.layers)))
        values[THREAD] = (0, nest.threads - 1)
        return Ranges(nest, values | {str(name): (0, count - 1) for name, count in counts.items()})

    def under(self, condition: Condition | None) -> Ranges:
        """Return the ranges where a condition holds, as far as it bounds single symbols."""
        values = dict(self.values)
        for each in () if condition is None else condition.comparisons:
            if each.modulus or len(each.index.terms) != 1:
                continue
            ((symbol, factor),) = each.index.terms.items()
            if factor not in (1, -1):
                continue
            low, high = values[symbol]
            bound = (each.bound - each.index.constant) * factor
            relation = (
                each.relation
                if factor == 1
                else {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}.get(each.relation, each.relation)
            )
            high = min(high, {"lt": bound - 1, "le": bound, "eq": bound}.get(relation, high))
            low = max(low, {"gt": bound + 1, "ge": bound, "eq": bound}.get(relation, low))
            values[symbol] = (low, high)
        return replace(self, values=values)

    @property
    def is_empty(self) -> bool:
        """Whether no iteration has such values."""
        return any(low > high for low, high in self.values.values())

    def of_index(self, index: Index) -> tuple[int, int]:
        """Return the least and the greatest value of an index."""
        ends = [sorted(factor * end for end in self.values[symbol]) for symbol, factor in index.terms.items()]
        return index.constant + sum(low for low, _ in ends), index.constant + sum(high for _, high in ends)


def touched(call: RecordedCall, tensor: Tensor, nest: LoopNest) -> tuple[Part, ...]:
    """Return the parts of a base that a call touches: along its batch's loop more than the first block."""
    if call.batch is None or tensor is call.tensors[-1]:
        return tensor.parts
    step = next(loop.step for loop in nest.innermost if loop.letter == call.batch)
    parts: list[Part] = []
    for part in tensor.parts:
        factor = part.start.terms.get(call.batch, 0)
        if factor:
            alone = factor == 1 and len(part.start.terms) == 1 and part.length == 1
            part = replace(
                part, length=abs(factor) * (step - 1) + part.span, loop=call.batch if alone else None, step=1
            )
            if factor < 0:
                part = replace(part, start=part.start + factor * (step - 1))
        parts.append(part)
    return tuple(parts)


def check_inside(call: RecordedCall, ranges: Ranges) -> None:
    """Refuse blocks that leave their tensor in some iteration.

    Raises:
        ShapeError: the axis, and how far the subscript goes.
    """
    for tensor in call.tensors:
        for axis, (part, extent) in enumerate(zip(touched(call, tensor, ranges.nest), tensor.base.shape)):
            low, high = ranges.of_index(part.start)
            end = high + part.span
            if part.loop is not None:
                end = min(end, part.start.constant + ranges.nest.specs[LETTERS.index(part.loop)].bound)
            if low < 0 or end > extent:
                reached = low if low < 0 else end - 1
                raise ShapeError(
                    f"{tensor!r} reaches index {reached} of axis {axis}, which has {extent}\n  {call.line}\n"
                    "  Mend the loop's bounds or the subscript, or put the call under el.when."
                )
