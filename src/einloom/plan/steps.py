"""From a problem to steps: operations on one or two tensors, with intermediate tensors between them.

Operands go one or two at a time along a contraction path. An axis that only one operand of a pair has, and that the
result lacks, is summed before the pair is contracted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeAlias

from einloom.dtypes import DType, Kind
from einloom.errors import ShapeError
from einloom.frozen import frozen
from einloom.ir.operation import DimType, Operation, Primitive
from einloom.plan.arena import Arena, Life, plan_arena
from einloom.plan.equation import caret_lines
from einloom.plan.operations import FRESH, Touching, finished, operation_of
from einloom.plan.pairs import on_reals
from einloom.plan.paths import Path
from einloom.plan.problem import MOST_POINTS, Problem, Term, contiguous_strides

__all__ = ["Layouts", "Plan", "Step", "plan_problem"]

Layouts: TypeAlias = Mapping[int, Sequence[str]]
"""The axes of intermediate tensors by number, that with the largest stride first."""

PRODUCTS = (Primitive.MUL, Primitive.SQUARE)
"""Operators that multiply complex numbers: steps of their own."""

NO_LAYOUTS: Layouts = MappingProxyType({})

HELD = -2
"""The number of what the result holds before, until it is known how many steps there are."""

NOTHING = "nothing"
"""Name of an axis without indices: longer than any label."""


@frozen
class Step:
    """One operation of a plan.

    Tensors are numbered: the problem's operands, the constants of its finish, then the results of the steps. Steps
    before the last one may read what the result holds, under the number of the result.
    """

    operation: Operation
    inputs: tuple[int, ...]
    shape: tuple[int, ...]

    @property
    def bytes(self) -> int:
        """Size of the tensor that it writes, which is C-contiguous unless it is the result."""
        kept = [axis.extent for axis in self.operation.axes if axis.role is not DimType.K]
        return math.prod(kept) * self.operation.output.dtype.size


@frozen
class Plan:
    """Steps in order; the last one writes the result.

    Attributes:
        steps: in order.
        path: which tensors they contract together.
        given: how many tensors there are before the first step.
        lanes: how many of the first steps are whose: each lane is for a thread of its own. The others come when all
            lanes are through, one after the other, each for all threads.
    """

    steps: tuple[Step, ...]
    path: Path
    given: int
    lanes: tuple[int, ...] = ()

    @property
    def lane_of(self) -> list[int | None]:
        """The lane of every step; None: it is for all threads."""
        apart = [lane for lane, count in enumerate(self.lanes) for _ in range(count)]
        return [*apart, *[None] * (len(self.steps) - len(apart))]

    @property
    def flops(self) -> int:
        """Arithmetic of all steps."""
        return sum(step.operation.flops for step in self.steps)

    @property
    def arena(self) -> Arena:
        """Where the results of all steps but the last lie, in the order of the steps."""
        count, last = len(self.steps) - 1, dict[int, int]()
        for number, step in enumerate(self.steps):
            last |= dict.fromkeys(step.inputs, number)
        written = enumerate(zip(self.steps[:count], self.lane_of))
        return plan_arena([Life(step.bytes, i, last[self.given + i], lane) for i, (step, lane) in written])

    @property
    def bytes(self) -> int:
        """Least traffic of all steps, in bytes."""
        return sum(step.operation.bytes for step in self.steps)


def plan_problem(
    problem: Problem, output_strides: tuple[int, ...] | None, path: Path, layouts: Layouts = NO_LAYOUTS
) -> Plan:
    """Return the steps that compute the problem along a path into an output of given strides (None: C-contiguous).

    `layouts` says in which order the axes of some intermediate tensors lie, by number; those of the others are the axes
    of the first input, then those of the second.

    Raises:
        ShapeError: a step walks more than 2**60 points.
    """
    return _Planner(problem, output_strides, layouts).plan(path)


class _Planner:
    """Working state: the tensors that are left, by number, the steps so far, and how many tensors need each label."""

    def __init__(self, problem: Problem, output_strides: tuple[int, ...] | None, layouts: Layouts) -> None:
        self.problem = problem
        self.layouts = layouts
        self.sizes = problem.sizes
        self.result = problem.output_term(output_strides)
        self.terms = {i: problem.input_term(i) for i in range(len(problem.equation.inputs))}
        self.types = {i: problem.operand_type(i) for i in self.terms}
        self.left = list(self.terms)
        self.given = len(problem.shapes) + len(problem.finish.constants)
        self.steps: list[Step] = []
        self.conjugated = {i for i in problem.finish.conj if self.types[i].kind is Kind.COMPLEX}
        self.users = dict.fromkeys(self.sizes, 0)
        for term in (*self.terms.values(), self.result):
            self._count(term, 1)

    def plan(self, path: Path) -> Plan:
        if self.problem.finish.alpha == 0 or self._is_empty:
            self._finish_without_operands()
            return self._planned(path)
        for position, group in enumerate(path):
            chosen = sorted(self.left[i] for i in group)  # The only step of a plan reads operands in their order.
            for i in sorted(group, reverse=True):
                del self.left[i]
            while len(chosen) > 2:  # A path may join many at once; two at a time is what operations do.
                chosen = [*chosen[2:], self._joined(chosen[:2], None)]
            last = position == len(path) - 1
            self.left.append(self._joined(chosen, self.result if last else None))
        return self._planned(path)

    def _planned(self, path: Path) -> Plan:
        result = self.given + len(self.steps) - 1
        for number, step in enumerate(self.steps):
            if HELD in step.inputs:
                self.steps[number] = replace(step, inputs=tuple(result if n == HELD else n for n in step.inputs))
        return Plan(tuple(self.steps), path, self.given)

    @property
    def _is_empty(self) -> bool:
        """Whether an axis has no indices: then all sums are 0, or there are none."""
        return 0 in self.sizes.values()

    def _finish_without_operands(self) -> None:
        """Sum over nothing: then no element of an operand is loaded, and touches run all the same."""
        empty = Term((NOTHING,), (1,))
        self.sizes = self.sizes | {NOTHING: 0}
        self.terms[0], self.types[0] = empty, self.problem.sums or self.problem.dtype
        self.conjugated = set[int]()
        self._add_last((0,), self.result)

    def _joined(self, numbers: Sequence[int], target: Term | None) -> int:
        """Contract one or two tensors into a new one, which has the labels that others still need."""
        for number in numbers:
            self._count(self.terms[number], -1)
        if len(numbers) == 2:
            numbers = [self._summed_early(a, b) for a, b in (numbers, numbers[::-1])]
        term = self._intermediate(numbers) if target is None else target
        self._count(term, 1)
        if target is None and len(numbers) == 1 and set(term.labels) == set(self.terms[numbers[0]].labels):
            return numbers[0]  # Nothing to sum.
        return self._add(numbers, term) if target is None else self._add_last(numbers, term)

    def _count(self, term: Term, change: int) -> None:
        for label in term.labels:
            self.users[label] += change

    def _summed_early(self, number: int, other: int) -> int:
        term = self.terms[number]
        kept = [label for label in term.labels if self.users[label] or label in self.terms[other].labels]
        if all(label in kept or self.sizes[label] == 1 for label in term.labels):
            return number
        return self._add((number,), self._contiguous(kept))

    def _intermediate(self, numbers: Sequence[int]) -> Term:
        labels = dict.fromkeys(label for number in numbers for label in self.terms[number].labels)
        kept = [label for label in labels if self.users[label]]
        wanted = self.layouts.get(self.given + len(self.steps), kept)
        return self._contiguous(wanted if set(wanted) == set(kept) else kept)

    def _contiguous(self, labels: Sequence[str]) -> Term:
        return Term(tuple(labels), contiguous_strides([self.sizes[label] for label in labels]))

    def _add_last(self, numbers: Sequence[int], target: Term) -> int:
        """Add the step that writes the result, and what becomes of it."""
        finish, constants = self.problem.finish, list(range(len(self.problem.shapes), self.given))
        beta = constants.pop(0) if finish.beta not in (0, 1) else None
        if self.problem.dtype.kind is Kind.COMPLEX and (finish.constants or finish.epilogue):
            numbers = self._scaled(numbers, constants.pop()) if constants else numbers
            return self._add_complex_end(numbers, target, beta)
        numbers = self._without_conjugates(numbers, target, apart=finish.beta != 0)
        scale = [(Primitive.MUL, constants[0])] if constants else []
        if self._wants_sums_apart(bool(scale)):
            numbers, scale = (self._add(numbers, self._contiguous(target.labels), touches=scale),), []
        operands = iter(range(len(self.problem.equation.inputs), len(self.problem.shapes)))
        last = [(each.primitive, None if each.labels is None else next(operands)) for each in finish.epilogue]
        first = FRESH if finish.beta == 0 else beta
        return self._add(numbers, target, first, [*scale, *last] if finish.alpha != 0 else last)

    def _add_complex_end(self, numbers: Sequence[int], target: Term, beta: int | None) -> int:
        """Add the steps from sums of complex numbers to the result: theirs, products, and what parts are done to alone.

        before: out = sums with the last touches mul extra0, add extra1, negate
        after:  sums; their product with extra0; out = its copy with the last touches add extra1, negate, on reals
        """
        finish, first, touches = self.problem.finish, FRESH, list[Touching]()
        if finish.beta != 0:
            first, touches = self._held(target, beta)
        numbers = self._without_conjugates(numbers, target, apart=bool(finish.epilogue or touches or first != FRESH))
        if not (finish.epilogue or touches) and first in (None, FRESH):
            return self._add(numbers, target, first)
        numbers = (self._add(numbers, self._contiguous(target.labels)),)
        operands = iter(range(len(self.problem.equation.inputs), len(self.problem.shapes)))
        for position, operator in enumerate(finish.epilogue):
            beside = None if operator.labels is None else next(operands)
            if operator.primitive not in PRODUCTS:
                touches.append((operator.primitive, beside))
                continue
            if touches:
                numbers, touches = (self._add(numbers, self._contiguous(target.labels), touches=touches),), []
            if beside is not None:
                self.terms[beside], self.types[beside] = self._extra(beside), self.problem.dtype
            last = position == len(finish.epilogue) - 1
            factors = (numbers[0], numbers[0] if beside is None else beside)
            numbers = (self._add(factors, target if last else self._contiguous(target.labels)),)
            if last:
                return numbers[0]
        return self._add(numbers, target, first, touches)

    def _held(self, target: Term, beta: int | None) -> tuple[int | None, list[Touching]]:
        """Return what becomes of what a complex result holds: `first` and the first touches of the last steps.

        Both parts are multiplied by a real factor where they stand, unless products follow. Else the product with it
        is a tensor of its own, which the sums are added to.
        """
        finish = self.problem.finish
        multiplies = any(each.primitive in PRODUCTS for each in finish.epilogue)
        if complex(finish.beta).imag == 0 and not multiplies:
            return beta, []
        self.terms[HELD], self.types[HELD] = target, self.problem.dtype
        if beta is None:
            return FRESH, [(Primitive.ADD, HELD)]
        self.terms[beta], self.types[beta] = Term((), ()), self._factor_type(finish.beta)
        return FRESH, [(Primitive.ADD, self._add((beta, HELD), self._contiguous(target.labels)))]

    def _without_conjugates(self, numbers: Sequence[int], target: Term, apart: bool = False) -> Sequence[int]:
        """Return the tensors to make the result of, none of which is conjugated unless the last step does that.

        Products of complex numbers and copies do; beside a real tensor, and before a sum, the least is conjugated.
        `apart`: the sums are a tensor of their own, which the result is made of.
        """
        signs = [number for number in numbers if number in self.conjugated]
        pairs = all(self.types[number].kind is Kind.COMPLEX for number in numbers) and len(numbers) == 2
        copies = len(numbers) == 1 and set(self.terms[numbers[0]].labels) == set(target.labels)
        if not signs or pairs or (copies and not apart):
            return numbers
        (number,) = signs
        if self._points(self.terms[number]) > self._points(target):
            number = self._add(numbers, self._contiguous(target.labels))
            if not apart:
                return (number,)
            numbers = (number,)
        plain = self._add((number,), self._contiguous(self.terms[number].labels))
        return [plain if each == number else each for each in numbers]

    def _points(self, term: Term) -> int:
        return math.prod(self.sizes[label] for label in term.labels)

    def _wants_sums_apart(self, scaled: bool) -> bool:
        """Whether the sums are a tensor of their own before the result is made of them.

        Their factor must not reach what is accumulated into; narrow results are added to once; and narrow integers
        wrap before operators see them.
        """
        finish, dtype = self.problem.finish, self.problem.dtype
        narrow = dtype.accumulate != dtype
        adds = finish.beta != 0 and (scaled or narrow)
        return adds or (narrow and dtype.is_integer and bool(finish.epilogue))

    def _scaled(self, numbers: Sequence[int], factor: int) -> Sequence[int]:
        """Multiply the smallest tensor by a factor: a touch cannot, for it is a product of complex numbers."""
        self.terms[factor], self.types[factor] = Term((), ()), self._factor_type(self.problem.finish.alpha)
        smallest = min(numbers, key=lambda number: self._points(self.terms[number]))
        scaled = self._add((factor, smallest), self._contiguous(self.terms[smallest].labels))
        return [scaled if number == smallest else number for number in numbers]

    def _add(
        self,
        numbers: Sequence[int],
        target: Term,
        first: int | None = FRESH,
        touches: Sequence[Touching] = (),
    ) -> int:
        """Add a step.

        Args:
            numbers: the tensors that are read.
            target: what is written.
            first: `FRESH`, or the number of the factor of what the target holds; None: it is kept.
            touches: operators on the finished target, and the numbers of what they read.
        """
        inputs = [self.terms[number] for number in numbers]
        self._check_size(inputs, target)
        dtype = self._type_of(numbers, target)
        operation = operation_of(inputs, target, self.sizes, [*(self.types[number] for number in numbers), dtype])
        extras = [*([] if first in (None, FRESH) else [(Primitive.MUL, first)]), *touches]
        read = [number for _, number in extras if number is not None]
        if extras or first != FRESH:
            beside = [(self._extra(number), self._extra_type(number)) for number in read]
            operation = finished(operation, first, extras, beside)
        shape = tuple(self.sizes[label] for label in target.labels)
        if dtype.kind is Kind.COMPLEX:
            return self._add_complex(operation, numbers, read, target, shape)
        return self._append(Step(operation, (*numbers, *read), shape), target, dtype)

    def _add_complex(
        self,
        operation: Operation,
        numbers: Sequence[int],
        read: Sequence[int],
        target: Term,
        shape: tuple[int, ...],
    ) -> int:
        """Add a step on complex tensors; sums of conjugated ones, and their real multiples, are conjugated later."""
        signs = [number in self.conjugated for number in numbers]
        copies = operation.main is Primitive.IDENTITY and any(signs) and not read
        if copies or (all(operand.dtype.kind is Kind.COMPLEX for operand in operation.inputs) and len(signs) == 2):
            factors = (replace(operand, conjugated=sign) for operand, sign in zip(operation.inputs, signs))
            operation = replace(operation, operands=(*factors, *operation.operands[len(signs) :]))
            return self._append(Step(operation, tuple(numbers), shape), target, operation.output.dtype)
        number = self._append(Step(on_reals(operation), (*numbers, *read), shape), target, operation.output.dtype)
        self.conjugated |= {number} if any(signs) else set()
        return number

    def _append(self, step: Step, target: Term, dtype: DType) -> int:
        self.steps.append(step)
        number = self.given + len(self.steps) - 1
        self.terms[number], self.types[number] = target, dtype
        return number

    def _type_of(self, numbers: Sequence[int], target: Term) -> DType:
        """The type of a step's result: floats in between stay as wide as they are summed, reals stay reals."""
        dtype = self.problem.dtype
        if self.problem.sums is not None and target is not self.result:
            return self.problem.sums
        if dtype.kind is Kind.COMPLEX and all(self.types[number] == dtype.real for number in numbers):
            return dtype.real
        return dtype.accumulate if target is not self.result and dtype.kind is Kind.FLOAT else dtype

    def _factor_type(self, factor: Any) -> DType:
        """The type of a factor of complex numbers, `alpha` or `beta`: real ones are reals."""
        return self.problem.dtype.real if complex(factor).imag == 0 else self.problem.dtype

    def _extra(self, number: int) -> Term:
        """What a touch reads: an operand of the epilogue, a constant, or what was computed for it."""
        if number in self.terms:
            return self.terms[number]
        place = number - len(self.problem.equation.inputs)
        terms = self.problem.finish_terms()
        return terms[place] if place < len(terms) else Term((), ())

    def _extra_type(self, number: int) -> DType:
        """The type of what a touch reads; what complex numbers held is multiplied by a real one."""
        dtype, is_constant = self.problem.dtype, len(self.problem.shapes) <= number < self.given
        return dtype.real if is_constant and dtype.kind is Kind.COMPLEX else dtype

    def _check_size(self, inputs: Sequence[Term], target: Term) -> None:
        labels = dict.fromkeys(label for term in (*inputs, target) for label in term.labels)
        if math.prod(max(self.sizes[label], 1) for label in labels) > MOST_POINTS:
            extents = " ".join(f"{label}={self.sizes[label]}" for label in labels)
            raise ShapeError(
                f"a step of the contraction has more than 2**60 points\n{caret_lines(self.problem.equation.text, ())}\n"
                f"  {extents}\n  Contract fewer operands at once, or choose another path with optimize=."
            )
