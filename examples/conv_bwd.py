"""Backward by data of a convolution, as seven loops that one string instantiates.

    python examples/conv_bwd.py Acbdefg 28 14 14 64 64 3 3 1 1 1 1 32 32 1 1 1 1 1 0 400

The arguments are those of conv_fwd.py; the sum is over c, K, and over all outputs that saw a pixel: neighbouring rows
d, and taps f and g, add to the same gradients, so loops over images and input channels are the parallel ones.
"""

from __future__ import annotations

import sys
import timeit

import numpy as np
from aligned import empty, uniform
from convolution import Layer

import einloom as el
from einloom.loops.blockings import blocked_specs


def main(string: str, *numbers: str) -> float:
    """Run, check, and print the rate; return the largest error beside float64, relative to the largest element."""
    x = Layer(*map(int, numbers[:18]))
    width, depth = x.out_w // x.w_parts, x.blocks_out
    steps = {"a": (x.n, 1), "b": (x.blocks_in, 1), "c": (depth, depth), "d": (x.out_h, 1), "e": (x.out_w, width)}
    specs = blocked_specs(string.split("@")[0], steps | {"f": (x.r, 1), "g": (x.s, 1)})
    print(*(f"{letter}: {spec}" for letter, spec in zip("abcdefg", specs)), sep="\n")
    loop = el.ThreadedLoop(specs, string)

    @loop.body
    def backward(a, b, c, d, e, f, g, dY, V, dX):
        column = e * x.sw + g
        seen = dX[a, b, d * x.sh + f, column : column + width * x.sw : x.sw]
        el.tpp.brgemm(V[c, b, f, g], dY[a, c, d, e : e + width], seen, batch=depth)

    rng = np.random.default_rng(0)
    padded, shape, out = x.shapes
    filters, gradient, result = uniform(rng, shape), uniform(rng, out), empty(padded)
    turned = empty((*shape[:4], x.bk, x.bc))

    def run() -> None:
        turned[...] = filters.swapaxes(-1, -2)
        result.fill(0)
        backward(dY=gradient, V=turned, dX=result)

    run()
    plain = np.zeros(padded)
    for f in range(x.r):
        for g in range(x.s):
            term = np.einsum("nkhwe,kcde->nchwd", gradient.astype(float), filters[:, :, f, g].astype(float))
            x.windows(plain)[..., f, g] += term
    error = float(np.abs(result - plain).max() / np.abs(plain).max())
    rate = 1e-9 * x.flops / min(timeit.repeat(run, number=1, repeat=10))
    print(f"{string}: {rate:.1f} GFLOP/s, {loop.nest.threads} threads, error {error:.2g}")
    return error


if __name__ == "__main__":
    main(*sys.argv[1:])
