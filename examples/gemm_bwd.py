"""Backward by data of a fully connected layer, dX = W' dY, as three loops that one string instantiates.

    python examples/gemm_bwd.py bCAc 2048 4096 1024 32 32 32 4 0 400

The arguments: the loop string (a = K, b = M, c = N; the sum is over M), M, N, K, the blocks bm, bn, bk, into how many
parts the sum is cut, whether each thread transposes the blocks of W that it needs (1), for all columns that it goes on
with, or all are upfront (0), how many runs. With USE_BF16=1 all is bfloat16, the transposed blocks in pairs along m.
"""

from __future__ import annotations

import numpy as np
from sample import Work, begins, block_count, empty, integers, is_narrow, report, uniform

import einloom as el
from einloom.loops.blockings import blocked_specs, whole_parts


def build(string: str, *numbers: str) -> Work:
    """Return the work that the arguments describe."""
    m, n, k, bm, bn, bk, parts, private, iterations = integers(numbers, "M N K bm bn bk parts private? runs")
    rows, columns, depth = block_count(m, bm), block_count(n, bn), block_count(k, bk)
    bounds = {"a": (depth, 1), "b": (rows, rows // whole_parts(rows, parts)), "c": (columns, 1)}
    specs = blocked_specs(string, bounds)
    loop = el.ThreadedLoop(specs, string)
    step, narrow = specs[1].step, is_narrow()
    block = (bm // 2, bk, 2) if narrow else (bm, bk)
    turn = el.tpp.interleave if narrow else el.tpp.copy

    @el.ThreadedLoop([el.LoopSpec(0, depth), el.LoopSpec(0, rows)], "AB").body
    def upfront(a, b, W, V):
        turn(W[b, a].T, V[a, b])

    @loop.body
    def product(a, b, c, W, dY, dX):
        total = el.tpp.scratch((bn, bk)) if narrow else dX[c, a]
        if narrow:
            with el.when(b > 0):
                el.tpp.copy(dX[c, a], total)
        with el.when(b == 0):
            el.tpp.zero(total)
        if private:
            transposed = el.tpp.scratch((depth, step, *block), dY.dtype)[a]
            with el.when(begins(loop, "c", "b", c)):
                for number in range(step):
                    turn(W[b + number, a].T, transposed[number])
            el.tpp.brgemm(transposed, dY[c, b : b + step], total)
        else:
            el.tpp.brgemm(W[a, b], dY[c, b], total, batch=step)
        if narrow:
            el.tpp.copy(total, dX[c, a])

    rng = np.random.default_rng(0)
    weights, gradient = uniform(rng, (rows, depth, bk, bm)), uniform(rng, (columns, rows, bn, bm))
    result, turned = empty((columns, depth, bn, bk)), empty((depth, rows, *block))

    def backward() -> None:
        if not private:
            upfront(W=weights, V=turned)
        product(W=weights if private else turned, dY=gradient, dX=result)

    def truth() -> np.ndarray:
        return np.einsum("makl,cmnl->cank", weights.astype(float), gradient.astype(float), optimize=True)

    return Work(loop, 2.0 * m * n * k, backward, iterations, result, truth)


if __name__ == "__main__":
    report(build)
