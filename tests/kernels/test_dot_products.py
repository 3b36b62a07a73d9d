"""Products of groups: pairs of bfloat16 and quads of bytes, on vectors and on matrix tiles, all rests of m, n and k."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from einloom.asm import Assembler
from einloom.dtypes import (
    BFLOAT16,
    BFLOAT16_FOURS,
    FLOAT32,
    INT8,
    INT8_EIGHTS,
    INT16,
    INT32,
    LOWERED,
    RAISED,
    UINT8,
    UINT8_EIGHTS,
    DType,
)
from einloom.group_products import products_of
from einloom.ir.numbers import elements_of, narrowed, widened
from einloom.jit import Kernel
from einloom.jit.tiles import host_with_tiles
from einloom.kernels import Brgemm, machine_for
from einloom.kernels.emit import emit_kernel
from einloom.machine import TILES, Machine
from tests.emulation import PART
from tests.kernels.guarded import GuardedArray, run_guarded

SIZES = (1, 2, 3, 5, 8, 15, 16, 17, 24, 31, 32, 33, 48, 65)
TYPES = {
    "pairs": (BFLOAT16, BFLOAT16),
    "signed": (INT8, INT8),
    "unsigned": (UINT8, UINT8),
    "mixed": (INT8, UINT8),
    "mixed the other way": (UINT8, INT8),
    "signed, raised": (INT8, RAISED),
    "unsigned, lowered": (UINT8, LOWERED),
    "words": (INT16, INT16),
    "blocks of bfloat16": (BFLOAT16_FOURS, BFLOAT16_FOURS),
    "blocks, signed": (INT8_EIGHTS, INT8_EIGHTS),
    "blocks, unsigned": (UINT8_EIGHTS, UINT8_EIGHTS),
    "blocks, mixed": (INT8_EIGHTS, UINT8_EIGHTS),
    "blocks, mixed the other way": (UINT8_EIGHTS, INT8_EIGHTS),
}
"""Of the groups of A, which vectors are loaded of, and of B."""

DONE_ON = {
    "tiles": ("pairs", "signed", "unsigned", "mixed", "mixed the other way"),
    "avx512": ("pairs", "mixed", "mixed the other way", "signed, raised", "unsigned, lowered", "words"),
    "avx2": ("mixed", "mixed the other way", "signed, raised", "unsigned, lowered", "words"),
    "neon": (
        *("pairs", "signed", "unsigned", "mixed", "mixed the other way"),
        *("blocks of bfloat16", "blocks, signed", "blocks, unsigned", "blocks, mixed", "blocks, mixed the other way"),
    ),
    "sve": ("pairs", "signed", "unsigned", "mixed", "mixed the other way"),
    "sme": ("pairs", "signed", "unsigned", "mixed", "mixed the other way"),
    "avx512 without vnni": ("words",),
    "avx2 without vnni": ("words",),
}
"""Types by the kind of instructions."""

NEEDS = {"tiles": TILES, "avx512": "avx512vnni", "avx2": "avxvnni"}


@cache
def machine(kind: str) -> Machine | None:
    """Return this host with instructions of one kind alone; None if it has no such."""
    host = host_with_tiles()
    vector, _, without = kind.partition(" ")
    if kind in ("neon", "sve", "sme"):
        if host.isa != "aarch64":
            return None
        has = {"neon": True, "sve": host.vectors.scalable, "sme": host.streaming_bits > 0}[kind]
        host = host if kind == "sme" else replace(host, features=host.features - {"sme"})
        return (host.with_vector(kind) if kind == "neon" else host) if has else None
    if host.isa != "x86_64" or not {NEEDS.get(kind, "avx2")} <= host.features:
        return None
    if kind == "tiles":
        return host
    taken = {TILES, "avxvnniint8"} | ({"avx512vnni", "avxvnni"} if without else set())
    if vector == "avx512" and host.vector != "avx512":
        return None
    host = host.with_vector(vector)
    return replace(host, features=host.features - taken)


@dataclass(frozen=True)
class Case:
    """Sizes in groups; `rows` says that k is contiguous in B, `rows_of_a` that it is in A."""

    kind: str
    types: str
    m: int
    n: int
    k: int
    batch: int
    rows: bool
    beta: int | None
    at_end: bool
    rows_of_a: bool = False

    @property
    def a(self) -> tuple[int, int, int, int]:
        """Strides of A in groups."""
        pitch = self.m + 3
        return (self.k + 2, 0, 1, (self.k + 2) * self.m) if self.rows_of_a else (1, 0, pitch, pitch * self.k)

    @property
    def b(self) -> tuple[int, int, int, int]:
        """Strides of B in groups."""
        return (0, self.k + 1, 1, (self.k + 1) * self.n) if self.rows else (0, 1, self.n, self.n * self.k)

    @property
    def pitch_of_c(self) -> int:
        """Elements from one column of C to the next."""
        return self.m + 2

    @property
    def spec(self) -> Brgemm:
        """The kernel: A in panels with gaps, B's rows of k or of n."""
        a, b = TYPES[self.types]
        sums = FLOAT32 if a.alone is BFLOAT16 else INT32
        return Brgemm(
            sums,
            self.m,
            self.n,
            self.k,
            self.batch,
            a=self.a,
            b=self.b,
            c=(1, self.pitch_of_c),
            beta=self.beta,
            memory=(a, b, sums),
            grouped=True,
        )


RANGES = {UINT8: (0, 256), LOWERED: (0, 256), INT16: (-32768, 32768), BFLOAT16: (-8, 8)}


class Operand:
    """Groups in guarded memory, numbers all of them: kernels may read what lies between their elements."""

    def __init__(self, shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType, at_end: bool, seed: int) -> None:
        group, size = dtype.group, dtype.group * dtype.size
        count = 1 + sum((extent - 1) * stride for extent, stride in zip(shape, strides))
        self.memory = GuardedArray(group * count, elements_of(dtype).name, at_end)
        low, high = RANGES.get(dtype.alone, (-128, 128))
        numbers = np.random.default_rng(seed).integers(low, high, group * count)
        self.memory.values[:] = narrowed(numbers.astype(float), dtype)
        byte_strides = (*(size * stride for stride in strides), dtype.size)
        self.view = np.lib.stride_tricks.as_strided(self.memory.values, (*shape, group), byte_strides)
        self.dtype = dtype

    @property
    def numbers(self) -> Any:
        """The elements as whole numbers."""
        return widened(self.view, self.dtype).astype(np.int64)


def check(case: Case) -> str | None:
    """Compare a kernel with whole numbers, which float32 holds exactly here, and int32 modulo 2**32."""
    spec, (kind_a, kind_b) = case.spec, TYPES[case.types]
    a = Operand((case.m, case.k, case.batch), (case.a[0], *case.a[2:]), kind_a, case.at_end, 1)
    b = Operand((case.n, case.k, case.batch), case.b[1:], kind_b, case.at_end, 2)
    c = GuardedArray(case.pitch_of_c * (case.n - 1) + case.m, spec.dtype.name, case.at_end)
    c.values[:] = 7
    target = np.lib.stride_tricks.as_strided(c.values, (case.m, case.n), (4, 4 * case.pitch_of_c))
    expected = c.values.copy()
    flags = (0, 1) if case.beta is None else (case.beta,)
    kernel = compiled(case)
    for flag in flags:
        before = target.astype(np.int64)
        total = np.einsum("mkbg,nkbg->mn", a.numbers, b.numbers) + flag * before
        np.lib.stride_tricks.as_strided(expected, target.shape, target.strides)[...] = total.astype(np.int32)
        pointers = [array.ctypes.data for array in (a.memory.values, b.memory.values, c.values)]
        kernel.call(*pointers, *([flag] if case.beta is None else []))
        if not np.array_equal(c.values, expected):
            return f"{np.argwhere(c.values != expected)[:5].ravel()} differ"
    return None


CASES = 84
"""Cases of a kind and type: every size of m with six of n and k."""


def case_of(kind: str, types: str, number: int) -> Case:
    """Return one of `CASES` cases."""
    return Case(
        kind,
        types,
        SIZES[number % 14],
        SIZES[(5 * number + number // 14) % 14],
        SIZES[(3 * number + number // 7) % 14],
        1 + (number % 5 == 0),
        kind == "tiles" or number % 2 == 0,
        (0, 1, None)[number % 3],
        number % 4 < 2,
        bool(TYPES[types][1].of) and number % 3 == 1,
    )


def compiled(case: Case) -> Kernel:
    """Return the kernel of a case."""
    target = machine(case.kind)
    assert target is not None
    asm = Assembler(target.isa)
    emit_kernel(machine_for(asm, target), case.spec)
    return Kernel(asm)


def _multiplies(target: Machine, first: DType, second: DType, sums: DType) -> bool:
    """Whether a machine has the products of groups of these types, blocks or not."""
    found = products_of(first.alone, second.alone, target, sums)
    return found is not None and (not first.of or (found.first, found.second) == (first, second))


@pytest.mark.parametrize(("kind", "types"), [(kind, types) for kind, all_of in DONE_ON.items() for types in all_of])
def test_sums_of_groups_are_exact_and_touch_nothing_else(kind: str, types: str) -> None:
    target = machine(kind)
    second, first = TYPES[types]
    sums = FLOAT32 if first.alone is BFLOAT16 else INT32
    if target is None or not _multiplies(target, first, second, sums):
        pytest.skip(f"no dot products on {kind} here")
    cases = [case_of(kind, types, number) for number in range(0, CASES, PART)]
    assert run_guarded(cases, check) is None
