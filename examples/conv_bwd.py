"""Backward by data of a convolution, as seven loops that one string instantiates.

    python examples/conv_bwd.py Acbdefg 28 14 14 64 64 3 3 1 1 1 1 32 32 1 1 1 1 1 0 400

The arguments are those of conv_fwd.py; the sum is over c = K and all outputs that saw a pixel: rows d and taps f and g
add to the same gradients, so loops over images a and input channels b are parallel. With USE_BF16=1 all is bfloat16.
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
    width, depth = x.out_w // x.w_parts, x.blocks_out
    steps = {"a": (x.n, 1), "b": (x.blocks_in, 1), "c": (depth, depth), "d": (x.out_h, 1), "e": (x.out_w, width)}
    specs = blocked_specs(string, steps | {"f": (x.r, 1), "g": (x.s, 1)})
    loop = el.ThreadedLoop(specs, string)

    alone = (x.r, x.s, x.sh, x.sw) == (1, 1, 1, 1)  # Then no two sums go to one pixel, and each pixel gets one.

    @loop.body
    def backward(a, b, c, d, e, f, g, dY, V, dX):
        column = e * x.sw + g
        seen = dX[a, b, d * x.sh + f, column : column + width * x.sw : x.sw]
        if alone:
            el.tpp.zero(seen)
        el.tpp.brgemm(V[c, b, f, g], dY[a, c, d, e : e + width], seen, batch=depth)

    loops = [el.LoopSpec(0, bound) for bound in (x.blocks_out, x.blocks_in, x.r, x.s)]

    @el.ThreadedLoop(loops, "ABcd").body
    def turn(a, b, c, d, W, V):
        (el.tpp.interleave if is_narrow() else el.tpp.copy)(W[a, b, c, d].T, V[a, b, c, d])

    images = el.ThreadedLoop([el.LoopSpec(0, x.n), el.LoopSpec(0, x.blocks_in)], "AB")

    @images.body
    def clear(a, b, dX):
        for row in range(dX.shape[2]):
            el.tpp.zero(dX[a, b, row])

    @images.body
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
        if not alone:
            clear(dX=sums)
        backward(dY=gradient, V=turned, dX=sums)
        if is_narrow():
            narrow(S=sums, dX=result)

    def truth() -> np.ndarray:
        plain = np.zeros(padded)
        for f, g in np.ndindex(x.r, x.s):
            term = np.einsum("nkhwe,kcde->nchwd", gradient.astype(float), filters[:, :, f, g].astype(float))
            x.windows(plain)[..., f, g] += term
        return plain

    return Work(loop, x.flops, run, int((*numbers[19:20], "10")[0]), result, truth)


if __name__ == "__main__":
    report(build)
