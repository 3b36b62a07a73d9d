"""Cases of element-wise kernels and the check of one: NumPy's results, NaN, infinities and zeros included."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any

import numpy as np

from einloom.ir import meanings
from einloom.kernels import signature
from einloom.kernels.formula import functions
from einloom.kernels.specs import Binary, ElementWise, Ternary, Unary
from tests.kernels.products import Matrix, compile_kernel

SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, 3.0, -2.5)
EITHER_ZERO = ("relu", "min", "max")
"""Operators that may return either of two zeros."""


@dataclass(frozen=True)
class ElementCase:
    """A kernel and a call of it.

    Attributes:
        spec: with every stride known.
        open: whether strides other than 0 and 1 are arguments of the kernel.
        vector: the vector ISA.
        at_end: whether operands end or begin at an unmapped page.
        in_place: whether the first input is the output.
    """

    spec: ElementWise
    open: bool
    vector: str
    at_end: bool
    in_place: bool = False

    @property
    def opened(self) -> dict[str, tuple[int | None, ...]]:
        """Strides as the kernel is compiled for them."""
        sizes = (self.spec.m, self.spec.n)
        return {
            name: tuple(
                None if self.open and stride not in (0, 1) and size > 1 else stride
                for stride, size in zip(getattr(self.spec, name), sizes)
            )
            for name in operands_of(self.spec)
        }


def operands_of(spec: ElementWise) -> str:
    """Return the names of the matrices of a spec, the output last."""
    return "".join(field.name for field in fields(spec) if len(field.name) == 1 and field.name in "abcd")


def check_elements(case: ElementCase) -> str | None:
    """Run a case; return what is wrong with the result, or None."""
    spec, names = case.spec, operands_of(case.spec)
    sizes = (spec.m, spec.n)
    types = dict.fromkeys(names, spec.dtype.name)
    if isinstance(spec, Unary) and spec.output is not None:
        types["b"] = spec.output.name
    matrices = {
        name: Matrix(sizes, getattr(spec, name), types[name], case.at_end, seed, place_specials)
        for seed, name in enumerate(names)
    }
    output = matrices[names[-1]]
    if case.in_place:
        matrices[names[0]] = output
    inputs = [matrices[name].view.copy() for name in names]
    expected = output.memory.values.copy()
    call(case, {name: matrix.address for name, matrix in matrices.items()})
    complaint = mismatch(spec, inputs, output.view)
    output.view[...] = 0
    before = np.lib.stride_tricks.as_strided(expected[output.first :], sizes, output.view.strides)
    before[...] = 0
    if not complaint and not np.array_equal(output.memory.values.view(np.uint32), expected.view(np.uint32)):
        complaint = "wrote between the elements of the output"
    for matrix in {id(matrix): matrix for matrix in matrices.values()}.values():
        matrix.close()
    return complaint


def call(case: ElementCase, addresses: dict[str, int]) -> None:
    """Compile the kernel of a case and call it."""
    opened = case.opened
    values: dict[str, Any] = dict(addresses)
    for name, strides in opened.items():
        axes = [axis for axis, stride in enumerate(strides) if stride is None]
        for axis in axes:
            values[f"ld_{name}" if len(axes) == 1 else f"{name}_{'mn'[axis]}"] = getattr(case.spec, name)[axis]
    spec = replace(case.spec, **opened)  # type: ignore[arg-type]
    compile_kernel(spec, case.vector).call(*(values[name] for name in signature(spec)))


def rows_of(spec: ElementWise) -> tuple[functions.Function, meanings.Meaning]:
    """Return the rows of a spec's operator in both tables."""
    name = {Unary: "UNARY", Binary: "BINARY", Ternary: "TERNARY"}[type(spec)]
    return getattr(functions, name)[spec.op], getattr(meanings, name)[spec.op]


def mismatch(spec: ElementWise, operands: list[Any], result: Any) -> str | None:
    """Return what is wrong with a result, or None; `operands` are all matrices as they were before, the output last."""
    function, meaning = rows_of(spec)
    inputs = operands if function.reads_output else operands[:-1]
    allowed = getattr(function, spec.dtype.name)
    alpha = {"alpha": spec.alpha} if isinstance(spec, Unary) and spec.alpha is not None else {}
    if allowed is None:
        with np.errstate(all="ignore"):
            exact = meaning(*inputs, **alpha).astype(result.dtype)
        agrees = (result == exact) & ((np.signbit(result) == np.signbit(exact)) | (spec.op in EITHER_ZERO))
    else:
        exact = meaning(*(operand.astype(np.longdouble) for operand in inputs), **alpha)
        exact = exact_muladd(inputs, exact) if spec.op == "muladd" and spec.dtype.name == "float64" else exact
        unit = inputs[0] if function.error_of == "argument" else exact
        agrees = errors(result, exact, unit) <= allowed + 0.01
    agrees |= np.isnan(result) & np.isnan(exact)
    if agrees.all():
        return None
    at = tuple(np.argwhere(~agrees)[0])
    values = [operand[at] for operand in inputs]
    return f"element {at} of {spec.op}{tuple(values)} is {result[at]!r}, not {exact[at]!r}; {np.sum(~agrees)} are wrong"


def exact_muladd(inputs: list[Any], approximate: Any) -> Any:
    """Return a * b + c of float64 where it is finite, as exact as if nothing cancelled."""
    result = approximate.copy()
    for at in np.argwhere(np.isfinite(approximate)):
        a, b, c = (Fraction(float(one[tuple(at)])) for one in inputs)
        total = a * b + c
        high = float(total)
        result[tuple(at)] = np.longdouble(high) + np.longdouble(float(total - Fraction(high)))
    return result


def errors(result: Any, exact: Any, unit: Any) -> Any:
    """Return the errors in units of the last place of `unit`; 0 where both are the same infinity."""
    limits = np.finfo(result.dtype)
    with np.errstate(all="ignore"):
        exponent = np.floor(np.log2(np.maximum(np.abs(unit.astype(np.longdouble)), limits.tiny)))
        last_place = np.exp2(np.minimum(exponent, limits.maxexp - 1) - limits.nmant)
        # What lies above the largest number rounds to infinity half a last place later.
        overflows = np.isinf(result) & (np.abs(exact) > limits.max) & (np.sign(exact) == np.sign(result))
        return np.where(overflows | (result == exact), 0, np.abs(result.astype(np.longdouble) - exact) / last_place)


def place_specials(view: Any, generator: np.random.Generator) -> None:
    """Fill with normal numbers, every fifth of them special."""
    view[...] = generator.normal(size=view.shape)
    special = generator.random(view.shape) < 0.2
    view[special] = generator.choice(np.array(SPECIAL, view.dtype), int(special.sum()))


def layouts(m: int, n: int) -> dict[str, tuple[int, int]]:
    """Return strides along (m, n) by name."""
    return {
        "col": (1, m + 3),
        "row": (n + 2, 1),
        "packed": (1, m),
        "strided": (3, 3 * m + 2),
        "strided rows": (3 * n + 1, 3),
        "negative": (-1, -m - 1),
        "constant columns": (0, 1),
        "constant rows": (1, 0),
        "constant": (0, 0),
    }


WRITTEN = ("col", "row", "packed", "strided", "strided rows", "negative")
"""The layouts that an output can have."""

ROWS = (*range(1, 35), 48, 63, 64, 65, 70)
COLUMNS = (1, 2, 3, 4, 5, 7, 8, 9, 11, 15, 16, 17, 18, 31, 32, 33, 40)


def sizes(count: int, start: int = 0) -> Iterator[tuple[int, int, int]]:
    """Yield (index, m, n) such that every size occurs, with ever new partners."""
    for index in range(start, start + count):
        yield index, ROWS[index % len(ROWS)], COLUMNS[(index * 3 + index // len(COLUMNS)) % len(COLUMNS)]
