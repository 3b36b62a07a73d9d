"""Binary and ternary kernels, C := op(A, B) and D := op(A, B, C). The operators: `functions.BINARY` and `TERNARY`."""

from __future__ import annotations

from typing import Any

from einloom.kernels.elementwise.columns import Application, Block, Columns
from einloom.kernels.formula.functions import BINARY, TERNARY, formula_of, function_of
from einloom.kernels.formula.numbering import recipe_of
from einloom.kernels.formula.recipe import traits_of
from einloom.kernels.specs import Binary, Ternary, signature
from einloom.kernels.verbs.frame import Frame
from einloom.kernels.verbs.machine import KernelMachine

__all__ = ["emit_binary"]


def emit_binary(km: KernelMachine, spec: Binary | Ternary) -> None:
    """Emit the function of a spec at the current position; its arguments are `signature(spec)`.

    Raises:
        UnsupportedTarget: there is no such operator.
    """
    table, kind, names = (BINARY, "binary", "abc") if isinstance(spec, Binary) else (TERNARY, "ternary", "abcd")
    function = function_of(table, kind, spec.op)
    if spec.m == 0 or spec.n == 0:
        km.return_()
        return
    vec: Any = km.vectors(spec.dtype)
    block = Block.of(spec, names)
    output = block.strides[names[-1]]
    if (output[0] != 1 and output[1] == 1 and spec.n > 1) or spec.m == 1:
        block = block.exchanged()
    block = block.with_single_indices_contiguous()
    operands, constants, scaled = block.operands(spec.dtype.size, km.reach)
    frame = Frame(km, signature(spec), names, ["n", "m", *constants, *scaled], len(names) * vec.index_bytes)
    frame.enter()
    frame.set_strides(constants, [*scaled], spec.dtype.size)
    inputs = operands if function.reads_output else operands[:-1]
    formula = formula_of(function, traits_of(vec), len(inputs))
    recipe = recipe_of(formula, traits_of(vec), len(inputs), len(vec.registers) - 2)
    size = (block.m, block.n)
    Columns(km, vec, frame, size, inputs, operands[-1], Application(vec, recipe)).emit()
    vec.finish()
    frame.leave()
