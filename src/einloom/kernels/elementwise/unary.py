"""Unary kernels B := op(A): the choice between columns and transpositions. The operators: `functions.UNARY`.

A transposition whose operator takes long goes twice over B: it transposes first, then computes in place, so that the
steps of the operator stand in the code once and not for every register of a block.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from einloom.dtypes import UINT16
from einloom.errors import UnsupportedTarget
from einloom.ir.meanings import UNARY as UNARY_MEANINGS
from einloom.kernels.elementwise.application import Application, Copying, Formulaic
from einloom.kernels.elementwise.columns import Block, Columns, Matrix
from einloom.kernels.elementwise.few import Few, joins_few
from einloom.kernels.elementwise.lines import LINE
from einloom.kernels.elementwise.transposition import Blocks
from einloom.kernels.formula.functions import PAIRED, UNARY, formula_of, function_of
from einloom.kernels.formula.numbering import recipe_of
from einloom.kernels.formula.recipe import traits_of
from einloom.kernels.specs import Unary, signature
from einloom.kernels.verbs.frame import Frame, leaf_frame
from einloom.kernels.verbs.scalar import A, R
from einloom.kernels.verbs.vector import CopyVerbs, FormulaVerbs, KernelMachine, V

__all__ = ["emit_unary"]

REGISTER = 16
"""Bytes of a 128-bit register."""

SHORT = 2
"""Most steps of an operator that is applied to each register of a transposed block."""


def emit_unary(km: KernelMachine[R, V, A], spec: Unary, writes_in_order: bool = False) -> None:
    """Emit the function of a spec at the current position; its arguments are `signature(spec)`.

    With `writes_in_order` a transposition goes along the columns of B, else along those of A.

    Raises:
        ArgumentError: there is no such operator.
        UnsupportedTarget: it takes no parameter, or not these types.
    """
    function_of(PAIRED if spec.op in PAIRED else UNARY, "unary", spec.op, spec.registers)
    _check(spec)
    if spec.m == 0 or spec.n == 0:
        km.return_()
    elif spec.op == "identity":
        spec = _in_half_words(spec) if _copies_single_registers(spec) else spec
        copies = km.copies(spec.dtype) if spec.output is None else km.vectors(spec.registers)
        _emit(km, copies, spec, lambda hold: Copying(copies), writes_in_order)
    else:
        vec = km.vectors(spec.registers)
        _emit(km, vec, spec, lambda hold: _operator(vec, spec, hold))


def _operator(vec: FormulaVerbs[R, V, A], spec: Unary, hold: bool) -> Formulaic[R, V, A]:
    """Return a spec's operator; `hold` says whether constants may stay in registers."""
    traits, inputs = traits_of(vec), 0 if spec.op == "zero" else 1
    usual = UNARY_MEANINGS[spec.op].alpha if spec.op in UNARY_MEANINGS else None
    formula = formula_of((UNARY | PAIRED)[spec.op], traits, inputs, usual if spec.alpha is None else spec.alpha)
    return Formulaic(vec, recipe_of(formula, traits, inputs, len(vec.working) - 2, hold))


def _emit(
    km: KernelMachine[R, V, A],
    vec: CopyVerbs[R, V, A],
    spec: Unary,
    operator: Callable[[bool], Application[V, A]],
    writes_in_order: bool = False,
) -> None:
    """Emit the function; `operator` makes what is applied to registers, with or without constants in others."""
    names = ["b"] if spec.op == "zero" else ["a", "b"]
    block = _oriented(Block.of(spec, names))
    sizes = {name: spec.types[name].size for name in names}
    views = {name: km.view(spec.types[name], vec) for name in names if spec.types[name] != vec.dtype}
    matrices, constants, scaled = block.matrices(spec.dtype.size, km.reach, sizes)
    frame = leaf_frame(km, signature(spec), names, ["n", "m", *constants, *scaled], len(names) * vec.index_bytes)
    frame.enter()
    frame.set_strides(constants, scaled)
    if _transposes(block):
        _transpose(km, vec, frame, block, matrices, operator, views, writes_in_order)
    else:
        Columns(km, vec, frame, (block.m, block.n), matrices[:-1], matrices[-1], operator(True), views).emit()
    vec.finish()
    frame.leave()


def _transpose(
    km: KernelMachine[R, V, A],
    vec: CopyVerbs[R, V, A],
    frame: Frame[R, A],
    block: Block,
    matrices: Sequence[Matrix],
    operator: Callable[[bool], Application[V, A]],
    views: Mapping[str, CopyVerbs[R, V, A]],
    writes_in_order: bool,
) -> None:
    source, target = matrices
    size, short = (block.m, block.n), operator(False)
    verbs = (vec, views.get(source.name, vec), views.get(target.name, vec))
    joins = None if views or short.steps > SHORT else joins_few(block, vec)
    if joins is not None:
        Few(km, vec, frame, size, source, target, joins, short).emit()
        return
    if short.steps <= SHORT:
        in_halves = _rows_begin_within_lines(target)
        Blocks(
            km, verbs, frame, size, source, target, short, writes_in_order=writes_in_order, in_halves=in_halves
        ).emit()
        return
    if target.name in views:  # What was rounded to the type of B must not be read again.
        Columns(km, vec, frame, size, [source], target, operator(True), views).emit()
        return
    Blocks(km, verbs, frame, size, source, target, Copying(vec)).emit()
    frame.advance(target.name, target.strides[1], -block.n)
    transposed = Matrix(target.name, (target.strides[1], target.strides[0]), target.element)
    Columns(km, vec, frame, (block.n, block.m), [transposed], transposed, operator(True), views).emit()


def _rows_begin_within_lines(target: Matrix) -> bool:
    """Whether rows begin at different places of cache lines, so that most stores of a line's length lie in two lines.

    Beyond L1 such a store takes several times as long as two of half a line, of which few do.
    """
    apart = target.strides[0]
    return isinstance(apart, int) and apart % LINE != 0


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


def _check(spec: Unary) -> None:
    if spec.alpha is not None and (spec.op in PAIRED or UNARY_MEANINGS[spec.op].alpha is None):
        having = ", ".join(name for name, meaning in UNARY_MEANINGS.items() if meaning.alpha is not None)
        raise UnsupportedTarget(f"{spec.op} has no alpha\n  These have one: {having}.")


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
