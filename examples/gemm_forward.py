"""A chain of fully connected layers, x := relu(W x + bias), as three loops that one string instantiates.

    python examples/gemm_forward.py aCBc 2048 2048 2048 32 32 32 2 1

The arguments: the loop string (a = K, b = M, c = N), M, N, K, the blocks bm, bn, bk, into how many parts the sum is
cut, and how many layers (with more than one M has to be K: each layer's output is the next one's input).
"""

from __future__ import annotations

import sys
import timeit

import numpy as np
from aligned import empty, uniform

import einloom as el
from einloom.loops.blockings import blocked_specs


def main(string: str, *numbers: str) -> float:
    """Run, check, and print the rate; return the largest error relative to what float32 allows."""
    m, n, k, bm, bn, bk, parts, layers = map(int, numbers)
    rows, columns, depth = m // bm, n // bn, k // bk
    specs = blocked_specs(string.split("@")[0], {"a": (depth, depth // parts), "b": (rows, 1), "c": (columns, 1)})
    print(*(f"{letter}: {spec}" for letter, spec in zip("abc", specs)), sep="\n")
    loop = el.ThreadedLoop(specs, string)
    step = specs[0].step

    @loop.body
    def layer(a, b, c, W, X, Y, bias):
        with el.when(a == 0):
            el.tpp.zero(Y[c, b])
        el.tpp.brgemm(W[b, a], X[c, a], Y[c, b], batch=step)
        with el.when(a + step >= depth):
            el.tpp.add(Y[c, b], bias[b], Y[c, b])
            el.tpp.relu(Y[c, b])

    rng = np.random.default_rng(0)
    weights, bias = uniform(rng, (layers, rows, depth, bk, bm)), uniform(rng, (layers, rows, bm))
    weights /= np.float32(np.sqrt(k))
    first = uniform(rng, (columns, depth, bn, bk))
    pair = [empty((columns, rows, bn, bm)) for _ in range(2)]  # One is read while the other is written.

    def forward() -> np.ndarray:
        source = first
        for number in range(layers):
            target = pair[number % 2]
            layer(W=weights[number], X=source, Y=target, bias=bias[number])
            source = target
        return source

    result = forward()
    error = difference(result, first, weights, bias)
    seconds = min(timeit.repeat(forward, number=1, repeat=10))
    print(
        f"{string}: {2e-9 * m * n * k * layers / seconds:.1f} GFLOP/s, {loop.nest.threads} threads, error {error:.2g}"
    )
    return error


def difference(result: np.ndarray, first: np.ndarray, weights: np.ndarray, bias: np.ndarray) -> float:
    """Return the largest error of the blocked result beside float64, relative to its largest element."""
    plain = first.transpose(0, 2, 1, 3).reshape(first.shape[0] * first.shape[2], -1).astype(float)
    for matrix, offsets in zip(weights.astype(float), bias):
        plain = np.maximum(plain @ matrix.transpose(1, 2, 0, 3).reshape(plain.shape[1], -1) + offsets.ravel(), 0)
    found = result.transpose(0, 2, 1, 3).reshape(plain.shape)
    return float(np.abs(found - plain).max() / np.abs(plain).max())


if __name__ == "__main__":
    main(*sys.argv[1:])
