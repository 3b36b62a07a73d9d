"""What the quoted expressions of `gpu.space` ask about a kernel and a device, under the name `kernel`.

Everything here is fixed when a problem is made; nothing depends on a decision.
"""

from __future__ import annotations

from collections.abc import Callable

from einloom import csp
from einloom.frozen import frozen
from einloom.space.backbone import Backbone, Dimension, Instruction, Result, Temporary, TiledAxis
from einloom.space.device import GpuDevice
from einloom.space.tilings import tilings

__all__ = ["Facts", "Transfer"]


@frozen
class Transfer:
    """A storable value: the object that an extension belongs to."""

    temporary: Temporary
    mapping: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        """What the engine calls it."""
        return f"transfer {self.temporary.region.name}"

    def connects(self, source: Dimension, target: Dimension) -> bool:
        """Whether the value flows from `source` to `target`."""
        return (source.name, target.name) in self.mapping


@frozen
class ThreadPlace:
    """A hardware dimension of a block of threads: its place from the innermost one, and its longest extent."""

    place: int
    longest: int

    @property
    def name(self) -> str:
        """What the engine calls it."""
        return f"thread dimension {self.place}"


class Facts:
    """What the guards of the space ask about a backbone and a device, computed once."""

    def __init__(
        self, backbone: Backbone, device: GpuDevice, extension: Callable[[Facts, Transfer], csp.Extension]
    ) -> None:
        self.backbone, self.device, self.extension = backbone, device, extension
        self.widths = {each: _vector_widths(backbone, device, each) for each in backbone.dimension.values()}
        self.own = {each: frozenset(each.dimensions) for each in backbone.instruction.values()}
        self.places = {
            each: {(backbone.dimension[d].axis, backbone.dimension[d].level) for d in each.dimensions}
            for each in backbone.instruction.values()
        }
        self.storable = {pair for temporary in backbone.temporaries for pair in self.transfer(temporary).mapping}
        extents = device.max_thread_extents[: device.max_thread_levels]
        self.thread_places = [ThreadPlace(place, longest) for place, longest in enumerate(extents)]
        self.written = {each.address.region for each in self.own if each.address and each.operator == "store"}

    tilings = staticmethod(tilings)

    def transfer(self, temporary: Temporary) -> Transfer:
        """Return the object that stands for the value that a temporary holds."""
        given = self.backbone.instruction[temporary.user].inputs[temporary.position]
        assert isinstance(given, Result)
        return Transfer(temporary, given.mapping)

    def are_twins(self, a: Dimension, b: Dimension) -> bool:
        """Whether two dimensions are the same tile in two nests."""
        return a.level == b.level > 0 and a.axis == b.axis

    def may_repeat(self, dimension: Dimension, instruction: Instruction) -> bool:
        """Whether a dimension, or its twin, belongs to a pinned instruction, or may compute it anew."""
        return (dimension.axis, dimension.level) in self.places[instruction] or self.may_recompute(
            dimension, instruction
        )

    def may_recompute(self, dimension: Dimension, instruction: Instruction) -> bool:
        """Whether a dimension stands for an axis that a reduction (given by itself or its start) does not know."""
        reduction = self.backbone.reduction_of.get(instruction.name)
        return reduction is not None and dimension.axis not in self.backbone.axes_of(reduction)

    def is_long(self, dimension: Dimension) -> bool:
        """Whether some size of a tile exceeds some hardware dimension of a block of threads."""
        return any(max(dimension.sizes, default=0) > each.longest for each in self.thread_places)

    def owns(self, statement: Instruction | Dimension, dimension: Dimension) -> bool:
        """Whether `dimension` belongs to an instruction."""
        return isinstance(statement, Instruction) and dimension.name in self.own[statement]

    def may_vectorise(self, dimension: Dimension) -> bool:
        """Whether some size of the dimension is a legal vector width."""
        return any(size in self.widths[dimension] for size in dimension.sizes)

    def blocks_fit(self, x: TiledAxis, y: TiledAxis) -> bool:
        """Whether two axes can both be dimensions of the grid whatever their tiles."""
        return min(x.size, y.size) <= self.device.max_blocks[1]

    def least_tiling(self, axis: TiledAxis) -> int:
        """Return the tiling factor from which on the outer dimension fits any dimension of the grid."""
        return -(-axis.size // self.device.max_blocks[1])

    def is_short(self, axis: TiledAxis) -> bool:
        """Whether an axis fits the first dimension of the grid whatever its tiles."""
        return axis.size <= self.device.max_blocks[0]

    def shortest_tiling(self, axis: TiledAxis) -> int:
        """Return the tiling factor from which on the outer dimension fits the first dimension of the grid."""
        return -(-axis.size // self.device.max_blocks[0])

    def is_storable(self, source: Dimension, target: Dimension) -> bool:
        """Whether a temporary array may connect two dimensions."""
        return (source.name, target.name) in self.storable

    def is_read_only(self, instruction: Instruction) -> bool:
        """Whether an instruction loads from an array that the kernel never writes."""
        assert instruction.address is not None
        return instruction.operator == "load" and instruction.address.region not in self.written

    def extend(self, transfer: Transfer) -> csp.Extension:
        """Return what a temporary adds: an array, a store and a load with their nests."""
        return self.extension(self, transfer)


def _vector_widths(backbone: Backbone, device: GpuDevice, dimension: Dimension) -> tuple[int, ...]:
    """Return the vector widths that the load or store around which `dimension` stands may use along it.

    Elements must be adjacent, so the dimension is the innermost tile of an axis with stride 1; a vector must be
    aligned, so its width divides every other stride. A temporary's storage follows from decisions: any tile may do.
    """
    memory = [each for each in backbone.instruction.values() if each.address and dimension.name in each.dimensions]
    if len(memory) != 1 or not dimension.static:
        return ()
    address = memory[0].address
    assert address is not None
    if address.dimensions:
        return device.vector_widths
    strides = dict(address.strides)
    innermost = dimension.level == backbone.axis[dimension.axis].levels - 1
    if strides.pop(dimension.axis) != 1 or not innermost:
        return ()
    return tuple(width for width in device.vector_widths if all(stride % width == 0 for stride in strides.values()))
