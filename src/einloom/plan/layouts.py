"""`chosen_layouts`: in which order the axes of intermediate tensors lie, so that a whole tree takes least time.

A tensor is written by one step and read by another. The order that is best to write may be slow to read: each order
that one of them would like is a candidate, and what both of them take decides, as the cost model of the passes has it.
Tensors are looked at one after the other, those first whose reader has most to do, each with the others as they were
chosen last. Where that makes little difference, tensors lie as they do without a choice: the axes of the first input,
then those of the second.

>>> from einloom.machine import AVX512
>>> from einloom.plan.problem import make_problem
>>> shapes = [(8, 24, 72, 32), (12, 8, 8, 72), (84, 64, 12, 24)]
>>> problem = make_problem("iaje,cigj,hfca->hgfei", shapes, [None] * 3, "float32")
>>> chosen_layouts(problem, None, ((0, 1), (0, 1)), AVX512)
{3: ('g', 'e', 'i', 'c', 'a')}
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from einloom.dtypes import Kind
from einloom.ir.operation import Axis, DimType, Operand, Operation
from einloom.machine import Machine
from einloom.plan.names import with_plain_names
from einloom.plan.paths import Path
from einloom.plan.problem import Problem
from einloom.plan.steps import Plan, plan_problem

__all__ = ["chosen_layouts", "is_worth_a_choice", "operand_layout"]

WORTH = 2**27
"""Products from which on a step is worth the choice: it runs for 1 ms and more, the choice takes 5 to 10, once."""

LITTLE = 2**21
"""Products up to which a step's time does not count."""

MOST_CHOICES = 12
"""Tensors of one tree that are looked at."""

BETTER = 0.97
"""What a candidate may take at most, as a share: the model is not exact to a few per cent."""


def is_worth_a_choice(plan: Plan) -> bool:
    """Whether a step that reads an intermediate tensor has enough to do."""
    return bool(_edges(plan))


def chosen_layouts(
    problem: Problem, output_strides: tuple[int, ...] | None, path: Path, machine: Machine
) -> dict[int, tuple[str, ...]]:
    """Return the order of the axes of those intermediate tensors for which it matters, by number; see the module.

    Args:
        problem: what is computed.
        output_strides: of the result, in elements; None: C-contiguous.
        path: which tensors are contracted together.
        machine: for which it is to be fast, on one thread.
    """
    costs = _Costs(machine)
    layouts: dict[int, tuple[str, ...]] = {}
    plan = plan_problem(problem, output_strides, path)
    for number in _edges(plan):
        best = costs.of(plan)
        for order in _orders(plan, number):
            tried = plan_problem(problem, output_strides, path, layouts | {number: order})
            seconds = costs.of(tried)
            if seconds < BETTER * best:
                best, layouts, plan = seconds, layouts | {number: order}, tried
    return layouts


def operand_layout(problem: Problem, path: Path, position: int, machine: Machine) -> tuple[int, ...]:
    """Return in which order the axes of an operand lie best, if that costs nothing: those of a constant."""
    costs, labels = _Costs(machine), problem.input_term(position).labels
    plan = plan_problem(problem, None, path)
    order = tuple(range(len(problem.shapes[position])))
    reader = next((step for step in plan.steps if position in step.inputs), None)
    if reader is None or len(reader.operation.inputs) != 2 or reader.operation.points < LITTLE:
        return order
    if len(labels) != len(order):  # A diagonal, which has no order of its own.
        return order
    best = costs.of(plan)
    for wanted in dict.fromkeys(_wanted_by(reader.operation, reader.inputs.index(position))):
        tried = tuple(labels.index(label) for label in wanted)
        seconds = costs.of(plan_problem(_with_order(problem, position, tried), None, path))
        if seconds < BETTER * best:
            best, order = seconds, tried
    return order


def _with_order(problem: Problem, position: int, order: Sequence[int]) -> Problem:
    strides, step = [0] * len(order), 1
    for axis in reversed(order):
        strides[axis], step = step, step * problem.shapes[position][axis]
    changed = (*problem.strides[:position], tuple(strides), *problem.strides[position + 1 :])
    return replace(problem, strides=changed)


def _edges(plan: Plan) -> list[int]:
    """Return the intermediate tensors whose reader has enough to do, that with most to do first."""
    readers = {number: step.operation for step in plan.steps for number in step.inputs if number >= plan.given}
    worth = [number for number, operation in readers.items() if operation.points >= WORTH]
    return sorted(worth, key=lambda number: -readers[number].points)[:MOST_CHOICES]


def _orders(plan: Plan, number: int) -> list[tuple[str, ...]]:
    """Return the orders of axes that the step which writes a tensor, or the one that reads it, would like."""
    writer = plan.steps[number - plan.given].operation
    reader = next(step for step in plan.steps if number in step.inputs)
    if any(len(each.inputs) != 2 for each in (writer, reader.operation)):
        return []
    wanted = [*_wanted_by(reader.operation, reader.inputs.index(number)), *_written_by(writer)]
    own = {axis.name for axis in writer.axes if axis.role is not DimType.K}
    return [order for order in dict.fromkeys(wanted) if {*order} == own]


def _wanted_by(operation: Operation, place: int) -> Iterator[tuple[str, ...]]:
    """Yield orders of an input: its axes in the result's order, those that are summed in the other input's.

    Those that are summed come last, or first, or before the axes that lie together at the end of the result.
    """
    axes = [axis for axis in operation.axes if operation.operands[place].strides[operation.axes.index(axis)]]
    other = operation.operands[1 - place]
    kept = _ordered(operation, operation.output, [axis for axis in axes if axis.role is not DimType.K])
    summed = _ordered(operation, other, [axis for axis in axes if axis.role is DimType.K])
    last = _ordered(operation, operation.output, [axis for axis in operation.axes if axis.role is not DimType.K])
    split = len(kept)
    while split and kept[split - 1] == last[len(last) - 1 - (len(kept) - split)]:
        split -= 1
    shared = [axis for axis in kept if axis.role is DimType.C]
    alone = [axis for axis in kept if axis.role is not DimType.C]
    for order in (kept + summed, shared + summed + alone, kept[:split] + summed + kept[split:]):
        yield tuple(axis.name for axis in order)


def _written_by(operation: Operation) -> Iterator[tuple[str, ...]]:
    """Yield the result's axes in the order of one input, then what the other one adds in its order: both ways."""
    kept = [axis for axis in operation.axes if axis.role is not DimType.K]
    for first, second in (operation.inputs, operation.inputs[::-1]):
        before = [axis for axis in kept if operation.stride(first, axis.name)]
        behind = [axis for axis in kept if axis not in before]
        yield tuple(axis.name for axis in (*_ordered(operation, first, before), *_ordered(operation, second, behind)))


def _ordered(operation: Operation, operand: Operand, axes: Sequence[Axis]) -> list[Axis]:
    return operation.outermost_first(operand, axes)


class _Costs:
    """The predicted seconds of steps, each looked at once."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._known: dict[Operation, float] = {}

    def of(self, plan: Plan) -> float:
        return sum(
            self._of_step(_on_reals(step.operation)) for step in plan.steps if step.operation.points >= WORTH // 64
        )

    def _of_step(self, operation: Operation) -> float:
        operation = with_plain_names(operation)
        if operation not in self._known:
            self._known[operation] = predicted_seconds(operation, self._machine)
        return self._known[operation]


def predicted_seconds(operation: Operation, machine: Machine) -> float:
    """Return how long an operation takes on one thread, as the passes would schedule it.

    Kernels that read everything where it lies wait for the second-level cache where the model thinks that they do not:
    sums of 1,600 products took 1.3 times as long as predicted. Here all of that is charged.
    """
    # Late: who finds a tree's layouts in the cache needs no passes.
    from einloom.passes.model.cost import CostModel
    from einloom.passes.pipeline import optimize_operation

    operation, schedule = optimize_operation(operation, machine)
    cost = CostModel(operation, machine).cost(schedule)
    return cost.seconds + (0.0 if schedule.packs else cost.near)


def _on_reals(operation: Operation) -> Operation:
    """Return what lies like an operation on complex numbers, on reals: its orders rank alike."""
    operands = (
        replace(operand, dtype=operand.dtype.real, conjugated=False) if operand.dtype.kind is Kind.COMPLEX else operand
        for operand in operation.operands
    )
    return replace(operation, operands=tuple(operands)) if operation.multiplies_pairs else operation
