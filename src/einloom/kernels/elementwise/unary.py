"""Unary kernels B := op(A): the choice between columns and transpositions. The operators: `functions.UNARY`.

A transposition whose operator takes long goes twice over B: it transposes first, then computes in place, so that the
steps of the operator stand in the code once and not for every register of a block.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from einloom.dtypes import UINT16
from einloom.errors import UnsupportedTarget
from einloom.ir.meanings import UNARY as UNARY_MEANINGS
from einloom.kernels.elementwise.columns import Application, Block, Columns, Operand
from einloom.kernels.elementwise.transposition import Blocks
from einloom.kernels.formula.functions import UNARY, formula_of, function_of
from einloom.kernels.formula.numbering import recipe_of
from einloom.kernels.formula.recipe import traits_of
from einloom.kernels.specs import Unary, signature
from einloom.kernels.verbs.converted import ConvertedVectors
from einloom.kernels.verbs.frame import Frame
from einloom.kernels.verbs.machine import KernelMachine

__all__ = ["emit_unary"]

REGISTER = 16
"""Bytes of a 128-bit register."""

SHORT = 2
"""Most steps of an operator that is applied to each register of a transposed block."""


def emit_unary(km: KernelMachine, spec: Unary) -> None:
    """Emit the function of a spec at the current position; its arguments are `signature(spec)`.

    Raises:
        UnsupportedTarget: there is no such operator, or it takes no parameter or no second type.
    """
    function = function_of(UNARY, "unary", spec.op)
    _check(spec)
    if spec.m == 0 or spec.n == 0:
        km.return_()
        return
    spec = _in_half_words(spec) if _copies_single_registers(spec) else spec
    vec: Any = km.vectors(spec.dtype) if spec.output is None else ConvertedVectors(km, spec.dtype.size == 4)
    names = ["b"] if spec.op == "zero" else ["a", "b"]
    block = _oriented(Block.of(spec, names))
    output = spec.output or spec.dtype
    operands, constants, scaled = block.operands(spec.dtype.size, km.reach, {"b": output.size})
    frame = Frame(km, signature(spec), names, ["n", "m", *constants, *scaled], len(names) * vec.index_bytes)
    frame.enter()
    frame.set_strides(constants, [], 1)
    for name, element in scaled.items():
        frame.set_strides({}, [name], element)
    formula = formula_of(function, traits_of(vec), len(operands) - 1, _alpha(spec))
    _Emission(km, vec, frame, block, operands).emit(formula)
    vec.finish()
    frame.leave()


def _copies_single_registers(spec: Unary) -> bool:
    """Whether columns of 16 bytes are copied: elements of complex128, or four of float32."""
    plain = spec.op == "identity" and spec.output is None and spec.dtype.size >= 4
    contiguous = spec.a[0] == spec.b[0] == 1 and None not in (spec.a[1], spec.b[1])
    return plain and contiguous and spec.m * spec.dtype.size == REGISTER


def _in_half_words(spec: Unary) -> Unary:
    """The same copy as one of 2-byte elements: whole 128-bit registers, where masks of wider ones would cross lines."""
    words = spec.dtype.size // UINT16.size
    a, b = ((1, along_n * words) for along_n in (spec.a[1] or 0, spec.b[1] or 0))
    return replace(spec, dtype=UINT16, m=spec.m * words, a=a, b=b)


def _alpha(spec: Unary) -> float | None:
    return UNARY_MEANINGS[spec.op].alpha if spec.alpha is None else spec.alpha


def _check(spec: Unary) -> None:
    if spec.alpha is not None and UNARY_MEANINGS[spec.op].alpha is None:
        having = ", ".join(name for name, meaning in UNARY_MEANINGS.items() if meaning.alpha is not None)
        raise UnsupportedTarget(f"{spec.op} has no alpha\n  These have one: {having}.")
    if spec.dtype.size < 4 and (spec.op != "identity" or spec.output is not None):
        raise UnsupportedTarget(f"{spec.op} of {spec.dtype}\n  Elements of 1 and 2 bytes are only copied: identity.")
    if spec.output is not None and spec.op != "identity":
        raise UnsupportedTarget(
            f"{spec.op} from {spec.dtype} to {spec.output}\n  Only identity converts; other operators keep the type."
        )


class _Emission:
    """The loops of one kernel."""

    def __init__(self, km: KernelMachine, vec: Any, frame: Frame, block: Block, operands: list[Operand]) -> None:
        self.km, self.vec, self.frame, self.block = km, vec, frame, block
        self.operands = operands

    def emit(self, formula: Any) -> None:
        size, (*inputs, output) = (self.block.m, self.block.n), self.operands
        if not _transposes(self.block):
            self._columns(size, inputs, output, formula)
            return
        short = self._application(formula, 1, hold=False)
        plain = len(short.recipe.steps) <= SHORT
        apply = short if plain else (lambda inputs, free: inputs[0])
        Blocks(self.km, self.vec, self.frame, size, inputs[0], output, apply).emit()
        if not plain:
            self.frame.advance(output.name, output.strides[1], -self.block.n)
            turned = Operand(output.name, (output.strides[1], output.strides[0]), output.element)
            self._columns((size[1], size[0]), [turned], turned, formula)

    def _columns(self, size: tuple[int, int], inputs: list[Operand], output: Operand, formula: Any) -> None:
        apply = self._application(formula, len(inputs))
        Columns(self.km, self.vec, self.frame, size, inputs, output, apply).emit()

    def _application(self, formula: Any, inputs: int, hold: bool = True) -> Application:
        available = len(self.vec.registers) - 2
        return Application(self.vec, recipe_of(formula, traits_of(self.vec), inputs, available, hold))


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
