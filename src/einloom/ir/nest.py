"""`Nest`: a decided program, as a tree of frozen values. `bind` makes one; `interpret_nest` and the targets read it.

Every buffer has a current position. A loop moves the positions of the buffers in `advances` after each iteration and
restores them at its end; a call reads and writes blocks that begin at the current positions. So the tree carries no
index arithmetic, and the same few fields serve the interpreter and every code generator.

    shared m 0:64:32                     in0+32 out+32
      pack in0
        ...
      seq k 0:16:8                       scratch0+256 in1+8
        brgemm m=32 n=48 k=8             scratch0 in1 out, out starts from zero when k is first
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Literal

from einloom.dtypes import DType
from einloom.frozen import frozen
from einloom.ir.operation import Axis, Operation, Primitive
from einloom.ir.schedule import ExecType
from einloom.ir.sharing import Team, Ways
from einloom.ir.statement import Barrier, LoopKind, Statement

__all__ = [
    "Access",
    "Block",
    "Buffer",
    "Call",
    "Carry",
    "Cursor",
    "Guard",
    "Iteration",
    "Loop",
    "Nest",
    "Node",
    "Pack",
    "Relation",
    "Test",
    "Turned",
    "When",
    "leading_loops",
    "parallel_loops",
    "walk",
]


Relation = Literal["lt", "le", "eq", "ne", "ge", "gt"]

RELATIONS: dict[Relation, Callable[[int, int], bool]] = {
    "lt": operator.lt,
    "le": operator.le,
    "eq": operator.eq,
    "ne": operator.ne,
    "ge": operator.ge,
    "gt": operator.gt,
}


@frozen
class Buffer:
    """Memory that a nest touches: an operand, or a piece of each thread's scratch.

    Attributes:
        name: `in0`, `in1`, `out`, or `scratch0` and so on.
        dtype: type of its elements.
        offset: where it begins in a thread's scratch, in bytes; None for an operand.
        size: number of elements of a piece of scratch, or of an input that was packed before; 0 for other operands.
    """

    name: str
    dtype: DType
    offset: int | None = None
    size: int = 0


@frozen
class Cursor:
    """A position of its own in a buffer, which loops move and accesses name; or a number, which tests look at.

    Attributes:
        name: unique among buffers and cursors.
        buffer: where it points; None: it is a number.
        start: where it begins, in elements behind the buffer's first one.
        by_thread: elements (or units) more for each unit of a thread's coordinates.
    """

    name: str
    buffer: str | None
    start: int = 0
    by_thread: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        terms = "".join(f" {factor:+d} {name}" for name, factor in self.by_thread)
        return f"{self.name} = {self.buffer or 'number'} {self.start:+d}{terms}"


@frozen
class Test:
    """Whether a number stands in a relation to a bound, or what is left of it after division by `modulus`."""

    cursor: str
    relation: Relation
    bound: int
    modulus: int = 0

    def holds(self, value: int) -> bool:
        """Whether it does for a value of the number."""
        return RELATIONS[self.relation](value % self.modulus if self.modulus else value, self.bound)

    def __str__(self) -> str:
        rest = f" mod {self.modulus}" if self.modulus else ""
        return f"{self.cursor}{rest} {self.relation} {self.bound}"


@frozen
class Carry:
    """How much further a position moves after every so many iterations of a loop, in elements.

    It is the carry of an odometer: where rows end in a tensor, or panels in scratch, their next one begins.
    """

    buffer: str
    every: int
    delta: int


@frozen
class Loop:
    """A loop over indices `0, step, 2 step, …` of what the enclosing loop of the same axis covers.

    Attributes:
        name: unique in the nest, `axis` or `axis.1` and so on from the outside in.
        axis: the axis; several loops may walk it.
        kind: sequential or shared among threads; around statements, how a GPU runs it.
        step: indices that one iteration covers; the last one may cover fewer.
        span: indices that the loop covers, unless what encloses it ends before.
        shorter: how many it covers where that is so.
        advances: buffers that depend on the axis here, with how far an iteration moves them, in elements.
        body: what an iteration does.
        ways: the dimension of the grid of threads that shares the loop.
        carries: what buffers move by besides, now and then; only a sequential loop has any.
    """

    name: str
    axis: str
    kind: ExecType | LoopKind
    step: int
    span: int
    shorter: tuple[int, ...]
    advances: tuple[tuple[str, int], ...]
    body: tuple[Node, ...]
    ways: Ways | None = None
    carries: tuple[Carry, ...] = ()

    @property
    def is_clipped(self) -> bool:
        """Whether some execution of the loop covers fewer than `span` indices."""
        return bool(self.shorter)

    @property
    def trips(self) -> int:
        """Iterations over a full span."""
        return -(-self.span // self.step)


@frozen
class Block:
    """Indices of one axis that a call covers: `size`, or one of `tails` where a block ends. No axis: one index.

    Each of them stands for `unit` elements of the primitive: the axes behind it that the call takes with it, whole. Or
    so many indices, `per`, are one element: both parts of a complex number.
    """

    axis: str | None
    size: int
    tails: tuple[int, ...] = ()
    unit: int = 1
    per: int = 1

    def elements(self, indices: int) -> int:
        """Return for how many elements of the primitive so many indices stand."""
        return indices // self.per * self.unit


@frozen
class Access:
    """The block of a buffer that a call touches: one stride per block of the call, in elements.

    It begins `offset` elements behind the buffer's position.
    What it finds there, or puts there, may be another type of the same size than the buffer's.
    """

    buffer: str
    strides: tuple[int, ...]
    offset: int = 0
    dtype: DType | None = None

    def __str__(self) -> str:
        place = f"{self.buffer}{f'{self.offset:+d}' if self.offset else ''}{list(self.strides)}"
        return place if self.dtype is None else f"{place} as {self.dtype}"


@frozen
class Turned:
    """A part (0 real, 1 imaginary) of a complex number, and whether its sign is changed."""

    part: int
    negative: bool = False


@frozen
class Call:
    """One primitive on blocks that begin at the buffers' current positions; the output is the last access.

    Attributes:
        primitive: what is computed.
        blocks: m n k batch for contractions and sums; m n otherwise.
        accesses: inputs, then the output.
        starts: for contractions: the loops that must all be in their first iteration for the output to start from zero;
            empty: it always starts from zero; None: it is always added to.
        streams: for copies: the output is written past the caches.
        offsets: for contractions: where the matrices of the batch lie, in elements behind the positions of both inputs;
            empty: they follow each other by their strides.
        group: for contractions: so many neighbours along k lie side by side in both inputs, and strides along k are
            from one group to the next; k counts elements, and what is behind the last one in its group is 0. For
            copies: the second block is k, and the output takes groups.
        conjugated: of products and copies of complex numbers: whether the inputs are.
        pair: for copies of two parts that lie side by side, at even distances: what each part of the output is; None:
            elements have no parts.
    """

    primitive: Primitive
    blocks: tuple[Block, ...]
    accesses: tuple[Access, ...]
    starts: tuple[str, ...] | None = None
    streams: bool = False
    group: int = 1
    offsets: tuple[tuple[int, int], ...] = ()
    pair: tuple[Turned, Turned] | None = None
    conjugated: tuple[bool, bool] = (False, False)


class Iteration(StrEnum):
    """Which iteration of a loop."""

    FIRST = "first"
    LAST = "last"


@frozen
class Guard:
    """Run `body` only while all of `loops` are in their first (or last) iteration."""

    when: Iteration
    loops: tuple[str, ...]
    body: tuple[Node, ...]


@frozen
class When:
    """Run `body` where all tests hold."""

    tests: tuple[Test, ...]
    body: tuple[Node, ...]


@frozen
class Pack:
    """Fill `buffer` from `source`, one of which is scratch: loops over copies.

    Without a body, of a buffer from itself: here begins a block of an input that was packed before.
    """

    buffer: str
    source: str
    body: tuple[Node, ...]


Node = Loop | Call | Guard | When | Pack | Statement | Barrier
_LEAVES = (Call, Statement, Barrier)


@frozen
class Nest:
    """A decided program: the operation, the axes that its loops walk, its buffers (operands first) and the tree.

    With a team, loops of the kind shared may stand anywhere, and the program is for so many threads: adjacent ones are
    one parallel loop, whose iterations the clause hands out, unless a dimension of the grid shares them.
    """

    operation: Operation
    axes: tuple[Axis, ...]
    buffers: tuple[Buffer, ...]
    body: tuple[Node, ...]
    cursors: tuple[Cursor, ...] = ()
    team: Team | None = None

    @property
    def scratch_bytes(self) -> int:
        """Scratch that one thread needs, in bytes."""
        ends = (b.offset + b.size * b.dtype.size for b in self.buffers if b.offset is not None)
        return max(ends, default=0)

    @property
    def dtypes(self) -> dict[str, DType]:
        """The types of the elements of buffers, and of cursors into them."""
        dtypes = {buffer.name: buffer.dtype for buffer in self.buffers}
        return dtypes | {c.name: dtypes[c.buffer] for c in self.cursors if c.buffer is not None}

    @property
    def shared_trips(self) -> int:
        """How many iterations the shared loops, and the curve right behind them, offer to threads."""
        shared, body = leading_loops(self.body, ExecType.SHARED)
        return math.prod(loop.trips for loop in (*shared, *leading_loops(body, ExecType.SFC)[0]))

    @property
    def has_barriers(self) -> bool:
        """Whether threads wait for each other."""
        return any(isinstance(node, Barrier) for node in walk(self.body))

    @property
    def takes_tickets(self) -> bool:
        """Whether threads of a team take pieces of a parallel loop as they come."""
        shared = (node for node in walk(self.body) if isinstance(node, Loop) and node.kind is ExecType.SHARED)
        return self.team is not None and not self.team.clause.is_static and any(loop.ways is None for loop in shared)

    @property
    def has_sync(self) -> bool:
        """Whether the threads of a team have more in common than the operands: tickets, or barriers."""
        return self.takes_tickets or self.runs_together

    @property
    def runs_together(self) -> bool:
        """Whether the threads of a team must run at the same time, for they wait for each other."""
        return self.team is not None and self.team.threads > 1 and self.has_barriers

    def __str__(self) -> str:
        head = [] if self.team is None else [str(self.team), *map(str, self.cursors)]
        return "\n".join([*head, *(line for node in self.body for line in _lines(node, 0))])


def leading_loops(body: tuple[Node, ...], kind: ExecType) -> tuple[list[Loop], tuple[Node, ...]]:
    """Return the loops of one kind that begin a body, each directly inside the other, and what the last one holds."""
    loops: list[Loop] = []
    while len(body) == 1 and isinstance(body[0], Loop) and body[0].kind is kind:
        loops.append(body[0])
        body = body[0].body
    return loops, body


def parallel_loops(loop: Loop) -> tuple[list[Loop], tuple[Node, ...]]:
    """Return the loops of a nest with a team that are one parallel loop from `loop` on, and what the last one holds."""
    loops, body = [loop], loop.body
    while loop.ways is None and len(body) == 1 and isinstance(body[0], Loop):
        inner = body[0]
        if inner.kind is not ExecType.SHARED or inner.ways is not None:
            break
        loops.append(inner)
        body = inner.body
    return loops, body


def walk(nodes: tuple[Node, ...]) -> Iterator[Node]:
    """Yield every node of the trees, outside in."""
    waiting = [*reversed(nodes)]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, _LEAVES):
            waiting += reversed(node.body)


def _lines(node: Node, depth: int) -> Iterator[str]:
    indent = "  " * depth
    if isinstance(node, _LEAVES):
        yield indent + (_call_line(node) if isinstance(node, Call) else str(node))
        return
    if isinstance(node, Loop):
        moves = " ".join(f"{buffer}{delta:+d}" for buffer, delta in node.advances)
        moves += "".join(f" {carry.buffer}{carry.delta:+d}/{carry.every}" for carry in node.carries)
        end = f"{node.span}" if not node.is_clipped else f"min({node.span}, rest)"
        yield f"{indent}{node.kind}{node.ways or ''} {node.name} 0:{end}:{node.step}".ljust(44) + f" {moves}"
    elif isinstance(node, Guard):
        yield f"{indent}when {' '.join(node.loops) or 'always'} {node.when}"
    elif isinstance(node, When):
        yield f"{indent}when {' and '.join(map(str, node.tests))}"
    else:
        yield f"{indent}pack {node.source} into {node.buffer}" if node.body else f"{indent}a block of {node.buffer}"
    for child in node.body:
        yield from _lines(child, depth + 1)


def _call_line(call: Call) -> str:
    letters = ("m", "n", "k", "batch")
    sizes = " ".join(
        f"{letter}={block.elements(block.size)}" + "".join(f"|{block.elements(tail)}" for tail in block.tails)
        for letter, block in zip(letters, call.blocks)
        if block.axis is not None or block.size > 1
    )
    places = "  ".join(map(str, call.accesses))
    start = ""
    if call.starts is not None:
        start = " from zero" if not call.starts else f" from zero when {' '.join(call.starts)} first"
    past = " past the caches" if call.streams else ""
    groups = f" in groups of {call.group}" if call.group > 1 else ""
    conjugated = "".join(f" conj {a.buffer}" for a, sign in zip(call.accesses, call.conjugated) if sign)
    listed = " at " + " ".join(f"{a:+d},{b:+d}" for a, b in call.offsets) if call.offsets else ""
    return f"{call.primitive} {sizes}".ljust(30) + f"  {places}{start}{past}{groups}{conjugated}{listed}"
