"""Every proposed schedule, not only the chosen one, computes what the interpreter does."""

from __future__ import annotations

import math
import random
import re
from dataclasses import replace

import pytest

from einloom.dtypes import COMPLEX64, COMPLEX128, FLOAT32, FLOAT64, DType
from einloom.ir.bind import bind
from einloom.ir.nest import Call, Loop, Pack, walk
from einloom.ir.operation import NO_TOUCH, Axis, DimType, Operand, Operation, Primitive, Touch
from einloom.ir.schedule import Schedule
from einloom.ir.text import parse_operation
from einloom.jit.host import host
from einloom.machine import AVX2, AVX512, NEON, Machine
from einloom.passes.block_elementwise import costed_element_wise
from einloom.passes.contraction.choose import costed, every_proposal
from einloom.passes.contraction.families import FAMILIES
from einloom.passes.contraction.proposals import Proposal
from einloom.passes.fuse import fuse
from einloom.passes.identify import identify_primitive
from einloom.passes.model.tiles import SCRATCH_LIMIT
from einloom.passes.parallelise import parallelise
from einloom.passes.pipeline import optimize_operation
from einloom.passes.values import Context
from einloom.targets.ahead import asked_ahead

from ..emulation import PART, times
from ..ir.strategies import (
    random_complex_reading,
    random_contraction,
    random_copy,
    random_gate,
    random_product,
    random_reading,
    touched,
)
from ..kernels.guarded import run_guarded
from ..soak import soak_count
from .programs import difference

OPERATIONS = times(2000, least=500)
"""On each vector ISA under `make soak`, 500 where it is emulated; a quarter of them in `make test`: 500."""

PARTS = 5
"""Tests of which each takes so many of the operations: they run beside each other."""


def _tiny(machine: Machine) -> Machine:
    """Caches so small that everything is blocked, packed and staged."""
    return replace(machine, l1d=1024, l2=2048, l3=4096)


def _operation(rng: random.Random) -> Operation:
    if rng.random() < 0.15:
        return _complex(rng)
    dtype = rng.choice((FLOAT32, FLOAT64))
    makers = (_small_sums, _rows_apart, _many_sums, _counted_products, _long_rows, _batch_of_rows)
    made = rng.choice((*makers, random_reading, random_copy, None, None))
    return random_contraction(rng, dtype, points=4000) if made is None else made(rng, dtype)


def _complex(rng: random.Random) -> Operation:
    dtype = rng.choice((COMPLEX64, COMPLEX128))
    makers = (_complex_counted_products, _complex_long_rows, _complex_rows_of_sums, random_complex_reading)
    made = rng.choice((*makers, _complex_small_sums, random_gate, random_gate, None, None))
    return random_product(rng, dtype, points=4000) if made is None else made(rng, dtype)


def _complex_counted_products(rng: random.Random, dtype: DType) -> Operation:
    return _conjugated(rng, _counted_products(rng, dtype))


def _complex_small_sums(rng: random.Random, dtype: DType) -> Operation:
    return _conjugated(rng, _small_sums(rng, dtype))


def _complex_long_rows(rng: random.Random, dtype: DType) -> Operation:
    """Few columns meet rows of several tiles, more of them than processors follow."""
    extents = {"m": rng.randint(50, 120), "n": rng.randint(1, 3), "k": rng.randint(65, 90)}
    return _conjugated(rng, _product(dtype, extents))


def _complex_rows_of_sums(rng: random.Random, dtype: DType) -> Operation:
    """Both inputs lie along an axis that is summed; others, and a batch, stand around it."""
    extents = dict(zip("bmnyk", (rng.randint(1, 3), *(rng.choice((1, 2, 5, 9)) for _ in "mn"), rng.randint(1, 4), 1)))
    extents["k"] = rng.choice((8, 13, 40, 100))
    orders = ([*rng.sample("bmy", 3), "k"], [*rng.sample("bny", 3), "k"], rng.sample("bmn", 3))
    strides = [
        {name: math.prod(extents[n] for n in order[i + 1 :]) for i, name in enumerate(order)} for order in orders
    ]
    axes = tuple(Axis(name, extents[name], DimType(role)) for name, role in zip("bmnyk", "cmnkk"))
    operands = tuple(
        Operand(name, dtype, tuple(each.get(axis.name, 0) for axis in axes))
        for name, each in zip(("in0", "in1", "out"), strides)
    )
    first = rng.choice((NO_TOUCH, Touch(Primitive.ZERO)))
    return _conjugated(rng, Operation(axes, operands, Primitive.GEMM, first))


def _conjugated(rng: random.Random, operation: Operation) -> Operation:
    """The operation with some factors conjugated."""
    factors = (replace(operand, conjugated=rng.random() < 0.5) for operand in operation.inputs)
    return replace(operation, operands=(*factors, operation.output))


def _small_sums(rng: random.Random, dtype: DType) -> Operation:
    """Little is computed for what is written, and the columns of a tile follow each other in the output."""
    a, c, e, f, g = (rng.randint(3, 10) for _ in "acefg")
    axes = tuple(map(Axis, "acefg", (a, c, e, f, g), map(DimType, "mnmnk")))
    strides = ((1, 0, g * a, 0, a), (0, 1, 0, c, c * f), (c * e * f, e * f, f, 1, 0))
    operands = tuple(Operand(name, dtype, each) for name, each in zip(("in0", "in1", "out"), strides))
    return Operation(axes, operands, Primitive.GEMM, Touch(Primitive.ZERO))


def _rows_apart(rng: random.Random, dtype: DType) -> Operation:
    """Two axes of each input are one run in the output, but not in the input."""
    a, b, c, d, k = (rng.randint(3, 9) for _ in "abcdk")
    axes = tuple(map(Axis, "abcdk", (a, b, c, d, k), map(DimType, "mmnnk")))
    strides = ((1, a, 0, 0, a * b), (0, 0, k, k * c, 1), (b * c * d, c * d, d, 1, 0))
    operands = tuple(Operand(name, dtype, each) for name, each in zip(("in0", "in1", "out"), strides))
    operation = Operation(axes, operands, Primitive.GEMM, Touch(Primitive.ZERO))
    return touched(rng, operation) if rng.random() < 0.5 else operation


def _many_sums(rng: random.Random, dtype: DType) -> Operation:
    """More axes are summed than a primitive takes, in different orders."""
    m, n, *summed = (rng.randint(2, 9) for _ in "mnxyz")
    axes = tuple(map(Axis, "mnxyz", (m, n, *summed), map(DimType, "mnkkk")))

    def dense(names: str) -> tuple[int, ...]:
        strides, stride = dict.fromkeys("mnxyz", 0), 1
        for name in rng.sample(names, len(names)):
            strides[name], stride = stride, stride * next(axis.extent for axis in axes if axis.name == name)
        return tuple(strides.values())

    strides = (dense("mxyz"), dense("nxyz"), dense("mn"))
    operands = tuple(Operand(name, dtype, each) for name, each in zip(("in0", "in1", "out"), strides))
    return Operation(axes, operands, Primitive.GEMM, Touch(Primitive.ZERO))


def _counted_products(rng: random.Random, dtype: DType) -> Operation:
    """A batch whose axis is the innermost one of the output or next to it, and perhaps innermost in an input."""
    extents = dict(zip("bhmnk", (rng.randint(2, 9) for _ in "bhmnk"))) | {"b": rng.choice((2, 7, 16, 40, 100))}
    axes = tuple(Axis(name, extents[name], DimType(role)) for name, role in zip("bhmnk", "ccmnk"))
    orders = [rng.sample(names, len(names)) for names in ("bhmk", "bhnk")] + [[*rng.sample("hmn", 3), "b"]]
    if rng.random() < 0.5:
        orders[-1][-2:] = reversed(orders[-1][-2:])
    strides = [
        {name: math.prod(extents[n] for n in order[i + 1 :]) for i, name in enumerate(order)} for order in orders
    ]
    operands = tuple(
        Operand(name, dtype, tuple(each.get(axis.name, 0) for axis in axes))
        for name, each in zip(("in0", "in1", "out"), strides)
    )
    return Operation(axes, operands, Primitive.GEMM, Touch(Primitive.ZERO))


def _long_rows(rng: random.Random, dtype: DType) -> Operation:
    """Rows of several tiles: a few times as many products as elements, or sums so short that writing takes longer."""
    few = {"n": rng.randint(1, 3), "k": rng.randint(65, 90)}
    extents = {"m": rng.randint(50, 120)} | rng.choice((few, {"n": rng.randint(13, 30), "k": rng.randint(1, 4)}))
    return _perhaps_touched(rng, _product(dtype, extents))


def _batch_of_rows(rng: random.Random, dtype: DType) -> Operation:
    """Products of a batch, with rows of two tiles."""
    extents = {"b": rng.randint(2, 3), "m": rng.choice((16, 32, 64)) - rng.randint(0, 2)}
    extents |= {"n": rng.randint(10, 20), "k": rng.randint(13, 30)}
    return _perhaps_touched(rng, _product(dtype, extents))


def _perhaps_touched(rng: random.Random, operation: Operation) -> Operation:
    return touched(rng, operation) if rng.random() < 0.5 else operation


def _product(dtype: DType, extents: dict[str, int]) -> Operation:
    """`km,kn->nm`, or the same of a batch b."""
    operands = list[Operand]()
    for name, labels in (("in0", "bkm"), ("in1", "bkn"), ("out", "bnm")):
        strides, stride = dict.fromkeys(extents, 0), 1
        for label in reversed([label for label in labels if label in extents]):
            strides[label], stride = stride, stride * extents[label]
        operands.append(Operand(name, dtype, tuple(strides.values())))
    axes = tuple(Axis(name, extent, DimType("c" if name == "b" else name)) for name, extent in extents.items())
    return Operation(axes, tuple(operands), Primitive.GEMM, Touch(Primitive.ZERO))


def _proposals(operation: Operation, machine: Machine) -> tuple[Operation, list[Proposal]]:
    fused = fuse(operation)
    identified = Schedule((), identify_primitive(fused))
    if fused.main.is_contraction:
        return fused, every_proposal(fused, identified, Context(machine))
    return fused, [each.proposal for each in costed_element_wise(fused, identified, Context(machine))]


@pytest.fixture
def kernels_ask_for_the_smallest_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the tensor exceeds the second-level cache: of tiny caches."""
    for name, value in (("FEW", 1), ("PIECE", 1), ("FEW_IN_PLACE", 1), ("PIECE_IN_PLACE", 1), ("ROOM_IN_PLACE", 1)):
        monkeypatch.setattr(f"einloom.kernels.contraction.ahead.{name}", value)
    for name in ("FEW_IN_PLACE", "PIECE_IN_PLACE"):
        monkeypatch.setattr(f"einloom.targets.ahead.{name}", 1)


@pytest.mark.soak
@pytest.mark.usefixtures("kernels_ask_for_the_smallest_blocks")
@pytest.mark.parametrize("part", range(PARTS))
def test_every_proposal_equals_the_interpreter(vector: str, part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each operation with tiny caches; of every fourth what is proposed for this machine's caches as well."""
    monkeypatch.setattr("einloom.passes.parallelise.LEAST_WORK", 1)  # Threads share even the smallest work.
    monkeypatch.setattr("einloom.passes.contraction.large_input.LEAST", 1)
    machine = host().with_vector(vector)

    def complaint(seed: int) -> str | None:
        rng = random.Random(seed)
        operation = _operation(rng)
        for caches in (_tiny(machine), machine)[: 1 if seed % 4 else 2]:
            fused, found = _proposals(operation, caches)
            for proposal in found:
                schedule = parallelise(fused, proposal.schedule, rng.choice((1, 2)))
                if wrong := difference(operation, fused, schedule, caches, random.Random(seed)):
                    return f"seed {seed}, {proposal.family}\n{wrong}"
        return None

    seeds = range(part, soak_count(OPERATIONS, share=0.25), PARTS)[::PART]
    assert run_guarded(seeds, complaint) is None


@pytest.mark.usefixtures("kernels_ask_for_the_smallest_blocks")
def test_kernels_ask_ahead_in_some_of_what_was_tried() -> None:
    packed = in_place = 0
    for seed in range(80):
        operation, found = _proposals(_operation(random.Random(seed)), _tiny(AVX512))
        nests = [bind(operation, each.schedule) for each in found]
        asked = [each for each in (asked_ahead(nest, _tiny(AVX512)) for nest in nests) if each is not None]
        packed += sum(isinstance(each.at, Pack) for each in asked)
        in_place += sum(isinstance(each.at, Loop) for each in asked)
    assert packed > 40 and in_place > 4


def test_vectors_of_several_short_runs_equal_the_interpreter(vector: str) -> None:
    machine = host().with_vector(vector)

    def found(seed: int) -> tuple[Operation, Operation, list[Schedule]]:
        rng = random.Random(seed)
        operation = random_gate(rng, rng.choice((COMPLEX64, COMPLEX128)))
        fused, every = _proposals(operation, rng.choice((machine, _tiny(machine))))
        return operation, fused, [each.schedule for each in every if each.family == "in short runs"]

    def complaint(seed: int) -> str | None:
        operation, fused, schedules = found(seed)
        wrong = (difference(operation, fused, each, machine, random.Random(seed)) for each in schedules)
        return next((f"seed {seed}\n{each}" for each in wrong if each), None)

    assert run_guarded(range(80), complaint) is None
    assert sum(len(found(seed)[2]) for seed in range(80)) > 12


def _rows_across(rng: random.Random) -> Operation:
    """Two axes of the vector operand are one run in the output; the outer one is contiguous in the input."""
    a, b, n, k = rng.randint(16, 24), rng.randint(7, 12), rng.randint(9, 16), rng.randint(120, 160)
    axes = tuple(map(Axis, "abnk", (a, b, n, k), map(DimType, "mmnk")))
    strides = ((1, a, 0, a * b), (0, 0, 1, n), (b, 1, a * b, 0))
    operands = tuple(Operand(name, FLOAT64, each) for name, each in zip(("in0", "in1", "out"), strides))
    return Operation(axes, operands, Primitive.GEMM, Touch(Primitive.ZERO))


def _in_whole_lines(operation: Operation, machine: Machine) -> tuple[Operation, list[Schedule]]:
    """The schedules whose blocks of the vector operand have about as many rows as a cache line has elements."""
    fused, every = _proposals(operation, replace(machine, l1d=1024, l2=3 * 2**15, l3=2**18))
    schedules = [each.schedule for each in every]
    rows = [max((loop.step for loop in each.loops if loop.axis == "ab"), default=0) for each in schedules]
    few = 6 * operation.axis("b").extent
    return fused, [schedule for schedule, most in zip(schedules, rows) if most >= few]


def test_blocks_of_whole_cache_lines_equal_the_interpreter(vector: str) -> None:
    machine = host().with_vector(vector)

    def complaint(seed: int) -> str | None:
        operation = _rows_across(random.Random(seed))
        fused, schedules = _in_whole_lines(operation, machine)
        wrong = (difference(operation, fused, each, machine, random.Random(seed)) for each in schedules)
        return next((f"seed {seed}\n{each}" for each in wrong if each), None)

    assert run_guarded(range(24), complaint) is None
    tried = [
        _in_whole_lines(_rows_across(random.Random(seed)), each)[1] for seed in range(24) for each in (AVX512, AVX2)
    ]
    assert sum(map(len, tried)) > 24


def _far_rows(rng: random.Random) -> Operation:
    """Short rows of an input lie in pages of their own, and the output turns them: `deca,be->abcd`."""
    a, b, c, d, e = (rng.randint(*most) for most in ((18, 40), (3, 6), (4, 7), (16, 21), (3, 5)))
    far = a * c + rng.randint(1024, 1100)
    strides = ((1, 0, a, e * far, far), (0, e, 0, 0, 1), (b * c * d, c * d, d, 1, 0))
    axes = tuple(map(Axis, "abcde", (a, b, c, d, e), map(DimType, "mnmmk")))
    operands = tuple(Operand(name, FLOAT32, each) for name, each in zip(("in0", "in1", "out"), strides))
    return Operation(axes, operands, Primitive.GEMM, Touch(Primitive.ZERO))


def _of_far_rows(seed: int, machine: Machine) -> tuple[Operation, list[Schedule]]:
    fused, every = _proposals(_far_rows(random.Random(seed)), replace(machine, l1d=4096, l2=2**15, l3=2**12))
    return fused, [each.schedule for each in every]


def test_short_rows_far_apart_equal_the_interpreter(vector: str, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = host().with_vector(vector)

    def complaint(seed: int) -> str | None:
        fused, schedules = _of_far_rows(seed, machine)
        operation = _far_rows(random.Random(seed))
        wrong = (difference(operation, fused, each, machine, random.Random(seed)) for each in schedules)
        return next((f"seed {seed}\n{each}" for each in wrong if each), None)

    assert run_guarded(range(24), complaint) is None
    found = [_of_far_rows(seed, AVX512)[1] for seed in range(24)]
    monkeypatch.setattr("einloom.passes.contraction.blocks.turned.TURNED_GROWTH", 0)  # No block holds several rows.
    assert sum(_of_far_rows(seed, AVX512)[1] != each for seed, each in enumerate(found)) > 2


def _rows_staged(rng: random.Random) -> Operation:
    """Two axes of the vector operand are one run in it; the outer one is contiguous in the output: `dca,bd->abc`."""
    a, b, c, d = (rng.randint(*most) for most in ((5, 12), (12, 30), (20, 48), (20, 40)))
    strides = ((a, 1, 0, a * c), (0, 0, d, 1), (1, b * c, c, 0))
    axes = tuple(map(Axis, "cabd", (c, a, b, d), map(DimType, "mmnk")))
    dtype = rng.choice((FLOAT32, FLOAT64))
    operands = tuple(Operand(name, dtype, each) for name, each in zip(("in0", "in1", "out"), strides))
    return Operation(axes, operands, Primitive.GEMM, Touch(Primitive.ZERO))


@pytest.mark.soak
def test_staged_rows_that_fill_lines_of_the_output_equal_the_interpreter(
    vector: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = replace(host().with_vector(vector), l1d=2048, l2=2**14, l3=2**12)

    def found(seed: int) -> tuple[Operation, list[Schedule]]:
        fused, every = _proposals(_rows_staged(random.Random(seed)), machine)
        return fused, [each.schedule for each in every]

    count = soak_count(1200)
    filled = [found(seed) for seed in range(count)]
    with monkeypatch.context() as patched:
        patched.setattr("einloom.passes.contraction.fused_rows._whole_lines", lambda step, *_: step)
        others = [set(found(seed)[1]) for seed in range(count)]
    tried = [(fused, [each for each in every if each not in old]) for (fused, every), old in zip(filled, others)]

    def complaint(seed: int) -> str | None:
        operation, (fused, schedules) = _rows_staged(random.Random(seed)), tried[seed]
        wrong = (difference(operation, fused, each, machine, random.Random(seed)) for each in schedules)
        return next((f"seed {seed}\n{each}" for each in wrong if each), None)

    assert run_guarded(range(count), complaint) is None
    assert sum(len(schedules) for _, schedules in tried) > count // 8


@pytest.mark.parametrize("dtype", [FLOAT32, COMPLEX64], ids=str)
def test_parts_of_sums_inside_of_what_lies_around_them_equal_the_interpreter(
    vector: str, dtype: DType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of a sum in more pages than a translation buffer holds; here it holds two."""
    monkeypatch.setattr("einloom.passes.contraction.blocks.rows.NEAR_PAGES", 2)
    monkeypatch.setattr("einloom.passes.parallelise.LEAST_WORK", 1)
    machine = host().with_vector(vector)

    def made(rng: random.Random) -> Operation:
        rows = _far_rows(rng)
        rows = replace(rows, operands=tuple(replace(operand, dtype=dtype) for operand in rows.operands))
        return touched(rng, rows) if dtype is FLOAT32 and rng.random() < 0.3 else rows

    def found(seed: int, machine: Machine) -> tuple[Operation, Operation, list[Schedule]]:
        operation = made(random.Random(seed))
        fused, every = _proposals(operation, replace(machine, l1d=4096, l2=2**15, l3=2**12))
        parted = [each.schedule for each in every if re.search(r"seq d:1 seq e:\d ", str(each.schedule))]
        return operation, fused, parted

    def complaint(seed: int) -> str | None:
        operation, fused, schedules = found(seed, machine)
        shared = [parallelise(fused, each, 1 + seed % 2) for each in schedules]
        wrong = (difference(operation, fused, each, machine, random.Random(seed)) for each in shared)
        return next((f"seed {seed}\n{each}" for each in wrong if each), None)

    assert run_guarded(range(24), complaint) is None
    assert sum(len(found(seed, each)[2]) for seed in range(24) for each in (AVX512, AVX2)) > 40


def test_rows_that_panels_cut_and_sums_of_many_axes_are_among_what_was_tried() -> None:
    cut = summed = extras = 0
    for seed in range(360):
        operation, found = _proposals(_operation(random.Random(seed)), _tiny(AVX512) if seed % 2 else AVX512)
        for schedule in (proposal.schedule for proposal in found if proposal.schedule.fused):
            pieces = [node for node in walk(bind(operation, schedule).body) if isinstance(node, Pack)]
            cut += any(sum(isinstance(node, Call) for node in walk(pack.body)) > 1 for pack in pieces)
            roles = {axis.role for axis in operation.axes if axis.name.startswith(schedule.fused[-1].parts[0])}
            summed += roles == {DimType.K}
            extras += any(pack.operand >= len(operation.inputs) for pack in schedule.packs)
    assert min(cut, summed, extras) > 10


def test_every_family_is_among_what_was_tried() -> None:
    tried: dict[str, int] = {}
    for seed in range(600):
        machine = _tiny(AVX512) if seed % 2 else AVX512
        for proposal in _proposals(_operation(random.Random(seed)), machine)[1]:
            tried[proposal.family] = tried.get(proposal.family, 0) + 1
    families = [family.__name__.replace("_", " ") for family in FAMILIES]
    families[families.index("large input")] = "large input in order"
    families += ["vector block", "five loops"]  # They follow others.
    families += ["vector block, element in place", "staged blocks", "staged tiles", "staged rows", "in short runs"]
    families += ["vector block, fused", "element once, fused", "five loops, fused", "batch inside, fused", "direct"]
    families += [f"{way}, in the order of the {name}" for way in ("direct", "staged") for name in ("input", "output")]
    assert {family: tried.get(family, 0) for family in families if tried.get(family, 0) <= 3} == {}


@pytest.mark.parametrize("machine", [AVX512, AVX2, NEON], ids=lambda machine: machine.vector)
def test_what_is_chosen_from_is_among_what_is_tried(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("einloom.passes.contraction.proposals.LITTLE", 0)
    compared = 0
    for seed in range(60):
        operation = fuse(_operation(random.Random(seed)))
        if operation.main.is_contraction:
            caches = _tiny(machine) if seed % 2 else machine
            identified, context = Schedule((), identify_primitive(operation)), Context(caches)
            tried = {each.schedule for each in every_proposal(operation, identified, context)}
            chosen_from = {each.proposal.schedule for each in costed(operation, identified, context)}
            assert chosen_from <= tried, f"seed {seed}"
            compared += len(chosen_from)
    assert compared > 200


@pytest.mark.parametrize("dtype", [FLOAT32, COMPLEX64], ids=str)
def test_operations_with_an_empty_axis_have_proposals(dtype: DType) -> None:
    for seed in range(20):
        rng = random.Random(seed)
        operation = random_product(rng, dtype, points=4000)
        for empty in operation.axes:
            axes = tuple(replace(axis, extent=0) if axis is empty else axis for axis in operation.axes)
            emptied = replace(operation, axes=axes)
            fused, found = _proposals(emptied, AVX512)
            assert found
            for each in found:
                wrong = difference(emptied, fused, each.schedule, host(), rng)
                assert wrong is None, f"seed {seed}, {each.family}\n{wrong}"


def test_complex_products_of_a_batch_are_computed_one_by_one() -> None:
    turned = in_place = 0
    for seed in range(40):
        operation = _complex_counted_products(random.Random(seed), COMPLEX64)
        found = [each.schedule for each in _proposals(operation, AVX512)[1] if each.family == "one by one"]
        turned += sum(any(pack.turned for pack in schedule.packs) for schedule in found)
        in_place += sum(len(schedule.packs) == 1 for schedule in found)
    assert min(turned, in_place) > 10


def test_vectors_of_complex_elements_run_along_sums() -> None:
    made = [_proposals(_complex_rows_of_sums(random.Random(seed), COMPLEX64), _tiny(AVX512))[1] for seed in range(40)]
    found = [[each.schedule for each in every if each.family == "along a sum"] for every in made]
    assert sum(len(schedules) == 2 for schedules in found) > 10
    assert any(len(schedule.loops) > 3 for schedules in found for schedule in schedules)


def test_vectors_of_complex_elements_run_along_inputs_where_the_output_is_short() -> None:
    made = [_proposals(_complex_small_sums(random.Random(seed), COMPLEX64), AVX512)[1] for seed in range(40)]
    found = [each.schedule for every in made for each in every if each.family == "along an input"]
    assert sum(len(schedule.packs) == 1 for schedule in found) > 10
    assert any(schedule.fused for schedule in found)


def test_the_smaller_factor_is_turned() -> None:
    made = [_proposals(_complex_long_rows(random.Random(seed), COMPLEX64), AVX512)[1] for seed in range(10)]
    found = [each.schedule for every in made for each in every if each.family == "along an input"]
    assert sum(any(pack.turned and pack.operand == 1 for pack in schedule.packs) for schedule in found) > 5


def test_rows_of_complex_elements_are_read_in_order() -> None:
    found = _proposals(_complex_long_rows(random.Random(0), COMPLEX64), AVX512)[1]
    assert any(each.family == "rows in order" and not each.schedule.packs for each in found)


def test_large_complex_inputs_are_read_in_order() -> None:
    families: list[str] = []
    for seed in range(40):
        operation = random_complex_reading(random.Random(seed), COMPLEX64)
        families += [
            each.family for each in _proposals(operation, AVX512)[1] if any(p.turned for p in each.schedule.packs)
        ]
    assert families.count("large input in order") > 3


@pytest.mark.parametrize("machine", [AVX512, AVX2, NEON, _tiny(AVX2)], ids=["avx512", "avx2", "neon", "tiny caches"])
def test_no_candidate_needs_more_scratch_than_there_is(machine: Machine) -> None:
    for seed in range(60):
        rng = random.Random(seed)
        operation = random_contraction(rng, FLOAT64, points=20_000)
        larger = replace(
            operation,
            axes=tuple(replace(a, extent=min(a.extent * 40, 3000)) for a in operation.axes[:4]) + operation.axes[4:],
        )
        fused, found = _proposals(larger, machine)
        for proposal in found:
            assert bind(fused, proposal.schedule).scratch_bytes <= SCRATCH_LIMIT


WITH_LARGE_BLOCKS = (
    """
    axis a 1000 m, axis b 8192 n, axis c 2999 k, axis e 3 k, axis d 514 n
    in0 float16 a=3 c=3000 e=1, in1 float16 b=4624458 c=1 e=1541486 d=2999
    out float16 a=1028 b=1028000 d=2
    """,
    """
    axis a 100 m, axis b 100003 n, axis c 411200 k
    in0 float16 a=1 c=100, in1 float16 b=2 c=200006
    out float16 a=1 b=100
    """,
    """
    axis a 1000 m, axis b 56 n, axis c 1000 k, axis d 1000 n
    in0 float16 a=2000 c=2, in1 float16 b=2 c=112 d=112000
    out float16 a=1 b=1000 d=56000
    """,
    """
    axis a 100 m, axis b 1000 n, axis c 8192 k, axis d 5 n, axis f 100 m
    in0 int8 a=100 c=10000 f=1, in1 int8 b=1 c=5000 d=1000
    out int8 a=1 b=500 d=100 f=500000
    """,
    """
    axis a 100003 m, axis b 100 n, axis c 1000 k, axis d 31 c
    in0 complex64 a=31000 c=1 d=1000, in1 complex64 b=31000 c=1 d=1000
    out complex64 a=1 b=100003 d=10000300
    """,
)


@pytest.mark.parametrize("machine", [AVX512, AVX2, NEON], ids=lambda machine: machine.vector)
@pytest.mark.parametrize("text", WITH_LARGE_BLOCKS)
def test_what_is_converted_or_turned_finds_scratch_enough(text: str, machine: Machine) -> None:
    lines = "\n".join(line.strip() for line in text.replace(",", "\n").splitlines() if line.strip())
    operation, schedule = optimize_operation(parse_operation(f"gemm first=zero last=none\n{lines}"), machine)
    assert bind(operation, schedule).scratch_bytes <= SCRATCH_LIMIT, str(schedule)
