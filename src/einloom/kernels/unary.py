"""Unary kernels B := op(A): the table of operators, and the choice between columns and transpositions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from einloom.errors import UnsupportedTarget
from einloom.kernels.elementwise import Columns, Operand
from einloom.kernels.frame import Frame
from einloom.kernels.machine import KernelMachine
from einloom.kernels.specs import Binary, Stride, Unary, signature
from einloom.kernels.transposition import Blocks

__all__ = ["OPERATORS", "emit_unary", "operands_of"]

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
    spec = _oriented(spec)
    vec, element = km.vectors(spec.dtype), spec.dtype.size
    names = ["b"] if spec.op == "zero" else ["a", "b"]
    operands, constants, scaled = operands_of(spec, names, km.reach)
    frame = Frame(km, signature(spec), names, ["n", "m", *constants, *scaled], len(names) * vec.index_bytes)
    frame.enter()
    frame.set_strides(constants, scaled, element)

    def apply(inputs: list[Any], free: list[Any]) -> Any:
        return OPERATORS[spec.op](vec, inputs, free)

    size, output = (spec.m, spec.n), operands[-1]
    if _transposes(spec):
        Blocks(km, vec, frame, size, operands[0], output, apply, spec.nontemporal).emit()
    else:
        Columns(km, vec, frame, size, operands[:-1], output, apply, spec.nontemporal).emit()
    vec.finish()
    frame.leave()


def _oriented(spec: Unary) -> Unary:
    """Exchange m and n where that makes the vectors contiguous, and join columns that follow each other in memory."""
    reads = spec.op != "zero"
    if spec.m == 1:  # The stride along a single index is never used: any axis of one index is contiguous.
        spec = replace(spec, m=spec.n, n=1, a=(spec.a[1], 1), b=(spec.b[1], 1))
    if spec.m == 1:
        spec = replace(spec, a=(1, 1), b=(1, 1))
    if spec.n == 1:
        return spec
    if spec.b[0] != 1 and spec.b[1] == 1 and not (reads and spec.a[0] == 1):
        spec = replace(spec, m=spec.n, n=spec.m, a=spec.a[::-1], b=spec.b[::-1])
    if reads and spec.a[0] != 1 and spec.a[1] == 1 and spec.b[0] == 1:
        spec = replace(spec, m=spec.n, n=spec.m, a=spec.a[::-1], b=spec.b[::-1])
    joined = spec.b == (1, spec.m) and (not reads or spec.a == (1, spec.m))
    return replace(spec, m=spec.m * spec.n, n=1) if joined else spec


def _transposes(spec: Unary) -> bool:
    return spec.op != "zero" and spec.a[0] == 1 and spec.b[1] == 1 and spec.b[0] != 1 and spec.m > 1 and spec.n > 1


def operands_of(spec: Unary | Binary, names: list[str], reach: int) -> tuple[list[Operand], dict[str, int], list[str]]:
    """Return the operands with strides in bytes, strides too long for an immediate by name, and run-time strides.

    A stride that is an argument is named as in `signature`; it is in elements until it is scaled.
    """
    constants: dict[str, int] = {}
    scaled: list[str] = []
    element = spec.dtype.size

    def in_bytes(name: str, axis: int, strides: tuple[Stride, Stride]) -> int | str:
        stride = strides[axis]
        if stride is None:
            argument = f"ld_{name}" if strides.count(None) == 1 else f"{name}_{'mn'[axis]}"
            scaled.append(argument)
            return argument
        if abs(stride) * element <= reach // 64:
            return stride * element
        constants[f"{name}_{'mn'[axis]}"] = stride * element
        return f"{name}_{'mn'[axis]}"

    operands = []
    for name in names:
        strides: tuple[Stride, Stride] = getattr(spec, name)
        operands.append(Operand(name, (in_bytes(name, 0, strides), in_bytes(name, 1, strides)), element))
    return operands, constants, scaled
