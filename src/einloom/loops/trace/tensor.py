"""`Tensor`: an argument of a traced body, or scratch, and the blocks of it that subscripts name."""

from __future__ import annotations

from dataclasses import replace
from types import EllipsisType
from typing import Any, NoReturn, TypeAlias

from einloom.dtypes import DType
from einloom.errors import ShapeError
from einloom.frozen import frozen
from einloom.loops.trace.index import Index, Untraceable, as_index, refusal, where

__all__ = ["Base", "Part", "Subscript", "Tensor"]

Subscript: TypeAlias = "Index | int | slice[Any, Any, Any] | EllipsisType"


@frozen
class Base:
    """The memory of a tensor: an operand, or each thread's scratch. Strides are in elements."""

    name: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: DType
    is_scratch: bool = False


@frozen(slots=False)
class Part:
    """What a subscript takes of one axis of a base: so many indices from `start` on, `step` apart.

    `loop` is the letter of the loop whose step the part has: at the end of a block it is as short as the loop's.
    """

    start: Index
    length: int
    loop: str | None = None
    step: int = 1

    @property
    def span(self) -> int:
        """How many indices lie from the first to the last one that is taken."""
        return (self.length - 1) * self.step + 1


class Tensor(Untraceable):
    """A block: a part of every axis of a base, some of which are the block's own axes, in an order."""

    _noun = "a tensor"
    _advice = "Call primitives: el.tpp.add(a, b, out), el.tpp.brgemm(a, b, c)."

    def __init__(self, base: Base, parts: tuple[Part, ...], axes: tuple[int, ...], steps: dict[str, int]) -> None:
        self.base = base
        self.parts = parts
        self.axes = axes
        self._steps = steps

    @staticmethod
    def whole(base: Base, steps: dict[str, int]) -> Tensor:
        """Return a base as a tensor; `steps` are those of the innermost loops, by letter."""
        parts = tuple(Part(Index({}), extent) for extent in base.shape)
        return Tensor(base, parts, tuple(range(len(base.shape))), steps)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many indices each axis has, where no loop's block is short."""
        return tuple(self.parts[axis].length for axis in self.axes)

    @property
    def ndim(self) -> int:
        """How many axes the block has."""
        return len(self.axes)

    @property
    def dtype(self) -> DType:
        """Type of the elements."""
        return self.base.dtype

    @property
    def T(self) -> Tensor:
        """The block with its axes in reverse."""
        return Tensor(self.base, self.parts, self.axes[::-1], self._steps)

    @property
    def strides(self) -> tuple[int, ...]:
        """Distance of neighbours along each axis, in elements."""
        return tuple(self.base.strides[axis] * self.parts[axis].step for axis in self.axes)

    @property
    def offset(self) -> Index:
        """Where the block begins, in elements behind the base's first one."""
        total = Index({})
        for part, stride in zip(self.parts, self.base.strides):
            total = total + part.start * stride
        return total

    @property
    def symbols(self) -> set[str]:
        """The symbols in the block's subscripts."""
        return {symbol for part in self.parts for symbol in part.start.terms}

    def __getitem__(self, subscripts: Subscript | tuple[Subscript, ...]) -> Tensor:
        """Return the block at indices, slices and `…`."""
        given = list(subscripts) if isinstance(subscripts, tuple) else [subscripts]
        if any(each is Ellipsis for each in given):
            place = next(n for n, each in enumerate(given) if each is Ellipsis)
            given[place : place + 1] = [slice(None)] * (self.ndim - len(given) + 1)
        if len(given) > self.ndim:
            raise ShapeError(f"{len(given)} subscripts of {self!r}\n  {where()}\n  It has {self.ndim} axes.")
        parts, axes = list(self.parts), list(self.axes)
        for axis, each in zip(self.axes, given):
            parts[axis] = self._part(parts[axis], each)
            if not isinstance(each, slice):
                axes.remove(axis)
        return Tensor(self.base, tuple(parts), tuple(axes), self._steps)

    def _part(self, part: Part, subscript: Subscript) -> Part:
        if not isinstance(subscript, slice):
            return Part(part.start + _from_end(as_index(subscript), part) * part.step, 1)
        step = 1 if subscript.step is None else as_index(subscript.step)
        step = step.constant if isinstance(step, Index) and not step.terms else step
        if isinstance(step, Index) or step < 1:
            raise refusal("a slice with such a step", "Steps are positive numbers: A[i : i + 8 : 2].")
        low = _from_end(as_index(0 if subscript.start is None else subscript.start), part)
        high = _from_end(as_index(part.length if subscript.stop is None else subscript.stop), part)
        length = high - low
        if length.terms or length.constant < 0:
            raise refusal("a slice of open length", "Both ends move alike: A[i : i + 8].")
        if step * part.step != 1:
            count = -(-length.constant // step)
            return Part(part.start + low * part.step, count, step=step * part.step)
        letter = next((s for s, f in low.terms.items() if f == 1 and s in self._steps), None)
        follows = letter is not None and len(low.terms) == 1 and self._steps[letter] == length.constant
        return replace(part, start=part.start + low, length=length.constant, loop=letter if follows else None)

    def __setitem__(self, subscripts: Any, value: Any) -> NoReturn:
        self._refuse("an assignment to a block", "Write it with a primitive: el.tpp.copy(source, target).")

    def __iter__(self) -> NoReturn:
        self._refuse("iteration", "Loops are the ThreadedLoop's; or subscript with range(n).")

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        parts = ", ".join(
            repr(part.start) if axis not in self.axes else f"{part.start!r} : +{part.length}"
            for axis, part in enumerate(self.parts)
        )
        return f"{self.base.name}[{parts}]"


def _from_end(index: Index, part: Part) -> Index:
    """Return an index of a part; a negative number counts from its end."""
    return index if index.terms or index.constant >= 0 else index + part.length
