"""A chain of fully connected layers, x := relu(W x + bias), as three loops that one string instantiates.

    python examples/gemm_forward.py aCBc 2048 2048 2048 32 32 32 2 1 400

The arguments: the loop string (a = K, b = M, c = N), M, N, K, the blocks bm, bn, bk, into how many parts the sum is
cut, how many layers (with more than one M has to be K: each layer's output is the next one's input), how many runs.
With USE_BF16=1 all is bfloat16, W in pairs along k; sums are float32 inside a part.
"""

from __future__ import annotations

import numpy as np
from sample import Work, block_count, empty, grouped, integers, is_narrow, report, uniform

import einloom as el
from einloom.loops.blockings import blocked_specs, whole_parts


def build(string: str, *numbers: str) -> Work:
    """Return the work that the arguments describe."""
    m, n, k, bm, bn, bk, parts, layers, iterations = integers(numbers, "M N K bm bn bk parts layers runs")
    rows, columns, depth = block_count(m, bm), block_count(n, bn), block_count(k, bk)
    bounds = {"a": (depth, depth // whole_parts(depth, parts)), "b": (rows, 1), "c": (columns, 1)}
    specs = blocked_specs(string, bounds)
    loop = el.ThreadedLoop(specs, string)
    step, narrow = specs[0].step, is_narrow()

    @loop.body
    def layer(a, b, c, W, X, Y, bias):
        total = el.tpp.scratch((bn, bm)) if narrow else Y[c, b]
        if narrow:
            with el.when(a > 0):
                el.tpp.copy(Y[c, b], total)
        with el.when(a == 0):
            el.tpp.zero(total)
        el.tpp.brgemm(W[b, a], X[c, a], total, batch=step)
        with el.when(a + step >= depth):
            el.tpp.add(total, bias[b], total)
            el.tpp.relu(total)
        if narrow:
            el.tpp.copy(total, Y[c, b])

    rng = np.random.default_rng(0)
    weights, bias = uniform(rng, (layers, rows, depth, bk, bm)), uniform(rng, (layers, rows, bm))
    weights /= np.sqrt(k).astype(weights.dtype)
    first, stored = uniform(rng, (columns, depth, bn, bk)), grouped(weights)
    pair = [empty((columns, rows, bn, bm)) for _ in range(2)]  # One is read while the other is written.

    def forward() -> None:
        source = first
        for number in range(layers):
            target = pair[number % 2]
            layer(W=stored[number], X=source, Y=target, bias=bias[number])
            source = target

    def truth() -> np.ndarray:
        plain = first.transpose(0, 2, 1, 3).reshape(n, k).astype(float)
        for matrix, offsets in zip(weights.astype(float), bias.astype(float)):
            plain = np.maximum(plain @ matrix.transpose(1, 2, 0, 3).reshape(k, m) + offsets.ravel(), 0)
        return plain.reshape(columns, bn, rows, bm).transpose(0, 2, 1, 3)

    return Work(loop, 2.0 * m * n * k * layers, forward, iterations, pair[(layers - 1) % 2], truth)


if __name__ == "__main__":
    report(build)
