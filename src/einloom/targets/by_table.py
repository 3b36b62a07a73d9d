"""Tiny contractions as tables: all of a type share one program, which is told sizes and strides when it runs.

Trees of many tiny tensors have dozens of different steps. A program of its own would take each of them milliseconds to
generate, and save microseconds.

>>> from einloom.plan.problem import make_problem
>>> from einloom.plan.steps import plan_problem
>>> (step,) = plan_problem(make_problem("ab,b->a", [(2, 3), (3,)], [None] * 2, "float64"), None, ((0, 1),)).steps
>>> table_of(step.operation).tolist()
[2, 3, 0, 0, 8, 8, 16, 16, 0, 0, 0, 24, 0, 8]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from einloom.dtypes import FLOAT32, FLOAT64, PAIRS
from einloom.ir.operation import Axis, DimType, Operand, Operation, Primitive, Touch
from einloom.machine import Machine
from einloom.once import once
from einloom.targets.executable import Executable
from einloom.targets.image import Image
from einloom.targets.stored import program_key, remembered_image

__all__ = ["MOST_PRODUCTS", "Table", "is_tiny", "table_of", "table_program"]

MOST_PRODUCTS = 1000
"""Products of a contraction that is tiny: a microsecond."""

Table: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]

_TYPES = (FLOAT32, FLOAT64, *PAIRS.values())


def is_tiny(operation: Operation) -> bool:
    """Whether a table can say what an operation computes, in little time: sums of products, and nothing besides."""
    dtype = operation.output.dtype
    plain = operation.first_touch == Touch(Primitive.ZERO) and not operation.last_touches
    same = all(operand.dtype == dtype for operand in operation.operands)
    return plain and same and dtype in _TYPES and 0 < operation.points <= MOST_PRODUCTS


def table_of(operation: Operation) -> Table:
    """Return the table of a tiny operation; see `einloom.kernels.contraction.by_table`."""
    summed = [axis for axis in operation.axes if axis.role is DimType.K]
    kept = [axis for axis in operation.axes if axis.role is not DimType.K]
    products = np.stack([_places(operation, operand, summed) for operand in operation.inputs], axis=1)
    outputs = np.stack([_places(operation, operand, kept) for operand in operation.operands], axis=1)
    return np.concatenate([[len(outputs), len(products)], products.ravel(), outputs.ravel()])


def _places(operation: Operation, operand: Operand, axes: Sequence[Axis]) -> Table:
    """Return how far into an operand the elements lie along these axes, in bytes, the last axis running fastest."""
    places = np.zeros(1, np.int64)
    for axis in axes:
        steps = np.arange(axis.extent) * (operation.stride(operand, axis.name) * operand.dtype.size)
        places = (places[:, None] + steps).ravel()
    return places


def table_program(operation: Operation, machine: Machine) -> Executable:
    """Return the program for the tables of operations like this one, whose address takes the place of the scratch's."""
    return _program(operation.output.dtype.name, tuple(operand.conjugated for operand in operation.inputs), machine)


@once
def _program(dtype: str, conjugated: tuple[bool, ...], machine: Machine) -> Executable:
    def key() -> str:
        return program_key(f"tables of {dtype} {conjugated}", machine)

    return Executable(remembered_image(key, len(conjugated) + 1, machine, lambda: _image(dtype, conjugated, machine)))


def _image(name: str, conjugated: tuple[bool, ...], machine: Machine) -> Image:
    # Late: who runs a program that was stored needs no code generator.
    from einloom.asm import Assembler
    from einloom.kernels.contraction.by_table import emit_by_table
    from einloom.kernels.select import machine_for

    asm = Assembler.plain(machine.isa)
    dtype = next(each for each in _TYPES if each.name == name)
    emit_by_table(machine_for(asm, machine), dtype, conjugated)
    return Image(asm.bytes(), asm.isa, frozenset(asm.features), 0, len(conjugated) + 1, 0, 1, labels=asm.labels)
