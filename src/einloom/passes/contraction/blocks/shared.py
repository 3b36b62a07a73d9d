"""How far blocks reach along the axes that both inputs have: those that are summed, and those of a batch."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from einloom.frozen import frozen
from einloom.ir.operation import Axis
from einloom.passes.contraction.blocks.rows import rows_in_place, rows_of_turned
from einloom.passes.contraction.blocks.sides import Sides
from einloom.passes.contraction.plan import PRODUCTS, SUMS, Plan
from einloom.passes.identify import LARGER
from einloom.passes.model.side import Side
from einloom.passes.model.sizes import block_steps, equal_block

__all__ = ["SharedSteps", "shared_steps"]

COMMON_VECTORS = 4
"""Vectors in one block of a vector axis that both inputs depend on, where blocks are packed."""

FEW_TOGETHER = 8
"""Columns of such a block whose vectors half of L1 holds.

Measured with it, against blocks as deep and wide as for other products: 33 rows that changed on AVX-512 ran 1.42 times
as fast in the mean (0.81 to 4.6), 27 on AVX2 1.42 times (0.62 to 2.7).
"""

UNPACKED_VECTOR = 1024
"""The same where nothing is packed: operands and output of a block fit L1."""

PRODUCTS_RUN = 256
"""Bytes of the output that a block of products should write in one piece: what is turned in registers are lines."""


@frozen(eq=False)
class SharedSteps:
    """What blocks of both inputs have alike in a plan.

    Attributes:
        sides: the inputs, with the axes that the primitive takes in the plan.
        plan: what it decides.
        counting: the axis that counts the products of a block, if it holds several.
        reduced, common: how far blocks reach along the axes that are summed, and along those that both depend on.
    """

    sides: Sides
    plan: Plan
    counting: Axis | None
    reduced: Mapping[str, int]
    common: Mapping[str, int]

    @property
    def steps(self) -> dict[str, int]:
        """How far blocks reach along all of these axes."""
        return {**self.reduced, **self.common}

    @property
    def summed(self) -> int:
        """Products that a block adds up."""
        return math.prod(self.reduced.values())

    @property
    def parts(self) -> int:
        """How many blocks the sum is cut into."""
        return math.prod([-(-axis.extent // self.reduced[axis.name]) for axis in self.sides.reduced])

    @property
    def adds_products(self) -> bool:
        """Whether parts of each product's sum are added to a staged block of several products."""
        return self.plan.staging is PRODUCTS and self.plan.few_steps

    @property
    def adds_parts(self) -> bool:
        """Whether several blocks of the sum are added to a staged block."""
        return self.plan.staging is SUMS and self.parts > 1

    @property
    def turns_output(self) -> bool:
        """Whether what is copied is the output alone."""
        return self.sides.turns_output(self.plan)

    def packs(self, side: Side) -> bool:
        """Whether blocks of an input are copied into scratch."""
        return self.plan.packs_vector if side is self.sides.a else self.plan.packs_element

    def is_alone(self, side: Side) -> bool:
        """Whether a copy is of one product's operand: it lies in pieces of its own."""
        return self.counting is not None and abs(side.strides[self.counting.name]) != 1


def shared_steps(sides: Sides, plan: Plan) -> SharedSteps:
    """Return how far blocks of a plan reach along the axes that are summed, and along those that both inputs have."""
    counting = _counting_axis(sides, plan)
    reduced = _reduced_steps(sides, plan)
    common = _common_steps(sides, plan, counting, math.prod(reduced.values())) if sides.common else {}
    return SharedSteps(sides, plan, counting, reduced, common)


def _counting_axis(sides: Sides, plan: Plan) -> Axis | None:
    """The output's innermost axis where a staged block turns products, an input's where copies read along it."""
    operation = sides.operation
    if plan.staging is PRODUCTS:
        return min(sides.common, key=lambda axis: operation.distance(operation.output, axis))
    if not plan.several:
        return None
    innermost = [operation.contiguous_axis(operand) for operand in operation.inputs]
    return next((axis for axis in innermost if axis in sides.common and axis.name not in sides.prims.names), None)


# ---- axes that are summed -------------------------------------------------------------------------------------------


def _reduced_steps(sides: Sides, plan: Plan) -> dict[str, int]:
    """Return blocks of the axes that are summed: the primitive's k first, but whole cache lines of packed operands."""
    steps, prims, packed = {axis.name: 1 for axis in sides.reduced}, sides.prims, sides.packed(plan)
    names = (prims.k, prims.batch)
    taken = [axis for name in names if name is not None for axis in sides.reduced if axis.name == name]
    if packed:
        return steps | block_steps(taken, _depth(sides, plan), _whole_lines(sides, packed))
    steps |= {axis.name: max(axis.extent, 1) for axis in taken}
    if sides.turns_output(plan):
        return steps | rows_of_turned(sides, plan, taken)
    return steps | rows_in_place(sides, taken) if plan.few_steps else steps


def _depth(sides: Sides, plan: Plan) -> int:
    """Return how many products a packed block should add up."""
    targets = sides.targets
    depth = targets.k_inside if plan.vector_inside else targets.k
    if plan.in_order:
        depth = sides.operation.points
    if any(axis.name == sides.prims.m for axis in sides.common):  # Vectors of both, none used twice in a tile.
        depth = min(depth, targets.small // (FEW_TOGETHER * targets.lanes))
    return depth // plan.k_parts


def _whole_lines(sides: Sides, packed: Sequence[Side]) -> dict[str, int]:
    """At least a cache line of what is contiguous, for packs have to read whole lines.

    Not of an operand that is much smaller than the other: L2 keeps the rest of its lines.
    """
    sizes = {side.position: sides.operation.elements(side.operand) for side in (sides.a, sides.b) if side is not None}
    near = min(max(sizes.values()) // LARGER, sides.targets.kept)
    return {
        side.contiguous: sides.targets.line
        for side in packed
        if sizes[side.position] > near and side.contiguous is not None
    }


# ---- axes that both inputs depend on --------------------------------------------------------------------------------


def _common_steps(sides: Sides, plan: Plan, counting: Axis | None, summed: int) -> dict[str, int]:
    """Return blocks of the axes that both inputs depend on: single indices, more of those that the primitive takes."""
    prims, targets = sides.prims, sides.targets
    run = sides.tile_run // max(sides.extents.get(prims.m or "", 1), 1)
    limits = {prims.n: max(run, targets.tile_n)}
    limits[prims.m] = _common_vectors(sides, summed) if sides.packed(plan) else UNPACKED_VECTOR
    if counting is not None:
        run = targets.run if plan.long_runs else PRODUCTS_RUN // sides.size
        run = targets.line if plan.several else run
        limits[counting.name] = equal_block(counting.extent, run)
    return {axis.name: max(min(limits.get(axis.name, 1), axis.extent), 1) for axis in sides.common}


def _common_vectors(sides: Sides, summed: int) -> int:
    """Return how far a block reaches along vectors that both inputs have: L1 holds those of a few columns.

    Each is used for one row alone, so all of them come from there again and again.
    """
    lanes, inside = sides.targets.lanes, summed * FEW_TOGETHER
    return lanes * min(max(sides.targets.small // (lanes * inside), 1), COMMON_VECTORS)
