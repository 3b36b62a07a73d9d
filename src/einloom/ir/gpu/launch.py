"""`Launch`: a decided program for a GPU, beside `Nest`: a grid of blocks of threads, arrays, and what each thread does.

Indices of blocks and threads are the device's; loops are those that a thread runs by itself. Statements name elements
by affine functions of both, and limits on such functions (`if n.1 < 1`, `if 4 k.0 + k.1 < 6`) say which threads run
them: there is no other branch, so that no barrier can be in one.

    launch axpy
      block n.0 256
      thread n.1 64
      global in float32 x 16384
      global out float32 z 16384
      register float32 r_x 1
      r_x[0] = x[64 n.0 + n.1] global
      z[64 n.0 + n.1] = r_x[0] global
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from inspect import signature
from math import prod

from einloom.dtypes import DType
from einloom.errors import ScheduleError
from einloom.frozen import frozen
from einloom.ir.gpu.fragments import MMA, WARP
from einloom.ir.statement import SCALARS, Barrier, LoopKind, Place, Statement, Terms
from einloom.once import cached_property

__all__ = [
    "Array",
    "Launch",
    "LaunchNode",
    "Level",
    "Mma",
    "Repeat",
    "Role",
    "Space",
    "places",
    "repeats",
    "statements",
]

LEVELS = 3
"""Hardware dimensions that a grid, and a block of threads, can have."""

COUNTED = 2**60
"""Elements of an array at most: loops count by 64 bits, and a little beyond the last element."""

WIDTHS = (2, 4)
"""Elements that a vector can have: those of 3 would be laid out as 4."""

OPERANDS = {name: len(signature(meaning).parameters) for name, meaning in SCALARS.items()}
"""How many elements or numbers each scalar operator takes."""

CACHES = {"load": ("none", "l1", "l2", "read_only"), "store": ("none", "l2")}
"""The cache directives of loads and stores."""


class Space(StrEnum):
    """Which memory an array lies in; fragments are registers whose elements keep the type that memory has."""

    GLOBAL = "global"
    SHARED = "shared"
    REGISTER = "register"
    FRAGMENT = "fragment"
    ARGUMENT = "argument"


class Role(StrEnum):
    """What the launch does with an array."""

    IN = "in"
    OUT = "out"
    LOCAL = "local"


@frozen
class Array:
    """Elements in one of the memories; one copy for all blocks (global), for each block (shared) or thread (register).

    Attributes:
        name: unique in the launch.
        dtype: type of its elements.
        space: which memory; an argument is one number, passed by value.
        size: number of elements.
        role: of global arrays: read, written, or neither seen before nor after the launch.
        origin: the element that places count from; below it lies what negative strides reach.
    """

    name: str
    dtype: DType
    space: Space
    size: int
    role: Role = Role.LOCAL
    origin: int = 0


@frozen
class Level:
    """A hardware dimension of the grid or of a block: its index, its extent, and the other loops that became it."""

    name: str
    extent: int
    also: tuple[str, ...] = ()


@frozen
class Repeat:
    """A loop that a thread runs by itself, written out where `kind` is unroll; a vector holds one load or store."""

    name: str
    trips: int
    kind: LoopKind
    body: tuple[LaunchNode, ...]


@frozen
class Mma:
    """A matrix product by a warp: `c += a b`, each a fragment that begins at an element of an array of registers.

    Attributes:
        shape: a key of `fragments.MMA`.
        c, a, b: where the fragments begin.
    """

    shape: str
    c: Place
    a: Place
    b: Place

    def __str__(self) -> str:
        return f"mma {self.shape} {self.c} += {self.a} {self.b}"


LaunchNode = Repeat | Statement | Barrier | Mma


@frozen(slots=False)
class Launch:
    """A grid of blocks, a block of threads (innermost hardware dimension first), arrays, and the program of a thread.

    Raises:
        ScheduleError: a name is used twice or unknown, an extent is no positive number, a vector is none that GPUs
            move, a statement has other operands, types, memories or caches than its operator takes, or there are more
            hardware dimensions than GPUs have.
    """

    name: str
    grid: tuple[Level, ...]
    block: tuple[Level, ...]
    arrays: tuple[Array, ...]
    body: tuple[LaunchNode, ...]

    def __post_init__(self) -> None:
        """Refuse what no device could run."""
        for fault in _faults(self):
            raise ScheduleError(f"launch {self.name}: {fault}")

    @cached_property
    def array(self) -> dict[str, Array]:
        """The arrays by name."""
        return {each.name: each for each in self.arrays}

    @property
    def blocks(self) -> int:
        """Blocks of the grid."""
        return prod(level.extent for level in self.grid)

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return prod(level.extent for level in self.block)

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a block, in bytes."""
        return sum(each.size * each.dtype.size for each in self.arrays if each.space is Space.SHARED)

    @property
    def arguments(self) -> tuple[Array, ...]:
        """What a caller passes, in order: global arrays and numbers."""
        return tuple(each for each in self.arrays if each.space in (Space.GLOBAL, Space.ARGUMENT))

    @property
    def has_barriers(self) -> bool:
        """Whether the threads of a block wait for each other."""
        return any(isinstance(node, Barrier) for node, _ in _walk(self.body, ()))


def statements(launch: Launch) -> Iterator[tuple[Statement, tuple[Repeat, ...]]]:
    """Yield the statements in order, each with the loops around it, outermost first."""
    for node, around in _walk(launch.body, ()):
        if isinstance(node, Statement):
            yield node, around


def repeats(launch: Launch) -> Iterator[Repeat]:
    """Yield the loops, each before those that it holds."""
    yield from (node for node, _ in _walk(launch.body, ()) if isinstance(node, Repeat))


def places(statement: Statement) -> tuple[Place, ...]:
    """Return the elements that a statement touches: what it reads, then what it writes."""
    return (*(each for each in statement.inputs if isinstance(each, Place)), statement.output)


def _walk(nodes: Iterable[LaunchNode], around: tuple[Repeat, ...]) -> Iterator[tuple[LaunchNode, tuple[Repeat, ...]]]:
    for node in nodes:
        yield node, around
        if isinstance(node, Repeat):
            yield from _walk(node.body, (*around, node))


def _faults(launch: Launch) -> Iterator[str]:
    levels = (*launch.grid, *launch.block)
    names = [each.name for each in (*levels, *launch.arrays)]
    yield from (f"{name} names two things" for name in sorted({n for n in names if names.count(n) > 1}))
    yield from (f"{e.name} has {e.extent} iterations" for e in levels if e.extent < 1)
    yield from (f"{e.name} has {e.size} elements" for e in launch.arrays if e.size < 1 or not 0 <= e.origin < e.size)
    yield from (f"{e.name} has more elements than 64 bits count: {e.size}" for e in launch.arrays if e.size > COUNTED)
    for kind, found in (("grid", launch.grid), ("block", launch.block)):
        if len(found) > LEVELS:
            yield f"its {kind} has {len(found)} dimensions, and GPUs have {LEVELS}"
    known = {level.name for level in levels}
    for node, around in _walk(launch.body, ()):
        yield from _faults_of(node, launch, known | {loop.name for loop in around})


def _faults_of(node: LaunchNode, launch: Launch, known: set[str]) -> Iterator[str]:
    if isinstance(node, Repeat):
        yield from _faults_of_loop(node, known)
    elif isinstance(node, Mma):
        yield from _faults_of_mma(node, launch, known)
    elif isinstance(node, Statement):
        yield from _faults_of_statement(node, launch, known)


def _faults_of_statement(node: Statement, launch: Launch, known: set[str]) -> Iterator[str]:
    if node.operator not in SCALARS:
        yield f"{node.operator} is no scalar operator; known: {', '.join(SCALARS)}"
    elif len(node.inputs) != OPERANDS[node.operator]:
        yield f"{node}: {node.operator} takes {OPERANDS[node.operator]} operands"
    terms: list[Terms] = [place.terms for place in places(node)] + [limit for limit, _ in node.within]
    unknown = {name for each in terms for name, _ in each} - known
    yield from (f"{node} counts by {name}, which is no loop around it" for name in sorted(unknown))
    missing = [place for place in places(node) if place.buffer not in launch.array]
    yield from (f"{place} is no element of an array here" for place in missing)
    if not missing:
        yield from _faults_of_arrays(node, launch)


def _faults_of_arrays(node: Statement, launch: Launch) -> Iterator[str]:
    touched = [launch.array[place.buffer] for place in places(node)]
    written = touched[-1]
    if written.role is Role.IN or written.space is Space.ARGUMENT:
        yield f"{node} writes {written.name}, which is only read"
    types = {each.dtype.accumulate.name: each for each in touched}
    if len(types) > 1:
        yield f"{node} mixes {' and '.join(f'{each.name} of {each.dtype}' for each in types.values())}"
    memory = {"load": touched[0], "store": written}.get(node.operator)
    directives = [f"cache={each}" for each in CACHES.get(node.operator, ())]
    wrong = [flag for flag in node.flags if memory is None or flag not in (memory.space, *directives)]
    yield from (f"{node}: {flag} is no memory, or no cache, of this {node.operator}" for flag in wrong)
    if memory is not None and memory.space not in node.flags:
        yield f"{node} does not say that {memory.name} lies in {memory.space} memory"


def _faults_of_mma(node: Mma, launch: Launch, known: set[str]) -> Iterator[str]:
    fragments = (node.c, node.a, node.b)
    if node.shape not in MMA:
        yield f"{node.shape} is no product of tensor cores; known: {', '.join(MMA)}"
    missing = [place.buffer for place in fragments if place.buffer not in launch.array]
    yield from (f"{name} in {node} is no array here" for name in missing)
    yield from (
        f"{node} counts by {n}, which is no loop around it" for p in fragments for n, _ in p.terms if n not in known
    )
    if node.shape in MMA and not missing:
        types = [launch.array[place.buffer].dtype.name for place in fragments]
        if types[0] != "float32" or types[1] != types[2] or types[1] not in MMA[node.shape].types:
            yield f"{node} multiplies {types[1]} by {types[2]} into {types[0]}"
    if launch.threads % WARP:
        yield f"{node} is done by warps of {WARP} threads, and a block has {launch.threads}"


def _faults_of_loop(loop: Repeat, known: set[str]) -> Iterator[str]:
    if loop.trips < 1:
        yield f"{loop.name} has {loop.trips} iterations"
    if loop.name in known:
        yield f"{loop.name} stands inside another loop of its name"
    if loop.kind in (LoopKind.THREAD, LoopKind.BLOCK):
        yield f"{loop.name} is of kind {loop.kind}: those are levels of the launch"
    if loop.kind is LoopKind.VECTOR:
        held = loop.body[0] if len(loop.body) == 1 else None
        if not (isinstance(held, Statement) and held.operator in ("load", "store")):
            yield f"vector {loop.name} holds something else than one load or store"
        if loop.trips not in WIDTHS:
            yield f"vector {loop.name} has {loop.trips} elements, and vectors have {' or '.join(map(str, WIDTHS))}"
