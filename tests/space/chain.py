"""The product of three matrices, whose first product another one reads: what the tests use beside the kernels."""

from __future__ import annotations

from einloom.space import K4000, Builder, GpuDevice, Kernel, Space
from einloom.space.tilings import tile_sizes


def chain(m: int, n: int, k: int, p: int, tiles: dict[str, tuple[int, ...]], device: GpuDevice = K4000) -> Space:
    """Return the space of D[m,p] = sum over n of (sum over k of A[m,k] B[k,n]) E[n,p]."""
    b = Builder("chain")
    sizes = {"m": m, "n": n, "k": k, "p": p}
    i, j, inner, q = (b.axis(name, size, *tile_sizes(size, tiles.get(name, ()))) for name, size in sizes.items())
    left, right, last = b.load(b.input("A", i, inner)), b.load(b.input("B", inner, j)), b.load(b.input("E", j, q))
    start = b.nest("init_first", i, j).apply("move", 0.0)
    first = b.nest("first", i, j, inner).reduce("mad", left, right, start=start)
    start = b.nest("init", i, q).apply("move", 0.0)
    b.store(b.output("D", i, q), b.nest("main", i, j, q).reduce("mad", first, last, start=start))
    return Space(Kernel(b.backbone(), lambda v: {"D": v["A"] @ v["B"] @ v["E"]}), device)
