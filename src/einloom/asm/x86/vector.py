"""Encoders of VEX and EVEX forms: closures that XOR what each operand contributes into a constant.

Positions are those of the little-endian number whose lowest byte is the first of the instruction.
Source: Intel SDM volume 2A, 2.3 (VEX) and 2.7 (EVEX).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from einloom.asm.assembler import Assembler, Record
from einloom.asm.x86.forms import Form
from einloom.asm.x86.registers import NO_ADDRESS, NO_FORM, UNREACHABLE
from einloom.errors import EncodingError

# Returns None where the operands' kinds fit the form but their values do not.
FormEncoder: TypeAlias = Callable[[Assembler, tuple[Any, ...]], Record | None]

MAPS = {"0F": 1, "0F38": 2, "0F3A": 3}
PREFIXES = {"": 0, "66": 1, "F3": 2, "F2": 3}
ROLES = {"R": 0, "V": 1, "M": 2}
# The inverted bits B, X, V' that high numbers of base and index (bits 0, 1, 2 of Address.locate) flip.
EVEX_HIGH = tuple((n & 1) << 13 | (n >> 1 & 1) << 14 | (n >> 2 & 1) << 27 for n in range(8))
VEX3_HIGH = tuple((n & 1) << 13 | (n >> 1 & 1) << 14 | (n >> 2 & 1) * NO_ADDRESS for n in range(8))


class Places(NamedTuple):
    """Positions of the operands by what becomes of them; -1 for none."""

    address: int
    registers: tuple[tuple[int, int], ...]  # with the index of each one's role; at most two beside an address
    immediate: int
    fourth: int  # the register in the last byte


def vector_encoder(form: Form, kinds: tuple[str, ...]) -> FormEncoder:
    """Return the encoder of a VEX or EVEX form for operands of these kinds."""
    places = _places(form, kinds)
    if form.encoding.space == "EVEX":
        if places.address < 0:
            return _evex_registers(form, kinds, places)
        encode = _evex_memory(form, kinds, places)
        return _gather(form, encode, places) if kinds[1][0] == "v" else encode
    if not kinds:
        code = _without_operands(form)
        return lambda asm, operands: (form, operands, code)
    if places.address < 0:
        return _vex_registers(form, places)
    encode = _vex_memory(form, places)
    if "t" in form.shape.letters:
        return _tile_in_memory(form, encode, places.address)
    return _gather(form, encode, places) if kinds[places.address][0] == "v" else encode


def _places(form: Form, kinds: tuple[str, ...]) -> Places:
    address = immediate = fourth = -1
    registers: list[tuple[int, int]] = []
    for n, (kind, role) in enumerate(zip(kinds, form.encoding.roles)):
        if kind[0] in "mv":
            address = n
        elif role == "I":
            immediate = n
        elif role == "S":
            fourth = n
        else:
            registers.append((n, ROLES[role]))
    return Places(address, tuple(registers), immediate, fourth)


def _pair(registers: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return two registers and their roles, position -1 for one that is not there."""
    first, second = (*registers, (-1, 0), (-1, 0))[:2]
    return first, second


def _wide(form: Form) -> int:
    wide = form.encoding.wide
    return "q" in form.shape.letters if wide == "W" else wide == "W1"


def _length(form: Form) -> int:
    return form.encoding.length if form.encoding.length >= 0 else form.shape.length >> 5


def _evex(form: Form) -> int:
    """Return 62 P0 P1 P2 opcode modrm with all inverted register bits set."""
    encoding = form.encoding
    p0 = 0xF0 | MAPS[encoding.map]
    p1 = 0x7C | _wide(form) << 7 | PREFIXES[encoding.prefix]
    p2 = 0x08 | _length(form) << 5
    return 0x62 | p0 << 8 | p1 << 16 | p2 << 24 | encoding.opcode[0] << 32 | encoding.extension << 43


def _evex_registers(form: Form, kinds: tuple[str, ...], places: Places) -> FormEncoder:
    constant = _evex(form) | 0xC0 << 40
    rounded = len(kinds) > len(form.shape.slots)
    if kinds[-1] == "{er}":
        constant &= ~(3 << 29)  # the rounding mode takes the place of the length
    registers, immediate = places.registers, places.immediate

    def encode(asm: Assembler, operands: tuple[Any, ...]) -> Record | None:
        code = constant
        for n, role in registers:
            code ^= operands[n].evex[role]
        if rounded:
            code ^= operands[-1].bits
        return _finished(form, operands, code, 6, immediate, -1)

    return encode


def _evex_memory(form: Form, kinds: tuple[str, ...], places: Places) -> FormEncoder:
    address, registers, immediate, _ = places
    (first, first_role), (second, second_role) = _pair(registers)
    slot, kind = form.shape.slots[address], kinds[address]
    constant, unit = _evex(form), slot.unit
    if "b" in kind:
        constant, unit = constant | 1 << 28, slot.element
    masked = kind.endswith("{k}")

    def encode(asm: Assembler, operands: tuple[Any, ...]) -> Record | None:
        place = operands[address]
        modrm, length, high = place.locate(unit)
        code = constant ^ modrm << 40 ^ operands[first].evex[first_role]
        if second >= 0:
            code ^= operands[second].evex[second_role]
        if high:
            code ^= EVEX_HIGH[high]
        if masked:
            code ^= place.mask.bits
        if immediate >= 0:
            return _finished(form, operands, code, length + 5, immediate, -1)
        return form, operands, code.to_bytes(length + 5, "little")

    return encode


def _vex3(form: Form) -> int:
    """Return C4 P0 P1 opcode modrm with all inverted register bits set."""
    encoding = form.encoding
    p0 = 0xE0 | MAPS[encoding.map]
    p1 = 0x78 | _wide(form) << 7 | _length(form) << 2 | PREFIXES[encoding.prefix]
    return 0xC4 | p0 << 8 | p1 << 16 | encoding.opcode[0] << 24 | encoding.extension << 35


def _vex2(form: Form) -> int:
    """Return C5 P opcode modrm; NO_FORM where the shorter prefix cannot say the map or W."""
    encoding = form.encoding
    if encoding.map != "0F" or _wide(form):
        return NO_FORM
    p0 = 0xF8 | _length(form) << 2 | PREFIXES[encoding.prefix]
    return 0xC5 | p0 << 8 | encoding.opcode[0] << 16 | encoding.extension << 27


def _without_operands(form: Form) -> bytes:
    """Return the code of a VEX form that takes nothing; where it has a modrm, its opcode names that too."""
    rest = form.encoding.opcode[1:]
    if rest:
        return (_vex3(form) & 0xFFFFFFFF).to_bytes(4, "little") + rest
    return (_vex2(form) & 0xFFFFFF).to_bytes(3, "little")


def _vex_registers(form: Form, places: Places) -> FormEncoder:
    short, long = _vex2(form) | 0xC0 << 24, _vex3(form) | 0xC0 << 32
    _, registers, immediate, fourth = places

    def encode(asm: Assembler, operands: tuple[Any, ...]) -> Record | None:
        code, length = short, 4
        for n, role in registers:
            code ^= operands[n].vex2[role]
        if code >= UNREACHABLE:
            code, length = long, 5
            for n, role in registers:
                code ^= operands[n].vex3[role]
        return _finished(form, operands, code, length, immediate, fourth)

    return encode


def _vex_memory(form: Form, places: Places) -> FormEncoder:
    address, registers, immediate, fourth = places
    (first, first_role), (second, second_role) = _pair(registers)
    short, long = _vex2(form), _vex3(form)
    reach = 1 if short < NO_FORM else 0  # the shorter prefix has neither X nor B

    def encode(asm: Assembler, operands: tuple[Any, ...]) -> Record | None:
        modrm, length, high = operands[address].locate(1)
        if high < reach:
            length += 3
            code = short ^ modrm << 24
            if first >= 0:
                code ^= operands[first].vex2[first_role]
            if second >= 0:
                code ^= operands[second].vex2[second_role]
        else:
            length += 4
            code = long ^ VEX3_HIGH[high] ^ modrm << 32
            if first >= 0:
                code ^= operands[first].vex3[first_role]
            if second >= 0:
                code ^= operands[second].vex3[second_role]
        if immediate >= 0 or fourth >= 0:
            return _finished(form, operands, code, length, immediate, fourth)
        return (form, operands, code.to_bytes(length, "little")) if code < UNREACHABLE else None

    return encode


def _tile_in_memory(form: Form, encode: FormEncoder, address: int) -> FormEncoder:
    """Return the encoder that refuses an address without an index, which is the distance between a tile's rows."""

    def encode_tile(asm: Assembler, operands: tuple[Any, ...]) -> Record | None:
        place = operands[address]
        if place.base is None or place.index is None:
            asked = f"{form.mnemonic} {', '.join(map(str, operands))}"
            raise EncodingError(f"{asked}: a tile's address is mem(base, disp, index): the index parts its rows")
        return encode(asm, operands)

    return encode_tile


def _gather(form: Form, encode: FormEncoder, places: Places) -> FormEncoder:
    """Return the encoder that refuses a gather whose registers are not distinct: the processor would fault."""

    def encode_gather(asm: Assembler, operands: tuple[Any, ...]) -> Record | None:
        registers = [operands[n] for n, _ in places.registers] + [operands[places.address].index]
        if len({register.number for register in registers}) < len(registers):
            asked = f"{form.mnemonic} {', '.join(map(str, operands))}"
            raise EncodingError(f"{asked}: a gather's vector registers differ from each other")
        return encode(asm, operands)

    return encode_gather


def _finished(
    form: Form,
    operands: tuple[Any, ...],
    code: int,
    length: int,
    immediate: int,
    fourth: int,
) -> Record | None:
    """Append the immediate or the fourth register."""
    if code >= UNREACHABLE:
        return None
    if immediate >= 0:
        value = operands[immediate]
        if not -128 <= value <= 255:
            return None
        return form, operands, (code | (value & 255) << 8 * length).to_bytes(length + 1, "little")
    if fourth >= 0:
        number = operands[fourth].number
        if number > 15:
            return None
        code |= number << 8 * length + 4
        length += 1
    return form, operands, code.to_bytes(length, "little")
