"""The generator of element-wise kernels: an output from any number of inputs, column after column, a vector at a time.

Each operand is a vector (contiguous along m), broadcast (its stride along m is 0) or strided. Transpositions, where one
operand is contiguous along m and the other along n, are `transposition`'s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Generic

from einloom.frozen import frozen
from einloom.kernels.elementwise.application import Application
from einloom.kernels.fetch import BROADCAST, STRIDED, VECTOR, Fetch
from einloom.kernels.specs import ElementWise, Reduce, named_strides
from einloom.kernels.verbs.frame import Frame
from einloom.kernels.verbs.scalar import A, R, ScalarVerbs
from einloom.kernels.verbs.vector import CopyVerbs, Mask, StrideIndex, V

__all__ = ["Block", "Columns", "Matrix"]


@frozen
class Matrix:
    """A matrix of a kernel: the name of its pointer and its strides along (m, n) in bytes or names of variables."""

    name: str
    strides: tuple[int | str, int | str]
    element: int

    @property
    def fetch(self) -> Fetch:
        """How its vectors along m are read."""
        return Fetch.along(self.strides[0], self.element)


@frozen
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
        strides = {name: named_strides(name, spec.strides[name]) for name in names}
        return Block(spec.m, spec.n, {name: (along[0], along[1]) for name, along in strides.items()})

    def exchanged(self) -> Block:
        """Return the transposed matrices."""
        return Block(self.n, self.m, {name: (n, m) for name, (m, n) in self.strides.items()})

    def with_single_indices_contiguous(self) -> Block:
        """Return the block with stride 1 along axes of one index, where a stride is never used."""
        strides = {name: (1 if self.m == 1 else m, 1 if self.n == 1 else n) for name, (m, n) in self.strides.items()}
        return Block(self.m, self.n, strides)

    def matrices(
        self, element: int, reach: int, others: dict[str, int] | None = None
    ) -> tuple[list[Matrix], dict[str, int], dict[str, int]]:
        """Return the matrices with strides in bytes, those that no immediate can say by name, and the arguments.

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

        matrices = [
            Matrix(name, (in_bytes(name, 0, m), in_bytes(name, 1, n)), elements[name])
            for name, (m, n) in self.strides.items()
        ]
        return matrices, constants, scaled


class Columns(Generic[R, V, A]):
    """Loops over columns and vectors, with an application in the middle.

    Args:
        km: emits the code.
        vec: its verbs of copying, in registers.
        frame: holds the pointers, the strides and the counters `m` and `n`.
        size: (m, n).
        inputs, output: the matrices.
        apply: emits the operation on one vector of each input.
        views: verbs of copying for matrices whose elements in memory are of another type, by name.
    """

    def __init__(
        self,
        km: ScalarVerbs[R, A],
        vec: CopyVerbs[R, V, A],
        frame: Frame[R, A],
        size: tuple[int, int],
        inputs: Sequence[Matrix],
        output: Matrix,
        apply: Application[V, A],
        views: Mapping[str, CopyVerbs[R, V, A]] = MappingProxyType({}),
    ) -> None:
        self.views = views
        self.km, self.vec, self.frame = km, vec, frame
        self.m, self.n = size
        self.inputs, self.output = list(inputs), output
        self.matrices = {each.name: each for each in (*inputs, output)}.values()  # one may be read and written
        self.apply = apply
        self.indices: dict[str, StrideIndex] = {}

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
        for number, operand in enumerate(matrix for matrix in self.matrices if matrix.fetch is STRIDED):
            stride = operand.strides[0]
            value = stride if isinstance(stride, int) else self.frame.read(stride)
            slot = number * self.vec.index_bytes
            self.indices[operand.name] = self._verbs(operand).stride_index(value, slot, self.vec.registers[0])

    def _verbs(self, operand: Matrix) -> CopyVerbs[R, V, A]:
        """The verbs that read and write a matrix."""
        return self.views.get(operand.name, self.vec)

    def _advance(self, axis: int, count: int) -> None:
        for operand in self.matrices:
            self.frame.advance(operand.name, operand.strides[axis], count)

    def _vectors(self, whole: int, tail: int, mask: Mask) -> None:
        for row in range(whole + bool(tail)):
            last = row == whole
            self._vector(row, self.vec.lanes if not last else tail, mask if last else None)

    def _vector(self, row: int, count: int, mask: Mask) -> None:
        free = list(self.apply.registers)
        registers = [free.pop(0) for _ in self.inputs]
        memory: dict[int, A] = {}
        for number, (operand, register) in enumerate(zip(self.inputs, registers)):
            if self._is_direct(number, operand) and mask is None:
                memory[number] = self.km.place(*self._place(operand, row))
            else:
                self._load(operand, register, row, count, mask)
        result = self.apply(registers, free, memory)
        base, offset = self._place(self.output, row)
        if self.output.fetch is VECTOR:
            place = self.km.place(base, offset)
            self._verbs(self.output).store(place, result, mask, temporary=self.apply.temporaries[0])
        else:
            index = self.indices[self.output.name]
            self._verbs(self.output).store_strided(base, offset, result, index, count, self.apply.temporaries)

    def _is_direct(self, number: int, operand: Matrix) -> bool:
        """Whether the operation reads an input where it lies."""
        return number in self.apply.direct and operand.fetch is VECTOR and operand.name not in self.views

    def _load(self, operand: Matrix, register: V, row: int, count: int, mask: Mask) -> None:
        base, offset = self._place(operand, row)
        verbs = self._verbs(operand)
        if operand.fetch is VECTOR:
            verbs.load(register, self.km.place(base, offset), mask)
        elif operand.fetch is BROADCAST:
            verbs.broadcast(register, self.km.place(base, offset))
        else:
            verbs.load_strided(register, base, offset, self.indices[operand.name], count, self.apply.temporaries)

    def _place(self, operand: Matrix, row: int) -> tuple[R, int]:
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
