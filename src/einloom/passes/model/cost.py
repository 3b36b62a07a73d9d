"""`CostModel`: how long schedules take on a machine, without binding them and without running anything.

`traffic` counts what moves between the caches, `kernel` what the primitives compute; here both become seconds. Kernels
fetch while they compute and take a little more than the longer of both. The first line of a piece, a page that
has to be looked up and the output at the end of a tile are waited for. Copies into and out of scratch come before and
after and are paid in full, except for small blocks that leave while the next one is computed, in whole lines; most
where kernels store these themselves (`leaving`).

Sources: Goto and van de Geijn, Anatomy of high-performance matrix multiplication (2008), for what belongs into which
cache; Low, Igual, Smith and Quintana-Ortí, Analytical modeling is enough for high-performance BLIS (2016), for sizes
from ways and sets; Treibig and Hager's ECM model (2010) and Williams' roofline (2009) for adding or overlapping
transfers. The constants below were fitted to a few hundred schedules on processors with AVX2 and AVX-512.
"""

from __future__ import annotations

from math import ceil, prod
from operator import mul
from typing import NamedTuple

from einloom.dtypes import Kind
from einloom.ir.operation import Operation
from einloom.ir.schedule import Fused, Schedule
from einloom.machine import Machine
from einloom.passes.model.buffers import Buffers
from einloom.passes.model.copied import copied_matrix, copied_run, counted_piece, finds_elements, runs_apart
from einloom.passes.model.flow import Flow
from einloom.passes.model.footprint import LINE
from einloom.passes.model.kernel import copy_cycles, transposed_cycles
from einloom.passes.model.leaving import joins_lines, leaves
from einloom.passes.model.microarchitectures import ASKED, COPYING, microarchitecture_of
from einloom.passes.model.pages import TLBS, looked_up, refilled
from einloom.passes.model.rates import rates_of
from einloom.passes.model.traffic import STREAMS, Traffic, warm_traffic_of

__all__ = ["Cost", "CostModel", "cost_of"]

PIECE = 7.0
"""How many lines of a run the first line of a piece takes longer, from L3 or memory, where kernels read elements, or
where all is moved and nothing computed: a latency, ten of them at once."""

VECTOR_PIECE = 2.0
"""The same where kernels read vectors, whose next pieces processors see many products ahead, and of packs and staged
blocks, which have as many under way."""

NEAR_PIECE, NEAR_ELEMENTS = 2.5, 1.5
"""The same where kernels read from L2, vectors or elements: its latency, beside a line every one or two cycles, of
which processors hide a part where pieces lie equally far apart; more where a vector uses each element."""

WRITTEN_PIECE = 4.0
"""The same where kernels only write: stores wait for their lines while the next tile is computed."""

ALONE, RESTART = 0.6, 64
"""How much longer each of the first lines of a piece takes that is read from beyond L2, since nobody has asked for them
ahead, beside kernels and in their copies; and how many lines those are, a page's."""

INPUT_PAGE, OUTPUT_PAGE = 3.0, 1.6
"""Cycles of a page that the second translation buffer knows: of an input, for processors run far enough ahead of
kernels to hide most of the eight, and the rest goes on beside arithmetic; of the output, for which stores wait."""

REFILLED = (50.0, 75.0)
"""Cycles of a page of scratch each time it is filled again, of a packed input and of a staged block, for what no other
constant says of them: with less, blocks of the output are staged where they had better not be."""

OVERLAP = 3
"""The norm of arithmetic and transfers that goes on beside it: more than the longer one where both take as long."""

WRITTEN_NEAR, WRITTEN_FAR, WRITTEN_AHEAD = 0.4, 1.5, 0.5
"""What it takes to write lines back to L2, and beyond it, of the time to read them: nothing hides the end of a tile.

The last one where lines beyond L2 arrive while kernels compute, which write a few rows of the output at once (Zen 3:
fitted to 291 contractions, 129 of them with short sums, and tried on 82 others).
"""

WRITTEN_BACK = 0.5
"""How much of it goes on beside arithmetic, beyond L2, where nothing is added to what the lines have held."""

TOGETHER = 0.5
"""The share of L1 from which on a staged block leaves before any of the next one is read."""

STREAMED_PIECE = 8.0
"""How many lines the ends of a run that passes the caches take longer: of two lines it has parts only."""

HIDDEN, SPARSE = 0.6, 8
"""Where processors join lines from parts: the share of lines that leave while the next block is computed that goes on
beside arithmetic, if that takes up to half of so many times as long as they do. From so many times on none counts as
hidden, less in between: there ordinary stores are waited for less than `WRITTEN_FAR` says as well."""

SCATTERED = 4.0
"""Cycles of a piece of a line that a transposition moves, beyond one piece a line: L1 has lost the line in between."""

COUNTED = 60.0
"""Cycles of a call of the primitive that copies a piece of cut rows and counts where the next one ends."""

ELEMENT = 1.0
"""Cycles of an element that a copy moves by itself."""


class Moving(NamedTuple):
    """What is waited for where elements go from tensor to tensor and nothing is computed.

    Attributes:
        alone: how much longer each of the first lines of a piece takes that is read from beyond L2 (see `ALONE`).
        piece: lines that the first one of a piece takes longer that goes directly, not through scratch.
        written: what it takes to write lines back beyond L2, of the time to read them, where few rows are written.
        page: the share of a page's cycles.
        crowded: cycles of each line that a tile writes where all of them fall into a few sets of L1, which loses them
            before their next parts are stored.
        left: how much longer lines that caches hold take to pass these, of the time of others.
        ends: the share of the waits for ends of runs that pass the caches, where these hold them.
    """

    alone: float = 1.0
    piece: float = PIECE
    written: float = WRITTEN_FAR
    page: float = 1.0
    crowded: float = 0.0
    left: float = 0.0
    ends: float = 1.0


AHEAD = Moving(alone=0.3, piece=0.0, written=1.0, page=0.2, crowded=8.0, left=1.0, ends=0.0)
"""Where so many loads and stores are under way that those of the next pieces are as well (Zen 3: fitted to 220
permutations of 3 to 220 MB)."""


class Cost(NamedTuple):
    """Seconds of one thread, by what it does.

    Attributes:
        arithmetic: of the primitives, everything in L1.
        near, far: transfers from L2, pages of packed inputs among them, and from L3 and memory.
        waits: for the first lines of pieces, for pages, for the output, for what passes the caches.
        copies: into and out of scratch, the rest.
    """

    arithmetic: float
    near: float
    far: float
    waits: float
    copies: float

    @property
    def seconds(self) -> float:
        """All together."""
        transfers = self.near + self.far
        overlapped = (self.arithmetic**OVERLAP + transfers**OVERLAP) ** (1 / OVERLAP)
        return overlapped + self.waits + self.copies


class CostModel:
    """The costs of one operation's schedules on one machine; what they have in common is derived once.

    Args:
        operation, machine: what is computed, and on what.
        asks_in_place: whether kernels ask for the next block of what they read in place: those of pairs do not.
        may_leave: whether staged blocks may leave while the next one is computed, as `targets.leaving` lets them: those
            of pairs, of groups of products and of tiles do not.
    """

    def __init__(
        self, operation: Operation, machine: Machine, asks_in_place: bool = True, may_leave: bool = True
    ) -> None:
        self.operation, self.machine, self.asks_in_place = operation, machine, asks_in_place
        self.rates = rates_of(machine)
        self.computed = operation.accumulate
        self.size = self.computed.size
        self.lanes = machine.vector_bits // 8 // self.size
        peak = self.rates.float32 if self.size == 4 else self.rates.float64
        self.product = 4 * self.lanes / peak
        """Seconds of two multiply-adds of all lanes."""
        core = microarchitecture_of(machine)
        self.cycle = self.product / (core.passes(machine.vector_bits) if core else 1)
        """Seconds of a cycle: as long, unless each half of a vector goes through a pipe by itself."""
        self.stores_ahead = core is not None and core.stores_ahead
        self.moving = AHEAD if core is not None and core.moves_ahead else Moving()
        self.copying = core.copying if core else COPYING
        """How much longer a copy takes than its transfers and its instructions one after the other."""
        self.asked = core.asked if core else ASKED
        self.joined = joins_lines(machine)
        self.may_leave = (
            may_leave and operation.output.dtype == self.computed and self.computed.kind is not Kind.COMPLEX
        )
        self._buffers: dict[tuple[Fused, ...], Buffers] = {}

    @property
    def least(self) -> float:
        """The seconds of all arithmetic on one thread where every lane is used in every cycle."""
        return self.operation.points * self.product / (2 * self.lanes)

    def cost(self, schedule: Schedule, threads: int = 1) -> Cost:
        """Return the predicted seconds of a schedule, on the thread that has most to do."""
        return self.cost_of_flow(self.flow(schedule), threads)

    def flow(self, schedule: Schedule, held: tuple[int, ...] = ()) -> Flow:
        """Return what a schedule needs and moves; of `held` inputs the packed blocks are there."""
        buffers = self._buffers_of(schedule.fused)
        return Flow(self.operation, schedule, self.machine, buffers, held, self.asks_in_place)

    def cost_of_flow(self, flow: Flow, threads: int = 1) -> Cost:
        """Return the predicted seconds of a schedule by its flow."""
        parts = self._moving(flow) if flow.moves else self._computing(flow)
        share = _largest_share(flow, threads)
        return parts if share == 1.0 else Cost(*(share * part for part in parts))

    def _computing(self, flow: Flow) -> Cost:
        """What a contraction takes: kernels compute while they fetch, between copies."""
        leaving = self.may_leave and leaves(flow)
        (inputs, output), far_pages = looked_up(flow)
        near, waits = inputs * INPUT_PAGE, output * OUTPUT_PAGE + sum(far_pages) * TLBS[1][1]
        waits += sum(map(mul, refilled(flow), REFILLED))
        near, waits, far, copied = near * self.cycle, waits * self.cycle, 0.0, self._copies(flow)
        arithmetic, left = flow.cycles * self.product, copied.pop(flow.output) if leaving else 0.0
        copies = sum(copied.values())
        written = WRITTEN_AHEAD if self.stores_ahead and _rows_written(flow) <= STREAMS else WRITTEN_FAR
        for each in warm_traffic_of(flow):
            close, distant, waited = self._seconds(each, _first_line(each), ALONE, written)
            shown = self.asked if each.asked else 1.0
            if each.streams and leaving:
                visible = self._visible(distant, arithmetic, flow.buffers.kept[-1], bool(runs_apart(flow)))
                far += (1 - visible) * (distant + waited)
                left = max(left, visible * distant) + visible * waited
            elif each.streams and each.copies:
                waits += distant + waited
            elif each.streams and self.joined:  # The copy goes on while its lines leave.
                waits += max(distant - self.copying * copied[flow.output], 0.0) + waited
            elif each.copies:
                copies += close + (distant + waited) * shown
            else:
                near, far, waits = near + close, far + distant, waits + waited * shown
        return Cost(arithmetic, near, far, waits, self.copying * copies + left)

    def _visible(self, leaving: float, arithmetic: float, kept: float, apart: bool) -> float:
        """Return the share that shows of the seconds in which lines leave while others are computed.

        Args:
            leaving, arithmetic: seconds of both.
            kept: the share of the lines that caches have held, which have to leave them first.
            apart: whether they leave in several runs: read from L2, they hide the less the longer they take.
        """
        shown = min(leaving / arithmetic, 1.0) if apart else 0.0
        if not self.joined:
            return shown
        many = min(max(SPARSE * leaving / arithmetic - 1, 0.0), 1.0)
        return max(1 - HIDDEN * many * (1 - kept), shown)

    def _moving(self, flow: Flow) -> Cost:
        """What an element-wise operation takes: while a small staged block leaves, the next one is read."""
        near = read = streamed = 0.0
        moving, block, kept = self.moving, flow.scratch.get(flow.output), flow.buffers.kept[-1]
        pages = sum([pages * cycles for pages, (_, cycles) in zip(map(sum, looked_up(flow)), TLBS)])
        waits = (moving.page * pages + sum(map(mul, refilled(flow), REFILLED))) * self.cycle
        copies = sum(self._copies(flow).values()) + flow.cycles * self.cycle
        first_line = PIECE if block else moving.piece
        written = moving.written if block is None and _rows_written(flow) <= STREAMS else WRITTEN_FAR
        for each in warm_traffic_of(flow):
            close, distant, waited = self._seconds(each, first_line, moving.alone, written)
            if each.streams:
                streamed, waited = distant * (1 + moving.left * kept), waited * (1 - kept + kept * moving.ends)
            else:
                read += distant
            near, waits = near + close, waits + waited
            if each.writes and block is None and _crowds_l1(flow):
                waits += moving.crowded * each.lines[0] * self.cycle
        together = (
            0.0 if block is None else max(1 - block.at[block.first].room / max(TOGETHER * self.machine.l1d, 1), 0.0)
        )
        return Cost(0.0, near, read + streamed - together * min(read, streamed), waits, copies)

    def _seconds(self, traffic: Traffic, first_line: float, alone: float, written: float) -> tuple[float, float, float]:
        """Return how long the transfers of a buffer take, from L2 and from beyond it, and what is waited besides.

        Args:
            traffic: what the buffer moves.
            first_line, alone: lines that the first one of a piece takes longer, and each that nobody has asked for.
            written: what it takes to write lines back beyond L2 that kernels fill, of the time to read them.
        """
        _, (first, second, third), pieces, near_pieces, writes, copies, _, by_element, streams, again = traffic
        if streams:
            seconds = first * LINE / self.rates.stream
            return 0.0, seconds, STREAMED_PIECE * pieces * seconds
        near = LINE * (first - second) / self.rates.l2 if first > second else 0.0
        beyond = (second - third) / self.rates.l3 if second > third else 0.0
        far = LINE * (beyond + third / self.rates.memory)
        waits = first_line * pieces * far
        if copies or not writes:
            waits += alone * min(RESTART * pieces, 1.0) * far
        if not writes:
            latency = 0.0 if copies else NEAR_ELEMENTS if by_element else NEAR_PIECE
            return near, far, waits + latency * near_pieces * near
        hidden = WRITTEN_BACK * (1 - again) * far
        written = WRITTEN_FAR if copies else again * WRITTEN_FAR + (1 - again) * written
        return near, far + hidden, waits + WRITTEN_NEAR * near + written * far - hidden

    def _buffers_of(self, fused: tuple[Fused, ...]) -> Buffers:
        buffers = self._buffers.get(fused)
        if buffers is None:
            buffers = self._buffers[fused] = Buffers(self.operation, fused, self.machine)
        return buffers

    def _copies(self, flow: Flow) -> dict[int, float]:
        """Return the seconds of the copies in L1, by operand."""
        seconds: dict[int, float] = {}
        for position, use in flow.scratch.items():
            if position in flow.held:
                continue
            elements = flow.walk.runs[use.first] * use.at[use.first].lines * LINE / self.size
            run = copied_run(flow, position)
            if finds_elements(flow, position):
                cycles = ELEMENT * elements
            elif run > 1:
                cycles = copy_cycles(elements, run, self.lanes)
            else:
                rows, columns, scattered, few = copied_matrix(flow, position)
                cycles = transposed_cycles(elements, rows, columns, self.lanes, few)
                if scattered and columns * self.size < LINE:
                    cycles += SCATTERED * elements * (1 / columns - self.size / LINE)
            if (piece := counted_piece(flow, position)) is not None:
                cycles += COUNTED * elements / piece
            seconds[position] = cycles * self.cycle
        return seconds


def _first_line(traffic: Traffic) -> float:
    """Return how many lines the first one of a piece takes longer beside a kernel, or in a copy."""
    if traffic.copies:
        return VECTOR_PIECE
    return WRITTEN_PIECE if traffic.writes else PIECE if traffic.by_element else VECTOR_PIECE


def _rows_written(flow: Flow) -> float:
    """Return how many pieces of the output tiles write before one goes on behind the first; 1: the next one does."""
    use = flow.tensors[flow.output]
    return use.at[max(min(use.last, flow.tile) - 1, 0)].pieces


def _crowds_l1(flow: Flow) -> bool:
    """Whether the lines of the output that a tile writes take all the room of L1, since they fall into few sets."""
    return flow.tensors[flow.output].at[flow.tile].room >= flow.machine.l1d


def _largest_share(flow: Flow, threads: int) -> float:
    """Return which part of the work the busiest thread has: of all iterations as many as anybody, and no short one."""
    depth = len(flow.schedule.shared)
    if depth == 0:
        return 1.0
    walk = flow.walk
    whole = prod(block / extent for block, extent in zip(walk.spans[depth], walk.extents))
    return min(ceil(ceil(walk.runs[depth]) / threads) * whole, 1.0)


def cost_of(operation: Operation, schedule: Schedule, machine: Machine, threads: int = 1) -> Cost:
    """Return the predicted seconds of one schedule on one machine."""
    return CostModel(operation, machine).cost(schedule, threads)
