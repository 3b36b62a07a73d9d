"""Whatever the passes decide, the program equals the interpreter and touches nothing else: random operations."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from einloom.dtypes import BFLOAT16, BOOL, COMPLEX64, COMPLEX128, FLOAT16, FLOAT32, FLOAT64, INT8, INT32, UINT8, DType
from einloom.ir.operation import Axis, DimType, Operand, Operation, Primitive, Touch
from einloom.ir.schedule import OUTPUT
from einloom.jit.host import host
from einloom.machine import AVX512, Machine
from einloom.passes.contraction.large_input import vectorise_large_input
from einloom.passes.pipeline import optimize_operation
from einloom.passes.read_in_order import read_in_order
from einloom.passes.values import Options

from ..ir.strategies import random_operation, random_reading, random_single_use, touched
from ..kernels.guarded import run_guarded
from .programs import difference

Strategy = Callable[[random.Random, DType], Operation]


def _machines(vector: str) -> tuple[Machine, ...]:
    """This host, and one with caches so small that everything is blocked, packed and staged."""
    machine = host().with_vector(vector)
    return machine, replace(machine, l1d=1024, l2=2048, l3=4096)


def _complaint(vector: str, strategy: Strategy, seeds: range) -> str | None:
    def check(seed: int) -> str | None:
        rng = random.Random(seed)
        operation = strategy(rng, rng.choice((FLOAT32, FLOAT64)))
        fused, schedule = optimize_operation(operation, rng.choice(_machines(vector)), Options(rng.choice((1, 2, 3))))
        return difference(operation, fused, schedule, host().with_vector(vector), rng)

    return run_guarded(list(seeds), check)


def _small_operation(rng: random.Random, dtype: DType) -> Operation:
    return random_operation(rng, dtype, points=5000)


@pytest.fixture(autouse=True)
def threads_share_the_smallest_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("einloom.passes.parallelise.LEAST_WORK", 1)


ENOUGH = 2
"""Of a hundred random inputs so many are read in order at least: most have no rows as long as the widest tiles."""


@pytest.mark.parametrize("block", range(4))
def test_optimised_programs_equal_the_interpreter(vector: str, block: int) -> None:
    assert _complaint(vector, _small_operation, range(block * 100, block * 100 + 100)) is None


def test_operands_may_have_types_of_their_own(vector: str) -> None:
    """Kernels widen what they read, and packs convert it."""

    def mixed(rng: random.Random, dtype: DType) -> Operation:
        operation = random_operation(rng, FLOAT64, points=5000)
        narrow = rng.randrange(len(operation.inputs))
        operands = list(operation.operands)
        operands[narrow] = replace(operands[narrow], dtype=FLOAT32)
        return replace(operation, operands=tuple(operands))

    assert _complaint(vector, mixed, range(100)) is None


def test_contractions_of_a_large_input_equal_the_interpreter(vector: str) -> None:
    machine = host().with_vector(vector)
    turned = [vectorise_large_input(random_reading(random.Random(seed), FLOAT32), machine) for seed in range(100)]
    assert sum(schedule is not None for schedule in turned) > ENOUGH
    assert _complaint(vector, random_reading, range(100)) is None


def test_a_large_input_may_lack_axes_that_are_summed(vector: str) -> None:
    """Broadcast along them, with stride 0: they are no axes of its packed blocks."""

    def broadcast_reading(rng: random.Random, dtype: DType) -> Operation:
        operation = random_reading(rng, dtype)
        far = operation.elements(operation.operands[1])
        operands = [
            replace(operand, strides=(*operand.strides, far if position == 1 else 0))
            for position, operand in enumerate(operation.operands)
        ]
        return replace(operation, axes=(*operation.axes, Axis("z", 3, DimType.K)), operands=tuple(operands))

    machine = host().with_vector(vector)
    turned = [vectorise_large_input(broadcast_reading(random.Random(seed), FLOAT32), machine) for seed in range(100)]
    assert sum(schedule is not None for schedule in turned) > ENOUGH
    assert _complaint(vector, broadcast_reading, range(100)) is None


def test_contractions_that_use_elements_once_equal_the_interpreter(vector: str) -> None:
    machine = host().with_vector(vector)
    read = [read_in_order(random_single_use(random.Random(seed), FLOAT32), machine) for seed in range(200)]
    assert sum(schedule is not None for schedule in read) > 60
    assert _complaint(vector, random_single_use, range(200)) is None


def _turned(rng: random.Random, dtype: DType) -> Operation:
    """A sum whose output lies in another order than the large input, which has an axis of the output innermost."""

    def is_turned(operation: Operation) -> bool:
        run, schedule = operation.contiguous_axis(operation.inputs[0]), read_in_order(operation, AVX512)
        across = run is not None and operation.stride(operation.output, run.name) not in (0, 1)
        return across and schedule is not None and [pack.operand for pack in schedule.packs] == [OUTPUT]

    return next(filter(is_turned, (random_single_use(rng, dtype, in_order=0.0) for _ in iter(int, 1))))


def test_sums_that_turn_their_output_equal_the_interpreter(vector: str) -> None:
    assert _complaint(vector, _turned, range(200)) is None


def _interleaved(rng: random.Random, dtype: DType) -> Operation:
    """Sums of numbers of two or four parts, as complex ones, which lie side by side."""
    sums = (random_single_use(rng, dtype) for _ in iter(int, 1))
    operation = next(each for each in sums if len(each.inputs) == 1)
    if rng.random() < 0.4:  # Functions that touch outputs are those of floats.
        narrow = rng.choice((INT32, UINT8, BOOL, FLOAT16))
        operands = tuple(replace(each, dtype=narrow) for each in (*operation.inputs, operation.output))
        operation = Operation(operation.axes, operands, operation.main, Touch(Primitive.ZERO))
    parts = rng.choice((2, 2, 4))
    operands = [replace(each, strides=(*(parts * stride for stride in each.strides), 1)) for each in operation.operands]
    return replace(operation, axes=(*operation.axes, Axis("parts", parts, DimType.M)), operands=tuple(operands))


def test_sums_of_numbers_of_several_parts_equal_the_interpreter(vector: str) -> None:
    read = [read_in_order(_interleaved(random.Random(seed), FLOAT32), AVX512) for seed in range(200)]
    assert sum(schedule is not None and schedule.prims.m == "parts" for schedule in read) > 60
    assert _complaint(vector, _interleaved, range(200)) is None


def _written_once(rng: random.Random, dtype: DType, rows: tuple[int, ...] = (256, 300, 515)) -> Operation:
    """Products element by element, and sums of a few, with long rows; the second input may lie in any order."""
    extents = {"a": rng.randint(2, 40), "k": rng.choice((1, 1, 3, 8)), "b": rng.choice(rows)}
    shared = DimType.C if rng.random() < 0.7 else DimType.M
    axes = tuple(Axis(name, extents[name], DimType.K if name == "k" else shared) for name in extents)

    def dense(names: str) -> tuple[int, ...]:
        strides, stride = dict.fromkeys(extents, 0), 1
        for name in reversed(names):
            strides[name], stride = stride, stride * extents[name] + rng.choice((0, 0, 3))
        return tuple(strides.values())

    second = rng.sample("akb", 3) if shared is DimType.C else ["k"]
    operands = (("in0", rng.choice(("akb", "kab"))), ("in1", "".join(second)), ("out", "ab"))
    operation = Operation(axes, tuple(Operand(name, dtype, dense(names)) for name, names in operands), Primitive.GEMM)
    return touched(rng, operation)


def test_large_outputs_that_are_written_once_equal_the_interpreter(vector: str) -> None:
    tiny = _machines(vector)[1]
    staged = [read_in_order(_written_once(random.Random(seed), FLOAT32), tiny) for seed in range(200)]
    packs = [[pack.operand for pack in schedule.packs] for schedule in staged if schedule is not None]
    assert packs.count([OUTPUT]) > 10 and packs.count([1, OUTPUT]) > 8
    assert _complaint(vector, _written_once, range(200)) is None


def _short_rows(rng: random.Random, dtype: DType) -> Operation:
    """The same with rows of less than two vectors."""
    return _written_once(rng, dtype, (2, 3, 7, 13))


def test_products_of_short_rows_equal_the_interpreter(vector: str) -> None:
    machine = host().with_vector(vector)
    read = [read_in_order(_short_rows(random.Random(seed), FLOAT32), machine) for seed in range(200)]
    assert sum(schedule is not None for schedule in read) > 40
    assert _complaint(vector, _short_rows, range(200)) is None


@pytest.mark.parametrize("dtype", [FLOAT16, BFLOAT16, INT8, UINT8, INT32, BOOL, COMPLEX64, COMPLEX128], ids=str)
def test_other_types_are_read_in_order_as_well(vector: str, dtype: DType) -> None:
    """Narrow ones are widened, truth values may end early, complex ones are multiplied as pairs."""

    def read_once(rng: random.Random, _: DType) -> Operation:
        makers = (_written_once, _short_rows, *([] if dtype in (COMPLEX64, COMPLEX128) else [random_single_use]))
        made = rng.choice(makers)(rng, dtype)
        return replace(made, operands=(*made.inputs, made.output), first_touch=Touch(Primitive.ZERO), last_touches=())

    machines = _machines(vector)
    read = [read_in_order(read_once(random.Random(seed), dtype), machines[1]) for seed in range(60)]
    assert sum(schedule is not None for schedule in read) > 15
    assert _complaint(vector, read_once, range(60)) is None
