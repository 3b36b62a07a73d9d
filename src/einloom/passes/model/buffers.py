"""`Buffers`: the operands of an operation as the cost model sees them, and the footprints of their blocks."""

from __future__ import annotations

from collections.abc import Sequence

from einloom.ir.fused import FusedView
from einloom.ir.operation import Operation
from einloom.ir.schedule import Fused
from einloom.kernels.verbs.products import vectors_of
from einloom.machine import Machine
from einloom.passes.model.footprint import HUGE, HUGE_PAGE, LINE, PAGE, WAY, Footprint
from einloom.passes.model.microarchitectures import NOTICED, kept_in_last_level, microarchitecture_of
from einloom.passes.model.walk import StridedAxis, Use, Walk

__all__ = ["FULL", "Buffer", "Buffers", "share_forgotten"]

CROWDED = 1.5
"""How many times the room of its lines a buffer needs whose lines fall into few sets."""

FULL, OVER = 0.8, 1.2
"""Up to which share of a cache everything stays, and from which on nothing does."""

NOTHING = Footprint(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
"""What a buffer has inside the last loop in which it is used."""

WAYS = 16
"""Ways of a second-level cache. Which of its sets lines fall into is known on huge pages alone; it counts where all is
moved and nothing computed, so that most of what L2 holds is touched but once."""


class Buffer:
    """Where the elements of a tensor or of a packed block lie, and the footprints of its blocks so far.

    Attributes:
        strided: the axes that it is made of, the smallest stride first.
        size: bytes of an element; `page`: of a page; `way`: after which sets of L2 repeat.
    """

    def __init__(
        self,
        strided: tuple[StridedAxis, ...],
        size: int,
        page: int,
        way: int = WAY,
        extents: Sequence[int] | None = None,
    ) -> None:
        self.strided, self.size, self.page, self.way = strided, size, page, way
        self._along: dict[int | None, list[StridedAxis]] = {}
        for each in strided:
            if each[1] in self._along:
                self._along[each[1]].append(each)
            else:
                self._along[each[1]] = [each]
        self._single = {
            axis: (place, most)
            for place, (_, axis, step, most) in enumerate(strided)
            if step == 1 and len(self._along[axis]) == 1
        }
        """Axes that are neither cut nor fused: their places, and most of their indices."""
        self._strides = [each[0] for each in strided]
        self._innermost = strided[0].axis if strided and strided[0].stride == 1 else None
        self._known: dict[tuple[float, ...], Footprint] = {}
        self._whole = None if extents is None else self._inside(extents, extents)
        self._crowded = False

    def along(self, axis: int | None) -> Sequence[StridedAxis]:
        """Return what the buffer is made of along an axis: nothing if it is the same everywhere, several if fused."""
        return self._along.get(axis, ())

    def is_contiguous(self, axis: int | None) -> bool:
        """Whether neighbours along an axis are neighbours in memory, all of them."""
        along = self._along.get(axis, ())
        return len(along) == 1 and along[0].stride == 1

    def use(self, walk: Walk, first: int, last: int) -> Use:
        """Return the use of the buffer at the depths from `first` to `last`."""
        loops, spans, single, known, innermost = walk.loops, walk.spans, self._single, self._known, self._innermost
        key = self._inside(walk.inside(first), spans[first]) if first or self._whole is None else self._whole
        indices, now = [*key], known.get(key) or self._footprint(key)
        at = [now] * (first + 1)
        for (axis, size), span in zip(loops[first + 1 : last + 1], spans[first + 1 : last + 1]):
            if axis == innermost:
                indices[-1] = _indices(self.strided[0], span[axis])
            if axis in single:
                place, most = single[axis]
                indices[place] = size if size < most else most
            elif axis in self._along:
                for place, each in enumerate(self.strided):
                    if each.axis == axis:
                        indices[place] = _indices(each, size)
            else:
                at.append(now)
                continue
            key = tuple(indices)
            now = known.get(key) or self._footprint(key)
            at.append(now)
        if len(at) < len(loops):
            at += [now if first else NOTHING] * (len(loops) - len(at))
        lines, _, rooms, pages, far_rooms, ends = zip(*at)
        crowded = self._crowded and any(each.far_room > CROWDED * LINE * each.lines for each in at)
        return Use(self.strided, first, last, at, lines, rooms, far_rooms, pages, ends, crowded)

    def _inside(self, sizes: Sequence[float], spans: Sequence[int]) -> tuple[float, ...]:
        """Return the indices of what the buffer is made of in a block of such sizes, on average.

        And behind them those of the contiguous axis in a whole block, of `spans`: where the next one begins.
        """
        inside = [_indices(each, sizes[each.axis]) for each in self.strided]
        whole = 0.0 if self._innermost is None else _indices(self.strided[0], spans[self._innermost])
        return (*inside, whole)

    def _footprint(self, key: tuple[float, ...]) -> Footprint:
        """Return the footprint of a block (see `_inside`), which is new."""
        *indices, whole = key
        found = Footprint.of(zip(self._strides, indices), self.size, self.page, whole=whole)
        if self.way != WAY:
            far = Footprint.of(zip(self._strides, indices), self.size, self.page, self.way, whole)
            found = found._replace(far_room=far.room)
        self._known[key] = found
        if found.far_room > CROWDED * LINE * found[0]:
            self._crowded = True
        return found


class Buffers:
    """The operands of an operation with some axes fused, beside the caches of a machine.

    Attributes:
        view: the operation on the axes that are walked.
        places, extents: of these axes: the position by name, the indices (1 at least) by position.
        names, sizes, bytes: of the operands, bytes of an element and of all.
        tensors: where the operands lie.
        computed: the type that is computed in; `isa`: vectors of it.
        caches: bytes of each; `kept`: the share of the tensors that it holds when a call begins.
        noticed, hides_elements: what its core does (see `Microarchitecture`).
    """

    def __init__(self, operation: Operation, fused: tuple[Fused, ...], machine: Machine) -> None:
        self.view = view = FusedView.of(operation, fused)
        self.places = {axis.name: i for i, axis in enumerate(view.axes)}
        self.extents = [axis.extent or 1 for axis in view.axes]
        self.names = [operand.name for operand in operation.operands]
        self.sizes = [operand.dtype.size for operand in operation.operands]
        self.bytes = [operation.elements(operand) * operand.dtype.size for operand in operation.operands]
        way = WAY if operation.main.is_contraction else max(machine.l2 // WAYS, WAY)
        self.tensors = [
            Buffer(self._strided(name), size, *((HUGE_PAGE, way) if whole >= HUGE else (PAGE, WAY)), self.extents)
            for name, size, whole in zip(self.names, self.sizes, self.bytes)
        ]
        self.computed = operation.accumulate
        self.isa = vectors_of(machine.vectors, self.computed)
        self.caches = (machine.l1d, machine.l2, machine.last_level)
        self.kept = self._kept(kept_in_last_level(machine))
        core = microarchitecture_of(machine)
        self.noticed = core.noticed if core else NOTICED
        self.hides_elements = core is not None and core.hides_elements
        self._scratch: dict[tuple[tuple[StridedAxis, ...], int], Buffer] = {}

    def _strided(self, operand: str) -> tuple[StridedAxis, ...]:
        found = [StridedAxis(abs(s), self.places[name]) for name, s in self.view.strides[operand].items() if s]
        for name, parts in self.view.parts[operand].items():
            step = 1
            for part in reversed(parts):
                found.append(StridedAxis(abs(part.stride), self.places[name], step, step * part.extent))
                step *= part.extent
        return tuple(sorted(found))

    def _kept(self, last_level: int) -> list[float]:
        """Return the share of the tensors that each cache holds when a call begins: whoever made them has left them."""
        total = sum(self.bytes)
        return [1 - share_forgotten(total, cache) for cache in (*self.caches[:2], last_level)]

    def scratch(self, strided: tuple[StridedAxis, ...], size: int) -> Buffer:
        """Return the packed block of elements of so many bytes that is made of axes, the smallest stride first."""
        found = self._scratch.get((strided, size))
        if found is None:
            found = self._scratch[strided, size] = Buffer(strided, size, PAGE)
        return found


def _indices(along: StridedAxis, size: float) -> float:
    """Return how many indices of a part, or of a digit, a block with so many of the whole axis has."""
    _, _, step, most = along
    if size > most:
        size = most
    return size / step if size > step else 1.0


def share_forgotten(room: float, cache: float, full: float = FULL, over: float = OVER) -> float:
    """Return the share of so much room that a cache loses before it is wanted again.

    Args:
        room, cache: what is touched meanwhile, and what it holds.
        full, over: up to which share of it everything stays, and from which on nothing does.
    """
    if not cache or room >= over * cache:
        return 1.0
    return (room / cache - full) / (over - full) if room > full * cache else 0.0
