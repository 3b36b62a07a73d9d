"""`Flow`: one schedule on one machine, as the loops that are walked and the use of every buffer inside each of them."""

from __future__ import annotations

from math import prod

from einloom.ir.operation import DimType, Operation
from einloom.ir.schedule import OUTPUT, ExecType, Schedule, ScheduledPack
from einloom.kernels.contraction.ahead import COLUMNS, FEW_IN_PLACE, MANY_TRIPS, PIECE_IN_PLACE, is_worth_asking
from einloom.machine import Machine
from einloom.passes.model.buffers import Buffers
from einloom.passes.model.footprint import LINE
from einloom.passes.model.forgetting import Forgetting
from einloom.passes.model.kernel_loops import KernelLoops
from einloom.passes.model.sizes import round_up
from einloom.passes.model.walk import StridedAxis, Use, Walk

__all__ = ["Flow"]


class Flow:
    """One schedule on one machine: its loops, the uses of all buffers, and what caches forget.

    Attributes:
        walk: the loops, those over the kernel's tiles and steps inside.
        moves: whether the primitive only moves, or works element by element.
        products: how many are summed in an element of the output.
        tensors: the uses of the operands; `scratch`: of packed blocks, by operand.
        scratch_bytes: what all packed blocks together take.
        block: how many loops stand around a staged block, or else around a block of the primitive.
        tile: how many loops stand around a tile; `vectors`: how many a tile has along m.
        cycles: of all calls of the primitive, with everything in L1.
        elements: the inputs that kernels read element by element where they lie.
        asked: the input of which kernels ask for the next block before it is copied or read, or None.
        held: inputs whose packed blocks are there when a call begins.
        forgetting: what caches and translation buffers forget of all that.
    """

    def __init__(
        self,
        operation: Operation,
        schedule: Schedule,
        machine: Machine,
        buffers: Buffers | None = None,
        held: tuple[int, ...] = (),
        asks_in_place: bool = True,
    ) -> None:
        self.buffers = buffers = buffers or Buffers(operation, schedule.fused, machine)
        self.schedule, self.machine, self.held = schedule, machine, held
        self.output, self.moves = len(operation.operands) - 1, not operation.main.is_contraction
        self.packs = {self.output if pack.operand == OUTPUT else pack.operand: pack for pack in schedule.packs}
        self.products = prod([axis.extent for axis in operation.axes if axis.role is DimType.K])
        self.walk = walk = Walk(buffers.extents)
        for axis, step, *_ in schedule.loops:
            walk.add(buffers.places[axis], step)
        staged = self.packs.get(self.output)
        self.block = walk.depth if staged is None else staged.loop
        kernel = KernelLoops(operation, schedule, machine, buffers, self.packs, walk)
        self.cycles, self.elements = kernel.cycles, kernel.elements
        self.tile, self.vectors = kernel.tile, kernel.vectors
        self.tensors: list[Use] = []
        self.scratch: dict[int, Use] = {}
        self.scratch_bytes, depth = 0, walk.depth
        for position, tensor in enumerate(buffers.tensors):
            pack = self.packs.get(position)
            inner = self.tile if position == self.output else depth  # Sums stay in registers while k runs.
            last = inner if pack is None else pack.loop
            self.tensors.append(tensor.use(walk, 0, last))
            if pack is not None:
                packed = buffers.scratch(self._packed(position, pack), tensor.size)
                self.scratch[position] = packed.use(walk, last, inner)
        self.asked = self._asked(asks_in_place)
        past = self.tensors[self.output] if self.output in self.packs else None
        self.forgetting = Forgetting([*self.tensors, *self.scratch.values()], past, self.moves, buffers.caches)

    def _asked(self, in_place: bool) -> int | None:
        """The input that `targets.ahead` lets kernels ask for: of those that are worth it the one that moves most."""
        moved: dict[int, float] = {}
        for position, use in enumerate(self.tensors[: self.output]):
            packed, size = position in self.packs, self.buffers.bytes[position]
            may_ask = in_place and position not in self.elements
            depth = use.last if packed else self._depth_in_place(position) if may_ask else 0
            block = use.at[depth]
            if depth and is_worth_asking(block.lines, block.pieces, size, self.machine, packed):
                moved[position] = self.walk.runs[depth] * block.lines
        return None if self.moves else max(moved, key=lambda position: moved[position], default=None)

    def _depth_in_place(self, position: int) -> int:
        """Return how many loops stand around a block that is read in place and that kernels may ask for; 0: none is.

        It is what the innermost loop with enough to ask for reads, if that has no shorter block at its end.
        """
        loops, at, n = self.schedule.loops, self.tensors[position].at, self.schedule.prims.n
        if n is None or self.walk.spans[-1][self.buffers.places[n]] < COLUMNS:
            return 0
        for depth in range(len(loops), 0, -1):
            loop = loops[depth - 1]
            if loop.kind is not ExecType.SEQ:
                return 0
            around = (each.step for each in loops[: depth - 1] if each.axis == loop.axis)
            span = min((*around, self.walk.extents[self.walk.loops[depth][0]]))
            is_even = span % loop.step == 0 or span > (MANY_TRIPS - 1) * loop.step
            is_enough = at[depth].lines >= max(FEW_IN_PLACE, PIECE_IN_PLACE * at[depth].pieces)
            if is_even and is_enough and at[depth - 1].lines > at[depth].lines:
                return depth
        return 0

    def _packed(self, position: int, pack: ScheduledPack) -> tuple[StridedAxis, ...]:
        """The axes of a packed block, the innermost first; each block adds to the scratch."""
        places, left = self.buffers.places, [*self.walk.spans[pack.loop]]
        digits: list[tuple[int, int, int]] = []
        for name, step in pack.layout:
            axis = places[name]
            digits.append((axis, step, left[axis]))
            left[axis] = step
        strided: list[StridedAxis] = []
        stride = 1
        for axis, step, span in reversed(digits):
            strided.append(StridedAxis(stride, axis, step, span))
            stride *= -(-span // step)
        if position not in self.held:
            self.scratch_bytes += round_up(stride * self.buffers.sizes[position], LINE)
        return tuple(strided)
