"""`in_little_memory`: the steps of a tree one part after the other, so that few intermediate tensors live at a time.

Of the parts that a step joins that one comes first which needs most memory beyond its result (Sethi and Ullman, The
generation of optimal code for arithmetic expressions, 1970); on a tie they stay as they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from einloom.plan.steps import Plan, Step

__all__ = ["in_little_memory", "in_order"]


def in_little_memory(plan: Plan) -> Plan:
    """Return the plan with its steps in such an order."""
    steps, given = plan.steps, plan.given
    parts = _parts_first_needed(steps, given)
    order, open_steps = list[int](), [len(steps) - 1]
    while open_steps:  # From the result backwards: the part that comes last is open first.
        number = open_steps.pop()
        order.append(number)
        open_steps += parts[number]
    return in_order(plan, order[::-1])


def in_order(plan: Plan, order: Sequence[int]) -> Plan:
    """Return the plan with its steps in this order, and its tensors numbered anew."""
    if order == [*range(len(order))]:
        return plan
    steps, given = plan.steps, plan.given
    named = {given + old: given + new for new, old in enumerate(order)}
    moved = (replace(steps[old], inputs=tuple(named.get(i, i) for i in steps[old].inputs)) for old in order)
    return replace(plan, steps=tuple(moved))


def _parts_first_needed(steps: Sequence[Step], given: int) -> list[list[int]]:
    """Return for every step those that it reads, in the order in which they are to be computed."""
    needs, parts = list[int](), list[list[int]]()
    for number, step in enumerate(steps):
        read = sorted({other - given for other in step.inputs if given <= other < given + number})
        read.sort(key=lambda number: steps[number].bytes - needs[number])
        held, need = 0, 0
        for number in read:
            need, held = max(need, held + needs[number]), held + steps[number].bytes
        needs.append(max(need, held + step.bytes))
        parts.append(read)
    return parts
