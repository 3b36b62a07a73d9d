"""Reductions of the rows or columns of a matrix whose columns are contiguous: b[i] := op over one axis of A.

Along n whole vectors of rows are combined, column after column. Along m several columns are combined side by side, a
vector of each at a time, and the lanes of their accumulators are folded at the end. Either way eight accumulators hide
the latency of one combination.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Generic, TypeAlias

from einloom.dtypes import Kind
from einloom.errors import ArgumentError, ShapeError, UnsupportedTarget
from einloom.frozen import frozen
from einloom.kernels.elementwise.columns import Block, Matrix
from einloom.kernels.formula.exponentials import Elements
from einloom.kernels.formula.formula import Formula, Node, argument, fma, maximum, minimum
from einloom.kernels.formula.functions import elements_of
from einloom.kernels.formula.numbering import recipe_of
from einloom.kernels.formula.recipe import Recipe, Traits, traits_of
from einloom.kernels.specs import Reduce, signature
from einloom.kernels.verbs.fold import fold_lanes
from einloom.kernels.verbs.frame import Frame, leaf_frame
from einloom.kernels.verbs.scalar import A, R, ScalarVerbs
from einloom.kernels.verbs.vector import CopyVerbs, FormulaVerbs, KernelMachine, V

__all__ = ["OPERATORS", "Reduction", "emit_reduce"]

Combination: TypeAlias = Callable[[Elements, Node, Node], Formula]
ACCUMULATORS = 8
STRIP = 4
"""Vectors of rows that are combined side by side."""


@frozen
class Reduction:
    """An operator: how an element joins an accumulator, how two accumulators join, and what changes none.

    Attributes:
        join: formula of an accumulator and an element.
        merge: formula of two accumulators.
        neutral: an accumulator at the beginning.
        of_nothing: whether there is a result without any element.
    """

    join: Combination
    merge: Combination
    neutral: float
    of_nothing: bool = True


def _add(e: Elements, a: Node, x: Node) -> Formula:
    return a + x


def _multiply(e: Elements, a: Node, x: Node) -> Formula:
    return a * x


def _least(e: Elements, a: Node, x: Node) -> Formula:
    return e.extreme(minimum, x, a)


def _greatest(e: Elements, a: Node, x: Node) -> Formula:
    return e.extreme(maximum, x, a)


OPERATORS: dict[str, Reduction] = {
    "sum": Reduction(_add, _add, 0.0),
    "max": Reduction(_greatest, _greatest, -math.inf, False),
    "min": Reduction(_least, _least, math.inf, False),
    "prod": Reduction(_multiply, _multiply, 1.0),
    "sum_of_squares": Reduction(lambda e, a, x: fma(x, x, a), _add, 0.0),
}


@cache
def _recipe(formula: Combination, traits: Traits) -> Recipe:
    """Return a recipe whose result is where its first input was: the lowest of the registers that are free again."""
    return recipe_of(formula(elements_of(traits), argument(0), argument(1)), traits, 2, 5)


def emit_reduce(km: KernelMachine[R, V, A], spec: Reduce) -> None:
    """Emit the function of a spec at the current position; its arguments are `signature(spec)`.

    Raises:
        ArgumentError: there is no such operator or axis.
        UnsupportedTarget: there is no such operator for this type, or A's columns are not contiguous.
        ShapeError: the greatest or least of no elements.
    """
    _check(spec)
    if (spec.n if spec.axis == "m" else spec.m) == 0:
        km.return_()
        return
    vec, element = km.vectors(spec.dtype.accumulate), spec.dtype.size
    matrices = {**Block.of(spec, ["a"]).strides, "b": (1, 0)}
    (a, b), constants, scaled = Block(spec.m, spec.n, matrices).matrices(element, km.reach)
    frame = leaf_frame(km, signature(spec), ["a", "b"], ["n", "m", *constants, *scaled])
    frame.enter()
    frame.set_strides(constants, scaled)
    emission = _Emission(km, vec, km.view(spec.dtype, vec), frame, spec, a, b)
    if spec.axis == "n":
        emission.along_n()
    else:
        emission.along_m()
    vec.finish()
    frame.leave()


def _check(spec: Reduce) -> None:
    if spec.op not in OPERATORS:
        raise ArgumentError(f"no reduction {spec.op!r}\n  There are {', '.join(OPERATORS)}.")
    if spec.dtype.kind is Kind.BOOL and spec.op == "sum_of_squares":
        raise UnsupportedTarget("no sum_of_squares of bool\n  Of truth values there are sum (or) and prod (and).")
    if spec.axis not in ("m", "n"):
        raise ArgumentError(f"no axis {spec.axis!r} to reduce\n  There are m and n.")
    if spec.a[0] != 1:
        raise UnsupportedTarget("A's columns are not contiguous\n  There are reductions of column-major matrices.")
    reduced, kept = (spec.m, spec.n) if spec.axis == "m" else (spec.n, spec.m)
    if reduced == 0 and kept and not OPERATORS[spec.op].of_nothing:
        raise ShapeError(f"{spec.op} over {spec.axis}, which has no elements\n  Give the axis an extent of 1 or more.")


class _Emission(Generic[R, V, A]):
    """The loops of one kernel."""

    def __init__(
        self,
        km: ScalarVerbs[R, A],
        vec: FormulaVerbs[R, V, A],
        view: CopyVerbs[R, V, A],
        frame: Frame[R, A],
        spec: Reduce,
        a: Matrix,
        b: Matrix,
    ) -> None:
        self.km, self.vec, self.view, self.frame = km, vec, view, frame
        self.m, self.n = spec.m, spec.n
        self.a, self.b = a, b
        row, traits = OPERATORS[spec.op], traits_of(vec)
        self.joined, self.merged = _recipe(row.join, traits), _recipe(row.merge, traits)
        self.neutral = traits.bits(row.neutral)
        *self.work, self.loaded, self.other = vec.working[:-2]
        self.temporaries = vec.working[-2:]
        self.held = self.joined.hold(vec, [self.work[-2]])
        assert set(self.merged.held) <= set(self.held)

    # Along n

    def along_n(self) -> None:
        """Emit strips of rows, each from the first column to the last."""
        lanes = self.vec.lanes
        whole, tail = divmod(self.m, lanes)
        strips, rest = divmod(whole, STRIP)
        for vectors, part, times in ((STRIP, 0, strips), (rest, tail, 1)):
            if times and (vectors or part):
                with self.frame.loop(times, "m"):
                    self._strip([lanes] * vectors + [part] * bool(part))

    def _strip(self, counts: Sequence[int]) -> None:
        sets = max(1, min(ACCUMULATORS // len(counts), self.n))
        accumulators = [[self.work[s * len(counts) + v] for v in range(len(counts))] for s in range(sets)]
        self._clear([register for registers in accumulators for register in registers])
        trips, rest = divmod(self.n, sets)
        if trips:
            with self.frame.loop(trips, "n"):
                self._columns(accumulators, counts)
        self._columns(accumulators[:rest], counts)
        for registers in accumulators[1:]:
            for first, second in zip(accumulators[0], registers):
                self._apply(self.merged, first, second)
        for vector, (register, count) in enumerate(zip(accumulators[0], counts)):
            self._store(register, vector * self.vec.lanes, count)
        self._advance(self.a, 1, -self.n)
        self._advance(self.a, 0, sum(counts))
        self._advance(self.b, 0, sum(counts))

    def _columns(self, accumulators: Sequence[Sequence[V]], counts: Sequence[int]) -> None:
        """Join one column to each set of accumulators; lanes without a row are never stored."""
        for registers in accumulators:
            for vector, (register, count) in enumerate(zip(registers, counts)):
                place = self.km.place(self.frame.read("a"), vector * self.vec.lanes * self.a.element)
                self.view.load(self.loaded, place, self.vec.mask(count))
                self._apply(self.joined, register, self.loaded)
            self._advance(self.a, 1, 1)

    # Along m

    def along_m(self) -> None:
        """Emit groups of columns, each from the first row to the last."""
        width = min(self.n, ACCUMULATORS, self.vec.lanes)
        groups, rest = divmod(self.n, width)
        for columns, times in ((width, groups), (rest, 1)):
            if columns and times:
                with self.frame.loop(times, "n"):
                    self._group(columns)

    def _group(self, columns: int) -> None:
        lanes = self.vec.lanes
        whole, tail = divmod(self.m, lanes)
        sets = max(1, min(ACCUMULATORS // columns, whole))
        accumulators = [self.work[s * columns : (s + 1) * columns] for s in range(sets)]
        self._clear([register for registers in accumulators for register in registers])
        trips, rest = divmod(whole, sets)
        if trips:
            with self.frame.loop(trips, "m"):
                self._rows(accumulators, lanes)
                self._advance(self.a, 0, sets * lanes)
        self._rows(accumulators[:rest], lanes)
        if tail:
            self._advance(self.a, 0, rest * lanes)
            self._rows(accumulators[:1], tail)
        for registers in accumulators[1:]:
            for first, second in zip(accumulators[0], registers):
                self._apply(self.merged, first, second)
        fold_lanes(
            self.vec, accumulators[0], self.loaded, lambda first, second: self._apply(self.merged, first, second)
        )
        self._store(accumulators[0][0], 0, columns)
        self._advance(self.a, 0, -(trips * sets + (rest if tail else 0)) * lanes)
        self._advance(self.a, 1, columns)
        self._advance(self.b, 0, columns)

    def _rows(self, accumulators: Sequence[Sequence[V]], count: int) -> None:
        """Join the next vector of every column to each set of accumulators; a part of one is filled up."""
        if not accumulators:
            return
        lanes = self.vec.lanes
        mask = self.vec.mask(count)
        if mask is not None:
            self.vec.load_constant(self.other, self.neutral)
        places = self.frame.walk("a", self.a.strides[1], len(accumulators[0]), self.km.reach // 2)
        for column, (base, offset) in enumerate(places):
            for vector, registers in enumerate(accumulators):
                place = self.km.place(base, offset + vector * lanes * self.a.element)
                self.view.load(self.loaded, place, mask)
                if mask is not None:
                    self.vec.keep_lanes(self.loaded, self.other, mask, self.temporaries[0])
                self._apply(self.joined, registers[column], self.loaded)

    # Both

    def _clear(self, registers: Sequence[V]) -> None:
        for register in registers:
            self.vec.load_constant(register, self.neutral)

    def _apply(self, recipe: Recipe, accumulator: V, element: V) -> None:
        result = recipe.emit(self.vec, [accumulator, element], [*self.temporaries, self.work[-1]], self.held)
        assert result is accumulator

    def _store(self, register: V, first: int, count: int) -> None:
        """Store results from result `first` on."""
        place = self.km.place(self.frame.read("b"), first * self.b.element)
        self.view.store(place, register, self.vec.mask(count), False, self.temporaries[0])

    def _advance(self, matrix: Matrix, axis: int, count: int) -> None:
        self.frame.advance(matrix.name, matrix.strides[axis], count)
