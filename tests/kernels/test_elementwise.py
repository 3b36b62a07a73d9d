"""Unary, binary and ternary kernels on operands between unmapped pages: edges, layouts, broadcasts, transpositions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from einloom.asm import Assembler
from einloom.dtypes import data_type
from einloom.errors import ArgumentError, UnsupportedTarget
from einloom.ir import meanings
from einloom.kernels import machine_for
from einloom.kernels.emit import emit_kernel
from einloom.kernels.formula import functions
from einloom.kernels.specs import Binary, ElementWise, Ternary, Unary
from einloom.machine import AVX512
from tests.covering import covering
from tests.isas import vectors_of_host
from tests.kernels.elementwise import COLUMNS, ROWS, WRITTEN, ElementCase, check_elements, layouts, sizes
from tests.kernels.guarded import run_guarded
from tests.kernels.products import compile_kernel
from tests.kernels.test_brgemm import DTYPES

LAYOUTS = tuple(layouts(1, 1))
BOTH = (False, True)

LAYOUT_OPERATORS = ("zero", "identity", "relu", "exp")
"""Those that meet every layout: no input, none, few and many steps. The others differ from them in steps alone."""


def unary_cases(vector: str, dtype: str, op: str) -> Iterator[ElementCase]:
    for row in covering(m=ROWS, n=COLUMNS, a=LAYOUTS, b=WRITTEN, open=BOTH, at_end=BOTH):
        m, n = row["m"], row["n"]
        places = layouts(m, n)
        a = (0, 0) if op == "zero" else places[row["a"]]
        spec = Unary(op, dtype, m, n, a=a, b=places[row["b"]])  # type: ignore[arg-type]
        yield ElementCase(spec, row["open"], vector, row["at_end"])
    for m, n in product(ROWS[:33], (1, 9, 16, 23)):  # Transpositions, every edge of a block.
        yield ElementCase(Unary(op, dtype, m, n, a=(1, m), b=(n, 1)), False, vector, bool(m % 2))  # type: ignore[arg-type]
    for many, few in product(ROWS, range(2, 8)):  # A few elements side by side in B, or in A.
        joined = Unary(op, dtype, many, few, a=(1, many + 3), b=(few, 1))  # type: ignore[arg-type]
        parted = Unary(op, dtype, few, many, a=(1, few), b=(many + 2, 1))  # type: ignore[arg-type]
        for spec in (joined, parted):
            yield ElementCase(spec, False, vector, bool(many % 2))


def operator_cases(vector: str, dtype: str) -> Iterator[ElementCase]:
    """Yield every unary operator on a few sizes: in columns, transposing, strided, in place, with a parameter."""
    for number, op in enumerate(functions.UNARY):
        for index, m, n in sizes(8, 8 * number):
            places = layouts(m, n)
            target = ("col", "row", "packed", "strided")[index % 4]
            spec = Unary(op, dtype, m, n, a=places["col"], b=places[target])  # type: ignore[arg-type]
            yield ElementCase(spec, bool(index // 4 % 2), vector, bool(index % 2), target == "col" and op != "zero")
        if meanings.UNARY[op].alpha is not None:
            spec = Unary(op, dtype, 37, 2, a=(1, 37), b=(1, 37), alpha=-0.75)  # type: ignore[arg-type]
            yield ElementCase(spec, False, vector, True)


def register_cases(vector: str, dtype: str) -> Iterator[ElementCase]:
    """Yield copies of columns of 16 bytes, near and far apart."""
    m = 4 if dtype == "float32" else 2
    for n, (index, apart) in product((1, 2, 3, 17), enumerate((m, m + 1, 3 * m, 500))):
        for a, b in (((1, apart), (1, m)), ((1, m), (1, apart))):
            yield ElementCase(Unary("identity", dtype, m, n, a=a, b=b), False, vector, bool(index % 2))  # type: ignore[arg-type]


def conversion_cases(vector: str, dtype: str) -> Iterator[ElementCase]:
    other = "float64" if dtype == "float32" else "float32"
    for row in covering(m=ROWS, n=COLUMNS, a=LAYOUTS, b=WRITTEN, open=BOTH, at_end=BOTH):
        m, n = row["m"], row["n"]
        places = layouts(m, n)
        spec = Unary("identity", dtype, m, n, a=places[row["a"]], b=places[row["b"]], output=other)  # type: ignore[arg-type]
        yield ElementCase(spec, row["open"], vector, row["at_end"])
    for m, n in product(ROWS[:20], (1, 5, 8, 11)):
        spec = Unary("identity", dtype, m, n, a=(1, m), b=(n, 1), output=other)  # type: ignore[arg-type]
        yield ElementCase(spec, False, vector, bool(m % 2))


def binary_cases(vector: str, dtype: str) -> Iterator[ElementCase]:
    operators = tuple(functions.BINARY)
    for row in covering(m=ROWS, n=COLUMNS, op=operators, a=LAYOUTS, b=LAYOUTS, c=WRITTEN, open=BOTH, at_end=BOTH):
        m, n = row["m"], row["n"]
        a, b, c = (layouts(m, n)[row[name]] for name in "abc")
        spec = Binary(row["op"], dtype, m, n, a=a, b=b, c=c)  # type: ignore[arg-type]
        yield ElementCase(spec, row["open"], vector, row["at_end"], row["a"] == row["c"])


def ternary_cases(vector: str, dtype: str) -> Iterator[ElementCase]:
    operators, inputs = tuple(functions.TERNARY), LAYOUTS
    for row in covering(
        m=ROWS, n=COLUMNS, op=operators, a=inputs, b=inputs, c=inputs, d=WRITTEN, open=BOTH, at_end=BOTH
    ):
        m, n = row["m"], row["n"]
        a, b, c, d = (layouts(m, n)[row[name]] for name in "abcd")
        spec = Ternary(row["op"], dtype, m, n, a=a, b=b, c=c, d=d)  # type: ignore[arg-type]
        yield ElementCase(spec, row["open"], vector, row["at_end"], row["a"] == row["d"])


@pytest.mark.parametrize("op", LAYOUT_OPERATORS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_unary_in_every_layout(vector: str, dtype: str, op: str) -> None:
    complaint = run_guarded(list(unary_cases(vector, dtype, op)), check_elements)
    assert complaint is None, complaint


@pytest.mark.parametrize("cases", [operator_cases, register_cases, conversion_cases, binary_cases, ternary_cases])
@pytest.mark.parametrize("dtype", DTYPES)
def test_operators(vector: str, dtype: str, cases: object) -> None:
    complaint = run_guarded(list(cases(vector, dtype)), check_elements)  # type: ignore[operator]
    assert complaint is None, complaint


@pytest.mark.parametrize("dtype", DTYPES)
def test_an_output_that_is_read_takes_part_once(vector: str, dtype: str) -> None:
    """Tables of strides lie on the stack, one for each matrix: a second one for C overwrote the caller's registers."""
    places = layouts(15, 31)
    spec = Binary("muladd", dtype, 15, 31, a=places["negative"], b=places["strided"], c=places["negative"])  # type: ignore[arg-type]
    complaint = run_guarded([ElementCase(spec, True, vector, True)], check_elements)
    assert complaint is None, complaint


def test_every_operator_has_a_meaning_and_a_formula() -> None:
    for name in ("UNARY", "BINARY", "TERNARY"):
        assert list(getattr(functions, name)) == list(getattr(meanings, name))


REFUSED: list[tuple[ElementWise, type[Exception], str]] = [
    (Unary("root", "float32", 1, 1), ArgumentError, "There are zero, identity"),  # type: ignore[arg-type]
    (Binary("modulo", "float32", 1, 1), ArgumentError, "There are add"),  # type: ignore[arg-type]
    (Ternary("median", "float32", 1, 1), ArgumentError, "There are muladd, select"),  # type: ignore[arg-type]
    (Unary("exp", "float32", 1, 1, alpha=2.0), UnsupportedTarget, "leaky_relu, elu"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("spec", "error", "message"), REFUSED)
def test_what_does_not_exist_is_refused_with_what_does(spec: ElementWise, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        compile_kernel(spec, vectors_of_host()[0])


@pytest.mark.parametrize(("apart", "halves"), [(48, False), (44, True), (47, True), (64, False)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_that_begin_within_lines_are_stored_in_halves(dtype: str, apart: int, halves: bool) -> None:
    asm = Assembler(AVX512.isa)
    spec = Unary("identity", data_type(dtype), 36, 39, a=(1, 36), b=(apart, 1))
    emit_kernel(machine_for(asm, AVX512), spec)
    names = {getattr(form, "mnemonic", form) for form, *_ in asm.records}
    assert bool(names & {"vextractf32x8", "vextractf64x4"}) is halves
