"""`planned`: the steps of a problem with the layouts of its intermediate tensors; `asked_path`: the path of its tree.

Later processes remember both.
"""

from __future__ import annotations

import json
from typing import Any

from einloom.errors import PathError
from einloom.jit.code_store import code_store, package_stamp
from einloom.machine import Machine
from einloom.plan.cuts import limited_path
from einloom.plan.layouts import chosen_layouts, is_worth_a_choice
from einloom.plan.order import in_little_memory
from einloom.plan.paths import Path
from einloom.plan.problem import Problem
from einloom.plan.slices import Slicing
from einloom.plan.steps import Layouts, Plan, plan_problem
from einloom.targets.stored import program_key

__all__ = ["asked_path", "planned"]

_STEADY = frozenset({"auto", "branch-1", "branch-2", "branch-all", "dp", "dynamic-programming", "greedy", "optimal"})
"""Strategies of opt_einsum that find one path, whenever they are asked."""


def asked_path(problem: Problem, optimize: Any, memory_limit: Any) -> tuple[Path, Slicing | None]:
    """Return what `limited_path` does. A path of opt_einsum's is kept: its import takes longer than most contractions.

    Raises:
        EquationError, PathError: as `limited_path`.
    """
    equation, store = problem.equation, code_store()
    lasts = isinstance(optimize, str) and optimize in _STEADY and len(equation.inputs) > 2 and memory_limit is None
    if not lasts or store is None:
        return limited_path(problem, optimize, memory_limit)
    key = f"path {equation.inputs} {equation.output} {problem.sizes} {optimize} {package_stamp()}"
    try:
        return limited_path(problem, json.loads(store.read(key) or b"[]"), None)
    except (PathError, ValueError):  # There is none, or what is no path of so many tensors.
        found = limited_path(problem, optimize, None)
    store.write(key, json.dumps(found[0]).encode())
    return found


def planned(
    problem: Problem, output_strides: tuple[int, ...] | None, path: Path, machine: Machine | None = None
) -> Plan:
    """Return the steps, in an order that takes little memory and laid out for a machine; None: as they come."""
    return in_little_memory(_laid_out(problem, output_strides, path, machine))


def _laid_out(problem: Problem, output_strides: tuple[int, ...] | None, path: Path, machine: Machine | None) -> Plan:
    plan = plan_problem(problem, output_strides, path)
    if machine is None or not machine.has_vectors or not is_worth_a_choice(plan):
        return plan
    store = code_store()
    key = program_key(("layouts", problem, output_strides, path), machine) if store else ""
    layouts = _layouts_in(store.read(key) if store else None)
    if layouts is None:
        layouts = chosen_layouts(problem, output_strides, path, machine)
        if store:
            store.write(key, json.dumps([*layouts.items()]).encode())
    return plan_problem(problem, output_strides, path, layouts) if layouts else plan


def _layouts_in(content: bytes | None) -> Layouts | None:
    """Return the layouts that were kept, if they were. A plan passes over what does not fit it."""
    try:
        rows: list[Any] = [] if content is None else json.loads(content)
        return None if content is None else {int(number): [str(label) for label in order] for number, order in rows}
    except (ValueError, TypeError):
        return None
