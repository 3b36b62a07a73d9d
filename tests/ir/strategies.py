"""Random operations, schedules and memories (seeded): what the laws of the intermediate representation are tried on."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np

from einloom.dtypes import DType, Kind
from einloom.errors import ScheduleError
from einloom.ir.bind import bind
from einloom.ir.fused import FusedView, rows_of
from einloom.ir.memory import Memory
from einloom.ir.numbers import narrowed
from einloom.ir.operation import NO_TOUCH, Axis, DimType, Operand, Operation, Primitive, Touch, reach
from einloom.ir.schedule import OUTPUT, Digit, ExecType, Fused, Prims, Schedule, ScheduledLoop, ScheduledPack

EXTENTS = (1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17)


def random_contraction(rng: random.Random, dtype: DType, most: int = 6, points: int = 20_000) -> Operation:
    """A contraction with axes of every role in random order, in memory orders of their own, padded and reversed."""
    while True:
        count = rng.randint(1, most)
        axes = tuple(Axis(chr(97 + i), rng.choice(EXTENTS), rng.choice(list(DimType))) for i in range(count))
        if np.prod([axis.extent for axis in axes]) <= points:
            break
    absent = ({DimType.N}, {DimType.M}, {DimType.K})
    operands = tuple(
        Operand(name, dtype, _strides(rng, axes, gone, name != "out"))
        for name, gone in zip(("in0", "in1", "out"), absent)
    )
    return touched(rng, Operation(axes, operands, Primitive.GEMM))


def random_reading(rng: random.Random, dtype: DType) -> Operation:
    """A contraction, with touches, whose first input is many times as large as the output and contiguous along `a`."""
    roles = [DimType.M, DimType.M, *rng.choices((DimType.M, DimType.K), k=rng.randint(0, 2)), DimType.K, DimType.N]
    extents = [rng.randint(40, 70), *(rng.choice((1, 2, 3, 5)) for _ in roles[2:-1]), rng.choice((17, 30)), 2]
    axes = tuple(Axis(chr(97 + i), extent, role) for i, (extent, role) in enumerate(zip(extents, roles)))

    def dense(order: list[int]) -> tuple[int, ...]:
        strides, stride = [0] * len(axes), 1
        for i in order:
            strides[i], stride = stride, stride * axes[i].extent
        return tuple(strides)

    def shuffled(gone: DimType) -> list[int]:
        order = [i for i, role in enumerate(roles) if role is not gone]
        return rng.sample(order, len(order))

    large = [0, *(i for i in shuffled(DimType.N) if i != 0)]
    orders = (large, shuffled(DimType.M), shuffled(DimType.K))
    operands = tuple(Operand(name, dtype, dense(order)) for name, order in zip(("in0", "in1", "out"), orders))
    return touched(rng, Operation(axes, operands, Primitive.GEMM))


def random_copy(rng: random.Random, dtype: DType, points: int = 20_000) -> Operation:
    """A permutation, copy or broadcast, perhaps with a relu."""
    while True:
        axes = tuple(Axis(chr(97 + i), rng.choice(EXTENTS), DimType.C) for i in range(rng.randint(1, 5)))
        if np.prod([axis.extent for axis in axes]) <= points:
            break
    operands = tuple(Operand(name, dtype, _strides(rng, axes, set(), name != "out")) for name in ("in0", "out"))
    return touched(rng, Operation(axes, operands, rng.choice((Primitive.IDENTITY, Primitive.RELU))))


def touched(rng: random.Random, operation: Operation) -> Operation:
    """The operation with touches: a bias, residuals, scales, activations, a mask of what relu let through."""
    count, extras = operation.main.inputs, list[Operand]()

    def extra(broadcasts: bool = True) -> int:
        strides = _strides(rng, operation.axes, {DimType.K}, broadcasts, sparse=broadcasts)
        extras.append(Operand(f"extra{len(extras)}", operation.output.dtype, strides))
        return count + len(extras) - 1

    first = Touch(rng.choice((Primitive.NONE, Primitive.ZERO, Primitive.RELU, Primitive.NEGATE)))
    if rng.random() < 0.3:
        first = Touch(rng.choice((Primitive.IDENTITY, Primitive.NEGATE, Primitive.ADD, Primitive.SUB)), extra())
    last = []
    for _ in range(rng.choice((0, 0, 1, 1, 2))):
        binary = rng.random() < 0.5
        last.append(Touch(rng.choice((Primitive.ADD, Primitive.MUL)), extra()) if binary else Touch(Primitive.ABS))
    if rng.random() < 0.3:
        last.append(Touch(Primitive.RELU))
        last += [Touch(Primitive.SIGN, extra(broadcasts=False), writes=True)] if rng.random() < 0.5 else []
    operands = (*operation.operands[:-1], *extras, operation.output)
    return replace(operation, operands=operands, first_touch=first, last_touches=tuple(last))


def random_operation(rng: random.Random, dtype: DType, points: int = 20_000) -> Operation:
    """A contraction mostly, a copy now and then."""
    return random_copy(rng, dtype, points) if rng.random() < 0.2 else random_contraction(rng, dtype, points=points)


def _strides(
    rng: random.Random, axes: tuple[Axis, ...], gone: set[DimType], broadcasts: bool, sparse: bool = False
) -> tuple[int, ...]:
    order = [i for i, axis in enumerate(axes) if axis.role not in gone]
    rng.shuffle(order)
    strides = [0] * len(axes)
    stride = rng.choice((1, 1, 1, 2))
    for i in order:
        if broadcasts and rng.random() < (0.4 if sparse else 0.1):
            continue
        strides[i] = stride * rng.choice((1, 1, 1, -1))
        stride *= axes[i].extent + rng.choice((0, 0, 1))
    return tuple(strides)


def random_schedule(rng: random.Random, operation: Operation) -> Schedule:
    """A legal schedule: random tilings, order, primitive axes and packs whose panels follow the tiling."""
    names = list(operation.names)
    rng.shuffle(names)
    kept = [n for n in names if operation.axis(n).role is not DimType.K]
    summed = [n for n in names if operation.axis(n).role is DimType.K]
    picks = [*rng.sample(kept, min(len(kept), rng.randint(0, 2))), None, None]
    reduced = [*rng.sample(summed, min(len(summed), rng.randint(0, 2))), None, None]
    prims = Prims(picks[0], picks[1], reduced[0], reduced[1])
    loops: list[ScheduledLoop] = []
    for name in names:
        inner = rng.choice((2, 3, 4, 8)) if name in prims.names else 1
        outer = inner * rng.choice((1, 2, 3)) + (rng.randint(1, inner) if rng.random() < 0.3 else 0)
        steps = [outer, inner] if rng.random() < 0.5 else [inner]
        if name in prims.names and rng.random() < 0.3:
            steps = []
        loops += [ScheduledLoop(name, step) for step in dict.fromkeys(steps)]
    loops = _shuffled_keeping_nesting(rng, loops)
    shared = 0
    while shared < len(loops) and operation.axis(loops[shared].axis).role is not DimType.K and rng.random() < 0.4:
        shared += 1
    while _counts_parts_of_blocks(loops[:shared]):
        shared -= 1
    loops[:shared] = [ScheduledLoop(loop.axis, loop.step, ExecType.SHARED) for loop in loops[:shared]]
    deepest = len(loops)
    packs = [
        _pack(rng, operation, loops, prims, i, deepest) for i in range(len(operation.inputs)) if rng.random() < 0.5
    ]
    if rng.random() < 0.5 and (operation.first_touch.initialises or not operation.main.is_contraction):
        reduced_loops = (i for i, loop in enumerate(loops) if operation.axis(loop.axis).role is DimType.K)
        packs.append(_pack(rng, operation, loops, prims, OUTPUT, next(reduced_loops, deepest)))
    return Schedule(tuple(loops), prims, tuple(packs))


def random_product(rng: random.Random, dtype: DType, points: int = 2000) -> Operation:
    """A contraction of complex tensors, of which some are conjugated."""
    operation = random_contraction(rng, dtype, most=5, points=points)
    factors = (replace(operand, conjugated=rng.random() < 0.5) for operand in operation.inputs)
    first = rng.choice((NO_TOUCH, Touch(Primitive.ZERO), Touch(Primitive.ZERO)))
    return Operation(operation.axes, (*factors, operation.output), Primitive.GEMM, first)


def random_complex_reading(rng: random.Random, dtype: DType) -> Operation:
    """A product of complex tensors whose first factor is many times as large as the output, and contiguous along m."""
    operation = random_reading(rng, dtype)
    factors = (replace(operand, conjugated=rng.random() < 0.5) for operand in operation.inputs)
    operands = (*factors, operation.output)
    return Operation(operation.axes, operands, Primitive.GEMM, Touch(Primitive.ZERO))


def random_gate(rng: random.Random, dtype: DType) -> Operation:
    """A complex matrix on two axes of a tensor, which lie anywhere in it: what is behind them is short, if anything."""
    outer, first, middle, second, tail = (rng.randint(1, most) for most in (4, 3, 9, 4, 9))
    sizes = {"a": outer, "X": rng.choice((first, 2)), "c": middle, "Y": rng.choice((second, second, 3)), "e": tail}
    sizes |= {"b": first, "d": second}
    state, matrix, result = "abcde", "XYbd", "aXcYe"
    own, other = (DimType.M, DimType.N) if rng.random() < 0.5 else (DimType.N, DimType.M)
    roles = {**dict.fromkeys("ace", own), **dict.fromkeys("XY", other), "b": DimType.K, "d": DimType.K}
    axes = tuple(Axis(name, size, roles[name]) for name, size in sizes.items())
    places = [matrix, state] if own is DimType.N else [state, matrix]
    operands = tuple(
        Operand(name, dtype, _dense_strides(labels, sizes), conjugated=name != "out" and rng.random() < 0.5)
        for name, labels in zip(("in0", "in1", "out"), (*places, result))
    )
    first_touch = rng.choice((NO_TOUCH, Touch(Primitive.ZERO), Touch(Primitive.ZERO)))
    return Operation(axes, operands, Primitive.GEMM, first_touch)


def random_late_gate(rng: random.Random, dtype: DType) -> Operation:
    """A complex matrix on two axes of a tensor, each of them anywhere in it, and both of two or four elements."""
    sizes = {"a": rng.randint(1, 4), "b": 2, "c": rng.choice((1, 3, 8, 20, 33)), "d": rng.choice((2, 2, 4)), "e": 1}
    sizes["e"] = rng.choice((1, 1, 2, 4, 8, 3, 100, 200))
    sizes |= {"X": sizes["b"] if rng.random() < 0.8 else 3, "Y": sizes["d"]}
    state, matrix, result = (("abcde", "XYbd", "aXcYe"), ("cabde", "XYbd", "caXYe"))[rng.random() < 0.3]
    own, other = (DimType.M, DimType.N) if rng.random() < 0.5 else (DimType.N, DimType.M)
    roles = {**dict.fromkeys("ace", own), **dict.fromkeys("XY", other), "b": DimType.K, "d": DimType.K}
    axes = tuple(Axis(name, size, roles[name]) for name, size in sizes.items())
    places = [matrix, state] if own is DimType.N else [state, matrix]
    operands = tuple(
        Operand(name, dtype, _dense_strides(labels, sizes), conjugated=name != "out" and rng.random() < 0.5)
        for name, labels in zip(("in0", "in1", "out"), (*places, result))
    )
    return Operation(axes, operands, Primitive.GEMM, rng.choice((NO_TOUCH, Touch(Primitive.ZERO))))


def _dense_strides(labels: str, sizes: dict[str, int]) -> tuple[int, ...]:
    """The strides of a row-major tensor, in the order of `sizes`."""
    return tuple(
        math.prod(sizes[each] for each in labels[labels.index(name) + 1 :]) if name in labels else 0 for name in sizes
    )


def with_turned_pack(rng: random.Random, operation: Operation, schedule: Schedule) -> Schedule:
    """The schedule of a product of complex tensors with one pack of the form 1e."""
    turned = rng.choice((0, 1))
    walked = FusedView.of(operation, schedule.fused).stand_in(operation)
    if all(pack.operand != turned for pack in schedule.packs):
        loops = list(schedule.loops)
        pack = _pack(rng, walked, loops, schedule.prims, turned, len(loops))
        schedule = replace(schedule, packs=(*schedule.packs, pack))
    packs = (replace(pack, turned=pack.operand == turned) for pack in schedule.packs)
    return replace(schedule, packs=tuple(packs))


def _counts_parts_of_blocks(shared: list[ScheduledLoop]) -> bool:
    """Whether the last of the shared loops cuts the blocks of another one unevenly."""
    return bool(shared) and any(a.axis == shared[-1].axis and a.step % shared[-1].step for a in shared)


def _shuffled_keeping_nesting(rng: random.Random, loops: list[ScheduledLoop]) -> list[ScheduledLoop]:
    slots = [loop.axis for loop in loops]
    rng.shuffle(slots)
    queues = {axis: iter([loop for loop in loops if loop.axis == axis]) for axis in slots}
    return [next(queues[axis]) for axis in slots]


def _pack(
    rng: random.Random, operation: Operation, loops: list[ScheduledLoop], prims: Prims, operand: int, deepest: int
) -> ScheduledPack:
    depth = rng.randint(0, deepest)
    digits: list[Digit] = []
    for name, stride in operation.strides(operation.operands[operand]).items():
        if not stride:
            continue
        inner = [loop.step for loop in loops[depth:] if loop.axis == name]
        block = [loop.step for loop in loops[:depth] if loop.axis == name]
        span = min(block[-1] if block else operation.axis(name).extent, operation.axis(name).extent)
        nests = all(step % inner[-1] == 0 for step in inner)
        if name in prims.names and inner and nests and 1 < inner[-1] < span:
            digits += [Digit(name, inner[-1])] if rng.random() < 0.7 or len(inner) > 1 else []
        digits.append(Digit(name))
    return ScheduledPack(operand, depth, tuple(_digits_shuffled(rng, digits)))


def _digits_shuffled(rng: random.Random, digits: list[Digit]) -> list[Digit]:
    slots = [digit.axis for digit in digits]
    rng.shuffle(slots)
    queues = {axis: iter([digit for digit in digits if digit.axis == axis]) for axis in slots}
    return [next(queues[axis]) for axis in slots]


def random_memories(rng: random.Random, operation: Operation) -> list[Memory]:
    """Arrays that hold exactly what each operand reaches, small integers so that float32 sums are exact."""
    generator = np.random.default_rng(rng.randrange(2**32))
    memories = []
    for operand in operation.operands:
        low, high = reach(operation, operand) or (0, -1)
        count = max(high - low + 1, 0)
        values = generator.integers(-3, 4, count)
        if operand.dtype.kind is Kind.COMPLEX:
            values = values + 1j * generator.integers(-3, 4, count)
        memories.append(Memory(narrowed(values, operand.dtype), -low))
    return memories


def random_fused_schedule(rng: random.Random, operation: Operation) -> Schedule:
    """A schedule that walks several axes of one role as one; operands in which they lie apart are packed."""
    fused: list[Fused] = []
    for role in DimType:
        names = [axis.name for axis in operation.axes if axis.role is role]
        if len(names) > 1 and (not fused or rng.random() < 0.5):
            parts = tuple(rng.sample(names, rng.randint(2, min(len(names), 3))))
            fused.append(Fused("".join(parts), parts))
    view = FusedView.of(operation, fused)
    walked = view.stand_in(operation)
    schedule = random_schedule(rng, walked)
    packs = list(schedule.packs)
    for position, operand in enumerate(operation.operands):
        apart = view.parts[operand.name]
        if apart:
            packs = _packing_rows(rng, walked, view, position, schedule, packs)
    return replace(schedule, packs=tuple(packs), fused=tuple(fused))


def _packing_rows(
    rng: random.Random,
    walked: Operation,
    view: FusedView,
    position: int,
    schedule: Schedule,
    packs: list[ScheduledPack],
) -> list[ScheduledPack]:
    """The packs with one of an operand in which fused axes lie apart, outside all loops that cut their rows."""
    operand = walked.operands[position]
    name = OUTPUT if operand is walked.output else position
    rows = {axis: rows_of(parts) for axis, parts in view.parts[operand.name].items()}
    cut = (i for i, loop in enumerate(schedule.loops) if loop.step % rows.get(loop.axis, 1))
    summed = (i for i, loop in enumerate(schedule.loops) if walked.axis(loop.axis).role is DimType.K)
    written = any(touch.writes and touch.operand == position for touch in walked.last_touches)
    depth = min([*cut, *(summed if name == OUTPUT or written else ()), len(schedule.loops)])
    pack = _pack(rng, walked, list(schedule.loops), schedule.prims, name, depth)
    return [*(p for p in packs if p.operand != name), pack]


def fused_cases(dtype: DType, seeds: int) -> list[tuple[Operation, Schedule]]:
    """Contractions with legal schedules that fuse axes, of so many seeds."""
    cases = []
    for seed in range(seeds):
        rng = random.Random(seed)
        operation = random_contraction(rng, dtype, points=3000)
        schedule = random_fused_schedule(rng, operation)
        try:
            bind(operation, schedule)
        except ScheduleError:
            continue
        cases += [(operation, schedule)] if schedule.fused else []
    return cases


def random_single_use(rng: random.Random, dtype: DType, in_order: float = 0.8) -> Operation:
    """A contraction that uses each element of its first input once: sums, matrix times vector, dot products.

    Of the other operands a share lies `in_order` of the first one, the rest in any.
    """
    count = rng.randint(1, 4)
    extents = [rng.choice((1, 3, 5, 9, 17)) for _ in range(count)]
    extents[-1] = rng.choice((16, 31, 40, 67))
    roles = [rng.choice((DimType.M, DimType.C, DimType.K, DimType.K)) for _ in range(count)]
    single = rng.random() < 0.4
    if single:
        roles = [DimType.M if role is DimType.C else role for role in roles]
    axes = tuple(Axis(chr(97 + i), extent, role) for i, (extent, role) in enumerate(zip(extents, roles)))

    def dense(gone: set[DimType], order: list[int]) -> tuple[int, ...]:
        strides, stride = [0] * count, 1
        for i in order:
            if axes[i].role not in gone:
                strides[i], stride = stride, stride * (axes[i].extent + rng.choice((0, 0, 3)))
        return tuple(strides)

    order = list(reversed(range(count)))
    names = ("in0", "out") if single else ("in0", "in1", "out")
    absent = ({DimType.N}, {DimType.K}) if single else ({DimType.N}, {DimType.M}, {DimType.K})
    orders = (order, *(order if rng.random() < in_order else rng.sample(order, count) for _ in names[1:]))
    operands = tuple(Operand(name, dtype, dense(gone, way)) for name, gone, way in zip(names, absent, orders))
    return touched(rng, Operation(axes, operands, Primitive.SUM if single else Primitive.GEMM))
