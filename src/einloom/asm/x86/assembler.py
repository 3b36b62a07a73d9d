"""The x86-64 assembler: its rows and operands, nops, and the notation of its listings.

>>> asm = X86Assembler()
>>> asm.vfmadd231ps(asm.zmm[0], asm.zmm[1], asm.mem(asm.rdi, 64).bcst)
>>> print(asm.listing())
     0    62f27558b84710                    vfmadd231ps zmm0, zmm1, dword ptr [rdi + 64]{1to16}
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from einloom.asm.assembler import Assembler, Encoder, Memory, Suggesting
from einloom.asm.x86 import operands as _operands
from einloom.asm.x86.dispatch import dispatcher, notations
from einloom.asm.x86.forms import Form, Row
from einloom.asm.x86.rows import rows

# Multi-byte nops of 0 to 9 bytes: Intel SDM volume 2B, NOP, table 4-12.
NOPS = tuple(
    bytes.fromhex(code)
    for code in (
        "",
        "90",
        "6690",
        "0f1f00",
        "0f1f4000",
        "0f1f440000",
        "660f1f440000",
        "0f1f8000000000",
        "0f1f840000000000",
        "660f1f840000000000",
    )
)


class X86Instructions(Assembler):
    """Assembler of x86-64 with AVX2, FMA and AVX-512. Registers and `mem` are attributes: `rax`, `zmm`, `k`, …"""

    isa = "x86_64"
    code_width = 32

    @classmethod
    def form_encoder(cls, mnemonic: str, memory: Memory) -> Encoder | None:
        """See Assembler."""
        lines = rows().get(mnemonic)
        return None if lines is None else dispatcher([Row(line) for line in lines], memory)

    @classmethod
    def mnemonics(cls) -> Iterable[str]:
        """See Assembler."""
        return rows()

    @classmethod
    def forms(cls, mnemonic: str) -> list[str]:
        """See Assembler."""
        return notations([Row(line) for line in rows()[mnemonic]])

    def text(self, form: Form, operands: tuple[Any, ...]) -> str:
        """Return the instruction in Intel's notation."""
        return form.text(operands)

    def padding(self, count: int) -> bytes:
        """Return the fewest nops that fill `count` bytes."""
        return NOPS[9] * (count // 9) + NOPS[count % 9]


for _name, _value in vars(_operands).items():
    if isinstance(_value, (_operands.Register, _operands.Rounding, _operands.AddressMaker, tuple)):
        setattr(X86Instructions, _name, _value)


class X86Assembler(Suggesting, X86Instructions):
    """The same, which also says what is near a mnemonic that does not exist."""
