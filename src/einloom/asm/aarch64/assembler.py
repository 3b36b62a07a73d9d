"""Assemble for AArch64: what this ISA adds to the ISA-independent `einloom.asm.assembler`.

>>> asm = Assembler("aarch64")
>>> asm.add(asm.x[0], asm.x[1], asm.x[2], lsl=3)
>>> asm.ldr(asm.q[4], asm.mem(asm.x[0]).post(16))
>>> print(asm.listing())
     0    8b020c20  add x0, x1, x2, lsl #3
     4    3cc10404  ldr q4, [x0], #16
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, ClassVar

from einloom.asm.aarch64 import encoder, operands
from einloom.asm.aarch64.row import Form
from einloom.asm.assembler import Assembler, Encoder, Memory
from einloom.errors import EncodingError

__all__ = ["AArch64Assembler"]

_NOP = 0xD503201F


class AArch64Assembler(Assembler):
    """Assemble for AArch64. Shifts and extensions are keywords: `asm.add(x0, x1, x2, lsl=3)`, `asm.movk(x0, 1, lsl=16)`

    Instructions with a condition in their name take it with an underscore, `asm.b_ne(label)`; others as a string,
    `asm.csel(x0, x1, x2, "ne")`. The scalars b0 to b31 are `einloom.asm.aarch64.b`, because `asm.b` is the branch.
    """

    isa: ClassVar[str] = "aarch64"
    comment_prefix: ClassVar[str] = "//"
    code_width: ClassVar[int] = 8

    x, w, v = operands.x, operands.w, operands.v
    h, s, d, q = operands.h, operands.s, operands.d, operands.q
    xzr, wzr, sp, wsp = operands.xzr, operands.wzr, operands.sp, operands.wsp
    mem = staticmethod(operands.mem)

    def words(self) -> list[int]:
        """Return the instruction words, labels resolved, without the data behind them."""
        return list(struct.unpack(f"<{self.size // 4}I", self.bytes()[: self.size]))

    @classmethod
    def form_encoder(cls, mnemonic: str, memory: Memory) -> Encoder | None:
        """Return the encoder of a mnemonic, or None if there is no such mnemonic."""
        name = _mnemonic(mnemonic)
        return encoder.encoder(name, memory) if encoder.rows(name) else None

    @classmethod
    def mnemonics(cls) -> list[str]:
        """Every mnemonic of the rows, as Python writes it."""
        return [name.replace(".", "_") for name in encoder.mnemonics()]

    def text(self, form: Form, operands: tuple[Any, ...]) -> str:
        """Return the instruction in the notation of Arm's assemblers."""
        return encoder.text(form.mnemonic, operands)

    def padding(self, count: int) -> bytes:
        """Return nops. Raises EncodingError for a count that is no multiple of four."""
        if count % 4:
            raise EncodingError(f"{count} bytes are no whole number of instructions of 4 bytes")
        return struct.pack("<I", _NOP) * (count // 4)

    def hexadecimal(self, code: bytes) -> str:
        """Return the instruction word."""
        return f"{int.from_bytes(code, 'little'):08x}"

    def __getattr__(self, name: str) -> Callable[..., None]:
        """Compile a mnemonic's method, as every assembler does; here some take keywords or lists."""
        emit = super().__getattr__(name)
        mnemonic = _mnemonic(name.rstrip("_"))
        if encoder.takes_modifiers(mnemonic):
            setattr(type(self), name, _with_keywords(getattr(type(self), name)))
        elif encoder.takes_lists(mnemonic):
            setattr(type(self), name, _with_lists(getattr(type(self), name)))
        else:
            return emit
        return getattr(self, name)


def _mnemonic(name: str) -> str:
    """Return a mnemonic as the rows write it: b_ne is b.ne."""
    return name.replace("_", ".")


def _with_keywords(emit: Callable[..., None]) -> Callable[..., None]:
    """Return a method that makes operands of keywords such as `lsl=3`."""

    known = operands.Modifier.of

    def emit_modified(self: AArch64Assembler, *given: Any, **modifiers: int) -> None:
        for name in modifiers:
            given = (*given, known(name, modifiers[name]))
        emit(self, *given)

    return emit_modified


def _with_lists(emit: Callable[..., None]) -> Callable[..., None]:
    """Return a method that makes tuples of lists, so that the encoder can remember instructions by them."""

    def emit_listed(self: AArch64Assembler, *given: Any) -> None:
        emit(self, *[tuple(operand) if type(operand) is list else operand for operand in given])

    return emit_listed
