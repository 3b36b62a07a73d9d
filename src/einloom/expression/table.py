"""What is known of every step of an expression, as rows: people read them as a table, in HTML and in plots."""

from __future__ import annotations

from collections.abc import Sequence

from einloom.expression.recipe import Recipe
from einloom.expression.variant import CompiledStep
from einloom.frozen import frozen
from einloom.ir.operation import Operation
from einloom.plan.steps import Plan

__all__ = ["MOST_ROWS", "StepRow", "axes_in_memory", "rows_of", "table_text"]

MOST_ROWS = 12
"""Steps that a table shows: those with the most arithmetic. More are a page, which `show` prints."""


@frozen
class StepRow:
    """A step.

    Attributes:
        number: of the tensor that it makes; operands are the first tensors.
        inputs: numbers of the tensors that it reads.
        formula: what it computes, with the axes of every tensor, the one with the largest stride first.
        flops, bytes: arithmetic and least traffic.
        code: size of its machine code in bytes; 0 where there is none.
        compiled: the step itself.
    """

    number: int
    inputs: tuple[int, ...]
    formula: str
    flops: int
    bytes: int
    code: int
    compiled: CompiledStep


def rows_of(plan: Plan, steps: Sequence[CompiledStep]) -> list[StepRow]:
    """Return a row for every step."""
    return [_row(number, compiled) for number, compiled in enumerate(steps, plan.given)]


def _row(number: int, compiled: CompiledStep) -> StepRow:
    operation, inputs = compiled.step.operation, compiled.step.inputs
    names = [f"t{i}[{axes_in_memory(operation, place)}]" for place, i in enumerate((*inputs, number))]
    formula = f"{names[-1]} = {operation.main} {' '.join(names[:-1])}"
    code = len(compiled.executable.image.code) if compiled.executable else 0
    return StepRow(number, inputs, formula, operation.flops, operation.bytes, code, compiled)


def axes_in_memory(operation: Operation, operand: int) -> str:
    """Return the names of an operand's axes, the one with the largest stride first."""
    which = operation.operands[operand]
    own = [axis for axis, stride in zip(operation.axes, which.strides) if stride]
    return " ".join(axis.name for axis in operation.outermost_first(which, own))


def table_text(rows: Sequence[StepRow], recipe: Recipe) -> list[str]:
    """Return the lines of a table: formula, arithmetic, least traffic, code, and the schedule where one was decided."""
    shown = sorted(sorted(rows, key=lambda row: -row.flops)[:MOST_ROWS], key=lambda row: row.number)
    cells = [
        (row.formula, f"{row.flops:,} flop", f"{row.bytes:,} bytes", _code(row), _how(row, recipe)) for row in shown
    ]
    widths = [max(map(len, column)) for column in zip(*cells)]
    lines = [
        f"  {formula:<{widths[0]}}  {flops:>{widths[1]}}  {moved:>{widths[2]}}  {code:<{widths[3]}}  {how}".rstrip()
        for formula, flops, moved, code, how in cells
    ]
    hidden = len(rows) - len(shown)
    return lines + [f"  and {hidden} steps with less arithmetic"] * (hidden > 0)


def _code(row: StepRow) -> str:
    if row.compiled.table is not None:
        return "by table"
    if row.code:
        return f"{row.code:,} of code"
    return "NumPy" if row.compiled.by_numpy else "interpreted"


def _how(row: StepRow, recipe: Recipe) -> str:
    state = recipe.decided(row.compiled)
    return "" if state is None else str(state[1])
