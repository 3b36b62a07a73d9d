"""The device's side of the checker: kinds of loops, threads, blocks, vectors and memory against a GPU's limits."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import prod

from einloom.space.assignment import Assignment
from einloom.space.backbone import Instruction, Temporary
from einloom.space.device import GpuDevice
from einloom.space.forest import Forest, FusedLoop

__all__ = ["hardware_violations"]


def hardware_violations(assignment: Assignment, loops: Forest, device: GpuDevice) -> Iterator[str]:
    """Yield what the device cannot do about an implementation, one sentence each."""
    around = loops.outside()
    yield from _kinds(assignment, around, device)
    yield from _blocks(assignment, around, device)
    yield from _thread_levels(assignment, around, device)
    yield from _memory(assignment, device)
    for temporary in assignment.temporaries:
        yield from _temporary(assignment, temporary, around)


def _kinds(assignment: Assignment, around: dict[str, tuple[FusedLoop, ...]], device: GpuDevice) -> Iterator[str]:
    for name, dimension in assignment.dimensions.items():
        kind = assignment.kind(name)
        if kind in ("UNROLL", "VECTOR", "THREAD") and not dimension.static:
            yield f"{name} is {kind}, but its extent is no constant"
        if kind in ("THREAD", "BLOCK") and not dimension.parallel:
            yield f"{name} is {kind}, but a reduction runs along it"
        if kind == "VECTOR":
            yield from _vector(assignment, name, around, device)
    for name, outer in around.items():
        kinds = [assignment.kind(loop.name) for loop in outer]
        if name in assignment.dimensions:
            kinds.append(assignment.kind(name))
        for outside, inside in pairwise(kinds):
            if outside == "UNROLL" and inside not in ("UNROLL", "VECTOR"):
                yield f"a {inside} loop around {name} stands inside an unrolled one"
            if outside == "VECTOR":
                yield f"a {inside} loop around {name} stands inside a vector"
        threads = [position for position, kind in enumerate(kinds) if kind == "THREAD"]
        if threads and len(threads) != threads[-1] - threads[0] + 1:
            yield f"the thread loops around {name} are not adjacent"
    for name in assignment.instructions:
        copies = prod(assignment.extent(loop.name) for loop in around[name] if assignment.kind(loop.name) == "UNROLL")
        if copies > device.max_unroll:
            yield f"{name} is unrolled {copies} times"


def _vector(
    assignment: Assignment, name: str, around: dict[str, tuple[FusedLoop, ...]], device: GpuDevice
) -> Iterator[str]:
    inside = [other for other, loops in around.items() if any(name in loop.dimensions for loop in loops)]
    memory = assignment.instructions.get(inside[0]) if len(inside) == 1 else None
    if memory is None or memory.address is None or name not in memory.dimensions:
        yield f"vector {name} holds {', '.join(inside) or 'nothing'} instead of one load or store of its own"
        return
    width, axis = assignment.extent(name), assignment.backbone.axis[assignment.dimensions[name].axis]
    if width not in device.vector_widths:
        yield f"vector {name} has {width} elements"
    if axis.size % assignment.tiling(axis.name):
        yield f"vector {name} may stick out of axis {axis.name}"
    if memory.address.region in (temporary.region.name for temporary in assignment.temporaries):
        return
    if dict(_steps(assignment, memory))[name] != 1:
        yield f"the elements of vector {name} are not adjacent in {memory.address.region}"
    for other, step in _steps(assignment, memory):
        if other != name and step % width:
            yield f"vector {name} is not aligned: {other} moves by {step} elements"


def _steps(assignment: Assignment, memory: Instruction) -> Iterator[tuple[str, int]]:
    """Yield how far one iteration of each dimension moves a load or store, in elements."""
    assert memory.address is not None
    strides = dict(memory.address.strides)
    for name in memory.dimensions:
        dimension = assignment.dimensions[name]
        inner = [other for other in memory.dimensions if assignment.dimensions[other].axis == dimension.axis]
        deeper = [other for other in inner if assignment.dimensions[other].level > dimension.level]
        yield name, strides[dimension.axis] * prod(assignment.extent(other) for other in deeper)


def _blocks(assignment: Assignment, around: dict[str, tuple[FusedLoop, ...]], device: GpuDevice) -> Iterator[str]:
    kinds = assignment.kind
    grids = {tuple(loop for loop in around[name] if kinds(loop.name) == "BLOCK") for name in assignment.instructions}
    if len(grids) > 1:
        yield "a block loop does not enclose the whole kernel"
    for name, outer in around.items():
        if name in assignment.dimensions and kinds(name) == "BLOCK" and any(kinds(o.name) != "BLOCK" for o in outer):
            yield f"block loop {name} stands inside another loop"
    for grid in grids:
        if len(grid) > device.max_block_levels:
            yield f"the grid of blocks has {len(grid)} dimensions"
        extents = sorted((assignment.extent(loop.name) for loop in grid), reverse=True)
        for extent, limit in zip(extents, (device.max_blocks[0], *[device.max_blocks[1]] * 2)):
            if extent > limit:
                yield f"a dimension of the grid of blocks has extent {extent}"


def _thread_levels(
    assignment: Assignment, around: dict[str, tuple[FusedLoop, ...]], device: GpuDevice
) -> Iterator[str]:
    static = [name for name, dimension in assignment.dimensions.items() if dimension.static]
    threads = [name for name in static if assignment.kind(name) == "THREAD"]
    level = {
        name: sum(_level(assignment, name, other) == "INNER" for other in static if other != name) for name in threads
    }
    for i, a in enumerate(static):
        for b in static[i + 1 :]:
            both = a in level and b in level
            expected = "NOT_THREADS"
            if both:
                expected = "MAPPED" if level[a] == level[b] else "INNER" if level[a] > level[b] else "OUTER"
            if _level(assignment, a, b) != expected:
                yield f"thread_level({a}, {b}) is {_level(assignment, a, b)}, but the others make it {expected}"
            if expected == "MAPPED" and assignment.extent(a) != assignment.extent(b):
                yield f"{a} and {b} map to one hardware dimension and have different sizes"
            if expected in ("INNER", "OUTER") and assignment.order(a, b) == "MERGED":
                yield f"{a} and {b} are one thread loop and map to two hardware dimensions"
    for name in threads:
        for loop in around[name]:
            if assignment.kind(loop.name) == "THREAD" and level.get(loop.name, -1) >= level[name]:
                yield f"thread loop {name} stands inside {loop.name}, which maps to no outer hardware dimension"
    extents = [assignment.extent(name) for _, name in sorted({v: k for k, v in level.items()}.items())]
    if len(extents) > device.max_thread_levels:
        yield f"a block of threads has {len(extents)} dimensions"
    if prod(extents) > device.max_threads:
        yield f"a block has {prod(extents)} threads"
    for extent, limit in zip(reversed(extents), device.max_thread_extents):
        if extent > limit:
            yield f"a dimension of a block of threads has extent {extent}"


def _level(assignment: Assignment, a: str, b: str) -> str:
    return str(assignment.value("thread_level", a, b))


def _memory(assignment: Assignment, device: GpuDevice) -> Iterator[str]:
    written = {
        each.address.region for each in assignment.instructions.values() if each.address and each.operator == "store"
    }
    for region in assignment.regions.values():
        space = assignment.value("mem_space", region.name)
        temporary = region.role == "temporary"
        allowed = {"GLOBAL"} if not temporary else {"GLOBAL", "SHARED"} if device.global_temporaries else {"SHARED"}
        if space not in allowed:
            yield f"{region.name} lies in {space} memory"
    for each in assignment.instructions.values():
        if each.address:
            cache = assignment.value("cache", each.name)
            shared = assignment.value("mem_space", each.address.region) == "SHARED"
            read_only = each.operator == "load" and each.address.region not in written
            allowed = ("NONE",) if shared else ("L1", "L2", "READ_ONLY", "NONE") if read_only else ("L2", "NONE")
            if cache not in allowed:
                yield f"{each.name} cannot use cache {cache}"
    total = 0
    for temporary in assignment.temporaries:
        if assignment.value("mem_space", temporary.region.name) == "SHARED":
            stored = [pair for pair in temporary.pairs if assignment.order(*pair) != "MERGED"]
            total += device.element_bytes * prod(assignment.extent(pair[0]) for pair in stored)
    if total > device.shared_bytes:
        yield f"temporary arrays take {total} bytes of shared memory"


def _temporary(assignment: Assignment, temporary: Temporary, around: dict[str, tuple[FusedLoop, ...]]) -> Iterator[str]:
    region = temporary.region.name
    for loop in around[temporary.store.name]:
        if loop in around[temporary.load.name] and assignment.kind(loop.name) == "THREAD":
            yield f"thread loop {loop.name} encloses both the store and the load of {region}"
    stored = [pair[0] for pair in temporary.pairs if assignment.order(*pair) != "MERGED"]
    all_stored = [pair[0] for pair in temporary.pairs]
    inner = {a: sum(assignment.value("layout", region, a, b) == "INNER" for b in stored if b != a) for a in stored}
    if sorted(inner.values()) != list(range(len(stored))):
        yield f"the layout of {region} is no order of its dimensions"
    for i, a in enumerate(all_stored):
        for b in all_stored[i + 1 :]:
            absent = a not in inner or b not in inner
            if (assignment.value("layout", region, a, b) == "ABSENT") != absent:
                yield f"layout({region}, {a}, {b}) does not fit what {region} stores"
    for pair in temporary.pairs:
        if "VECTOR" in (assignment.kind(pair[0]), assignment.kind(pair[1])) and inner.get(pair[0]) != len(stored) - 1:
            yield f"a vector along {pair[0]} is not contiguous in {region}"
