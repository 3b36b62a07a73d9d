"""Backward by weights of a convolution, as seven loops that one string instantiates.

    python examples/conv_upd.py CBadefg 28 14 14 64 64 3 3 1 1 1 1 32 32 1 1 1 1 1 0 400

The arguments are those of conv_fwd.py. The sum is over images a, rows d and columns e of the output, so loops over
blocks of channels b and c, and over taps f and g, are the parallel ones. A row of the output is one sum of a product.
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
    width, rows = x.out_w // x.w_parts, x.out_h
    steps = {"a": (x.n, 1), "b": (x.blocks_in, 1), "c": (x.blocks_out, 1), "d": (rows, rows), "e": (x.out_w, width)}
    specs = blocked_specs(string.split("@")[0], steps | {"f": (x.r, 1), "g": (x.s, 1)})
    print(*(f"{letter}: {spec}" for letter, spec in zip("abcdefg", specs)), sep="\n")
    loop = el.ThreadedLoop(specs, string)

    @loop.body
    def update(a, b, c, d, e, f, g, X, dY, dW):
        target, column = dW[c, b, f, g], e * x.sw + g
        with el.when((a == 0) & (d == 0) & (e == 0)):
            el.tpp.zero(target)
        seen = [X[a, b, (d + i) * x.sh + f, column : column + width * x.sw : x.sw].T for i in range(rows)]
        el.tpp.brgemm([dY[a, c, d + i, e : e + width] for i in range(rows)], seen, target)

    rng = np.random.default_rng(0)
    padded, shape, out = x.shapes
    images, gradient, result = uniform(rng, padded), uniform(rng, out), empty(shape)

    def run() -> None:
        update(X=images, dY=gradient, dW=result)

    run()
    seen = x.windows(images.astype(float))
    plain = np.einsum("nchwdrs,nkhwe->kcrsde", seen, gradient.astype(float), optimize=True)
    error = float(np.abs(result - plain).max() / np.abs(plain).max())
    rate = 1e-9 * x.flops / min(timeit.repeat(run, number=1, repeat=10))
    print(f"{string}: {rate:.1f} GFLOP/s, {loop.nest.threads} threads, error {error:.2g}")
    return error


if __name__ == "__main__":
    main(*sys.argv[1:])
