"""AMX kernels in a model of the tiles: their code, decoded by iced-x86, computes what it should, here or elsewhere."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from einloom.asm import Assembler
from einloom.dtypes import BFLOAT16, DType
from einloom.kernels import machine_for
from einloom.kernels.contraction import tiled
from einloom.kernels.emit import emit_kernel
from einloom.kernels.verbs import tiles_x86
from einloom.machine import AVX512, TILES
from tests.kernels.test_dot_products import SIZES, TYPES, Case
from tests.kernels.tile_model import Fault, Memory, TileProcessor

MACHINE = replace(AVX512, features=AVX512.features | {TILES, "amxtile", "amxbf16", "amxint8"})
PLACES = (0x1000000, 0x2000000, 0x3000000)


def cases(types: str, count: int = 42) -> list[Case]:
    return [
        Case(
            "tiles",
            types,
            SIZES[i % 14],
            SIZES[(5 * i + i // 14) % 14],
            SIZES[(3 * i + i // 7) % 14],
            1 + (i % 5 == 0),
            True,
            (0, 1, None)[i % 3],
            True,
        )
        for i in range(count)
    ]


def operand(strides: tuple[int, ...], shape: tuple[int, ...], dtype: DType, seed: int) -> tuple[Any, Any]:
    """Return groups in memory without a byte too many, and a view of their numbers."""
    group = 4 // dtype.size
    count = group * (1 + sum((extent - 1) * stride for extent, stride in zip(shape, strides)))
    integers = np.random.default_rng(seed).integers(0, 256, count)
    if dtype is BFLOAT16:
        numbers = (integers - 128).astype(np.float32)
        memory: Any = (numbers.view(np.uint32) >> 16).astype(np.uint16)  # Whole numbers of 8 bits: exact.
    else:
        memory = integers.astype(np.uint8)
        numbers = memory.view(dtype.name)
    numbers = numbers.astype(np.int64)
    view = np.lib.stride_tricks.as_strided(numbers, (*shape, group), (*(8 * group * each for each in strides), 8))
    return memory, view


def complaint(case: Case) -> str | None:
    """Carry out the kernel of a case; return what is wrong, or None."""
    spec, types = case.spec, TYPES[case.types]
    asm = Assembler("x86_64")
    emit_kernel(machine_for(asm, MACHINE), spec)
    a, left = operand((spec.a[0], *spec.a[2:]), (case.m, case.k, case.batch), types[0], 1)
    b, right = operand(spec.b[1:], (case.n, case.k, case.batch), types[1], 2)
    pitch = spec.c[1]
    c = np.full(pitch * (case.n - 1) + case.m, 7, spec.dtype.name)
    target = np.lib.stride_tricks.as_strided(c, (case.m, case.n), (4, 4 * pitch))
    for flag in (0, 1) if case.beta is None else (case.beta,):
        expected = c.copy()
        total = np.einsum("mkbg,nkbg->mn", left, right) + flag * target.astype(np.int64)
        np.lib.stride_tricks.as_strided(expected, target.shape, target.strides)[...] = total
        memory = Memory()
        places = [memory.place(place, values) for place, values in zip(PLACES, (a, b, c))]
        processor = TileProcessor(asm.bytes(), memory)
        try:
            processor.call(*places, *([flag] if case.beta is None else []))
        except Fault as fault:
            return str(fault)
        if not any(name.startswith("tdp") for name in processor.executed):
            return "no tiles were multiplied"
        if not np.array_equal(c, expected):
            return f"wrong sums or bytes between them: {np.argwhere(c != expected)[:5].ravel()}"
    return None


@pytest.mark.parametrize("types", [name for name, (a, b) in TYPES.items() if (b, a) in tiles_x86.PRODUCTS])
def test_kernels_of_tiles(types: str) -> None:
    for case in cases(types):
        assert complaint(case) is None, case


def with_swapped_factors(monkeypatch: pytest.MonkeyPatch) -> None:
    original = tiles_x86.Amx.multiply_add
    monkeypatch.setattr(
        tiles_x86.Amx,
        "multiply_add",
        lambda self, total, rows, columns, types: original(self, total, columns, rows, types),
    )


def with_a_row_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    original = tiles_x86.Amx.configure
    monkeypatch.setattr(
        tiles_x86.Amx,
        "configure",
        lambda self, shapes: original(self, [(min(rows + 1, 16), size) for rows, size in shapes]),
    )


def with_other_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    other = {"tdpbssd": "tdpbsud", "tdpbsud": "tdpbssd", "tdpbusd": "tdpbuud", "tdpbuud": "tdpbusd"}
    products = {types: (feature, other.get(name, name)) for types, (feature, name) in tiles_x86.PRODUCTS.items()}
    monkeypatch.setattr(tiles_x86, "PRODUCTS", products)


def with_a_short_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiled, "ROW_BYTES", tiled.ROW_BYTES - 4)


def without_release(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles_x86.Amx, "release", lambda self: None)


@pytest.mark.parametrize(
    "mutate", [with_swapped_factors, with_a_row_too_many, with_other_signs, with_a_short_step, without_release]
)
def test_the_model_sees_mistakes(mutate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    mutate(monkeypatch)
    assert any(complaint(case) for case in cases("signed", 10))
