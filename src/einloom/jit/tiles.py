"""`host_with_tiles()`: the host with AMX's matrix tiles, where the system grants them and a self-test agrees.

A process has to ask Linux for the tiles' registers, once and for all its threads: their state makes the frames of
signals larger by 8 KiB, so nobody asks who does not need them: `host()` says what the processor has, and here is added
that it may be used. Source: Linux `Documentation/arch/x86/xstate.rst`.
"""

from __future__ import annotations

import ctypes
import struct
from dataclasses import replace
from itertools import product
from typing import Any

from einloom.asm import Assembler
from einloom.asm.x86.operands import mem, rax, rdi, rdx, rsi, tmm
from einloom.jit.host import IsaSetting, host, isa_setting, tiles_granted
from einloom.jit.kernel import Kernel
from einloom.machine import TILES, Machine
from einloom.once import once

__all__ = ["host_with_tiles"]

_ROWS, _COLUMNS, _STEPS = 3, 5, 4


@once
def host_with_tiles() -> Machine:
    """Return the host, with the feature `amx` where tiles may be used.

    They may where the processor has them, the system grants them and the self-test agrees, unless `EINLOOM_ISA` says
    anything; where it says `amx`, the self-test is spared.
    """
    machine, setting = host(), isa_setting()
    wanted = setting.tiles or setting == IsaSetting()
    if (
        not wanted
        or machine.vector != "avx512"
        or not {"amxtile", "amxint8"} <= machine.features
        or not tiles_granted()
    ):
        return machine
    return replace(machine, features=machine.features | {TILES}) if setting.tiles or _agrees() else machine


def _agrees() -> bool:
    """Whether a product of small tiles of signed bytes is what it is in whole numbers."""
    a = [[(77 * i - 31 * k) % 256 - 128 for k in range(4 * _STEPS)] for i in range(_ROWS)]
    b = [[(53 * k - 19 * j) % 256 - 128 for j in range(_COLUMNS)] for k in range(4 * _STEPS)]
    grouped = [b[4 * k + g][j] for k, j, g in product(range(_STEPS), range(_COLUMNS), range(4))]
    first, second = (_bytes(values) for values in ([x for row in a for x in row], grouped))
    found = ctypes.create_string_buffer(4 * _ROWS * _COLUMNS)
    Kernel(_tile_product(), name="self-test of tiles").call(*map(ctypes.addressof, (first, second, found)))
    expected = [sum(a[i][k] * b[k][j] for k in range(4 * _STEPS)) for i, j in product(range(_ROWS), range(_COLUMNS))]
    return list(struct.unpack(f"<{len(expected)}i", found.raw)) == expected


def _bytes(values: list[int]) -> Any:
    return (ctypes.c_int8 * len(values))(*values)


def _tile_product() -> Assembler:
    """Return `void product(a, b, c)` of the self-test's sizes."""
    asm: Any = Assembler("x86_64")
    widths = [4 * _COLUMNS, 4 * _STEPS, 4 * _COLUMNS, *[0] * 13]
    heights = [_ROWS, _ROWS, _STEPS, *[0] * 13]
    asm.ldtilecfg(mem(asm.data(b"\x01" + struct.pack("<15x16H16B", *widths, *heights), 64)))
    for tile, base, stride in ((1, rdi, 4 * _STEPS), (2, rsi, 4 * _COLUMNS)):
        asm.mov(rax, stride)
        asm.tileloadd(tmm[tile], mem(base, 0, rax))
    asm.tilezero(tmm[0])
    asm.tdpbssd(tmm[0], tmm[1], tmm[2])
    asm.tilestored(mem(rdx, 0, rax), tmm[0])
    asm.tilerelease()
    asm.ret()
    return asm
