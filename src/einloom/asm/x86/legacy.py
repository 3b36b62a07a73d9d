"""Encoders of legacy forms: prefixes, REX, opcode, modrm, immediate; and of jumps to labels.

Source: Intel SDM volume 2A, 2.1 and 2.2.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from einloom.asm.assembler import Assembler, Label, Patch, Record
from einloom.asm.x86.forms import Form
from einloom.asm.x86.registers import Register
from einloom.asm.x86.vector import FormEncoder
from einloom.errors import EncodingError

BYTE = tuple(bytes((value,)) for value in range(256))
FORCED = 8  # in `_Heads`: a REX prefix, even without W, R, X or B


def legacy_encoder(form: Form, kinds: tuple[str, ...]) -> FormEncoder:
    """Return the encoder of a legacy form for operands of these kinds."""
    roles = form.encoding.roles
    if "C" in roles:
        return _literal(form, _modrm_encoder(form, kinds))
    if "D" in roles:
        return _jump(form)
    if "O" in roles:
        return _opcode_register(form)
    return _modrm_encoder(form, kinds) if "M" in roles else _fixed(form)


def _modrm_encoder(form: Form, kinds: tuple[str, ...]) -> FormEncoder:
    address = next((n for n, kind in enumerate(kinds) if kind[0] == "m"), None)
    return _registers(form, kinds) if address is None else _memory(form, kinds, address)


class _Heads(dict[int, bytes]):
    """Prefixes, REX and opcode of a form, by the REX bits R X B, FORCED added where REX stands though it says nothing.

    Each is made when it is first asked for: most forms meet few of them.
    """

    def __init__(self, form: Form) -> None:
        super().__init__()
        self.encoding, letters = form.encoding, form.shape.letters
        self.prefixes, self.wide = bytes.fromhex(form.encoding.prefix), 0
        if not form.encoding.default64:
            widest = next((letter for letter in "qdw" if letter in letters), "")
            self.prefixes = b"\x66" * (widest == "w") + self.prefixes
            self.wide = 8 * (widest == "q")

    def __missing__(self, bits: int) -> bytes:
        rex = bytes([0x40 | self.wide | bits & 7]) if self.wide or bits else b""
        head = self[bits] = self.prefixes + rex + self.encoding.opcode
        return head


def _forced(register: Register) -> int:
    """Return FORCED for spl, bpl, sil, dil, which without REX are ah, ch, dh, bh."""
    return FORCED if register.kind == "b" and 4 <= register.number < 8 else 0


def _fixed(form: Form) -> FormEncoder:
    """Return the encoder of a form that has no register and no address."""
    head, finish = _Heads(form)[0], _finisher(form, 0 if form.shape.slots else -1)

    def encode(asm: Assembler, operands: tuple[Any, ...]) -> Record | None:
        return finish(operands, head)

    return encode


def _opcode_register(form: Form) -> FormEncoder:
    """Return the encoder of a form whose opcode ends in a register's number."""
    heads = _Heads(form)
    finish = _finisher(form, form.encoding.roles.find("I"))

    def encode(asm: Assembler, operands: tuple[Any, ...]) -> Record | None:
        register = operands[0]
        head = heads[register.number >> 3 | _forced(register)]
        return finish(operands, head[:-1] + bytes([head[-1] + (register.number & 7)]))

    return encode


def _registers(form: Form, kinds: tuple[str, ...]) -> FormEncoder:
    """Return the encoder of a form whose modrm names registers only."""
    heads, roles = _Heads(form), form.encoding.roles
    rm, reg, immediate = roles.index("M"), roles.find("R"), roles.find("I")
    finish = None if immediate < 0 else _finisher(form, immediate)
    constant = 0xC0 | form.encoding.extension << 3
    bytewise = "b" in kinds

    def encode(asm: Assembler, operands: tuple[Any, ...]) -> Record | None:
        number = operands[rm].number
        modrm, rex = constant | number & 7, number >> 3
        if reg >= 0:
            number = operands[reg].number
            modrm |= (number & 7) << 3
            rex |= number >> 3 << 2
        if bytewise:
            rex |= _forced(operands[rm]) | (_forced(operands[reg]) if reg >= 0 else 0)
        code = heads[rex] + BYTE[modrm]
        return (form, operands, code) if finish is None else finish(operands, code)

    return encode


def _memory(form: Form, kinds: tuple[str, ...], address: int) -> FormEncoder:
    """Return the encoder of a form with an address."""
    heads, roles = _Heads(form), form.encoding.roles
    reg, immediate = roles.find("R"), roles.find("I")
    finish = None if immediate < 0 else _finisher(form, immediate)
    constant = form.encoding.extension << 3
    bytewise = "b" in kinds

    def encode(asm: Assembler, operands: tuple[Any, ...]) -> Record | None:
        modrm, length, rex = operands[address].locate(1)
        modrm |= constant
        if reg >= 0:
            number = operands[reg].number
            modrm |= (number & 7) << 3
            rex |= number >> 3 << 2
            if bytewise:
                rex |= _forced(operands[reg])
        code = heads[rex] + modrm.to_bytes(length, "little")
        return (form, operands, code) if finish is None else finish(operands, code)

    return encode


def _finisher(form: Form, immediate: int) -> Callable[[tuple[Any, ...], bytes], Record | None]:
    """Return what makes the record, with the immediate at this position if not -1; None if that is out of range."""
    if immediate < 0:
        return lambda operands, code: (form, operands, code)
    slot = form.shape.slots[immediate]
    low, high, width = slot.low, slot.high, slot.width
    mask = (1 << 8 * width) - 1

    def finish(operands: tuple[Any, ...], code: bytes) -> Record | None:
        value = operands[immediate]
        if not low <= value <= high:
            return None
        return form, operands, code + (value & mask).to_bytes(width, "little")

    return finish


def _literal(form: Form, encode: FormEncoder) -> FormEncoder:
    """Return the encoder that first looks whether `cl` is cl and 1 is 1."""
    literals = [(n, slot.literal) for n, slot in enumerate(form.shape.slots) if slot.literal]

    def encode_literal(asm: Assembler, operands: tuple[Any, ...]) -> Record | None:
        return encode(asm, operands) if all(str(operands[n]) == literal for n, literal in literals) else None

    return encode_literal


def _jump(form: Form) -> FormEncoder:
    """Return the encoder of a jump: 8 bits to a label that is bound and near, else 32 bits and a fix-up."""
    opcode, width = form.encoding.opcode, form.shape.slots[0].width
    size, open_ = len(opcode) + width, opcode + bytes(4)

    def near(asm: Assembler, operands: tuple[Any, ...]) -> Record | None:
        label = operands[0]
        if label.position is None or label.owner is not asm:  # the fix-up refuses a stranger
            return None
        distance = label.position - len(asm.buffer) - size
        if not -128 <= distance < 128:
            return None
        return form, operands, opcode + distance.to_bytes(1, "little", signed=True)

    def far(asm: Assembler, operands: tuple[Any, ...]) -> Record | None:
        add_relative_fixup(asm, operands[0], len(asm.buffer) + len(opcode), 4)
        return form, operands, open_

    return near if width == 1 else far


def add_relative_fixup(asm: Assembler, label: Label, position: int, rest: int, disp: int = 0) -> None:
    """Have 32 bits at `position` hold label + disp relative to the instruction's end, `rest` bytes after `position`."""
    asm.fixups.append((position, label, _relative_patch(rest, disp)))


@lru_cache(1024)
def _relative_patch(rest: int, disp: int) -> Patch:
    """Return what writes the distance to label + disp; it is the same for all jumps."""

    def patch(code: bytearray, position: int, target: int, label: Label) -> None:
        distance = target + disp - position - rest
        if not -(1 << 31) <= distance < 1 << 31:
            raise EncodingError(f"{label.name} is {distance} bytes away: a relative address has 32 bits")
        code[position : position + 4] = distance.to_bytes(4, "little", signed=True)

    return patch
