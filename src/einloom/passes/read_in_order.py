"""Contractions that use each element of an input once: matrix times vector, sums over any axes, batched dot products.

Memory bounds them, so the large input is read in the order in which it lies, a few rows at once, and nothing is copied.
Where its contiguous axis is summed, vectors run along the sum and are added up across lanes at its end; where it is an
axis of the output, the rows are added to a piece of the output that stays in L2: it is read and written once for eight
rows, and long runs of the input count more (measured, rows of 28 to 260 KB: pieces that L1 holds half full of took 1.04
times as long on AVX-512, 1.02 on AVX2). Plain sums of what lies in memory take row after row: that is one stream, which
memory answers fastest, and adding to L1 takes less time.

A short axis of the output inside of the sum, the parts of complex numbers, goes along in its vectors.

Where such an axis is not the output's innermost one, the rows are added to a block in scratch, which a copy turns.
Where the output is as large as the input (products element by element, or sums of a few), pieces of it are computed in
scratch and leave it past the caches: an ordinary store would fetch each line first. An input that lies across is copied
in blocks, which the copy turns.
"""

from __future__ import annotations

import math

from einloom.dtypes import Kind
from einloom.ir.operation import Axis, DimType, Operand, Operation
from einloom.ir.schedule import OUTPUT, Digit, Prims, Schedule, ScheduledLoop, ScheduledPack
from einloom.kernels.contraction.product import keeps_apart
from einloom.machine import Machine
from einloom.passes.model.sizes import equal_part
from einloom.passes.model.tiles import SCRATCH_LIMIT
from einloom.passes.values import Context, Pass, State

__all__ = ["READ_IN_ORDER", "read_in_order"]

ROWS = 8
"""Rows of the input that are read at once: enough streams for the prefetchers, few enough pages."""

PAGE, LINE = 4096, 64
"""Bytes at whose multiples lines fall into the same set of L1; bytes of a cache line."""

PAGES = 1024
"""Pages that a run may cross: translation buffers hold 1,500 or more (measured: of 1,500 copies are as fast)."""

STAGED = 1024
"""Bytes of runs of the output from which on they pass the caches: parts of lines at their ends count little then."""

TURNED = (32, 2048)
"""Rows of a block of an input that lies across, and the bytes of a row."""

FEW = 4
"""Products up to which sums are so short that turning the output takes a good part of the time."""

LEAST_RUN = 2
"""Vectors that a run of the input has at least; shorter ones are left to blocks that are copied."""


def read_in_order(operation: Operation, machine: Machine, packing: bool = True) -> Schedule | None:
    """Return loops in the order of the large input, which is not packed; None unless all elements are used once.

    before: ij,j->i                          (i 4000, j 4000, row-major)
    after:  seq i:8 prim m=i k=j
    """
    if not operation.main.is_contraction or not operation.inputs or not operation.points:
        return None
    large = max(operation.inputs, key=operation.elements)
    used_once = operation.points == operation.elements(large)
    run = operation.contiguous_axis(large)
    lanes = machine.vector_bits // (8 * operation.accumulate.size)
    if not used_once or run is None:
        return None
    if run.extent < LEAST_RUN * lanes:
        return _short_runs(operation, large, run, machine)
    if run.role is DimType.K:
        return _sums_along_runs(operation, large, run, machine)
    if operation.stride(operation.output, run.name) == 1 and not _takes_pairs_apart(operation, run):
        written = _written_once(operation, large, run, machine) if packing else None
        return written or _adds_runs(operation, large, run, machine)
    return _turns_sums(operation, large, run, machine) if packing else None


def _sums_along_runs(
    operation: Operation, large: Operand, run: Axis, machine: Machine, inside: Axis | None = None
) -> Schedule | None:
    """Vectors along a summed axis, for several rows at once; a small input where it lies apart is packed.

    Args:
        inside: an axis of the output that lies inside of the sum, whose sums are kept apart in the vectors' lanes.
    """
    others = [operand for operand in operation.inputs if operand is not large]
    packs = _in_the_same_order(operation, large, run, machine)
    if packs is None:
        return None
    kept = [axis for axis in operation.axes if axis.role is not DimType.K and axis is not inside]
    alone = [axis for axis in kept if not any(operation.stride(operand, axis.name) for operand in others)]
    rows = min(alone, key=lambda axis: operation.distance(large, axis), default=None)
    # L2 has to hold a piece of the other input while eight rows go by.
    piece = _piece(run, machine.l2 // 2 // (ROWS + 1 if rows is not None and others else 1), operation)
    loops = _around(operation, large, {axis.name for axis in (run, rows, inside) if axis})
    loops += [ScheduledLoop(run.name, piece)] if piece < run.extent else []
    loops += [ScheduledLoop(rows.name, ROWS)] if rows is not None and rows.extent > ROWS else []
    m, n = (axis.name if axis else None for axis in ((inside, rows) if inside else (rows, None)))
    return Schedule(tuple(loops) or (ScheduledLoop(run.name, run.extent),), Prims(m, n, run.name), packs)


def _short_runs(operation: Operation, large: Operand, run: Axis, machine: Machine) -> Schedule | None:
    """Runs of a vector or two: sums of a batch as long ones, and products element by element, a few rows at a time.

    before: ab,b->ab                                     (a 3000, b 13)
    after:  seq a:79 prim m=b n=a
    """
    lanes = machine.vector_bits // (8 * operation.accumulate.size)
    roles = {axis.role for axis in operation.axes if axis.extent > 1}
    around = _summed_around(operation, large, run)
    if around is not None:
        return _sums_along_runs(operation, large, around, machine, inside=run)
    if run.role is DimType.K:
        return _sums_along_runs(operation, large, run, machine) if DimType.C in roles and run.extent >= lanes else None
    straight = all(operation.stride(operand, run.name) in (0, 1) for operand in operation.inputs)
    together = operation.stride(operation.output, run.name) == 1 and straight and DimType.K not in roles
    others = [axis for axis in operation.axes if axis is not run and axis.role is not DimType.K]
    if not together or not others or len(operation.inputs) < 2 or operation.multiplies_pairs:
        return None
    # What is left of vectors is computed after all rows' vectors: L1 has to hold both.
    rows = min(others, key=lambda axis: operation.distance(large, axis))
    size = run.extent * operation.accumulate.size * (len(operation.inputs) + 1)
    count = equal_part(rows.extent, max(machine.l1d // 4 // size, 1))
    loops = [*_around(operation, large, {run.name, rows.name})]
    loops += [ScheduledLoop(rows.name, count)] if count < rows.extent else []
    return Schedule(tuple(loops) or (ScheduledLoop(rows.name, rows.extent),), Prims(m=run.name, n=rows.name))


def _summed_around(operation: Operation, large: Operand, run: Axis) -> Axis | None:
    """Return the summed axis that continues a run of two or four sums, such as both parts of complex numbers.

    before: axis a 60 m, axis b 50 k, axis parts 2 m; in0 a=100 b=2 parts=1; out a=2 parts=1
    after:  seq a:8 prim m=parts n=a k=b
    """
    kept_apart = operation.stride(operation.output, run.name) == 1 and keeps_apart(run.extent, operation.accumulate)
    if operation.inputs != (large,) or not kept_apart:
        return None
    summed = (axis for axis in operation.axes if axis.role is DimType.K and axis.extent > 1)
    return next((axis for axis in summed if operation.stride(large, axis.name) == run.extent), None)


def _in_the_same_order(
    operation: Operation, large: Operand, run: Axis, machine: Machine
) -> tuple[ScheduledPack, ...] | None:
    """Packs of the inputs in which a run of the large one lies apart, in its order; None where L2 has no room for them.

    before: cab,ba->c                            (in1 lies in the order b, a)
    after:  seq a:1 seq c:8 prim m=c k=b pack in1@0 a b
    """
    packs: list[ScheduledPack] = []
    for position, operand in enumerate(operation.inputs):
        stride = operation.stride(operand, run.name)
        if operand is large or stride == 1:
            continue
        elements = operation.elements(operand)
        fits = elements * operand.dtype.size <= machine.l2 // 4
        fits = fits and elements * operation.accumulate.size <= SCRATCH_LIMIT // 2  # Packs may widen.
        if not stride or not fits or operation.multiplies_pairs:  # Packs of pairs are turned, for other kernels.
            return None
        axes = [axis for axis in operation.axes if axis.extent > 1 and operation.stride(operand, axis.name)]
        layout = tuple(Digit(axis.name) for axis in operation.outermost_first(large, axes))
        packs.append(ScheduledPack(position, 0, layout))
    return tuple(packs)


def _takes_pairs_apart(operation: Operation, run: Axis) -> bool:
    """Whether complex elements of some input lie apart along a run: then they would be multiplied one by one."""
    apart = any(operation.stride(operand, run.name) not in (0, 1) for operand in operation.inputs)
    return operation.multiplies_pairs and apart


def _adds_runs(operation: Operation, large: Operand, run: Axis, machine: Machine) -> Schedule:
    """Vectors along an axis of the output: several rows of the summed axis that is the closest are added at once."""
    summed = [axis for axis in operation.axes if axis.role is DimType.K]
    rows = min(summed, key=lambda axis: operation.distance(large, axis), default=None)
    piece = _piece(run, machine.l2 // 16, operation)
    loops = [ScheduledLoop(run.name, piece)] if piece < run.extent else []
    loops += _around(operation, large, {run.name, rows.name if rows else run.name})
    count = 1 if _is_one_stream(operation, large, piece, machine) else ROWS
    if rows is not None and rows.extent > count and not _may_end_early(operation, machine):
        loops.append(ScheduledLoop(rows.name, count))
    return Schedule(
        tuple(loops) or (ScheduledLoop(run.name, run.extent),), Prims(m=run.name, k=rows.name if rows else None)
    )


def _turns_sums(operation: Operation, large: Operand, run: Axis, machine: Machine) -> Schedule | None:
    """Rows are added to a block in scratch of lines of the output; None where inputs lie across, or sums are short.

    before: abc->ca                                      (a 120, b 130, c 140; row-major)
    after:  seq a:1 seq b:8 prim m=c k=b pack out@0 a c
    """
    line = operation.contiguous_axis(operation.output)
    summed = [axis for axis in operation.axes if axis.role is DimType.K and axis.extent > 1]
    if line is None or math.prod(axis.extent for axis in summed) <= FEW or operation.multiplies_pairs:
        return None
    across = any(operation.stride(operand, run.name) not in (0, 1) for operand in operation.inputs)
    if across or not operation.first_touch.initialises or not operation.stride(large, line.name):
        return None
    steps = _turned_block(operation, large, (run, line), machine)
    kept = operation.outermost_first(large, (axis for axis in operation.axes if axis.role is not DimType.K))
    outer = [ScheduledLoop(axis.name, steps[axis.name]) for axis in kept if steps[axis.name] < axis.extent]
    block = [axis for axis in kept if steps[axis.name] > 1]
    rows = min(summed, key=lambda axis: operation.distance(large, axis))
    count = rows.extent if _may_end_early(operation, machine) else min(ROWS, rows.extent)
    inner = operation.outermost_first(large, (axis for axis in (*summed, *block) if axis is not run))
    loops = (*outer, *(ScheduledLoop(axis.name, count if axis is rows else 1) for axis in inner))
    pack = ScheduledPack(OUTPUT, len(outer), tuple(Digit(axis.name) for axis in block))
    return Schedule(loops, Prims(m=run.name, k=rows.name), (pack,))


def _turned_block(operation: Operation, large: Operand, sides: tuple[Axis, Axis], machine: Machine) -> dict[str, int]:
    """Return how far the block reaches along each axis of the output.

    It has lines of the output, and of the input what follows each other as far as L2 has room beside what is read.
    """
    run, line = sides
    size = operation.accumulate.size
    steps = {axis.name: 1 for axis in operation.axes if axis.role is not DimType.K}
    steps[line.name], most = min(line.extent, LINE // size), min(machine.l2, SCRATCH_LIMIT) // 4 // size
    kept = [operation.axis(name) for name in steps if name not in (run.name, line.name)]
    for axis in (run, *sorted((*kept, line), key=lambda axis: operation.distance(large, axis))):
        others = math.prod(steps.values()) // steps[axis.name]
        if axis not in sides and axis.extent * others > most:
            break
        steps[axis.name] = max(equal_part(axis.extent, max(most // others, 1)), steps[axis.name])
    return steps


def _written_once(operation: Operation, large: Operand, run: Axis, machine: Machine) -> Schedule | None:
    """Pieces of a large output that are computed in scratch; None where loops go over a sum, or the output is small.

    before: ab,b->ab                                     (a 3000, b 4000)
    after:  seq a:1 seq b:2000 prim m=b pack out@2 b
    """
    summed = [axis for axis in operation.axes if axis.role is DimType.K and axis.extent > 1]
    output, is_long = operation.output, run.extent * operation.accumulate.size >= STAGED
    if operation.elements(output) * output.dtype.size <= machine.l2 or not is_long:
        return None
    # Packs of pairs are turned, for other kernels; and staged ones were a fifth slower.
    if not operation.first_touch.initialises or operation.multiplies_pairs or any(a.extent > ROWS for a in summed):
        return None
    across = [i for i, operand in enumerate(operation.inputs) if operation.stride(operand, run.name) not in (0, 1)]
    if len(across) == 1 and not summed and not _keeps_lines(operation, operation.inputs[across[0]], run, machine):
        return _turned(operation, large, run, across[0])
    if across or len(summed) > 1:
        return None
    rows = summed[0].name if summed else None
    piece = _piece(run, machine.l1d // 2 // (len(operation.inputs) + 1), operation)
    loops = [*_around(operation, large, {run.name, *([rows] if rows else [])}), ScheduledLoop(run.name, piece)]
    return Schedule(tuple(loops), Prims(m=run.name, k=rows), (ScheduledPack(OUTPUT, len(loops), (Digit(run.name),)),))


def _keeps_lines(operation: Operation, operand: Operand, run: Axis, machine: Machine) -> bool:
    """Whether the lines that a run crosses stay in L2 until the next runs read on in them: then gathers are faster.

    So do their pages in the translation buffers: beyond these it takes eight times as long as copies.
    """
    distance = abs(operation.stride(operand, run.name)) * operand.dtype.size
    pages = run.extent * min(distance, PAGE) // PAGE
    return pages <= PAGES and run.extent * max(math.gcd(distance, PAGE), LINE) <= machine.l2 // 16


def _turned(operation: Operation, large: Operand, run: Axis, position: int) -> Schedule | None:
    """Blocks of an input that lies across the run are copied; rows of the others meet them.

    before: ab,ba->ab                                    (a 2000, b 3000)
    after:  seq b:500 seq a:32 seq a:1 prim m=b pack in1@2 a b pack out@2 a b
    """
    rows = operation.contiguous_axis(operation.inputs[position])
    if rows is None:
        return None
    count, size = TURNED
    loops = _around(operation, large, {run.name, rows.name})
    loops += [ScheduledLoop(run.name, _piece(run, size, operation)), ScheduledLoop(rows.name, min(count, rows.extent))]
    layout = (Digit(rows.name), Digit(run.name))
    packs = (ScheduledPack(position, len(loops), layout), ScheduledPack(OUTPUT, len(loops), layout))
    return Schedule((*loops, ScheduledLoop(rows.name, 1)), Prims(m=run.name), packs)


def _piece(run: Axis, size: int, operation: Operation) -> int:
    """Return the length of the fewest equal pieces of a run that take at most so many bytes."""
    most = max(size // operation.accumulate.size, 1)
    return -(-run.extent // -(-run.extent // most))


def _may_end_early(operation: Operation, machine: Machine) -> bool:
    """Whether a kernel that has all rows reads a few of them only, if most truth values are true."""
    return operation.accumulate.kind is Kind.BOOL and machine.vectors.ends_sums_of_truth


def _is_one_stream(operation: Operation, large: Operand, piece: int, machine: Machine) -> bool:
    """Whether rows are summed that come from memory, to a piece of the output that L1 holds beside them."""
    if operation.inputs != (large,) or piece * operation.output.dtype.size > machine.l1d // 2:
        return False
    return operation.elements(large) * large.dtype.size > machine.last_level


def _around(operation: Operation, large: Operand, taken: set[str]) -> list[ScheduledLoop]:
    """Loops over single indices of the other axes, in the order of the large input."""
    axes = operation.outermost_first(large, (axis for axis in operation.axes if axis.name not in taken))
    return [ScheduledLoop(axis.name, 1) for axis in axes if axis.extent > 1]


def _apply(operation: Operation, schedule: Schedule, context: Context) -> State:
    if context.options.max_kernel_size is not None:
        return operation, schedule
    return operation, read_in_order(operation, context.machine, context.options.packing) or schedule


def _explain(before: State, after: State, context: Context) -> str:
    if before == after:
        return "no: elements of the inputs are used more than once, or the larger one has no long runs"
    operation, schedule = after
    large = max(operation.inputs, key=operation.elements)
    run = operation.contiguous_axis(large)
    if any(pack.operand == OUTPUT for pack in schedule.packs):
        turned = run is not operation.contiguous_axis(operation.output)
        way = "rows are added in scratch, a copy turns them" if turned else "pieces of the output pass the caches"
    elif run is not operation.contiguous_axis(operation.output):
        way = f"vectors along the sum over {schedule.prims.k}"
    else:
        way = "rows are added" if schedule.prims.k else "rows are written as they are read"
    return f"each element of {large.name} is used once: read as it lies, {way}"


READ_IN_ORDER = Pass("read in order", _apply, _explain)
