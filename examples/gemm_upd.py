"""Backward by weights of a fully connected layer, dW = dY X', as three loops that one string instantiates.

    python examples/gemm_upd.py cABa 2048 4096 1024 32 32 32 8 0 0

The arguments: the loop string (a = K, b = M, c = N; the sum is over N), M, N, K, the blocks bm, bn, bk, into how many
parts the sum is cut, whether operands are transposed privately (for bfloat16; float32 needs it never: 0), and how many
partial results there are: as many as threads, or as the ways of the grid, if N is parallel, else 0.
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
    m, n, k, bm, bn, bk, parts, private, partials = map(int, numbers[:9])
    rows, columns, depth = m // bm, n // bn, k // bk
    specs = blocked_specs(string.split("@")[0], {"a": (depth, 1), "b": (rows, 1), "c": (columns, columns // parts)})
    print(*(f"{letter}: {spec}" for letter, spec in zip("abc", specs)), sep="\n")
    loop = el.ThreadedLoop(specs, string)
    check(loop, private, partials)
    step = specs[2].step

    @loop.body
    def update(a, b, c, dY, X, P):
        target = P[loop.get_tid_in_parallel_dim("c") if partials else 0, b, a]
        el.tpp.brgemm(dY[c, b], X[c, a].T, target, batch=step)

    @el.ThreadedLoop([el.LoopSpec(0, depth), el.LoopSpec(0, rows)], "BA").body
    def gather(a, b, P, dW):
        el.tpp.copy(P[0, b, a], dW[b, a])
        for number in range(1, partials):
            el.tpp.add(dW[b, a], P[number, b, a], dW[b, a])

    rng = np.random.default_rng(0)
    gradient, inputs = uniform(rng, (columns, rows, bn, bm)), uniform(rng, (columns, depth, bn, bk))
    result = empty((rows, depth, bk, bm))
    partial = empty((partials, *result.shape)) if partials else result[None]

    def backward() -> None:
        partial.fill(0)
        update(dY=gradient, X=inputs, P=partial)
        if partials:
            gather(P=partial, dW=result)

    backward()
    plain = np.einsum("cmnl,cank->makl", gradient.astype(float), inputs.astype(float), optimize=True)
    error = float(np.abs(result - plain).max() / np.abs(plain).max())
    seconds = min(timeit.repeat(backward, number=1, repeat=10))
    rate = 2e-9 * m * n * k / seconds
    print(f"{string}: {rate:.1f} GFLOP/s, {loop.nest.threads} threads, error {error:.2g}")
    return error


def check(loop: el.ThreadedLoop, private: int, partials: int) -> None:
    """Refuse another number of partial results than the string asks for."""
    kind = int(loop.get_loop_par_type("c"))
    wanted = 0 if kind == 0 else loop.nest.threads if kind == 1 else loop.get_loop_parallel_degree("c")
    if partials != wanted:
        raise el.ScheduleError(f"{partials} partial results for {loop.nest.string}\n  Pass {wanted}.")
    if private:
        raise el.ScheduleError("private transposition is for bfloat16\n  Pass 0.")


if __name__ == "__main__":
    main(*sys.argv[1:])
