"""Backward by weights of a convolution, as seven loops that one string instantiates.

    python examples/conv_upd.py CBadefg 28 14 14 64 64 3 3 1 1 1 1 32 32 1 1 1 1 1 0 400

The arguments are those of conv_fwd.py. The sum is over images a, rows d and columns e of the output, so loops over
blocks of channels b and c, and over taps f, are the parallel ones. A row of the output is one sum of a product, for all
taps g of a row at once. With USE_BF16=1 all is bfloat16, turned upfront into pairs of pixels; sums are float32.
"""

from __future__ import annotations

import numpy as np
from convolution import Layer
from sample import Work, empty, is_narrow, report, uniform

import einloom as el
from einloom.loops.blockings import blocked_specs


def build(string: str, *numbers: str) -> Work:
    """Return the work that the arguments describe."""
    x, narrow = Layer.of(numbers), is_narrow()
    width, rows, parts = x.out_w // x.w_parts, x.out_h, x.w_parts
    steps = {"a": (x.n, 1), "b": (x.blocks_in, 1), "c": (x.blocks_out, 1), "d": (rows, rows), "e": (parts, 1)}
    specs = blocked_specs(string, steps | {"f": (x.r, 1), "g": (x.s, x.s)})
    loop = el.ThreadedLoop(specs, string)

    @loop.body
    def update(a, b, c, d, e, f, g, X, dY, dW):
        target = dW[c, b, f]
        with el.when((a == 0) & (d == 0) & (e == 0)):
            el.tpp.zero(target)
        given = [dY[a, c, d + i, e] for i in range(rows)]
        seen = [X[a, b, (d + i) * x.sh + f, e] for i in range(rows)]
        el.tpp.brgemm(given, seen if narrow else [each.T for each in seen], target)

    every = [el.LoopSpec(0, bound) for bound in (x.n, max(x.blocks_in, x.blocks_out), x.h + 2 * x.ph, parts)]

    @el.ThreadedLoop(every, "ABcd").body
    def turn(a, b, c, d, X, dY, T, G):
        with el.when(b < x.blocks_in):
            el.tpp.copy(X[a, b, c, d].T, T[a, b, c, d, :, :width])
        with el.when((b < x.blocks_out) & (c < rows)):
            el.tpp.interleave(dY[a, b, c, d], G[a, b, c, d])

    @el.ThreadedLoop([el.LoopSpec(0, bound) for bound in (x.blocks_out, x.blocks_in, x.r)], "ABc").body
    def rounded(a, b, c, S, dW):
        el.tpp.copy(S[a, b, c], dW[a, b, c])

    rng = np.random.default_rng(0)
    padded, shape, out = x.shapes
    images, gradient, result = uniform(rng, padded), uniform(rng, out), empty(shape)
    seen = x.lines(images)
    given = {"X": seen.reshape(*seen.shape[:3], parts, width, -1), "dY": gradient.reshape(*out[:3], parts, width, -1)}
    even = width + width % 2
    turned = empty((*padded[:3], parts, x.s * x.bc, even)), empty((*out[:3], parts, even // 2, x.bk, 2))
    for each in turned:
        each[...] = 0  # An odd row's last pair is half of zeros.
    target = result.reshape(*shape[:3], x.s * x.bc, x.bk)
    sums = empty(target.shape, "float32") if narrow else target

    def run() -> None:
        if narrow:
            turn(**given, T=turned[0], G=turned[1])
        update(**({"X": turned[0], "dY": turned[1]} if narrow else given), dW=sums)
        if narrow:
            rounded(S=sums, dW=target)

    def truth() -> np.ndarray:
        windows = x.windows(images.astype(float))
        return np.einsum("nchwdrs,nkhwe->kcrsde", windows, gradient.astype(float), optimize=True)

    return Work(loop, x.flops, run, int((*numbers[19:20], "10")[0]), result, truth)


if __name__ == "__main__":
    report(build)
