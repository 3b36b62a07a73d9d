"""The x86-64 assembler: rows into encoders on first use, operands as attributes.

>>> asm = X86Assembler()
>>> asm.vfmadd231ps(asm.zmm[0], asm.zmm[1], asm.mem(asm.rdi, 64).bcst)
>>> print(asm.listing())
     0    62f27558b84710                          vfmadd231ps zmm0, zmm1, dword ptr [rdi + 64]{1to16}
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from einloom.asm.assembler import Assembler, Encoder, Label, Memory, Record
from einloom.asm.x86 import operands as names
from einloom.asm.x86.addresses import Address, RelativeAddress
from einloom.asm.x86.forms import Form, parse_row
from einloom.asm.x86.legacy import add_relative_fixup, legacy_encoder
from einloom.asm.x86.rows import rows
from einloom.asm.x86.vector import FormEncoder, vector_encoder
from einloom.errors import EncodingError

# Multi-byte nops of 1 to 9 bytes: Intel SDM volume 2B, NOP, table 4-12.
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


class X86Assembler(Assembler):
    """Assembler of x86-64 with AVX2, FMA and AVX-512; registers and `mem` are attributes."""

    isa = "x86_64"
    code_width = 32

    @classmethod
    def form_encoder(cls, mnemonic: str, memory: Memory) -> Encoder | None:
        """See Assembler."""
        lines = rows().get(mnemonic)
        return None if lines is None else _Dispatch([form for line in lines for form in parse_row(line)], memory).encode

    @classmethod
    def mnemonics(cls) -> Iterable[str]:
        """See Assembler."""
        return rows()

    def text(self, form: Form, operands: tuple[Any, ...]) -> str:
        """Return the instruction in Intel's notation."""
        return form.text(operands)

    def padding(self, count: int) -> bytes:
        """Return the fewest nops that fill `count` bytes."""
        return NOPS[9] * (count // 9) + NOPS[count % 9]


for _name in names.__all__:
    if _name[0].islower() and not _name.startswith("gpr"):
        setattr(X86Assembler, _name, getattr(names, _name))


class _Dispatch:
    """From the types of the operands to the encoders of the forms that take them, each made on first use."""

    __slots__ = ("forms", "memory", "table")

    def __init__(self, forms: list[Form], memory: Memory) -> None:
        self.forms = forms
        self.memory = memory
        self.table: dict[tuple[type, ...], list[FormEncoder]] = {}

    def encode(self, asm: Assembler, operands: tuple[Any, ...]) -> Record:
        """Return the record of the first form that takes these operands."""
        types = tuple(map(type, operands))
        encoders = self.table.get(types)
        if encoders is None:
            operands = tuple(map(_operand, operands))
            types = tuple(map(type, operands))
            encoders = self.table.get(types) or self._encoders(operands, types)
        for encoder in encoders:
            record = encoder(asm, operands)
            if record is not None:
                return record
        raise EncodingError(self._refusal(operands, "a value is out of range"))

    def _encoders(self, operands: tuple[Any, ...], types: tuple[type, ...]) -> list[FormEncoder]:
        kinds = tuple(map(_kind, types))
        forms = [form for form in self.forms if form.accepts(kinds)]
        if not forms:
            raise EncodingError(self._refusal(operands, "no form takes these operands"))
        if len({slot.memory for form in forms for slot, kind in zip(form.slots, kinds) if kind in ("m", "mb")}) > 1:
            raise EncodingError(
                self._refusal(operands, "the size of the access is open; write mem.dword(…) or the like")
            )
        encoders = [_form_encoder(form, kinds, types, self.memory) for form in forms]
        self.table[types] = encoders
        return encoders

    def _refusal(self, operands: tuple[Any, ...], reason: str) -> str:
        mnemonic = self.forms[0].mnemonic
        lines = [f"{mnemonic} {', '.join(map(str, operands))}: {reason}", "  The forms are:"]
        return "\n".join(lines + sorted({f"    {form.notation}" for form in self.forms}))


def _kind(type_: type) -> str:
    return "i" if type_ is int else "rel" if type_ is Label else type_.kind  # type: ignore[attr-defined]


def _operand(operand: Any) -> Any:
    """Return the operand, an integer of another library as Python's. Raises EncodingError for what is no operand."""
    if hasattr(type(operand), "kind") or isinstance(operand, Label):
        return operand
    try:
        return operator.index(operand)
    except TypeError:
        raise EncodingError(
            f"{operand!r} is no operand\n  Operands are registers, mem(…), integers and labels."
        ) from None


def _form_encoder(form: Form, kinds: tuple[str, ...], types: tuple[type, ...], memory: Memory) -> FormEncoder:
    encode = (vector_encoder if form.encoding.space else legacy_encoder)(form, kinds, memory)
    for n, type_ in enumerate(types):
        if issubclass(type_, Address) and type_.plain is RelativeAddress:
            return _relative(form, n, encode)
    return encode


def _relative(form: Form, address: int, encode: FormEncoder) -> FormEncoder:
    """Return the encoder that also has the address of a label written, once that is known."""
    rest = 4 + sum(slot.width for slot in form.slots) + ("S" in form.encoding.roles)

    def encode_relative(asm: Assembler, operands: tuple[Any, ...]) -> Record | None:
        record = encode(asm, operands)
        if record is not None:
            place = operands[address]
            add_relative_fixup(asm, place.base, len(asm.buffer) + len(record[2]) - rest, rest, place.disp)
        return record

    return encode_relative
