"""Backward by weights of a convolution, as seven loops that one string instantiates.

    python examples/conv_upd.py CBadefg 28 14 14 64 64 3 3 1 1 1 1 32 32 1 1 1 1 1 0 400

The arguments are those of conv_fwd.py. The sum is over images a, rows d and columns e of the output, so loops over
blocks of channels b and c, and over taps f and g, are the parallel ones. A row of the output is one sum of a product.
With USE_BF16=1 all is bfloat16; each thread turns the rows that it multiplies, and sums are float32.
"""

from __future__ import annotations

import numpy as np
from convolution import Layer
from sample import Work, empty, is_narrow, report, uniform

import einloom as el
from einloom.loops.blockings import blocked_specs


def build(string: str, *numbers: str) -> Work:
    """Return the work that the arguments describe."""
    x = Layer(*map(int, numbers[:18]))
    width, rows = x.out_w // x.w_parts, x.out_h
    even = width + width % 2
    steps = {"a": (x.n, 1), "b": (x.blocks_in, 1), "c": (x.blocks_out, 1), "d": (rows, rows), "e": (x.out_w, width)}
    specs = blocked_specs(string, steps | {"f": (x.r, 1), "g": (x.s, 1)})
    loop = el.ThreadedLoop(specs, string)

    @loop.body
    def update(a, b, c, d, e, f, g, X, dY, dW):
        target, column = dW[c, b, f, g], e * x.sw + g
        with el.when((a == 0) & (d == 0) & (e == 0)):
            el.tpp.zero(target)
        seen = [X[a, b, (d + i) * x.sh + f, column : column + width * x.sw : x.sw].T for i in range(rows)]
        given = [dY[a, c, d + i, e : e + width] for i in range(rows)]
        if is_narrow():
            pairs = el.tpp.scratch((rows, even // 2, x.bk, 2), dY.dtype)
            turned = el.tpp.scratch((rows, x.bc, even), dY.dtype)
            for i in range(rows):
                el.tpp.zero(turned[i])  # An odd row's last pair is half of zeros.
                el.tpp.copy(seen[i], turned[i, :, :width])
                el.tpp.interleave(given[i], pairs[i])
            el.tpp.brgemm(pairs, turned, target)
        else:
            el.tpp.brgemm(given, seen, target)

    rng = np.random.default_rng(0)
    padded, shape, out = x.shapes
    images, gradient, result = uniform(rng, padded), uniform(rng, out), empty(shape)
    sums = empty(shape, "float32") if is_narrow() else result

    def run() -> None:
        update(X=images, dY=gradient, dW=sums)
        if is_narrow():
            result[...] = sums

    def truth() -> np.ndarray:
        seen = x.windows(images.astype(float))
        return np.einsum("nchwdrs,nkhwe->kcrsde", seen, gradient.astype(float), optimize=True)

    return Work(loop, x.flops, run, int((*numbers[19:20], "10")[0]), result, truth)


if __name__ == "__main__":
    report(build)
