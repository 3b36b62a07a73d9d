"""Features are asked for, never assumed: with each one taken away, code for every type is made, and right.

Integers are exact modulo 2**bits; floats lie within 2 k epsilon sum |a||b| and one rounding. NaN and infinities stand
where products and sums of numbers have them. What the host lacks is checked by compiling for it: code that asks for
more than its machine has is refused.
"""

from __future__ import annotations

import random
import re
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import einloom as el
from einloom.dtypes import BFLOAT16, INT8, INT32
from einloom.group_products import products_of
from einloom.jit.host import IsaSetting, _masked, host  # pyright: ignore[reportPrivateUsage]
from einloom.jit.tiles import host_with_tiles
from einloom.machine import AVX512, NEON, TILES, Machine

from ..soak import soak_count

EQUATIONS = ("mk,kn->mn", "km,nk->mn", "mk,nk->nm", "mk,k->m", "bmk,bkn->bmn")
M, N = (1, 2, 3, 7, 15, 16, 17, 31, 33, 48, 65), (1, 2, 3, 5, 8, 9, 17, 33)
K = (1, 2, 3, 4, 5, 7, 9, 31, 33, 67, 130)
ALONE = ("float32", "float64", "float16", "bfloat16", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64")
ALONE += ("uint64", "bool", "complex64", "complex128")
TYPES: list[tuple[str, str, str | None]] = [(name, name, None) for name in ALONE]
TYPES += [(a, b, "int32") for a in ("int8", "uint8") for b in ("int8", "uint8", "int16")]
TYPES += [("bfloat16", "bfloat16", "float32"), ("float16", "float16", "float32"), ("bfloat16", "float32", None)]
TYPES += [("float32", "complex64", None), ("float32", "float64", None), ("int8", "float16", None)]


def _dtype(name: str) -> Any:
    return np.dtype(pytest.importorskip("ml_dtypes").bfloat16 if name == "bfloat16" else name)


def _is_float(dtype: Any) -> bool:
    return dtype.kind in "fV"


def _drawn(generator: np.random.Generator, dtype: Any, shape: list[int], special: bool) -> Any:
    """Numbers over the whole range of integers; of floats normal ones, among them special ones if wanted."""
    if dtype.kind in "iu":
        ends = np.iinfo(dtype)
        return generator.integers(ends.min, ends.max, shape, dtype=dtype, endpoint=True)
    values: Any = generator.standard_normal(shape)
    if dtype.kind == "b":
        return values > 1
    if dtype.kind == "c":
        return (values + 1j * generator.standard_normal(shape)).astype(dtype)
    if special:
        where = generator.integers(0, 60, shape)
        for number, value in enumerate((np.nan, np.inf, -np.inf, -0.0, 2.0**-24, -(2.0**-140))):
            values = np.where(where == number, value, values)
    return values.astype(dtype)


def _wide(array: Any) -> Any:
    return array.astype(np.float64) if _is_float(array.dtype) else array


@cache
def _machines() -> list[Machine]:
    """The host and its narrower vectors, whole and without each of their features; each once."""
    whole = host_with_tiles()
    if not whole.has_vectors:
        pytest.skip("this machine has no vectors")
    bases = [whole, *([whole.with_vector("avx2")] if whole.isa == "x86_64" else [])]
    found = [*bases]
    for base in bases:
        found += [_masked(base, IsaSetting(without=frozenset({name}))) for name in sorted(base.features)]
    found = [replace(each, rates=None) for each in found]
    return [each for each in dict.fromkeys(found) if each.has_vectors]


def _check(found: Any, a: Any, b: Any, equation: str, k: int) -> None:
    if found.dtype.kind in "iub":
        kind = found.dtype.kind != "b" and a.dtype != np.uint64
        operands = (a.astype(np.int64), b.astype(np.int64)) if kind else (a, b)
        assert np.array_equal(found, np.einsum(equation, *operands).astype(found.dtype))
        return
    with np.errstate(all="ignore"):
        a, b = _wide(a), _wide(b)
        exact, sizes = np.einsum(equation, a, b), np.einsum(equation, np.abs(a), np.abs(b))
    found_wide = found.astype(exact.dtype)
    assert np.array_equal(np.isnan(found_wide), np.isnan(exact))
    finite = np.isfinite(exact)
    assert np.array_equal(found_wide[np.isinf(exact)], exact[np.isinf(exact)])
    double = found.dtype in (np.float64, np.complex128)
    epsilon = 2.0 ** (-53 if double else -24) * (4 if found.dtype.kind == "c" else 1)
    rounding, least = {"float16": (2.0**-11, 2.0**-25), "bfloat16": (2.0**-8, 2.0**-134)}.get(found.dtype.name, (0, 0))
    sums = 2 * (k + 2) * epsilon * sizes + (0 if double else k * 2.0**-126)
    bound = sums[finite] + 1.01 * rounding * np.abs(exact[finite]) + least
    assert np.all(np.abs(found_wide[finite] - exact[finite]) <= bound)


def test_instructions_of_vectors_that_are_switched_off_are_not_taken() -> None:
    """Tiles and AVX512_BF16 stay among the features where AVX512BW alone is taken away, and with it all of AVX-512."""
    machine = replace(AVX512, features=AVX512.features | {TILES, "amxtile", "amxint8", "amxbf16", "avx512bf16"})
    machine = _masked(machine, IsaSetting(without=frozenset({"avx512bw"})))
    assert machine.vector == "avx2"
    assert products_of(BFLOAT16, BFLOAT16, machine, BFLOAT16) is None
    pairs = products_of(INT8, INT8, machine, INT32)
    assert pairs is not None
    assert pairs.vector == "avx2"


@pytest.mark.parametrize("name", ["int32", "int64", "uint64", "bool"])
def test_what_does_not_lie_in_order_takes_neon_where_vectors_are_scalable(name: str) -> None:
    """With the registers that Neon's products keep for themselves."""
    arrays = [np.zeros(shape, name) for shape in ((2, 41, 47), (2, 43, 47))]
    product = el.compile("xab,xcb->xac", *arrays, target=NEON.with_vector("sve512"), threads=1)
    assert re.search(r"\bv\d+\.", product.show("asm"))


@pytest.mark.parametrize("equation", ["ab,bc->ac", "ab,cb->ca", "ba,bc->ac"])
def test_scalable_vectors_sum_bytes_where_those_of_128_bits_cannot(equation: str) -> None:
    """A64FX has SVE, of which `sdot` is a part, and none of Neon's."""
    machine = replace(NEON.with_vector("sve512"), features=frozenset({"neon", "sve", "sve512", "fp16"}))
    shapes = ([{"a": 17, "b": 256, "c": 48}[name] for name in term] for term in equation.partition("->")[0].split(","))
    product = el.compile(equation, *(np.zeros(shape, "int8") for shape in shapes), dtype="int32", target=machine)
    assert re.search(r"\bsdot +z", product.show("asm"))


@pytest.mark.soak
@pytest.mark.filterwarnings("error::einloom.FallbackWarning")
def test_every_type_without_each_feature() -> None:
    machines = _machines()
    for seed in range(soak_count(6_000, 0.025)):
        rng, generator = random.Random(seed), np.random.default_rng(seed)
        machine, (first, second, result) = machines[seed % len(machines)], rng.choice(TYPES)
        equation, sizes = rng.choice(EQUATIONS), {"m": rng.choice(M), "n": rng.choice(N), "k": rng.choice(K), "b": 3}
        left, right = equation.partition("->")[0].split(",")
        special = rng.random() < 0.3 and "complex64" not in (first, second)  # See test_complex.py.
        a, b = (
            _drawn(generator, _dtype(name), [sizes[label] for label in term], special)
            for name, term in ((first, left), (second, right))
        )
        f = el.compile(equation, a, b, target=machine)
        out = None if result is None else np.empty(f.output_shape, result)
        found = f(a, b) if out is None else f(a, b, out=out)
        gone = sorted(host().features - machine.features)
        try:
            _check(np.asarray(found), a, b, equation, sizes["k"])
        except AssertionError as error:
            text = f"{seed}: {equation} {sizes} {first} {second} {result}, {machine.vector} without {gone}"
            raise AssertionError(text) from error
