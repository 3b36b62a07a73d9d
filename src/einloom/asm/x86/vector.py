"""Encoders of VEX and EVEX forms: closures that XOR what each operand contributes into a constant.

All positions are those of the little-endian number whose lowest byte is the first of the instruction.
Source: Intel SDM volume 2A, 2.3 (VEX) and 2.7 (EVEX).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from einloom.asm.assembler import Assembler, Memory, Record
from einloom.asm.x86.forms import Form
from einloom.asm.x86.registers import NO_ADDRESS, NO_FORM, UNREACHABLE

# Returns None where the operands' kinds fit the form but their values do not.
FormEncoder: TypeAlias = Callable[[Assembler, tuple[Any, ...]], Record | None]

MAPS = {"0F": 1, "0F38": 2, "0F3A": 3}
PREFIXES = {"": 0, "66": 1, "F3": 2, "F2": 3}
ROLES = {"R": 0, "V": 1, "M": 2}
# The inverted bits B, X, V' that high numbers of base and index (bits 0, 1, 2 of Address.locate) flip.
EVEX_HIGH = tuple((n & 1) << 13 | (n >> 1 & 1) << 14 | (n >> 2 & 1) << 27 for n in range(8))
VEX3_HIGH = tuple((n & 1) << 13 | (n >> 1 & 1) << 14 | (n >> 2 & 1) * NO_ADDRESS for n in range(8))


def vector_encoder(form: Form, kinds: tuple[str, ...], memory: Memory) -> FormEncoder:
    """Return the encoder of a VEX or EVEX form for operands of these kinds."""
    address = next((n for n, kind in enumerate(kinds) if kind[0] in "mv"), None)
    registers = [(n, ROLES[slot.role]) for n, slot in enumerate(form.slots) if slot.role in ROLES and n != address]
    immediate = next((n for n, slot in enumerate(form.slots) if slot.role == "I"), None)
    if form.encoding.space == "EVEX":
        if address is None:
            return _evex_registers(form, kinds, registers, immediate, memory)
        return _evex_memory(form, kinds, address, registers, immediate)
    if not form.slots:
        code = (_vex2_constant(form) & 0xFFFFFF).to_bytes(3, "little")  # no modrm
        return lambda asm, operands: (form, operands, code)
    fourth = next((n for n, slot in enumerate(form.slots) if slot.role == "S"), None)
    if address is None:
        return _vex_registers(form, registers, immediate, fourth, memory)
    return _vex_memory(form, address, registers, immediate, fourth)


def _wide(form: Form) -> int:
    wide = form.encoding.wide
    return "q" in form.letters if wide == "W" else wide == "W1"


def _length(form: Form) -> int:
    return form.encoding.length if form.encoding.length >= 0 else (form.length or 16) >> 5


def _extension(form: Form) -> int:
    return max(form.encoding.extension, 0) << 3


def _evex_constant(form: Form) -> int:
    """Return 62 P0 P1 P2 opcode and the opcode's extension, with all inverted register bits set."""
    encoding = form.encoding
    p0 = 0xF0 | MAPS[encoding.map]
    p1 = 0x7C | _wide(form) << 7 | PREFIXES[encoding.prefix]
    p2 = 0x08 | _length(form) << 5
    return 0x62 | p0 << 8 | p1 << 16 | p2 << 24 | encoding.opcode[0] << 32 | _extension(form) << 40


def _evex_registers(
    form: Form, kinds: tuple[str, ...], registers: list[tuple[int, int]], immediate: int | None, memory: Memory
) -> FormEncoder:
    constant = _evex_constant(form) | 0xC0 << 40
    rounded = len(kinds) > len(form.slots)
    if kinds and kinds[-1] == "{er}":
        constant &= ~(3 << 29)

    def encode(asm: Assembler, operands: tuple[Any, ...]) -> Record | None:
        code = constant
        for n, role in registers:
            code ^= operands[n].evex[role]
        if rounded:
            code ^= operands[-1].bits
        if immediate is not None:
            value = operands[immediate]
            return (form, operands, (code | (value & 255) << 48).to_bytes(7, "little")) if -129 < value < 256 else None
        record = memory[operands] = (form, operands, code.to_bytes(6, "little"))
        return record

    return encode


def _evex_memory(
    form: Form, kinds: tuple[str, ...], address: int, registers: list[tuple[int, int]], immediate: int | None
) -> FormEncoder:
    slot, kind = form.slots[address], kinds[address]
    constant = _evex_constant(form)
    unit = slot.unit
    if "b" in kind:
        constant |= 1 << 28
        unit = slot.element
    masked = kind.endswith("{k}")

    def encode(asm: Assembler, operands: tuple[Any, ...]) -> Record | None:
        place = operands[address]
        modrm, length, high = place.locate(unit)
        code = constant ^ EVEX_HIGH[high] ^ modrm << 40
        for n, role in registers:
            code ^= operands[n].evex[role]
        if masked:
            code ^= place.mask.bits
        length += 5
        if immediate is not None:
            value = operands[immediate]
            if not -129 < value < 256:
                return None
            code |= (value & 255) << 8 * length
            length += 1
        return form, operands, code.to_bytes(length, "little")

    return encode


def _vex3_constant(form: Form) -> int:
    encoding = form.encoding
    p0 = 0xE0 | MAPS[encoding.map]
    p1 = 0x78 | _wide(form) << 7 | _length(form) << 2 | PREFIXES[encoding.prefix]
    return 0xC4 | p0 << 8 | p1 << 16 | encoding.opcode[0] << 24 | _extension(form) << 32


def _vex2_constant(form: Form) -> int:
    """Return the constant of the shorter prefix, or NO_FORM where it cannot say the map or W."""
    encoding = form.encoding
    if encoding.map != "0F" or _wide(form):
        return NO_FORM
    p0 = 0xF8 | _length(form) << 2 | PREFIXES[encoding.prefix]
    return 0xC5 | p0 << 8 | encoding.opcode[0] << 16 | _extension(form) << 24


def _vex_registers(
    form: Form, registers: list[tuple[int, int]], immediate: int | None, fourth: int | None, memory: Memory
) -> FormEncoder:
    short, long = _vex2_constant(form) | 0xC0 << 24, _vex3_constant(form) | 0xC0 << 32

    def encode(asm: Assembler, operands: tuple[Any, ...]) -> Record | None:
        code, length = short, 4
        for n, role in registers:
            code ^= operands[n].vex2[role]
        if code >= UNREACHABLE:
            code, length = long, 5
            for n, role in registers:
                code ^= operands[n].vex3[role]
            if code >= UNREACHABLE:
                return None
        return _with_immediate(form, operands, code, length, immediate, fourth, memory)

    return encode


def _vex_memory(
    form: Form, address: int, registers: list[tuple[int, int]], immediate: int | None, fourth: int | None
) -> FormEncoder:
    short, long = _vex2_constant(form), _vex3_constant(form)
    shortest = 1 if short < UNREACHABLE else 0

    def encode(asm: Assembler, operands: tuple[Any, ...]) -> Record | None:
        modrm, length, high = operands[address].locate(1)
        if high < shortest:
            code = short ^ modrm << 24
            length += 3
            for n, role in registers:
                code ^= operands[n].vex2[role]
        else:
            code = long ^ VEX3_HIGH[high] ^ modrm << 32
            length += 4
            for n, role in registers:
                code ^= operands[n].vex3[role]
        if code >= UNREACHABLE:
            return None
        if immediate is None and fourth is None:
            return form, operands, code.to_bytes(length, "little")
        return _with_immediate(form, operands, code, length, immediate, fourth, None)

    return encode


def _with_immediate(
    form: Form,
    operands: tuple[Any, ...],
    code: int,
    length: int,
    immediate: int | None,
    fourth: int | None,
    memory: Memory | None,
) -> Record | None:
    """Append the immediate or the fourth register, and remember what has neither immediate nor address."""
    if immediate is not None:
        value = operands[immediate]
        if not -129 < value < 256:
            return None
        return form, operands, (code | (value & 255) << 8 * length).to_bytes(length + 1, "little")
    if fourth is not None:
        number = operands[fourth].number
        if number > 15:
            return None
        code |= number << 8 * length + 4
        length += 1
    record = form, operands, code.to_bytes(length, "little")
    if memory is not None:
        memory[operands] = record
    return record
