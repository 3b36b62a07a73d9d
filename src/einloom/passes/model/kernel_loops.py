"""The primitive of a schedule as loops over its tiles, or its vectors, and the cycles that all its calls take in L1."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from einloom.ir.operation import Operation
from einloom.ir.schedule import Schedule, ScheduledPack
from einloom.kernels.contraction.tiles import Fragment, Neighbours
from einloom.kernels.fetch import BROADCAST, STRIDED, VECTOR, Fetch
from einloom.machine import Machine
from einloom.passes.model.buffers import Buffers
from einloom.passes.model.kernel import CALL, MOVE, copy_cycles, tilings_of
from einloom.passes.model.walk import Walk

__all__ = ["KernelLoops"]

PART = 1.2
"""How much longer kernels take whose only vector is a part of one: its loads cross lines, whatever is masked."""


class KernelLoops:
    """The loops inside a primitive, which are added to those of its schedule.

    Args:
        operation, schedule, machine: what is computed, how, and on what.
        buffers: the operands.
        packs: of the schedule, by operand.
        walk: the loops of the schedule, inside which those of the primitive are added.

    Attributes:
        cycles: of all calls, with everything in L1.
        tile: how many loops stand around a tile.
        vectors: how many a tile has along m; 1 of what only moves.
        elements: the inputs that kernels read element by element where they lie.
    """

    def __init__(
        self,
        operation: Operation,
        schedule: Schedule,
        machine: Machine,
        buffers: Buffers,
        packs: Mapping[int, ScheduledPack],
        walk: Walk,
    ) -> None:
        self._schedule, self._machine, self._buffers, self._packs, self._walk = schedule, machine, buffers, packs, walk
        self._output = len(operation.operands) - 1
        self.elements: set[int] = set()
        self.tile, self.vectors = 0, 1
        self.cycles = self._add_tiles(operation) if operation.main.is_contraction else self._add_vectors(operation)

    def _add_tiles(self, operation: Operation) -> float:
        """Add the loops over the kernel's tiles and its steps of k; return the cycles of all calls."""
        prims, walk, isa = self._schedule.prims, self._walk, self._buffers.isa
        size = self._buffers.computed.size
        ms, ns, ks, batches = map(self._blocks, (prims.m, prims.n, prims.k, prims.batch))
        calls = walk.runs[-1]
        for part in (ms, ns, ks, batches):
            calls /= sum([count for _, count in part])
        fragments, cycles = self._fragments(operation), 0.0
        tiling = tilings_of(isa, size, fragments, self._neighbours(fragments))
        self.elements = {i for i, (fetch, _) in enumerate(fragments) if fetch is BROADCAST and i not in self._packs}
        calls *= PART if ms[0][0] * size * 8 < isa.bits else 1.0
        for m, each in ms:
            for n, columns in ns:
                for k, steps in ks:
                    for batch, times in batches:
                        cycles += each * columns * steps * times * (CALL + tiling(m, n, k * batch).cycles)
        tiles = tiling(ms[0][0], ns[0][0], ks[0][0] * batches[0][0])
        self._add_steps(((prims.m, tiles.m), (prims.n, tiles.n)))
        self.vectors = -(-min(tiles.m, ms[0][0]) * size * 8 // isa.bits)
        self.tile = walk.depth
        self._add_steps(((prims.batch, 1), (prims.k, 1)))
        return cycles * calls

    def _add_vectors(self, operation: Operation) -> float:
        """Add the loops over the vectors of an element-wise kernel, or the squares that it transposes.

        Return the cycles of all calls, as if it only moved: what an operator computes is the same in every schedule.
        """
        prims, walk = self._schedule.prims, self._walk
        lanes = self._machine.vector_bits // 8 // operation.accumulate.size
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
        m = self._schedule.prims.m
        return m is not None and operation.stride(operation.output, m) != 1

    def _add_steps(self, steps: Iterable[tuple[str | None, int]]) -> None:
        for name, step in steps:
            if name is not None and step < self._walk.spans[-1][axis := self._buffers.places[name]]:
                self._walk.add(axis, step)

    def _blocks(self, name: str | None) -> list[tuple[int, int]]:
        """The sizes of the primitive's blocks along an axis, with how many there are of each."""
        if name is None:
            return [(1, 1)]
        i = self._buffers.places[name]
        step = self._walk.spans[-1][i]
        whole, rest = divmod(self._walk.extents[i], step)
        return [(step, whole), (rest, 1)] if rest else [(step, whole)]

    def _fragments(self, operation: Operation) -> tuple[Fragment, ...]:
        """How kernels fetch the inputs; to scatter the output counts as if its vectors were gathered."""
        m, n = (self._buffers.places.get(name or "") for name in (self._schedule.prims.m, self._schedule.prims.n))
        scatters = self._fetch(self._output, m) is STRIDED
        found = [(self._fetch(i, m), bool(self._buffers.tensors[i].along(n))) for i in range(len(operation.inputs))]
        found += [(BROADCAST, True)] if len(found) == 1 else []
        return tuple([(STRIDED if scatters and fetch is VECTOR else fetch, per_column) for fetch, per_column in found])

    def _neighbours(self, fragments: tuple[Fragment, ...]) -> Neighbours:
        """Along which axis of the primitive elements of the input are neighbours that kernels broadcast."""
        broadcast = (BROADCAST, True)
        if broadcast not in fragments[: len(self._buffers.tensors) - 1]:
            return None
        position, prims, places = fragments.index(broadcast), self._schedule.prims, self._buffers.places
        n, k = places.get(prims.n or ""), places.get(prims.k or "")
        if position in self._packs:
            innermost = [places[digit.axis] for digit in self._packs[position].layout[-1:]]
        else:
            tensor = self._buffers.tensors[position]
            innermost = [axis for axis in (n, k) if axis is not None and tensor.is_contiguous(axis)]
        return "n" if n in innermost else "k" if k in innermost else None

    def _fetch(self, position: int, m: int | None) -> Fetch:
        tensor = self._buffers.tensors[position]
        if not tensor.along(m):
            return BROADCAST
        if position in self._packs:
            layout = self._packs[position].layout
            return STRIDED if layout and self._buffers.places[layout[-1].axis] != m else VECTOR
        return VECTOR if tensor.is_contiguous(m) else STRIDED
