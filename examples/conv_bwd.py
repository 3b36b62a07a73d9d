"""Backward by data of a convolution, as seven loops that one string instantiates.

    python examples/conv_bwd.py Abcdefg 28 14 14 64 64 3 3 1 1 1 1 32 32 1 1 1 1 1 0 400

The arguments are those of conv_fwd.py. Each pixel sums over c = K and the taps f, g of all outputs that saw it: in
steps of 2 every second pixel was seen by the same taps, so loops d and e go over blocks of steps. The gradient of the
output has a frame of zeros, and pixels are written once. Filters are transposed upfront, or where the string begins
with the only parallel loop, B, by the thread that needs them. With USE_BF16=1 all is bfloat16.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from convolution import Layer
from sample import Work, empty, is_narrow, report, uniform

import einloom as el
from einloom.loops.blockings import blocked_specs, whole_parts


def build(string: str, *numbers: str) -> Work:
    """Return the work that the arguments describe."""
    x, narrow = Layer.of(numbers), is_narrow()
    height, length, depth = -(-x.h // x.sh), -(-x.w // x.sw), x.blocks_out
    width = length // whole_parts(length, x.w_parts)
    steps = {"a": (x.n, 1), "b": (x.blocks_in, 1), "c": (depth, depth), "d": (height, 1), "e": (length, width)}
    specs = blocked_specs(string, steps | {"f": (x.r, x.r), "g": (x.s, x.s)})
    loop = el.ThreadedLoop(specs, string)
    own = string.startswith("B") and not any(map(loop.get_loop_par_type, "ade"))
    block, turn = (x.bk // 2, x.bc, 2) if narrow else (x.bk, x.bc), el.tpp.interleave if narrow else el.tpp.copy

    rng = np.random.default_rng(0)
    filters, gradient = (uniform(rng, shape) for shape in x.shapes[1:])
    framed, top, left = x.framed(gradient)
    turned = empty((*filters.shape[:4], *block))
    images = empty((x.n, x.blocks_in, height * x.sh, length * x.sw, x.bc))

    @el.ThreadedLoop([el.LoopSpec(0, bound) for bound in filters.shape[:4]], "ABcd").body
    def upfront(a, b, c, d, W, V):
        turn(W[a, b, c, d].T, V[a, b, c, d])

    @loop.body
    def backward(a, b, c, d, e, f, g, dY, W, V, dX):
        matrices = el.tpp.scratch((depth, x.r, x.s, *block), dY.dtype) if own else V[:, b]
        with el.when((a == 0) & (d == 0) & (e == 0)):
            for i, r, s in np.ndindex(matrices.shape[:3]) if own else ():
                turn(W[i, b, r, s].T, matrices[i, r, s])
        for row, column in product(range(x.sh), range(x.sw)):
            begin, start = e * x.sw + column, e + left
            pixels = dX[a, b, d * x.sh + row, begin : begin + width * x.sw : x.sw]
            total = el.tpp.scratch((width, x.bc)) if narrow else pixels
            el.tpp.zero(total)
            taps = list(product(range(depth), x.taps[0][row], x.taps[1][column]))
            if taps:
                el.tpp.brgemm(
                    [matrices[i, r, s] for i, (r, _), (s, _) in taps],
                    [dY[a, i, d + top + y, start + z : start + z + width] for i, (_, y), (_, z) in taps],
                    total,
                )
            if narrow:
                el.tpp.copy(total, pixels)

    def run() -> None:
        if not own:
            upfront(W=filters, V=turned)
        backward(dY=framed, W=filters, V=turned, dX=images)

    result = images[:, :, : x.h, : x.w]
    iterations = int((*numbers[19:20], "10")[0])
    return Work(loop, x.flops, run, iterations, result, lambda: x.pixels(filters, gradient))


if __name__ == "__main__":
    report(build)
