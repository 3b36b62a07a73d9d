"""What a launch means: `run_launch` runs all threads at once, in NumPy, and reports what a GPU would do wrong silently.

Every statement is executed by all threads that its limits let, side by side, in the widest type of its kind; threads of
a block are one epoch further after each barrier. Between two barriers no thread may touch an element that another
thread of its block writes; between blocks nothing is shared. Reported, with the statement and a counterexample: races,
elements outside their array, elements that are read before anybody wrote them, vectors that are not aligned, and
outputs that two threads write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from einloom.dtypes import FLOAT32
from einloom.errors import EinloomError
from einloom.ir.gpu.fragments import MMA, WARP, Fragment
from einloom.ir.gpu.launch import Array, Launch, LaunchNode, Mma, Repeat, Role, Space
from einloom.ir.numbers import narrowed, wide_type, widened
from einloom.ir.statement import LoopKind, Place, Statement, Terms

__all__ = ["LaunchFault", "run_launch"]

Numbers = np.ndarray[Any, Any]


def _same(x: Numbers) -> Numbers:
    return x


def _mad(x: Numbers, y: Numbers, z: Numbers) -> Numbers:
    return x * y + z


OPERATORS: dict[str, Callable[..., Numbers]] = {
    "load": _same,
    "store": _same,
    "move": _same,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "min": np.minimum,
    "max": np.maximum,
    "mad": _mad,
}
"""The scalar operators of `ir.statement` on all threads."""

NOBODY, LAST = -1, np.iinfo(np.int64).max


class LaunchFault(EinloomError, RuntimeError):
    """A launch does what GPUs answer with anything at all; the message has the statement, the threads, the element."""


def run_launch(launch: Launch, memory: Mapping[str, Numbers]) -> None:
    """Run a launch on arrays of one dimension, by name; numbers are arrays of one element. Outputs are written.

    Raises:
        LaunchFault: the launch has a race, or strays, as the module's text says.
    """
    with np.errstate(all="ignore"):
        _Run(launch, memory).run()


@dataclass
class _Watched:
    """The elements of an array, a row of them for each block or thread that has its own, and who touched them.

    Attributes:
        elements: by owner and position.
        owner: which row each thread uses.
        written: whether an element has a value.
        home: the block that an element belongs to, of temporary arrays in the device's memory: the first that came.
        least_reader, most_reader, writer: threads that touched an element since the last barrier of their block.
    """

    array: Array
    elements: Numbers
    owner: Numbers
    written: Numbers
    home: Numbers = field(init=False)
    least_reader: Numbers = field(init=False)
    most_reader: Numbers = field(init=False)
    writer: Numbers = field(init=False)

    def __post_init__(self) -> None:
        self.home = np.full(self.elements.shape, NOBODY)
        self.forget()

    def forget(self) -> None:
        """Begin an epoch."""
        shape = self.elements.shape
        self.least_reader = np.full(shape, LAST)
        self.most_reader = np.full(shape, NOBODY)
        self.writer = np.full(shape, NOBODY)


class _Run:
    """One execution: all threads of all blocks, numbered block by block."""

    def __init__(self, launch: Launch, memory: Mapping[str, Numbers]) -> None:
        self.launch = launch
        self.thread = np.arange(launch.blocks * launch.threads)
        self.index: dict[str, Numbers | int] = {}
        rest = self.thread
        for level in (*launch.block, *launch.grid):
            self.index[level.name], rest = rest % level.extent, rest // level.extent
        self.memory = memory
        self.arrays = {each.name: self._watched(each) for each in launch.arrays}

    def run(self) -> None:
        """Run everything, then write the outputs back."""
        self._nodes(self.launch.body)
        for each in self.launch.arrays:
            if each.role is Role.OUT:
                found = self.arrays[each.name]
                target = self.memory[each.name]
                target[found.written[0]] = narrowed(found.elements[0][found.written[0]], each.dtype)

    def _watched(self, array: Array) -> _Watched:
        block = self.thread // self.launch.threads
        own = {Space.SHARED: block, Space.REGISTER: self.thread, Space.FRAGMENT: self.thread}
        owner = own.get(array.space, np.zeros_like(self.thread))
        rows = int(owner[-1]) + 1
        elements = np.zeros((rows, array.size), wide_type(array.dtype))
        known = array.role is Role.IN or array.space is Space.ARGUMENT
        if known:
            given = self.memory[array.name]
            if given.shape != (array.size,):
                raise LaunchFault(f"{array.name} has {array.size} elements, not the shape {given.shape}")
            elements[0] = widened(given, array.dtype)
        return _Watched(array, elements, owner, np.full(elements.shape, known))

    def _nodes(self, nodes: tuple[LaunchNode, ...]) -> None:
        for node in nodes:
            if isinstance(node, Repeat):
                self._check_vector(node)
                for index in range(node.trips):
                    self.index[node.name] = index
                    self._nodes(node.body)
            elif isinstance(node, Statement):
                self._statement(node)
            elif isinstance(node, Mma):
                self._mma(node)
            else:
                for watched in self.arrays.values():
                    if watched.array.space in (Space.SHARED, Space.GLOBAL) and watched.array.role is Role.LOCAL:
                        watched.forget()

    def _statement(self, statement: Statement) -> None:
        running = np.ones(len(self.thread), bool)
        for terms, limit in statement.within:
            running &= np.broadcast_to(self._value(terms), running.shape) < limit
        threads = self.thread[running]
        if not len(threads):
            return
        inputs = [
            self._read(each, threads, statement) if isinstance(each, Place) else each for each in statement.inputs
        ]
        self._write(statement.output, threads, OPERATORS[statement.operator](*inputs), statement)

    def _mma(self, node: Mma) -> None:
        """Multiply the matrices that each warp holds, found by the tables of their fragments."""
        shape = MMA[node.shape]
        a, b, c = (
            self._matrix(place, shape.fragments[letter], node)
            for place, letter in ((node.a, "a"), (node.b, "b"), (node.c, "c"))
        )
        if self.launch.array[node.a.buffer].dtype == FLOAT32:
            a, b = _rounded_to_tf32(a), _rounded_to_tf32(b)
        rows, columns = _table(shape.c)
        found = self.arrays[node.c.buffer]
        places = self._registers(node.c, shape.c.registers, node)
        found.elements[places] = (c + a @ b)[:, rows, columns].reshape(len(self.thread), -1)

    def _registers(self, place: Place, count: int, node: Mma) -> tuple[Numbers, Numbers]:
        """Return where the elements of a fragment lie, by thread: rows and positions of the array's elements."""
        watched = self.arrays[place.buffer]
        first = np.broadcast_to(self._value(place.terms), self.thread.shape)
        position = first[:, None] + np.arange(count)
        if position.min() < 0 or position.max() >= watched.array.size:
            raise LaunchFault(f"launch {self.launch.name}: a fragment lies outside {place.buffer}\n  {node}")
        if not watched.written[watched.owner[:, None], position].all():
            raise LaunchFault(f"launch {self.launch.name}: {place} is read before it is written\n  {node}")
        return watched.owner[:, None], position

    def _matrix(self, place: Place, fragment: Fragment, node: Mma) -> Numbers:
        """Return the matrix that each warp holds."""
        held = self.arrays[place.buffer].elements[self._registers(place, fragment.registers, node)]
        matrix = np.empty((len(self.thread) // WARP, fragment.rows, fragment.columns), held.dtype)
        rows, columns = _table(fragment)
        matrix[:, rows, columns] = held.reshape(-1, WARP, fragment.registers)
        return matrix

    def _value(self, terms: Terms) -> Numbers | int:
        total: Numbers | int = 0
        for name, factor in terms:
            total = total + factor * self.index[name]
        return total

    def _where(self, place: Place, threads: Numbers, statement: Statement) -> tuple[_Watched, Numbers, Numbers]:
        """Return the array of an element, and for each thread its row and position."""
        watched = self.arrays[place.buffer]
        position = np.broadcast_to(watched.array.origin + self._value(place.terms), self.thread.shape)[threads]
        outside = (position < 0) | (position >= watched.array.size)
        if outside.any():
            who = int(np.argmax(outside))
            at = position[who] - watched.array.origin
            raise self._fault(statement, f"element {at} of {place.buffer} lies outside", threads[who])
        row = watched.owner[threads]
        if watched.array.space is Space.GLOBAL and watched.array.role is Role.LOCAL:
            self._at_home(watched, row, position, threads, statement)
        return watched, row, position

    def _at_home(
        self, watched: _Watched, row: Numbers, position: Numbers, threads: Numbers, statement: Statement
    ) -> None:
        """Refuse that two blocks, which nothing keeps apart, touch one element of a temporary array."""
        block = threads // self.launch.threads
        empty = watched.home[row, position] == NOBODY
        watched.home[row[empty], position[empty]] = block[empty]
        foreign = watched.home[row, position] != block
        if foreign.any():
            who = threads[int(np.argmax(foreign))]
            raise self._fault(statement, f"another block touches the same element of {watched.array.name}", who)

    def _read(self, place: Place, threads: Numbers, statement: Statement) -> Numbers:
        watched, row, position = self._where(place, threads, statement)
        unknown = ~watched.written[row, position]
        if unknown.any():
            who = threads[int(np.argmax(unknown))]
            raise self._fault(statement, f"{place} is read before it is written", who)
        if _is_shared(watched.array):
            writer = watched.writer[row, position]
            self._no_race((writer != NOBODY) & (writer != threads), statement, place, threads, writer)
            np.minimum.at(watched.least_reader, (row, position), threads)
            np.maximum.at(watched.most_reader, (row, position), threads)
        return watched.elements[row, position]

    def _write(self, place: Place, threads: Numbers, value: Any, statement: Statement) -> None:
        watched, row, position = self._where(place, threads, statement)
        if _is_shared(watched.array):
            self._no_race_to_write(watched, row, position, threads, statement)
        watched.elements[row, position] = value
        watched.written[row, position] = True

    def _no_race_to_write(
        self, watched: _Watched, row: Numbers, position: Numbers, threads: Numbers, statement: Statement
    ) -> None:
        least, most = watched.least_reader[row, position], watched.most_reader[row, position]
        place = statement.output
        self._no_race((least != LAST) & (least != threads), statement, place, threads, least)
        self._no_race((most != NOBODY) & (most != threads), statement, place, threads, most)
        before = watched.writer[row, position]
        self._no_race((before != NOBODY) & (before != threads), statement, place, threads, before)
        watched.writer[row, position] = threads
        now = watched.writer[row, position]
        self._no_race(now != threads, statement, place, threads, now)

    def _no_race(self, race: Numbers, statement: Statement, place: Place, threads: Numbers, others: Numbers) -> None:
        if race.any():
            who = int(np.argmax(race))
            raise self._fault(
                statement, f"thread {others[who]} touches the same element of {place.buffer}", threads[who]
            )

    def _check_vector(self, loop: Repeat) -> None:
        """Refuse a vector whose elements are not neighbours, or do not begin at a multiple of their number."""
        held = loop.body[0]
        if loop.kind is not LoopKind.VECTOR or not isinstance(held, Statement):
            return
        place = held.output if held.operator == "store" else held.inputs[0]
        assert isinstance(place, Place)
        self.index[loop.name] = 0
        first = np.broadcast_to(self.arrays[place.buffer].array.origin + self._value(place.terms), self.thread.shape)
        crooked = first % loop.trips != 0
        if crooked.any() or dict(place.terms).get(loop.name) != 1:
            raise self._fault(held, f"the {loop.trips} elements of a vector are not aligned", int(np.argmax(crooked)))

    def _fault(self, statement: Statement, what: str, thread: int) -> LaunchFault:
        where = ", ".join(
            f"{name} = {int(value[thread]) if isinstance(value, np.ndarray) else value}"
            for name, value in self.index.items()
        )
        return LaunchFault(f"launch {self.launch.name}, thread {thread} ({where}): {what}\n  {statement}")


def _table(fragment: Fragment) -> tuple[Numbers, Numbers]:
    """Return rows and columns by thread of a warp and register."""
    found = np.array(fragment.elements)
    return found[..., 0], found[..., 1]


def _rounded_to_tf32(matrix: Numbers) -> Numbers:
    """Return numbers with ten bits behind the point, rounded to nearest, ties away from zero (`cvt.rna.tf32`)."""
    bits = matrix.astype(np.float32).view(np.uint32)
    return ((bits + np.uint32(1 << 12)) & np.uint32(0xFFFFE000)).view(np.float32).astype(matrix.dtype)


def _is_shared(array: Array) -> bool:
    """Whether threads can meet there: outputs and temporary arrays."""
    return array.space in (Space.SHARED, Space.GLOBAL) and array.role is not Role.IN
