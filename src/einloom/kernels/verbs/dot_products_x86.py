"""Vector verbs whose products are sums over groups.

Pairs of bfloat16 (AVX512_BF16) and of words, quads of bytes (VNNI) and of truth values.
"""

from __future__ import annotations

from typing import Any

from einloom.asm.x86.operands import R64, Address, Vector, mem
from einloom.dtypes import BFLOAT16, BOOL, INT8, INT16, UINT8, DType
from einloom.kernels.verbs.vector import FormulaVerbs, Verb
from einloom.kernels.verbs.x86 import X86Machine

__all__ = ["dot_products"]

Vectors = FormulaVerbs[R64, Vector, Address]


def dot_products(km: X86Machine, dtype: DType, groups: tuple[DType, DType]) -> Vectors | None:
    """Return the verbs of registers of `dtype` for products of groups; None if the machine has none of them."""
    features, vec = km.machine.features, km.vectors(dtype)
    wide = km.machine.vector == "avx512"
    if groups == (BFLOAT16, BFLOAT16) and wide and "avx512bf16" in features:
        return _with_products(vec, km.asm.vdpbf16ps)
    has_vnni = ("avx512vnni" if wide else "avxvnni") in features
    if groups == (BOOL, BOOL):
        return _with_bytes_of_truth(vec, km)
    if groups == (INT16, INT16):
        return _with_products(vec, km.asm.vpdpwssd) if has_vnni else _with_words(vec, km.asm.vpmaddwd)
    if not has_vnni:
        return None
    if groups == (UINT8, INT8):
        return _with_products(vec, km.asm.vpdpbusd)
    if groups == (INT8, UINT8):  # The instruction wants the unsigned ones first, in a register.
        vec.memory_operand, vec.element = False, None
        return _with_products(vec, _exchanged(km.asm.vpdpbusd))
    return None


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


def _with_bytes_of_truth(vec: Any, km: X86Machine) -> Vectors:
    """Let loads make every byte 0 or 1: then or and and of 4 bytes are those of four truth values."""
    ones = km.asm.data(b"\x01" * vec.width, vec.width)

    def made_truth(load: Verb) -> Verb:
        def loaded(dst: Vector, *arguments: Any, **named: Any) -> None:
            load(dst, *arguments, **named)
            km.asm.vpminub(dst, dst, mem(ones))

        return loaded

    vec.load, vec.broadcast, vec.load_strided = map(made_truth, (vec.load, vec.broadcast, vec.load_strided))
    vec.memory_operand, vec.element = False, None
    return vec


def _with_words(vec: Any, multiply: Verb) -> Vectors:
    """Let products be sums of two products of words, which a register of the verbs' own takes before they are added."""

    def fma(dst: Vector, first: Any, second: Any) -> None:
        multiply(vec.spare[0], first, second)
        vec.add(dst, dst, vec.spare[0])

    vec.fma, vec.product = fma, multiply
    return vec
