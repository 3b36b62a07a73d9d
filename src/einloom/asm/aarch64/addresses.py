"""How rows write addresses, labels and modifiers, and how they become bits.

`[n]` `[n,#u12*8]` `[n,#s9]!` `[n],#s9` `[n,m*8]`   offset, pre-indexed, post-indexed, indexed by a register; the factor
                                                    `Y` is the size of the register that is moved
`[n,#s4*vl]`                                        an offset of whole scalable vectors
`[n],#bytes` `[n],#element` `[n],m`                 post-indexed by the bytes that a list moves, or one element of
                                                    each register; by a register
`label` `page`                                      the way to a label; to its page of 4096 bytes
`{lsl/lsr}` `uxtw/sxtw`                             a modifier, written as a keyword; in braces: or none
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from einloom.asm.aarch64 import operands as o
from einloom.asm.aarch64.registers import Kind, Put
from einloom.asm.aarch64.row import Form
from einloom.asm.aarch64.scalable_operands import VectorsAway
from einloom.asm.assembler import Label, Patch
from einloom.errors import EncodingError

__all__ = ["AddressSpec", "LabelSpec", "ModifierSpec", "address_spec", "label_spec", "modifier_spec"]

_ADDRESS = re.compile(r"\[n(?:,(#[us]\d+|m)(?:\*(\w+))?)?\](!)?(?:,(#[a-z]\w*|m)(?:\*(\w+))?)?")
_EXTENSIONS = {"lsl": 3, "uxtw": 2, "sxtw": 6, "sxtx": 7}


class AddressSpec(NamedTuple):
    """A place in memory: `offset` is what stands in the brackets or behind them, without the factor `scale`."""

    kind: type[o.Address]
    offset: str
    scale: str

    def accepts(self, kind: Kind, binding: Mapping[str, str]) -> bool:
        """Whether an operand of this kind goes here."""
        return kind is self.kind

    def put(self, form: Form, kind: Kind) -> Put:
        """Return what sets the fields of base and offset."""
        base = form.place("n")
        if self.kind is o.Indexed:
            return _put_index(form, base, self._factor(form))
        if self.kind is o.PostRegister:
            m = form.place("m")
            return lambda word, address: word | address.base.number << base | address.offset.number << m
        if not self.offset or self.offset in ("#bytes", "#element"):
            return _put_fixed(base, _moved_bytes(form, self.offset))
        return _put_offset(form, base, self.offset, self._factor(form))

    def _factor(self, form: Form) -> int:
        return form.transfer_bytes if self.scale == "Y" else int(self.scale or 1)


def _put_offset(form: Form, base: int, offset: str, factor: int) -> Put:
    shift, bits = form.place("imm"), int(offset[2:])
    low, high = (0, (1 << bits) - 1) if offset[1] == "u" else (-1 << bits - 1, (1 << bits - 1) - 1)
    low, high, remainder, mask, log = low * factor, high * factor, factor - 1, (1 << bits) - 1, factor.bit_length() - 1

    def put(word: int, address: Any) -> int:
        value = address.offset
        if value & remainder or not low <= value <= high:
            multiple = f", a multiple of {factor}" if factor > 1 else ""
            raise EncodingError(f"offset {value} is not {low} to {high}{multiple}")
        return word | address.base.number << base | (value >> log & mask) << shift

    return put


def _put_fixed(base: int, expected: int) -> Put:
    def put(word: int, address: Any) -> int:
        if address.offset != expected:
            raise EncodingError(f"offset {address.offset}: only {expected} goes here")
        return word | address.base.number << base

    return put


def _moved_bytes(form: Form, offset: str) -> int:
    """Return the bytes that a vector list moves: the only step of its post-indexed address."""
    if not offset:
        return 0
    count = int(next(token for token in form.row.operands if token[0] == "{")[-2])
    whole = offset == "#bytes" and "T" in form.binding
    return count * (int(form.binding["T"][:-1]) if whole else 1) * form.element_bits // 8


def _put_index(form: Form, base: int, factor: int) -> Put:
    m, option, scaled, log = form.place("m"), form.place("option"), form.place("S"), factor.bit_length() - 1

    def put(word: int, address: Any) -> int:
        amount = address.amount
        if amount not in (0, log):
            raise EncodingError(f"{address}: the index is shifted by 0{f' or {log}' if log else ''}")
        code = _EXTENSIONS[address.extension] << option | (amount > 0) << scaled
        return word | address.base.number << base | address.offset.number << m | code

    return put


class LabelSpec(NamedTuple):
    """A label, or the distance in bytes from the instruction."""

    page: bool

    def accepts(self, kind: Kind, binding: Mapping[str, str]) -> bool:
        """Whether an operand of this kind goes here."""
        return kind is Label or kind is int

    def put(self, form: Form, kind: Kind) -> Put:
        """Return what sets a distance given as a number; a label's is set when the assembler knows its place."""
        return (lambda word, label: word) if kind is Label else self.distance(form)

    def distance(self, form: Form) -> Callable[[int, int], int]:
        """Return what checks a distance and writes it into the fields `offset` (and `low`)."""
        shift, bits = form.fields["offset"]
        low = form.place("low") if form.has("low") else None
        unit = 4096 if self.page else 4 if low is None else 1
        bits += 0 if low is None else 2
        mask, reach = (1 << bits) - 1, unit << bits - 1

        def put(word: int, distance: int) -> int:
            if distance % unit or not -reach <= distance < reach:
                multiple = f", a multiple of {unit}" if unit > 1 else ""
                raise EncodingError(f"the distance {distance} is not {-reach} to {reach - unit} bytes{multiple}")
            value = distance // unit & mask
            if low is None:
                return word | value << shift
            return word | value >> 2 << shift | (value & 3) << low

        return put

    def patch(self, form: Form) -> Patch:
        """Return what writes the way to a label. Pages count from the start of the code, which lies on a page."""
        put, page = self.distance(form), self.page

        def patch(code: bytearray, position: int, target: int, label: Label) -> None:
            distance = (target >> 12) - (position >> 12) << 12 if page else target - position
            word = int.from_bytes(code[position : position + 4], "little")
            try:
                code[position : position + 4] = put(word, distance).to_bytes(4, "little")
            except EncodingError as error:
                raise EncodingError(
                    f"{form.mnemonic} at {position:#x} cannot reach label {label.name}: {error}"
                ) from None

        return patch


class ModifierSpec(NamedTuple):
    """A shift or extension; the field of its amount says which amounts there are."""

    names: tuple[str, ...]
    optional: bool

    def accepts(self, kind: Kind, binding: Mapping[str, str]) -> bool:
        """Whether an operand of this kind goes here."""
        return any(kind is o.MODIFIERS[name] for name in self.names)

    def put(self, form: Form, kind: Kind) -> Put:
        """Return what sets the fields of the kind of shift and of its amount."""
        field, amounts = _amounts(form)
        shift = form.place(field)
        which = next((form.place(name) for name in ("shift", "option") if form.has(name)), None)
        constant = 0 if which is None else kind.code << which

        def put(word: int, modifier: Any) -> int:
            if modifier.amount not in amounts:
                raise EncodingError(f"{modifier}: the amount is one of {_said(amounts)}")
            return word | amounts.index(modifier.amount) << shift | constant

        return put


def _said(amounts: range | tuple[int, ...]) -> str:
    if len(amounts) > 4:
        return f"{amounts[0]} to {amounts[-1]}"
    return ", ".join(map(str, amounts))


def _amounts(form: Form) -> tuple[str, range | tuple[int, ...]]:
    """Return the field of a modifier's amount and the amounts that its values 0, 1, … stand for."""
    if form.has("amount"):
        return "amount", range(5) if form.fields["amount"][1] == 3 else range(form.register_bits)
    if form.has("sh"):
        return "sh", (0, 12)
    if form.has("hw"):
        return "hw", range(0, form.register_bits, 16)
    if form.has("ones"):
        return "ones", (8, 16)
    return "by8", range(0, 8 << form.fields["by8"][1], 8)


def address_spec(token: str) -> AddressSpec | None:
    """Return what a row's token says, or None if it is no address."""
    match = _ADDRESS.fullmatch(token)
    if not match:
        return None
    inside, scale, pre, behind, step = match.groups()
    if behind:
        return AddressSpec(o.PostRegister if behind == "m" else o.Post, behind, step or "")
    if scale == "vl":
        return AddressSpec(VectorsAway, inside, "")
    kind = o.Indexed if inside == "m" else o.Pre if pre else o.Offset
    return AddressSpec(kind, inside or "", scale or "")


def label_spec(token: str) -> LabelSpec | None:
    """Return what a row's token says, or None if it is no label."""
    return LabelSpec(token == "page") if token in ("label", "page") else None


def modifier_spec(token: str) -> ModifierSpec | None:
    """Return what a row's token says, or None if it is no modifier."""
    names = tuple(token.strip("{}").split("/"))
    return ModifierSpec(names, token[0] == "{") if names[0] in o.MODIFIERS else None
