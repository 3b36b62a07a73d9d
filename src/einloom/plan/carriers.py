"""Copies of any type: elements travel as float32 or float64 of the same bits, one or several to an element.

A permutation computes nothing, so the type of its elements does not matter, only their size.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from einloom.dtypes import DTYPES, FLOAT32, FLOAT64, DType
from einloom.errors import DTypeError
from einloom.ir.operation import Axis, DimType, Operation
from einloom.plan.equation import Equation
from einloom.plan.steps import Plan

__all__ = ["carrier", "refuse_arithmetic", "widened"]

PARTS = "parts"
"""Name of the axis over the parts of an element: longer than any label."""


def carrier(dtype: np.dtype[Any]) -> tuple[DType, int]:
    """Return the type that elements of `dtype` travel as, and how many of it make one element.

    >>> carrier(np.dtype("complex128")), carrier(np.dtype("int32")), carrier(np.dtype("float32"))
    ((float64, 2), (float32, 1), (float32, 1))

    Raises:
        DTypeError: Python objects, or a size that no vector element divides.
    """
    if dtype.hasobject or dtype.itemsize == 0 or dtype.itemsize % FLOAT32.size:
        raise DTypeError(
            f"no code for elements of type {dtype}, {dtype.itemsize} bytes\n"
            "  Copies take elements of 4, 8, 12, 16, … bytes that hold no Python objects."
        )
    unit = FLOAT32 if dtype.itemsize % FLOAT64.size else FLOAT64
    return unit, dtype.itemsize // unit.size


def refuse_arithmetic(equation: Equation, dtype: np.dtype[Any]) -> None:
    """Refuse an equation that multiplies or sums elements of a type that einloom does not compute in.

    Raises:
        DTypeError: with the equation.
    """
    if len(equation.inputs) != 1 or set(equation.inputs[0]) != set(equation.output):
        raise DTypeError(
            f"no arithmetic on operands of type {dtype}\n  {equation.text}\n"
            f"  einloom computes in {' and '.join(DTYPES)}: convert the operands with astype()."
        )


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
