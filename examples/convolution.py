"""What the three passes of a convolution have in common: the numbers of a layer, its blocks, and NumPy's answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from sample import empty, integers

import einloom as el

__all__ = ["Layer"]


@dataclass(frozen=True)
class Layer:
    """A layer: images N, their height and width, channels C in and K out, the filter R x S, strides, padding, blocks.

    h_parts and k_parts are the original's and have to be 1; w_parts and c_parts are into how many parts a row of the
    output and the sum over channels are cut. rows are those of a block, one but for 1 x 1 filters in steps of 1.
    """

    n: int
    h: int
    w: int
    c: int
    k: int
    r: int
    s: int
    sh: int
    sw: int
    ph: int
    pw: int
    bc: int
    bk: int
    h_parts: int = 1
    w_parts: int = 1
    c_parts: int = 1
    k_parts: int = 1
    rows: int = 1

    def __post_init__(self) -> None:
        alone = (self.r, self.s, self.sh, self.sw, self.ph, self.pw) == (1, 1, 1, 1, 0, 0)
        if (self.h_parts, self.k_parts) != (1, 1) or (self.rows != 1 and not alone) or self.h % self.rows:
            raise el.ScheduleError("blocks are one row and one block of channels\n  Pass 1.")
        if self.out_w % self.w_parts or self.c % self.bc or self.k % self.bk or self.blocks_in % self.c_parts:
            raise el.ScheduleError(f"blocks that do not divide {self}\n  Take divisors of the extents.")

    @staticmethod
    def of(numbers: Sequence[str]) -> Layer:
        """Return the layer of a command line; several rows of a block are one long row: they lie side by side."""
        names = "N H W C K R S sh sw ph? pw? bc bk h_parts w_parts c_parts k_parts rows"
        x = Layer(*integers(numbers[:18], names, defaults=(1,) * 5))
        return replace(x, h=x.h // x.rows, w=x.w * x.rows, rows=1)

    @property
    def out_h(self) -> int:
        return (self.h + 2 * self.ph - self.r) // self.sh + 1

    @property
    def out_w(self) -> int:
        return (self.w + 2 * self.pw - self.s) // self.sw + 1

    @property
    def blocks_in(self) -> int:
        return self.c // self.bc

    @property
    def blocks_out(self) -> int:
        return self.k // self.bk

    @property
    def flops(self) -> int:
        return 2 * self.n * self.k * self.c * self.r * self.s * self.out_h * self.out_w

    @property
    def shapes(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Of the padded images (N, C, h, w, c), the filters (K, C, R, S, c, k) and the output (N, K, h, w, k)."""
        images = (self.n, self.blocks_in, self.h + 2 * self.ph, self.w + 2 * self.pw, self.bc)
        filters = (self.blocks_out, self.blocks_in, self.r, self.s, self.bc, self.bk)
        return images, filters, (self.n, self.blocks_out, self.out_h, self.out_w, self.bk)

    def windows(self, images: np.ndarray) -> np.ndarray:
        """Return what each output sees of padded images, writable: (N, C, h, w, c, R, S)."""
        n, c, h, w, b = images.strides
        shape = (self.n, self.blocks_in, self.out_h, self.out_w, self.bc, self.r, self.s)
        return np.lib.stride_tricks.as_strided(images, shape, (n, c, h * self.sh, w * self.sw, b, h, w))

    def lines(self, images: np.ndarray) -> np.ndarray:
        """Return what outputs see of a row of padded images, S pixels side by side: (N, C, h, w, s c)."""
        n, c, h, w, b = images.strides
        shape = (self.n, self.blocks_in, images.shape[2], self.out_w, self.s * self.bc)
        return np.lib.stride_tricks.as_strided(images, shape, (n, c, h, w * self.sw, b))

    @property
    def taps(self) -> tuple[list[list[tuple[int, int]]], ...]:
        """By rows and by columns: for each remainder of a pixel in steps the taps that saw it, and how many steps from
        it their output lies.

        >>> Layer(1, 8, 8, 1, 1, 3, 3, 2, 1, 1, 1, 1, 1).taps
        ([[(1, 0)], [(0, 1), (2, 0)]], [[(0, 1), (1, 0), (2, -1)]])
        """
        return tuple(
            [[(tap, (pixel + pad - tap) // step) for tap in range(taps) if (pixel + pad - tap) % step == 0]
             for pixel in range(step)]
            for taps, step, pad in ((self.r, self.sh, self.ph), (self.s, self.sw, self.pw))
        )  # fmt: skip

    def framed(self, outputs: np.ndarray) -> tuple[np.ndarray, int, int]:
        """Return outputs in a frame of zeros as wide as taps reach, and how many rows and columns of it come first."""
        ends = [sorted([0, *(place for taps in each for _, place in taps)]) for each in self.taps]
        top, left = (-each[0] for each in ends)
        height, width = -(-self.h // self.sh) + ends[0][-1], -(-self.w // self.sw) + ends[1][-1]
        array = empty((*outputs.shape[:2], top + max(self.out_h, height), left + max(self.out_w, width), self.bk))
        array[...] = 0
        array[:, :, top : top + self.out_h, left : left + self.out_w] = outputs
        return array, top, left

    def pixels(self, filters: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        """Return the gradient of the images, without padding."""
        plain = np.zeros(self.shapes[0])
        for f, g in np.ndindex(self.r, self.s):
            term = np.einsum("nkhwe,kcde->nchwd", outputs.astype(float), filters[:, :, f, g].astype(float))
            self.windows(plain)[..., f, g] += term
        return plain[:, :, self.ph : self.ph + self.h, self.pw : self.pw + self.w]
