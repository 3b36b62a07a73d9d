"""The verbs of matrix tiles on AMX: eight tiles of at most 16 rows of 64 bytes.

Source: Intel SDM volume 1, chapter 18 (palette 1), and volume 2, LDTILECFG.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from einloom.asm.x86.operands import R64, mem, tmm
from einloom.dtypes import BFLOAT16, FLOAT16, INT8, UINT8, DType
from einloom.kernels.verbs.abilities import TileVerbs
from einloom.machine import TILES, Machine

__all__ = ["Amx"]

PRODUCTS = {
    (BFLOAT16, BFLOAT16): ("amxbf16", "tdpbf16ps"),
    (FLOAT16, FLOAT16): ("amxfp16", "tdpfp16ps"),
    (INT8, INT8): ("amxint8", "tdpbssd"),
    (INT8, UINT8): ("amxint8", "tdpbsud"),
    (UINT8, INT8): ("amxint8", "tdpbusd"),
    (UINT8, UINT8): ("amxint8", "tdpbuud"),
}
"""By the types of the rows' and the columns' elements: the feature and the instruction."""


class Amx(TileVerbs[R64]):
    """See `einloom.kernels.verbs.abilities.TileVerbs`."""

    def __init__(self, asm: Any, machine: Machine) -> None:
        self.asm, self.features = asm, machine.features

    def multiplies(self, rows: DType, columns: DType) -> bool:
        feature, _ = PRODUCTS.get((rows, columns), ("", ""))
        return {TILES, "amxtile", feature} <= self.features

    def configure(self, shapes: Sequence[tuple[int, int]]) -> None:
        row_bytes = [size for _, size in shapes] + [0] * (16 - len(shapes))
        rows = [count for count, _ in shapes] + [0] * (16 - len(shapes))
        palette = struct.pack("<16x16H16B", *row_bytes, *rows)
        self.asm.ldtilecfg(mem(self.asm.data(b"\x01" + palette[1:], 64)))

    def release(self) -> None:
        self.asm.tilerelease()

    def zero(self, tile: int) -> None:
        self.asm.tilezero(tmm[tile])

    def load(self, tile: int, base: R64, offset: int, stride: R64, once: bool = False) -> None:
        load = self.asm.tileloaddt1 if once else self.asm.tileloadd
        load(tmm[tile], mem(base, offset, stride))

    def store(self, base: R64, offset: int, stride: R64, tile: int) -> None:
        self.asm.tilestored(mem(base, offset, stride), tmm[tile])

    def multiply_add(self, total: int, rows: int, columns: int, types: tuple[DType, DType]) -> None:
        getattr(self.asm, PRODUCTS[types][1])(tmm[total], tmm[rows], tmm[columns])
