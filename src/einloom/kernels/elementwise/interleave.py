"""The generator of grouped copies: elements of 1 or 2 bytes that are neighbours along n side by side, 4 or 8 bytes.

What moves depends on where memory is contiguous. Along m on both sides, vectors of neighbouring columns are
interleaved; where A is contiguous along n, its groups lie there already and are copied, or transposed, as elements of 4
bytes; from contiguous columns to contiguous groups single elements are transposed. All else, and a last group that A
ends inside of, goes group by group.
"""

from __future__ import annotations

from typing import Any, Generic

from einloom.dtypes import FLOAT32, FLOAT64, UINT16
from einloom.kernels.elementwise.application import Copying
from einloom.kernels.elementwise.columns import Block, Columns, Matrix
from einloom.kernels.elementwise.transposition import Blocks
from einloom.kernels.specs import GROUP_BYTES, Interleave, signature
from einloom.kernels.verbs.frame import leaf_frame
from einloom.kernels.verbs.scalar import A, R
from einloom.kernels.verbs.vector import CopyVerbs, KernelMachine, V

__all__ = ["emit_interleave"]

UNROLLED = 2
"""Vectors that one iteration interleaves."""


def emit_interleave(km: KernelMachine[R, V, A], spec: Interleave) -> None:
    """Emit the function of a spec at the current position; its arguments are `signature(spec)`."""
    if spec.m == 0 or spec.n == 0:
        km.return_()
    else:
        _Interleaving(km, spec).emit()


class _Interleaving(Generic[R, V, A]):
    """One run of the generator. The variables `from` and `to` walk; `a` and `b` stay."""

    def __init__(self, km: KernelMachine[R, V, A], spec: Interleave) -> None:
        self.km, self.spec, self.group = km, spec, spec.group
        self.narrow, self.halves = (self._written(km.narrow(each)) for each in (spec.packed, UINT16))
        self.size = spec.group_bytes
        self.words = self._written(km.vectors(FLOAT32 if self.size == GROUP_BYTES else FLOAT64))
        self.widens = spec.dtype.size < spec.packed.size
        self.reads = km.view(spec.dtype, self.narrow) if self.widens else self.narrow
        self.wider = km.packs.widening(spec.dtype) if self.widens and km.packs else None
        block = Block(spec.m, spec.n, {"a": spec.a, "b": spec.b})
        (self.a, self.b), constants, _ = block.matrices(spec.dtype.size, km.reach, {"b": self.size})
        hot, cold = ["a", "b", "from", "to"], ["n", "m", *(["groups"] if self.size > GROUP_BYTES else []), *constants]
        self.frame = leaf_frame(km, signature(spec), hot, cold, 2 * self.words.index_bytes)
        self.constants = constants

    def _written(self, verbs: Any) -> Any:
        """Return verbs whose stores write what is packed."""
        return self.km.packs.changing(verbs, self.spec.packed) if self.km.packs else verbs

    def emit(self) -> None:
        """Emit the function."""
        whole, rest = divmod(self.spec.n, self.group)
        self.frame.enter()
        self.frame.set_strides(self.constants, {})
        if whole:
            self._start(0)
            self._whole(whole)
        if rest:
            self._start(whole)
            self._singles(1, rest)
        self.words.finish()
        self.frame.leave()

    def _start(self, groups: int) -> None:
        """Let the walk begin behind so many groups."""
        for walk, matrix, count in (("from", self.a, groups * self.group), ("to", self.b, groups)):
            self.frame.copy(walk, matrix.name)
            self.frame.advance(walk, matrix.strides[1], count)

    def _whole(self, groups: int) -> None:
        """Copy whole groups in the way that suits where memory is contiguous."""
        element, packed = self.spec.dtype.size, self.spec.packed.size
        a, b = self.a.strides, self.b.strides
        if a[0] == element and b[0] == self.size:
            self._rows(groups) if self.size == GROUP_BYTES else self._rows_apart(groups)
        elif a[1] == element and b[1] == self.size and self.widens:
            source, target = Matrix("from", (element, a[0]), element), Matrix("to", (packed, b[0]), packed)
            size, views = (groups * self.group, self.spec.m), {"from": self.reads}
            Columns(self.km, self.narrow, self.frame, size, [source], target, Copying(self.narrow), views).emit()
        elif a[1] == element and b[1] == self.size:
            source, target = Matrix("from", (self.size, a[0]), self.size), Matrix("to", (b[1], b[0]), self.size)
            size = groups, self.spec.m
            Columns(self.km, self.words, self.frame, size, [source], target, Copying(self.words)).emit()
        elif a[1] == element and b[0] == self.size and not self.widens:
            source, target = Matrix("from", (self.size, a[0]), self.size), Matrix("to", (b[1], b[0]), self.size)
            self._transposed(self.words, (groups, self.spec.m), source, target)
        elif a[1] == element and b[0] == self.size and self.wider is not None:
            source, target = Matrix("from", (2 * element, a[0]), 2), Matrix("to", (b[1], b[0]), self.size)
            pairs, size = (self.halves, self.halves, self.wider), (groups, self.spec.m)
            Blocks(self.km, pairs, self.frame, size, source, target, _as_they_are).emit()
        elif a[0] == element and b[1] == self.size:
            source, target = Matrix("from", a, element), Matrix("to", (b[0], packed), packed)
            self._transposed(self.narrow, (self.spec.m, groups * self.group), source, target)
        else:
            self._singles(groups, self.group)

    def _transposed(self, verbs: CopyVerbs[R, V, A], size: tuple[int, int], source: Matrix, target: Matrix) -> None:
        reads = self.reads if verbs is self.narrow else verbs
        Blocks(self.km, (verbs, reads, verbs), self.frame, size, source, target, _as_they_are).emit()

    def _singles(self, groups: int, elements: int) -> None:
        """Copy so many groups of so many elements, the rest of each being 0, one at a time."""
        frame, narrow, stride = self.frame, self.narrow, self.a.strides[1]
        register, *temporaries = narrow.registers[:3]
        along = stride if isinstance(stride, int) else frame.read(stride)
        index = narrow.stride_index(along, 0, temporaries[0])
        mask = (1 << self.group) - 1
        with frame.loop(groups, "n"):
            with frame.loop(self.spec.m, "m"):
                self.reads.load_strided(register, frame.read("from"), 0, index, elements, temporaries)
                narrow.store(self.km.place(frame.read("to")), register, mask)
                self._move(0, 1)
            self._move(0, -self.spec.m)
            self._move(1, 1)

    def _rows(self, groups: int) -> None:
        """Interleave vectors of neighbouring columns."""
        lanes = self.narrow.lanes
        vectors, rest = divmod(self.spec.m, lanes)
        trips, single = divmod(vectors, UNROLLED)
        with self.frame.loop(groups, "n"):
            if trips:
                with self.frame.loop(trips, "m"):
                    self._vectors([lanes] * UNROLLED)
                    self._move(0, UNROLLED * lanes)
            left = [lanes] * single + [rest] * (rest > 0)
            self._vectors(left)
            self._move(0, -trips * UNROLLED * lanes)
            self._move(1, 1)

    def _rows_apart(self, groups: int) -> None:
        """Transpose the columns of one group after the other."""
        frame, element, packed = self.frame, self.spec.dtype.size, self.spec.packed.size
        with frame.loop(groups, "groups"):
            source, target = Matrix("from", self.a.strides, element), Matrix("to", (self.size, packed), packed)
            self._transposed(self.narrow, (self.spec.m, self.group), source, target)
            frame.advance("to", packed, -self.group)
            frame.advance("to", self.b.strides[1], 1)

    def _move(self, axis: int, count: int) -> None:
        """Move along m by elements, along n by groups."""
        self.frame.advance("from", self.a.strides[axis], count * (self.group if axis else 1))
        self.frame.advance("to", self.b.strides[axis], count)

    def _vectors(self, counts: list[int]) -> None:
        """Interleave consecutive vectors of so many elements each."""
        lanes, size, group = self.narrow.lanes, self.spec.dtype.size, self.group
        for column, (base, offset) in enumerate(
            self.frame.walk("from", self.a.strides[1], group, self.km.reach) if counts else ()
        ):
            for vector, count in enumerate(counts):
                place = self.km.place(base, offset + vector * lanes * size)
                self.reads.load(self.narrow.registers[vector * group + column], place, self.narrow.mask(count))
        for vector, count in enumerate(counts):
            low, high = self._interleaved(vector * group, len(counts) * group)
            for register, first in ((low, 0), (high, lanes // 2)):
                if count > first:
                    offset = (vector * lanes + first) * GROUP_BYTES
                    place = self.km.place(self.frame.read("to"), offset)
                    mask = self.halves.mask(2 * min(count - first, lanes // 2))
                    self.halves.store(place, register, mask)

    def _interleaved(self, first: int, free: int) -> tuple[V, V]:
        """Interleave the group of registers from number `first` on, `free` being the first free one."""
        bytes_, halves, low = self.narrow.registers, self.halves.registers, free
        if self.group == 4:
            for i in (0, 2):
                self.narrow.zip_low(bytes_[first + i], bytes_[first + i], bytes_[first + i + 1])
        pair = halves[first], halves[first + self.group // 2]
        self.halves.zip_low(halves[low], *pair)
        self.halves.zip_high(halves[low + 1], *pair)
        return halves[low], halves[low + 1]


def _as_they_are(inputs: list[V], free: list[V]) -> V:
    return inputs[0]
