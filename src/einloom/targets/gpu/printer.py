"""`print_launch`: the text of a launch's kernel. Names are those of the candidate's dimensions, a line a statement.

Unrolled loops stay loops with a pragma in front: compilers write them out and keep the private arrays that they index
in registers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from einloom.errors import UnsupportedTarget
from einloom.frozen import frozen
from einloom.ir.gpu.fragments import MMA
from einloom.ir.gpu.launch import Array, Launch, LaunchNode, Level, Mma, Repeat, Role, Space, places, repeats
from einloom.ir.statement import LoopKind, Place, Statement, Terms
from einloom.once import cached_property
from einloom.targets.gpu.dialect import Dialect, Type
from einloom.targets.gpu.sizes import Key, has_long_indices, key_of_end, key_of_step, key_of_trips, origins_of, sizes_of

__all__ = ["print_launch"]

COMPONENTS = "xyzw"


def print_launch(
    launch: Launch, dialect: Dialect, comment: str = "", sizes: bool = False, begins: Sequence[str] = ()
) -> str:
    """Return the text of a kernel that does what a launch says.

    Args:
        launch: the program.
        dialect: `OPENCL` or `CUDA`.
        comment: what stands above the kernel, without its slashes.
        sizes: whether numbers that follow from extents are arguments.
        begins: arrays whose origins are arguments; with `sizes` those of all that have one.

    Raises:
        UnsupportedTarget: the language has no words for a type of the launch.
    """
    if sizes:
        return _Printer(launch, dialect, sizes_of(launch), origins_of(launch)).text(comment)
    return _Printer(launch, dialect, {}, begins).text(comment)


@frozen(slots=False)
class _Printer:
    launch: Launch
    dialect: Dialect
    sizes: Mapping[Key, int]
    begins: Sequence[str]

    def text(self, comment: str) -> str:
        """Return the whole text."""
        helpers = dict.fromkeys(self._type(each).helpers for each in self.launch.arrays)
        if any(each.space is Space.FRAGMENT for each in self.launch.arrays):
            helpers[self.dialect.mma_helpers] = None
        lines = [f"// {line}".rstrip() for line in comment.splitlines()]
        lines += [line for helper in helpers if helper for line in (*helper.strip().splitlines(), "")]
        threads = tuple(level.extent for level in self.launch.block) + (1,) * (3 - len(self.launch.block))
        given = ", ".join([*map(self._parameter, self.launch.arguments), *self._numbers()])
        lines.append(f"{self.dialect.kernel(threads)} {self.launch.name}({given}) {{")
        lines += [f"  {self.names[each]} += begin_{self.names[each]};" for each in self.begins]
        lines += [f"  {line}" for line in (*self._arrays(), *self._levels())]
        lines += self._nodes(self.launch.body, 1)
        return "\n".join([*lines, "}", ""])

    @cached_property
    def names(self) -> dict[str, str]:
        """What levels, loops and arrays are called: a point becomes an underscore."""
        loops = {loop.name for loop in repeats(self.launch)}
        levels = [level.name for level in (*self.launch.grid, *self.launch.block)]
        found: dict[str, str] = {}
        for name in (*self.launch.array, *levels, *sorted(loops)):
            found[name] = _plain(name, found)
        return found

    @cached_property
    def told(self) -> dict[Key, str]:
        """What sizes are called."""
        found: dict[Any, str] = dict(self.names)
        for key in self.sizes:
            found[key] = _plain("_".join(key[:2] if key[0] == "end" else key), found)
        return {key: found[key] for key in self.sizes}

    def _size(self, key: Key, value: int) -> str:
        """Return the name of a size that is an argument, else the number."""
        return self.told.get(key) or str(value)

    def _numbers(self) -> Iterator[str]:
        """Yield the parameters behind the launch's own."""
        yield from (self.dialect.argument.format(self.dialect.long, f"begin_{self.names[n]}") for n in self.begins)
        yield from (self.dialect.argument.format(self.index, name) for name in self.told.values())

    @property
    def index(self) -> str:
        """The type of indices."""
        return self.dialect.long if has_long_indices(self.launch) else "int"

    def _type(self, array: Array) -> Type:
        try:
            return self.dialect.types[array.dtype.name]
        except KeyError:
            known = ", ".join(self.dialect.types)
            raise UnsupportedTarget(f"{self.dialect.name} has no {array.dtype} here\n  It has {known}.") from None

    def _parameter(self, array: Array) -> str:
        kind = self.dialect.argument
        if array.space is Space.GLOBAL:
            kind = self.dialect.input if array.role is Role.IN else self.dialect.output
        return kind.format(self._type(array).stored, self.names[array.name])

    def _arrays(self) -> Iterator[str]:
        for each in self.launch.arrays:
            if each.space in (Space.REGISTER, Space.FRAGMENT):
                yield f"{self._held(each)} {self.names[each.name]}[{each.size}];"
        shared = [each for each in self.launch.arrays if each.space is Space.SHARED]
        # What is aligned most comes first: then nothing lies between the arrays, and they take what the space counts.
        for each in sorted(shared, key=self._alignment, reverse=True):
            aligned = ""
            if self._alignment(each) > each.dtype.size:
                aligned = f" {self.dialect.aligned.format(self._alignment(each))}"
            yield f"{self.dialect.shared}{aligned} {self._held(each)} {self.names[each.name]}[{each.size}];"

    def _alignment(self, array: Array) -> int:
        """Return what an array's first byte is a multiple of: the bytes of the longest vector that touches it."""
        return array.dtype.size * self.longest_vector.get(array.name, 1)

    @cached_property
    def longest_vector(self) -> dict[str, int]:
        """The most elements that a vector moves, by the array in memory that it touches."""
        found: dict[str, int] = {}
        for loop in repeats(self.launch):
            held = loop.body[0] if loop.kind is LoopKind.VECTOR else None
            for place in places(held) if isinstance(held, Statement) else ():
                found[place.buffer] = max(found.get(place.buffer, 1), loop.trips)
        return found

    def _held(self, array: Array) -> str:
        """Return the type of a local array: fragments, and shared copies of them, keep what memory holds."""
        return self._type(array).stored if self._is_raw(array) else self._type(array).held

    def _is_raw(self, array: Array) -> bool:
        return array.space is Space.FRAGMENT or (array.space is Space.SHARED and array.dtype.accumulate != array.dtype)

    def _levels(self) -> Iterator[str]:
        for words, levels in ((self.dialect.block, self.launch.grid), (self.dialect.thread, self.launch.block)):
            for word, level in zip(words, levels):
                yield f"const {self.index} {self.names[level.name]} = {word};{_told(level)}"

    def _nodes(self, nodes: tuple[LaunchNode, ...], depth: int) -> Iterator[str]:
        indent = "  " * depth
        for node in nodes:
            if isinstance(node, Statement):
                yield indent + self._limited(node, self._statement(node))
            elif isinstance(node, Mma):
                yield indent + self._mma(node)
            elif not isinstance(node, Repeat):
                yield indent + self.dialect.barrier
            elif node.kind is LoopKind.VECTOR:
                held = node.body[0]
                assert isinstance(held, Statement)
                yield indent + self._limited(held, self._vector(held, node))
            else:
                yield from self._loop(node, depth)

    def _mma(self, node: Mma) -> str:
        if self.dialect.mma is None:
            raise UnsupportedTarget(f"{self.dialect.name} has no products of fragments\n  Leave out mma=True.")
        shape, array = MMA[node.shape], self.launch.array[node.a.buffer]
        counted = ((node.c, shape.c), (node.a, shape.a), (node.b, shape.b))
        c, a, b = ([self._register(place, n) for n in range(each.registers)] for place, each in counted)
        return self.dialect.mma(node.shape, array.dtype.name, c, a, b)

    def _register(self, place: Place, number: int) -> str:
        return f"{self.names[place.buffer]}[{self._affine(place.terms, number)}]"

    def _loop(self, loop: Repeat, depth: int) -> Iterator[str]:
        indent, name = "  " * depth, self.names[loop.name]
        if loop.kind is LoopKind.UNROLL:
            yield f"{indent}#pragma unroll"
        trips = self._size(key_of_trips(loop.name), loop.trips)
        # Loops run once at least: a compiler that is told so puts no branch around them, nor around a barrier in them.
        first = "" if trips.isdigit() else f"{name} == 0 || "
        yield f"{indent}for ({self.index} {name} = 0; {first}{name} < {trips}; {name}++) {{"
        yield from self._nodes(loop.body, depth + 1)
        yield f"{indent}}}"

    def _limited(self, statement: Statement, text: str) -> str:
        """Return a statement behind its limits."""
        if not statement.within:
            return text
        limits = [
            f"{self._affine(terms)} < {self._size(key_of_end(terms), limit)}" for terms, limit in statement.within
        ]
        return f"if ({' && '.join(limits)}) {text}"

    def _statement(self, statement: Statement) -> str:
        output = self.launch.array[statement.output.buffer]
        held = self._type(output)
        values = [self._value(each, statement, held, self._is_raw(output)) for each in statement.inputs]
        value = self._computed(statement.operator, values, held)
        if output.space is not Space.GLOBAL:
            return f"{self._element(statement.output)} = {value};"
        pointer = f"{self.names[output.name]} + {self._position(statement.output)}"
        return self.dialect.store[_cache(statement)].format(pointer, held.written.format(value)) + ";"

    def _computed(self, operator: str, values: list[str], held: Type) -> str:
        if operator in ("load", "store", "move"):
            return values[0]
        if operator not in held.operators:
            raise UnsupportedTarget(
                f"{self.dialect.name} has no {operator} of {held.held} here\n  It has {', '.join(held.operators)}."
            )
        return held.operators[operator].format(*values)

    def _value(self, given: Place | float, statement: Statement, held: Type, raw: bool) -> str:
        if not isinstance(given, Place):
            return held.constant(given)
        array = self.launch.array[given.buffer]
        if array.space is Space.ARGUMENT:
            return self._type(array).read.format(self.names[array.name])
        if array.space is not Space.GLOBAL:
            return self._element(given)
        pointer = f"{self.names[array.name]} + {self._position(given)}"
        element = self.dialect.load[_cache(statement)].format(pointer)
        return element if raw else self._type(array).read.format(element)

    def _element(self, place: Place, part: tuple[str, int] | None = None) -> str:
        return f"{self.names[place.buffer]}[{self._position(place, part)}]"

    def _position(self, place: Place, part: tuple[str, int] | None = None) -> str:
        """Return where an element lies; of `part`, the index of a vector's loop is a number."""
        terms, position = place.terms, 0 if place.buffer in self.begins else self.launch.array[place.buffer].origin
        if part is not None:
            position += sum(factor * part[1] for name, factor in terms if name == part[0])
            terms = tuple(term for term in terms if term[0] != part[0])
        return self._affine(terms, position, place.buffer)

    def _vector(self, statement: Statement, loop: Repeat) -> str:
        """Return a load or store of a whole vector, and moves from or to the registers of its elements."""
        is_load = statement.operator == "load"
        source = statement.inputs[0]
        assert isinstance(source, Place)
        far, near = (source, statement.output) if is_load else (statement.output, source)
        array = self.launch.array[far.buffer]
        held = self._type(array)
        # Shared arrays hold what registers hold, and fragments what memory holds.
        element, read, written, kind = self._held(array), "{0}", "{0}", self.dialect.shared_pointer
        if array.space is Space.GLOBAL:
            element, kind = held.stored, self.dialect.pointer
            if not self._is_raw(self.launch.array[near.buffer]):
                read, written = held.read, held.written
        vector = f"{element}{loop.trips}"
        pointer = f"({kind.format(vector)})({self.names[array.name]} + {self._position(far, (loop.name, 0))})"
        parts = [(f"v.{COMPONENTS[i]}", self._element(near, (loop.name, i))) for i in range(loop.trips)]
        if is_load:
            moved = " ".join(f"{register} = {read.format(part)};" for part, register in parts)
            return f"{{ const {vector} v = {self.dialect.load[_cache(statement)].format(pointer)}; {moved} }}"
        moved = " ".join(f"{part} = {written.format(register)};" for part, register in parts)
        return f"{{ {vector} v; {moved} {self.dialect.store[_cache(statement)].format(pointer, 'v')}; }}"

    def _affine(self, terms: Terms, origin: int = 0, array: str = "") -> str:
        """Return an affine function of indices; terms by their names in the order of the launch."""
        factors = [self._size(key_of_step(array, name), factor) for name, factor in terms]
        names = [self.names[name] for name, _ in terms]
        parts = [name if factor == "1" else f"{factor} * {name}" for name, factor in zip(names, factors)]
        if origin or not parts:
            parts.append(str(origin))
        return " + ".join(parts)


def _plain(name: str, taken: Mapping[Any, str]) -> str:
    """Return a name that languages take, and nothing else has."""
    plain = re.sub(r"\W", "_", name, flags=re.ASCII)
    while plain in taken.values():
        plain += "_"
    return plain


def _cache(statement: Statement) -> str:
    """Return the cache directive of a load or store; empty for shared memory."""
    named = [flag.removeprefix("cache=") for flag in statement.flags if flag.startswith("cache=")]
    return named[0] if named else ("" if "shared" in statement.flags else "none")


def _told(level: Level) -> str:
    return f"  // {level.name}" + (f", {', '.join(level.also)}" if level.also else "")
