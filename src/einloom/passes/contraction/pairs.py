"""Contractions of complex numbers: the proposals for reals, counted in complex elements again.

Their packs of the vector operand are of the form 1e (`einloom.ir.turned`): to blocking and to the cost model the
contraction is one of reals whose k, and whose axis along which vectors run, have twice as many indices. Where vectors
run along memory in all operands, elements may also be multiplied where they lie, without packs: then vectors of one
operand are multiplied by both parts of the other's elements.
"""

from __future__ import annotations

from dataclasses import replace

from einloom.frozen import frozen
from einloom.ir.operation import Axis, DimType, Operand, Operation
from einloom.ir.schedule import OUTPUT, Digit, Prims, Schedule
from einloom.ir.turned import PART, TERM
from einloom.passes.identify import vector_operand

__all__ = ["Reals", "lying_apart"]


def lying_apart(operation: Operation) -> Operation:
    """Return the operation on one part of each complex element: what it moves is what all of them move."""
    operands = (
        Operand(each.name, each.dtype.real, tuple(2 * stride for stride in each.strides)) for each in operation.operands
    )
    return replace(operation, operands=tuple(operands))


@frozen
class Reals:
    """A contraction as blocking and costs see it.

    Attributes:
        operation, prims: on reals.
        vector: position of the operand that is turned.
        m, k: the axes that have twice as many indices; None: parts are an axis of their own.
        packs: whether vectors are packed, and nothing else need be; else nothing is.
    """

    operation: Operation
    prims: Prims
    vector: int
    m: str | None
    k: str | None
    packs: bool = True

    @staticmethod
    def of(operation: Operation, prims: Prims, staged: bool = False) -> Reals:
        """Return the stand-in of a contraction of complex numbers; `staged`: blocks of the output are packed along m.

        before: axis a 8 m, axis b 6 k, axis c 5 n; prim m=a n=c k=b
        after:  axis a 16 m, axis b 12 k, axis c 5 n; prim m=a n=c k=b
        """
        vector = vector_operand(operation, prims)
        role = DimType.N if vector else DimType.M
        m = prims.m
        if m is not None and operation.axis(m).role is not role:
            m = None
        if m is not None and not staged and operation.stride(operation.output, m) != 1:
            m = None
        doubled = [name for name in (m, prims.k) if name is not None]
        axes = [replace(a, extent=2 * a.extent) if a.name in doubled else a for a in operation.axes]
        ends: list[tuple[int, ...]] = [(), (), ()]
        if m is None:
            axes.append(Axis(PART, 2, role))
            ends = [(int(i in (vector, 2)),) for i in range(3)]
            prims = replace(prims, m=PART) if prims.m is None else replace(prims, n=prims.n or PART)
        if prims.k is None:
            axes.append(Axis(TERM, 2, DimType.K))
            ends = [(*end, int(i < 2)) for i, end in enumerate(ends)]
            prims = replace(prims, k=TERM)
        operands = tuple(
            Operand(o.name, o.dtype.real, (*_in_reals(operation, o, doubled, i == vector), *end))
            for i, (o, end) in enumerate(zip(operation.operands, ends))
        )
        reals = replace(operation, axes=tuple(axes), operands=operands)
        return Reals(reals, prims, vector, m, prims.k if prims.k != TERM else None)

    @staticmethod
    def where_they_lie(operation: Operation, prims: Prims, staged: bool = False) -> Reals | None:
        """Return the stand-in of a contraction without packs of inputs; None where vectors do not run along memory.

        before: axis a 8 m, axis b 6 k, axis c 5 n; prim m=a n=c k=b
        after:  axis a 16 m, axis b 6 k, axis c 5 n, axis term 2 k, which in0 does not depend on; batch=term
        """
        vector, m = vector_operand(operation, prims), prims.m
        along = [0 if m is None else operation.stride(operand, m) for operand in operation.operands]
        if m is None or along[vector] != 1 or along[1 - vector] not in (0, 1) or (along[-1] != 1 and not staged):
            return None
        axes = [replace(a, extent=2 * a.extent) if a.name == m else a for a in operation.axes]
        operands = tuple(
            Operand(o.name, o.dtype.real, (*_in_reals(operation, o, [m]), int(i == 1 - vector)))
            for i, o in enumerate(operation.operands)
        )
        reals = replace(operation, axes=(*axes, Axis(TERM, 2, DimType.K)), operands=operands)
        taken = replace(prims, k=TERM) if prims.k is None else replace(prims, batch=prims.batch or TERM)
        return Reals(reals, taken, vector, m, None, packs=False)

    @property
    def undecided(self) -> tuple[Operation, Schedule]:
        """The contraction of reals and the schedule so far: what its primitive takes."""
        return self.operation, Schedule((), self.prims)

    def restored(self, schedule: Schedule) -> Schedule | None:
        """Return a schedule for reals as one for complex elements; None if it would cut pairs, or packs otherwise."""
        packed = {pack.operand for pack in schedule.packs} - {OUTPUT}
        if (self.vector not in packed if self.packs else packed) or schedule.prims.k != self.prims.k:
            return None
        parts = {each.name: each.parts for each in schedule.fused}
        m = schedule.prims.m
        goes_on = m == self.m or (self.m and parts.get(m or "", ("",))[-1] == self.m.split("*")[-1])
        if (self.m is not None and not goes_on) or any({PART, TERM} & {*each} for each in parts.values()):
            return None
        doubled = {name for name in (m if self.m else None, self.k) if name is not None}
        if any(step % 2 for axis, step in _steps(schedule) if axis in doubled and axis != self.k):
            return None
        return self._counted(schedule, doubled)

    def _counted(self, schedule: Schedule, doubled: set[str]) -> Schedule:
        """The schedule with steps that count complex elements, without axes over parts."""
        gone = [loop.axis in (PART, TERM) for loop in schedule.loops]
        loops = tuple(
            loop._replace(step=-(-loop.step // 2)) if loop.axis in doubled else loop
            for loop, drops in zip(schedule.loops, gone)
            if not drops
        )
        packs = tuple(
            replace(
                pack,
                loop=pack.loop - sum(gone[: pack.loop]),
                turned=pack.operand == self.vector,
                layout=tuple(_digit(digit, doubled) for digit in pack.layout if digit.axis not in (PART, TERM)),
            )
            for pack in schedule.packs
        )
        prims = schedule.prims
        prims = replace(
            prims,
            m=None if prims.m == PART else prims.m,
            n=None if prims.n == PART else prims.n,
            k=None if prims.k == TERM else prims.k,
            batch=None if prims.batch == TERM else prims.batch,
        )
        return replace(schedule, loops=loops, packs=packs, prims=prims)


def _in_reals(operation: Operation, operand: Operand, doubled: list[str], turned: bool = False) -> tuple[int, ...]:
    """Strides in reals; an index of a doubled axis is half as far from the next one.

    Copies that turn elements read both parts at once: a summed axis that they lie along is contiguous, so that blocks
    have lines of it.
    """

    def lies(axis: Axis, stride: int) -> bool:
        return axis.name in doubled or (turned and stride == 1 and axis.role is DimType.K)

    return tuple(s if lies(axis, s) else 2 * s for axis, s in zip(operation.axes, operand.strides))


def _steps(schedule: Schedule) -> list[tuple[str, int]]:
    digits = [(d.axis, d.step) for pack in schedule.packs for d in pack.layout if d.step != 1]
    panels = [(axis, step if step > 2 else 1) for axis, step in digits]  # A panel of one element is none.
    return [*((loop.axis, loop.step) for loop in schedule.loops), *panels]


def _digit(digit: Digit, doubled: set[str]) -> Digit:
    return digit._replace(step=digit.step // 2) if digit.axis in doubled and digit.step != 1 else digit
