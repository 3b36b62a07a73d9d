"""`with_plain_names`: operations that differ in nothing but the names of their axes become one."""

from __future__ import annotations

from dataclasses import replace

from einloom.ir.operation import Operation
from einloom.plan.equation import label_symbols

__all__ = ["with_plain_names"]


def with_plain_names(operation: Operation) -> Operation:
    """Name the axes by their positions."""
    symbols = label_symbols(len(operation.axes))
    if [*operation.names] == symbols:
        return operation
    axes = tuple(replace(axis, name=symbol) for axis, symbol in zip(operation.axes, symbols))
    return replace(operation, axes=axes)
