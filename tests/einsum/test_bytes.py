"""Products of bytes with sums of 4: every pair of signs, with and without each feature, exact modulo 2**32."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

import einloom as el
from einloom.jit import host
from einloom.jit.tiles import host_with_tiles
from einloom.machine import TILES, Machine

FEATURES = ("avx512vnni", "avxvnni", "avxvnniint8")


def machines() -> dict[str, Machine]:
    """Return this host, and what is left of it when features are taken away."""
    found = {"host": host_with_tiles()}
    vectors = [each for each in ("avx512", "avx2") if host().isa == "x86_64" and host().vectors.bits]
    for vector in vectors if host().vector == "avx512" else vectors[1:]:
        machine = host().with_vector(vector)
        found[vector] = replace(machine, features=machine.features - {TILES})
        found[f"{vector} without dot products"] = replace(machine, features=machine.features - {TILES, *FEATURES})
    return found


def drawn(seed: int, shape: tuple[int, ...], dtype: str) -> Any:
    info = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(info.min, info.max + 1, shape).astype(dtype)


def summed(a: Any, b: Any, dtype: str) -> Any:
    """The product in whole numbers, modulo what `dtype` holds."""
    return (a.astype(np.int64) @ b.astype(np.int64)).astype(dtype)


@pytest.mark.parametrize("name", machines())
@pytest.mark.parametrize("signs", list(product(("int8", "uint8"), repeat=2)), ids="-".join)
def test_products_of_bytes_are_exact(name: str, signs: tuple[str, str]) -> None:
    machine = machines()[name]
    for seed in range(6):
        rng = np.random.default_rng(seed)
        m, n, k = (int(size) for size in rng.integers((1, 1, 41), (97, 97, 137)))
        a, b = drawn(seed, (m, k), signs[0]), drawn(seed + 1, (k, n), signs[1])
        dtype = "uint32" if signs == ("uint8", "uint8") and seed % 2 else "int32"
        for equation, second in (("mk,kn->mn", b), ("mk,nk->mn", np.ascontiguousarray(b.T))):
            f = el.compile(equation, a, second, dtype=dtype, target=machine)
            assert np.array_equal(f(a, second), summed(a, b, dtype)), (seed, equation)


@pytest.mark.parametrize("name", machines())
@pytest.mark.parametrize(("signs", "k"), [(("int8", "int8"), 131_073), (("uint8", "uint8"), 66_051)], ids=str)
def test_sums_wrap_and_never_saturate(name: str, signs: tuple[str, str], k: int) -> None:
    """The least signed bytes and the greatest unsigned ones: sums leave int32, and uint32's are the same bits."""
    extremes = [np.iinfo(each).min or np.iinfo(each).max for each in signs]
    a, b = (np.full(shape, value, kind) for shape, value, kind in zip(((3, k), (k, 35)), extremes, signs))
    found = el.compile("mk,kn->mn", a, b, dtype="int32", target=machines()[name])(a, b)
    assert np.array_equal(found, summed(a, b, "int32"))
    assert found[0, 0] != extremes[0] * extremes[1] * k
