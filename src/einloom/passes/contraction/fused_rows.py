"""Axes that are one run in the output, but not in an input, walked as one: full tiles where each leaves rests.

The axes c and d of 56 indices each are three and a half vectors of AVX-512; together they are 196 whole ones. The input
is packed in panels that cut rows of d, and kernels see one axis of 3,136 indices. Likewise several axes that are summed
become one, where there are more than kernels take: else sums would leave the registers for each index of the others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from einloom.ir.fused import FusedView, Part, rows_of
from einloom.ir.operation import Axis, DimType, Operation
from einloom.ir.schedule import OUTPUT, Digit, Fused, Prims, Schedule, ScheduledLoop, ScheduledPack
from einloom.machine import Machine
from einloom.passes.contraction.blocking import Blocking
from einloom.passes.contraction.plan import Plan
from einloom.passes.model.packs import ALIASES
from einloom.passes.model.sizes import equal_block, nearest_multiple, round_up

__all__ = ["fused_axes", "fused_schedules", "in_whole_rows", "staged_schedules"]

WIDE = 8
"""Axes of so many tiles are left alone: what their rests cost is little."""

CACHE_LINE = 64

MUCH_LONGER = 2
"""How many times as long as blocks were to be whole rows are that kernels do not take at once."""

TAKEN = 2
"""Summed axes that a primitive takes: two stay two, however short (measured: as one they gain nothing in the mean)."""


def fused_schedules(
    operation: Operation, prims: Prims, machine: Machine, plan: Plan, most: int | None = None
) -> Iterator[Schedule]:
    """Yield schedules of a plan that packs both inputs, in which the primitive takes several axes as its m, n or k.

    before: prim m=d n=b k=f batch=e          (aebf,dfce->abcd)
    after:  fuse cd=c*d seq cd:336 … prim m=cd n=b k=f batch=e … pack in1@2 cd:48 e f cd
    """
    tile = machine.vector_bits // 8 // operation.accumulate.size * 3
    # Of rows that follow each other kernels read parts of cache lines, where a tile is no whole number of them.
    cuts = (False, True) if tile * operation.accumulate.size % CACHE_LINE else (False,)
    m = _joined(operation, prims.m, WIDE * tile)
    n = _joined(operation, prims.n, WIDE * 8)
    k = _summed(operation)
    if prims.m and prims.n and operation.axis(prims.m).role is operation.axis(prims.n).role:
        m = n = None  # A batch: its axes are no rows of an input each.
    for first, second in dict.fromkeys(((None, None), (m, None), (None, n), (m, n))):
        fused = tuple(each for each in (first, second, k) if each is not None)
        if not fused or {each.name for each in fused} & set(operation.names):
            continue
        view = FusedView.of(operation, fused)
        taking = replace(prims, m=first.name if first else prims.m, n=second.name if second else prims.n)
        taking = replace(taking, k=k.name, batch=None) if k else taking
        walked = view.stand_in(operation)
        schedule = Blocking(walked, taking, machine, most).schedule(plan)
        found = (in_whole_rows(walked, view, fused, schedule, cut) for cut in cuts) if schedule else ()
        line = CACHE_LINE // operation.accumulate.size
        for rows in dict.fromkeys(filter(None, found)):
            longest = view.rows(first.name) if first else 1
            for each in (_in_whole_panels(walked, longest, rows), _in_whole_lines(walked, view, rows, line)):
                if each is not None:
                    yield each


def staged_schedules(
    operation: Operation, prims: Prims, machine: Machine, plans: Iterable[Plan], most: int | None = None
) -> Iterator[Schedule]:
    """Yield schedules of plans with vectors along axes that are a run in scratch alone; the innermost leaves a rest.

    before: prim m=d n=c k=f batch=e          (aecf,fbed->abcd; d 56)
    after:  fuse bd=b*d seq a:7 seq bd:336 … prim m=bd n=c k=f batch=e pack out@2 a c bd …
    """
    lanes = machine.vector_bits // 8 // operation.accumulate.size
    m = operation.axis(prims.m) if prims.m else None
    if m is None or m.role is DimType.C or m.extent % lanes == 0 or m.extent >= WIDE * 3 * lanes:
        return
    others = [axis for axis in operation.axes if axis.role is m.role and axis is not m]
    if not others or prims.n is None or operation.axis(prims.n).role is m.role:
        return
    closest = min(others, key=lambda axis: operation.distance(operation.output, axis))
    fused = (fused_axes((closest.name, m.name)),)
    if fused[0].name in operation.names:
        return
    view = FusedView.of(operation, fused)
    walked = view.stand_in(operation)
    blocking = Blocking(walked, replace(prims, m=fused[0].name), machine, most)
    for plan in plans:
        schedule = blocking.schedule(plan)
        rows = None if schedule is None else in_whole_rows(walked, view, fused, schedule)
        if rows is not None:
            yield rows


def _joined(operation: Operation, name: str | None, enough: int) -> Fused | None:
    """The axis with those that lie around it in the output, as far as their roles agree, until there are enough."""
    if name is None or operation.axis(name).extent >= enough:
        return None
    output, axes = operation.output, [operation.axis(name)]
    while math.prod(axis.extent for axis in axes) < enough:
        reach = operation.stride(output, axes[0].name) * axes[0].extent
        around = (axis for axis in operation.axes if axis.extent > 1 and _lies(operation, axis, reach, axes[0]))
        outer = next(around, None)
        if outer is None:
            break
        axes.insert(0, outer)
    return fused_axes(axis.name for axis in axes) if len(axes) > 1 else None


def _summed(operation: Operation) -> Fused | None:
    """The axes that are summed, as the input has them that lies in long runs of them, if a primitive takes not all."""
    axes = [axis for axis in operation.axes if axis.role is DimType.K and axis.extent > 1]
    if len(axes) <= TAKEN:
        return None
    closest = min(operation.inputs, key=lambda each: min(operation.distance(each, axis) for axis in axes))
    return fused_axes(axis.name for axis in operation.outermost_first(closest, axes))


def fused_axes(names: Iterable[str]) -> Fused:
    """Return axes as one, the outermost first, with a name made of theirs."""
    parts = tuple(names)
    return Fused("".join(parts).replace("*", ""), parts)


def _lies(operation: Operation, axis: Axis, stride: int, inner: Axis) -> bool:
    return axis.role is inner.role and operation.stride(operation.output, axis.name) == stride


def _in_whole_panels(walked: Operation, rows: int, schedule: Schedule) -> Schedule:
    """The schedule with blocks that end with a panel where they ended inside one: twice as wide, of half of k."""
    loops, prims = schedule.loops, schedule.prims
    steps = {loop.axis: loop.step for loop in reversed(loops)}
    halved = (axis.name for axis in walked.axes if axis.role is DimType.K and steps.get(axis.name, 1) % 2 == 0)
    half, m = next(halved, None), prims.m
    panel = min((loop.step for loop in loops if loop.axis == m), default=1)
    if m is None or half is None or steps.get(m, 0) % panel == 0 or 2 * steps[m] % math.lcm(rows, panel):
        return schedule
    return _with_blocks(schedule, {m: 2 * steps[m], half: steps[half] // 2})


def _with_blocks(schedule: Schedule, steps: dict[str, int]) -> Schedule:
    """The schedule with other steps of the outermost loop over each of some axes."""
    loops = list(schedule.loops)
    for name, step in steps.items():
        place = next(i for i, loop in enumerate(loops) if loop.axis == name)
        loops[place] = loops[place]._replace(step=step)
    return replace(schedule, loops=tuple(loops))


def _in_whole_lines(walked: Operation, view: FusedView, schedule: Schedule, line: int) -> Schedule | None:
    """The schedule with blocks of the vector operand as many rows wide as a cache line has elements, and less deep.

    Where rows lie across what is contiguous in the tensor, a copy of a few rows reads parts of lines, and each line
    again for every block. None where rows lie otherwise.
    """
    m = schedule.prims.m or ""
    parts = next((view.parts[each.name][m] for each in walked.inputs if m in view.parts[each.name]), ())
    if not parts or not _transposes(parts):
        return None
    across = next(i for i, part in enumerate(parts) if abs(part.stride) == 1)
    row = math.prod(part.extent for part in parts[across + 1 :])
    wide = row * min(line, parts[across].extent)
    blocks = [loop.step for loop in schedule.loops if loop.axis == m]
    deep = next((loop for loop in schedule.loops if loop.step > 1 and walked.axis(loop.axis).role is DimType.K), None)
    if len(blocks) != 2 or deep is None or blocks[0] >= wide:  # Blocks of several panels.
        return None
    depth = equal_block(walked.axis(deep.axis).extent, -(-deep.step * blocks[0] // wide))
    return _with_blocks(schedule, {m: wide, deep.axis: depth})


def in_whole_rows(
    walked: Operation, view: FusedView, fused: tuple[Fused, ...], schedule: Schedule, cut: bool = False
) -> Schedule | None:
    """Return the schedule of fused axes with blocks of whole rows outside the packs of operands whose rows lie apart.

    Panels may `cut` rows that lie across what is contiguous in their tensor: a copy finds single elements then, but
    kernels read what they take in one piece. Where whole rows are much longer, kernels take as much as before.
    """
    loops, packs = list(schedule.loops), [_straightened(pack) for pack in schedule.packs]
    rows: dict[str, int] = {}
    for position, operand in enumerate(walked.operands):
        for axis, parts in view.parts[operand.name].items():
            place = OUTPUT if operand is walked.output else position
            pack = next((each for each in packs if each.operand == place), None)
            if pack is None and operand in walked.extras:
                pack = _pack_of_extra(walked, view, position, loops)
                packs += [pack] if pack else []
            if pack is None or all(digit.axis != axis for digit in pack.layout):
                return None  # No rows are packed: the operand is read in place, or its blocks are of one index.
            if _transposes(parts) and not cut:
                pack = _straight(pack, axis)
                packs = [pack if each.operand == place else each for each in packs]
            row = rows[axis] = math.lcm(rows.get(axis, 1), rows_of(parts))
            for i, loop in enumerate(loops[: pack.loop]):
                if loop.axis == axis:
                    panel = _panel(pack, axis)
                    step = _whole_lines(_whole_rows(loop.step, row, panel), parts, panel, operand.dtype.size)
                    loops[i] = loop._replace(step=step if step % row == 0 else round_up(step, row))
    return Schedule((*loops, *_as_before(schedule.loops, loops)), schedule.prims, tuple(packs), fused)


def _as_before(before: Sequence[ScheduledLoop], loops: Sequence[ScheduledLoop]) -> list[ScheduledLoop]:
    """Return loops inside blocks that have become much longer, of which kernels else would take all."""
    cut = [loop.axis for loop in loops]
    pairs = zip(before, loops)
    return [loop for loop, now in pairs if now.step >= MUCH_LONGER * loop.step and cut.count(loop.axis) == 1]


def _transposes(parts: tuple[Part, ...]) -> bool:
    """Whether rows lie across what is contiguous in the tensor: a copy then takes both, in whole rows alone."""
    return abs(parts[-1].stride) != 1 and any(abs(part.stride) == 1 for part in parts)


def _straight(pack: ScheduledPack, axis: str) -> ScheduledPack:
    """The pack without panels of the axis: rows of parts lie one behind the other."""
    return replace(pack, layout=tuple(digit for digit in pack.layout if digit.axis != axis or digit.step == 1))


def _pack_of_extra(
    walked: Operation, view: FusedView, position: int, loops: list[ScheduledLoop]
) -> ScheduledPack | None:
    """The pack of what a touch reads, outside the loops over its fused axes and over sums; None: a touch writes it."""
    name, output = walked.operands[position].name, walked.output
    if any(touch.writes and touch.operand == position for touch in walked.last_touches):
        return None
    around = {axis.name for axis in walked.axes if axis.role is DimType.K or axis.name in view.parts[name]}
    depth = next((i for i, loop in enumerate(loops) if loop.axis in around), len(loops))
    single = {loop.axis for loop in loops[:depth] if loop.step == 1}
    several = (axis for axis in walked.axes if axis.role is not DimType.K and axis.name not in single)
    kept = (axis for axis in several if axis.extent > 1 and view.depends(name, axis.name))
    return ScheduledPack(position, depth, tuple(Digit(axis.name) for axis in walked.outermost_first(output, kept)))


def _panel(pack: ScheduledPack, axis: str) -> int:
    """The indices of an axis in one panel of a pack."""
    return min((digit.step for digit in pack.layout if digit.axis == axis and digit.step > 1), default=1)


def _whole_rows(step: int, row: int, panel: int) -> int:
    """The step in whole rows, and in whole panels where that is no more than a third away."""
    return nearest_multiple(step, math.lcm(row, panel)) or nearest_multiple(step, row) or round_up(step, row)


def _whole_lines(step: int, parts: tuple[Part, ...], panel: int, element: int) -> int:
    """The step in rows that fill cache lines of the tensor, or halves or quarters, where they lie across its rows.

    It stays where that is more than a third away, would cut a panel, or lets columns share sets of a cache.
    """
    row, rows = rows_of(parts), parts[0].extent
    if abs(parts[0].stride) != 1 or step >= rows * row:
        return step
    line = CACHE_LINE // element
    for part in (line, line // 2, line // 4):
        near = nearest_multiple(step, row * min(max(part, 1), rows))
        if near is not None and near % panel == 0 and near * element % ALIASES:
            return min(near, rows * row)
    return step


def _straightened(pack: ScheduledPack) -> ScheduledPack:
    """The pack without panels that follow each other as their indices do: a copy of whole rows."""
    following = zip(pack.layout, (*pack.layout[1:], Digit("")))
    kept = [digit for digit, inner in following if digit.axis != inner.axis]
    return replace(pack, layout=tuple(kept)) if len(kept) < len(pack.layout) else pack
