"""AArch64: base integer and Neon instructions as rows, their encoder, registers and addresses.

>>> from einloom.asm import Assembler
>>> from einloom.asm.aarch64 import v, x
>>> asm = Assembler("aarch64")
>>> asm.fmla(v[0].s4, v[24].s4, v[28].s[0])
>>> asm.ret()
>>> [f"{word:08x}" for word in asm.words()]
['4f9c1300', 'd65f03c0']
"""

from __future__ import annotations

from einloom.asm.aarch64.operands import b, d, h, mem, q, s, sp, v, w, wsp, wzr, x, xzr

__all__ = ["b", "d", "h", "mem", "q", "s", "sp", "v", "w", "wsp", "wzr", "x", "xzr"]
