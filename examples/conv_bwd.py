"""Backward by data of a convolution, as seven loops that one string instantiates.

    python examples/conv_bwd.py Acbdefg 28 14 14 64 64 3 3 1 1 1 1 32 32 1 1 1 1 1 0 400

The arguments are those of conv_fwd.py; the sum is over c, K, and over all outputs that saw a pixel: neighbouring rows
d, and taps f and g, add to the same gradients, so loops over images and input channels are the parallel ones. With
USE_BF16=1 all is bfloat16, W in pairs along K, and the gradients are float32 until all is added.
"""

from __future__ import annotations

import sys

import numpy as np
from convolution import Layer
from sample import empty, is_narrow, report, uniform

import einloom as el
from einloom.loops.blockings import blocked_specs


def main(string: str, *numbers: str) -> float:
    """Run, check, and print the rate; return the largest error beside float64, relative to the largest element."""
    x = Layer(*map(int, numbers[:18]))
    width, depth = x.out_w // x.w_parts, x.blocks_out
    steps = {"a": (x.n, 1), "b": (x.blocks_in, 1), "c": (depth, depth), "d": (x.out_h, 1), "e": (x.out_w, width)}
    specs = blocked_specs(string, steps | {"f": (x.r, 1), "g": (x.s, 1)})
    print(*(f"{letter}: {spec}" for letter, spec in zip("abcdefg", specs)), sep="\n")
    loop = el.ThreadedLoop(specs, string)

    @loop.body
    def backward(a, b, c, d, e, f, g, dY, V, dX):
        column = e * x.sw + g
        seen = dX[a, b, d * x.sh + f, column : column + width * x.sw : x.sw]
        el.tpp.brgemm(V[c, b, f, g], dY[a, c, d, e : e + width], seen, batch=depth)

    loops = [el.LoopSpec(0, bound) for bound in (x.blocks_out, x.blocks_in, x.r, x.s)]

    @el.ThreadedLoop(loops, "ABcd").body
    def turn(a, b, c, d, W, V):
        (el.tpp.interleave if is_narrow() else el.tpp.copy)(W[a, b, c, d].T, V[a, b, c, d])

    @el.ThreadedLoop([el.LoopSpec(0, x.n), el.LoopSpec(0, x.blocks_in)], "AB").body
    def narrow(a, b, S, dX):
        for row in range(dX.shape[2]):
            el.tpp.copy(S[a, b, row], dX[a, b, row])

    rng = np.random.default_rng(0)
    padded, shape, out = x.shapes
    filters, gradient, result = uniform(rng, shape), uniform(rng, out), empty(padded)
    turned = empty((*shape[:4], x.bk // 2, x.bc, 2) if is_narrow() else (*shape[:4], x.bk, x.bc))
    sums = empty(padded, "float32") if is_narrow() else result

    def run() -> None:
        turn(W=filters, V=turned)
        sums.fill(0)
        backward(dY=gradient, V=turned, dX=sums)
        if is_narrow():
            narrow(S=sums, dX=result)

    run()
    plain = np.zeros(padded)
    for f in range(x.r):
        for g in range(x.s):
            term = np.einsum("nkhwe,kcde->nchwd", gradient.astype(float), filters[:, :, f, g].astype(float))
            x.windows(plain)[..., f, g] += term
    return report(loop, x.flops, run, int((*numbers[19:20], "10")[0]), result, plain)


if __name__ == "__main__":
    main(*sys.argv[1:])
