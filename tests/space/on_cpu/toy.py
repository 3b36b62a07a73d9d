"""A machine that runs a bound nest block by block and charges exactly the resources that the model of CPUs knows.

It counts on the nest, with the lengths that blocks have and the elements that they touch, what the model infers from
domains. Everything overlaps, so no schedule is slower here than it has to be. Every thread runs its own share of the
shared loops on a core with caches of its own, which know what is read next: nothing is fetched that the best
replacement would have kept, and what is in them at the start is what is needed first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from heapq import heappop, heappush
from math import ceil, inf, prod

from einloom.ir.bind import bind
from einloom.ir.curve import curve
from einloom.ir.nest import Access, Block, Call, Guard, Loop, Nest, Node, Pack, leading_loops
from einloom.ir.operation import Operation
from einloom.ir.schedule import ExecType, Schedule
from einloom.kernels.work import Work, work_of
from einloom.machine import Machine
from einloom.space.on_cpu.rates import CpuRates
from einloom.space.on_cpu.work import spec_of
from einloom.targets.overhead import Overhead

Element = tuple[str, int]
Touch = tuple[Element, bool]
"""An element, and whether it is read."""


def run(
    operation: Operation, schedule: Schedule, machine: Machine, rates: CpuRates, threads: int, line: int = 4
) -> dict[str, float]:
    """Return the seconds of each resource, each on the thread that needs most; the time is the largest.

    A line of the caches has so many bytes.
    """
    nest = bind(operation, schedule)
    sizes = {buffer.name: buffer.dtype.size for buffer in nest.buffers}
    start = Place({axis.name: axis.extent for axis in nest.axes}, {}, frozenset())
    shared, body = leading_loops(nest.body, ExecType.SHARED)
    cells = [place for _, place in _cells(shared, start)]
    found: dict[str, float] = {}
    for number in range(threads):
        thread = Thread(operation, machine, nest, rates, line, Overhead(nest, machine))
        for place in cells[len(cells) * number // threads : len(cells) * (number + 1) // threads]:
            thread.run(body, place)
        for name, seconds in thread.seconds(rates, sizes).items():
            found[name] = max(found.get(name, 0.0), seconds)
    return found


@dataclass(frozen=True)
class Place:
    """Where a thread is: what is left of each axis, positions of buffers, loops that are past their first iteration."""

    left: dict[str, int]
    at: dict[str, int]
    later: frozenset[str]


@dataclass
class Thread:
    """What one thread does."""

    operation: Operation
    machine: Machine
    nest: Nest
    rates: CpuRates
    line: int
    overhead: Overhead
    work: Work = field(default_factory=Work)
    alone: float = 0.0
    fmas: float = 0.0
    stores: float = 0.0
    calls: int = 0
    touches: list[Touch] = field(default_factory=list)

    @property
    def lanes(self) -> int:
        return self.machine.vector_bits // 8 // self.operation.output.dtype.size

    def seconds(self, rates: CpuRates, sizes: dict[str, int]) -> dict[str, float]:
        """Return the seconds of each resource."""
        caches = (self.machine.l1d, self.machine.l2, self.machine.l3)
        names = {operand.name for operand in self.operation.operands}
        reached = {element for element, _ in self.touches if element[0] in names}
        cold = max(sum(sizes[buffer] for buffer, _ in reached) - sum(caches), 0)
        times = {
            "arithmetic": self.fmas / rates.fmas,
            "stores": self.stores / rates.stores,
            "calls": self.calls / rates.calls,
            "memory": cold / rates.memory,
        }
        for place, (name, rate) in enumerate((("L2", rates.l2), ("L3", rates.l3), ("beyond L3", rates.memory))):
            times[name] = fetched(self.touches, sizes, sum(caches[: place + 1]), self.line) / rate
        times |= {f"{kind} executed": seconds for kind, seconds in self._seconds_of(self.work).items()}
        return times | {"parts of the code": self.alone}

    def _seconds_of(self, work: Work) -> dict[str, float]:
        """What each kind of instruction takes of the time."""
        rates = asdict(self.rates)
        return {kind: done / rates["fmas" if kind == "products" else kind] for kind, done in work._asdict().items()}

    def _execute(self, work: Work) -> None:
        """Charge instructions; the machine that runs one part of the code after the other does nothing else then."""
        self.work = self.work.plus(work)
        self.alone += max(self._seconds_of(work).values())

    def run(self, nodes: Sequence[Node], place: Place) -> None:
        """Run what stands in a body."""
        for node in nodes:
            match node:
                case Loop():
                    for body, inner in self._iterations(node, place):
                        self.run(body, inner)
                case Pack():
                    self._execute(self.overhead.other(node))
                    self._pack(node, place)
                case Guard():
                    self._execute(self.overhead.other(node))  # The model does not charge touches.
                case Call():
                    self._call(node, place)
                case _:
                    raise AssertionError(node)

    def _iterations(self, loop: Loop, place: Place) -> Iterator[tuple[Sequence[Node], Place]]:
        """Yield the iterations of a loop, or of all loops that are walked along one curve."""
        if loop.kind is not ExecType.SFC:
            turns = len(range(0, place.left[loop.axis], loop.step))
            if loop.kind is ExecType.SEQ:
                self._execute(self.overhead.loop(loop, turns))
            yield from ((loop.body, inner) for _, inner in _cells((loop,), place))
            return
        loops, body = leading_loops((loop,), ExecType.SFC)
        found = dict(_cells(loops, place))
        for cell in curve(tuple(1 + max(numbers) for numbers in zip(*found))):
            yield body, found[cell]

    def _pack(self, pack: Pack, place: Place) -> None:
        """Charge a copy's stores, into scratch or out of it, in whole vectors."""
        position = next(i for i, each in enumerate(self.operation.operands) if each.name in (pack.source, pack.buffer))
        strides = self.operation.strides(self.operation.operands[position])
        stores = self.stores + prod(place.left[name] for name, stride in strides.items() if stride) / self.lanes
        self.run(pack.body, place)
        self.stores = stores

    def _call(self, call: Call, place: Place) -> None:
        lengths = [self._length(block, place.left) for block in call.blocks]
        work = work_of(spec_of(self.nest, call, tuple(lengths), self.machine), self.machine)
        self._execute(work.plus(self.overhead.call(call, tuple(lengths))))
        *inputs, output = call.accesses
        sums = len(call.blocks) == 4
        if sums and len(inputs) == 2:
            self._multiply(lengths, output.strides)
        else:
            self.stores += prod(lengths[:2]) / self.lanes
        for access in inputs:
            self.touches += [(element, True) for element in self._elements(access, lengths, place)]
        adds = sums and (call.starts is None or not place.later.isdisjoint(call.starts))
        written = self._elements(output, lengths, place)
        self.touches += [(element, read) for element in written for read in ((True, False) if adds else (False,))]

    def _elements(self, access: Access, lengths: list[int], place: Place) -> list[Element]:
        found = {place.at.get(access.buffer, 0) + access.offset}
        for length, stride in zip(lengths, access.strides):
            found = {e + i * stride for e in found for i in range(length if stride else 1)}
        return [(access.buffer, element) for element in sorted(found)]

    def _multiply(self, lengths: list[int], output: tuple[int, ...]) -> None:
        """Charge a product: its vectors lie along m or n, each with several steps of the sum if it is short; a vector
        of sums is stored in one piece where its elements are neighbours."""
        m, n, *summed = lengths
        steps = prod(summed)
        self.fmas += min(ceil(x * steps / self.lanes) * y for x, y in ((m, n), (n, m)))
        along = [(m, n, output[0]), (n, m, output[1])]
        self.stores += min(y * (ceil(x / self.lanes) if abs(stride) == 1 else x) for x, y, stride in along)
        self.calls += 1

    @staticmethod
    def _length(block: Block, left: dict[str, int]) -> int:
        return block.elements(1 if block.axis is None else left[block.axis])


def _cells(loops: Sequence[Loop], place: Place) -> Iterator[tuple[tuple[int, ...], Place]]:
    """Yield the iterations of nested loops, by their numbers, with where a thread is then."""
    if not loops:
        yield (), place
        return
    loop, *others = loops
    for number, start in enumerate(range(0, place.left[loop.axis], loop.step)):
        left = place.left | {loop.axis: min(loop.step, place.left[loop.axis] - start)}
        at = place.at | {buffer: place.at.get(buffer, 0) + number * by for buffer, by in loop.advances}
        later = place.later | {loop.name} if number else place.later
        for inner, found in _cells(others, replace(place, left=left, at=at, later=later)):
            yield (number, *inner), found


def fetched(touches: Sequence[Touch], sizes: dict[str, int], capacity: int, unit: int) -> int:
    """Return how many bytes a cache of so many, in such lines, reads at least, whatever it replaces.

    It keeps what is read soonest. What is written enters it for nothing, or passes it.
    """
    events = [((name, e * sizes[name] // unit), read) for (name, e), read in touches]
    following, soonest = _next_reads(events)
    held = dict(sorted(soonest.items(), key=lambda item: item[1])[: capacity // unit])
    heap = [(-when, block) for block, when in held.items()]
    heap.sort()
    misses = 0
    for (block, read), when in zip(events, following):
        misses += read and block not in held
        held.pop(block, None)
        if when < inf:
            held[block] = when
            heappush(heap, (-when, block))
        while len(held) > capacity // unit:
            latest, other = heappop(heap)
            if held.get(other) == -latest:
                del held[other]
    return misses * unit


def _next_reads(events: Sequence[tuple[tuple[str, int], bool]]) -> tuple[list[float], dict[tuple, float]]:
    """Return when each event's block is read next before it is written, and when each is first."""
    coming: dict[tuple[str, int], float] = {}
    following: list[float] = []
    for when in reversed(range(len(events))):
        block, read = events[when]
        following.append(coming.get(block, inf))
        coming[block] = when if read else inf
    return following[::-1], {block: when for block, when in coming.items() if when < inf}
