"""`Blocks`: all blocks of a plan; `blocks_of` decides them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeVar

from einloom.frozen import frozen
from einloom.passes.contraction.blocks.shared import SharedSteps, shared_steps
from einloom.passes.contraction.blocks.sides import Sides
from einloom.passes.contraction.blocks.staged import may_stage, output_runs, products_apart, staged_budget, tile_columns
from einloom.passes.contraction.blocks.steps import steps_and_tile
from einloom.passes.contraction.blocks.turned import turned_blocks
from einloom.passes.contraction.plan import BLOCKS, NONE, PRODUCTS, TILES, Plan
from einloom.passes.model.side import Side, SideBlock

__all__ = ["Blocks", "blocks_of"]

Each = TypeVar("Each", Side, SideBlock)


@frozen(eq=False)
class Blocks:
    """The blocks of a plan.

    Attributes:
        shared: how far they reach along the axes that both inputs have.
        a, b: blocks of the inputs that the primitive reads as vectors and by elements.
    """

    shared: SharedSteps
    a: SideBlock
    b: SideBlock | None

    @property
    def in_order(self) -> list[SideBlock]:
        """Blocks of the inputs as loops stand around each other."""
        return _in_order(self.shared.plan, self.a, self.b)


def blocks_of(sides: Sides, plan: Plan) -> Blocks | None:
    """Return the blocks of a plan; None where the operation has no room for it."""
    if plan.whole_rows and not sides.has_two_panels:
        return None
    sides = sides.with_taken(plan)
    shared = shared_steps(sides, plan)
    if plan.staging is not NONE and not may_stage(shared):
        return None
    rows, columns = sides.widest if plan.whole_rows else sides.targets.tile_m, sides.targets.tile_n
    decide = turned_blocks if shared.turns_output else _blocks_beside
    return Blocks(shared, *decide(shared, rows, columns, output_runs(shared)))


def _in_order(plan: Plan, a: Each, b: Each | None) -> list[Each]:
    """Return what belongs to the inputs as loops stand around each other."""
    if b is None:
        return [a]
    return [b, a] if plan.element_first else [a, b]


def _blocks_beside(
    shared: SharedSteps, rows: int, columns: int, runs: Mapping[str, int]
) -> tuple[SideBlock, SideBlock | None]:
    """Return blocks of both inputs where one is packed, or the output is not turned.

    Args:
        shared: how far they reach along other axes.
        rows, columns: those of a tile.
        runs: how far they reach along some axes at least.
    """
    sides, plan = shared.sides, shared.plan
    if plan.staging is TILES:  # A tile is as wide as a run of the output.
        rows = sides.extents[sides.prims.m or ""]
        columns = tile_columns(shared, rows)
    order, a_steps, b_steps = _in_order(plan, sides.a, sides.b), {}, {}
    others = math.prod([runs.get(axis.name, 1) for side in order[1:] for axis in side.axes])
    for side, budget in zip(order, _budgets(shared)):
        most = _most(shared, side, budget, others)
        if side is sides.a:
            steps, rows = a_steps, rows = steps_and_tile(shared, side, rows, most, runs)
            columns = tile_columns(shared, rows) if plan.staging is TILES else columns
        else:
            steps, _ = b_steps, _ = steps_and_tile(shared, side, columns, most, runs)
        others = math.prod(steps.values())
    a = SideBlock(sides.a, plan.packs_vector, a_steps, rows, _a_is_in_panels(shared))
    if sides.b is None:
        return a, None
    return a, SideBlock(sides.b, plan.packs_element, b_steps, columns, _b_is_in_panels(shared, sides.b, rows))


def _most(shared: SharedSteps, side: Side, budget: int, others: int) -> int:
    """Return how many indices a block has of its own axes, beside as many of the `others`, for a budget of elements."""
    common = math.prod(shared.common.values())
    most = max(budget // (shared.summed * common // products_apart(shared, side)), 1)
    if shared.plan.staging in (NONE, TILES):
        return most
    return min(most, max(staged_budget(shared) // (common * others), 1))


def _budgets(shared: SharedSteps) -> list[int]:
    """Return how many elements the blocks of the inputs may have, as loops stand around each other."""
    plan, sides, targets = shared.plan, shared.sides, shared.sides.targets
    if plan.in_order:
        return [sides.operation.points] * 2
    if plan.staging in (BLOCKS, PRODUCTS):
        return [targets.staged, targets.resident]
    if sides.b is None or not plan.packs_vector:
        return [targets.streamed, targets.alone]
    if plan.element_first or plan.vector_inside:  # The first one lies in L3, the second one in L2.
        return [targets.shared, targets.streamed]
    bounded = plan.packs_element and not shared.adds_parts  # There the staged block bounds both.
    return [targets.streamed, targets.resident if bounded else sides.operation.points]


def _a_is_in_panels(shared: SharedSteps) -> bool:
    """Whether the primitive takes one panel of A at a time."""
    sides, plan = shared.sides, shared.plan
    if plan.in_order and plan.packs_vector and plan.staging is not TILES and sides.a.prim and sides.b is not None:
        return shared.summed * sides.extents[sides.a.prim] > sides.targets.small  # Else a tile goes along whole rows.
    return plan.packs_vector


def _b_is_in_panels(shared: SharedSteps, b: Side, rows: int) -> bool:
    """Whether the primitive takes one panel of B at a time; what L1 holds of B as a whole is left to it."""
    sides, plan = shared.sides, shared.plan
    if plan.staging is TILES or not plan.packs_vector:
        return plan.staging is TILES or (plan.panels and not plan.packs_element)
    return plan.in_order or (sides.a.elements > rows and b.elements * shared.summed > sides.targets.small)
