"""`AheadLowering`: while kernels work on a block, they ask memory for the next one, which is packed or read in place.

Else moving and computing would take turns: a copy waits for memory, and memory for the kernels; and kernels that read
rows in place wait at each of them, since a processor does not look past the multiply-adds of a row. Asked for is the
block that moves the most in all, if its tensor is larger than the second-level cache, which holds the block until it is
wanted. Where the next block lies follows from the loops around it. The last one asks for itself, in vain.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise

from einloom.dtypes import Kind
from einloom.frozen import frozen
from einloom.ir.nest import Access, Call, Iteration, Loop, Nest, Node, Pack, walk
from einloom.ir.schedule import ExecType
from einloom.kernels.contraction.ahead import COLUMNS, FEW_IN_PLACE, MANY_TRIPS, PIECE_IN_PLACE, is_worth_asking
from einloom.kernels.specs import Ahead
from einloom.machine import Machine
from einloom.targets.loops import LoopLowering
from einloom.targets.positions import Positions

__all__ = ["AheadLowering", "Asked", "asked_ahead", "main_calls"]

LINE = 64
"""Bytes of a cache line."""


@frozen
class Asked:
    """A block of which the next one is asked for.

    Attributes:
        source: the buffer that it is a part of.
        at: where kernels turn to the next one: behind the copy of a block, or where a loop's iteration begins.
        around: the loops that follow each other around it, the innermost first.
        lowest: bytes from the block's first element to its lowest address.
        ahead: what each kernel call asks for.
        moved: bytes of all blocks together.
    """

    source: str
    at: Pack | Loop
    around: tuple[Loop, ...]
    lowest: int
    ahead: Ahead
    moved: int

    @property
    def variables(self) -> list[str]:
        """Where a call goes on: an address, and what is left of each level, one after the other in the frame."""
        return ["ahead", *(f"ahead {level}" for level in range(len(self.ahead.levels)))]


def asked_ahead(nest: Nest, machine: Machine) -> Asked | None:
    """Return the block of a nest whose next one is asked for, if there is one."""
    if nest.team is not None or not nest.operation.main.is_contraction:
        return None
    blocks: Iterable[Asked] = _packed_blocks(nest, nest.body, ())
    if nest.operation.accumulate.kind is not Kind.COMPLEX:
        blocks = chain(blocks, _blocks_in_place(nest, nest.body, ()))
    found = [asked for asked in blocks if _is_worth_it(nest, asked, machine)]
    return max(found, key=lambda asked: asked.moved, default=None)


def _is_worth_it(nest: Nest, asked: Asked, machine: Machine) -> bool:
    tensor = next(o for b, o in zip(nest.buffers, nest.operation.operands) if b.name == asked.source)
    (piece, _), *_ = asked.ahead.levels
    lines, packed = math.prod(count for count, _ in asked.ahead.levels), isinstance(asked.at, Pack)
    return is_worth_asking(lines, lines // piece, nest.operation.elements(tensor) * tensor.dtype.size, machine, packed)


def _packed_blocks(nest: Nest, nodes: Sequence[Node], around: tuple[Loop, ...]) -> Iterator[Asked]:
    """Yield the packed blocks of inputs below some loops."""
    inputs = {buffer.name for buffer in nest.buffers[: len(nest.operation.inputs)]}
    for node in nodes:
        if isinstance(node, Loop):
            yield from _packed_blocks(nest, node.body, (node, *around))
        elif isinstance(node, Pack) and node.source in inputs and around:
            found = _levels(nest, node.source, node.body) if node.body else (_levels_of_panels(nest, node, around), 0)
            if found is None:
                continue
            levels, lowest = found
            yield _asked(node.source, node, around, levels, lowest, main_calls(nest, nodes))


def _blocks_in_place(nest: Nest, nodes: Sequence[Node], around: tuple[Loop, ...]) -> Iterator[Asked]:
    """Yield what iterations of loops read as vectors of an input where it lies: the least that is worth asking for."""
    for node in nodes:
        if isinstance(node, Loop):
            yield from _blocks_in_place(nest, node.body, (node, *around))
        elif isinstance(node, Call) and node.primitive is nest.operation.main:
            is_shared = node.blocks[1].size * node.blocks[1].unit >= COLUMNS
            vectors = (access for access in node.accesses[:-1] if access.strides[:2] == (1, 0) and is_shared)
            yield from filter(None, (_read_in_place(nest, access, around) for access in vectors))


def _read_in_place(nest: Nest, read: Access, around: tuple[Loop, ...]) -> Asked | None:
    """Return what an iteration of the innermost loop with enough to ask for reads of an input; None: there is none."""
    if read.buffer not in {buffer.name for buffer in nest.buffers[: len(nest.operation.inputs)]}:
        return None
    for depth, loop in enumerate(around):
        inside = _besides_packs(loop.body)
        if loop.kind is not ExecType.SEQ or loop.carries or len(inside) > 1:
            return None
        found = _levels(nest, read.buffer, inside)
        if found is None:
            return None
        levels, lowest = found
        (piece, _), *_ = levels
        is_enough = piece >= PIECE_IN_PLACE and math.prod(count for count, _ in levels) >= FEW_IN_PLACE
        is_even = loop.span % loop.step == 0 or loop.trips >= MANY_TRIPS
        if dict(loop.advances).get(read.buffer) and is_enough and is_even:
            return _asked(read.buffer, loop, around[depth:], levels, lowest, main_calls(nest, loop.body))
    return None


def _besides_packs(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    return tuple(node for node in nodes if not isinstance(node, Pack))


def _asked(
    source: str, at: Pack | Loop, around: tuple[Loop, ...], levels: tuple[tuple[int, int], ...], lowest: int, calls: int
) -> Asked:
    lines = math.prod(count for count, _ in levels)
    moved = lines * LINE * math.prod(loop.trips for loop in around)
    return Asked(source, at, around, lowest, Ahead(-(-lines // max(calls, 1)), levels), moved)


def main_calls(nest: Nest, nodes: Sequence[Node]) -> int:
    """How many times the primitive is called in an iteration."""
    calls = 0
    for node in nodes:
        if isinstance(node, Loop):
            calls += node.trips * main_calls(nest, node.body)
        elif isinstance(node, Call):
            calls += node.primitive is nest.operation.main
    return calls


def _levels(nest: Nest, source: str, nodes: tuple[Node, ...]) -> tuple[tuple[tuple[int, int], ...], int] | None:
    """Return the lines of a block in the order of memory, as levels, and bytes from its first element to the lowest.

    Pieces less than a line apart are one; each may begin and end anywhere in a line. None: rows that are not all alike.
    """
    directions = _walked(source, nodes)
    if directions is None:
        return None
    size = nest.dtypes[source].size
    walked = [(count, apart * size) for count, apart in directions if count > 1 and apart]
    reach, levels = size, list[tuple[int, int]]()
    for apart, count in sorted((abs(apart), count) for count, apart in walked):
        if not levels and apart < reach + LINE:
            reach += (count - 1) * apart
        elif levels and apart == math.prod(levels[-1]):
            levels[-1] = levels[-1][0] * count, levels[-1][1]
        else:
            levels.append((count, apart))
    lowest = sum((count - 1) * apart for count, apart in walked if apart < 0)
    return (((reach + LINE - 2) // LINE + 1, LINE), *levels), lowest


def _levels_of_panels(nest: Nest, block: Pack, around: tuple[Loop, ...]) -> tuple[tuple[int, int], ...]:
    """Return the lines of a block of panels: as far as the next one, where the innermost loop that moves there goes."""
    moves = (dict(loop.advances).get(block.source, 0) for loop in around)
    elements = next(abs(each) for each in moves if each)
    return ((-(-elements * nest.dtypes[block.source].size // LINE), LINE),)


def _walked(source: str, nodes: tuple[Node, ...]) -> list[tuple[int, int]] | None:
    """Return how many indices of a buffer nodes read in each direction, and how many elements they lie apart.

    Panels that follow each other in the tensor are no direction of their own. None: rows that are not all alike.
    """
    directions, panels = list[tuple[int, int]](), dict[tuple[str | None, int], Loop]()

    def add(axis: str | None, count: int, apart: int) -> None:
        around = panels.pop((axis, apart), None)
        if around is not None:
            directions.remove((around.trips, apart * around.step))
            count = around.span
        directions.append((count, apart))

    while len(nodes) == 1 and isinstance(node := nodes[0], Loop):
        moves = dict(node.advances).get(source, 0)
        if node.carries:
            directions += _odometer(node, source, moves)
        elif node.step > 1 and moves % node.step == 0:
            panels[node.axis, moves // node.step] = node
            directions.append((node.trips, moves))
        else:
            add(node.axis, node.trips, moves)
        nodes = _besides_packs(node.body)
    calls = [node for node in walk(nodes) if isinstance(node, Call)]
    strides = next((access.strides for access in calls[0].accesses if access.buffer == source), None) if calls else None
    if strides is None:
        return None
    first, *others = calls[0].blocks
    if len(calls) > 1:
        rows = _rows(nodes, source, first.unit * strides[0])
        if rows is None:
            return None
        directions += rows
    else:
        others = [first, *others]
    for block, stride in zip(reversed(others), reversed(strides)):
        add(block.axis, block.size, block.unit * stride)
    directions += [(block.unit, stride) for block, stride in zip(calls[0].blocks, strides)]
    return directions


def _odometer(loop: Loop, source: str, moves: int) -> Iterator[tuple[int, int]]:
    """Yield the directions of a loop that begins a new row now and then."""
    steps, apart = 1, moves
    for carry in loop.carries:
        if carry.buffer == source:
            yield carry.every // steps, apart
            steps, apart = carry.every, apart * (carry.every // steps) + carry.delta
    yield -(-loop.trips // steps), apart


def _rows(nodes: Sequence[Node], source: str, apart: int) -> list[tuple[int, int]] | None:
    """Return the directions of pieces that follow each other in equal rows, equally far apart; None: they do not.

    Their elements lie `apart`.
    """
    rows = list[list[int]]()
    for begin, end in sorted(set(_pieces(nodes, source, 0))):
        if rows and rows[-1][1] == begin:
            rows[-1][1] = end
        else:
            rows.append([begin, end])
    lengths, distances = {end - begin for begin, end in rows}, {b - a for (a, _), (b, _) in pairwise(rows)}
    if len(lengths) > 1 or len(distances) > 1 or not apart:
        return None
    return [(lengths.pop() // apart, apart), (len(rows), distances.pop() if distances else 0)]


def _pieces(nodes: Sequence[Node], source: str, start: int) -> Iterator[tuple[int, int]]:
    """Yield where each piece that some copies read begins, and where one that goes on would."""
    for node in nodes:
        if isinstance(node, Loop):
            moves = dict(node.advances)[source]
            for i in range(node.trips):
                yield from _pieces(node.body, source, start + i * moves)
        elif isinstance(node, Call):
            read, block = node.accesses[0], node.blocks[0]
            begin = start + read.offset
            yield begin, begin + block.size * block.unit * read.strides[0]


class AheadLowering:
    """Code that points kernels to the next block."""

    def __init__(self, asked: Asked, positions: Positions, loops: LoopLowering) -> None:
        self.asked, self.positions, self.loops = asked, positions, loops

    def start(self, at: Pack | Loop) -> None:
        """Begin with the block behind the one at hand, if here is where kernels turn to it."""
        if at is not self.asked.at:
            return
        variables, done, source = self.positions.variables, self.positions.asm.forward("ahead"), self.asked.source
        name, *left = self.asked.variables
        for variable, (count, _) in zip(left, self.asked.ahead.levels):
            variables.set(variable, count)
        distance = self.asked.lowest
        for loop in self.asked.around:
            step = dict(loop.advances).get(source, 0) * self.positions.element(source)
            self._point(name, source, distance + step)
            if loop.kind is not ExecType.SEQ:  # Threads take what follows, mostly.
                break
            self.loops.unless(Iteration.LAST, self.loops.states[loop.name], done)
            distance -= (loop.trips - 1) * step
        else:
            self._point(name, source, self.asked.lowest)
        self.positions.asm.bind(done)

    def _point(self, name: str, source: str, distance: int) -> None:
        positions = self.positions
        positions.variables.load(positions.work, f"at {source}")
        positions.vm.add_constant(positions.work, distance)
        positions.variables.write(name, positions.work)
