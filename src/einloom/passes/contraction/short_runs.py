"""Contractions of complex numbers whose vectors are several short runs of memory, with what lies between them masked.

Where the innermost axes of the output are short, since an axis that is summed, or the other input's, lies between them
and the next one, vectors along any one axis are nearly empty. If the operand and the output have the same distance from
run to run, a vector of memory holds several of both: what is between them is loaded as well, and not stored. Where the
columns fill in the output exactly what lies between runs, nothing is masked (`einloom.ir.vector_lanes`). A gate on a
late site of a state is such a contraction.
Of long runs, vectors are whole anyway; several columns are computed at once, for as much of a run as L1 keeps, with the
other input in registers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from einloom.frozen import frozen
from einloom.ir.operation import Axis, DimType, Operation
from einloom.ir.schedule import Prims, Schedule, ScheduledLoop
from einloom.ir.vector_lanes import LaneAxis, Lanes, lanes_of
from einloom.kernels.verbs.products import vectors_of
from einloom.machine import Machine
from einloom.passes.contraction.pairs import lying_apart
from einloom.passes.model.cost import Cost, CostModel
from einloom.passes.model.sizes import equal_block

__all__ = ["ShortRuns"]

PART = 3
"""Which part of L1 the elements of a block take, one in so many: it is read again for each column."""

LONGEST = 8
"""Vectors of the longest run: longer ones are as fast one by one."""

PRODUCT, END = 1.5, 3
"""Cycles of a product of a vector with both parts of an element, one of two loads across lines; and of a sum's end."""


@frozen
class ShortRuns:
    """The axes of such a contraction, by what they are for.

    Attributes:
        operation: of complex numbers.
        vector: position of the operand that is read in vectors.
        across: the axis from run to run; `along`: that within a run, if runs are longer than an element.
        elements: of a vector, without what is masked.
        lanes: how vectors are filled where kernels keep the other input in registers; then a vector has no gaps.
        family: what schedules are called.
    """

    operation: Operation
    vector: int
    across: Axis
    along: Axis | None
    elements: float
    lanes: Lanes | None = None
    family: str = "in short runs"

    @staticmethod
    def of(operation: Operation, machine: Machine) -> ShortRuns | None:
        """Return the axes; None where no vector holds more than an element, and where three axes are summed."""
        summed = [axis for axis in operation.axes if axis.role is DimType.K and axis.extent > 1]
        if len(operation.inputs) != 2 or len(summed) > 2:
            return None
        found = [_runs(operation, position, machine) for position in (0, 1)]
        return max((each for each in found if each), key=lambda each: each.elements, default=None)

    @property
    def columns(self) -> list[Axis]:
        """Axes that only the other input and the output have, outermost first."""
        role = DimType.M if self.vector else DimType.N
        columns = (axis for axis in self.operation.axes if axis.role is role and axis.extent > 1)
        return self.operation.outermost_first(self.operation.output, columns)

    def schedule(self, machine: Machine) -> Schedule:
        """Return loops in the order of the operand, of blocks that L1 holds while all columns are computed.

        before: in0 a=1024 c=512 d=4 s=2 t=1, in1 X=8 Y=4 c=2 s=1, out a=1024 X=512 d=4 Y=2 t=1  (complex64)
        after:  seq a:1 seq X:1 seq Y:1 prim m=d n=t k=s batch=c
        """
        operation, operand, columns = self.operation, self.operation.inputs[self.vector], self.columns
        summed = [axis for axis in operation.axes if axis.role is DimType.K and axis.extent > 1]
        summed.sort(key=lambda axis: operation.distance(operand, axis))
        n = self.along or (columns[-1] if columns else None)
        names = [axis.name for axis in summed]
        prims = Prims(self.across.name, n.name if n else None, *names)
        taken = {*prims.names, *(axis.name for axis in columns)}
        outer = [axis for axis in operation.axes if axis.name not in taken and axis.extent > 1]
        loops = [ScheduledLoop(axis.name, 1) for axis in operation.outermost_first(operand, outer)]
        step = equal_block(self.across.extent, self.most(machine))
        step -= step % self.lanes.each if self.lanes and step > self.lanes.each else 0
        loops += [ScheduledLoop(self.across.name, step)] if step < self.across.extent else []
        loops += [ScheduledLoop(axis.name, 1) for axis in columns if axis is not n]
        return Schedule(tuple(loops) or (ScheduledLoop(self.across.name, self.across.extent),), prims)

    def most(self, machine: Machine) -> int:
        """Return how many runs a block has at most; 0 where L1 has no room for one."""
        run, columns = self.along.extent if self.along else 1, math.prod(axis.extent for axis in self.columns)
        return machine.l1d // PART // (run * (self._products + columns) * self.operation.accumulate.size)

    def keeps(self, lanes: Lanes, machine: Machine) -> bool:
        """Whether kernels keep the other input in registers for a block."""
        registers = vectors_of(machine.vectors, self.operation.accumulate.real).registers
        return lanes.repays(registers) and self.most(machine) >= lanes.each

    @property
    def _products(self) -> int:
        return math.prod(axis.extent for axis in self.operation.axes if axis.role is DimType.K)

    def cost(self, schedule: Schedule, machine: Machine, threads: int) -> Cost:
        """Return the predicted seconds: transfers are those of reals that lie as far apart."""
        model = CostModel(lying_apart(self.operation), machine, asks_in_place=False, may_leave=False)
        transfers = model.cost(schedule, threads)
        vectors = self.operation.points / self._products / self.elements
        return transfers._replace(arithmetic=vectors * (PRODUCT * self._products + END) * model.product / threads)


def _runs(operation: Operation, vector: int, machine: Machine) -> ShortRuns | None:
    """The runs of one input."""
    room = machine.vector_bits // (8 * operation.accumulate.size)
    operand, output = operation.inputs[vector], operation.output
    own = [axis for axis in operation.axes if axis.role is (DimType.N if vector else DimType.M) and axis.extent > 1]
    alike = [axis for axis in own if operation.stride(operand, axis.name) == operation.stride(output, axis.name) > 0]
    along = next((axis for axis in alike if operation.stride(output, axis.name) == 1), None)
    across = min((a for a in alike if a is not along), key=lambda a: operation.distance(output, a), default=None)
    run, pitch = along.extent if along else 1, operation.stride(output, across.name) if across else 0
    if along is not None and run > LONGEST * room:
        return _in_one_run(operation, vector, along, room, machine)
    if across is None or run >= pitch:
        return None
    count = min(max(room // pitch, 1), across.extent if machine.vectors.masks_any else 1)
    runs = ShortRuns(operation, vector, across, along, count * run / max(-(-run // room), 1))
    lanes = lanes_of(_lane_axes(runs), room)
    if lanes is not None and lanes.sums_lanes and runs.keeps(lanes, machine):
        return replace(runs, elements=room, lanes=lanes)
    # Single runs repay one call for many of them where it takes less than all columns anyway.
    repays = count > 1 or (2 * run >= room and len(runs.columns) > 1)
    return runs if repays and runs.most(machine) >= count else None


def _in_one_run(operation: Operation, vector: int, along: Axis, room: int, machine: Machine) -> ShortRuns | None:
    """Whole vectors of a long run, for which a small matrix of several columns stays in registers."""
    runs = ShortRuns(operation, vector, along, None, room, family="matrix in registers")
    lanes = lanes_of(_lane_axes(runs), room) if len(runs.columns) > 1 else None
    return replace(runs, lanes=lanes) if lanes is not None and runs.keeps(lanes, machine) else None


def _lane_axes(runs: ShortRuns) -> Iterator[LaneAxis]:
    """Yield what a call and the loops over columns around it walk."""
    operation = runs.operation
    operands = operation.inputs[runs.vector], operation.inputs[1 - runs.vector], operation.output
    summed = (axis for axis in operation.axes if axis.role is DimType.K)
    for axis in (runs.across, *([runs.along] if runs.along else []), *runs.columns, *summed):
        yield LaneAxis(axis.extent, *(operation.stride(operand, axis.name) for operand in operands))
