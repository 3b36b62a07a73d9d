"""From a backbone and a device to a constraint problem: objects into the sets of `gpu.space`, facts for its guards.

This is the only module that knows both the backbone and the names of the sets.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from einloom import csp
from einloom.frozen import frozen
from einloom.space.backbone import Backbone, Dimension, Instruction, Reduction, TiledAxis
from einloom.space.device import GpuDevice
from einloom.space.facts import Facts, Transfer
from einloom.space.tilings import tilings

__all__ = ["gpu_problem", "gpu_space", "gpu_space_text"]

_GPU_SPACE = Path(__file__).with_name("gpu.space")


@frozen
class Number:
    """A number as an object of a set."""

    value: int

    @property
    def name(self) -> str:
        """What the engine calls it."""
        return f"number {self.value}"


@cache
def gpu_space() -> csp.Space:
    """Return the compiled GPU space."""
    return csp.load_space(_GPU_SPACE)


@cache
def gpu_space_text() -> str:
    """Return the text of the GPU space."""
    return _GPU_SPACE.read_text(encoding="utf-8")


def gpu_problem(backbone: Backbone, device: GpuDevice) -> csp.Problem:
    """Return the constraint problem of all implementations of a backbone on a device.

    Raises:
        DeadEnd: there is none.
    """
    facts = Facts(backbone, device, _extension)
    instance = csp.Instance(gpu_space(), host={"kernel": facts, "gpu": device})
    for axis in backbone.axes:
        _add_axis(instance, backbone, axis)
    for dimension in backbone.dimensions:
        _add_dimension(instance, facts, dimension)
    for region in backbone.regions:
        instance.add("MemRegions", region)
    for instruction in backbone.instructions:
        _add_instruction(instance, backbone, instruction)
    for place in facts.thread_places:
        instance.add("ThreadPlaces", place)
    instance.add("Anchor", next(each for each in backbone.instructions if each.operator == "store"))
    for source, target in _mapped_pairs(backbone.instructions):
        instance.add("MappedDims", backbone.dimension[target], of=(backbone.dimension[source],))
    for temporary in backbone.temporaries:
        transfer = facts.transfer(temporary)
        instance.add("Transfers", transfer)
        for source, _ in transfer.mapping:
            instance.add("SourceDims", backbone.dimension[source], of=(transfer,))
    return instance.freeze()


def _add_axis(instance: csp.Instance, backbone: Backbone, axis: TiledAxis) -> None:
    instance.add("LogicalDims", axis)
    for level in range(axis.levels):
        first = next(d for d in backbone.dimensions if (d.axis, d.level) == (axis.name, level))
        instance.add("TilingDims" if level else "TiledDim", first, of=(axis,))
        for other in backbone.dimensions:
            if level and (other.axis, other.level) == (axis.name, level) and other is not first:
                instance.add("Copies", other, of=(first,))
    for tiling in tilings(axis):
        name = "ExactTilings" if axis.size % tiling == 0 else "RaggedTilings"
        instance.add(name, Number(tiling), of=(axis,))


def _add_dimension(instance: csp.Instance | csp.Extension, facts: Facts, dimension: Dimension) -> None:
    instance.add("StaticDims" if dimension.static else "OuterDims", dimension)
    if facts.is_long(dimension):
        instance.add("LongDims", dimension)
    widths = facts.widths[dimension]
    if widths:
        instance.add("VectorDims", dimension)
        instance.add("VectorAxis", facts.backbone.axis[dimension.axis], of=(dimension,))
        for size in dimension.sizes:
            if size not in widths:
                instance.add("ForbiddenWidths", Number(size), of=(dimension,))


def _add_instruction(instance: csp.Instance | csp.Extension, backbone: Backbone, instruction: Instruction) -> None:
    instance.add("PinnedInsts" if instruction.pinned else "Insts", instruction)
    for name in instruction.dimensions:
        instance.add("OwnDims", backbone.dimension[name], of=(instruction,))
    for name in instruction.reduced:
        instance.add("ReducedDims", backbone.dimension[name], of=(instruction,))
    for result in instruction.results:
        instance.add("Producers", backbone.instruction[result.instruction], of=(instruction,))
    for given in instruction.inputs:
        if isinstance(given, Reduction):
            instance.add("Starts", backbone.instruction[given.start.instruction], of=(instruction,))
    if instruction.address:
        instance.add("MemInsts", instruction)
        instance.add("AccessedRegions", backbone.region[instruction.address.region], of=(instruction,))


def _mapped_pairs(instructions: tuple[Instruction, ...]) -> list[tuple[str, str]]:
    """Return the pairs of dimensions that values flow between, each once, in order."""
    pairs = [pair for each in instructions for result in each.results for pair in result.mapping]
    return list(dict.fromkeys(pairs))


def _extension(facts: Facts, transfer: Transfer) -> csp.Extension:
    backbone, temporary = facts.backbone, transfer.temporary
    extension = csp.Extension(temporary.region.name)
    for dimension in temporary.dimensions:
        _add_dimension(extension, facts, dimension)
        first = next(d for d in backbone.dimensions if facts.are_twins(d, dimension))
        extension.add("Copies", dimension, of=(first,))
    extension.add("MemRegions", temporary.region)
    extension.add("Temporaries", temporary.region)
    for instruction in (temporary.store, temporary.load):
        _add_instruction(extension, backbone, instruction)
    extension.add("TemporaryStore", temporary.store, of=(temporary.region,))
    extension.add("TemporaryLoad", temporary.load, of=(temporary.region,))
    extension.add("Producers", temporary.load, of=(backbone.instruction[temporary.user],))
    extension.add("Producers", temporary.store, of=(temporary.load,))
    for (stored, loaded), (source, target) in zip(temporary.pairs, transfer.mapping):
        into, out = backbone.dimension[stored], backbone.dimension[loaded]
        extension.add("StoredDims", into, of=(temporary.region,))
        extension.add("LoadedDim", out, of=(into,))
        extension.add("MappedDims", into, of=(backbone.dimension[source],))
        extension.add("MappedDims", backbone.dimension[target], of=(out,))
    return extension
