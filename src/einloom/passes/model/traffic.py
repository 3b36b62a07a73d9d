"""What a schedule moves between the caches: lines, the pieces they come in, and pages, buffer by buffer.

The loops are walked from the inside out. Of every buffer and every cache it is asked: when the loop comes round
again, is what the last iteration touched still there? It is if all that one iteration touches has room. So

    fetched(buffer, loop) = fetched inside * (trips, where the cache forgets; else how much further the loop reaches)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import add
from typing import NamedTuple

from einloom.ir.operation import Operation
from einloom.ir.schedule import OUTPUT, ExecType, Schedule, ScheduledPack
from einloom.kernels.contraction.ahead import COLUMNS, FEW_IN_PLACE, MANY_TRIPS, PIECE_IN_PLACE, is_worth_asking
from einloom.kernels.contraction.tiles import Fragment, Neighbours
from einloom.kernels.elementwise.few import MOST
from einloom.kernels.elementwise.stream_turned import SHORTEST
from einloom.kernels.fetch import BROADCAST, STRIDED, VECTOR, Fetch
from einloom.machine import Machine
from einloom.passes.model.buffers import CROWDED, FULL, OVER, Buffers, share_forgotten
from einloom.passes.model.footprint import LINE, PAGE, Footprint
from einloom.passes.model.kernel import CALL, MANY, MOVE, copy_cycles, tilings_of
from einloom.passes.model.sizes import round_up
from einloom.passes.model.walk import Forgotten, StridedAxis, Use, Walk

__all__ = ["TLBS", "Flow", "Traffic", "traffic_of"]

TLBS = ((64, 8), (1536, 50))
"""Pages that translation buffers hold, and cycles of a miss that nothing hides."""

OPEN = 48
"""Pieces next to each other that are written, each going on where it ended: as many pages as processors follow."""

PART = 1.2
"""How much longer kernels take whose only vector is a part of one: its loads cross lines, whatever is masked."""

STREAMS = 16
"""Pieces next to each other that are read ahead, each beyond its end."""

NOTICED = 4
"""Lines of a piece that make processors read on in its page, however many others there are."""


class Traffic(NamedTuple):
    """Lines of one buffer that come from (or go) beyond each cache.

    Attributes:
        name: the operand, or `scratch of` it.
        lines: beyond L1, L2 and L3, in all.
        pieces: runs of lines for each line (beyond L2, where copies read), in the order in which they are touched.
        writes: whether they are written as well as read.
        copies: whether a copy into or out of scratch moves them, not a kernel.
        asked: whether kernels have asked for them before they are copied or read.
        by_element: whether kernels read them element by element where they lie.
        streams: whether they pass the caches.
        again: the share of the written lines beyond L2 that have been written before.
    """

    name: str
    lines: tuple[float, ...]
    pieces: float
    writes: bool = False
    copies: bool = False
    asked: bool = False
    by_element: bool = False
    streams: bool = False
    again: float = 0.0


class Flow:
    """One schedule on one machine: the uses of all buffers, and what each cache forgets.

    Attributes:
        walk: the loops, those over the kernel's tiles and steps inside.
        moves: whether the primitive only moves, or works element by element.
        tensors: the uses of the operands; `scratch`: of packed blocks, by operand.
        scratch_bytes: what all packed blocks together take.
        block: how many loops stand around a staged block, or else around a block of the primitive.
        tile: how many loops stand around a tile.
        cycles: of all calls of the primitive, with everything in L1.
        elements: the inputs that kernels read element by element where they lie.
        asked: the input of which kernels ask for the next block before it is copied or read, or None.
        held: inputs whose packed blocks are there when a call begins.
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
        self.walk = walk = Walk(buffers.extents)
        for axis, step, *_ in schedule.loops:
            walk.add(buffers.places[axis], step)
        staged = self.packs.get(self.output)
        self.block = walk.depth if staged is None else staged.loop
        self.elements: set[int] = set()
        self.cycles = self._add_tiles(operation) if operation.main.is_contraction else self._add_vectors(operation)
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
        self._forget()

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

    def _forget(self) -> None:
        """Decide what caches and translation buffers forget at each depth."""
        past = self.tensors[self.output] if self.output in self.packs else None
        uses = [*self.tensors, *self.scratch.values()]
        self.misses = [_forgotten(_added([use.pages for use in uses]), entries) for entries, _ in TLBS]
        self.touched = [use for use in uses if use is not past]
        self.rooms = [LINE * lines for lines in _added([use.lines for use in self.touched])]
        near = far = self.rooms
        if self.moves:
            near, far = _added([use.rooms for use in self.touched]), _added([use.far_rooms for use in self.touched])
        first, second, third = self.buffers.caches
        self.forgets = [_forgotten(near, first), _forgotten(far, second), _forgotten(near, third)]
        self.forgets_moved = {id(past): self.forgets}

    def _forgets_of(self, use: Use) -> list[Forgotten]:
        """Return what the caches forget of one buffer: lines of its own may push each other out of a few sets."""
        if self.moves:
            found = self.forgets_moved.get(id(use))
            if found is None:
                found = self.forgets_moved[id(use)] = self._forgets_of_moved(use)
            return found
        if not use.crowded:
            return self.forgets
        caches = zip(self.forgets, self.buffers.caches)
        return [_either(gone, _forgotten(use.rooms, cache)) for gone, cache in caches]

    def _forgets_of_moved(self, use: Use) -> list[Forgotten]:
        """Return the same where all is moved and nothing computed: both buffers are walked at once.

        In the sets into which lines of the other one crowd, its room counts; elsewhere nothing of it is.
        """
        others = [each for each in self.touched if each is not use]
        if not any(each.crowded for each in others):
            return self.forgets
        lines = _added([each.lines for each in others])
        near, far = _added([each.rooms for each in others]), _added([each.far_rooms for each in others])
        beside = zip((use.rooms, use.far_rooms, use.rooms), (near, far, near), self.forgets, self.buffers.caches)
        found: list[Forgotten] = []
        for own, rooms, gone, cache in beside:
            share = [LINE * some / room if room else 1.0 for some, room in zip(lines, rooms)]
            found.append(_partly(gone, _forgotten(own, cache), share))
        return found

    # ---- the kernel -------------------------------------------------------------------------------------------------

    def _add_tiles(self, operation: Operation) -> float:
        """Add the loops over the kernel's tiles and its steps of k; return the cycles of all calls."""
        prims, walk, isa = self.schedule.prims, self.walk, self.buffers.isa
        size = self.buffers.computed.size
        ms, ns, ks, batches = map(self._blocks, (prims.m, prims.n, prims.k, prims.batch))
        calls = walk.runs[-1]
        for part in (ms, ns, ks, batches):
            calls /= sum([count for _, count in part])
        fragments, cycles = self._fragments(operation), 0.0
        tiling = tilings_of(isa, size, fragments, self._neighbours(fragments))
        self.elements = {i for i, (fetch, _) in enumerate(fragments) if fetch is BROADCAST and i not in self.packs}
        calls *= PART if ms[0][0] * size * 8 < isa.bits else 1.0
        for m, each in ms:
            for n, columns in ns:
                for k, steps in ks:
                    for batch, times in batches:
                        cycles += each * columns * steps * times * (CALL + tiling(m, n, k * batch).cycles)
        tiles = tiling(ms[0][0], ns[0][0], MANY)
        self._add_steps(((prims.m, tiles.m), (prims.n, tiles.n)))
        self.tile = walk.depth
        self._add_steps(((prims.batch, 1), (prims.k, 1)))
        return cycles * calls

    def _add_vectors(self, operation: Operation) -> float:
        """Add the loops over the vectors of an element-wise kernel, or the squares that it transposes.

        Return the cycles of all calls, as if it only moved: what an operator computes is the same in every schedule.
        """
        prims, walk = self.schedule.prims, self.walk
        lanes = self.machine.vector_bits // 8 // operation.accumulate.size
        transposes = self._transposes(operation)
        m, n = self._blocks(prims.m)[0][0], self._blocks(prims.n)[0][0]
        elements = float(operation.elements(operation.output))
        calls = elements / max(m * n, 1)
        cycles = copy_cycles(elements, 1 if transposes else m, lanes)
        self._add_steps(((prims.n, lanes if transposes else 1), (prims.m, lanes)))
        self.tile = walk.depth
        return cycles + MOVE * calls

    def _transposes(self, operation: Operation) -> bool:
        """Whether elements that follow each other in the input do not in the output."""
        m = self.schedule.prims.m
        return m is not None and operation.stride(operation.output, m) != 1

    def _add_steps(self, steps: Iterable[tuple[str | None, int]]) -> None:
        for name, step in steps:
            if name is not None and step < self.walk.spans[-1][axis := self.buffers.places[name]]:
                self.walk.add(axis, step)

    def _blocks(self, name: str | None) -> list[tuple[int, int]]:
        """The sizes of the primitive's blocks along an axis, with how many there are of each."""
        if name is None:
            return [(1, 1)]
        i = self.buffers.places[name]
        step = self.walk.spans[-1][i]
        whole, rest = divmod(self.walk.extents[i], step)
        return [(step, whole), (rest, 1)] if rest else [(step, whole)]

    def _fragments(self, operation: Operation) -> tuple[Fragment, ...]:
        """How kernels fetch the inputs; to scatter the output counts as if its vectors were gathered."""
        m, n = (self.buffers.places.get(name or "") for name in (self.schedule.prims.m, self.schedule.prims.n))
        scatters = self._fetch(self.output, m) is STRIDED
        found = [(self._fetch(i, m), bool(self.buffers.tensors[i].along(n))) for i in range(len(operation.inputs))]
        found += [(BROADCAST, True)] if len(found) == 1 else []
        return tuple([(STRIDED if scatters and fetch is VECTOR else fetch, per_column) for fetch, per_column in found])

    def _neighbours(self, fragments: tuple[Fragment, ...]) -> Neighbours:
        """Along which axis of the primitive elements of the input are neighbours that kernels broadcast."""
        broadcast = (BROADCAST, True)
        if broadcast not in fragments[: len(self.buffers.tensors) - 1]:
            return None
        position, prims, places = fragments.index(broadcast), self.schedule.prims, self.buffers.places
        n, k = places.get(prims.n or ""), places.get(prims.k or "")
        if position in self.packs:
            innermost = [places[digit.axis] for digit in self.packs[position].layout[-1:]]
        else:
            tensor = self.buffers.tensors[position]
            innermost = [axis for axis in (n, k) if axis is not None and tensor.is_contiguous(axis)]
        return "n" if n in innermost else "k" if k in innermost else None

    def _fetch(self, position: int, m: int | None) -> Fetch:
        tensor = self.buffers.tensors[position]
        if not tensor.along(m):
            return BROADCAST
        if position in self.packs:
            layout = self.packs[position].layout
            return STRIDED if layout and self.buffers.places[layout[-1].axis] != m else VECTOR
        return VECTOR if tensor.is_contiguous(m) else STRIDED

    # ---- packs ------------------------------------------------------------------------------------------------------

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

    def copied_run(self, position: int) -> int:
        """Return how many elements of a packed block follow each other in scratch and in the tensor.

        Rows of a fused axis end runs of the output; of inputs, by which the constants of copies were fitted, they do
        not.
        """
        tensor, run = self.buffers.tensors[position], 1
        for each in self.scratch[position].strided:
            part = next((part for part in tensor.along(each.axis) if part.stride == run), None)
            if part is None or each.stride != run or each.step > 1:
                break
            if position == self.output and part.step > 1:
                break
            run *= max(min(each.most, part.most) if position == self.output else each.most, 1)
        return run

    def copied_matrix(self, position: int) -> tuple[int, int, bool, bool]:
        """Return how many elements of a packed block follow each other in scratch, and how many in the tensor.

        And whether what follows each other in scratch lies in different lines of the tensor; and whether either is a
        few elements, the next ones right behind them.
        """
        digits = self._digits(position)
        rows, apart = _joined(digits)
        columns, behind = _joined((lies, follows, extent) for follows, lies, extent in digits)
        few = (rows <= MOST and behind == rows) or (columns <= MOST and apart == columns)
        return rows, columns, bool(digits) and min(digits)[1] * self.buffers.sizes[position] >= LINE, few

    def _digits(self, position: int) -> list[tuple[int, int, int]]:
        """Return for each axis of a packed block how far apart its indices are in scratch and in the tensor, and how
        many there are."""
        found: list[tuple[int, int, int]] = []
        for each in self.scratch[position].strided:
            for part in self.buffers.tensors[position].along(each.axis):
                step, most = max(each.step, part.step), min(each.most, part.most)
                if step < most:
                    found.append((each.stride * step // each.step, part.stride * step // part.step, -(-most // step)))
        return found

    # ---- what moves -------------------------------------------------------------------------------------------------

    def traffic(self, kept: Sequence[float] = (0.0, 0.0, 0.0)) -> list[Traffic]:
        """Return what every buffer moves in a call for which the caches have `kept` a share of the tensors each."""
        found = [self._tensor_traffic(position, use, kept) for position, use in enumerate(self.tensors)]
        for position, use in self.scratch.items():
            gone = self._overflows(position, use)
            found.append(self._scratch_traffic(position, use, gone))
            if position in self.held:
                found[position] = found[position]._replace(lines=(0.0, 0.0, 0.0), pieces=0.0)
            elif position != self.output:
                found.append(self._copied(position, use, gone))
        return found

    def warm_traffic(self) -> list[Traffic]:
        """Return what every buffer moves in a call that finds what caches can hold of the tensors there."""
        return self.traffic(self.buffers.kept)

    def _tensor_traffic(self, position: int, use: Use, kept: Sequence[float]) -> Traffic:
        lines = use.fetched(self.walk, self._forgets_of(use), use.lines)
        packed, writes = position in self.scratch, position == self.output
        streams = packed and writes and self._streams()
        at = use.at[self._streamed(use) if streams else self._touched(position, use, writes)]
        small = packed and self.scratch[position].at[use.last].room <= self.machine.l1d / 2
        copies = packed and not (writes and small)  # A small block leaves while the next one is computed.
        copies = copies or (self.moves and not writes)
        pieces = at.pieces / at.lines
        if self.moves and not writes:
            pieces = self._read_pieces(use)
        if packed and not writes:  # A piece is waited for whether or not its ends are still there.
            pieces = min(self.walk.runs[use.last] * at.pieces / max(lines[1], 1.0), 1.0)
        again = max(1 - use.lines[0] / lines[1], 0.0) if writes and lines[1] else 0.0
        lines = tuple([each - share * use.lines[0] for each, share in zip(lines, kept)])
        kinds = writes, copies, position == self.asked, position in self.elements, streams, again
        return Traffic(self.buffers.names[position], lines, pieces, *kinds)

    def _streams(self) -> bool:
        """Whether what is staged passes the caches: runs of lines; transposed ones if long, and of a large tensor."""
        size = self.buffers.sizes[self.output]
        if (run := self.copied_run(self.output)) > 1:
            return run * size >= LINE
        return self.buffers.bytes[self.output] > self.machine.l2 and self._turned_run() * size >= SHORTEST

    def _turned_run(self) -> int:
        """Return how many elements follow each other in the output where a block leaves scratch transposed.

        Rows that follow each other are one run.
        """
        digits = sorted((lies, extent) for _, lies, extent in self._digits(self.output) if extent > 1)
        run = 1
        for lies, extent in digits[:2]:
            if lies != run:
                break
            run *= extent
        return run

    def _goes_on(self, position: int) -> bool:
        """Whether tiles read an input where it lies, each right behind what the last one has read.

        Where L1 cannot hold the vectors that one tile reads, since they fall into few sets, each tile reads them all
        anew; of elements there are too few to wait for.
        """
        prims, by_element = self.schedule.prims, position in self.elements
        along = self.buffers.places.get((prims.n if by_element else prims.m) or "")
        if self.moves or position in self.packs or not self.buffers.tensors[position].is_contiguous(along):
            return False
        if by_element:
            return True
        tile = self.tensors[position].at[self.tile]
        return tile.room <= self.machine.l1d or tile.room <= CROWDED * LINE * tile.lines

    def _streamed(self, use: Use) -> int:
        """Return the depth at which a tensor is streamed in pieces: one run goes on right behind the last one.

        Where caches have held what is written, its lines have to leave them first: all ends are waited for.
        """
        depth = use.last
        while depth and not self.buffers.kept[-1] and use.at[depth].pieces == use.at[depth - 1].pieces == 1:
            depth -= 1
        return depth

    def _touched(self, position: int, use: Use, writes: bool) -> int:
        """Return the depth at which a tensor is touched in pieces: what it holds is there at once.

        Stores of one tile after the other go on along the output, and so may loads of elements; other loads wait for
        what a step needs.
        """
        depth = max(min(use.last, self.tile) - writes, 0)
        goes_on, by_page = writes or self._goes_on(position), position not in self.elements
        while goes_on and depth and _open(use.at[depth], use.at[depth - 1], by_page) <= OPEN:
            depth -= 1
        return depth

    def _read_pieces(self, use: Use) -> float:
        """Return the runs for each line that a permutation reads: as far as the next block goes on where one ends.

        Processors read ahead beyond the end of a piece, and find it there if pieces are few; or if L2 still has what
        they read beyond its end when the next block begins, which they do of pages that they follow all the time, and
        of pieces that are long enough to be noticed.
        """
        depth = min(use.last, self.block)
        inner, outer = use.at[depth], use.at[max(depth - 1, 0)]
        is_noticed = inner.pieces <= OPEN or inner.lines >= NOTICED * inner.pieces
        lost = self._forgets_of(use)[1].shares[depth] if is_noticed else 1.0
        lost = 0.0 if inner.pieces <= STREAMS else lost
        return lost * inner.pieces / inner.lines + (1 - lost) * outer.pieces / outer.lines

    def _scratch_traffic(self, position: int, use: Use, overflows: list[float]) -> Traffic:
        """What kernels fetch of a packed block: what the copy has just written is still where it fits.

        A staged block nobody has written before: it is fetched once.
        """
        block, runs = use.at[use.first], self.walk.runs[use.first]
        staged = position == self.output
        lines: list[float] = []
        for gone, fetched in zip(overflows, use.fetched(self.walk, self._forgets_of(use), use.lines)):
            again = runs * max(fetched - block.lines * (1 - gone), 0.0)
            lines.append(max(again, block.lines) if staged else again)
        return Traffic(f"scratch of {self.buffers.names[position]}", tuple(lines), 0.0, staged)

    def _copied(self, position: int, use: Use, overflows: list[float]) -> Traffic:
        """What copies into a packed block move of it: a cache that no longer has the last block fetches its lines.

        L1 turns over with every panel; the others keep what is used until the end, if they can hold it.
        """
        block, again = use.at[use.first], self.walk.runs[use.first] - 1
        gone = [self.forgets[0].shares[use.first], *overflows[1:]]
        lines = tuple([block.lines * (1 + again * each) for each in gone])
        return Traffic(f"copies of {self.buffers.names[position]}", lines, 0.0, writes=True, copies=True)

    def _overflows(self, position: int, use: Use) -> list[float]:
        """Return the share of a packed block that each cache cannot hold beside what is touched until it is used again.

        That is the tensor's block; of a staged one, which goes to where passes the caches, all that computes it.
        """
        if self.moves:
            return [gone.shares[use.first] for gone in self._forgets_of(use)]
        room = self.rooms[use.first]
        if position != self.output:
            room = use.at[use.first].room + self.tensors[position].at[use.first].room
        return [share_forgotten(room, cache) for cache in self.buffers.caches]

    def looked_up(self) -> list[tuple[float, float]]:
        """Return the pages that each translation buffer has to look up: of packed inputs, and of all else."""
        packed, others = [0.0] * len(self.misses), [0.0] * len(self.misses)
        uses = [(use, others) for use in self.tensors]
        uses += [(use, others if position == self.output else packed) for position, use in self.scratch.items()]
        for use, pages in uses:
            times = self.walk.runs[use.first]
            for place, fetched in enumerate(use.fetched(self.walk, self.misses, use.pages)):
                pages[place] += fetched * times
        return list(zip(packed, others))


def _open(inner: Footprint, outer: Footprint, by_page: bool) -> float:
    """Return at how many places a block goes on that lies in a larger one; `by_page` at one in each page at most."""
    inside = min(inner.pieces, outer.pieces + outer.lines * LINE / PAGE) if by_page else inner.pieces
    return max(inside, outer.pieces)


def _added(lists: Iterable[Sequence[float]]) -> Sequence[float]:
    """Return the sums of lists, number by number."""
    first, *others = lists
    for each in others:
        first = list(map(add, first, each))
    return first


def _forgotten(rooms: Sequence[float], cache: float) -> Forgotten:
    """Return what is gone of what was touched when a body of so much room, by depth, comes round again."""
    depths, innermost, surely, full, over = len(rooms), 0, 0, FULL * cache, OVER * cache
    if max(rooms) <= full:
        return Forgotten([0.0] * depths, 0, 0)
    for depth in range(depths - 1, 0, -1):
        if rooms[depth] > full:
            innermost = depth
            break
    for room in rooms[1 : innermost + 1]:
        if room < over:
            break
        surely += 1
    partly = [share_forgotten(room, cache) for room in rooms[surely + 1 : innermost + 1]]
    return Forgotten([1.0] * (surely + 1) + partly + [0.0] * (depths - 1 - innermost), innermost, surely)


def _either(one: Forgotten, other: Forgotten) -> Forgotten:
    """Return what is gone for either of two reasons."""
    shares = list(map(max, one.shares, other.shares))
    return Forgotten(shares, max(one.innermost, other.innermost), max(one.surely, other.surely))


def _partly(everywhere: Forgotten, elsewhere: Forgotten, dense: Sequence[float]) -> Forgotten:
    """Return what is gone if the first happens in a share of the sets, by depth, and the second in the others."""
    each = zip(everywhere.shares, elsewhere.shares, dense)
    shares = [share * gone + (1 - share) * other for gone, other, share in each]
    return Forgotten(shares, everywhere.innermost, elsewhere.surely)


def _joined(digits: Iterable[tuple[int, int, int]]) -> tuple[int, int]:
    """Return how many indices follow each other by their first stride, in equal steps by the second, and the step."""
    ordered = sorted(digit for digit in digits if digit[2] > 1)
    length, step = 1, ordered[0][1] if ordered else 1
    for stride, other, extent in ordered:
        if (stride, other) != (ordered[0][0] * length, step * length):
            break
        length *= extent
    return length, step


def traffic_of(operation: Operation, schedule: Schedule, machine: Machine) -> list[Traffic]:
    """Return what every buffer moves between the caches."""
    return Flow(operation, schedule, machine).traffic()
