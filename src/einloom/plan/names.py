"""Operations that differ in nothing but the names of their axes: `with_plain_names` makes one of them, and
`without_names` is what they have in common."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from einloom.ir.operation import Axis, Operation
from einloom.plan.equation import label_symbols

__all__ = ["with_plain_names", "without_names"]


def with_plain_names(operation: Operation) -> Operation:
    """Name the axes by their positions."""
    symbols = label_symbols(len(operation.axes))
    if [*operation.names] == symbols:
        return operation
    axes = tuple(Axis(symbol, axis.extent, axis.role) for axis, symbol in zip(operation.axes, symbols))
    return replace(operation, axes=axes)


def without_names(operation: Operation) -> Hashable:
    """Return all of an operation but the names of its axes; that takes less time than renaming them."""
    axes = tuple((axis.extent, axis.role) for axis in operation.axes)
    return axes, operation.operands, operation.main, operation.first_touch, operation.last_touches
