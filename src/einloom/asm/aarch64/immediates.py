"""How rows write immediates, and how their values become bits.

`#u12` `#u5`              an unsigned number of so many bits in the field `imm` (of eight: in `abc` and `defgh` too)
`#imm12`                  12 bits, or 12 bits shifted left by 12
`#movz` `#movn`           16 bits at a multiple of 16, of the value or of its complement
`#bitmask`                a repeated pattern of 2 to 64 bits: one run of ones, rotated
`#immr` `#imms` `#lsl` `#to` `#extract` `#insert`   bit positions and widths in a general register
`#left` `#right` `#element` `#fraction`             shifts of vector elements, element size, fraction bits
`#float` `#bytemask`      ±(16 to 31)/16 * 2^(-3 to 4); 64 bits of which every byte is 00 or ff
`#bit` `#nzcv` `#0` `#0.0`

Source: Arm Architecture Reference Manual, C6.2 and C7.2; for bitmasks DecodeBitMasks, for floats VFPExpandImm.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from einloom.asm.aarch64.operands import Register
from einloom.asm.aarch64.registers import Kind, Put
from einloom.asm.aarch64.row import Form
from einloom.errors import EncodingError

__all__ = ["ImmediateSpec", "bitmask", "float8", "immediate_spec", "unsigned"]


class ImmediateSpec(NamedTuple):
    """A number."""

    name: str

    def accepts(self, kind: Kind, binding: Mapping[str, str]) -> bool:
        """Whether an operand of this kind goes here: an integer (NumPy's too), for floating point also a float."""
        if kind is int or (kind is float and self.name in ("float", "0.0")):
            return True
        return isinstance(kind, type) and hasattr(kind, "__index__") and not issubclass(kind, Register)

    def put(self, form: Form, kind: Kind) -> Put:
        """Return what checks the value and sets the bits."""
        put = _put_unsigned(form, int(self.name[1:])) if self.name[0] == "u" else _BUILDERS[self.name](form)
        return put if kind in (int, float) else lambda word, value: put(word, value.__index__())


def unsigned(value: Any, limit: int, low: int = 0) -> Any:
    """Return the value if it is `low` to `limit`. Raises EncodingError."""
    if low <= value <= limit:
        return value
    raise EncodingError(f"{value} is not {low} to {limit}")


def bitmask(value: int, width: int) -> int | None:
    """Return N:immr:imms (13 bits) of a logical immediate, or None if the value is none. `width` is 32 or 64."""
    if not -(1 << width - 1) <= value < 1 << width:
        return None
    size, value = width, value & (1 << width) - 1
    while size > 2 and value >> size // 2 == value & (1 << size // 2) - 1:
        size //= 2
        value &= (1 << size) - 1
    ones = value.bit_count()
    if ones in (0, size):
        return None
    low_zeros = (value & -value).bit_length() - 1
    low_ones = (~value & value + 1).bit_length() - 1
    rotation = (size - low_zeros if low_zeros else ones - low_ones) % size
    run = (1 << ones) - 1
    if (run >> rotation | run << size - rotation) & (1 << size) - 1 != value:
        return None
    return (size == 64) << 12 | rotation << 6 | -2 * size & 63 | ones - 1


def float8(value: float) -> int | None:
    """Return the 8 bits of a floating-point immediate, or None if the value is none."""
    mantissa, exponent = math.frexp(abs(value))
    fraction = mantissa * 32 - 16
    if value == 0 or not -3 <= exponent - 1 <= 4 or fraction % 1:  # infinite and NaN: the remainder is NaN
        return None
    return (value < 0) << 7 | (exponent + 2 ^ 4) << 4 | int(fraction)


def _put_eight(form: Form, name: str) -> Callable[[int, int], int]:
    """Return what writes eight bits into one field, or into the manual's a:b:c and d:e:f:g:h."""
    if form.has(name):
        shift = form.place(name)
        return lambda word, value: word | value << shift
    high, low = form.place("abc"), form.place("defgh")
    return lambda word, value: word | value >> 5 << high | (value & 31) << low


def _put_unsigned(form: Form, bits: int) -> Put:
    limit = (1 << bits) - 1
    write = _put_eight(form, "imm")
    return lambda word, value: write(word, unsigned(value, limit))


def _put_range(form: Form, field: str, limit: int, low: int = 0) -> Put:
    shift = form.place(field)
    return lambda word, value: word | unsigned(value, limit, low) << shift


def _imm12(form: Form) -> Put:
    shift, high = form.place("imm"), form.place("sh")

    def put(word: int, value: int) -> int:
        if 0 <= value < 4096:
            return word | value << shift
        if value & 4095 or not 0 <= value < 4096 << 12:
            raise EncodingError(f"{value} is not 0 to 4095, nor 4096 times such a number")
        return word | 1 << high | value >> 12 << shift

    return put


def _wide(form: Form, inverted: bool) -> Put:
    width, shift, half = form.register_bits, form.place("imm"), form.place("hw")
    ones = (1 << width) - 1

    def put(word: int, value: int) -> int:
        bits = (~value if inverted else value) & ones
        position = max(bits.bit_length() - 1, 0) & ~15 if bits & 0xFFFF == 0 or bits >> 16 else 0
        if bits >> position << position != bits or bits >> position > 0xFFFF or not -(ones >> 1) - 1 <= value <= ones:
            raise EncodingError(f"{value} is not 16 bits at a multiple of 16{', complemented' if inverted else ''}")
        return word | position >> 4 << half | bits >> position << shift

    return put


def _logical(form: Form) -> Put:
    width, place = form.register_bits, form.place("imms")

    def put(word: int, value: int) -> int:
        bits = bitmask(value, width)
        if bits is None:
            raise EncodingError(f"{value} is no bitmask of {width} bits: one run of ones, rotated and repeated")
        return word | bits << place

    return put


def _shift_left(form: Form) -> Put:
    width, rotate, last = form.register_bits, form.place("immr"), form.place("imms")

    def put(word: int, value: int) -> int:
        unsigned(value, width - 1)
        return word | (-value & width - 1) << rotate | width - 1 - value << last

    return put


def _insert_at(form: Form) -> Put:
    width, rotate = form.register_bits, form.place("immr")
    return lambda word, value: word | (-unsigned(value, width - 1) & width - 1) << rotate


def _insert_width(form: Form) -> Put:
    width, rotate, last = form.register_bits, form.place("immr"), form.place("imms")

    def put(word: int, value: int) -> int:
        start = -(word >> rotate) & width - 1
        return word | unsigned(value, width - start, 1) - 1 << last

    return put


def _extract_width(form: Form) -> Put:
    width, rotate, last = form.register_bits, form.place("immr"), form.place("imms")

    def put(word: int, value: int) -> int:
        start = word >> rotate & width - 1
        return word | start + unsigned(value, width - start, 1) - 1 << last

    return put


def _tested_bit(form: Form) -> Put:
    high, low, width = form.place("b5"), form.place("b40"), form.register_bits
    return lambda word, value: word | unsigned(value, width - 1) >> 5 << high | (value & 31) << low


def _element_left(form: Form) -> Put:
    width, write = form.element_bits, _put_shift(form)
    return lambda word, value: write(word, unsigned(value, width - 1))


def _element_right(form: Form) -> Put:
    width, write = form.element_bits, _put_shift(form)
    return lambda word, value: write(word, width - unsigned(value, width, 1))


def _put_shift(form: Form) -> Callable[[int, int], int]:
    """Return what writes a shift below the bit that tells the element's size, into one field or SVE's two."""
    if form.has("immhb"):
        shift = form.place("immhb")
        return lambda word, bits: word | bits << shift
    width, high, low = form.element_bits, form.place("tszh"), form.place("tszl")
    return lambda word, bits: word | (width + bits) >> 5 << high | (bits & 31) << low


def _fraction(form: Form) -> Put:
    width, shift = form.register_bits, form.place("scale")
    return lambda word, value: word | 64 - unsigned(value, width, 1) << shift


def _float(form: Form) -> Put:
    write = _put_eight(form, "float")

    def put(word: int, value: float) -> int:
        bits = float8(value)
        if bits is None:
            raise EncodingError(f"{value} is not ±(16 to 31)/16 * 2^(-3 to 4)")
        return write(word, bits)

    return put


def _byte_mask(form: Form) -> Put:
    write = _put_eight(form, "imm")

    def put(word: int, value: int) -> int:
        parts = unsigned(value, (1 << 64) - 1).to_bytes(8, "little")
        if any(part not in (0, 255) for part in parts):
            raise EncodingError(f"{value:#x}: every byte of this constant is 00 or ff")
        return write(word, sum((part & 1) << i for i, part in enumerate(parts)))

    return put


def _exactly(allowed: float) -> Callable[[Form], Put]:
    def put(word: int, value: float) -> int:
        if value != allowed or math.copysign(1, value) < 0:
            raise EncodingError(f"{value}: only {allowed} goes here")
        return word

    return lambda form: put


_BUILDERS: Mapping[str, Callable[[Form], Put]] = {
    "imm12": _imm12,
    "movz": lambda form: _wide(form, inverted=False),
    "movn": lambda form: _wide(form, inverted=True),
    "bitmask": _logical,
    "lsl": _shift_left,
    "immr": lambda form: _put_range(form, "immr", form.register_bits - 1),
    "imms": lambda form: _put_range(form, "imms", form.register_bits - 1),
    "to": _insert_at,
    "insert": _insert_width,
    "extract": _extract_width,
    "bit": _tested_bit,
    "nzcv": lambda form: _put_range(form, "nzcv", 15),
    "left": _element_left,
    "right": _element_right,
    "element": lambda form: _exactly(form.element_bits)(form),
    "fraction": _fraction,
    "float": _float,
    "bytemask": _byte_mask,
    "0": _exactly(0),
    "0.0": _exactly(0.0),
}


def immediate_spec(token: str) -> ImmediateSpec | None:
    """Return what a row's token says, or None if it is no immediate."""
    return ImmediateSpec(token[1:]) if token[0] == "#" else None
