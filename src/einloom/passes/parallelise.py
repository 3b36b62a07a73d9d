"""Shared-memory parallelisation: which loops threads share (seed document 000, section 5.5.3).

Reduced axes are never shared. All shared loops stand outermost. Work below a threshold stays on one thread.
"""

from __future__ import annotations

from dataclasses import replace

from einloom.config import LEAST_WORK
from einloom.ir.fused import FusedView
from einloom.ir.operation import DimType, Operation
from einloom.ir.schedule import OUTPUT, Digit, ExecType, Schedule, ScheduledLoop, ScheduledPack
from einloom.passes.model.sizes import round_up
from einloom.passes.values import Context, Pass, State

__all__ = ["PARALLELISE", "parallelise"]

UNEVEN = 1.1
"""How much larger than an equal part a thread's may be for the sake of the blocks inside it."""

VECTOR = 16
"""Blocks that a primitive takes keep to multiples of this many indices, the longest vector in elements."""


def parallelise(operation: Operation, schedule: Schedule, threads: int) -> Schedule:
    """Return the schedule with enough shared iterations for `threads`, or as it is if the work is small.

    before: seq m:64 seq n:8 prim …           (m 1024, two threads)
    after:  shared m:512 seq m:64 seq n:8 prim …
    """
    work = max(operation.flops, operation.bytes)
    threads = min(threads, work // LEAST_WORK)
    if threads < 2 or schedule.shared:
        return schedule
    view = FusedView.of(operation, schedule.fused)
    operation = view.stand_in(operation)
    candidates = [axis.name for axis in operation.axes if axis.role is not DimType.K and axis.extent > 1]
    candidates = [name for name in candidates if _step(operation, schedule, name, threads) % view.rows(name) == 0]
    if not candidates:
        return schedule
    axis = min(candidates, key=lambda name: _cost(operation, schedule, name, threads))
    step = _step(operation, schedule, axis, threads)
    if step >= operation.axis(axis).extent:
        return schedule
    shared = _with_shared(schedule, ScheduledLoop(axis, step, ExecType.SHARED), _part(operation, axis, threads))
    return replace(shared, packs=tuple(_without_single_steps(operation, shared, pack) for pack in shared.packs))


def _without_single_steps(operation: Operation, schedule: Schedule, pack: ScheduledPack) -> ScheduledPack:
    """The pack without digits that have one value now that blocks are smaller: one index, or one panel."""
    left = {axis.name: axis.extent for axis in operation.axes}
    for loop in schedule.loops[: pack.loop]:
        left[loop.axis] = min(left[loop.axis], loop.step)
    layout: list[Digit] = []
    for place, digit in enumerate(pack.layout):
        is_panel = any(later.axis == digit.axis for later in pack.layout[place + 1 :])
        if left[digit.axis] > (digit.step if is_panel else 1):
            layout.append(digit)
    return replace(pack, layout=tuple(layout))


def _with_shared(schedule: Schedule, shared: ScheduledLoop, part: int) -> Schedule:
    """Put a shared loop outermost; it replaces the loops of its axis with larger blocks, or blocks that do not fit."""
    larger = min(shared.step, part + 1)
    uneven = any(each.name == shared.axis for each in schedule.fused)  # Panels of a fused axis cut its blocks anyway.

    def is_replaced(loop: ScheduledLoop) -> bool:
        fits = uneven or shared.step % loop.step == 0
        return loop.axis == shared.axis and (loop.step >= larger or not fits)

    replaced = [is_replaced(loop) for loop in schedule.loops]
    loops = [loop for loop, gone in zip(schedule.loops, replaced) if not gone]
    packs = tuple(replace(pack, loop=pack.loop + 1 - sum(replaced[: pack.loop])) for pack in schedule.packs)
    return replace(schedule, loops=(shared, *loops), packs=packs)


def _step(operation: Operation, schedule: Schedule, axis: str, threads: int) -> int:
    """Indices that one shared iteration covers: an equal part, a multiple of the loops' steps inside it."""
    part = _part(operation, axis, threads)
    steps = [loop.step for loop in schedule.loops if loop.axis == axis]
    taken = axis in schedule.prims.names
    if not steps:
        return round_up(part, VECTOR if taken else 1)
    fitting = round_up(part, max((step for step in steps if step <= part), default=min(steps)))
    packed = any(digit.axis == axis for pack in schedule.packs for digit in pack.layout)
    if taken and not packed and fitting > UNEVEN * part:
        return round_up(part, VECTOR)  # The loops inside go: the primitive takes what they covered.
    return fitting


def _part(operation: Operation, axis: str, threads: int) -> int:
    return -(-operation.axis(axis).extent // threads)


def _cost(operation: Operation, schedule: Schedule, axis: str, threads: int) -> tuple[float, int, int, int]:
    """What the slowest thread does, relative to an equal share.

    Ties: what every thread would have to pack again; then long runs of the output stay whole.
    """
    extent = operation.axis(axis).extent
    step = min(_step(operation, schedule, axis, threads), extent)
    iterations = -(-extent // step)
    share = -(-iterations // threads) * step
    inputs = (operation.operands[pack.operand] for pack in schedule.packs if pack.operand != OUTPUT)
    repeated = sum(operation.elements(operand) for operand in inputs if not operation.stride(operand, axis))
    balance = round(share * threads / extent, 1)
    return balance, repeated, -abs(operation.stride(operation.output, axis)), -extent


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
