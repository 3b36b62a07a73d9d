"""Schedules of complex products: nests of reals mean the same, conjugated or not, and so do the programs of them."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from einloom.dtypes import COMPLEX64, COMPLEX128, FLOAT32, DType
from einloom.errors import ScheduleError
from einloom.ir.bind import bind
from einloom.ir.interpret import interpret, interpret_nest
from einloom.ir.memory import Memory
from einloom.ir.operation import Axis, DimType, Operand, Operation, Primitive, Touch
from einloom.ir.schedule import OUTPUT, Schedule
from einloom.ir.text import parse_operation, parse_schedule
from einloom.jit.host import host

from ..kernels.guarded import run_guarded
from ..soak import soak_count
from ..targets.programs import difference
from .strategies import random_fused_schedule, random_memories, random_product, random_schedule, with_turned_pack

TYPES = (COMPLEX64, COMPLEX128)


def _decided(seed: int, rng: random.Random, dtype: DType) -> tuple[Operation, Schedule] | None:
    """A random product with a random schedule; None where they do not go together."""
    operation = random_product(rng, dtype)
    chosen = random_schedule if seed % 3 else random_fused_schedule
    schedule = with_turned_pack(rng, operation, chosen(rng, operation))
    if seed % 4 == 0:
        staged = [replace(pack, turned=False) for pack in schedule.packs if pack.operand == OUTPUT and seed % 8]
        schedule = replace(schedule, packs=tuple(staged))  # Complex elements are multiplied where they lie.
    try:
        bind(operation, schedule)
    except ScheduleError:
        return None
    return operation, schedule


def _product(*types: DType, first: Touch | None = None) -> Operation:
    axes = (Axis("m", 6, DimType.M), Axis("n", 5, DimType.N), Axis("k", 4, DimType.K))
    strides = ((1, 0, 6), (0, 4, 1), (1, 6, 0))
    operands = tuple(Operand(name, dtype, each) for name, dtype, each in zip(("in0", "in1", "out"), types, strides))
    return Operation(axes, operands, Primitive.GEMM, first or Touch(Primitive.ZERO))


def test_nests_of_reals_are_complex_products() -> None:
    count, checked = soak_count(20_000, 0.02), 0
    for seed in range(count):
        rng = random.Random(seed)
        decided = _decided(seed, rng, rng.choice(TYPES))
        if decided is None:
            continue
        operation, schedule = decided
        memories = random_memories(rng, operation)
        expected = [Memory(memory.elements.copy(), memory.origin) for memory in memories]
        interpret(operation, expected)
        interpret_nest(bind(operation, schedule), memories)
        assert np.array_equal(memories[-1].elements, expected[-1].elements), f"{seed}: {operation}\n{schedule}"
        assert parse_operation(str(operation)) == operation
        assert parse_schedule(str(schedule)) == schedule
        checked += 1
    assert checked > count // 4 - 1


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_programs_are_complex_products(vector: str, dtype: DType) -> None:
    machine = host().with_vector(vector)

    def check(seed: int) -> str | None:
        rng = random.Random(seed)
        decided = _decided(seed, rng, dtype)
        if decided is None:
            return None
        operation, schedule = decided
        return difference(operation, operation, schedule, machine, rng)

    assert run_guarded(list(range(soak_count(4000, 0.03))), check) is None


@pytest.mark.parametrize("conjugated", [(False, False), (True, False), (False, True)])
@pytest.mark.parametrize("layout", ["cd:4 k cd", "k cd:4 cd"])
@pytest.mark.parametrize("block", [36, 12, 24], ids=["period", "short period", "short last block"])
@pytest.mark.parametrize("k", [5, 19], ids=["few rows", "a few rows at once"])
def test_panels_of_matrices_cut_rows(k: int, block: int, layout: str, conjugated: tuple[bool, bool]) -> None:
    """Rows of d are six indices, panels four: pieces of a period, or steps that count both.

    Of more than eight rows of k a loop takes eight at once, the last time three.
    """
    extents = {"a": 3, "c": 6, "d": 6, "k": k}
    roles = {"a": DimType.M, "c": DimType.N, "d": DimType.N, "k": DimType.K}
    axes = tuple(Axis(name, extent, roles[name]) for name, extent in extents.items())
    strides = ((k, 0, 0, 1), (0, 1, 6 * k, 6), (36, 6, 1, 0))
    operands = tuple(
        Operand(name, COMPLEX64, each, sign)
        for name, each, sign in zip(("in0", "in1", "out"), strides, (*conjugated, False))
    )
    operation, rng = Operation(axes, operands, Primitive.GEMM, Touch(Primitive.ZERO)), random.Random(block)
    schedule = parse_schedule(f"fuse cd=c*d seq cd:{block} seq cd:4 prim m=cd n=a k=k pack in1@1:1e {layout}")
    memories = random_memories(rng, operation)
    expected = [Memory(memory.elements.copy(), memory.origin) for memory in memories]
    interpret(operation, expected)
    interpret_nest(bind(operation, schedule), memories)
    assert np.array_equal(memories[-1].elements, expected[-1].elements)
    assert run_guarded([0], lambda _: difference(operation, operation, schedule, host(), rng)) is None


def test_the_interpreter_conjugates() -> None:
    axes = (Axis("k", 2, DimType.K),)
    operands = [Operand(name, COMPLEX64, (stride,)) for name, stride in (("in0", 1), ("in1", 1), ("out", 0))]
    operands[1] = Operand("in1", COMPLEX64, (1,), conjugated=True)
    values = [np.array(each, np.complex64) for each in ([1 + 2j, 3j], [2 - 1j, 1 + 1j], [7])]
    interpret(Operation(axes, tuple(operands), Primitive.GEMM, Touch(Primitive.ZERO)), [Memory(v) for v in values])
    assert values[2][0] == (1 + 2j) * (2 + 1j) + 3j * (1 - 1j)


def test_one_operand_is_turned() -> None:
    product = _product(COMPLEX64, COMPLEX64, COMPLEX64)
    for text in ("prim m=m n=n k=k pack in0@0 k m", "prim m=m n=n k=k pack in0@0:1e k m pack in1@0:1e n k"):
        with pytest.raises(ScheduleError, match="form 1e; products of complex numbers need one factor"):
            bind(product, parse_schedule(text))
    with pytest.raises(ScheduleError, match="the output is packed in the form 1e"):
        bind(product, parse_schedule("prim m=m n=n k=k pack out@0:1e n m"))


def test_real_numbers_are_not_turned() -> None:
    with pytest.raises(ScheduleError, match="multiplies no complex numbers"):
        bind(_product(FLOAT32, FLOAT32, FLOAT32), parse_schedule("prim m=m n=n k=k pack in0@0:1e k m"))


def test_touches_that_compute_are_refused() -> None:
    product = _product(COMPLEX64, COMPLEX64, COMPLEX64, first=Touch(Primitive.NEGATE))
    for text in ("prim m=m n=n k=k", "prim m=m n=n k=k pack in0@0:1e k m"):
        with pytest.raises(ScheduleError, match="a touch computes with complex numbers"):
            bind(product, parse_schedule(text))


def test_the_form_of_a_pack_is_a_word_that_is_known() -> None:
    with pytest.raises(ScheduleError, match="'in0@0:2e' does not belong there"):
        parse_schedule("prim m=m pack in0@0:2e m")


def test_rests_of_parts_are_not_taken_for_those_of_the_axis_that_has_their_name() -> None:
    """Along d, of which reals take twice as many, the other input is copied in eights and one: both repeat it."""
    axes = (Axis("a", 5, DimType.M), Axis("b", 10, DimType.M), Axis("d", 9, DimType.K))
    strides = ((0, 1, 0), (0, 0, 1), (10, 1, 0))
    operands = tuple(Operand(name, COMPLEX128, each) for name, each in zip(("in0", "in1", "out"), strides))
    operation = Operation(axes, operands, Primitive.GEMM, Touch(Primitive.ZERO))
    text = "fuse ab=a*b seq ab:2 seq d:2 seq ab:1 prim k=d pack in1@0:1e d:2 d pack in0@0 ab pack out@0 ab"
    memories = random_memories(random.Random(1), operation)
    expected = [Memory(memory.elements.copy(), memory.origin) for memory in memories]
    interpret(operation, expected)
    interpret_nest(bind(operation, parse_schedule(text)), memories)
    assert np.array_equal(memories[-1].elements, expected[-1].elements)
