"""What the three passes of a convolution have in common: the numbers of a layer, its blocks, and NumPy's answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import einloom as el

__all__ = ["Layer"]


@dataclass(frozen=True)
class Layer:
    """A layer: images N, their height and width, channels C in and K out, the filter R x S, strides, padding, blocks.

    h_parts and k_parts are the original's and have to be 1, as rows, the rows of a block; w_parts and c_parts are into
    how many parts a row of the output and the sum over channels are cut.
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
        if (self.h_parts, self.k_parts, self.rows) != (1, 1, 1):
            raise el.ScheduleError("blocks are one row and one block of channels\n  Pass 1.")
        if self.out_w % self.w_parts or self.c % self.bc or self.k % self.bk or self.blocks_in % self.c_parts:
            raise el.ScheduleError(f"blocks that do not divide {self}\n  Take divisors of the extents.")

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
