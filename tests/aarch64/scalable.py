"""Tests of SVE and SME that run on an emulated AArch64 processor only: every width, whichever one it begins with.

Linux lets a thread change the width of its vectors, so one emulated processor stands for many.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import chain

import pytest

from einloom.asm import Assembler
from einloom.errors import UnsupportedTarget
from einloom.jit import Kernel, host
from einloom.kernels import Brgemm, machine_for
from einloom.kernels.contraction.outer import outer_product
from einloom.kernels.contraction.product import Product
from einloom.machine import Machine
from tests.emulation import PART
from tests.kernels import products, test_dot_products
from tests.kernels.guarded import run_guarded
from tests.kernels.products import ProductCase, check_product
from tests.kernels.test_brgemm import covering_cases, listed_cases, odd_cases
from tests.kernels.test_dot_products import CASES, Case, case_of, check, compiled

SET_LENGTH, GET_LENGTH, SET_STREAMING_LENGTH = 50, 51, 63
"""Options of `prctl`: the bytes of a vector. Source: Linux `Documentation/arch/arm64/{sve,sme}.rst`."""

SHARE = 25
"""Of so many cases one is tried: all run with the width that the processor begins with."""

INSTRUCTION_OF = {
    "pairs": "bfdot", "signed": "sdot", "unsigned": "udot", "mixed": "usdot", "mixed the other way": "usdot",
}  # fmt: skip

FEATURE_OF = {
    "pairs": "bf16", "signed": "sve", "unsigned": "sve", "mixed": "i8mm", "mixed the other way": "i8mm",
}  # fmt: skip

needs_sve = pytest.mark.skipif("sve" not in host().features, reason="the processor has no SVE")


def set_width(bits: int) -> bool:
    return ctypes.CDLL(None).prctl(SET_LENGTH, bits // 8, 0, 0, 0) == bits // 8


def skip_without_width(bits: int) -> None:
    """Skip the test where the processor has no vectors of a width; afterwards they are as wide as before."""
    before = ctypes.CDLL(None).prctl(GET_LENGTH, 0, 0, 0, 0) & 0xFFFF
    there = set_width(bits)
    set_width(8 * before)
    if not there:
        pytest.skip(f"the processor has no vectors of {bits} bits")


def check_with_width(case: ProductCase) -> str | None:
    if not set_width(int(case.vector.removeprefix("sve"))):
        return "the processor has no such width"
    return check_product(case)


@needs_sve
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("bits", [128, 256, 1024, 2048])
def test_kernels_of_every_width(bits: int, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    skip_without_width(bits)
    monkeypatch.setattr(products, "Kernel", partial(Kernel, features=()))  # This process began with another width.
    vector = f"sve{bits}"
    cases = list(chain(covering_cases(vector, dtype), odd_cases(vector, dtype), listed_cases(vector, dtype)))
    complaint = run_guarded(cases[bits // 128 % SHARE :: SHARE], check_with_width)
    assert complaint is None, complaint


def check_groups_with_width(bits: int, case: Case) -> str | None:
    return check(case) if set_width(bits) else "the processor has no such width"


def with_scalable(bits: int) -> Machine:
    """Return the host with vectors of another width, and without outer products."""
    others = {name for name in host().features if name != "sme" and not name.removeprefix("sve").isdigit()}
    return replace(host(), vector=f"sve{bits}", features=frozenset(others | {f"sve{bits}"}))


@needs_sve
@pytest.mark.parametrize("types", test_dot_products.DONE_ON["sve"])
@pytest.mark.parametrize("bits", [128, 256, 512, 1024, 2048])
def test_sums_of_groups_of_every_width(bits: int, types: str, monkeypatch: pytest.MonkeyPatch) -> None:
    skip_without_width(bits)
    if FEATURE_OF[types] not in host().features:
        pytest.skip(f"the processor has no {FEATURE_OF[types]}")
    monkeypatch.setattr(test_dot_products, "Kernel", partial(Kernel, features=()))
    monkeypatch.setattr(test_dot_products, "machine", lambda _: with_scalable(bits))
    cases = [case_of("sve", types, number) for number in range(bits // 128 % 5, CASES, 5 * PART)]
    assert any(f"{INSTRUCTION_OF[types]} z" in compiled(case).listing() for case in cases)
    complaint = run_guarded(cases, partial(check_groups_with_width, bits))
    assert complaint is None, complaint


@needs_sve
def test_code_for_another_width_is_refused_before_it_runs() -> None:
    other = "sve128" if host().vector_bits != 128 else "sve256"
    kernel = products.compile_kernel(wide_case(other).kernel_spec, other)
    with pytest.raises(UnsupportedTarget, match=f"needs {other}"):
        kernel.call(0, 0, 0)


@needs_sve
def test_a_width_that_changed_meanwhile_stops_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "Kernel", partial(Kernel, features=()))
    other = "sve128" if host().vector_bits != 128 else "sve256"
    complaint = run_guarded([wide_case(other)], check_product)
    assert complaint is not None and "SIGILL" in complaint


def wide_case(vector: str) -> ProductCase:
    """Return a product whose elements lie in order."""
    return next(
        case
        for case in covering_cases(vector, "float32")
        if case.spec.a[0] == case.spec.c[0] == 1 and case.spec.m > 4 and case.spec.k and not case.open
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_outer_products(dtype: str) -> None:
    """Of the width that the processor begins with; in between no other kernel runs in streaming mode."""
    outer = machine_for(Assembler("aarch64"), host()).outer
    if outer is None:
        pytest.skip("the processor has no SME")
    cases = [
        case for case in covering_cases(host().vector, dtype) if outer_product(Product.of(case.kernel_spec), outer)
    ]
    assert len(cases) > 20
    assert "fmopa" in products.compile_kernel(cases[0].kernel_spec, cases[0].vector).listing()
    assert run_guarded(cases, check_product) is None


@pytest.mark.parametrize("bits", [128, 256, 512, 1024, 2048])
def test_outer_products_of_every_width(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each tile as full as it gets, and with single rows and columns left over."""
    if "sme" not in host().features:
        pytest.skip("the processor has no SME")
    monkeypatch.setattr(products, "Kernel", partial(Kernel, features=()))
    monkeypatch.setattr(products, "machine", lambda _: with_streaming(bits))
    complaint = run_guarded([*outer_cases(bits)], partial(check_streaming, bits))
    assert complaint is None, complaint


def with_streaming(bits: int) -> Machine:
    others = frozenset(name for name in host().features if not name[3:].isdigit() or name[:3] != "sme")
    return replace(host(), features=others | {f"sme{bits}"})


def outer_cases(bits: int) -> Iterator[ProductCase]:
    for dtype, across in (("float32", 2), ("float64", 4)):
        side = bits // (32 if dtype == "float32" else 64)
        for m, n in ((across * side, 2 * side), (across * side + 1, side), (side, 2 * side + 1), (side - 1 or 1, side)):
            spec = Brgemm(
                dtype,  # type: ignore[arg-type]
                m,
                n,
                9,
                2,
                a=(1, 0, m + 1, 10 * m + 9),
                b=(0, 1, n, 9 * n),
                c=(1, m + 2),
                beta=n % 2,
                alpha=1 + m % 2,
            )
            if m > 1 and n > 1:
                yield ProductCase(spec, frozenset(), None, host().vector, bool(m % 2))


def check_streaming(bits: int, case: ProductCase) -> str | None:
    if ctypes.CDLL(None).prctl(SET_STREAMING_LENGTH, bits // 8, 0, 0, 0) != bits // 8:
        return "the processor has no such width"
    listing = products.compile_kernel(case.kernel_spec, case.vector).listing()
    return check_product(case) if "fmopa" in listing else "no outer products"
