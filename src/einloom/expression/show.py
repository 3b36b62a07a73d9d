"""Expressions as text: their steps, what the passes did, loop nests with costs, machine code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from einloom.errors import ArgumentError
from einloom.expression.recipe import Recipe
from einloom.expression.table import axes_in_memory
from einloom.expression.variant import CompiledStep
from einloom.machine import Machine
from einloom.passes.model.rates import rates_of
from einloom.passes.pipeline import explain_passes
from einloom.passes.values import Options
from einloom.plan.slices import Slicing
from einloom.plan.steps import Plan
from einloom.targets.bound import bound_of
from einloom.targets.show import asm_text, nest_text

__all__ = ["variant_text"]


def variant_text(what: str, plan: Plan, recipe: Recipe, steps: Sequence[CompiledStep]) -> str:
    """Return an expression, or one slice of it, as text, step by step; `what` as for `Expression.show`.

    Raises:
        ArgumentError: another word.
    """
    if what == "tree":
        return _tree_text(plan, recipe, steps)
    if what not in ("passes", "nest", "asm"):
        raise ArgumentError(f"show({what!r})\n  Show 'tree', 'passes', 'nest' or 'asm'.")
    named = zip(_headings(plan), steps)
    return "\n\n".join(f"{heading}\n\n{_step_text(what, recipe, compiled)}" for heading, compiled in named)


def _step_text(what: str, recipe: Recipe, compiled: CompiledStep) -> str:
    if what == "passes":
        return _passes_text(recipe, compiled)
    state = recipe.decided(compiled)
    if state is None:
        return str(compiled.step.operation)
    operation, schedule = state
    if what == "asm":
        return asm_text(operation, schedule, recipe.machine(), compiled.held)
    return f"{operation}\n\n{nest_text(operation, schedule, recipe.machine(), compiled.held)}"


def _passes_text(recipe: Recipe, compiled: CompiledStep) -> str:
    if compiled.executable is None:
        return "no pass: the interpreter computes the operation as it is"
    if compiled.schedule is not None:
        origin = "given" if recipe.schedule is not None else f"recorded by a search, in {recipe.records}"
        return f"no pass: the schedule was {origin}, {compiled.schedule}"
    return explain_passes(compiled.step.operation, recipe.machine(), Options(compiled.threads, held=compiled.held))


def _tree_text(plan: Plan, recipe: Recipe, steps: Sequence[CompiledStep]) -> str:
    """Every step: what it reads and writes with the axes in the order of memory, least traffic and time, its place.

    Below a step that reads a constant as packed blocks, how much these are.

    Steps of different lanes run at the same time, a thread each; those of none behind them, each on all threads.
    """
    arena, machine = plan.arena, _with_rates(recipe)
    once = {compiled.step.inputs: _packed_once(compiled) for compiled in steps}
    places = [f"in the arena at {place:,}" for place in arena.places]
    lines = [] if recipe.slicing is None else _slices_text(recipe.slicing)
    for heading, step, place, lane in zip(_headings(plan), plan.steps, [*places, "the result"], plan.lane_of):
        operation, number = step.operation, heading.split()[0]
        names = [f"t{i}" for i in step.inputs] + [number]
        *reads, written = (f"{name}[{axes_in_memory(operation, i)}]" for i, name in enumerate(names))
        bound = None if machine is None else bound_of(operation, machine)
        least = f"{operation.bytes:,} bytes" + (f", {bound}" if bound else "")
        whose = "" if lane is None else f"; lane {lane}"
        lines += [heading, f"    {' '.join(reads)} -> {written}; at least {least}; {place}{whose}"]
        lines += once.get(step.inputs, [])
    if len(plan.steps) > 1:
        whose = "" if recipe.slicing is None else " for every thread"
        lines.append(f"arena: {arena.size:,} bytes{whose}")
    if machine is not None and recipe.machine().rates is None:
        lines.append("least times: by typical rates of a core; `einloom info --measure` records its own")
    return "\n".join(lines)


def _with_rates(recipe: Recipe) -> Machine | None:
    """Return the machine with the rates that times follow from, typical ones if none are recorded; None: no code."""
    if recipe.is_interpreted:
        return None
    machine = recipe.machine()
    return replace(machine, rates=rates_of(machine))


def _packed_once(compiled: CompiledStep) -> list[str]:
    inputs = compiled.step.inputs
    return [f"    t{inputs[place]} is packed once, {size:,} bytes of panels" for place, size, _ in compiled.copies]


def _slices_text(slicing: Slicing) -> list[str]:
    """How many slices there are, where they are cut, and how they join."""
    labels = slicing.problem.equation.output
    cuts = [
        f"    {cut.label}: {cut.count:,} pieces of {cut.step:,} of {cut.extent:,} indices, "
        + ("side by side in the result" if cut.label in labels else "summed")
        for cut in slicing.cuts
    ]
    joined = f", {slicing.leaves:,} added up along a binary tree" if slicing.leaves > 1 else ""
    return [f"{len(slicing):,} slices: {slicing.places:,} parts of the result{joined}", *cuts, "the first slice:"]


def _headings(plan: Plan) -> list[str]:
    """A line a step: the tensor that it makes, of which others. The operands are the first tensors."""
    return [
        f"t{number} {step.shape} = {step.operation.main} {' '.join(f't{i}' for i in step.inputs)}, "
        f"{step.operation.flops:,} flop"
        for number, step in enumerate(plan.steps, plan.given)
    ]
