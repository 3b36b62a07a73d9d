"""How far the blocks of a contraction reach along each axis, sized for the caches: what a plan leaves open.

`blocking` puts loops and packs around them, and says what `A`, `B`, the sides and the common axes are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace

from einloom.ir.operation import Axis, DimType, Operation
from einloom.ir.schedule import Prims
from einloom.machine import Machine
from einloom.passes.contraction.plan import BLOCKS, NONE, PRODUCTS, SUMS, TILES, Plan
from einloom.passes.identify import LARGER, vector_operand
from einloom.passes.model.packs import Packing, Side
from einloom.passes.model.sizes import balanced_block, equal_block, equal_part
from einloom.passes.model.tiles import block_targets
from einloom.passes.model.traffic import FOLLOWED

__all__ = ["Blocks"]

Cut = Callable[[int, int, int], int]
"""How an axis is cut: the size of its blocks from its extent, a target, and what they must be multiples of."""

WIDE_TILE = 4
"""Vectors of the widest tile: with a rest of one it may do better than two of equal width."""

COMMON_VECTORS = 4
"""Vectors in one block of a vector axis that both inputs depend on, where blocks are packed."""

FEW_TOGETHER = 8
"""Columns of such a block whose vectors half of L1 holds.

Measured with it, against blocks as deep and wide as for other products: 33 rows that changed on AVX-512 ran 1.42 times
as fast in the mean (0.81 to 4.6), 27 on AVX2 1.42 times (0.62 to 2.7).
"""

UNPACKED_VECTOR = 1024
"""The same where nothing is packed: operands and output of a block fit L1."""

FEW_PARTS = 32
"""Up to so many parts of a sum are added to staged blocks that fill most of L2: more find too little of them there."""

PRODUCTS_RUN = 256
"""Bytes of the output that a block of products should write in one piece: what is turned in registers are lines."""

TURNED_RUN = 256
"""Bytes of the output that a staged block writes in one piece, where inputs are read in long rows instead."""

MANY_COLUMNS = 64
"""Columns from which on computing with rows hides reading them, however many are read at once (measured: with 32, 50
rows took 1.05 times as long as 25)."""

TURNED_GROWTH = 2
"""How many times as large as otherwise a staged block may be for the sake of long rows of an input."""

PAGE = 4096
"""Bytes of a page."""

PANEL_TILES = 3
"""Tiles of rows that lie apart that kernels take at a time: L1 keeps them for all columns."""

PAGES = 144
"""Pages of rows that are read side by side at most: translation buffers hold them beside those of the output."""

NEAR_PAGES = 80
"""The same of plans of few steps, about what the first translation buffer holds: 72 rows, 36 at a time, took 1.02 to
1.06 times as long as at once, 84 took 0.9 to 1.0, 128 took 0.85."""

FEWEST = 4
"""Columns of a tile that leaves: kernels of three or fewer take a tenth to twice as long for each."""

TILE_RUN = 1536
"""Bytes of a tile that is staged alone: few enough that the processor writes it while it computes the next one."""


class Blocks:
    """The blocks of one operation; `_decide` derives those of a plan.

    Attributes:
        a, b: the inputs that the primitive reads as vectors and by elements, with the blocks of their own axes; `b` is
            None where there is one input. `sides`: both, as loops stand around each other.
        common: axes that both depend on; `common_steps`: their blocks.
        reduced: axes that are summed; `k_steps`: their blocks.
        targets: sizes that suit the machine.
    """

    def __init__(
        self,
        operation: Operation,
        prims: Prims,
        machine: Machine,
        most: int | None = None,
        tile: tuple[int, int] | None = None,
    ) -> None:
        self.operation, self.given, self.prims = operation, prims, prims
        self.extents = {axis.name: axis.extent for axis in operation.axes}
        self.reduced = [axis for axis in operation.axes if axis.role is DimType.K]
        m = self.extents[prims.m] if prims.m else 1
        self.targets = block_targets(machine, operation.accumulate, m, most, tile)
        self.packing = Packing(operation, prims, self.targets)
        self.plan = Plan("none")
        self.places = operation.strides(operation.output)
        self.written = operation.outermost_first(operation.output, operation.axes)
        vector = vector_operand(operation, prims)
        self.a = Side(operation, vector, prims.m, prims.m)
        self.b = Side(operation, 1 - vector, prims.n, prims.m) if len(operation.inputs) == 2 else None
        self.sides = [self.a] if self.b is None else [self.a, self.b]
        own = {axis.name for side in self.sides for axis in side.axes}
        self.common = [a for a in operation.axes if a.name not in own and a.role is not DimType.K]
        self.lying = operation.outermost_first(self.a.operand, self.reduced)
        """The reduced axes as the vector operand has them."""
        self.counting: Axis | None = None
        """The axis that counts the products of a block, if it holds several."""

    def _begin(self, plan: Plan) -> None:
        """Forget the last plan."""
        self.plan = plan
        self._take(self._taken(plan))
        self.a.begin(WIDE_TILE * self.targets.lanes if plan.whole_rows else self.targets.tile_m, plan.packs_vector)
        self.a.in_panels = plan.packs_vector
        if self.b is not None:
            self.b.begin(self.targets.tile_n, plan.packs_element)
            self.sides = [self.b, self.a] if plan.element_first else [self.a, self.b]
        self.packed = any(side.packed for side in self.sides)
        self.counting = self._counting_axis()

    def _taken(self, plan: Plan) -> Prims:
        """Return the axes that the primitive takes."""
        if plan.batch_inside:
            return replace(self.given, k=self.given.batch, batch=self.given.k)
        return replace(self.given, batch=None) if plan.batch_outside else self.given

    def _take(self, prims: Prims) -> None:
        """Let the primitive take these axes."""
        if prims != self.prims:
            self.prims, self.packing = prims, Packing(self.operation, prims, self.targets)

    def _has_two_panels(self) -> bool:
        """Whether the vector axis is a little longer than the widest tile: registers have room for both panels."""
        extent = self.extents.get(self.prims.m or "", 1)
        return self.targets.tile_m < extent <= WIDE_TILE * self.targets.lanes

    def _counting_axis(self) -> Axis | None:
        """The output's innermost axis where a staged block turns products, an input's where copies read along it."""
        if self.plan.staging is PRODUCTS:
            return min(self.common, key=lambda axis: self.operation.distance(self.operation.output, axis))
        if not self.plan.several:
            return None
        innermost = [self.operation.contiguous_axis(operand) for operand in self.operation.inputs]
        return next((axis for axis in innermost if axis in self.common and axis.name not in self.prims.names), None)

    def _decide(self, plan: Plan) -> bool:
        """Decide the blocks of a plan; False where the operation has no room for it."""
        if plan.whole_rows and not self._has_two_panels():
            return False
        self._begin(plan)
        self._block_reduced()
        self.common_steps = self._block_common()
        if plan.staging is not NONE and not self._may_stage():
            return False
        if plan.staging is TILES:
            self._widen_tiles()
        self._block_sides()
        self._decide_panels()
        return True

    @property
    def _size(self) -> int:
        return self.operation.accumulate.size

    def _decide_panels(self) -> None:
        """Whether the primitive takes one panel of B at a time; what L1 holds of B as a whole is left to it."""
        if self.b is None or self.plan.staging is TILES:
            return
        if not self.a.packed:
            self.b.in_panels = self.plan.panels and not self.b.packed
            return
        summed = math.prod(self.k_steps.values())
        if self.plan.in_order and self.a.prim is not None:  # A tile goes along whole rows, if L1 keeps what it reads.
            self.a.in_panels = summed * self.extents[self.a.prim] > self.targets.small
        size = self.b.elements * summed
        self.b.in_panels = self.plan.in_order or (self.a.elements > self.a.tile and size > self.targets.small)

    def _block_reduced(self) -> None:
        """Blocks of the reduced axes: the primitive's k first, but whole cache lines of packed operands."""
        self.k_steps = {axis.name: 1 for axis in self.reduced}
        names = (self.prims.k, self.prims.batch)
        taken = [axis for name in names if name is not None for axis in self.reduced if axis.name == name]
        if not self.packed:
            self.k_steps |= {axis.name: max(axis.extent, 1) for axis in taken}
            if self._turns_output:
                self.k_steps |= self._rows_together(taken)
            elif self.plan.few_steps and self._comes_back():
                self.k_steps |= self._few_rows(taken[:1], FOLLOWED)
            return
        target = self.targets.k_inside if self.plan.vector_inside else self.targets.k
        if self.plan.in_order:
            target = self.operation.points
        if any(axis.name == self.prims.m for axis in self.common):  # Vectors of both inputs, none used twice in a tile.
            target = min(target, self.targets.small // (FEW_TOGETHER * self.targets.lanes))
        self.k_steps |= self._shares(taken, target // self.plan.k_parts, self._whole_lines(self._far_sides()), {})

    def _far_sides(self) -> list[Side]:
        """The operands of which packs have to read whole lines: of a much smaller one L2 keeps the rest of them."""
        sizes = [self.operation.elements(side.operand) for side in self.sides]
        near = min(max(sizes) // LARGER, self.targets.kept)
        return [side for side, size in zip(self.sides, sizes) if size > near]

    def _comes_back(self) -> bool:
        """Whether tiles come back to rows of the vector operand, for their rest or for further columns, much later."""
        m, n, k = (self.extents.get(name or "", 1) for name in (self.prims.m, self.prims.n, self.prims.k))
        return (m > self.targets.tile_m or n > self.targets.tile_n) and k > 2 * FOLLOWED

    def _rows_together(self, taken: list[Axis]) -> dict[str, int]:
        """Steps of what the primitive sums, where rows are read as they lie: all, or few where pages would be many."""
        pages = math.prod(-(-axis.extent // self._together(axis)) for axis in taken)
        if pages > PAGES:
            return self._few_rows(taken, self._rows_at_once())
        return self._few_rows(taken, NEAR_PAGES) if self.plan.few_steps and pages > NEAR_PAGES else {}

    def _rows_at_once(self) -> int:
        """How many rows of many are read at once: in L1, with many columns, so many that ends of tiles hardly show."""
        waits = self.b is None or self.b.elements < MANY_COLUMNS
        return FOLLOWED if waits or self._is_turned or self.plan.long_runs else max(FOLLOWED, self.targets.long_sum)

    def _few_rows(self, taken: list[Axis], rows: int) -> dict[str, int]:
        """Steps of what the primitive sums: at most so many rows of the vector operand."""
        steps: dict[str, int] = {}
        for axis in taken:
            steps[axis.name] = equal_block(axis.extent, max(rows, 1))
            rows //= steps[axis.name]
        return steps

    def _together(self, axis: Axis) -> int:
        """How many rows of the vector operand share a page: processors follow them as one."""
        return max(PAGE // max(abs(self.a.strides[axis.name]) * self._size, 1), 1)

    def _block_common(self) -> dict[str, int]:
        """Blocks of the axes that both inputs depend on: single indices, more of those that the primitive takes."""
        if not self.common:
            return {}
        run = TILE_RUN // self._size // max(self.extents.get(self.prims.m or "", 1), 1)
        limits = {self.prims.n: max(run, self.targets.tile_n)}
        limits[self.prims.m] = self._common_vectors() if self.packed else UNPACKED_VECTOR
        if self.counting is not None:
            run = self.targets.run if self.plan.long_runs else PRODUCTS_RUN // self._size
            run = self.targets.line if self.plan.several else run
            limits[self.counting.name] = equal_block(self.counting.extent, run)
        return {axis.name: max(min(limits.get(axis.name, 1), axis.extent), 1) for axis in self.common}

    def _common_vectors(self) -> int:
        """Return how far a block reaches along vectors that both inputs have: L1 holds those of a few columns.

        Each is used for one row alone, so all of them come from there again and again.
        """
        lanes, inside = self.targets.lanes, math.prod(self.k_steps.values()) * FEW_TOGETHER
        return lanes * min(max(self.targets.small // (lanes * inside), 1), COMMON_VECTORS)

    # ---- staging ------------------------------------------------------------------------------------------------

    def _may_stage(self) -> bool:
        """A staged block is computed as a whole, from nothing; tiles want columns that follow each other."""
        if not self.operation.first_touch.initialises:
            return False
        if self.plan.staging is SUMS:
            if not self.plan.few_steps:
                return True
            return self._is_turned and self._adds_parts and self._lie_apart()  # Else adding to lines takes longer.
        if (self._parts > 1) is not self._adds_products:
            return False
        m, n = self.prims.m, self.prims.n
        if self.plan.staging is BLOCKS:
            return n is not None
        if self.plan.staging is PRODUCTS:
            return m is not None
        if m is None or n is None or self.b is None or self.b.prim != n or self.a.prim != m:
            return False
        follow = self.places[m] == 1 and self.places[n] == self.extents[m]
        return follow and self.extents[m] * self.targets.tile_n <= self.targets.small

    def _widen_tiles(self) -> None:
        """Let a tile be as wide as a run of the output."""
        assert self.b is not None and self.prims.m is not None
        self.a.tile = self.extents[self.prims.m]
        self.b.in_panels = True
        self._fill_tiles()

    def _fill_tiles(self) -> None:
        """Give tiles that are staged alone as many columns as there is room for, and at least as hide latencies."""
        if self.plan.staging is TILES and self.b is not None and self.prims.n is not None:
            run, extent, near = TILE_RUN // self._size // self.a.tile, self.extents[self.prims.n], self._columns_near()
            self.b.tile = equal_part(extent, run) if run >= near else min(equal_part(extent, near), near)

    def _columns_near(self) -> int:
        """Return the columns of the microkernel, or as many fewer as L1 holds beside what they read, if these do.

        It holds two tiles, since the one before leaves while kernels compute. Where it has not even room for the fewest
        columns but one, rows come from L2, once for all columns.
        """
        inside, row, most = math.prod(self.k_steps.values()), self.a.tile, self.targets.tile_n
        near = (2 * self.targets.small - inside * row) // (2 * row + inside)
        return most if near < FEWEST - 1 else min(max(near, FEWEST), most)

    # ---- blocks -------------------------------------------------------------------------------------------------

    def _block_sides(self) -> None:
        """Choose how far blocks reach along the axes of one side; a staged block holds long runs of the output."""
        common = math.prod(self.common_steps.values())
        inside = math.prod(self.k_steps.values()) * common
        staged = self.plan.staging in (BLOCKS, PRODUCTS, SUMS)
        runs = self._output_runs() if self.plan.staging in (BLOCKS, SUMS) else {}
        if self._turns_output:
            self._block_turned(common, inside, runs)
            return
        taken = common * math.prod([runs.get(axis.name, 1) for side in self.sides[1:] for axis in side.axes])
        for side, budget in zip(self.sides, self._budgets()):
            most = max(budget // (inside // self._counted_apart(side)), 1)
            if staged:
                most = min(most, max(self._staged_budget() // taken, 1))
            self._block_side(side, most, runs)
            if side is self.a:
                self._fill_tiles()
            taken = common * math.prod(side.steps.values())

    def _counted_apart(self, side: Side) -> int:
        """Return how many products a block has of which kernels and copies see one operand at a time."""
        if self.plan.staging is not PRODUCTS or not self.plan.long_runs or self.counting is None:
            return 1
        return self.common_steps[self.counting.name] if not side.packed or self._is_packed_alone(side) else 1

    def _is_packed_alone(self, side: Side) -> bool:
        """Whether the copy is of one product's operand: it lies in pieces of its own."""
        return self.counting is not None and abs(side.strides[self.counting.name]) != 1

    def _block_turned(self, common: int, inside: int, runs: dict[str, int]) -> None:
        """Choose as many columns as stay near beside a tile, and rows as long as a staged block of them has room for.

        Kernels take all of a row for each few columns; of rows in pages of their own they take a few tiles.
        """
        longest = self.targets.sums if self._parts > FEW_PARTS else self.targets.turned
        staged = (longest if self.plan.long_runs else self.targets.staged) // common
        if not self._is_turned:  # It leaves while the next one is computed.
            is_short = self._parts == 1 and math.prod([axis.extent for axis in self.reduced]) <= self.targets.k
            if not self.plan.long_runs:
                staged = self.targets.small // common
            elif is_short:  # Behind longer sums stores hardly show.
                staged = self.targets.resident // common
        if self.b is not None:
            rows = self.a.tile * math.prod(runs.get(axis.name, 1) for axis in self.a.axes if axis.name != self.prims.m)
            self._block_side(self.b, max(min(self.targets.alone // inside, staged // rows), 1), runs)
            staged //= math.prod(self.b.steps.values())
        if self.plan.long_runs and self.a.prim is not None and (self._is_turned or self._lie_apart()):
            runs, staged = self._with_long_rows(runs, staged)
        self._block_side(self.a, max(staged, 1), runs)
        if self.b is not None and math.prod(self.b.steps.values()) > self.b.tile and self._lie_apart():
            self.a.in_panels, self.a.tile = True, PANEL_TILES * self.a.tile
            if self.a.prim is not None and self.a.steps[self.a.prim] > self.a.tile:
                self.a.steps[self.a.prim] -= self.a.steps[self.a.prim] % self.a.tile

    def _with_long_rows(self, runs: dict[str, int], staged: int) -> tuple[dict[str, int], int]:
        """Let a block reach so far that rows are read in long pieces, if it need not grow much.

        Where they lie in pages of their own, and where the copy turns the block: what cuts rows that follow each other
        reads each of their lines' neighbours later (measured: 2.2 times as long for rows of 84 floats, cut in two).

        Returns how far it reaches at least along axes, and how many rows of elements it may have.
        """
        assert self.a.prim is not None
        read, longer = self.targets.read, dict(runs)
        row = longer[self.a.prim] = self.extents[self.a.prim]
        for axis in sorted(self.a.axes, key=lambda axis: abs(self.a.strides[axis.name]))[1:]:
            if row >= read or abs(self.a.strides[axis.name]) != row:
                break
            longer[axis.name] = max(min(-(-read // row), axis.extent), longer.get(axis.name, 1))
            row *= axis.extent
        taken = math.prod(longer.get(axis.name, 1) for axis in self.a.axes)
        return (longer, max(taken, staged)) if taken <= TURNED_GROWTH * staged else (runs, staged)

    def _lie_apart(self) -> bool:
        """Whether rows of the vector operand lie in pages of their own: nothing reads on from one to the next."""
        k = next((axis for axis in self.reduced if axis.name == self.prims.k), None)
        return k is not None and self._together(k) == 1

    def _staged_budget(self) -> int:
        """Return how many elements a staged block may have: the more, the less often inputs of long sums are packed."""
        return self.targets.sums if self._adds_parts else self.targets.staged

    @property
    def _adds_products(self) -> bool:
        """Whether parts of each product's sum are added to a staged block of several products."""
        return self.plan.staging is PRODUCTS and self.plan.few_steps

    @property
    def _adds_parts(self) -> bool:
        """Whether several blocks of the sum are added to a staged block."""
        return self.plan.staging is SUMS and self._parts > 1

    @property
    def _parts(self) -> int:
        """How many blocks the sum is cut into."""
        return math.prod([-(-axis.extent // self.k_steps[axis.name]) for axis in self.reduced])

    def _budgets(self) -> list[int]:
        """Return how many elements the blocks of the sides may have, in the order of the sides."""
        targets = self.targets
        if self.plan.in_order:
            return [self.operation.points] * len(self.sides)
        if self.plan.staging in (BLOCKS, PRODUCTS):
            return [targets.staged, targets.resident]
        if self.b is None or not self.a.packed:
            return [targets.streamed, targets.alone]
        if self.plan.element_first or self.plan.vector_inside:  # The first one lies in L3, the second one in L2.
            return [targets.shared, targets.streamed]
        bounded = self.b.packed and not self._adds_parts  # There the staged block bounds both.
        return [targets.streamed, targets.resident if bounded else self.operation.points]

    @property
    def _turns_output(self) -> bool:
        """Whether what is copied is the output alone, of vectors that lie in the tensor: it is read in long rows."""
        return self.plan.staging is SUMS and not self.packed

    @property
    def _is_turned(self) -> bool:
        """Whether vectors lie across the output's rows, so that the copy of a staged block transposes."""
        return self.places.get(self.prims.m or "") != 1

    def _output_runs(self) -> dict[str, int]:
        """Return how far a block reaches along the axes that are closest in the output, for runs of many lines."""
        steps: dict[str, int] = {}
        run = TURNED_RUN // self._size if self._turns_output else self.targets.run
        for axis in reversed(self.written):
            if axis.role is DimType.K:
                continue
            length = math.prod(steps.values())
            steps[axis.name] = equal_part(axis.extent, max(run // length, 1))
            if steps[axis.name] < axis.extent:
                break
        return steps

    def _block_side(self, side: Side, budget: int, runs: dict[str, int]) -> None:
        """Choose how far the block reaches along each own axis: the primitive's first, then what lies closest."""
        if side.packed and self.plan.long_runs and self.plan.staging is not BLOCKS:
            least = self.packing.least(side, budget + budget // 2, self.k_steps | self.common_steps)
        else:
            least = self._whole_lines([side])
            if side.prim is not None:
                least[side.prim] = max(least.get(side.prim, 1), side.tile)
        for name, run in runs.items():
            least[name] = max(least.get(name, 1), run)
        cut = equal_block if self.a.packed else balanced_block
        side.steps = self._shares(side.order, budget, least, {side.prim: side.tile} if side.prim else {}, cut)

    def _whole_lines(self, sides: Iterable[Side]) -> dict[str, int]:
        """At least a cache line of the axis that is contiguous in a packed operand: a copy moves whole lines."""
        return {side.contiguous: self.targets.line for side in sides if side.packed and side.contiguous is not None}

    @staticmethod
    def _shares(
        order: list[Axis], budget: int, least: dict[str, int], multiple: dict[str, int], cut: Cut = balanced_block
    ) -> dict[str, int]:
        """Return blocks of the axes whose product is about `budget`, the first axes as long as possible.

        `cut` chooses the blocks of the first axis.
        """
        steps = {axis.name: max(min(axis.extent, least.get(axis.name, 1)), 1) for axis in order}
        whole = math.prod(steps.values())
        for axis in order:
            name, extent = axis.name, axis.extent
            others = whole // steps[name]
            target = max(budget // others, steps[name])
            if extent <= target:
                steps[name] = max(extent, 1)
            elif axis is order[0]:
                steps[name] = min(cut(extent, target, multiple.get(name, 1)), extent)
            else:  # Equal blocks that stay below the target: one axis above it is enough.
                steps[name] = equal_block(extent, target)
            whole = others * steps[name]
        return steps
