"""From a full assignment to its one nest: loops from the forest, scalar statements with their addresses, barriers.

Values live in registers indexed by the unrolled, vector and thread dimensions of their producer. A reduction and its
start share a register. A temporary array is indexed by the dimensions that are not fused around its store and its load,
in the order of `layout`; one in the device's memory has a copy for each block of threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from einloom.dtypes import FLOAT32
from einloom.ir.nest import Buffer, Loop, Nest, Node
from einloom.ir.operation import Axis, DimType, Operand
from einloom.ir.statement import Barrier, LoopKind, Place, Signature, Statement, Terms
from einloom.space.assignment import Assignment
from einloom.space.backbone import Constant, Dimension, Instruction, Parameter, Reduction, Result, Temporary
from einloom.space.forest import Forest, Fused, forest

__all__ = ["decode"]

_EXPANDED = ("UNROLL", "VECTOR", "THREAD")
"""Kinds of dimensions whose iterations keep a register each."""


def decode(assignment: Assignment) -> Nest:
    """Return the nest that a full assignment describes.

    Raises:
        ScheduleError: a decision is missing, or the orders describe no loops.
    """
    return _Decoder(assignment, forest(assignment)).nest()


@dataclass(frozen=True)
class _Decoder:
    assignment: Assignment
    forest: Forest

    def nest(self) -> Nest:
        """Return the whole nest."""
        operands = (*self.assignment.backbone.regions, *map(Parameter, self.assignment.backbone.parameters))
        buffers = [Buffer(each.name, FLOAT32) for each in operands]
        offset = 0
        for name, size in self._local_sizes():
            buffers.append(Buffer(name, FLOAT32, offset, size))
            offset += size * FLOAT32.size
        axes = tuple(Axis(name, self.assignment.extent(name), DimType.C) for name in dict.fromkeys(self.loops.values()))
        taken = tuple(Operand(each.name, FLOAT32, ()) for each in operands)
        signature = Signature(axes, taken, name=self.assignment.backbone.name)
        return Nest(signature, tuple(buffers), tuple(self._nodes(self.forest.roots)))

    @cached_property
    def loops(self) -> dict[str, str]:
        """The loop that each dimension became."""
        groups = {loop for loops in self.forest.outside().values() for loop in loops}
        return {name: loop.name for loop in sorted(groups, key=lambda each: each.name) for name in loop.dimensions}

    @cached_property
    def has_threads(self) -> bool:
        """Whether more than one thread runs in a block."""
        return any(self.assignment.kind(name) == "THREAD" for name in self.assignment.dimensions)

    def _nodes(self, nodes: tuple[Fused | str, ...]) -> Iterator[Node]:
        written: set[str] = set()
        read: set[str] = set()
        for node in nodes:
            reads, writes = self._temporaries_inside(node)
            if self.has_threads and (reads & written or writes & read):
                yield Barrier()
                written, read = set(), set()
            yield self._loop(node) if isinstance(node, Fused) else self._statement(self.assignment.instructions[node])
            written, read = written | writes, read | reads

    def _loop(self, loop: Fused) -> Loop:
        kind = LoopKind(self.assignment.kind(loop.dimensions[0]).lower())
        body = tuple(self._nodes(loop.body))
        reads, writes = self._temporaries_inside(loop)
        if self.has_threads and kind is LoopKind.LOOP and reads & writes:
            body = (*body, Barrier())
        extent = self.assignment.extent(loop.dimensions[0])
        return Loop(loop.name, loop.name, kind, 1, extent, extent, (), body)

    def _temporaries_inside(self, node: Fused | str) -> tuple[set[str], set[str]]:
        """Return the temporaries that a node reads, and those that it writes."""
        reads: set[str] = set()
        writes: set[str] = set()
        if isinstance(node, Fused):
            for child in node.body:
                below = self._temporaries_inside(child)
                reads, writes = reads | below[0], writes | below[1]
        for temporary in self.assignment.temporaries:
            if node == temporary.load.name:
                reads.add(temporary.region.name)
            if node == temporary.store.name:
                writes.add(temporary.region.name)
        return reads, writes

    def _statement(self, instruction: Instruction) -> Statement:
        inputs = tuple(self._input(instruction, operand) for operand in instruction.operands)
        output = self._register(instruction)
        if instruction.access and instruction.operator == "load":
            inputs = (self._element(instruction),)
        elif instruction.access:
            output = self._element(instruction)
        return Statement(instruction.operator, output, inputs, self._within(instruction), self._flags(instruction))

    def _input(self, user: Instruction, operand: Constant | Parameter | Result | Reduction) -> Place | float:
        if isinstance(operand, Constant):
            return operand.value
        if isinstance(operand, Parameter):
            return Place(operand.name)
        if isinstance(operand, Reduction):
            return self._register(user)
        producer = self.assignment.instructions[operand.instruction]
        mapping = dict(operand.mapping)
        return self._register(producer, {name: mapping.get(name, name) for name in producer.dimensions})

    def _register(self, instruction: Instruction, through: Mapping[str, str] | None = None) -> Place:
        """Return the register of an instruction's value, with its dimensions replaced by those of `through`."""
        keeper = self._keeper(instruction)
        if keeper is not instruction:
            start = next(o.start for o in keeper.operands if isinstance(o, Reduction))
            through = {target: source for source, target in start.mapping}
        terms: list[tuple[str, int]] = []
        for name, stride in self._register_strides(keeper):
            terms.append((self.loops[(through or {}).get(name, name)], stride))
        return Place(f"r_{keeper.name}", tuple(terms))

    def _keeper(self, instruction: Instruction) -> Instruction:
        """Return the instruction whose register holds a value: the reduction, for its start."""
        for other in self.assignment.instructions.values():
            for operand in other.operands:
                if isinstance(operand, Reduction) and operand.start.instruction == instruction.name:
                    return other
        return instruction

    def _register_strides(self, instruction: Instruction) -> list[tuple[str, int]]:
        kept = [
            name
            for name in instruction.dimensions
            if name not in instruction.reduced and self.assignment.kind(name) in _EXPANDED
        ]
        return _dense(kept, [self.assignment.extent(name) for name in kept])

    def _element(self, instruction: Instruction) -> Place:
        """Return the element of memory that a load or store touches."""
        access = instruction.access
        assert access is not None
        for temporary in self.assignment.temporaries:
            if temporary.region.name == access.region:
                return Place(access.region, self._temporary_terms(temporary, instruction is temporary.store))
        index = {axis: self._index(instruction, axis) for axis, _ in access.strides}
        scaled = [(loop, factor * stride) for axis, stride in access.strides for loop, factor in index[axis]]
        return Place(access.region, tuple(scaled))

    def _temporary_terms(self, temporary: Temporary, stored: bool) -> Terms:
        pairs = {pair[0]: pair[0] if stored else pair[1] for pair in self._storage(temporary)}
        names = [*pairs, *self._copies(temporary)]
        strides = _dense(names, [self.assignment.extent(name) for name in names])
        return tuple((self.loops[pairs.get(name, name)], stride) for name, stride in strides)

    def _storage(self, temporary: Temporary) -> list[tuple[str, str]]:
        """Return the pairs of dimensions that index a temporary, innermost first."""
        pairs = [pair for pair in temporary.pairs if self.assignment.order(*pair) != "MERGED"]
        region = temporary.region.name

        def inner(pair: tuple[str, str]) -> int:
            others = [other for other in pairs if other != pair]
            return sum(self.assignment.value("layout", region, pair[0], other[0]) == "OUTER" for other in others)

        return sorted(pairs, key=inner)

    def _copies(self, temporary: Temporary) -> list[str]:
        """Return the loops over blocks, for an array in the device's memory: each block has its own copy."""
        if self.assignment.value("mem_space", temporary.region.name) == "SHARED":
            return []
        around = self.forest.outside()[temporary.store.name]
        return [loop.name for loop in around if self.assignment.kind(loop.name) == "BLOCK"]

    def _index(self, instruction: Instruction, axis: str) -> Terms:
        """Return the index along an axis at an instruction, as a function of its own loops."""
        own = [self.assignment.dimensions[name] for name in instruction.dimensions]
        levels: list[Dimension] = sorted((d for d in own if d.axis == axis), key=lambda d: -d.level)
        strides = _dense([d.name for d in levels], [self.assignment.extent(d.name) for d in levels])
        return tuple((self.loops[name], stride) for name, stride in reversed(strides))

    def _within(self, instruction: Instruction) -> tuple[tuple[Terms, int], ...]:
        """Return the limits that keep an instruction inside the axes whose tiles leave a tail."""
        names = dict.fromkeys(self.assignment.dimensions[name].axis for name in instruction.dimensions)
        axes = [self.assignment.backbone.axis[name] for name in names]
        return tuple(
            (self._index(instruction, a.name), a.size) for a in axes if a.size % self.assignment.tiling(a.name)
        )

    def _flags(self, instruction: Instruction) -> tuple[str, ...]:
        if instruction.access is None:
            return ()
        space = str(self.assignment.value("mem_space", instruction.access.region)).lower()
        cache = str(self.assignment.value("cache", instruction.name)).lower()
        return (space,) if cache == "none" else (space, f"cache={cache}")

    def _local_sizes(self) -> Iterator[tuple[str, int]]:
        """Yield the registers and temporary arrays with their sizes in elements."""
        for instruction in self.assignment.instructions.values():
            if instruction.operator != "store" and self._keeper(instruction) is instruction:
                yield (
                    f"r_{instruction.name}",
                    _size(self.assignment, [n for n, _ in self._register_strides(instruction)]),
                )
        for temporary in self.assignment.temporaries:
            names = [pair[0] for pair in self._storage(temporary)]
            yield temporary.region.name, _size(self.assignment, [*names, *self._copies(temporary)])


def _dense(names: list[str], extents: list[int]) -> list[tuple[str, int]]:
    """Return the strides of a dense array, first name innermost."""
    strides, stride = [], 1
    for name, extent in zip(names, extents):
        strides.append((name, stride))
        stride *= extent
    return strides


def _size(assignment: Assignment, names: list[str]) -> int:
    size = 1
    for name in names:
        size *= assignment.extent(name)
    return size
