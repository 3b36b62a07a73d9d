"""Forward pass of a convolution with fused bias and ReLU, as seven loops that one string instantiates.

    python examples/conv_fwd.py Abcdefg 28 14 14 64 64 3 3 1 1 1 1 32 32 1 1 1 1 1 0 400

The arguments: the loop string (a = N, b = C, c = K, d = rows, e = columns of the output, f = R, g = S; the sum is over
b, f and g), then the numbers of `convolution.Layer` in their order. What follows is the original's, and not needed.
"""

from __future__ import annotations

import sys
import timeit
from itertools import product

import numpy as np
from aligned import empty, uniform
from convolution import Layer

import einloom as el
from einloom.loops.blockings import blocked_specs


def main(string: str, *numbers: str) -> float:
    """Run, check, and print the rate; return the largest error beside float64, relative to the largest element."""
    x = Layer(*map(int, numbers[:18]))
    depth, width = x.blocks_in // x.c_parts, x.out_w // x.w_parts
    steps = {"a": (x.n, 1), "b": (x.blocks_in, depth), "c": (x.blocks_out, 1), "d": (x.out_h, 1), "e": (x.out_w, width)}
    specs = blocked_specs(string.split("@")[0], steps | {"f": (x.r, x.r), "g": (x.s, x.s)})
    print(*(f"{letter}: {spec}" for letter, spec in zip("abcdefg", specs)), sep="\n")
    loop = el.ThreadedLoop(specs, string)
    taps = list(product(range(depth), range(x.r), range(x.s)))

    @loop.body
    def forward(a, b, c, d, e, f, g, X, W, Y, bias):
        out = Y[a, c, d, e : e + width]
        with el.when((b == 0) & (f == 0) & (g == 0)):
            el.tpp.zero(out)
        column = [e * x.sw + g + s for _, _, s in taps]
        rows = [X[a, b + i, d * x.sh + f + r] for i, r, _ in taps]
        el.tpp.brgemm(
            [W[c, b + i, f + r, g + s] for i, r, s in taps],
            [row[place : place + width * x.sw : x.sw] for row, place in zip(rows, column)],
            out,
        )
        with el.when((b + depth >= x.blocks_in) & (f + x.r >= x.r) & (g + x.s >= x.s)):
            el.tpp.add(out, bias[c], out)
            el.tpp.relu(out)

    rng = np.random.default_rng(0)
    images, filters = (uniform(rng, shape) for shape in x.shapes[:2])
    bias, result = uniform(rng, (x.blocks_out, x.bk)), empty(x.shapes[2])

    def run() -> None:
        forward(X=images, W=filters, Y=result, bias=bias)

    run()
    seen = x.windows(images.astype(float))
    plain = np.einsum("nchwdrs,kcrsde->nkhwe", seen, filters.astype(float), optimize=True)
    plain = np.maximum(plain + bias[:, None, None], 0)
    error = float(np.abs(result - plain).max() / np.abs(plain).max())
    rate = 1e-9 * x.flops / min(timeit.repeat(run, number=1, repeat=10))
    print(f"{string}: {rate:.1f} GFLOP/s, {loop.nest.threads} threads, error {error:.2g}")
    return error


if __name__ == "__main__":
    main(*sys.argv[1:])
