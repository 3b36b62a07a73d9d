"""NaN, infinities, subnormals and zeros of bfloat16 and float16, and every rest of m, n and k, feature by feature."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import einloom as el
from einloom.jit import host
from einloom.jit.tiles import host_with_tiles
from einloom.machine import TILES, Machine

HALVES = ("bfloat16", "float16")
FLUSHED = 2.0**-126
"""What instructions for products of bfloat16 may take an operand, a product or a sum below it for: zero."""


def machines() -> dict[str, Machine]:
    """Return this host, and what is left of it without tiles, without products of pairs and with shorter vectors."""
    found, here = {"host": host_with_tiles()}, host()
    if here.isa == "x86_64" and here.vectors.bits:
        pairs = replace(here, features=here.features - {TILES, "avx512fp16"})
        found |= {"pairs": pairs, "widened": replace(pairs, features=pairs.features - {"avx512bf16"})}
        found["avx2"] = here.with_vector("avx2")
    return found


def dtype_of(name: str) -> Any:
    return np.dtype(pytest.importorskip("ml_dtypes").bfloat16 if name == "bfloat16" else name)


def product(a: Any, b: Any, machine: Machine) -> Any:
    """Return the product; bfloat16's of groups, which small sizes are not given otherwise."""
    schedule = "prim m=c n=a k=b pack in0@0:bfloat16 a b pack in1@0:bfloat16 b c pack out@0 a c"
    compiled = el.compile("ab,bc->ac", a, b, target=machine, schedule=None if a.dtype == np.float16 else schedule)
    return np.asarray(compiled(a, b)).astype(np.float32)


def test_each_kind_of_products_is_tried() -> None:
    a = np.ones((33, 67), dtype_of("bfloat16"))
    schedule = "prim m=c n=a k=b pack in0@0:bfloat16 a b pack in1@0:bfloat16 b c pack out@0 a c"
    for machine in machines().values():
        listing = el.compile("ab,bc->ac", a, a.T, target=machine, schedule=schedule).show("asm")
        tiles, pairs = {TILES, "amxbf16"} <= machine.features, "avx512bf16" in machine.features
        assert ("tdpbf16ps" in listing) == tiles
        assert ("vdpbf16ps" in listing) == (pairs and not tiles and machine.vector == "avx512")


@pytest.mark.parametrize("machine", machines().values(), ids=machines())
@pytest.mark.parametrize("name", HALVES)
def test_nan_and_infinities_reach_the_sums_they_belong_to(name: str, machine: Machine) -> None:
    a, b = np.ones((37, 67), dtype_of(name)), np.ones((67, 41), dtype_of(name))
    a[3, 66], a[5, 0], a[6, 64], a[7, 1], a[7, 2] = np.nan, np.inf, -np.inf, np.inf, -np.inf
    b[10, 40], b[0, 7] = -np.inf, 0
    with np.errstate(invalid="ignore"):
        wanted = (a.astype(np.float32) @ b.astype(np.float32)).astype(a.dtype).astype(np.float32)
    assert np.array_equal(product(a, b, machine), wanted, equal_nan=True)


@pytest.mark.parametrize("machine", machines().values(), ids=machines())
@pytest.mark.parametrize("name", HALVES)
def test_subnormals_count_or_are_flushed_within_the_bound(name: str, machine: Machine) -> None:
    bits = np.random.default_rng(5).integers(0, 0x80, (35, 67), np.uint16)
    a, b = bits.view(dtype_of(name)), np.full((67, 33), 2, dtype_of(name))
    exact = a.astype(np.float64) @ b.astype(np.float64)
    assert np.all(np.abs(product(a, b, machine) - exact) <= (2 * 67 * 2.0**-24 + 2.0**-8) * exact + 67 * 2 * FLUSHED)


@pytest.mark.parametrize("machine", machines().values(), ids=machines())
@pytest.mark.parametrize("name", HALVES)
def test_zeros_of_either_sign_are_zeros(name: str, machine: Machine) -> None:
    a, b = np.full((33, 65), -0.0, dtype_of(name)), np.ones((65, 35), dtype_of(name))
    assert np.array_equal(product(a, b, machine), np.zeros((33, 35), np.float32))


@pytest.mark.parametrize("machine", machines().values(), ids=machines())
@pytest.mark.parametrize("name", HALVES)
def test_every_rest_of_tiles_and_pairs_is_summed(name: str, machine: Machine) -> None:
    """Whole numbers, so that sums are exact in any order; k even and odd, shorter and longer than a tile."""
    generator = np.random.default_rng(6)
    for m, n, k in ((2, 33, 65), (17, 47, 31), (31, 2, 33), (33, 17, 64), (49, 65, 97), (65, 31, 3), (16, 16, 34)):
        a, b = (generator.integers(-8, 9, shape).astype(dtype_of(name)) for shape in ((m, k), (k, n)))
        wanted = (a.astype(np.float32) @ b.astype(np.float32)).astype(a.dtype).astype(np.float32)
        assert np.array_equal(product(a, b, machine), wanted), (m, n, k)
