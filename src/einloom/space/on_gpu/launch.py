"""From a full assignment to a `Launch`: loops over blocks and threads become levels of the device.

All thread loops that map to one hardware dimension become one index. What stands outside a hardware dimension's loops
is done by all its threads, each for itself, since registers are a thread's own; memory is written by the first of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from einloom.ir.gpu.launch import Array, Launch, LaunchNode, Level, Repeat, Role, Space
from einloom.ir.nest import Buffer, Loop, Nest, Node, walk
from einloom.ir.statement import Barrier, LoopKind, Place, Statement, Terms
from einloom.space.assignment import Assignment
from einloom.space.decode import decode
from einloom.space.device import GpuDevice

__all__ = ["launch_of"]


def launch_of(assignment: Assignment, device: GpuDevice) -> Launch:
    """Return the launch that a full assignment describes.

    Raises:
        ScheduleError: a decision is missing, or the orders describe no loops.
    """
    return _Lowering(assignment, device).launch()


class _Lowering:
    def __init__(self, assignment: Assignment, device: GpuDevice) -> None:
        self.assignment, self.device = assignment, device
        self.nest: Nest = decode(assignment, private=True)
        loops = [node for node in walk(self.nest.body) if isinstance(node, Loop)]
        self.block = _levels((self._place(loop), loop) for loop in loops if loop.kind is LoopKind.THREAD)
        self.grid = self._grid([loop for loop in loops if loop.kind is LoopKind.BLOCK])
        self.index = {name: level.name for level in self.block for name in (level.name, *level.also)}

    def launch(self) -> Launch:
        """Return the whole launch."""
        body = tuple(self._nodes(self.nest.body, frozenset()))
        return Launch(self.assignment.backbone.name, self.grid, self.block, tuple(self._arrays()), body)

    def _place(self, loop: Loop) -> int:
        """Return how many hardware dimensions lie inside that of a thread loop."""
        threads = [name for name in self.assignment.dimensions if self._is_thread(name)]
        inner = [
            n for n in threads if n != loop.name and self.assignment.value("thread_level", n, loop.name) == "INNER"
        ]
        apart: list[str] = []
        for name in inner:
            if not any(self.assignment.value("thread_level", name, other) == "MAPPED" for other in apart):
                apart.append(name)
        return len(apart)

    def _is_thread(self, name: str) -> bool:
        return self.assignment.kind(name) == "THREAD"

    def _grid(self, loops: list[Loop]) -> tuple[Level, ...]:
        """Return the dimensions of the grid: innermost first, but the longest where only the first may be so long."""
        levels = [Level(loop.name, loop.trips) for loop in reversed(loops)]
        longest = max(levels, key=lambda level: level.extent, default=None)
        if longest is not None and longest.extent > self.device.max_blocks[1]:
            levels.sort(key=lambda level: level is not longest)
        return tuple(levels)

    def _arrays(self) -> Iterator[Array]:
        backbone = self.assignment.backbone
        temporaries = {each.region.name for each in self.assignment.temporaries}
        for buffer in self.nest.buffers:
            if buffer.name in backbone.region and buffer.name not in temporaries:
                region = backbone.region[buffer.name]
                role = Role.OUT if region.role == "output" else Role.IN
                yield Array(
                    buffer.name, buffer.dtype, Space.GLOBAL, backbone.extent(region), role, backbone.origin(region)
                )
            elif buffer.name in backbone.parameters:
                yield Array(buffer.name, buffer.dtype, Space.ARGUMENT, 1, Role.IN)
            else:
                yield self._local(buffer, buffer.name in temporaries)

    def _local(self, buffer: Buffer, is_temporary: bool) -> Array:
        space = Space.REGISTER
        if is_temporary:
            space = Space(str(self.assignment.value("mem_space", buffer.name)).lower())
        return Array(buffer.name, buffer.dtype, space, buffer.size)

    def _nodes(self, nodes: Iterable[Node], threads: frozenset[str]) -> Iterator[LaunchNode]:
        for node in nodes:
            if isinstance(node, Loop):
                yield from self._loop(node, threads)
            elif isinstance(node, Statement):
                yield self._statement(node, threads)
            elif isinstance(node, Barrier):
                yield node

    def _loop(self, loop: Loop, threads: frozenset[str]) -> Iterator[LaunchNode]:
        if loop.kind is LoopKind.BLOCK:
            yield from self._nodes(loop.body, threads)
        elif loop.kind is LoopKind.THREAD:
            yield from self._nodes(loop.body, threads | {self.index[loop.name]})
        else:
            assert isinstance(loop.kind, LoopKind)
            yield Repeat(loop.name, loop.trips, loop.kind, tuple(self._nodes(loop.body, threads)))

    def _statement(self, statement: Statement, threads: frozenset[str]) -> Statement:
        """Return a statement with the device's indices; a store is left to the first thread of other dimensions."""
        within = [(self._terms(terms), limit) for terms, limit in statement.within]
        if statement.operator == "store":
            within += [(((level.name, 1),), 1) for level in self.block if level.name not in threads]
        inputs = tuple(self._renamed(each) if isinstance(each, Place) else each for each in statement.inputs)
        return replace(statement, output=self._renamed(statement.output), inputs=inputs, within=tuple(within))

    def _renamed(self, place: Place) -> Place:
        return Place(place.buffer, self._terms(place.terms))

    def _terms(self, terms: Terms) -> Terms:
        return tuple((self.index.get(name, name), factor) for name, factor in terms)


def _levels(placed: Iterable[tuple[int, Loop]]) -> tuple[Level, ...]:
    """Return the hardware dimensions of a block, innermost first, each named after its shortest-named loop."""
    by_place: dict[int, list[Loop]] = {}
    for place, loop in placed:
        by_place.setdefault(place, []).append(loop)
    found: list[Level] = []
    for _, loops in sorted(by_place.items()):
        name, *also = sorted((loop.name for loop in loops), key=lambda each: (len(each), each))
        found.append(Level(name, loops[0].trips, tuple(also)))
    return tuple(found)
