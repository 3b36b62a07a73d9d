"""Sketches of leaves: what people who know GPUs decide about a kernel, by the names of the space's decisions.

Blocks share the output's tiles; threads share a tile, neighbours along the axis in which the output is contiguous, and
each keeps a few elements in registers. Inputs that several threads need wait in shared memory: neighbours fetch what
lies side by side, and it is stored as the products read it. What the device cannot do, or the operation has no axis
for, falls out of a sketch when it is applied.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from einloom.frozen import frozen
from einloom.once import cached_property
from einloom.space.backbone import Backbone, Instruction, TiledAxis
from einloom.space.device import GpuDevice

__all__ = ["Decisions", "Sizes", "Sketcher"]

Decisions = dict[str, str | int]


@frozen
class Sizes:
    """Sizes of tiles.

    Attributes:
        outer, inner: threads that share a tile along an axis, and elements that each holds: of the axis that the output
            is contiguous in (`inner`), and of the other one.
        summed: how much of a summed axis is fetched at a time.
    """

    outer: tuple[int, int]
    inner: tuple[int, int]
    summed: int


OF_NUMBERS = (
    Sizes((16, 8), (16, 4), 16),
    Sizes((16, 8), (16, 8), 16),
    Sizes((16, 4), (16, 4), 16),
    Sizes((32, 4), (8, 4), 8),
    Sizes((32, 1), (256, 4), 32),
    Sizes((32, 1), (32, 1), 32),
    Sizes((8, 8), (8, 8), 8),
    Sizes((10, 5), (10, 5), 10),
)
"""Sizes for the threads of GPUs, the most usual first."""

TILE = 64
"""What a tile covers of an axis, about."""

OF_WARPS = (
    Sizes((4, 4), (2, 4), 4),
    Sizes((4, 4), (2, 4), 2),
    Sizes((4, 2), (2, 4), 2),
    Sizes((8, 2), (2, 8), 2),
    Sizes((2, 4), (2, 4), 2),
    Sizes((2, 2), (2, 2), 2),
)
"""The same of warps and fragments, where one axis alone is shared: of the other, fragments take the threads' place."""


class Sketcher:
    """Sketches of one kernel on one device.

    Args:
        backbone: of the kernel.
        device: where it is to run.
        of_warps: whether elements are fragments.
    """

    def __init__(self, backbone: Backbone, device: GpuDevice, of_warps: bool) -> None:
        self.backbone, self.device, self.of_warps = backbone, device, of_warps
        self.parallel = [axis for axis in backbone.axes if backbone.dimension[f"{axis.name}.0"].parallel]
        self.tiled = [axis for axis in self.parallel if axis.tiles]
        self.summed = [axis for axis in backbone.axes if axis not in self.parallel and axis.tiles]

    @cached_property
    def inner(self) -> str | None:
        """The tiled axis along which the output is contiguous."""
        store = next(each for each in self.backbone.instructions if each.operator == "store")
        strides = _strides(store)
        return min((axis.name for axis in self.tiled), key=lambda name: abs(strides.get(name, 0)), default=None)

    @cached_property
    def shared(self) -> list[str]:
        """The axes whose tiles threads share, the inner one first."""
        ordered = sorted((axis.name for axis in self.tiled), key=lambda name: name != self.inner)
        return ordered[: self.device.max_thread_levels]

    def sizes(self) -> Iterator[Decisions]:
        """Yield sizes of tiles, from the most usual to the least, each once."""
        seen: list[Decisions] = []
        for each in OF_WARPS if self.of_warps else OF_NUMBERS:
            found: Decisions = {}
            for axis in self.backbone.axes:
                wanted = each.inner if axis.name == self.inner else each.outer
                wanted = (each.summed,) if axis in self.summed else wanted
                for level, sizes in enumerate(axis.tiles, 1):
                    found[f"size({axis.name}.{level})"] = _nearest(sizes, wanted[level - 1])
            if found not in seen:
                seen.append(found)
                yield found

    def structure(self) -> Decisions:
        """Return what is decided about loops: blocks outside, threads on tiles, registers inside, sums in loops."""
        longest = sorted(self.parallel, key=lambda axis: -(-(-axis.size // TILE) if axis.tiles else axis.size))
        levels = self.device.max_block_levels
        found: Decisions = {f"dim_kind({axis.name}.0)": "BLOCK" for axis in longest[:levels]}
        for axis in self.tiled:
            found[f"dim_kind({axis.name}.1)"] = "THREAD" if axis.name in self.shared else "UNROLL"
            if axis.levels > 2:
                found[f"dim_kind({axis.name}.2)"] = "UNROLL"
        for axis in self.summed:
            found[f"dim_kind({axis.name}.1)"] = "LOOP"
            found |= {f"order({each.name}.1, {axis.name}.1)": "OUTER" for each in self.tiled}
            found |= {f"order({axis.name}.1, {each.name}.2)": "OUTER" for each in self.tiled if each.levels > 2}
        if len(self.shared) == 2:
            found[f"thread_level({self.shared[1]}.1, {self.shared[0]}.1)"] = "OUTER"
        return found | self._inner_products() | self._stores()

    def _inner_products(self) -> Decisions:
        """Return decisions about sums that other sums read: their tiles are shared by the same threads."""
        found: Decisions = {}
        for each in self.backbone.instructions:
            for name in each.dimensions if each.reduced else ():
                level, own = self.backbone.dimension[name].level, name.count(".") > 1
                if own and name in each.reduced:
                    found[f"dim_kind({name})"] = "LOOP"
                elif own:
                    found[f"dim_kind({name})"] = "THREAD" if level == 1 else "UNROLL"
        return found

    def _stores(self) -> Decisions:
        """Return decisions about stores: each thread stores vectors of its elements."""
        found: Decisions = {}
        for each in self.backbone.instructions:
            if each.operator == "store":
                found |= {f"dim_kind({each.name}.{self.inner}.2)": "VECTOR", f"cache({each.name})": "NONE"}
        return found

    def loads(self, stage: bool) -> Decisions:
        """Return decisions about inputs.

        Args:
            stage: whether those wait in shared memory that other threads need, or that neighbours would read apart.
        """
        found: Decisions = {}
        for each in self.backbone.instructions:
            if each.operator == "load" and each.address is not None and each.address.strides:
                axes = [axis for axis in self.backbone.axes if axis.tiles and axis.name in _strides(each)]
                if axes:
                    found |= self._staged(each, axes) if stage and self._is_staged(each) else self._direct(each, axes)
        return found

    def _is_staged(self, load: Instruction) -> bool:
        """Whether other threads need what a thread loads, or neighbours would read elements that lie apart."""
        strides, summed = _strides(load), {axis.name for axis in self.summed}
        return bool(summed & strides.keys()) and (
            any(name not in strides for name in self.shared) or _contiguous(strides) in summed
        )

    def _direct(self, load: Instruction, axes: Sequence[TiledAxis]) -> Decisions:
        """Return decisions about an input that each thread loads into its own registers, by vectors where they lie."""
        found, contiguous = Decisions(), _contiguous(_strides(load))
        for axis in axes:
            found[f"dim_mapping({load.name}.{axis.name}.1, {axis.name}.1)"] = "FUSED"
            if axis.levels > 2:
                if axis.name == contiguous:
                    found[f"dim_kind({load.name}.{axis.name}.2)"] = "VECTOR"
                found[f"dim_mapping({load.name}.{axis.name}.2, {axis.name}.2)"] = "UNROLLED"
        found[f"cache({load.name})"] = "L1" if any(name not in _strides(load) for name in self.shared) else "NONE"
        return found

    def _staged(self, load: Instruction, axes: Sequence[TiledAxis]) -> Decisions:
        """Return decisions about an input that waits in shared memory: neighbours load what lies side by side."""
        name, array = load.name, load.name.removeprefix("load_")
        levels = [f"{axis.name}.{level}" for axis in axes for level in range(1, axis.levels)]
        contiguous = _contiguous(_strides(load))
        loaded = sorted((axis.name for axis in axes), key=lambda axis: axis != contiguous)
        threads = dict(zip(loaded, self.shared))
        found: Decisions = {f"dim_kind({name}.{axis}.1)": "THREAD" for axis in threads}
        found |= {f"thread_level({name}.{axis}.1, {level}.1)": "MAPPED" for axis, level in threads.items()}
        for axis in axes:
            shared = "THREADS" if threads.get(axis.name) == axis.name else "STORED"
            found[f"dim_mapping({name}.{axis.name}.1, {axis.name}.1)"] = shared
            if axis.levels > 2:
                found[f"dim_mapping({name}.{axis.name}.2, {axis.name}.2)"] = "UNROLLED"
                found[f"dim_kind({name}.{axis.name}.2)"] = "VECTOR" if axis.name == contiguous else "UNROLL"
                found[f"dim_kind(store_tmp_{array}.{axis.name}.2)"] = "VECTOR"
                found[f"dim_kind(load_tmp_{array}.{axis.name}.2)"] = "VECTOR"
                found[f"dim_mapping({name}.{axis.name}.2, store_tmp_{array}.{axis.name}.2)"] = "UNROLLED"
        found |= {f"dim_mapping({name}.{level}, store_tmp_{array}.{level})": "FUSED" for level in levels}
        # Neighbours store side by side, but for what one thread reads as a vector.
        ordered = sorted(levels, key=lambda level: (level[-1], level.rpartition(".")[0] == contiguous))
        for outer, inner in combinations(ordered, 2):
            found[f"layout(tmp_{array}, store_tmp_{array}.{outer}, store_tmp_{array}.{inner})"] = "OUTER"
        found[f"cache({name})"] = "L1"
        return found


def _nearest(sizes: tuple[int, ...], wanted: int) -> int:
    return min(sizes, key=lambda size: abs(size - wanted))


def _strides(instruction: Instruction) -> dict[str, int]:
    """Return the strides of a load or store along the axes that move it."""
    assert instruction.address is not None
    return {axis: stride for axis, stride in instruction.address.strides if stride}


def _contiguous(strides: dict[str, int]) -> str | None:
    """Return the axis along which elements lie nearest to each other."""
    return min(strides, key=lambda axis: abs(strides[axis]), default=None)
