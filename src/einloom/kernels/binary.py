"""Binary kernels C := op(A, B): the table of operators over the element-wise generator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from einloom.errors import UnsupportedTarget
from einloom.kernels.elementwise import Block, Columns
from einloom.kernels.frame import Frame
from einloom.kernels.machine import KernelMachine
from einloom.kernels.specs import Binary, signature

__all__ = ["OPERATORS", "emit_binary"]

Apply = Callable[[Any, list[Any], list[Any]], Any]


def _plain(name: str) -> Apply:
    def apply(vec: Any, inputs: list[Any], free: list[Any]) -> Any:
        getattr(vec, name)(inputs[0], *inputs)
        return inputs[0]

    return apply


def _extreme(name: str) -> Apply:
    """min and max return their second operand if either is NaN; a NaN in the first one must win as well."""

    def apply(vec: Any, inputs: list[Any], free: list[Any]) -> Any:
        result = free[0]
        getattr(vec, name)(result, *inputs)
        vec.keep_nan(result, inputs[0], free[1])
        return result

    return apply


OPERATORS: dict[str, Apply] = {
    "add": _plain("add"),
    "sub": _plain("sub"),
    "mul": _plain("mul"),
    "div": _plain("div"),
    "min": _extreme("min"),
    "max": _extreme("max"),
}


def emit_binary(km: KernelMachine, spec: Binary) -> None:
    """Emit the function of a spec at the current position; its arguments are `signature(spec)`.

    Raises:
        UnsupportedTarget: there is no such operator.
    """
    if spec.op not in OPERATORS:
        raise UnsupportedTarget(f"no binary operator {spec.op!r}\n  There are {', '.join(OPERATORS)}.")
    if spec.m == 0 or spec.n == 0:
        km.return_()
        return
    vec, names = km.vectors(spec.dtype), ["a", "b", "c"]
    block = Block.of(spec, names)
    c = block.strides["c"]
    if (c[0] != 1 and c[1] == 1 and spec.n > 1) or spec.m == 1:
        block = block.exchanged()
    block = block.with_single_indices_contiguous()
    operands, constants, scaled = block.operands(spec.dtype.size, km.reach)
    frame = Frame(km, signature(spec), names, ["n", "m", *constants, *scaled], len(names) * vec.index_bytes)
    frame.enter()
    frame.set_strides(constants, scaled, spec.dtype.size)

    def apply(inputs: list[Any], free: list[Any]) -> Any:
        return OPERATORS[spec.op](vec, inputs, free)

    size = (block.m, block.n)
    Columns(km, vec, frame, size, operands[:-1], operands[-1], apply, spec.nontemporal).emit()
    vec.finish()
    frame.leave()
