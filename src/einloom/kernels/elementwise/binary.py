"""Binary and ternary kernels, C := op(A, B) and D := op(A, B, C). The operators: `functions.BINARY` and `TERNARY`."""

from __future__ import annotations

from einloom.kernels.elementwise.application import Formulaic
from einloom.kernels.elementwise.columns import Block, Columns
from einloom.kernels.formula.functions import BINARY, TERNARY, formula_of, function_of
from einloom.kernels.formula.numbering import recipe_of
from einloom.kernels.formula.recipe import traits_of
from einloom.kernels.specs import Binary, Ternary, signature
from einloom.kernels.verbs.frame import leaf_frame
from einloom.kernels.verbs.scalar import A, R
from einloom.kernels.verbs.vector import KernelMachine, V

__all__ = ["emit_binary"]


def emit_binary(km: KernelMachine[R, V, A], spec: Binary | Ternary) -> None:
    """Emit the function of a spec at the current position; its arguments are `signature(spec)`.

    Raises:
        ArgumentError: there is no such operator.
        UnsupportedTarget: there is none for this type.
    """
    table, kind = (BINARY, "binary") if isinstance(spec, Binary) else (TERNARY, "ternary")
    function = function_of(table, kind, spec.op, spec.dtype)
    if spec.m == 0 or spec.n == 0:
        km.return_()
        return
    vec, names = km.vectors(spec.dtype), [*spec.strides]
    block = _oriented(spec, names)
    types = spec.types
    views = {name: km.view(dtype, vec) for name, dtype in types.items() if dtype != spec.dtype}
    sizes = {name: dtype.size for name, dtype in types.items()}
    matrices, constants, scaled = block.matrices(spec.dtype.size, km.reach, sizes)
    frame = leaf_frame(km, signature(spec), names, ["n", "m", *constants, *scaled], len(names) * vec.index_bytes)
    frame.enter()
    frame.set_strides(constants, scaled)
    inputs = matrices if function.reads_output else matrices[:-1]
    traits = traits_of(vec)
    recipe = recipe_of(formula_of(function, traits, len(inputs)), traits, len(inputs), len(vec.working) - 2)
    Columns(km, vec, frame, (block.m, block.n), inputs, matrices[-1], Formulaic(vec, recipe), views).emit()
    vec.finish()
    frame.leave()


def _oriented(spec: Binary | Ternary, names: list[str]) -> Block:
    """Return the matrices, exchanged where that makes the output contiguous along the vectors."""
    block = Block.of(spec, names)
    output = block.strides[names[-1]]
    if (output[0] != 1 and output[1] == 1 and spec.n > 1) or spec.m == 1:
        block = block.exchanged()
    return block.with_single_indices_contiguous()
