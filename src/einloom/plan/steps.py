"""From a problem to steps: operations on one or two tensors, with intermediate tensors between them.

Three and more operands go pairwise along a contraction path (`opt_einsum`). An axis that only one operand of a pair
has, and that the result lacks, is summed before the pair is contracted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from einloom.dtypes import DType
from einloom.ir.operation import NO_TOUCH, Axis, DimType, Operand, Operation, Primitive, Touch
from einloom.plan.problem import Problem, Term, contiguous_strides

__all__ = ["Plan", "Step", "contraction_path", "plan_problem"]


@dataclass(frozen=True, slots=True)
class Step:
    """One operation of a plan. Tensors are numbered: the problem's operands, then the results of the steps."""

    operation: Operation
    inputs: tuple[int, ...]
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps in order; the last one writes the result."""

    steps: tuple[Step, ...]
    path: tuple[tuple[int, ...], ...]

    @property
    def flops(self) -> int:
        """Arithmetic of all steps."""
        return sum(step.operation.flops for step in self.steps)

    @property
    def bytes(self) -> int:
        """Least traffic of all steps, in bytes."""
        return sum(step.operation.bytes for step in self.steps)


def contraction_path(text: str, shapes: Sequence[tuple[int, ...]], optimize: Any) -> tuple[list[tuple[int, ...]], Any]:
    """Return opt_einsum's path and its description for operands of these shapes."""
    import opt_einsum

    path, info = opt_einsum.contract_path(text, *shapes, shapes=True, optimize=optimize)
    return list(path), info


def plan_problem(problem: Problem, output_strides: tuple[int, ...] | None, optimize: Any = "auto") -> Plan:
    """Return the steps that compute the problem into an output with the given strides (None: C-contiguous)."""
    count = len(problem.shapes)
    if count <= 2:
        path: list[tuple[int, ...]] = [tuple(range(count))]
    else:
        shapes = [tuple(problem.sizes[label] for label in labels) for labels in problem.equation.inputs]
        path, _ = contraction_path(_letters(problem), shapes, optimize)
    return _Planner(problem, output_strides).plan(path)


def _letters(problem: Problem) -> str:
    """The equation with single letters for the labels of an ellipsis, as contraction paths want it."""
    from opt_einsum import get_symbol

    symbols = {label: get_symbol(i) for i, label in enumerate(problem.sizes)}
    terms = ("".join(symbols[label] for label in labels) for labels in problem.equation.inputs)
    return ",".join(terms) + "->" + "".join(symbols[label] for label in problem.equation.output)


class _Planner:
    """Working state: the tensors that are left, by number, and the steps so far."""

    def __init__(self, problem: Problem, output_strides: tuple[int, ...] | None) -> None:
        self.problem = problem
        self.sizes = problem.sizes
        self.result = problem.output_term(output_strides)
        self.terms = {i: problem.input_term(i) for i in range(len(problem.shapes))}
        self.left = list(self.terms)
        self.steps: list[Step] = []

    def plan(self, path: list[tuple[int, ...]]) -> Plan:
        for position, group in enumerate(path):
            chosen = [self.left[i] for i in group]
            self.left = [number for i, number in enumerate(self.left) if i not in group]
            while len(chosen) > 2:  # A path may join many at once; two at a time is what operations do.
                number = self._join(chosen[:2], self._needed(chosen[2:]), None)
                chosen = [*chosen[2:], number]
            last = position == len(path) - 1
            target = self.result if last else None
            self.left.append(self._join(chosen, self._needed([]), target))
        return Plan(tuple(self.steps), tuple(path))

    def _needed(self, others: Sequence[int]) -> set[str]:
        """Labels that the result or a tensor that is still to come has."""
        tensors = [*self.left, *others]
        return {label for number in tensors for label in self.terms[number].labels} | set(self.result.labels)

    def _join(self, numbers: Sequence[int], needed: set[str], target: Term | None) -> int:
        if len(numbers) == 2:
            numbers = [self._summed_early(a, b, needed) for a, b in (numbers, numbers[::-1])]
        if target is None:
            target = self._intermediate(numbers, needed)
        terms = [self.terms[number] for number in numbers]
        operation = operation_of(terms, target, self.sizes, self.problem.dtype)
        return self._add(operation, tuple(numbers), target)

    def _summed_early(self, number: int, other: int, needed: set[str]) -> int:
        term = self.terms[number]
        keep = [label for label in term.labels if label in needed or label in self.terms[other].labels]
        if all(label in keep or self.sizes[label] == 1 for label in term.labels):
            return number
        target = Term(tuple(keep), contiguous_strides([self.sizes[label] for label in keep]))
        return self._add(operation_of([term], target, self.sizes, self.problem.dtype), (number,), target)

    def _intermediate(self, numbers: Sequence[int], needed: set[str]) -> Term:
        labels = dict.fromkeys(label for number in numbers for label in self.terms[number].labels if label in needed)
        return Term(tuple(labels), contiguous_strides([self.sizes[label] for label in labels]))

    def _add(self, operation: Operation, inputs: tuple[int, ...], target: Term) -> int:
        self.steps.append(Step(operation, inputs, tuple(self.sizes[label] for label in target.labels)))
        number = len(self.terms)
        self.terms[number] = target
        return number


def operation_of(inputs: Sequence[Term], output: Term, sizes: dict[str, int], dtype: DType) -> Operation:
    """Return the operation `output = sum over all other labels of the product of the inputs`."""
    labels = dict.fromkeys([*output.labels, *(label for term in inputs for label in term.labels)])
    axes = tuple(Axis(label, sizes[label], _role(label, inputs, output)) for label in labels)
    operands = []
    for name, term in zip((*("in0", "in1")[: len(inputs)], "out"), (*inputs, output)):
        strides = dict(zip(term.labels, term.strides))
        operands.append(Operand(name, dtype, tuple(strides.get(label, 0) for label in labels)))
    if len(inputs) == 2:
        main = Primitive.GEMM
    else:
        main = Primitive.SUM if any(axis.role is DimType.K for axis in axes) else Primitive.IDENTITY
    first = Touch(Primitive.ZERO) if main is not Primitive.IDENTITY else NO_TOUCH
    return Operation(axes, tuple(operands), main, first)


def _role(label: str, inputs: Sequence[Term], output: Term) -> DimType:
    if label not in output.labels:
        return DimType.K
    if len(inputs) == 1:
        return DimType.C
    in0, in1 = (label in term.labels for term in inputs)
    return DimType.C if in0 and in1 else DimType.M if in0 else DimType.N
