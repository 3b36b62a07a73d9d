"""Shared-memory parallelisation: which loops threads share.

Reduced axes are never shared. All shared loops stand outermost. Work below a threshold stays on one thread.
"""

from __future__ import annotations

from dataclasses import replace

from einloom.config import LEAST_WORK
from einloom.ir.fused import FusedView
from einloom.ir.operation import Axis, DimType, Operation
from einloom.ir.schedule import OUTPUT, Digit, ExecType, Schedule, ScheduledLoop, ScheduledPack
from einloom.passes.model.sizes import round_up
from einloom.passes.values import Context, Pass, State

__all__ = ["PARALLELISE", "parallelise"]

UNEVEN = 1.1
"""How much larger than an equal part a thread's may be for the sake of the blocks inside it."""

VECTOR = 16
"""Blocks that a primitive takes keep to multiples of this many indices, the longest vector in elements."""

COLUMNS = 8
"""The same along its columns, of which tiles have 4 to 12."""


def parallelise(operation: Operation, schedule: Schedule, threads: int) -> Schedule:
    """Return the schedule with enough shared iterations for `threads`, or as it is if the work is small.

    before: seq m:64 seq n:8 prim …           (m 1024, two threads)
    after:  shared m:512 seq m:64 seq n:8 prim …
    """
    threads = _worthwhile(operation, threads)
    if threads < 2 or schedule.shared:
        return schedule
    rows = dict[str, int]()
    if schedule.fused:
        view = FusedView.of(operation, schedule.fused)
        operation = view.stand_in(operation)
        rows = {each.name: view.rows(each.name) for each in schedule.fused}
    kept = [axis for axis in operation.axes if axis.role is not DimType.K and axis.extent > 1]
    steps = {axis.name: _step(schedule, axis, threads) for axis in kept}
    candidates = [axis for axis in kept if steps[axis.name] % rows.get(axis.name, 1) == 0]
    if not candidates:
        return schedule
    axis = min(candidates, key=lambda axis: _cost(operation, schedule, axis, steps[axis.name], threads))
    if steps[axis.name] >= axis.extent:
        return schedule
    shared = ScheduledLoop(axis.name, steps[axis.name], ExecType.SHARED)
    return _with_shared(operation, schedule, shared, _part(axis, threads))


def _worthwhile(operation: Operation, threads: int) -> int:
    """Return how many threads there is enough work for, of so many at most."""
    enough = threads * LEAST_WORK
    work = operation.flops if operation.flops >= enough else max(operation.flops, operation.bytes)
    return min(threads, work // LEAST_WORK)


def _without_single_steps(operation: Operation, loops: tuple[ScheduledLoop, ...], pack: ScheduledPack) -> ScheduledPack:
    """The pack without digits that have one value now that blocks are smaller: one index, or one panel."""
    left = dict(zip(operation.names, [axis.extent for axis in operation.axes]))
    for loop in loops[: pack.loop]:
        left[loop.axis] = min(left[loop.axis], loop.step)
    layout: list[Digit] = []
    for place, digit in enumerate(pack.layout):
        is_panel = any(later.axis == digit.axis for later in pack.layout[place + 1 :])
        if left[digit.axis] > (digit.step if is_panel else 1):
            layout.append(digit)
    return replace(pack, layout=tuple(layout))


def _with_shared(operation: Operation, schedule: Schedule, shared: ScheduledLoop, part: int) -> Schedule:
    """Put a shared loop outermost; it replaces the loops of its axis with larger blocks, or blocks that do not fit."""
    larger = min(shared.step, part + 1)
    uneven = any(each.name == shared.axis for each in schedule.fused)  # Panels of a fused axis cut its blocks anyway.

    def is_replaced(loop: ScheduledLoop) -> bool:
        fits = uneven or shared.step % loop.step == 0
        return loop.axis == shared.axis and (loop.step >= larger or not fits)

    replaced = [is_replaced(loop) for loop in schedule.loops]
    loops = (shared, *[loop for loop, gone in zip(schedule.loops, replaced) if not gone])
    packs = [replace(pack, loop=pack.loop + 1 - sum(replaced[: pack.loop])) for pack in schedule.packs]
    packs = tuple([_without_single_steps(operation, loops, pack) for pack in packs])
    return replace(schedule, loops=loops, packs=packs)


def _step(schedule: Schedule, axis: Axis, threads: int) -> int:
    """Indices that one shared iteration covers: an equal part, a multiple of the loops' steps inside it."""
    part, name = _part(axis, threads), axis.name
    steps = [loop.step for loop in schedule.loops if loop.axis == name]
    taken, unit = name in schedule.prims.names, COLUMNS if name == schedule.prims.n else VECTOR
    if not steps:
        return round_up(part, unit if taken else 1)
    fitting = round_up(part, max([step for step in steps if step <= part], default=min(steps)))
    if not taken or fitting <= UNEVEN * part or any(d.axis == name for pack in schedule.packs for d in pack.layout):
        return fitting
    return round_up(part, unit)  # The loops inside go: the primitive takes what they covered.


def _part(axis: Axis, threads: int) -> int:
    return -(-axis.extent // threads)


def _cost(operation: Operation, schedule: Schedule, axis: Axis, step: int, threads: int) -> tuple[float, int, int, int]:
    """What the slowest thread does, relative to an equal share.

    Ties: what every thread would have to pack again; then long runs of the output stay whole.
    """
    extent, place = axis.extent, operation.axes.index(axis)
    step = min(step, extent)
    iterations = -(-extent // step)
    share = -(-iterations // threads) * step
    inputs = [operation.operands[pack.operand] for pack in schedule.packs if pack.operand != OUTPUT]
    repeated = sum([operation.elements(operand) for operand in inputs if not operand.strides[place]])
    balance = round(share * threads / extent, 1)
    return balance, repeated, -abs(operation.output.strides[place]), -extent


def _apply(operation: Operation, schedule: Schedule, context: Context) -> State:
    return operation, parallelise(operation, schedule, context.options.threads)


def _explain(before: State, after: State, context: Context) -> str:
    operation, schedule = after
    threads = context.options.threads
    if threads < 2:
        return "no: one thread"
    if max(operation.flops, operation.bytes) < 2 * LEAST_WORK:
        return f"no: too little work to share among {threads} threads"
    if not schedule.shared:
        return "no: no axis of the output can be shared"
    loops = " ".join(f"{loop.axis}:{loop.step}" for loop in schedule.shared)
    return f"shares {loops} among {threads} threads"


PARALLELISE = Pass("parallelise", _apply, _explain)
