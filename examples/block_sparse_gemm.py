"""A product with a matrix of which many blocks are zero, Y = A X, as two loops that one string instantiates.

    python examples/block_sparse_gemm.py BA 2048 2048 2048 32 32 32 80 400

The arguments: the loop string (a = M, b = N), M, N, K, the blocks bm, bn, bk, how many per cent of the blocks of A are
zero, how many runs. The other blocks are stored one behind the other, by rows of blocks of the output (BCSC of the
transposed matrix). Where they are is a constant of the compiled body: another pattern compiles another one. With
USE_BF16=1 all is bfloat16, the blocks of A in pairs along k.
"""

from __future__ import annotations

import numpy as np
from sample import Work, block_count, empty, grouped, integers, is_narrow, report, uniform

import einloom as el
from einloom.loops.blockings import blocked_specs


def build(string: str, *numbers: str) -> Work:
    """Return the work that the arguments describe."""
    m, n, k, bm, bn, bk, zeros, iterations = integers(numbers, "M N K bm bn bk zeros? runs")
    rows, columns, depth = block_count(m, bm), block_count(n, bn), block_count(k, bk)
    rng = np.random.default_rng(0)
    pattern = rng.random((rows, depth)) * 100 >= zeros
    places = np.cumsum(pattern).reshape(pattern.shape) - 1  # Where the blocks lie among those that are not zero.
    specs = blocked_specs(string, {"a": (rows, 1), "b": (columns, 1)})
    loop = el.ThreadedLoop(specs, string)

    @loop.body
    def sparse(a, b, A, X, Y):
        total = el.tpp.scratch((bn, bm)) if is_narrow() else Y[b, a]
        el.tpp.zero(total)
        for row in range(rows):
            there = np.flatnonzero(pattern[row])
            if there.size:
                with el.when(a == row):
                    el.tpp.brgemm([A[places[row, j]] for j in there], [X[b, j] for j in there], total)
        if is_narrow():
            el.tpp.copy(total, Y[b, a])

    blocks = uniform(rng, (max(int(pattern.sum()), 1), bk, bm))
    inputs, result = uniform(rng, (columns, depth, bn, bk)), empty((columns, rows, bn, bm))
    stored = grouped(blocks)

    def run() -> None:
        sparse(A=stored, X=inputs, Y=result)

    def truth() -> np.ndarray:
        whole = np.zeros((rows, depth, bk, bm))
        whole[pattern] = blocks[: pattern.sum()]
        return np.einsum("makl,cank->cmnl", whole, inputs.astype(float), optimize=True)

    return Work(loop, 2.0 * int(pattern.sum()) * bm * bk * n, run, iterations, result, truth)


if __name__ == "__main__":
    report(build)
