"""Forward pass of a convolution with fused bias and ReLU, as seven loops that one string instantiates.

    python examples/conv_fwd.py Abcdefg 28 14 14 64 64 3 3 1 1 1 1 32 32 1 1 1 1 1 0 400

The arguments: the loop string (a = N, b = C, c = K, d = rows, e = columns of the output, f = R, g = S; the sum is over
b, f and g; S pixels lie side by side, so g and the channels of a block are one sum), then the numbers of
`convolution.Layer` in their order, one that has to be 0 (the input is not packed), and how many runs. What follows is
the original's, and not needed. With USE_BF16=1 all is bfloat16, W in pairs along C.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from convolution import Layer
from sample import Work, empty, grouped, is_narrow, report, uniform

import einloom as el
from einloom.loops.blockings import blocked_specs


def build(string: str, *numbers: str) -> Work:
    """Return the work that the arguments describe."""
    x = Layer.of(numbers)
    depth, width = x.blocks_in // x.c_parts, x.out_w // x.w_parts
    steps = {"a": (x.n, 1), "b": (x.blocks_in, depth), "c": (x.blocks_out, 1), "d": (x.out_h, 1), "e": (x.out_w, width)}
    specs = blocked_specs(string, steps | {"f": (x.r, x.r), "g": (x.s, x.s)})
    loop = el.ThreadedLoop(specs, string)
    taps, narrow = list(product(range(depth), range(x.r))), is_narrow()

    @loop.body
    def forward(a, b, c, d, e, f, g, X, W, Y, bias):
        out = Y[a, c, d, e : e + width]
        total = el.tpp.scratch((width, x.bk)) if narrow else out
        if narrow and depth < x.blocks_in:
            with el.when(b > 0):
                el.tpp.copy(out, total)
        with el.when((b == 0) & (f == 0) & (g == 0)):
            el.tpp.zero(total)
        rows = [X[a, b + i, d * x.sh + f + r, e : e + width] for i, r in taps]
        el.tpp.brgemm([W[c, b + i, f + r] for i, r in taps], rows, total)
        with el.when((b + depth >= x.blocks_in) & (f + x.r >= x.r) & (g + x.s >= x.s)):
            el.tpp.add(total, bias[c], total)
            el.tpp.relu(total)
        if narrow:
            el.tpp.copy(total, out)

    rng = np.random.default_rng(0)
    images, filters = (uniform(rng, shape) for shape in x.shapes[:2])
    bias, result = uniform(rng, (x.blocks_out, x.bk)), empty(x.shapes[2])
    stored = grouped(filters.reshape(x.blocks_out, x.blocks_in, x.r, x.s * x.bc, x.bk))
    seen = x.lines(images)

    def run() -> None:
        forward(X=seen, W=stored, Y=result, bias=bias)

    def truth() -> np.ndarray:
        windows = x.windows(images.astype(float))
        plain = np.einsum("nchwdrs,kcrsde->nkhwe", windows, filters.astype(float), optimize=True)
        return np.maximum(plain + bias.astype(float)[:, None, None], 0)

    return Work(loop, x.flops, run, int((*numbers[19:20], "10")[0]), result, truth)


if __name__ == "__main__":
    report(build)
