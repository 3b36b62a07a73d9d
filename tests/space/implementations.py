"""Implementations written by hand, and the meaning of nests: what the tests of the space share."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.lib.stride_tricks import as_strided

from einloom.ir.interpret import interpret_nest
from einloom.ir.memory import Memory
from einloom.ir.nest import Nest
from einloom.space.backbone import Backbone
from einloom.space.kernels import Kernel


def relation(a: tuple[int, int], b: tuple[int, int]) -> str | None:
    """Return how two intervals stand to each other; None if they overlap without nesting."""
    if a == b:
        return "MERGED"
    if a[1] <= b[0]:
        return "BEFORE"
    if b[1] <= a[0]:
        return "AFTER"
    if a[0] <= b[0] and b[1] <= a[1]:
        return "OUTER"
    return "INNER" if b[0] <= a[0] and a[1] <= b[1] else None


def orders(tree: list) -> dict[str, str]:
    """Return the orders of a tree: a loop is (names of its dimensions, [children]), an instruction a name."""
    intervals: dict[str, tuple[int, int]] = {}
    clock = iter(range(10**6))

    def walk(nodes: list) -> None:
        for node in nodes:
            start = next(clock)
            if isinstance(node, tuple):
                walk(node[1])
            end = next(clock)
            for name in node[0] if isinstance(node, tuple) else (node,):
                intervals[name] = (start, end)

    walk(tree)
    return {f"order({a}, {b})": str(relation(intervals[a], intervals[b])) for a, b in combinations(intervals, 2)}


def assignment(backbone: Backbone, tree: list, kinds: dict[str, str], sizes: dict[tuple[str, int], int]) -> dict:
    """Return a full assignment without threads and temporaries: loops, unrolled loops and blocks."""
    found: dict[str, str | int] = dict(orders(tree))
    for d in backbone.dimensions:
        found[f"dim_kind({d.name})"] = kinds.get(d.name, "LOOP")
        if d.static:
            found[f"size({d.name})"] = sizes[d.axis, d.level]
    static = [d.name for d in backbone.dimensions if d.static]
    found |= {f"thread_level({a}, {b})": "NOT_THREADS" for a, b in combinations(static, 2)}
    for each in backbone.instructions:
        for result in each.results:
            for source, target in result.mapping:
                merged = found.get(f"order({source}, {target})") == "MERGED"
                merged |= found.get(f"order({target}, {source})") == "MERGED"
                found[f"dim_mapping({source}, {target})"] = "FUSED" if merged else "UNROLLED"
        if each.address:
            found[f"cache({each.name})"] = "NONE"
    found |= {f"mem_space({region.name})": "GLOBAL" for region in backbone.regions}
    for axis in backbone.axes:
        tiling = 1
        for (name, _), size in sizes.items():
            tiling *= size if name == axis.name else 1
        found[f"tiling({axis.name})"] = tiling
        found[f"tail({axis.name})"] = "PREDICATED" if axis.size % tiling else "EXACT"
    return found


class Meaning:
    """A kernel's operands with small whole numbers, its meaning on them, and a comparison with nests."""

    def __init__(self, kernel: Kernel, seed: int = 0) -> None:
        random = np.random.default_rng(seed)
        self.kernel = kernel
        self.buffers: dict[str, np.ndarray] = {}
        values: dict[str, object] = {}
        for region in kernel.backbone.regions:
            buffer = random.integers(-4, 5, kernel.backbone.extent(region)).astype(float)
            self.buffers[region.name] = buffer
            values[region.name] = self.view(region.name, buffer)
        for position, name in enumerate(kernel.backbone.parameters):
            values[name] = float(position + 2)
            self.buffers[name] = np.array([values[name]])
        self.expected = kernel.meaning(values)

    def view(self, name: str, buffer: np.ndarray) -> np.ndarray:
        """Return an operand's buffer as an array with one dimension per axis."""
        region = self.kernel.backbone.region[name]
        sizes = tuple(self.kernel.backbone.axis[axis].size for axis in region.axes)
        return as_strided(buffer, sizes, tuple(buffer.itemsize * stride for stride in region.strides))

    def is_that_of(self, nest: Nest) -> bool:
        """Whether a nest computes exactly the kernel's outputs (whole numbers: no rounding)."""
        buffers = {name: buffer.copy() for name, buffer in self.buffers.items()}
        for name in self.expected:
            buffers[name][:] = np.nan
        interpret_nest(nest, [Memory(buffers[operand.name]) for operand in nest.operation.operands])
        return all(np.array_equal(self.view(name, buffers[name]), value) for name, value in self.expected.items())
