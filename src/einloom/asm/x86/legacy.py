"""Encoders of legacy forms: prefixes, REX, opcode, modrm, immediate; and of jumps to labels.

Source: Intel SDM volume 2A, 2.1 and 2.2.
"""

from __future__ import annotations

from typing import Any

from einloom.asm.assembler import Assembler, Memory, Record
from einloom.asm.x86.forms import Form
from einloom.asm.x86.vector import FormEncoder
from einloom.errors import EncodingError


def legacy_encoder(form: Form, kinds: tuple[str, ...], memory: Memory) -> FormEncoder:
    """Return the encoder of a legacy form for operands of these kinds."""
    roles = form.encoding.roles
    if "D" in roles:
        return _jump(form)
    if "O" in roles:
        return _opcode_register(form, memory)
    if "M" not in roles:
        return _fixed(form, memory)
    address = next((n for n, kind in enumerate(kinds) if kind[0] == "m"), None)
    if address is None:
        return _registers(form, kinds, memory)
    return _memory(form, kinds, address)


def _heads(form: Form) -> list[bytes]:
    """Return prefix, REX and opcode for the REX bits W R X B as an index; 16 more with a REX that says nothing else."""
    encoding = form.encoding
    prefixes = bytes.fromhex(encoding.prefix)
    wide = 0
    if not encoding.default64:
        letter = next((letter for letter in "qdw" if letter in form.shape.letters), "")
        prefixes = b"\x66" * (letter == "w") + prefixes
        wide = 8 * (letter == "q" and encoding.wide != "W0")
    heads = []
    for forced in (0, 1):
        for bits in range(8):
            rex = bytes([0x40 | wide | bits]) if forced or wide or bits else b""
            heads.append(prefixes + rex + encoding.opcode)
    return heads


def _needs_rex(register: Any) -> int:
    """Return 8 for spl, bpl, sil, dil, which without REX are ah, ch, dh, bh."""
    return 8 if register.kind == "b" and 4 <= register.number < 8 else 0


def _fixed(form: Form, memory: Memory) -> FormEncoder:
    head = _heads(form)[0]
    immediate = form.encoding.roles.find("I")

    def encode(asm: Assembler, operands: tuple[Any, ...]) -> Record | None:
        tail = b"" if immediate < 0 else _immediate(form, immediate, operands)
        return None if tail is None or not _literals_match(form, operands) else (form, operands, head + tail)

    return encode


def _opcode_register(form: Form, memory: Memory) -> FormEncoder:
    heads = _heads(form)
    register, immediate = form.encoding.roles.index("O"), form.encoding.roles.find("I")

    def encode(asm: Assembler, operands: tuple[Any, ...]) -> Record | None:
        number = operands[register].number
        head = heads[number >> 3 | _needs_rex(operands[register])]
        tail = b"" if immediate < 0 else _immediate(form, immediate, operands)
        if tail is None:
            return None
        return form, operands, head[:-1] + bytes([head[-1] + (number & 7)]) + tail

    return encode


def _registers(form: Form, kinds: tuple[str, ...], memory: Memory) -> FormEncoder:
    heads, roles = _heads(form), form.encoding.roles
    rm, reg, immediate = roles.index("M"), roles.find("R"), roles.find("I")
    constant = 0xC0 | form.encoding.extension << 3
    bytewise = "b" in kinds
    literal = "C" in roles

    def encode(asm: Assembler, operands: tuple[Any, ...]) -> Record | None:
        number = operands[rm].number
        modrm, rex = constant | number & 7, number >> 3
        if reg >= 0:
            number = operands[reg].number
            modrm |= (number & 7) << 3
            rex |= number >> 3 << 2
        if bytewise:
            rex |= _needs_rex(operands[rm]) | (_needs_rex(operands[reg]) if reg >= 0 else 0)
        if literal and not _literals_match(form, operands):
            return None
        code = heads[rex] + modrm.to_bytes(1, "little")
        if immediate < 0:
            record = form, operands, code
            if not literal:
                memory[operands] = record
            return record
        tail = _immediate(form, immediate, operands)
        return None if tail is None else (form, operands, code + tail)

    return encode


def _memory(form: Form, kinds: tuple[str, ...], address: int) -> FormEncoder:
    heads, roles = _heads(form), form.encoding.roles
    reg, immediate = roles.find("R"), roles.find("I")
    constant = form.encoding.extension << 3
    bytewise = "b" in kinds
    literal = "C" in roles

    def encode(asm: Assembler, operands: tuple[Any, ...]) -> Record | None:
        modrm, length, rex = operands[address].locate(1)
        modrm |= constant
        if reg >= 0:
            number = operands[reg].number
            modrm |= (number & 7) << 3
            rex |= number >> 3 << 2
            if bytewise:
                rex |= _needs_rex(operands[reg])
        if literal and not _literals_match(form, operands):
            return None
        code = heads[rex] + modrm.to_bytes(length, "little")
        if immediate < 0:
            return form, operands, code
        tail = _immediate(form, immediate, operands)
        return None if tail is None else (form, operands, code + tail)

    return encode


def _immediate(form: Form, position: int, operands: tuple[Any, ...]) -> bytes | None:
    """Return an immediate's bytes, or None if it is out of the form's range."""
    slot, value = form.shape.slots[position], operands[position]
    if not slot.low <= value <= slot.high:
        return None
    return (value & (1 << 8 * slot.width) - 1).to_bytes(slot.width, "little")


def _literals_match(form: Form, operands: tuple[Any, ...]) -> bool:
    return all(str(operand) == slot.literal for slot, operand in zip(form.shape.slots, operands) if slot.literal)


def _jump(form: Form) -> FormEncoder:
    """Return the encoder of a jump: 8 bits for a label that is bound and near, else 32 bits and a fix-up."""
    opcode, width = form.encoding.opcode, form.shape.slots[0].width
    size = len(opcode) + width

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
        return form, operands, opcode + bytes(4)

    return near if width == 1 else far


def add_relative_fixup(asm: Assembler, label: Any, position: int, rest: int, disp: int = 0) -> None:
    """Have 32 bits at `position` hold label + disp relative to the instruction's end, `rest` bytes after `position`."""

    def patch(code: bytearray, position: int, target: int) -> None:
        distance = target + disp - position - rest
        if not -(1 << 31) <= distance < 1 << 31:
            raise EncodingError(f"{label.name} is {distance} bytes away: a relative address has 32 bits")
        code[position : position + 4] = distance.to_bytes(4, "little", signed=True)

    asm.fixups.append((position, label, patch))
