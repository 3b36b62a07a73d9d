"""Products of k, or columns, side by side in a register: what AVX2 and AVX-512 share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from einloom.asm.x86.operands import Address, Vector
from einloom.kernels.verbs.abilities import GroupingVerbs
from einloom.kernels.verbs.x86_vectors import X86Vectors

__all__ = ["X86Grouping"]


class X86Grouping(GroupingVerbs[Vector, Address]):
    """See `GroupingVerbs`."""

    def __init__(self, vec: X86Vectors) -> None:
        self.vec, self.asm = vec, vec.asm

    def mask(self, lanes: int) -> int:
        return self.vec.lane_mask(lanes)

    def order_rows(self, dst: Vector, pieces: Vector | Address, group: int, pitch: int) -> None:
        lanes = self.vec.lanes
        self._permute(dst, pieces, dst, [(lane % group * pitch + lane // group) % lanes for lane in range(lanes)])

    def part_columns(self, register: Vector, group: int, pitch: int, temporary: Vector) -> None:
        lanes = self.vec.lanes
        source = [(lane % pitch * group + lane // pitch) % lanes for lane in range(lanes)]
        self._permute(register, register, temporary, source)

    def sum_groups(self, registers: list[Vector], group: int, pitch: int, temporary: Vector) -> None:
        first, *others = registers
        self._sum_pairs(first, others[0] if others else first, temporary)
        if group == 4:
            if len(others) > 1:
                self._sum_pairs(others[1], others[-1], temporary)
            self._sum_pairs(first, others[1] if len(others) > 1 else first, temporary)
        lanes = self.vec.lanes
        source = [self._lane_of(lane // pitch, lane % pitch, group) % lanes for lane in range(lanes)]
        self._permute(first, first, temporary, source)

    def _lane_of(self, column: int, row: int, group: int) -> int:
        """Return the lane that holds a row of a column once neighbours are summed."""
        if group == 4:
            return row * 4 + column
        unit = 2 if self.vec.is_single else 1
        return 2 * unit * (row // unit) + unit * column + row % unit

    def _sum_pairs(self, first: Vector, second: Vector, temporary: Vector) -> None:
        """first = in every 128 bits the sums of neighbours, those of first before those of second."""
        self.vec.split_lanes(0, first, second, temporary)
        self.vec.add(first, first, temporary)

    @abstractmethod
    def _permute(self, dst: Vector, src: Vector | Address, index: Vector, lanes: Sequence[int]) -> None:
        """dst = lanes of src by their numbers; `index` may be clobbered, and may be dst."""
