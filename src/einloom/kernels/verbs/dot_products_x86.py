"""Vector verbs whose products are sums over groups.

Pairs of bfloat16 (AVX512_BF16) and of words, quads of bytes (VNNI) and of truth values.
"""

from __future__ import annotations

from typing import Any

from einloom.asm.x86.operands import R64, Address, Vector, mem
from einloom.dtypes import BFLOAT16, INT8, INT16, LOWERED, ONES, RAISED, UINT8, DType
from einloom.kernels.verbs.products import vectors_of
from einloom.kernels.verbs.vector import FormulaVerbs, Verb
from einloom.kernels.verbs.x86 import X86Machine

__all__ = ["dot_products"]

Vectors = FormulaVerbs[R64, Vector, Address]

UNSIGNED_FIRST, SIGNED_FIRST = ((UINT8, INT8), (UINT8, LOWERED)), ((INT8, UINT8), (INT8, RAISED))
"""Groups of which those of vectors are the unsigned bytes, and of which they are the signed ones."""

ALIKE = {(INT8, INT8): "vpdpbssd", (UINT8, UINT8): "vpdpbuud"}
"""Groups of one sign, which processors with AVX_VNNI_INT8 multiply."""


def dot_products(km: X86Machine, dtype: DType, groups: tuple[DType, DType]) -> Vectors | None:
    """Return the verbs of registers of `dtype` for products of groups; None if the machine has none of them."""
    features, vec = km.machine.features, _with_registers(km, dtype, groups)
    wide = km.machine.vector == "avx512"
    if groups == (BFLOAT16, BFLOAT16) and wide and "avx512bf16" in features:
        return _with_products(vec, km.asm.vdpbf16ps)
    has_vnni = ("avx512vnni" if wide else "avxvnni") in features
    if groups == (ONES, ONES):  # Or and and of 4 bytes are those of four truth values.
        return vec
    if groups == (INT16, INT16):
        return _with_products(vec, km.asm.vpdpwssd) if has_vnni else _with_words(vec, km.asm.vpmaddwd)
    if groups in ALIKE and "avxvnniint8" in features and not wide:
        return _with_products(vec, getattr(km.asm, ALIKE[groups]))
    return _quads(vec, km, groups) if has_vnni else None


def _with_registers(km: X86Machine, dtype: DType, groups: tuple[DType, DType]) -> Any:
    """Return the verbs of a type, with the registers that products of groups leave to kernels."""
    vec: Any = km.vectors(dtype)
    count = vectors_of(km.machine.vectors, dtype, groups).registers
    vec.working, vec.spare = vec.registers[:count], vec.registers[count:]
    return vec


def _quads(vec: Any, km: X86Machine, groups: tuple[DType, DType]) -> Vectors | None:
    """Let products be those of unsigned bytes, which the instruction wants first and in a register, by signed ones."""
    if groups not in UNSIGNED_FIRST + SIGNED_FIRST:
        return None
    if groups[1] in (RAISED, LOWERED):
        vec.bias = mem(km.asm.data(b"\x80" * 4, 4))
    if groups in UNSIGNED_FIRST:
        return _with_products(vec, km.asm.vpdpbusd)
    vec.memory_operand, vec.element = False, None
    return _with_products(vec, _exchanged(km.asm.vpdpbusd))


def _with_products(vec: Any, fma: Verb) -> Vectors:
    """Let products add to a sum with `fma`, and begin one from zero."""

    def product(dst: Vector, first: Any, second: Any) -> None:
        vec.zero(dst)
        fma(dst, first, second)

    vec.fma, vec.product = fma, product
    return vec


def _exchanged(fma: Verb) -> Verb:
    def exchanged(dst: Vector, first: Vector, second: Vector) -> None:
        fma(dst, second, first)

    return exchanged


def _with_words(vec: Any, multiply: Verb) -> Vectors:
    """Let products be sums of two products of words, which a register of the verbs' own takes before they are added."""

    def fma(dst: Vector, first: Any, second: Any) -> None:
        multiply(vec.spare[0], first, second)
        vec.add(dst, dst, vec.spare[0])

    vec.fma, vec.product, vec.element = fma, multiply, None
    return vec
