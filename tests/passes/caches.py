"""An instrumented walk over a nest: every line that kernels and copies touch goes through simulated caches and a TLB.

The caches are set-associative and forget what was not used for longest; a line that one of them lacks is fetched from
the next. Kernels touch what their tiles touch, step by step; copies read and write line by line.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator

from einloom.ir.nest import Access, Block, Call, Guard, Loop, Nest, Node, Pack
from einloom.ir.operation import Operation
from einloom.machine import Machine
from einloom.passes.model.kernel import tilings_of

LINE, PAGE = 64, 4096
SETS = 64
"""Of the first-level cache: addresses 4 KiB apart share one."""


class Cache:
    """So many ways of so many sets, the least recently used one is replaced."""

    def __init__(self, ways: int, sets: int) -> None:
        self.ways = ways
        self.sets: list[dict[int, None]] = [{} for _ in range(sets)]

    def lacks(self, tag: int) -> bool:
        """Touch a line; whether it was not there."""
        lines = self.sets[tag % len(self.sets)]
        known = tag in lines
        if known:
            del lines[tag]
        elif len(lines) == self.ways:
            del lines[next(iter(lines))]
        lines[tag] = None
        return not known


class Walked:
    """The walk over a nest.

    Attributes:
        fetched: lines beyond L1, L2 and L3 by buffer: those of operands by whatever touches them, those of scratch by
            kernels, and those by copies as "copies of" it.
        pages: looked up beyond the first and the second of two TLBs, of `entries` pages.
    """

    def __init__(
        self,
        nest: Nest,
        machine: Machine,
        ways: tuple[int, int, int] = (4, 8, 16),
        entries: tuple[int, int] = (64, 1536),
    ) -> None:
        self.operation: Operation = nest.operation
        self.machine = machine
        self.caches = [
            Cache(ways[0], SETS),
            *(Cache(n, size // LINE // n) for n, size in zip(ways[1:], (machine.l2, machine.l3))),
        ]
        self.tlbs = [Cache(each, 1) for each in entries]
        self.fetched = {level: Counter[str]() for level in range(3)}
        self.pages = [0, 0]
        self.copying = False
        self.sizes = {buffer.name: buffer.dtype.size for buffer in nest.buffers}
        self.scratch = {buffer.name for buffer in nest.buffers if buffer.offset is not None}
        self.position: dict[str, int] = {}
        for index, buffer in enumerate(nest.buffers):
            apart = (index + 1) * 2**30 + index * 5 * PAGE  # buffers begin at pages, in other sets of the second level
            self.position[buffer.name] = apart if buffer.offset is None else 2**40 + buffer.offset
        self.left = {axis.name: axis.extent for axis in nest.axes}
        self.run(nest.body)

    def run(self, nodes: tuple[Node, ...]) -> None:
        for node in nodes:
            if isinstance(node, Loop):
                self.loop(node)
            elif isinstance(node, Pack):
                self.copying = True
                self.run(node.body)
                self.copying = False
            elif isinstance(node, Call):
                (self.contract if node.primitive.is_contraction else self.copy)(node)
            elif isinstance(node, Guard):
                self.run(node.body)

    def loop(self, loop: Loop) -> None:
        outside, position, left = dict(self.left), self.position, self.left.get(loop.axis, loop.span)
        for number, index in enumerate(range(0, min(loop.span, left), loop.step)):
            self.left[loop.axis] = min(left - index, loop.step)
            self.position = dict(position)
            for buffer, delta in loop.advances:
                self.position[buffer] += number * delta * self.sizes[buffer]
            for carry in loop.carries:
                self.position[carry.buffer] += number // carry.every * carry.delta * self.sizes[carry.buffer]
            self.run(loop.body)
        self.left, self.position = outside, position

    def contract(self, call: Call) -> None:
        """Tiles of m outside, of n inside them; the steps of k touch both inputs, the end of a tile the output."""
        m, n, k, batch = (self.size(block) for block in call.blocks)
        tile = tilings_of(self.machine.vectors, self.operation.output.dtype.size)(m, n, k * batch)
        a, b, c = call.accesses
        for rows in _ranges(m, tile.m):
            for columns in _ranges(n, tile.n):
                for outer, step in itertools.product(range(batch), range(k)):
                    for access in (a, b):
                        self.touch(access, (rows, columns, range(step, step + 1), range(outer, outer + 1)))
                self.touch(c, (rows, columns, range(1), range(1)))

    def copy(self, call: Call) -> None:
        """Pieces of a line, read and then written; what streams out passes the caches."""
        m, n = (self.size(block) for block in call.blocks)
        source, target = call.accesses
        for columns in _ranges(n, 1 if source.strides[0] == target.strides[0] == 1 else 16):
            for rows in _ranges(m, 16):
                self.touch(source, (rows, columns))
                self.touch(target, (rows, columns), past=call.streams)

    def touch(self, access: Access, places: tuple[range, ...], past: bool = False) -> None:
        size = self.sizes[access.buffer]
        start = self.position[access.buffer] + access.offset * size
        axes = [(place, stride * size) for place, stride in zip(places, access.strides) if stride]
        lines = {
            (start + sum(i * stride for i, (_, stride) in zip(index, axes))) // LINE
            for index in itertools.product(*(place for place, _ in axes))
        }
        for line in sorted(lines):
            for level, tlb in enumerate(self.tlbs):
                if not tlb.lacks(line * LINE // PAGE):
                    break
                self.pages[level] += 1
            name = f"copies of {access.buffer}" if self.copying and access.buffer in self.scratch else access.buffer
            for level, cache in enumerate(self.caches):
                if not past and not cache.lacks(line):
                    break
                self.fetched[level][name] += 1

    def size(self, block: Block) -> int:
        left = block.size if block.axis is None else self.left.get(block.axis, block.size)
        return block.elements(min(block.size, left))


def _ranges(size: int, step: int) -> Iterator[range]:
    return (range(start, min(start + step, size)) for start in range(0, size, step))
