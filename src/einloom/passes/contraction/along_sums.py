"""Contractions of complex numbers where both inputs lie along one axis that is summed: vectors run along it.

Nothing is packed: a kernel multiplies rows of one input by rows of the other and sums over lanes at the end of each. So
are density matrices made, scalar products of many states, and products with a transposed factor whose rows are few.
Other summed axes stand around it, outside of all else or inside.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from einloom.frozen import frozen
from einloom.ir.operation import Axis, DimType, Operation
from einloom.ir.schedule import Prims, Schedule, ScheduledLoop
from einloom.machine import Machine
from einloom.passes.contraction.pairs import lying_apart
from einloom.passes.model.cost import Cost, CostModel
from einloom.passes.model.kernel import CALL
from einloom.passes.model.sizes import equal_block

__all__ = ["AlongSum"]

ROWS = 4
"""Rows that kernels sum at once where they follow each other in the output."""

SEVERAL, ALONE = 2.0, 2.5
"""Cycles in which a vector of a row meets one of a column, which is loaded once for all rows of a tile."""

END = 28
"""Cycles of a tile's end: sums over lanes, one exchange after the other."""

ROW, ROWS_TOGETHER = 8, 2
"""Which part of L1 a piece of a row takes, one in so many, and those rows of an input that a call has together."""


@frozen
class AlongSum:
    """The axes of such a contraction: `k` is contiguous in both inputs; `m` and `n` are the closest in the output."""

    operation: Operation
    k: Axis
    m: Axis | None
    n: Axis | None

    @staticmethod
    def of(operation: Operation, machine: Machine) -> AlongSum | None:
        """Return the axes; None where the inputs do not lie along one that fills a vector."""
        if len(operation.inputs) != 2:
            return None
        first, second = map(operation.contiguous_axis, operation.inputs)
        if first is None or first is not second or first.role is not DimType.K:
            return None
        if any(operation.stride(operand, first.name) != 1 for operand in operation.inputs):
            return None
        if first.extent * operation.accumulate.size * 8 < machine.vector_bits:
            return None
        return AlongSum(operation, first, _closest(operation, DimType.M), _closest(operation, DimType.N))

    @property
    def has_few_rows(self) -> bool:
        """Whether a copy of either input would be read for a few rows of the other alone."""
        return min(1 if axis is None else axis.extent for axis in (self.m, self.n)) <= ROWS

    def schedules(self, machine: Machine) -> Iterator[Schedule]:
        """Yield nests with the other summed axes outside of the rows, and inside.

        before: asb,atb->st
        after:  seq a:1 seq b:512 prim m=s n=t k=b
        """
        operation, size = self.operation, self.operation.accumulate.size
        larger = max(operation.inputs, key=operation.elements)
        steps = {self.k.name: equal_block(self.k.extent, max(machine.l1d // ROW // size, 1))}
        most = max(machine.l1d // ROWS_TOGETHER // (steps[self.k.name] * size), ROWS)
        steps |= {axis.name: equal_block(axis.extent, most, ROWS) for axis in (self.m, self.n) if axis is not None}
        loops: dict[bool, list[ScheduledLoop]] = {True: [], False: []}
        batch = list[ScheduledLoop]()
        for axis in operation.outermost_first(larger, operation.axes):
            step = steps.get(axis.name, 1)
            if step < axis.extent:
                of = batch if axis.role is DimType.C else loops[axis.role is DimType.K]
                of.append(ScheduledLoop(axis.name, step))
        prims = Prims(*(axis.name if axis else None for axis in (self.m, self.n, self.k)))
        whole = [ScheduledLoop(self.k.name, self.k.extent)]
        for outer, inner in ((True, False), (False, True)):
            yield Schedule(tuple([*batch, *loops[outer], *loops[inner]] or whole), prims)

    def cost(self, schedule: Schedule, machine: Machine, threads: int) -> Cost:
        """Return the predicted seconds: transfers are those of reals that lie as far apart."""
        operation, output = self.operation, self.operation.output
        model = CostModel(lying_apart(operation), machine, asks_in_place=False, may_leave=False)
        steps = {loop.axis: loop.step for loop in schedule.loops}
        m, n, k = (1 if axis is None else steps.get(axis.name, axis.extent) for axis in (self.m, self.n, self.k))
        follows = self.m is not None and operation.stride(output, self.m.name) == 1
        rows, columns = (m, n) if follows else (n, m)
        is_one = operation.contiguous_axis(output) not in (self.m, self.n)
        each = 1 if is_one else min(rows, ROWS)
        vectors = math.ceil(k * operation.accumulate.size * 8 / machine.vector_bits)
        tile = each * vectors * (SEVERAL if each > 1 else ALONE) + END
        cycles = operation.points / (m * n * k) * (CALL + columns * math.ceil(rows / each) * tile)
        return model.cost(schedule, threads)._replace(arithmetic=cycles * model.product / threads)


def _closest(operation: Operation, role: DimType) -> Axis | None:
    """The axis of a role that is the closest in the output."""
    own = (axis for axis in operation.axes if axis.role is role)
    return min(own, key=lambda axis: operation.distance(operation.output, axis), default=None)
