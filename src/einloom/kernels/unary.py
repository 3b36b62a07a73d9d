"""Unary kernels B := op(A): the table of operators, and the choice between columns and transpositions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from einloom.errors import UnsupportedTarget
from einloom.kernels.elementwise import Block, Columns
from einloom.kernels.frame import Frame
from einloom.kernels.machine import KernelMachine
from einloom.kernels.specs import Unary, signature
from einloom.kernels.transposition import Blocks

__all__ = ["OPERATORS", "emit_unary"]

Apply = Callable[[Any, list[Any], list[Any]], Any]


def _identity(vec: Any, inputs: list[Any], free: list[Any]) -> Any:
    return inputs[0]


def _relu(vec: Any, inputs: list[Any], free: list[Any]) -> Any:
    # x is the second operand of the instruction, which is what it returns for a NaN: as numpy.maximum does.
    zero = free[-1]
    vec.zero(zero)
    vec.max(inputs[0], zero, inputs[0])
    return inputs[0]


def _zero(vec: Any, inputs: list[Any], free: list[Any]) -> Any:
    vec.zero(free[0])
    return free[0]


OPERATORS: dict[str, Apply] = {"zero": _zero, "identity": _identity, "relu": _relu}
"""Emit the operator on one vector: takes the vector verbs, registers of the inputs, free ones; returns the result's."""


def emit_unary(km: KernelMachine, spec: Unary) -> None:
    """Emit the function of a spec at the current position; its arguments are `signature(spec)`.

    Raises:
        UnsupportedTarget: there is no such operator.
    """
    if spec.op not in OPERATORS:
        raise UnsupportedTarget(f"no unary operator {spec.op!r}\n  There are {', '.join(OPERATORS)}.")
    if spec.m == 0 or spec.n == 0:
        km.return_()
        return
    vec, element = km.vectors(spec.dtype), spec.dtype.size
    names = ["b"] if spec.op == "zero" else ["a", "b"]
    block = _oriented(Block.of(spec, names))
    operands, constants, scaled = block.operands(element, km.reach)
    frame = Frame(km, signature(spec), names, ["n", "m", *constants, *scaled], len(names) * vec.index_bytes)
    frame.enter()
    frame.set_strides(constants, scaled, element)

    def apply(inputs: list[Any], free: list[Any]) -> Any:
        return OPERATORS[spec.op](vec, inputs, free)

    size, output = (block.m, block.n), operands[-1]
    if _transposes(block):
        Blocks(km, vec, frame, size, operands[0], output, apply, spec.nontemporal).emit()
    else:
        Columns(km, vec, frame, size, operands[:-1], output, apply, spec.nontemporal).emit()
    vec.finish()
    frame.leave()


def _oriented(block: Block) -> Block:
    """Exchange m and n where that makes the vectors contiguous, and join columns that follow each other in memory."""
    if block.m == 1:
        block = block.exchanged()
    if block.m == 1 or block.n == 1:
        return block.with_single_indices_contiguous()
    a, b = block.strides.get("a"), block.strides["b"]
    if (b[0] != 1 and b[1] == 1 and not (a and a[0] == 1)) or (a and a[0] != 1 and a[1] == 1 and b[0] == 1):
        block = block.exchanged()
    joined = all(strides == (1, block.m) for strides in block.strides.values())
    return replace(block, m=block.m * block.n, n=1) if joined else block


def _transposes(block: Block) -> bool:
    a, b = block.strides.get("a"), block.strides["b"]
    return a is not None and a[0] == 1 and b[1] == 1 and b[0] != 1 and block.m > 1 and block.n > 1
