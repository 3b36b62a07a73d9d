"""How far a block of one input reaches along the input's own axes."""

from __future__ import annotations

from collections.abc import Mapping

from einloom.passes.contraction.blocks.shared import SharedSteps
from einloom.passes.contraction.plan import BLOCKS
from einloom.passes.model.side import Side
from einloom.passes.model.sizes import balanced_block, block_steps, equal_block

__all__ = ["steps_and_tile"]


def steps_and_tile(
    shared: SharedSteps, side: Side, tile: int, budget: int, runs: Mapping[str, int]
) -> tuple[dict[str, int], int]:
    """Return how far a block reaches along each own axis: the primitive's first, then what lies closest.

    A panel may become narrower for the sake of long runs: its width stands beside it.

    Args:
        shared: how far it reaches along other axes.
        side: the input.
        tile: indices of the primitive's axis in one panel.
        budget: indices of the own axes together.
        runs: how far it reaches along some axes at least.
    """
    plan, packed = shared.plan, shared.packs(side)
    if packed and plan.long_runs and plan.staging is not BLOCKS:
        least, tile = shared.sides.packing.least(side, tile, budget + budget // 2, shared.steps)
    else:  # A copy moves whole lines.
        least = {side.contiguous: shared.sides.targets.line} if packed and side.contiguous is not None else {}
        if side.prim is not None:
            least[side.prim] = max(least.get(side.prim, 1), tile)
    for name, run in runs.items():
        least[name] = max(least.get(name, 1), run)
    cut = equal_block if plan.packs_vector else balanced_block
    return block_steps(side.order, budget, least, {side.prim: tile} if side.prim else {}, cut), tile
