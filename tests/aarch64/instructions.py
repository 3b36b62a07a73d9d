"""Tests that run on an emulated AArch64 processor only: einsum takes the instructions that there are, and no others.

Features are taken away one by one; what is computed stays exact, and is never computed by what was taken.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import einloom as el
from einloom.jit import host
from einloom.machine import Machine, vector_of
from tests.emulation import PART

BFLOAT16 = ml_dtypes.bfloat16
TYPES: dict[str, tuple[Any, Any, Any]] = {
    "signed": ("i1", "i1", "i4"),
    "unsigned": ("u1", "u1", "u4"),
    "mixed": ("u1", "i1", "i4"),
    "mixed the other way": ("i1", "u1", "i4"),
    "bfloat16": (BFLOAT16, BFLOAT16, "f4"),
    "bfloat16, rounded": (BFLOAT16, BFLOAT16, BFLOAT16),
    "float16": ("f2", "f2", "f4"),
    "float16, rounded": ("f2", "f2", "f2"),
    "float32": ("f4", "f4", "f4"),
    "float64": ("f8", "f8", "f8"),
    "int32": ("i4", "i4", "i4"),
    "int64": ("i8", "i8", "i8"),
}
OPERANDS = (
    (("ab,bc->ac"), (53, 61), (61, 59)),
    ("ba,cb->ca", (51, 47), (57, 51)),
    ("xab,xcb->xac", (2, 41, 47), (2, 43, 47)),
)
"""Sizes that no block divides, more than nothing is packed for; every order of k, and an odd one."""

WIDTHS = tuple(f"{mode}{bits}" for mode in ("sve", "sme") for bits in (128, 256, 512, 1024, 2048))
SETTINGS: dict[str, tuple[str, ...]] = {
    "everything": (),
    "without sme": ("sme",),
    "neon": ("sme", "sve"),
    "neon without i8mm": ("sme", "sve", "i8mm"),
    "neon without bf16": ("sme", "sve", "bf16"),
    "neon without fp16fml": ("sme", "sve", "fp16fml"),
    "neon without dotprod": ("sme", "sve", "i8mm", "dotprod"),
    "neon alone": ("sme", "sve", "i8mm", "bf16", "dotprod", "fp16fml"),
    "without sve_i8mm": ("sme", "sve_i8mm"),
    "without sve_bf16": ("sme", "sve_bf16"),
    "without sme_f64f64": ("sme_f64f64",),
    "sme without sve": ("sve",),
}
NEEDED = {
    **dict.fromkeys(("fmopa", "bfmopa", "smopa", "umopa", "usmopa", "sumopa", "smstart"), "sme"),
    **dict.fromkeys(("smmla", "ummla", "usmmla"), "i8mm"),
    "bfmmla": "bf16",
    **dict.fromkeys(("fmlal", "fmlal2"), "fp16fml"),
}
"""Features without which instructions are not to be found."""

EXPECTED = {
    "everything": "fmopa bfmopa smopa umopa usmopa sumopa",
    "sme without sve": "fmopa bfmopa smopa umopa usmopa sumopa",
    "without sme": "bfdot sdot udot usdot ptrue",
    "neon": "bfmmla smmla ummla usmmla",
    "neon without i8mm": "bfmmla sdot udot",
    "neon without bf16": "smmla ummla usmmla",
    "neon without dotprod": "bfmmla",
}
"""What has to be found where the processor has all that these settings leave."""


def without(taken: tuple[str, ...]) -> Machine:
    """Return the host without features, and without what needs them."""
    widths = {name for name in WIDTHS for prefix in taken if name.startswith(prefix) and name[3:].isdigit()}
    more = {name for name in host().features if any(name.startswith(f"{each}_") for each in taken if len(each) == 3)}
    features = host().features - set(taken) - widths - more
    return replace(host(), vector=vector_of("aarch64", features), features=features, rates=None)


def numbers(shape: tuple[int, ...], dtype: Any, seed: int) -> Any:
    """Return small whole numbers: sums of their products are exact in every type."""
    low, high = (0, 256) if dtype == "u1" else (-128, 128) if dtype == "i1" else (-8, 9)
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)


def found_and_complaints(machine: Machine, types: str, which: int) -> tuple[set[str], str | None]:
    """Return the instructions of a contraction, and what is wrong with its result."""
    first, second, output = TYPES[types]
    equation, *shapes = OPERANDS[which]
    a, b = numbers(shapes[0], first, 1), numbers(shapes[1], second, 2)
    wide = {"dtype": output} if output != first else {}
    product = el.compile(equation, a, b, threads=1, target=machine, **wide)  # type: ignore[arg-type]
    expected = np.einsum(equation, a.astype("i8"), b.astype("i8"))
    expected = expected.astype("f4").astype(output) if output is BFLOAT16 else expected.astype(output)
    mnemonics = {line[20:].split(" ")[0] for line in product.show("asm").splitlines() if line[20:]}
    return mnemonics, None if np.array_equal(product(a, b), expected) else f"{types} {equation} on {machine.vector}"


@pytest.mark.parametrize("setting", SETTINGS)
def test_features_that_are_taken_away_are_not_used(setting: str) -> None:
    taken = SETTINGS[setting]
    if not set(taken) <= host().features | {"sme_f64f64", "sve_i8mm", "sve_bf16"}:
        pytest.skip("the processor lacks them anyway")
    machine, found = without(taken), set[str]()
    cases = [(types, which) for types in TYPES for which in range(len(OPERANDS))]
    start = list(SETTINGS).index(setting) % PART
    for types, which in cases[start::PART]:
        mnemonics, complaint = found_and_complaints(machine, types, which)
        assert complaint is None, complaint
        found |= mnemonics
    assert not {name for name in found if NEEDED.get(name) in taken}
    left = "neon" if setting == "without sme" and not machine.vectors.scalable else setting
    if PART == 1 and {"sme", "i8mm", "bf16", "dotprod"} <= host().features:
        assert set(EXPECTED.get(left, "").split()) <= found


@pytest.mark.skipif("fp16fml" not in host().features, reason="the processor has no products of float16")
@pytest.mark.parametrize("shape", [(17, 9, 33), (40, 7, 1), (5, 13, 8)])
def test_float16_in_place_gives_the_bits_that_widening_gives(shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    a = np.random.default_rng(3).normal(size=(k, m)).astype("f2")
    b = np.random.default_rng(4).normal(size=(n, k)).astype("f2")
    results = []
    for taken, expected in ((("sme", "sve"), True), (("sme", "sve", "fp16fml"), False)):
        product = el.compile("km,nk->nm", a, b, dtype="f4", threads=1, target=without(taken))
        assert (" fmlal " in product.show("asm")) is expected
        results.append(product(a, b))
    assert results[0].tobytes() == results[1].tobytes()


@pytest.mark.parametrize("k", [2, 3, 5, 64, 257])
def test_the_bound_of_bfloat16_holds(k: int) -> None:
    """2 k 2^-24 of the sum of the products' sizes, however products of pairs are rounded; subnormals may be 0."""
    rng = np.random.default_rng(k)
    a, b = ((rng.normal(size=s) * 2.0 ** rng.integers(-9, 9, s)).astype(BFLOAT16) for s in ((48, k), (k, 64)))
    wide = [each.astype("f8") for each in (a, b)]
    schedule = "prim m=c n=a k=b pack in0@0:{0} a b pack in1@0:{0} b c"
    for machine, kind in (
        (without(("sme", "sve")), "bfloat16x4"),
        (without(("sme",)), "bfloat16"),
        (host(), "bfloat16"),
    ):
        if {"bf16"} <= machine.features:
            product = el.compile(
                "ab,bc->ac", a, b, dtype="f4", target=machine, schedule=schedule.format(kind), threads=1
            )
            error = np.abs(product(a, b) - wide[0] @ wide[1])
            assert (error <= 2 * k * 2.0**-24 * (np.abs(wide[0]) @ np.abs(wide[1])) + k * 2.0**-126).all()


def test_sme_without_sve_runs_nothing_of_sve_outside_of_streaming_mode() -> None:
    machine = without(("sve",))
    if not machine.streaming_bits:
        pytest.skip("the processor has no SME")
    product = el.compile("ab,bc->ac", (64, 70), (70, 66), dtype="float32", target=machine, threads=1)
    text = product.show("asm")
    assert "fmopa" in text and machine.vector == "neon"
    outside = [line for part in text.split("smstop") for line in part.split("smstart")[0].splitlines()]
    assert not [line for line in outside if re.search(r"\bz\d|rdvl", line)]
