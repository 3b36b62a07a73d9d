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
from dataclasses import dataclass

from einloom.errors import ScheduleError
from einloom.ir.operation import Axis, DimType, Operand, Operation
from einloom.ir.schedule import Fused

__all__ = ["FusedView", "Part", "rows_of"]


@dataclass(frozen=True, slots=True)
class Part:
    """One of the axes that were fused, as an operand has it; those that follow each other there are one part."""

    name: str
    extent: int
    stride: int


@dataclass(frozen=True, slots=True)
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
        _check(operation, fused)
        first = {each.parts[0]: each for each in fused}
        gone = {part for each in fused for part in each.parts}
        axes: list[Axis] = []
        for axis in operation.axes:
            if axis.name in first:
                each = first[axis.name]
                axes.append(Axis(each.name, math.prod(operation.axis(p).extent for p in each.parts), axis.role))
            elif axis.name not in gone:
                axes.append(axis)
        view = FusedView(tuple(axes), {}, {})
        for operand in operation.operands:
            view._add(operation, operand, fused, gone)
        return view

    def _add(self, operation: Operation, operand: Operand, fused: Sequence[Fused], gone: set[str]) -> None:
        strides = {name: s for name, s in operation.strides(operand).items() if name not in gone}
        self.parts[operand.name] = {}
        for each in fused:
            parts = _merged(operation, operand, each)
            if len(parts) == 1:
                strides[each.name] = parts[0].stride
            else:
                self.parts[operand.name][each.name] = parts
        self.strides[operand.name] = strides

    def depends(self, operand: str, axis: str) -> bool:
        """Whether the operand varies along the axis."""
        return axis in self.parts[operand] or self.strides[operand][axis] != 0


def rows_of(parts: tuple[Part, ...]) -> int:
    """Return the indices of the fused axis in one row: those that one index of the first part stands for."""
    return math.prod(part.extent for part in parts[1:])


def _merged(operation: Operation, operand: Operand, fused: Fused) -> tuple[Part, ...]:
    """The parts as the operand has them: of extent 1 they vanish, those that follow each other become one."""
    merged: list[Part] = []
    for name in fused.parts:
        part = Part(name, operation.axis(name).extent, operation.stride(operand, name))
        if part.extent == 1:
            continue
        if merged and merged[-1].stride == part.extent * part.stride:
            outer = merged.pop()
            part = Part(f"{outer.name}*{name}", outer.extent * part.extent, part.stride)
        merged.append(part)
    return tuple(merged) or (Part(fused.name, 1, 0),)


def _check(operation: Operation, fused: Sequence[Fused]) -> None:
    names = set(operation.names)
    taken: set[str] = set()
    for each in fused:
        for part in each.parts:
            if part not in names or part in taken:
                why = "stands twice" if part in taken else f"is no axis; there are {' '.join(operation.names)}"
                raise ScheduleError(f"fuse {each.name}={'*'.join(each.parts)}: {part} {why}")
            taken.add(part)
        roles: set[DimType] = {operation.axis(part).role for part in each.parts}
        if len(roles) > 1:
            raise ScheduleError(
                f"fuse {each.name}={'*'.join(each.parts)}: the axes have the roles {', '.join(sorted(roles))}\n"
                "  Fuse axes of one role."
            )
    for each in fused:
        others = (names - set(each.parts)) | {other.name for other in fused if other is not each}
        if each.name in others:
            raise ScheduleError(f"fuse {each.name}={'*'.join(each.parts)}: {each.name} is another axis' name")
