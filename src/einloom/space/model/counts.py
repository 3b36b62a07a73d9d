"""What is surely true of every implementation below a candidate: sizes, threads, repetitions, loops.

Everything here is a least or a greatest number. An open decision counts as whatever makes the time smaller.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from einloom.space.device import VECTOR_BYTES
from einloom.space.model.rows import (
    BLOCK,
    LOOP,
    SEQUENTIAL,
    THREAD,
    UNROLL,
    VECTOR,
    Around,
    Group,
    InstructionTable,
    View,
)
from einloom.space.model.tables import Tables

__all__ = ["Counts", "Surroundings", "read_counts"]


@dataclass(slots=True)
class Surroundings:
    """What stands around one instruction.

    Attributes:
        table: the instruction.
        lanes: most threads of one warp that run it at the same time.
        own_lanes: the same of its own dimensions: how many of its values one execution makes at most. Threads of
            foreign dimensions make the same ones again.
        width: most elements that one execution moves.
        joined: most executions of one thread that a compiler may make one: accesses of shared memory side by side.
        moved: most elements that such a one moves.
        repeats: least number of times that foreign dimensions repeat it.
        apart: the same without dimensions that may be threads: such repetitions are never in one warp's execution.
        serial: least number of times that one thread executes it.
        loops: the dimensions that are surely loops around it, as a mask.
        looped: their tiles, as a mask.
        outside: the dimensions that surely stand around it, as a mask.
        copied: of its own dimensions those that may be sequential: the bit, the greatest size, and whether one
            iteration of the loops that are known may hold all of its iterations.
        repeating: by tile what surely repeats it: the least size, the bits, and the bits of those that hold copies.
    """

    table: InstructionTable
    lanes: float
    own_lanes: float
    width: int
    joined: float
    moved: float
    repeats: float
    apart: float
    serial: float
    loops: int
    looped: int
    outside: int
    copied: list[tuple[int, int, bool]]
    repeating: list[tuple[int, int, int]]

    @property
    def executions(self) -> float:
        """Least number of executions by warps, in the whole grid."""
        return self.table.instances * max(self.repeats / self.lanes, self.apart / self.own_lanes) / self.width

    @property
    def started(self) -> float:
        """Least number of instructions that warps start for it, in the whole grid."""
        return self.executions * self.width / self.moved


@dataclass(slots=True)
class Counts:
    """What the resources are charged with.

    Attributes:
        low, high: least and greatest number of iterations of each tile.
        around: the instructions that surely exist, by number.
        blocks: least and greatest number of blocks of the grid.
        threads: least and greatest number of threads of a block.
        shared_bytes: least shared memory of a block.
        registers: least number of registers of a thread.
        ragged: whether a tile may stick out of its axis.
    """

    low: list[int]
    high: list[int]
    around: dict[int, Surroundings]
    blocks: tuple[float, float]
    threads: tuple[float, float]
    shared_bytes: float
    registers: float
    ragged: bool


def read_counts(tables: Tables, view: View) -> Counts:
    """Return what is sure about a candidate."""
    return _Reader(tables, view).counts()


def _holds_copies(kind: int) -> bool:
    """Whether the iterations of a dimension may lie in one iteration of the loops that are known: not if it is a loop
    at most, and none that is known yet."""
    return kind == LOOP or kind & UNROLL > 0


class _Reader:
    """Reads one candidate.

    Attributes:
        asleep: the extensions that have not fired and still may: what they add may stand around something, or not.
    """

    def __init__(self, tables: Tables, view: View) -> None:
        self.tables, self.view = tables, view
        self.domains, self.alive = view.domains, view.alive
        self.low: list[int] = []
        self.high: list[int] = []
        self.asleep = 0

    def counts(self) -> Counts:
        """Return what is sure about the candidate."""
        tables, range_of = self.tables, self.view.range
        self._read_sizes()
        self._read_extensions()
        alive = [each for each in tables.instructions if each.need & self.alive == each.need]
        return Counts(
            self.low,
            self.high,
            {each.number: self._surroundings(each) for each in alive},
            self._blocks(),
            (range_of(tables.threads)[0], self._most_threads()),
            range_of(tables.shared_bytes)[0],
            max(map(self._accumulators, alive), default=1.0),
            any(self.domains[slot] & mask for slot, mask in tables.tails),
        )

    def _read_sizes(self) -> None:
        for tile in self.tables.tiles:
            mask = self.domains[tile.slot]
            least, most = tile.values[(mask & -mask).bit_length() - 1], tile.values[mask.bit_length() - 1]
            if tile.whole:
                least, most = -(-tile.whole // most), -(-tile.whole // least)
            self.low.append(least)
            self.high.append(most)

    def _read_extensions(self) -> None:
        for bit, slot, stored in self.tables.wakers:
            if self.domains[slot] & stored and not self.alive & bit:
                self.asleep |= bit

    def _surroundings(self, table: InstructionTable) -> Surroundings:
        found = Surroundings(table, 1.0, 1.0, 1, 1.0, 1.0, 1.0, 1.0, 1.0, 0, 0, 0, [], [])
        for group in table.groups:
            own = group[0].own
            if own:
                self._count_own(found, group[0])
            if len(group) > own:
                self._count_foreign(found, group[own:], own)
        warp = self.tables.device.warp
        found.lanes, found.own_lanes = min(found.lanes, warp), min(found.own_lanes, warp)
        found.width = min(found.width, self.tables.widest)
        self._join(found)
        return found

    def _join(self, found: Surroundings) -> None:
        """Count what may become one: compilers align shared arrays, and join copies of a loop that is unrolled, or that
        they unroll."""
        table, most = found.table, VECTOR_BYTES / self.tables.device.element_bytes
        if table.space >= 0 and self.domains[table.space] & table.shared:
            copies = prod(size for _, size, _ in found.copied)
            found.joined = max(min(most, copies), 1.0)
            found.moved = min(most, found.width * copies)
        found.moved = max(found.moved, found.width)

    def _count_own(self, found: Surroundings, own: Around) -> None:
        kind = self.domains[own.kind]
        found.outside |= own.bit
        if kind & SEQUENTIAL:
            found.copied.append((own.bit, self.high[own.tile], _holds_copies(kind)))
        if kind & THREAD:
            found.lanes *= self.high[own.tile]
            found.own_lanes *= self.high[own.tile]
        if kind & VECTOR:
            found.width = max(found.width, self.high[own.tile])
        if not kind & ~SEQUENTIAL:
            found.serial *= self.low[own.tile]
            if kind == LOOP:
                found.loops |= own.bit
                found.looped |= 1 << own.tile

    def _count_foreign(self, found: Surroundings, group: Group, has_own: bool) -> None:
        """Count dimensions of other instructions: the most that may be threads, the least that surely repeat."""
        apart = serial = False
        bits = holding = 0
        domains, tile = self.domains, group[0].tile
        for around in group:
            order, need = domains[around.order], around.need
            if not order & around.outer or need & ~(self.alive | self.asleep):
                continue
            kind = domains[around.kind]
            if kind & THREAD and not self._is_fused(around):
                found.lanes *= self.high[tile]
            if order & ~around.outer or need & ~self.alive:
                continue
            found.outside |= around.bit
            if kind == LOOP:
                found.loops |= around.bit
                found.looped |= 1 << tile
            if has_own and domains[around.fused[0][0]] & around.fused[0][1]:
                continue
            if not (found.table.one_writer and kind & THREAD):
                bits |= around.bit
                holding |= around.bit if _holds_copies(kind) else 0
            apart = apart or not kind & THREAD
            serial = serial or not kind & ~SEQUENTIAL
        if bits:
            found.repeats *= self.low[tile]
            found.repeating.append((self.low[tile], bits, holding))
        found.apart *= self.low[tile] if apart else 1
        found.serial *= self.low[tile] if serial else 1

    def _is_fused(self, around: Around) -> bool:
        """Whether a dimension is surely one loop with an earlier one of its group."""
        return any(not self.domains[slot] & ~mask for slot, mask in around.fused)

    def _blocks(self) -> tuple[float, float]:
        least = most = 1.0
        for slot, tile in self.tables.blocks:
            kind = self.domains[slot]
            least *= self.low[tile] if kind == BLOCK else 1
            most *= self.high[tile] if kind & BLOCK else 1
        return least, most

    def _most_threads(self) -> float:
        """Return the most threads of a block: hardware dimensions as long as the longest tile that may be threads."""
        longest = 1
        for need, kind, tile in self.tables.kinds:
            if self.domains[kind] & THREAD and not need & ~(self.alive | self.asleep):
                longest = max(longest, self.high[tile])
        return min(self.tables.device.max_threads, longest**self.tables.device.max_thread_levels)

    def _accumulators(self, table: InstructionTable) -> float:
        """Return the least number of registers that hold the results of a reduction in one thread."""
        count = 1.0
        if table.reduced:
            for slot, tile in table.kept:
                count *= self.low[tile] if self.domains[slot] == UNROLL else 1
        return count
