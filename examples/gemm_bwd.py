"""Backward by data of a fully connected layer, dX = W' dY, as three loops that one string instantiates.

    python examples/gemm_bwd.py bCAc 2048 4096 1024 32 32 32 4 0

The arguments: the loop string (a = K, b = M, c = N; the sum is over M), M, N, K, the blocks bm, bn, bk, into how many
parts the sum is cut, and whether each thread transposes the blocks of W that it needs (1) or all are upfront (0).
"""

from __future__ import annotations

import sys
import timeit

import numpy as np
from aligned import empty, uniform

import einloom as el
from einloom.loops.blockings import blocked_specs


def main(string: str, *numbers: str) -> float:
    """Run, check, and print the rate; return the largest error beside float64, relative to the largest element."""
    m, n, k, bm, bn, bk, parts, private = map(int, numbers[:8])
    rows, columns, depth = m // bm, n // bn, k // bk
    specs = blocked_specs(string.split("@")[0], {"a": (depth, 1), "b": (rows, rows // parts), "c": (columns, 1)})
    print(*(f"{letter}: {spec}" for letter, spec in zip("abc", specs)), sep="\n")
    loop = el.ThreadedLoop(specs, string)
    step = specs[1].step

    @loop.body
    def upfront(a, b, c, V, dY, dX):
        with el.when(b == 0):
            el.tpp.zero(dX[c, a])
        el.tpp.brgemm(V[a, b], dY[c, b], dX[c, a], batch=step)

    @loop.body
    def privately(a, b, c, W, dY, dX):
        with el.when(b == 0):
            el.tpp.zero(dX[c, a])
        transposed = el.tpp.scratch((step, bm, bk))
        for number in range(step):
            el.tpp.copy(W[b + number, a].T, transposed[number])
        el.tpp.brgemm(transposed, dY[c, b : b + step], dX[c, a])

    rng = np.random.default_rng(0)
    weights, gradient = uniform(rng, (rows, depth, bk, bm)), uniform(rng, (columns, rows, bn, bm))
    result, turned = empty((columns, depth, bn, bk)), empty((depth, rows, bm, bk))

    def backward() -> None:
        if private:
            privately(W=weights, dY=gradient, dX=result)
        else:
            turned[...] = weights.transpose(1, 0, 3, 2)
            upfront(V=turned, dY=gradient, dX=result)

    backward()
    error = difference(result, weights, gradient)
    seconds = min(timeit.repeat(backward, number=1, repeat=10))
    rate = 2e-9 * m * n * k / seconds
    print(f"{string}: {rate:.1f} GFLOP/s, {loop.nest.threads} threads, error {error:.2g}")
    return error


def difference(result: np.ndarray, weights: np.ndarray, gradient: np.ndarray) -> float:
    """Return the largest error, relative to the largest element."""
    plain = np.einsum("makl,cmnl->cank", weights.astype(float), gradient.astype(float), optimize=True)
    return float(np.abs(result - plain).max() / np.abs(plain).max())


if __name__ == "__main__":
    main(*sys.argv[1:])
