"""`LeavingLowering`: while kernels compute a staged block, the one before leaves scratch past the caches.

Else moving and computing would take turns: stores past the caches wait for memory, and the kernels behind them do once
all is full that holds stores. So small blocks take turns between two pieces of scratch. Where one is done, the lines
that are whole in the output are noted, and kernels store one after every few products. This is no choice of the
schedule: it is done where `is_worth_leaving` says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from einloom.dtypes import DType, Kind
from einloom.frozen import frozen
from einloom.ir.nest import Buffer, Call, Loop, Nest, Node, Pack, walk
from einloom.ir.operation import DimType, Operation
from einloom.kernels.elementwise.leave import WORDS
from einloom.kernels.specs import LeaveBehind, Leaves
from einloom.machine import Machine
from einloom.passes.model.leaving import is_worth_leaving
from einloom.targets.ahead import main_calls
from einloom.targets.positions import Positions, Register

__all__ = ["LeavingBlock", "LeavingLowering", "leaving_block"]

LINE, PAGE = 64, 4096
"""Bytes of a cache line and of a page."""

NOTED, ASIDE = "leaving", "leaving aside"
"""Variables: the first of those that say what has not left yet; see `LeavingBlock.variables`."""


@frozen
class LeavingBlock:
    """A block of the output that leaves while the next one is computed.

    Attributes:
        copy: what lets it leave.
        leaves: what each kernel call stores.
        pieces: bytes from the buffer to the two pieces of scratch that take turns; the second lies behind all others.
        scratch_bytes: of a thread, with them.
    """

    copy: Call
    leaves: Leaves
    pieces: tuple[int, int]
    scratch_bytes: int

    @property
    def scratch(self) -> str:
        """The buffer that it is computed in."""
        return self.copy.accesses[0].buffer

    def behind(self, dtype: DType, m: int, n: int = 1) -> LeaveBehind:
        """Return what notes a block of such sizes."""
        a, b = ((1, access.strides[1] if self.leaves.apart else 0) for access in self.copy.accesses)
        return LeaveBehind(dtype, m, n, a, b)

    @property
    def variables(self) -> list[str]:
        """What is noted, one word after the other in the frame; and bytes from the first piece to the one in turn."""
        return [NOTED, *(f"{NOTED} {word}" for word in range(1, WORDS)), ASIDE]


def leaving_block(nest: Nest, machine: Machine) -> LeavingBlock | None:
    """Return the block of a nest's output that leaves while the next one is computed, if there is one."""
    operation, types = nest.operation, nest.dtypes
    if nest.team is not None or not operation.main.is_contraction:
        return None
    found = next(_copies_out(nest, nest.body, 1), None)
    if found is None or _is_read_again(nest) or not _stores_lines(nest):
        return None
    copy, calls = found
    inner, outer = (types[access.buffer] for access in copy.accesses)
    first, *_ = copy.blocks
    least = min(map(first.elements, (first.size, *first.tails))) * inner.size
    scratch = next(buffer for buffer in nest.buffers if buffer.name == copy.accesses[0].buffer)
    size, (begin, piece, other) = scratch.size * inner.size, _places(nest, scratch, machine)
    written, apart = operation.elements(operation.output) * outer.size, _bytes_apart(copy, inner.size)
    runs = (apart[1], _products(operation)) if apart else ()
    if inner != outer or not is_worth_leaving(size, least, other, written, machine, *runs):
        return None
    return LeavingBlock(copy, Leaves(-(-size // (LINE * calls)), apart), (piece - begin, other - begin), other + size)


def _places(nest: Nest, scratch: Buffer, machine: Machine) -> tuple[int, int, int]:
    """Return where in scratch a buffer begins, and the two pieces that take turns: the first there or behind all."""
    assert scratch.offset is not None
    calls = (node for node in walk(nest.body) if isinstance(node, Call) and node.primitive is nest.operation.main)
    row = next((call.accesses[-1].strides[1] for call in calls), 0) or scratch.size  # From one column to the next.
    element, vector = scratch.dtype.size, machine.vector_bits // 8
    size, place, behind = scratch.size * element, scratch.offset, _whole_lines(nest.scratch_bytes)
    if _crossings(place, size, row * element, vector):
        place = _place(behind, size, row * element, vector)
        behind = _whole_lines(place + size)
    return scratch.offset, place, _place(behind, size, row * element, vector)


def _whole_lines(size: int) -> int:
    return -(-size // LINE) * LINE


def _place(begin: int, size: int, row: int, vector: int) -> int:
    """Return where a block begins, from so many bytes on, so that the fewest vectors cross the end of a page."""
    places = range(begin, begin + PAGE, LINE)
    uncrossed = next((place for place in places if not _crossings(place, size, row, vector)), None)
    return min(places, key=lambda place: _crossings(place, size, row, vector)) if uncrossed is None else uncrossed


def _crossings(place: int, size: int, row: int, vector: int) -> int:
    """Return how many ends of pages lie in rows of a block that begin where no vector does: one is stored across each.

    Measured: while lines leave past the caches such a store takes Zen 3 some 400 cycles, as if it waited for them all.
    Of 60 contractions whose blocks leave a third took 1.1 to 2 times as long, wherever scratch happened to begin.
    """
    ends = range(PAGE - place % PAGE, size, PAGE)
    return sum(end % row != 0 and end // row * row % vector != 0 for end in ends)


def _products(operation: Operation) -> int:
    """Return how many products are summed in an element of the output."""
    return math.prod(axis.extent for axis in operation.axes if axis.role is DimType.K)


def _copies_out(nest: Nest, nodes: Sequence[Node], calls: int) -> Iterator[tuple[Call, int]]:
    """Yield the copies of blocks out of scratch that turn nothing; and how many products come before each."""
    for node in nodes:
        if isinstance(node, Loop):
            yield from _copies_out(nest, node.body, max(main_calls(nest, node.body), 1))
        elif isinstance(node, Pack) and node.buffer == nest.operation.output.name and len(node.body) == 1:
            (copy,) = node.body
            if isinstance(copy, Call) and copy.streams and _moves_runs(copy):
                yield copy, calls


def _is_read_again(nest: Nest) -> bool:
    """Whether more than one call touches the output: what was left for later might be wanted before."""
    name, calls = nest.operation.output.name, (node for node in walk(nest.body) if isinstance(node, Call))
    return sum(name in [access.buffer for access in call.accesses] for call in calls) > 1


def _stores_lines(nest: Nest) -> bool:
    """Whether kernels that compute the block take lines along: those of groups, lists and complex elements do not."""
    main = nest.operation.main
    products = [node for node in walk(nest.body) if isinstance(node, Call) and node.primitive is main]
    is_plain = all(product.group == 1 and not product.offsets for product in products)
    return is_plain and nest.operation.accumulate.kind is not Kind.COMPLEX


def _moves_runs(copy: Call) -> bool:
    """Whether a copy turns nothing."""
    return all(access.strides[0] == 1 for access in copy.accesses)


def _bytes_apart(copy: Call, element: int) -> tuple[int, ...]:
    """Return how far the runs of a copy lie apart in scratch and in the output; nothing if there is one."""
    _, runs = copy.blocks
    is_one = runs.elements(runs.size) == 1
    return () if is_one else tuple(access.strides[1] * element for access in copy.accesses)


class LeavingLowering:
    """Code that takes turns between two pieces of scratch, and says where lines are noted."""

    def __init__(self, block: LeavingBlock, positions: Positions) -> None:
        self.block, self.positions = block, positions
        self.dtype = positions.dtypes[block.scratch]

    def start(self) -> None:
        """Nothing has to leave yet."""
        for name in self.block.variables:
            self.positions.variables.set(name, self.block.pieces[0] if name == ASIDE else 0)

    def place(self, register: Register, buffer: str) -> None:
        """Move a register from where a buffer is to where the block in turn is, if it is that buffer."""
        if buffer == self.block.scratch:
            self.positions.vm.add(register, self.positions.variables.read(ASIDE, self.positions.work))

    def noted(self, register: Register) -> None:
        """A register = the address of what is noted."""
        self.positions.variables.address(register, NOTED)

    def turn(self) -> None:
        """Take the other piece of scratch."""
        vm, work = self.positions.vm, self.positions.work
        vm.constant(work, sum(self.block.pieces))
        vm.subtract(work, self.positions.variables.read(ASIDE, self.positions.other))
        self.positions.variables.write(ASIDE, work)
