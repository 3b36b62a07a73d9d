"""The operands of x86-64 instructions by name: `rax`, `r8d`, `al`, `xmm[0]`, `zmm[31]`, `k[1]`, `mem`, `rn_sae`.

>>> mem(rdi, 64)
[rdi + 64]
>>> zmm[3] | k[1].z
zmm3 {k1} {z}
"""

from __future__ import annotations

from einloom.asm.x86.addresses import Address as Address
from einloom.asm.x86.addresses import AddressMaker as AddressMaker
from einloom.asm.x86.addresses import mem as mem
from einloom.asm.x86.registers import R8 as R8
from einloom.asm.x86.registers import R16 as R16
from einloom.asm.x86.registers import R32 as R32
from einloom.asm.x86.registers import R64 as R64
from einloom.asm.x86.registers import Mask as Mask
from einloom.asm.x86.registers import Register as Register
from einloom.asm.x86.registers import Rounding as Rounding
from einloom.asm.x86.registers import Tile as Tile
from einloom.asm.x86.registers import Vector as Vector
from einloom.asm.x86.registers import gpr8 as gpr8
from einloom.asm.x86.registers import gpr16 as gpr16
from einloom.asm.x86.registers import gpr32 as gpr32
from einloom.asm.x86.registers import gpr64 as gpr64
from einloom.asm.x86.registers import k as k
from einloom.asm.x86.registers import rd_sae as rd_sae
from einloom.asm.x86.registers import rn_sae as rn_sae
from einloom.asm.x86.registers import ru_sae as ru_sae
from einloom.asm.x86.registers import rz_sae as rz_sae
from einloom.asm.x86.registers import sae as sae
from einloom.asm.x86.registers import tmm as tmm
from einloom.asm.x86.registers import xmm as xmm
from einloom.asm.x86.registers import ymm as ymm
from einloom.asm.x86.registers import zmm as zmm

rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15 = gpr64
eax, ecx, edx, ebx, esp, ebp, esi, edi, r8d, r9d, r10d, r11d, r12d, r13d, r14d, r15d = gpr32
ax, cx, dx, bx, sp, bp, si, di, r8w, r9w, r10w, r11w, r12w, r13w, r14w, r15w = gpr16
al, cl, dl, bl, spl, bpl, sil, dil, r8b, r9b, r10b, r11b, r12b, r13b, r14b, r15b = gpr8
