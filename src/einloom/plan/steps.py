"""From a problem to steps: operations on one or two tensors, with intermediate tensors between them.

Operands go one or two at a time along a contraction path. An axis that only one operand of a pair has, and that the
result lacks, is summed before the pair is contracted.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeAlias

from einloom.dtypes import DType, Kind
from einloom.errors import ShapeError
from einloom.ir.operation import NO_TOUCH, Axis, DimType, Operand, Operation, Primitive, Touch
from einloom.plan.arena import Arena, Life, plan_arena
from einloom.plan.equation import caret_lines
from einloom.plan.pairs import on_reals
from einloom.plan.paths import Path
from einloom.plan.problem import MOST_POINTS, Problem, Term, contiguous_strides

__all__ = ["Layouts", "Plan", "Step", "plan_problem"]

Layouts: TypeAlias = Mapping[int, Sequence[str]]
"""The axes of intermediate tensors by number, that with the largest stride first."""

NO_LAYOUTS: Layouts = MappingProxyType({})

FRESH = -1
"""In place of the number of a factor: what the target holds is not read."""

NOTHING = "nothing"
"""Name of an axis without indices: longer than any label."""


@dataclass(frozen=True, slots=True)
class Step:
    """One operation of a plan.

    Tensors are numbered: the problem's operands, the constants of its finish, then the results of the steps.
    """

    operation: Operation
    inputs: tuple[int, ...]
    shape: tuple[int, ...]

    @property
    def bytes(self) -> int:
        """Size of the tensor that it writes, which is C-contiguous unless it is the result."""
        kept = [axis.extent for axis in self.operation.axes if axis.role is not DimType.K]
        return math.prod(kept) * self.operation.output.dtype.size


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps in order; the last one writes the result."""

    steps: tuple[Step, ...]
    path: Path
    given: int
    """How many tensors there are before the first step."""

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
        written = enumerate(self.steps[:count])
        return plan_arena([Life(step.bytes, number, last[self.given + number]) for number, step in written])

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
        self.conjugated = set(problem.finish.conj if len(self.terms) > 1 else ())  # One alone comes conjugated.
        self.users = Counter(label for term in (*self.terms.values(), self.result) for label in term.labels)

    def plan(self, path: Path) -> Plan:
        if self.problem.finish.alpha == 0 or self._is_empty:
            self._finish_without_operands()
            return Plan(tuple(self.steps), path, self.given)
        for position, group in enumerate(path):
            chosen = sorted(self.left[i] for i in group)  # The only step of a plan reads operands in their order.
            for i in sorted(group, reverse=True):
                del self.left[i]
            while len(chosen) > 2:  # A path may join many at once; two at a time is what operations do.
                chosen = [*chosen[2:], self._joined(chosen[:2], None)]
            last = position == len(path) - 1
            self.left.append(self._joined(chosen, self.result if last else None))
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
        self._add_last((0,), self.result)

    def _joined(self, numbers: Sequence[int], target: Term | None) -> int:
        """Contract one or two tensors into a new one, which has the labels that others still need."""
        for number in numbers:
            self.users.subtract(self.terms[number].labels)
        if len(numbers) == 2:
            numbers = [self._summed_early(a, b) for a, b in (numbers, numbers[::-1])]
        term = self._intermediate(numbers) if target is None else target
        self.users.update(term.labels)
        if target is None and len(numbers) == 1 and set(term.labels) == set(self.terms[numbers[0]].labels):
            return numbers[0]  # Nothing to sum.
        return self._add(numbers, term) if target is None else self._add_last(numbers, term)

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
            return self._add_complex_end(self._scaled(numbers, constants.pop()) if constants else numbers, target, beta)
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
        finish = self.problem.finish
        first = beta if beta is not None else None if finish.beta == 1 else FRESH
        if not finish.epilogue and beta is None:
            return self._add(numbers, target, first)
        operands = iter(range(len(self.problem.equation.inputs), len(self.problem.shapes)))
        numbers = (self._add(numbers, self._contiguous(target.labels)),)
        touches: list[tuple[Primitive, int | None]] = []
        for position, operator in enumerate(finish.epilogue):
            beside = None if operator.labels is None else next(operands)
            if operator.primitive is not Primitive.MUL or beside is None:
                touches.append((operator.primitive, beside))
                continue
            if touches:
                numbers, touches = (self._add(numbers, self._contiguous(target.labels), touches=touches),), []
            self.terms[beside], self.types[beside] = self._extra(beside), self.problem.dtype
            last = position == len(finish.epilogue) - 1
            numbers = (self._add((*numbers, beside), target if last else self._contiguous(target.labels)),)
            if last:
                return numbers[0]
        return self._add(numbers, target, first, touches)

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
        self.terms[factor], self.types[factor] = Term((), ()), self.problem.dtype
        smallest = min(numbers, key=lambda number: math.prod(self.sizes[label] for label in self.terms[number].labels))
        scaled = self._add((factor, smallest), self._contiguous(self.terms[smallest].labels))
        return [scaled if number == smallest else number for number in numbers]

    def _add(
        self,
        numbers: Sequence[int],
        target: Term,
        first: int | None = FRESH,
        touches: Sequence[tuple[Primitive, int | None]] = (),
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
        if all(operand.dtype.kind is Kind.COMPLEX for operand in operation.inputs) and len(signs) == 2:
            factors = (replace(operand, conjugated=sign) for operand, sign in zip(operation.inputs, signs))
            operation = replace(operation, operands=(*factors, *operation.operands[2:]))
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

    def _extra(self, number: int) -> Term:
        """What a touch reads: an operand of the epilogue, or a constant."""
        place = number - len(self.problem.equation.inputs)
        terms = self.problem.finish_terms()
        return terms[place] if place < len(terms) else Term((), ())

    def _extra_type(self, number: int) -> DType:
        """The type of what a touch reads; what complex numbers held is multiplied by a real one."""
        dtype, is_operand = self.problem.dtype, number < len(self.problem.shapes)
        return dtype if is_operand or dtype.kind is not Kind.COMPLEX else dtype.real

    def _check_size(self, inputs: Sequence[Term], target: Term) -> None:
        labels = dict.fromkeys(label for term in (*inputs, target) for label in term.labels)
        if math.prod(max(self.sizes[label], 1) for label in labels) > MOST_POINTS:
            extents = " ".join(f"{label}={self.sizes[label]}" for label in labels)
            raise ShapeError(
                f"a step of the contraction has more than 2**60 points\n{caret_lines(self.problem.equation.text, ())}\n"
                f"  {extents}\n  Contract fewer operands at once, or choose another path with optimize=."
            )


def operation_of(inputs: Sequence[Term], output: Term, sizes: dict[str, int], types: Sequence[DType]) -> Operation:
    """Return the operation `output = sum over all other labels of the product of the inputs`; its type is the last."""
    labels = dict.fromkeys([*output.labels, *(label for term in inputs for label in term.labels)])
    axes = tuple(Axis(label, sizes[label], _role(label, inputs, output)) for label in labels)
    operands: list[Operand] = []
    names = (*("in0", "in1")[: len(inputs)], "out")
    for name, term, dtype in zip(names, (*inputs, output), types):
        strides = dict(zip(term.labels, term.strides))
        operands.append(Operand(name, dtype, tuple(strides.get(label, 0) for label in labels)))
    if len(inputs) == 2:
        main = Primitive.GEMM
    else:
        main = Primitive.SUM if any(axis.role is DimType.K for axis in axes) else Primitive.IDENTITY
    first = Touch(Primitive.ZERO) if main is not Primitive.IDENTITY else NO_TOUCH
    return Operation(axes, tuple(operands), main, first)


def finished(
    operation: Operation,
    first: int | None,
    touches: Sequence[tuple[Primitive, int | None]],
    extras: Sequence[tuple[Term, DType]],
) -> Operation:
    """Return the operation with touches, the first of which is before the sums if `first` is a tensor.

    What is added to cannot be a copy: a copy becomes a sum over nothing but one element.
    """
    inputs = len(operation.inputs)
    places = iter(range(inputs, inputs + len(extras)))
    done = [Touch(primitive, None if number is None else next(places)) for primitive, number in touches]
    operands = [
        Operand(
            f"extra{i}",
            dtype,
            tuple(dict(zip(t.labels, t.strides)).get(n, 0) for n in operation.names),
        )
        for i, (t, dtype) in enumerate(extras)
    ]
    adds = first != FRESH and operation.main is Primitive.IDENTITY
    start = operation.first_touch if first == FRESH else NO_TOUCH if first is None else done.pop(0)
    return replace(
        operation,
        operands=(*operation.inputs, *operands, operation.output),
        main=Primitive.SUM if adds else operation.main,
        first_touch=start,
        last_touches=tuple(done),
    )


def _role(label: str, inputs: Sequence[Term], output: Term) -> DimType:
    if label not in output.labels:
        return DimType.K
    if len(inputs) == 1:
        return DimType.C
    in0, in1 = (label in term.labels for term in inputs)
    return DimType.C if in0 and in1 else DimType.M if in0 else DimType.N
