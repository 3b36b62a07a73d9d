"""`cost_of`: how long a schedule takes on a machine, without binding it and without running anything.

The model walks the loops of a schedule from the inside out and asks of every buffer and every cache: when the loop
comes round again, is what the last iteration touched still there? It is if all that one iteration touches has room.
So it counts, level by level, the lines that have to be fetched, and the pieces they come in:

    lines(buffer, loop) = lines inside * (trips, where the cache forgets; else how much more the loop reaches)

Kernels fetch while they compute and take the longer of both, with a part of the shorter; copies into and out of scratch
come before and after and are paid in full.

Sources: Goto and van de Geijn, Anatomy of high-performance matrix multiplication (2008), for what belongs into which
cache; Low, Igual, Smith and Quintana-Ortí, Analytical modeling is enough for high-performance BLIS (2016), for sizes
from ways and sets; Treibig and Hager's ECM model (2010) and Williams' roofline (2009) for adding or overlapping
transfers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, prod

from einloom.ir.layout import PackedLayout
from einloom.ir.operation import Operation
from einloom.ir.schedule import OUTPUT, Prims, Schedule
from einloom.machine import Machine, Rates
from einloom.passes.model.footprint import LINE, Footprint
from einloom.passes.model.kernel import CALL, copy_cycles, tiling_of
from einloom.passes.model.rates import rates_of

__all__ = ["Cost", "Traffic", "cost_of", "traffic_of"]

PIECE = 3.0
"""How many lines of a run the first line of a piece takes longer: memory answers single lines at a quarter."""

HIDDEN = 0.8
"""How much of the shorter of arithmetic and transfers disappears behind the longer one."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """Lines of one buffer that come from (or go) beyond each cache.

    Attributes:
        name: the operand, or `scratch of` it.
        lines: beyond L1, L2 and L3, in all.
        pieces: runs of lines for each line, as memory sees them.
        writes: whether they are written as well as read.
        copies: whether a copy into or out of scratch moves them, not a kernel.
        streams: whether they pass the caches.
    """

    name: str
    lines: tuple[float, float, float]
    pieces: float
    writes: bool = False
    copies: bool = False
    streams: bool = False


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of one thread, by what it does."""

    arithmetic: float
    transfers: float
    waits: float
    copies: float

    @property
    def seconds(self) -> float:
        """All together."""
        longer, shorter = max(self.arithmetic, self.transfers), min(self.arithmetic, self.transfers)
        return longer + (1 - HIDDEN) * shorter + self.waits + self.copies


class _Walk:
    """The loops of a schedule and of the kernel's tiles, and how far a block reaches inside each of them.

    The last block of an axis is short, so sizes are averages: an axis of 10 in steps of 4 has blocks of 10/3.

    Attributes:
        sizes: indices of each axis inside the first so many loops, on average; `spans`: of a whole block.
        trips: of each loop; `runs`: of all loops up to it.
        axes: the axis of each loop.
        depth: loops of the schedule; those of the tiles stand inside them.
    """

    def __init__(self, operation: Operation, schedule: Schedule) -> None:
        self.places = {axis.name: i for i, axis in enumerate(operation.axes)}
        self.extents = [max(axis.extent, 1) for axis in operation.axes]
        self.steps, self.blocks = list(self.extents), [1] * len(self.extents)
        self.sizes, self.spans = [list(map(float, self.extents))], [list(self.extents)]
        self.trips, self.runs, self.axes = [1.0], [1.0], [-1]
        for loop in schedule.loops:
            self.add(self.places[loop.axis], loop.step)
        self.depth = len(schedule.loops)

    def add(self, axis: int, step: int) -> None:
        """Add a loop inside all others."""
        count = -(-self.extents[axis] // step)
        sizes = list(self.sizes[-1])
        sizes[axis] = self.extents[axis] / count
        self.sizes.append(sizes)
        self.trips.append(count / self.blocks[axis])
        self.runs.append(self.runs[-1] * self.trips[-1])
        self.axes.append(axis)
        self.blocks[axis], self.steps[axis] = count, min(step, self.steps[axis])
        self.spans.append(list(self.steps))


@dataclass(frozen=True, slots=True)
class _Digit:
    """Indices of an axis that lie `stride` elements apart: in steps of so many, at most so many in all."""

    stride: int
    axis: int
    step: int = 1
    most: int = 2**62

    def count(self, sizes: list[float]) -> float:
        """Return how many of them a block of these sizes has."""
        return max(min(sizes[self.axis], self.most) / self.step, 1.0)


class _Use:
    """One buffer, with its footprint inside each loop.

    Args:
        walk: the loops.
        digits: what the buffer is made of, the smallest stride first.
        size: bytes of an element.
        first, last: the outermost and the innermost depth at which it is used.
    """

    def __init__(self, name: str, walk: _Walk, digits: Sequence[_Digit], size: int, first: int, last: int) -> None:
        self.name, self.digits, self.first, self.last = name, digits, first, last
        of = [digit.axis for digit in digits]
        at: list[Footprint] = []
        for depth, sizes in enumerate(walk.sizes):
            if at and (depth > last or depth <= first or walk.axes[depth] not in of):
                at.append(at[-1])
                continue
            sizes = walk.sizes[max(depth, first)]
            at.append(Footprint.of([(digit.stride, digit.count(sizes)) for digit in digits], size))
        self.at = at

    def pages_beyond(self, walk: _Walk, forgets: list[float]) -> float:
        """Return the pages that a translation buffer has to look up."""
        at, pages = self.at, self.at[self.last].pages
        for depth in range(self.last, self.first, -1):
            miss = forgets[depth]
            kept = at[depth - 1].pages / at[depth].pages
            pages *= miss * walk.trips[depth] + (1 - miss) * kept
        return pages

    def beyond(self, walk: _Walk, forgets: list[float]) -> float:
        """Return the lines fetched into a cache of which `forgets[d]` says whether the body at depth d overflows it."""
        at, lines = self.at, self.at[self.last].lines
        for depth in range(self.last, self.first, -1):
            miss = forgets[depth]
            kept = at[depth - 1].lines / at[depth].lines
            lines *= miss * walk.trips[depth] + (1 - miss) * kept
        return lines


TLBS = ((64, 3), (1536, 22))
"""Pages that the translation buffers hold, and cycles of a miss that nothing hides."""


def _forgotten(room: float, cache: float) -> float:
    """Return the share of what was touched that is gone when a body of `room` bytes comes round again."""
    return min(max((room / cache - FULL) / (OVER - FULL), 0.0), 1.0)


FULL, OVER = 0.8, 1.2
"""Up to which share of a cache everything stays, and from which on nothing does."""


class _Model:
    """One run: the uses of all buffers, what each cache forgets, and what follows."""

    def __init__(self, operation: Operation, schedule: Schedule, machine: Machine) -> None:
        self.operation, self.schedule, self.machine = operation, schedule, machine
        self.walk = walk = _Walk(operation, schedule)
        size = operation.output.dtype.size
        self.lanes = machine.vector_bits // 8 // size
        self.cycle = 4 * self.lanes / (rates_of(machine).float32 if size == 4 else rates_of(machine).float64)
        last_operand = len(operation.operands) - 1
        self.layouts = {p.operand if p.operand != OUTPUT else last_operand: p.layout for p in schedule.packs}
        self.calls = self._add_tiles()
        innermost = len(walk.trips) - 1
        packs = {len(operation.operands) - 1 if p.operand == OUTPUT else p.operand: p.loop for p in schedule.packs}
        self.tensors: list[_Use] = []
        self.scratch: dict[int, _Use] = {}
        for position, operand in enumerate(operation.operands):
            order = sorted((abs(stride), i) for i, stride in enumerate(operand.strides) if stride)
            axes = [_Digit(stride, i) for stride, i in order]
            size, packed = operand.dtype.size, packs.get(position)
            last = innermost if packed is None else packed
            self.tensors.append(_Use(operand.name, walk, axes, size, 0, last))
            if packed is not None:
                name = f"scratch of {operand.name}"
                self.scratch[position] = _Use(name, walk, self._packed(position, packed), size, packed, innermost)
        self.rooms = [
            sum(use.at[depth].room for use in self.tensors if use.last >= depth)
            + sum(use.at[depth].room for use in self.scratch.values())
            for depth in range(innermost + 1)
        ]
        self.caches = (machine.l1d, machine.l2, machine.l3)
        self.forgets = [[_forgotten(room, cache) for room in self.rooms] for cache in self.caches]
        uses = [*self.tensors, *self.scratch.values()]
        pages = [
            sum(use.at[depth].pages for use in uses if use.last >= depth or use.first) for depth in range(innermost + 1)
        ]
        self.misses = [[_forgotten(count, entries) for count in pages] for entries, _ in TLBS]

    def _packed(self, position: int, depth: int) -> list[_Digit]:
        """The digits of a packed block, the innermost first."""
        operand, spans = self.operation.operands[position], self.walk.spans[depth]
        block = {name: spans[i] for name, i in self.walk.places.items() if operand.strides[i]}
        layout = PackedLayout.of(self.layouts[position], block, operand.name)
        digits = zip(layout.digits, layout.spans, layout.strides)
        return [_Digit(stride, self.walk.places[d.axis], d.step, span) for d, span, stride in digits][::-1]

    def traffic(self) -> list[Traffic]:
        """Return what every buffer moves."""
        found: list[Traffic] = []
        output = len(self.tensors) - 1
        for position, use in enumerate(self.tensors):
            lines = tuple(use.beyond(self.walk, forgets) for forgets in self.forgets)
            packed, writes = position in self.scratch, position == output
            # Stores of one tile after the other go on along the output; loads of a step wait for what the step needs.
            at = use.at[max(use.last - writes, 0)]
            pieces = 1.0 if packed and not writes and self._run(position)[2] else at.pieces / at.lines
            small = packed and self.scratch[position].at[use.last].room <= self.machine.l1d / 2
            copies = packed and not (writes and small)  # A small block leaves while the next one is computed.
            found.append(Traffic(use.name, lines, pieces, writes, copies, packed and writes))  # type: ignore[arg-type]
        found += [self._scratch_traffic(position, use) for position, use in self.scratch.items()]
        return found

    def _scratch_traffic(self, position: int, use: _Use) -> Traffic:
        """What kernels fetch of a packed block: what the copy has just written is still where it fits."""
        source, block, runs = self.tensors[position], use.at[use.first], self.walk.runs[use.first]
        room = block.room + source.at[use.first].room
        lines = []
        for cache, forgets in zip(self.caches, self.forgets):
            inside = use.beyond(self.walk, forgets)
            lines.append(runs * max(inside - block.lines * (1 - _forgotten(room, cache)), 0.0))
        return Traffic(use.name, tuple(lines), 0.0, position == len(self.tensors) - 1)  # type: ignore[arg-type]

    def cost(self) -> Cost:
        """Return the seconds that follow."""
        rates = rates_of(self.machine)
        transfers = copies = waits = 0.0
        for each in self.traffic():
            seconds, waited = _seconds(each, rates)
            if each.copies:
                copies += seconds + waited
            else:
                transfers, waits = transfers + seconds, waits + waited
        size = self.operation.output.dtype.size
        for position, use in self.scratch.items():
            elements = self.walk.runs[use.first] * use.at[use.first].lines * LINE / size
            copies += copy_cycles(elements, *self._run(position)) * self.cycle
        for (_, cycles), forgets in zip(TLBS, self.misses):
            pages = sum(use.pages_beyond(self.walk, forgets) for use in self.tensors)
            waits += pages * cycles * self.cycle
        return Cost(self.calls * self.cycle, transfers, waits, copies)

    def _run(self, position: int) -> tuple[int, int, bool]:
        """Return how many elements follow each other in scratch and in the tensor, and whether none do."""
        strides, run = self.operation.operands[position].strides, 1
        for digit in self.scratch[position].digits:
            if digit.stride != run or abs(strides[digit.axis]) != run or digit.step > 1:
                break
            run *= max(digit.most, 1)
        return run, self.lanes, run == 1

    def _add_tiles(self) -> float:
        """Add the loops over the kernel's tiles to the walk; return the cycles of all calls."""
        prims, walk = self.schedule.prims, self.walk
        parts = [self._blocks(name) for name in (prims.m, prims.n, prims.k, prims.batch)]
        blocks = prod(sum(count for _, count in part) for part in parts)
        strided = self._is_strided()
        cycles = 0.0
        for m, ms in parts[0]:
            for n, ns in parts[1]:
                for k, ks in parts[2]:
                    for batch, times in parts[3]:
                        tiling = tiling_of(m, n, k * batch, self.lanes, self.machine.registers, strided)
                        cycles += ms * ns * ks * times * (CALL + tiling.cycles)
        cycles *= walk.runs[-1] / blocks
        first = tiling_of(*(part[0][0] for part in parts[:2]), 64, self.lanes, self.machine.registers, strided)
        for name, tile in ((prims.m, first.m), (prims.n, first.n)):
            if name is not None and tile < walk.steps[walk.places[name]]:
                walk.add(walk.places[name], tile)
        return cycles

    def _blocks(self, name: str | None) -> list[tuple[int, int]]:
        """The sizes of the primitive's blocks along an axis, with how many there are of each."""
        if name is None:
            return [(1, 1)]
        i = self.walk.places[name]
        step = self.walk.steps[i]
        whole, rest = divmod(self.walk.extents[i], step)
        return [(size, count) for size, count in ((step, whole), (rest, 1)) if size and count]

    def _is_strided(self) -> bool:
        """Whether kernels gather the vector operand, or scatter the output, element by element."""
        m = self.schedule.prims.m
        if m is None:
            return False
        i = self.walk.places[m]
        return any(
            position not in self.layouts and operand.strides[i] not in (0, 1)
            for position, operand in enumerate(self.operation.operands)
        )


def _seconds(traffic: Traffic, rates: Rates) -> tuple[float, float]:
    """Return how long the transfers of a buffer take that kernels hide, and what they wait for."""
    beyond1, beyond2, beyond3 = traffic.lines
    if traffic.streams:
        return beyond1 * LINE / rates.stream, beyond1 * PIECE * traffic.pieces * LINE / rates.stream
    second, third = max(beyond1 - beyond2, 0.0), max(beyond2 - beyond3, 0.0)
    lines = LINE * (second / rates.l2 + third / rates.l3 + beyond3 / rates.memory)
    starts = LINE * PIECE * traffic.pieces * (third / rates.l3 + beyond3 / rates.memory)
    if traffic.writes:  # Lines of the output are wanted at the end of a tile, where nothing else is left to do.
        return lines * WRITTEN, lines + starts
    return lines, starts


WRITTEN = 1.0
"""Lines that are written back take so much of the time of those that are read."""


def cost_of(operation: Operation, schedule: Schedule, machine: Machine, threads: int = 1) -> Cost:
    """Return the predicted seconds of a schedule on the thread of a machine that has most to do."""
    whole = _Model(operation, schedule, machine).cost()
    share = _largest_share(operation, schedule, threads)
    return Cost(whole.arithmetic * share, whole.transfers * share, whole.waits * share, whole.copies * share)


def _largest_share(operation: Operation, schedule: Schedule, threads: int) -> float:
    """Return which part of all shared iterations the busiest thread has."""
    walk = _Walk(operation, Schedule(schedule.shared, Prims()))
    iterations = ceil(walk.runs[-1])
    return ceil(iterations / threads) / iterations if iterations else 1.0


def traffic_of(operation: Operation, schedule: Schedule, machine: Machine) -> list[Traffic]:
    """Return what every buffer moves between the caches."""
    return _Model(operation, schedule, machine).traffic()
