"""`predicted_seconds`: how long an expression takes on one core, by the cost model that schedules are chosen by."""

from __future__ import annotations

from einloom.expression.programs import decided
from einloom.expression.recipe import Recipe
from einloom.machine import Machine
from einloom.passes.model.cost import cost_of
from einloom.plan.steps import Plan

__all__ = ["predicted_seconds"]


def predicted_seconds(recipe: Recipe) -> float:
    """Return the seconds of all steps of all slices on one core of the machine that code is generated for."""
    machine = recipe.machine()
    return sum(count * _plan_seconds(plan, machine) for plan, count in recipe.plans())


def _plan_seconds(plan: Plan, machine: Machine) -> float:
    return sum(cost_of(*decided(step.operation, None, machine, 1), machine).seconds for step in plan.steps)
