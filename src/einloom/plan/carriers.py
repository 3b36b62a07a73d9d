"""Copies of any type: elements travel as float64, float32, uint16 or uint8 of the same bits, one or several each.

A permutation computes nothing, so the type of its elements does not matter, only their size.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from einloom.dtypes import FLOAT32, FLOAT64, UINT8, UINT16, DType
from einloom.errors import DTypeError
from einloom.ir.operation import Axis, DimType, Operation
from einloom.plan.equation import Equation
from einloom.plan.finish import PLAIN, Finish
from einloom.plan.steps import Plan

__all__ = ["carrier", "is_copy", "widened"]

PARTS = "parts"
"""Name of the axis over the parts of an element: longer than any label."""


def carrier(dtype: np.dtype[Any]) -> tuple[DType, int]:
    """Return the type that elements of `dtype` travel as, and how many of it make one element.

    >>> [carrier(np.dtype(name)) for name in ("complex128", "int32", "float16", "S3")]
    [(float64, 2), (float32, 1), (uint16, 1), (uint8, 3)]

    Raises:
        DTypeError: Python objects, or elements without bytes.
    """
    if dtype.hasobject or dtype.itemsize == 0:
        raise DTypeError(
            f"no code for elements of type {dtype}, {dtype.itemsize} bytes\n"
            "  Copies take elements of one or more bytes that hold no Python objects."
        )
    unit = next(unit for unit in (FLOAT64, FLOAT32, UINT16, UINT8) if dtype.itemsize % unit.size == 0)
    return unit, dtype.itemsize // unit.size


def is_copy(equation: Equation, finish: Finish = PLAIN) -> bool:
    """Return whether nothing is multiplied, summed or computed: elements keep their bits."""
    keeps = len(equation.inputs) == 1 and set(equation.inputs[0]) == set(equation.output)
    return keeps and finish == PLAIN


def widened(plan: Plan, parts: int) -> Plan:
    """Return the plan for elements of `parts` carriers each: strides grow, and an axis walks the parts."""
    if parts == 1:
        return plan
    return replace(plan, steps=tuple(replace(s, operation=_widened(s.operation, parts)) for s in plan.steps))


def _widened(operation: Operation, parts: int) -> Operation:
    axes = (*operation.axes, Axis(PARTS, parts, DimType.C))
    operands = tuple(
        replace(operand, strides=(*(stride * parts for stride in operand.strides), 1)) for operand in operation.operands
    )
    return replace(operation, axes=axes, operands=operands)
