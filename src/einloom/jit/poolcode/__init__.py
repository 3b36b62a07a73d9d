"""The verbs that the pool of threads is written in: memory that threads share, branches, calls; for both ISAs.

>>> code = pool_code("x86_64")
>>> code.fetch_add(code.work[0], code.kept[0], 64)
>>> print(code.asm.listing())
     0    f0480fc14340                      lock xadd qword ptr [rbx + 0x40], rax
"""

from __future__ import annotations

from einloom.errors import UnsupportedTarget
from einloom.jit.poolcode.aarch64 import AArch64PoolCode
from einloom.jit.poolcode.verbs import FRAME, PoolCode, Register
from einloom.jit.poolcode.x86_64 import X86PoolCode

__all__ = ["FRAME", "PoolCode", "Register", "pool_code"]


def pool_code(isa: str) -> PoolCode:
    """Return the verbs of an ISA with an assembler of its own.

    Raises:
        UnsupportedTarget: there are none.
    """
    from einloom.asm import Assembler  # Late: one thread needs none of this.

    kinds: dict[str, type[PoolCode]] = {"x86_64": X86PoolCode, "aarch64": AArch64PoolCode}
    if isa not in kinds:
        raise UnsupportedTarget(f"there are thread teams for {', '.join(kinds)}, not for {isa}")
    return kinds[isa](Assembler(isa))
