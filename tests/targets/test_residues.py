"""Every family of kernels on every vector ISA: all rests of m, n and k, between unmapped pages, with special numbers.

Each size of m, n and k occurs with each kind of products, in changing company; caches are so small that everything is
blocked, packed and staged somewhere. Integers are exact modulo 2**bits. Floats lie within 2 k epsilon sum |a||b|,
rounded once, and NaN and infinities stand where sums of products of numbers, of complex ones the parts, have them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from einloom.dtypes import (
    BFLOAT16,
    BOOL,
    COMPLEX64,
    COMPLEX128,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT8,
    UINT16,
    DType,
    Kind,
)
from einloom.ir.bind import bind
from einloom.ir.numbers import elements_of, narrowed, widened
from einloom.ir.operation import Axis, DimType, Operand, Operation, Primitive, Touch
from einloom.ir.schedule import Schedule
from einloom.jit.tiles import host_with_tiles
from einloom.machine import TILES, Machine
from einloom.passes.contraction.choose import every_proposal
from einloom.passes.contraction.groups import grouped_schedules
from einloom.passes.contraction.narrow import in_computed_type, staged_in_computed_type
from einloom.passes.fuse import fuse
from einloom.passes.identify import identify_primitive
from einloom.passes.values import Context
from einloom.targets.executable import Executable
from einloom.targets.image import image_of
from tests.covering import covering
from tests.kernels.guarded import GuardedArray, run_guarded
from tests.soak import soak_count

M, N, K = range(1, 67), range(1, 34), (*range(1, 35), 63, 64, 65, 66, 67, 129)
"""Sizes: the largest tiles are 48 x 8, 16 x 14 and 32 x 32 sums, k is unrolled by up to 8 and grouped by up to 64."""

LAYOUTS = (
    "mk,kn->mn",
    "km,kn->mn",
    "mk,nk->mn",
    "km,nk->mn",
    "mk,kn->nm",
    "km,nk->nm",
    "mk,k->m",
    "k,k->",
    "mn,mn->mn",
)

Types = tuple[DType, DType, DType]
ALONE = (FLOAT32, FLOAT64, FLOAT16, BFLOAT16, INT8, UINT8, INT16, UINT16, INT32, INT64, BOOL, COMPLEX64, COMPLEX128)
TYPES: tuple[Types, ...] = (
    *((each, each, each) for each in ALONE),
    *((a, b, INT32) for a in (INT8, UINT8) for b in (INT8, UINT8)),
    *((INT16, INT16, INT32), (INT8, INT16, INT32), (BFLOAT16, BFLOAT16, FLOAT32), (FLOAT16, FLOAT16, FLOAT32)),
    *((BFLOAT16, FLOAT32, FLOAT32), (UINT8, BFLOAT16, BFLOAT16)),
)
MACHINES: dict[str, tuple[str, frozenset[str]]] = {
    "tiles": ("avx512", frozenset()),
    "avx512": ("avx512", frozenset({TILES})),
    "avx512 with pairs": ("avx512", frozenset({TILES, "avx512fp16"})),
    "avx512 without products of groups": ("avx512", frozenset({TILES, "avx512bf16", "avx512vnni"})),
    "avx2": ("avx2", frozenset({TILES})),
    "avx2 without products of groups": ("avx2", frozenset({TILES, "avxvnni", "avxvnniint8"})),
    "neon": ("neon", frozenset()),
}
"""Vectors, and features that are taken away."""

SPECIAL = ((np.nan, np.inf, -np.inf, -0.0), (np.nan, -0.0, 2.0**-24, -(2.0**-130), 2.0**-149))
"""Infinities and subnormals never meet: where instructions take those for zero, the product is NaN."""


@cache
def machine(name: str) -> Machine | None:
    """The host with these vectors and without these features, its caches tiny; None: it has no such vectors."""
    host, (vector, without) = host_with_tiles(), MACHINES[name]
    if (host.isa == "aarch64") != (vector == "neon") or (vector == "avx512" and host.vector != "avx512"):
        return None
    if name == "tiles" and TILES not in host.features:
        return None
    host = host.with_vector(vector)
    return replace(host, features=host.features - without, l1d=4096, l2=16384, l3=65536, rates=None)


@dataclass(frozen=True)
class Case:
    """A contraction, the proposals for which are all tried."""

    machine: str
    types: Types
    layout: str
    sizes: tuple[int, int, int]
    at_end: bool
    special: bool

    @property
    def operation(self) -> Operation:
        extents = dict(zip("mnk", self.sizes))
        inputs, _, output = self.layout.partition("->")
        terms = (*inputs.split(","), output)
        names = [name for name in "mnk" if name in self.layout]
        axes = tuple(Axis(name, extents[name], self._role(name, terms)) for name in names)
        operands: list[Operand] = []
        for number, (term, dtype) in enumerate(zip(terms, self.types)):
            strides, step = dict.fromkeys(names, 0), 1
            for label in reversed(term):
                strides[label], step = step, step * extents[label]
            conjugated = dtype.kind is Kind.COMPLEX and number < 2 and bool(self.sizes[0] >> number & 1)
            operands.append(Operand(("in0", "in1", "out")[number], dtype, tuple(strides.values()), conjugated))
        return Operation(axes, tuple(operands), Primitive.GEMM, Touch(Primitive.ZERO))

    @staticmethod
    def _role(name: str, terms: tuple[str, ...]) -> DimType:
        first, second, output = (name in term for term in terms)
        if not output:
            return DimType.K
        return DimType.C if first and second else DimType.M if first else DimType.N


def schedules(operation: Operation, target: Machine) -> list[tuple[Operation, Schedule]]:
    """Return everything that is proposed, each with the operation that it walks."""
    operation = fuse(operation)
    identified, context = Schedule((), identify_primitive(operation)), Context(target)
    found = [each.schedule for each in every_proposal(in_computed_type(operation), identified, context)]
    found += [schedule for _, schedule, _ in grouped_schedules(operation, identified.prims, context)]
    return [(operation, staged_in_computed_type(operation, each)) for each in dict.fromkeys(found)]


def contents(case: Case, operand: Operand, count: int, generator: np.random.Generator) -> Any:
    """Return elements: integers of the whole range, truth values, or floats of which some are special."""
    dtype = elements_of(operand.dtype)
    if operand.dtype.is_integer:
        ends = np.iinfo(dtype)
        return generator.integers(ends.min, ends.max, count, dtype=dtype, endpoint=True)
    if operand.dtype is BOOL:
        return generator.random(count) < 0.2
    values: Any = generator.standard_normal((count, 2))
    if case.special:
        where = generator.integers(0, 100 * max(case.sizes), values.shape)
        for number, value in enumerate(SPECIAL[case.sizes[0] % 2]):
            values[where == number] = value
    if operand.dtype.kind is Kind.COMPLEX:
        return values.reshape(-1).astype(operand.dtype.real.name).view(dtype)
    return narrowed(values[:, 0], operand.dtype)


def check(case: Case) -> str | None:
    """Run every proposal; what is wrong with the first result that is."""
    target = machine(case.machine)
    assert target is not None
    operation, generator = case.operation, np.random.default_rng(hash(case.sizes) & 0xFFFF)
    arrays = [GuardedArray(operation.elements(o), elements_of(o.dtype).name, case.at_end) for o in operation.operands]
    for array, operand in zip(arrays, operation.inputs):
        array.values[:] = contents(case, operand, array.values.size, generator)
    wanted, bound = expected(case, [array.values for array in arrays[:2]])
    addresses = tuple(array.values.ctypes.data for array in arrays)
    output, pairs = operation.output.dtype, operation.multiplies_pairs
    for walked, schedule in schedules(operation, target):
        arrays[-1].values.view(np.uint8)[:] = 0xA5
        Executable(image_of(bind(walked, schedule), target))(addresses, 1)
        found = arrays[-1].values.reshape([*wanted.shape[:-1], 1] if pairs else wanted.shape)
        if not is_right(found, wanted, bound, output):
            return f"{operation}\n{schedule}"
    for array in arrays:
        array.close()
    return None


def expected(case: Case, values: list[Any]) -> tuple[Any, Any]:
    """Return the sums in wide types, of complex numbers part by part, and how far sums of floats may be off."""
    operation, terms = case.operation, case.layout.partition("->")[0].split(",")
    extents = dict(zip("mnk", case.sizes))
    shaped = [each.reshape([extents[label] for label in term]) for each, term in zip(values, terms)]
    if operation.output.dtype.kind is Kind.COMPLEX:
        first, second = (each.conj() if o.conjugated else each for each, o in zip(shaped, operation.inputs))
        pairs = [(first.real, second.real, 1), (first.imag, second.imag, -1)]
        crossed = [(first.real, second.imag, 1), (first.imag, second.real, 1)]
        parts = [_sums(case.layout, each) for each in (pairs, crossed)]
        return np.stack([parts[0][0], parts[1][0]], -1), np.stack([parts[0][1], parts[1][1]], -1)
    computed = operation.accumulate
    first, second = (widened(each, o.dtype, computed) for each, o in zip(shaped, operation.inputs))
    if computed.kind is not Kind.FLOAT:
        return np.einsum(case.layout, first, second), None
    return _sums(case.layout, [(first, second, 1)])


def _sums(layout: str, products: list[tuple[Any, Any, int]]) -> tuple[Any, Any]:
    with np.errstate(all="ignore"):
        wide = [(a.astype(np.float64), sign * b.astype(np.float64)) for a, b, sign in products]
        exact = sum(np.einsum(layout, a, b) for a, b in wide)
        sizes = sum(np.einsum(layout, np.abs(a), np.abs(b)) for a, b in wide)
    return exact, np.asarray(sizes)


def is_right(found: Any, wanted: Any, sizes: Any, dtype: DType) -> bool:
    """Whether a result is right; subnormal products may be taken for zero."""
    if sizes is None:
        return np.array_equal(found, narrowed(wanted, dtype))
    if dtype.kind is Kind.COMPLEX:
        found = found.view(elements_of(dtype.real))
    found, finite = widened(found, dtype.real).astype(np.float64), np.isfinite(wanted)
    steps = 2 * (K[-1] + 2)
    epsilon = 2.0**-53 if dtype.real is FLOAT64 else 2.0**-24
    rounding, least = {FLOAT16: (2.0**-11, 2.0**-25), BFLOAT16: (2.0**-8, 2.0**-134)}.get(dtype, (0.0, 0.0))
    bound = steps * epsilon * sizes[finite] + steps * 2.0**-126 + 1.01 * rounding * np.abs(wanted[finite]) + least
    same = np.array_equal(found[~finite], wanted[~finite], equal_nan=True)
    return same and bool(np.all(np.abs(found[finite] - wanted[finite]) <= bound))


def cases(name: str) -> list[Case]:
    """Return cases in which every size of an axis meets every type, and some of them all layouts."""
    found: list[Case] = []
    for seed, types in enumerate(TYPES):
        rng = random.Random(seed)
        rows = covering(m=M, n=N, k=K, layout=LAYOUTS, at_end=(False, True), special=(False, True))
        made = [
            Case(name, types, row["layout"], (row["m"], row["n"], row["k"]), row["at_end"], row["special"])
            for row in rows
        ]
        rng.shuffle(made)
        found += made[: soak_count(len(made), 0.002)]
    return found


@pytest.mark.soak
@pytest.mark.parametrize("name", MACHINES)
def test_every_rest_of_every_kernel_is_right_and_touches_nothing_else(name: str) -> None:
    if machine(name) is None:
        pytest.skip("no such vectors here")
    assert run_guarded(cases(name), check) is None


@pytest.mark.parametrize("types", [(UINT8, INT8, INT32), (INT8, UINT8, INT32)], ids=str)
def test_sums_along_groups_of_different_signs_know_which_is_which(types: Types) -> None:
    names = [name for name in MACHINES if machine(name) is not None]
    assert run_guarded([Case(name, types, "k,k->", (26, 20, 13), False, False) for name in names], check) is None


WIDE = [
    Case("tiles", types, layout, sizes, at_end, special=False)
    for types in ((BFLOAT16, BFLOAT16, BFLOAT16), (INT8, UINT8, INT8))
    for layout in ("mk,kn->mn", "km,nk->mn")
    for sizes, at_end in (((37, 150, 63), True), ((70, 161, 34), False), ((65, 129, 127), True), ((97, 203, 64), False))
]
"""Columns of several panels, more rows than meet a panel at once, k of one panel, of two and of several."""


def test_nests_of_matrix_tiles_that_are_blocked_in_all_directions_are_right() -> None:
    target = machine("tiles")
    if target is None:
        pytest.skip("no matrix tiles here")
    blocked = [
        {loop.axis for loop in schedule.loops} >= set("mnk") and len(schedule.packs) == 3
        for case in WIDE
        for _, schedule in schedules(case.operation, target)
    ]
    assert any(blocked)
    assert run_guarded(WIDE, check) is None


def test_products_of_groups_and_of_single_elements_are_among_what_is_tried() -> None:
    packs: set[str] = set()
    for name in MACHINES:
        target = machine(name)
        for types in TYPES if target else ():
            case = Case(name, types, "mk,kn->mn", (66, 33, 129), True, False)
            for _, schedule in schedules(case.operation, target or host_with_tiles()):
                packs |= {str(pack.group) + "1e" * pack.turned for pack in schedule.packs}
    assert packs >= ({"1", "11e", "2", "4"} if machine("neon") is None else {"1", "11e"})
