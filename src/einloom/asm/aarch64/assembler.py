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
from operator import index
from typing import Any, ClassVar, SupportsIndex

from einloom.asm.aarch64 import encoder, operands
from einloom.asm.aarch64.immediates import bitmask
from einloom.asm.aarch64.row import Form
from einloom.asm.assembler import Assembler, Encoder, Memory, Suggesting
from einloom.errors import EncodingError

__all__ = ["AArch64Assembler"]

_NOP = 0xD503201F


class AArch64Instructions(Assembler):
    """Assemble for AArch64. Shifts and extensions are keywords: `asm.add(x0, x1, x2, lsl=3)`, `asm.movk(x0, 1, lsl=16)`

    Conditions are strings, `asm.csel(x0, x1, x2, "ne")`; a branch has them in its name too: `asm.b("ne", top)` is
    `asm.b_ne(top)`. The scalars b0 to b31 are `einloom.asm.aarch64.b`, because `asm.b` is the branch.
    """

    isa: ClassVar[str] = "aarch64"
    comment_prefix: ClassVar[str] = "//"
    code_width: ClassVar[int] = 8

    x, w, v = operands.x, operands.w, operands.v
    h, s, d, q = operands.h, operands.s, operands.d, operands.q
    xzr, wzr, sp, wsp = operands.xzr, operands.wzr, operands.sp, operands.wsp
    mem = staticmethod(operands.mem)

    @property
    def features(self) -> frozenset[str]:
        """See Assembler. In streaming mode SME brings SVE's instructions along."""
        features = super().features
        return features if "sme" not in features else frozenset(self._required) | self._outside_streaming()

    def _outside_streaming(self) -> frozenset[str]:
        """The features that instructions need, but for SVE between `smstart` and `smstop`."""
        named, streaming = set[str](), False
        for form, _, _ in self.records:
            if isinstance(form, Form):
                streaming = form.mnemonic == "smstart" or (streaming and form.mnemonic != "smstop")
                named.update(name for name in form.features if not (streaming and name == "sve"))
        return frozenset(named)

    def words(self) -> list[int]:
        """Return the instruction words, labels resolved, without the data behind them."""
        return list(struct.unpack(f"<{self.size // 4}I", self.bytes()[: self.size]))

    def mov_constant(self, register: operands.Register, value: SupportsIndex) -> None:
        """Put any integer of the register's width into it, in one instruction where `mov` can, else in up to four."""
        width = 32 if isinstance(register, operands.W) else 64
        try:
            value = index(value)
        except TypeError:
            raise EncodingError(f"mov_constant({register!r}, {value!r:.80}): that is no integer") from None
        if not isinstance(register, operands.X | operands.W) or not -(1 << width - 1) <= value < 1 << width:
            raise EncodingError(f"mov_constant({register!r}, {value}): an X or W register and a number that fits it")
        halves = [value >> shift & 0xFFFF for shift in range(0, width, 16)]
        if halves.count(0xFFFF) >= len(halves) - 1 or halves.count(0) >= len(halves) - 1 or bitmask(value, width):
            self.mov(register, value)
            return
        background = 0xFFFF if halves.count(0xFFFF) > halves.count(0) else 0
        first, *rest = ((half, 16 * i) for i, half in enumerate(halves) if half != background)
        start = self.movn if background else self.movz
        start(register, first[0] ^ background, lsl=first[1])
        for half, shift in rest:
            self.movk(register, half, lsl=shift)

    @classmethod
    def form_encoder(cls, mnemonic: str, memory: Memory) -> Encoder | None:
        """Return the encoder of a mnemonic, or None if there is no such mnemonic."""
        name = _mnemonic(mnemonic)
        return encoder.encoder(name, memory) if encoder.rows(name) else None

    @classmethod
    def mnemonics(cls) -> list[str]:
        """Every mnemonic of the rows, as Python writes it."""
        return [name.replace(".", "_") for name in encoder.mnemonics()]

    @classmethod
    def forms(cls, mnemonic: str) -> list[str]:
        """See Assembler."""
        return [str(row) for row in encoder.rows(_mnemonic(mnemonic))]

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

    @classmethod
    def extended(cls, mnemonic: str, emit: Callable[..., None]) -> Callable[..., None]:
        """Return a method that takes keywords, lists or a condition, where the mnemonic has them."""
        name = _mnemonic(mnemonic)
        if name == "b":
            return _with_condition(emit)
        if encoder.takes_lists(name):
            return _with_lists(emit)
        return _with_keywords(emit) if encoder.takes_modifiers(name) else emit


class AArch64Assembler(Suggesting, AArch64Instructions):
    """The same, which also says what is near a mnemonic that does not exist."""


def _mnemonic(name: str) -> str:
    """Return a mnemonic as the rows write it: b_ne is b.ne."""
    return name.replace("_", ".")


def _with_keywords(emit: Callable[..., None]) -> Callable[..., None]:
    """Return a method that makes operands of keywords such as `lsl=3`."""

    known = operands.Modifier.of

    def emit_modified(self: Assembler, *given: Any, **modifiers: int) -> None:
        for name in modifiers:
            given = (*given, known(name, modifiers[name]))
        emit(self, *given)

    return emit_modified


def _with_lists(emit: Callable[..., None]) -> Callable[..., None]:
    """Return a method that makes tuples of lists, so that the encoder can remember instructions by them."""

    def emit_listed(self: Assembler, *given: Any) -> None:
        emit(self, *[tuple(operand) if type(operand) is list else operand for operand in given])

    return emit_listed


def _with_condition(emit: Callable[..., None]) -> Callable[..., None]:
    """Return the method `b`, which takes a condition before the label and is b.cond then."""

    def emit_branch(self: Assembler, *given: Any) -> None:
        if len(given) == 2:
            getattr(self, f"b_{given[0]}")(given[1])
        else:
            emit(self, *given)

    return emit_branch
