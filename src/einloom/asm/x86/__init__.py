"""x86-64: operands, rows and their encoder.

>>> from einloom.asm.x86 import mem, rdi, zmm
>>> mem(rdi, 64).bcst
[rdi + 64]{bcst}
"""

from __future__ import annotations

from einloom.asm.x86.assembler import X86Assembler as X86Assembler
from einloom.asm.x86.operands import *  # noqa: F403
