"""The generator of element-wise kernels: an output from any number of inputs, column after column, a vector at a time.

Each operand is a vector (contiguous along m), broadcast (its stride along m is 0) or strided. Transpositions, where one
operand is contiguous along m and the other along n, are `transposition`'s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from einloom.kernels.formula.recipe import Recipe
from einloom.kernels.specs import ElementWise, Reduce, run_time_strides
from einloom.kernels.verbs.frame import Frame
from einloom.kernels.verbs.machine import KernelMachine

__all__ = ["Application", "Block", "Columns", "Operand"]

UNROLLED = ((3, 8), (6, 4), (12, 2))
"""Vectors that one iteration of the loop along m handles, by the most steps of the recipe; 1 for longer ones.

The processor overlaps vectors by itself; unrolling spares what a loop costs, which matters where little is computed.
"""

Register = Any


@dataclass(frozen=True, slots=True)
class Operand:
    """A matrix of the kernel: the name of its pointer and its strides along (m, n) in bytes or names of variables."""

    name: str
    strides: tuple[int | str, int | str]
    element: int

    @property
    def kind(self) -> str:
        """How its vectors along m are read: `vector`, `broadcast` or `strided`."""
        return {self.element: "vector", 0: "broadcast"}.get(self.strides[0], "strided")  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Block:
    """What an element-wise kernel works on: sizes, and for each matrix its strides along (m, n).

    A stride is a number of elements, or the name of the argument that holds it, as in `signature`.
    """

    m: int
    n: int
    strides: dict[str, tuple[int | str, int | str]]

    @staticmethod
    def of(spec: ElementWise | Reduce, names: Sequence[str]) -> Block:
        """Return the block of a spec whose matrices are called `names`."""
        strides = {}
        for name in names:
            given = getattr(spec, name)
            arguments = {axis: argument for argument, axis in run_time_strides(name, given)}
            strides[name] = tuple(arguments.get(axis, stride) for axis, stride in enumerate(given))
        return Block(spec.m, spec.n, strides)

    def exchanged(self) -> Block:
        """Return the transposed matrices."""
        return Block(self.n, self.m, {name: (n, m) for name, (m, n) in self.strides.items()})

    def with_single_indices_contiguous(self) -> Block:
        """Return the block with stride 1 along axes of one index, where a stride is never used."""
        single = (self.m == 1, self.n == 1)
        strides = {
            name: tuple(1 if one else stride for one, stride in zip(single, given))
            for name, given in self.strides.items()
        }
        return Block(self.m, self.n, strides)  # type: ignore[arg-type]

    def operands(
        self, element: int, reach: int, others: dict[str, int] | None = None
    ) -> tuple[list[Operand], dict[str, int], dict[str, int]]:
        """Return the operands with strides in bytes, those that no immediate can say by name, and the arguments.

        Elements have `element` bytes but where `others` says differently by the name of a matrix; arguments come with
        the size of the elements that they count.
        """
        constants: dict[str, int] = {}
        scaled: dict[str, int] = {}
        elements = dict.fromkeys(self.strides, element) | (others or {})

        def in_bytes(name: str, axis: int, stride: int | str) -> int | str:
            element = elements[name]
            if isinstance(stride, str):
                scaled[stride] = element
                return stride
            if abs(stride) * element <= reach // 64:
                return stride * element
            constants[f"{name}_{axis}"] = stride * element
            return f"{name}_{axis}"

        operands = [
            Operand(name, (in_bytes(name, 0, m), in_bytes(name, 1, n)), elements[name])
            for name, (m, n) in self.strides.items()
        ]
        return operands, constants, scaled


class Application:
    """A recipe with its constants in registers: what is done to one vector of each input.

    Attributes:
        registers: those for inputs and intermediate results; constants and temporaries are behind them.
        temporaries: two registers for loads and stores.
        unrolled: vectors that one iteration should handle.
    """

    def __init__(self, vec: Any, recipe: Recipe) -> None:
        self.vec, self.recipe = vec, recipe
        self.temporaries = vec.registers[-2:]
        self.registers = vec.registers[: len(vec.registers) - 2 - len(recipe.held)]
        self.unrolled = next((vectors for most, vectors in UNROLLED if len(recipe.steps) <= most), 1)
        self._held: dict[int, Register] = {}

    def prepare(self) -> None:
        """Load the constants."""
        self._held = self.recipe.hold(self.vec, self.vec.registers[len(self.registers) : -2])

    def __call__(
        self, inputs: list[Register], free: list[Register], memory: Mapping[int, Any] = MappingProxyType({})
    ) -> Register:
        """Emit the steps, inputs of `memory` being read from there; return the register of the result."""
        return self.recipe.emit(self.vec, inputs, free, self._held, memory)


class Columns:
    """Loops over columns and vectors, with an application in the middle.

    Args:
        km: emits the code.
        vec: its vector verbs.
        frame: holds the pointers, the strides and the counters `m` and `n`.
        size: (m, n).
        inputs, output: the matrices.
        apply: emits the operation on one vector of each input.
    """

    def __init__(
        self,
        km: KernelMachine,
        vec: Any,
        frame: Frame,
        size: tuple[int, int],
        inputs: Sequence[Operand],
        output: Operand,
        apply: Application,
    ) -> None:
        self.km, self.vec, self.frame = km, vec, frame
        self.m, self.n = size
        self.inputs, self.output = list(inputs), output
        self.apply = apply
        self.indices: dict[str, Any] = {}

    def emit(self) -> None:
        """Emit the loops; the pointers end behind the last column."""
        self._index_strided()
        self.apply.prepare()
        unrolled = self.apply.unrolled
        lanes = self.vec.lanes
        tail = self.m % lanes
        mask = self.vec.mask(tail) if tail else None
        whole = self.m // lanes
        trips, rest = divmod(whole, unrolled)
        if trips == 1:
            trips, rest = 0, whole
        with self.frame.loop(self.n, "n"):
            if trips:
                with self.frame.loop(trips, "m"):
                    self._vectors(unrolled, 0, None)
                    self._advance(0, unrolled * lanes)
            self._vectors(rest, tail, mask)
            if self.n > 1:
                self._advance(0, -trips * unrolled * lanes)
                self._advance(1, 1)

    def _index_strided(self) -> None:
        for number, operand in enumerate(o for o in (*self.inputs, self.output) if o.kind == "strided"):
            stride = operand.strides[0]
            value = stride if isinstance(stride, int) else self.frame.read(stride)
            slot = number * self.vec.index_bytes
            self.indices[operand.name] = self.vec.stride_index(value, slot, self.vec.registers[0])

    def _advance(self, axis: int, count: int) -> None:
        operands = {operand.name: operand for operand in (*self.inputs, self.output)}  # one may be read and written
        for operand in operands.values():
            self.frame.advance(operand.name, operand.strides[axis], count)

    def _vectors(self, whole: int, tail: int, mask: Any) -> None:
        for row in range(whole + bool(tail)):
            last = row == whole
            self._vector(row, self.vec.lanes if not last else tail, mask if last else None)

    def _vector(self, row: int, count: int, mask: Any) -> None:
        free = list(self.apply.registers)
        registers = [free.pop(0) for _ in self.inputs]
        memory: dict[int, Any] = {}
        for number, (operand, register) in enumerate(zip(self.inputs, registers)):
            if number in self.apply.recipe.direct and operand.kind == "vector" and mask is None:
                memory[number] = self.km.place(*self._place(operand, row))
            else:
                self._load(operand, register, row, count, mask)
        result = self.apply(registers, free, memory)
        base, offset = self._place(self.output, row)
        if self.output.kind == "vector":
            self.vec.store(self.km.place(base, offset), result, mask, temporary=self.apply.temporaries[0])
        else:
            index = self.indices[self.output.name]
            self.vec.store_strided(base, offset, result, index, count, self.apply.temporaries)

    def _load(self, operand: Operand, register: Register, row: int, count: int, mask: Any) -> None:
        base, offset = self._place(operand, row)
        if operand.kind == "vector":
            self.vec.load(register, self.km.place(base, offset), mask)
        elif operand.kind == "broadcast":
            self.vec.broadcast(register, self.km.place(base, offset))
        else:
            self.vec.load_strided(register, base, offset, self.indices[operand.name], count, self.apply.temporaries)

    def _place(self, operand: Operand, row: int) -> tuple[Register, int]:
        """The pointer and the offset of vector `row`; far ones of a strided operand are reached by adding."""
        base = self.frame.read(operand.name)
        stride, elements = operand.strides[0], row * self.vec.lanes
        if isinstance(stride, int) and abs(stride * elements) <= self.km.reach // 2:
            return base, stride * elements
        if row:
            self.km.move(self.frame.temporary, base)
            base = self.frame.temporary
            self.frame.add_multiple(base, stride, elements)
        return base, 0
