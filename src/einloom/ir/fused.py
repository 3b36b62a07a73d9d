"""Axes that a schedule walks as one: which operands follow them, and how the others lie.

>>> from einloom.dtypes import FLOAT32
>>> from einloom.ir.operation import Operand, Primitive
>>> axes = (Axis("c", 4, DimType.M), Axis("d", 6, DimType.M))
>>> operands = (Operand("in0", FLOAT32, (1, 4)), Operand("out", FLOAT32, (6, 1)))
>>> view = FusedView.of(Operation(axes, operands, Primitive.IDENTITY), (Fused("cd", ("c", "d")),))
>>> view.axes, view.strides["out"], view.strides["in0"]
((Axis(name='cd', extent=24, role=<DimType.M: 'm'>),), {'cd': 1}, {})
>>> view.parts["in0"]["cd"]
(Part(name='c', extent=4, stride=1), Part(name='d', extent=6, stride=4))
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from einloom.errors import ScheduleError
from einloom.frozen import frozen
from einloom.ir.operation import Axis, DimType, Operand, Operation
from einloom.ir.schedule import Fused

__all__ = ["FusedView", "Part", "rows_of"]


Walked = dict[Fused, tuple[str, ...]]
"""What is fused, with the operation's axes that it is made of."""


@frozen
class Part:
    """One of the axes that were fused, as an operand has it; those that follow each other there are one part."""

    name: str
    extent: int
    stride: int


@frozen
class FusedView:
    """An operation with some of its axes walked as one.

    Attributes:
        axes: the axes that loops walk, a fused one in the place of its first part.
        strides: by operand and axis, in elements, where the operand has one stride along the axis.
        parts: by operand and fused axis, outermost first, where it has several.
    """

    axes: tuple[Axis, ...]
    strides: dict[str, dict[str, int]]
    parts: dict[str, dict[str, tuple[Part, ...]]]

    @staticmethod
    def of(operation: Operation, fused: Sequence[Fused]) -> FusedView:
        """Return the view of an operation.

        Raises:
            ScheduleError: parts that are no axes, have different roles or stand twice, or a name that is taken.
        """
        if not fused:
            strides = {operand.name: operation.strides(operand) for operand in operation.operands}
            return FusedView(operation.axes, strides, {name: {} for name in strides})
        walked = {each: _axes_of(operation, each) for each in fused}
        _check(operation, walked)
        first = {names[0]: each for each, names in walked.items()}
        gone = {name for names in walked.values() for name in names}
        axes: list[Axis] = []
        for axis in operation.axes:
            if axis.name in first:
                each = first[axis.name]
                axes.append(Axis(each.name, math.prod(operation.axis(p).extent for p in walked[each]), axis.role))
            elif axis.name not in gone:
                axes.append(axis)
        view = FusedView(tuple(axes), {}, {})
        for operand in operation.operands:
            view._add(operation, operand, walked, gone)
        return view

    def stand_in(self, operation: Operation) -> Operation:
        """Return the operation on the axes that are walked, for who asks about its shape.

        Where the parts of a fused axis lie apart, the stride is that of the innermost one that the operand depends on.
        """
        if self.axes == operation.axes:
            return operation
        operands = [replace(operand, strides=self._stand_ins(operand.name)) for operand in operation.operands]
        return replace(operation, axes=self.axes, operands=tuple(operands))

    def _stand_ins(self, operand: str) -> tuple[int, ...]:
        apart = {axis: next(p.stride for p in parts[::-1] if p.stride) for axis, parts in self.parts[operand].items()}
        strides = self.strides[operand] | apart
        return tuple(strides[axis.name] for axis in self.axes)

    def _add(self, operation: Operation, operand: Operand, walked: Walked, gone: set[str]) -> None:
        strides = {name: s for name, s in operation.strides(operand).items() if name not in gone}
        self.parts[operand.name] = {}
        for each, names in walked.items():
            parts = _merged(operation, operand, each.name, names)
            if len(parts) == 1:
                strides[each.name] = parts[0].stride
            else:
                self.parts[operand.name][each.name] = parts
        self.strides[operand.name] = strides

    def rows(self, axis: str) -> int:
        """Return what blocks outside the packs are multiples of: the indices in the longest row of any operand."""
        return max((rows_of(parts[axis]) for parts in self.parts.values() if axis in parts), default=1)

    def depends(self, operand: str, axis: str) -> bool:
        """Whether the operand varies along the axis."""
        return axis in self.parts[operand] or self.strides[operand][axis] != 0


def rows_of(parts: tuple[Part, ...]) -> int:
    """Return the indices of the fused axis in one row: those that one index of the first part stands for."""
    return math.prod(part.extent for part in parts[1:])


def _merged(operation: Operation, operand: Operand, fused: str, names: tuple[str, ...]) -> tuple[Part, ...]:
    """The parts as the operand has them: of extent 1 they vanish, those that follow each other become one."""
    merged: list[Part] = []
    for name in names:
        part = Part(name, operation.axis(name).extent, operation.stride(operand, name))
        if part.extent == 1:
            continue
        if merged and merged[-1].stride == part.extent * part.stride:
            outer = merged.pop()
            part = Part(f"{outer.name}*{name}", outer.extent * part.extent, part.stride)
        merged.append(part)
    return tuple(merged) or (Part(fused, 1, 0),)


def _axes_of(operation: Operation, fused: Fused) -> tuple[str, ...]:
    """The operation's axes that are fused: parts a and b may be an axis `a*b` of it already."""
    names, left = list[str](), list(fused.parts)
    while left:
        most = next((n for n in range(len(left), 0, -1) if "*".join(left[:n]) in operation.names), 1)
        names.append("*".join(left[:most]))
        del left[:most]
    return tuple(names)


def _check(operation: Operation, walked: Walked) -> None:
    names = set(operation.names)
    taken: set[str] = set()
    for each, axes in walked.items():
        said = f"fuse {each.name}={'*'.join(each.parts)}"
        for axis in axes:
            if axis not in names or axis in taken:
                raise ScheduleError(f"{said}: {axis} {_wrong(axis, operation, taken)}")
            taken.add(axis)
        roles: set[DimType] = {operation.axis(axis).role for axis in axes}
        if len(roles) > 1:
            raise ScheduleError(f"{said}: the axes have the roles {', '.join(sorted(roles))}\n  Fuse axes of one role.")
        others = (names - set(axes)) | {other.name for other in walked if other is not each}
        if each.name in others:
            raise ScheduleError(f"{said}: {each.name} is another axis' name\n  Call the fused axis otherwise.")


def _wrong(axis: str, operation: Operation, taken: set[str]) -> str:
    """What is wrong with a part, and what to do."""
    if axis in taken:
        return "stands twice\n  Fuse each axis once."
    return f"is no axis\n  There are {' '.join(operation.names)}."
