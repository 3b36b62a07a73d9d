"""From a full assignment to its one nest: loops from the forest, scalar statements with their addresses, barriers.

Values live in registers indexed by the unrolled, vector and thread dimensions of their producer. A reduction and its
start share a register. A temporary array is indexed by the dimensions that are not fused around its store and its load,
in the order of `layout`; one in the device's memory has a copy for each block of threads. Where several threads of a
loop would store the same element of it, a predicate leaves that to the first one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from einloom.frozen import frozen
from einloom.ir.nest import Buffer, Loop, Nest, Node
from einloom.ir.operation import Axis, DimType, Operand
from einloom.ir.statement import LoopKind, Place, Signature, Statement, Terms
from einloom.once import cached_property
from einloom.space.assignment import Assignment
from einloom.space.backbone import Constant, Dimension, Instruction, Parameter, Reduction, Result, Temporary
from einloom.space.barriers import with_barriers
from einloom.space.forest import Forest, FusedLoop, forest

__all__ = ["decode"]

_EXPANDED = ("UNROLL", "VECTOR", "THREAD")
"""Kinds of dimensions whose iterations keep a register each."""


def decode(assignment: Assignment, private: bool = False) -> Nest:
    """Return the nest that a full assignment describes.

    Args:
        assignment: all decisions.
        private: whether registers are those of one thread, as it is on a device, instead of those of all threads.

    Raises:
        ScheduleError: a decision is missing, or the orders describe no loops.
    """
    return _Decoder(assignment, forest(assignment), _EXPANDED[:2] if private else _EXPANDED).nest()


@frozen(slots=False)
class _Decoder:
    assignment: Assignment
    forest: Forest
    expanded: tuple[str, ...]

    def nest(self) -> Nest:
        """Return the whole nest."""
        backbone = self.assignment.backbone
        held = backbone.dtype.accumulate
        types = {each.name: backbone.type_of(each) for each in backbone.regions}
        operands = (*backbone.regions, *map(Parameter, backbone.parameters))
        buffers = [Buffer(each.name, types.get(each.name, held)) for each in operands]
        offset = 0
        for name, size in self._local_sizes():
            buffers.append(Buffer(name, held, offset, size))
            offset += size * held.size
        axes = tuple(Axis(name, self.assignment.extent(name), DimType.C) for name in dict.fromkeys(self.loops.values()))
        taken = tuple(Operand(buffer.name, buffer.dtype, ()) for buffer in buffers[: len(operands)])
        signature = Signature(axes, taken, name=backbone.name)
        shared = {temporary.region.name for temporary in self.assignment.temporaries}
        nodes = with_barriers(tuple(map(self._node, self.forest.roots)), shared)
        return Nest(signature, signature.axes, tuple(buffers), nodes)

    @cached_property
    def _around(self) -> dict[str, tuple[FusedLoop, ...]]:
        return self.forest.outside()

    @cached_property
    def loops(self) -> dict[str, str]:
        """The loop that each dimension became."""
        groups = {loop.dimensions: loop.name for loops in self._around.values() for loop in loops}
        return {name: loop for names, loop in sorted(groups.items(), key=lambda each: each[1]) for name in names}

    def _node(self, node: FusedLoop | str) -> Node:
        if not isinstance(node, FusedLoop):
            return self._statement(self.assignment.instructions[node])
        first = node.dimensions[0]
        kind, extent = LoopKind(self.assignment.kind(first).lower()), self.assignment.extent(first)
        return Loop(node.name, node.name, kind, 1, extent, (), (), tuple(map(self._node, node.body)))

    def _statement(self, instruction: Instruction) -> Statement:
        inputs = tuple(self._input(instruction, operand) for operand in instruction.inputs)
        output = self._register(instruction)
        if instruction.address and instruction.operator == "load":
            inputs = (self._element(instruction),)
        elif instruction.address:
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
            start = next(o.start for o in keeper.inputs if isinstance(o, Reduction))
            through = {target: source for source, target in start.mapping}
        terms: list[tuple[str, int]] = []
        for name, stride in self._register_strides(keeper):
            terms.append((self.loops[(through or {}).get(name, name)], stride))
        return Place(f"r_{keeper.name}", tuple(terms))

    def _keeper(self, instruction: Instruction) -> Instruction:
        """Return the instruction whose register holds a value: the reduction, for its start."""
        for other in self.assignment.instructions.values():
            for operand in other.inputs:
                if isinstance(operand, Reduction) and operand.start.instruction == instruction.name:
                    return other
        return instruction

    def _register_strides(self, instruction: Instruction) -> list[tuple[str, int]]:
        kept = [
            name
            for name in instruction.dimensions
            if name not in instruction.reduced and self.assignment.kind(name) in self.expanded
        ]
        return _dense(kept, [self.assignment.extent(name) for name in kept])

    def _element(self, instruction: Instruction) -> Place:
        """Return the element of memory that a load or store touches."""
        address = instruction.address
        assert address is not None
        for temporary in self.assignment.temporaries:
            if temporary.region.name == address.region:
                return Place(address.region, self._temporary_terms(temporary, instruction is temporary.store))
        index = {axis: self._index(instruction, axis) for axis, _ in address.strides}
        scaled = [(loop, factor * stride) for axis, stride in address.strides for loop, factor in index[axis]]
        return Place(address.region, tuple(scaled))

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
        around = self._around[temporary.store.name]
        return [loop.name for loop in around if self.assignment.kind(loop.name) == "BLOCK"]

    def _index(self, instruction: Instruction, axis: str) -> Terms:
        """Return the index along an axis at an instruction, as a function of its own loops."""
        own = [self.assignment.dimensions[name] for name in instruction.dimensions]
        levels: list[Dimension] = sorted((d for d in own if d.axis == axis), key=lambda d: -d.level)
        strides = _dense([d.name for d in levels], [self.assignment.extent(d.name) for d in levels])
        return tuple((self.loops[name], stride) for name, stride in reversed(strides))

    def _within(self, instruction: Instruction) -> tuple[tuple[Terms, int], ...]:
        """Return what limits an instruction: the ends of axes whose tiles leave a tail, one writer of each element."""
        names = dict.fromkeys(self.assignment.dimensions[name].axis for name in instruction.dimensions)
        axes = [self.assignment.backbone.axis[name] for name in names]
        tails = [(self._index(instruction, a.name), a.size) for a in axes if a.size % self.assignment.tiling(a.name)]
        return (*tails, *self._one_writer(instruction))

    def _one_writer(self, instruction: Instruction) -> Iterator[tuple[Terms, int]]:
        """Yield limits by which only the first of the threads that would store one element of a temporary does."""
        if instruction.name in {temporary.store.name for temporary in self.assignment.temporaries}:
            for loop in self._around[instruction.name]:
                repeats = not any(name in instruction.dimensions for name in loop.dimensions)
                if repeats and self.assignment.kind(loop.name) == "THREAD":
                    yield ((loop.name, 1),), 1

    def _flags(self, instruction: Instruction) -> tuple[str, ...]:
        if instruction.address is None:
            return ()
        space = str(self.assignment.value("mem_space", instruction.address.region)).lower()
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
    strides: list[tuple[str, int]] = []
    stride = 1
    for name, extent in zip(names, extents):
        strides.append((name, stride))
        stride *= extent
    return strides


def _size(assignment: Assignment, names: list[str]) -> int:
    size = 1
    for name in names:
        size *= assignment.extent(name)
    return size
