"""`AheadLowering`: while kernels work on a packed block, they ask memory for the block that is packed next.

Else moving and computing would take turns: a copy waits for memory, and memory for the kernels. Asked for is the block
that moves the most in all, if its tensor is larger than the second-level cache, which holds the block until it is
copied. Where the next block lies follows from the loops around the copy. The last one asks for itself, in vain.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from einloom.ir.nest import Call, Iteration, Loop, Nest, Node, Pack, walk
from einloom.ir.schedule import ExecType
from einloom.kernels.contraction.ahead import is_worth_asking
from einloom.kernels.specs import Ahead
from einloom.machine import Machine
from einloom.targets.loops import LoopLowering
from einloom.targets.positions import Positions

__all__ = ["AheadLowering", "Asked", "asked_ahead"]

LINE = 64
"""Bytes of a cache line."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A packed block of which the next one is asked for.

    Attributes:
        pack: the copy.
        around: the loops that follow each other around it, the innermost first.
        lowest: bytes from the block's first element to its lowest address.
        ahead: what each kernel call asks for.
        moved: bytes of all blocks together.
    """

    pack: Pack
    around: tuple[Loop, ...]
    lowest: int
    ahead: Ahead
    moved: int

    @property
    def variables(self) -> list[str]:
        """Where a call goes on: an address, and what is left of each level, one after the other in the frame."""
        return ["ahead", *(f"ahead {level}" for level in range(len(self.ahead.levels)))]


def asked_ahead(nest: Nest, machine: Machine) -> Asked | None:
    """Return the packed block of a nest whose next one is asked for, if there is one."""
    if nest.team is not None or not nest.operation.main.is_contraction:
        return None
    found = [asked for asked in _packed_blocks(nest, nest.body, ()) if _is_worth_it(nest, asked, machine)]
    return max(found, key=lambda asked: asked.moved, default=None)


def _is_worth_it(nest: Nest, asked: Asked, machine: Machine) -> bool:
    tensor = next(o for b, o in zip(nest.buffers, nest.operation.operands) if b.name == asked.pack.source)
    (piece, _), *_ = asked.ahead.levels
    lines = math.prod(count for count, _ in asked.ahead.levels)
    return is_worth_asking(lines, lines // piece, nest.operation.elements(tensor) * tensor.dtype.size, machine)


def _packed_blocks(nest: Nest, nodes: Sequence[Node], around: tuple[Loop, ...]) -> Iterator[Asked]:
    """Yield the packed blocks of inputs below some loops."""
    inputs = {buffer.name for buffer in nest.buffers[: len(nest.operation.inputs)]}
    for node in nodes:
        if isinstance(node, Loop):
            yield from _packed_blocks(nest, node.body, (node, *around))
        elif isinstance(node, Pack) and node.source in inputs and around:
            found = _levels(nest, node) if node.body else (_levels_of_panels(nest, node, around), 0)
            if found is None:
                continue
            levels, lowest = found
            lines, calls = math.prod(count for count, _ in levels), _calls(nest, nodes)
            moved = lines * LINE * math.prod(loop.trips for loop in around)
            yield Asked(node, around, lowest, Ahead(-(-lines // max(calls, 1)), levels), moved)


def _calls(nest: Nest, nodes: Sequence[Node]) -> int:
    """How many times the primitive is called in an iteration."""
    calls = 0
    for node in nodes:
        if isinstance(node, Loop):
            calls += node.trips * _calls(nest, node.body)
        elif isinstance(node, Call):
            calls += node.primitive is nest.operation.main
    return calls


def _levels(nest: Nest, pack: Pack) -> tuple[tuple[tuple[int, int], ...], int] | None:
    """Return the lines of a block in the order of memory, as levels, and bytes from its first element to the lowest.

    Pieces less than a line apart are one; each may begin and end anywhere in a line. None: rows that are not all alike.
    """
    directions = _walked(pack)
    if directions is None:
        return None
    size = nest.dtypes[pack.source].size
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


def _walked(pack: Pack) -> list[tuple[int, int]] | None:
    """Return how many indices a copy reads in each direction, and how many elements they lie apart.

    Panels that follow each other in the tensor are no direction of their own. None: rows that are not all alike.
    """
    directions, panels = list[tuple[int, int]](), dict[tuple[str | None, int], Loop]()

    def add(axis: str | None, count: int, apart: int) -> None:
        around = panels.pop((axis, apart), None)
        if around is not None:
            directions.remove((around.trips, apart * around.step))
            count = around.span
        directions.append((count, apart))

    nodes = pack.body
    while len(nodes) == 1 and isinstance(node := nodes[0], Loop):
        moves = dict(node.advances)[pack.source]
        if node.carries:
            directions += _odometer(node, pack.source, moves)
        elif node.step > 1 and moves % node.step == 0:
            panels[node.axis, moves // node.step] = node
            directions.append((node.trips, moves))
        else:
            add(node.axis, node.trips, moves)
        nodes = node.body
    calls = [node for node in walk(nodes) if isinstance(node, Call)]
    (first, *others), strides = calls[0].blocks, calls[0].accesses[0].strides
    if len(calls) > 1:
        rows = _rows(nodes, pack.source, first.unit * strides[0])
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
    """Code that points kernels to the next block, once the last one has been packed."""

    def __init__(self, asked: Asked, positions: Positions, loops: LoopLowering) -> None:
        self.asked, self.positions, self.loops = asked, positions, loops

    def start(self, pack: Pack) -> None:
        """Begin with the block behind the one that was packed, if it is this pack."""
        if pack is not self.asked.pack:
            return
        variables, done = self.positions.variables, self.positions.asm.forward("ahead")
        name, *left = self.asked.variables
        for variable, (count, _) in zip(left, self.asked.ahead.levels):
            variables.set(variable, count)
        distance = self.asked.lowest
        for loop in self.asked.around:
            step = dict(loop.advances).get(pack.source, 0) * self.positions.element(pack.source)
            self._point(name, pack.source, distance + step)
            if loop.kind is not ExecType.SEQ:  # Threads take what follows, mostly.
                break
            self.loops.unless(Iteration.LAST, self.loops.states[loop.name], done)
            distance -= (loop.trips - 1) * step
        else:
            self._point(name, pack.source, self.asked.lowest)
        self.positions.asm.bind(done)

    def _point(self, name: str, source: str, distance: int) -> None:
        positions = self.positions
        positions.variables.load(positions.work, f"at {source}")
        positions.vm.add_constant(positions.work, distance)
        positions.variables.write(name, positions.work)
