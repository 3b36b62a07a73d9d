"""Expert leaves of a GPU's space: two dozen decisions of people who know GPUs, and propagation fills in the rest.

Sketches say which axes blocks and threads share, how large tiles are, and whether inputs wait in shared memory. What a
sketch asks for and the device cannot do, or the operation has no axis for, is left open; random descents close it, and
the leaf with the least bound is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from math import inf

from einloom.errors import EinloomError
from einloom.ir.operation import Operation
from einloom.space.backbone import Backbone
from einloom.space.candidate import Candidate, Space
from einloom.space.device import GpuDevice
from einloom.space.kernels import Kernel, kernel
from einloom.space.on_gpu.fragments import fitted
from einloom.space.on_gpu.operations import fragment_kernel, kernel_of
from einloom.space.on_gpu.work import emulated_work

__all__ = ["best_expert", "expert_leaf", "expert_leaves", "naive_leaf", "sketches", "spaces_of"]

Decisions = dict[str, str | int]

DESCENTS = 4
"""Random descents below each sketch."""

SIZES = ((16, 4), (16, 2), (16, 8), (32, 4), (8, 4), (8, 8))
"""How many threads share a tile along an axis, and how many of its elements each holds in registers."""

WARPS = ((4, 4), (4, 2), (8, 2), (2, 4), (2, 2), (8, 4))
"""The same of warps and fragments, where one axis alone is shared: of others two fragments take the threads' place."""


def expert_leaf(space: Space, seed: int = 0) -> Candidate:
    """Return the expert leaf that is ranked first: by its bound, or by its work where a processor emulates the device.

    Raises:
        DeadEnd: no implementation fits the device.
    """
    best: tuple[float, Candidate | None] = (inf, None)
    common = _sketched(space.root, _structure(space))
    for sizes in dict.fromkeys(tuple(each.items()) for each in sketches(space)):
        candidate = _sketched(common, dict(sizes))
        if _floor(candidate) >= best[0]:
            continue
        for descent in range(DESCENTS):
            leaf = candidate.complete(seed + descent)
            best = min(best, (_rank(leaf), leaf), key=lambda each: each[0])
    assert best[1] is not None
    return best[1]


def expert_leaves(space: Space, seed: int = 0) -> Iterator[Candidate]:
    """Yield the leaves of all sketches, as they are ranked: the first is taken without a search.

    Raises:
        DeadEnd: no implementation fits the device.
    """
    first = expert_leaf(space, seed)
    yield first
    common = _sketched(space.root, _structure(space))
    candidates = [_sketched(common, sizes) for sizes in sketches(space)]
    found = [each.complete(seed + descent) for descent in range(DESCENTS) for each in candidates]
    yield from (leaf for leaf in sorted(dict.fromkeys(found), key=_rank) if leaf != first)


NAIVE = {1: 256, 2: 16}
"""Threads of a naive kernel's block along each axis of the output that has tiles, by how many those are."""


def spaces_of(operation: Operation, device: GpuDevice) -> tuple[Space, ...]:
    """Return the spaces that hold an operation's kernels on a device: with tensor cores first, where both allow them.

    Raises:
        UnsupportedTarget: the operation has no scalar instructions.
    """
    made = fragment_kernel(operation) if device.tensor_cores else None
    of_fragments = () if made is None else (Space(made, fitted(device, made)),)
    return (*of_fragments, Space(kernel_of(operation), device))


def best_expert(spaces: Sequence[Space]) -> Candidate:
    """Return the expert leaf that is ranked first in several spaces of one kernel; the first ones are the likelier.

    Raises:
        DeadEnd: no implementation fits the device.
    """
    best: Candidate | None = None
    for space in spaces:
        if best is None or _floor(space.root) < _rank(best):
            leaf = expert_leaf(space)
            best = leaf if best is None or _rank(leaf) < _rank(best) else best
    assert best is not None
    return best


def naive_leaf(made: Kernel, device: GpuDevice) -> Candidate:
    """Return what people write first: a thread for each element of the output, which runs through all that is summed.

    Args:
        made: the kernel; its tiles do not matter.
        device: where it is to run.

    Raises:
        DeadEnd: no such implementation fits the device.
    """
    backbone = made.backbone
    parallel = [axis for axis in backbone.axes if backbone.dimension[f"{axis.name}.0"].parallel]
    tiled = [axis.name for axis in parallel if axis.tiles]
    threads = NAIVE[min(max(len(tiled), 1), 2)]
    options = {name: value for name, value in made.options if name not in ("tiles", "tails")}
    options["tiles"] = {axis.name: (threads,) if axis.name in tiled else () for axis in backbone.axes}
    space = Space(kernel(backbone.name, **options), device)
    sketch: Decisions = {f"size({name}.1)": threads for name in tiled}
    sketch |= {f"dim_kind({axis.name}.0)": "BLOCK" for axis in parallel}
    sketch |= {f"dim_kind({name}.1)": "THREAD" for name in tiled}
    fused = {name: "FUSED" for name in space.root.open if name.startswith("dim_mapping(")}
    return _sketched(_sketched(space.root, sketch), fused).complete()


def _floor(candidate: Candidate) -> float:
    """Return what no leaf below a candidate is ranked before."""
    device = candidate.space.device
    return 0.0 if device.emulated or device.rates is None else candidate.bound().seconds


def _rank(leaf: Candidate) -> float:
    """Return what leaves are ordered by, the best first; of a device without rates all are alike."""
    return emulated_work(leaf.launch()) if leaf.space.device.emulated else _floor(leaf)


def sketches(space: Space) -> Iterator[Decisions]:
    """Yield sizes of tiles, from the most usual to the least."""
    backbone, grain = space.backbone, space.kernel.grain
    shared = next(
        (axis for axis in backbone.axes if axis.tiles and backbone.dimension[f"{axis.name}.0"].parallel), None
    )
    for threads, registers in SIZES if grain is None else WARPS:
        found: Decisions = {}
        for axis in backbone.axes:
            outer = threads if grain is None or axis is shared else 2
            for level, sizes in enumerate(axis.tiles, 1):
                found[f"size({axis.name}.{level})"] = _nearest(sizes, registers if level > 1 else outer)
        yield found


def _structure(space: Space) -> Decisions:
    """Return decisions about the nests: blocks outside, threads on tiles, registers inside, sums in loops."""
    backbone, found = space.backbone, Decisions()
    parallel = [axis for axis in backbone.axes if backbone.dimension[f"{axis.name}.0"].parallel]
    tiled = [axis for axis in parallel if axis.tiles]
    blocks = islice([*tiled, *(axis for axis in parallel if not axis.tiles)], 3)
    found |= {f"dim_kind({axis.name}.0)": "BLOCK" for axis in blocks}
    levels = space.device.max_thread_levels
    found |= {f"dim_kind({axis.name}.1)": "THREAD" for axis in tiled[:levels]}
    found |= {f"dim_kind({axis.name}.1)": "UNROLL" for axis in tiled[levels:]}
    found |= {f"dim_kind({axis.name}.2)": "UNROLL" for axis in tiled if axis.levels > 2}
    for axis in backbone.axes:
        if axis not in parallel and axis.tiles:
            found[f"dim_kind({axis.name}.1)"] = "LOOP"
            found |= {f"order({each.name}.1, {axis.name}.1)": "OUTER" for each in tiled}
            found |= {f"order({axis.name}.1, {each.name}.2)": "OUTER" for each in tiled if each.levels > 2}
    return found | _inner_products(backbone) | _coalesced(backbone, [axis.name for axis in tiled])


def _inner_products(backbone: Backbone) -> Decisions:
    """Return decisions about sums that other sums read: their tiles are shared by the same threads, as the others'."""
    found: Decisions = {}
    for each in backbone.instructions:
        for name in each.dimensions if each.reduced else ():
            level, own = backbone.dimension[name].level, name.count(".") > 1
            if own and name in each.reduced:
                found[f"dim_kind({name})"] = "LOOP"
            elif own:
                found[f"dim_kind({name})"] = "THREAD" if level == 1 else "UNROLL"
    return found


def _coalesced(backbone: Backbone, tiled: list[str]) -> Decisions:
    """Return decisions about loads and stores: neighbouring threads touch neighbouring elements."""
    found: Decisions = {}
    innermost = _innermost(backbone, tiled)
    if len(tiled) == 2 and innermost is not None:
        outer = next(name for name in tiled if name != innermost)
        found[f"thread_level({outer}.1, {innermost}.1)"] = "OUTER"
    for each in backbone.instructions:
        if each.operator == "load" and each.address is not None:
            contiguous = [axis for axis, stride in each.address.strides if abs(stride) == 1]
            for axis in contiguous:
                found[f"dim_kind({each.name}.{axis}.1)"] = "THREAD"
                if innermost is not None:
                    found[f"thread_level({each.name}.{axis}.1, {innermost}.1)"] = "MAPPED"
    return found


def _innermost(backbone: Backbone, tiled: list[str]) -> str | None:
    """Return the tiled axis along which the output is contiguous, else the first."""
    store = next(each for each in backbone.instructions if each.operator == "store")
    assert store.address is not None
    strides = {axis: abs(stride) for axis, stride in store.address.strides if axis in tiled}
    return min(strides, key=lambda axis: strides[axis], default=None)


def _nearest(sizes: tuple[int, ...], wanted: int) -> int:
    return min(sizes, key=lambda size: abs(size - wanted))


def _sketched(candidate: Candidate, sketch: Mapping[str, str | int]) -> Candidate:
    """Return the candidate with as much of a sketch as is possible together, in its order."""
    for name, value in sketch.items():
        try:
            candidate = candidate.restrict(name, value)
        except EinloomError:
            continue
    return candidate
