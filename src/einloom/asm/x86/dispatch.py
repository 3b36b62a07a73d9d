"""From the types of an instruction's operands to the encoder of the first form that takes them, made on first use.

encode = dispatcher([Row(line) for line in rows()["vaddps"]], memory)
form, operands, code = encode(asm, (zmm[0], zmm[1], mem(rdi, 64)))
"""

from __future__ import annotations

import operator
from typing import Any

from einloom.asm.assembler import Assembler, Encoder, Label, Memory, Record
from einloom.asm.x86.addresses import RelativeAddress
from einloom.asm.x86.forms import Form, Row
from einloom.asm.x86.legacy import add_relative_fixup, legacy_encoder
from einloom.asm.x86.vector import FormEncoder, vector_encoder
from einloom.errors import EncodingError

MOST_KEPT = 4096
"""Records that are kept of each mnemonic: displacements differ from program to program without end."""


def dispatcher(rows: list[Row], memory: Memory) -> Encoder:
    """Return the encoder of an instruction with these rows, of which earlier ones win.

    Records of operands without labels are kept in `memory`, so that only what is new is encoded.
    """
    table: dict[tuple[type, ...], tuple[FormEncoder, bool]] = {}
    find = table.get

    def encode(asm: Assembler, operands: tuple[Any, ...]) -> Record:
        entry = find(tuple(map(type, operands)))
        if entry is None:
            operands = tuple(map(_operand, operands))
            types = tuple(map(type, operands))
            entry = table[types] = find(types) or (_encoder(rows, types, operands), not any(map(_is_label, types)))
        encoder, kept = entry
        record = encoder(asm, operands)
        if record is None:
            raise EncodingError(_refusal(rows, operands, "a value is out of range"))
        if kept:
            if len(memory) >= MOST_KEPT:
                memory.clear()
            memory[operands] = record
        return record

    return encode


def _is_label(type_: type) -> bool:
    """Whether an operand of this type leaves a fix-up behind, which belongs to one place."""
    return issubclass(type_, (Label, RelativeAddress))


def form_encoder(form: Form, types: tuple[type, ...]) -> FormEncoder:
    """Return the encoder of one form for operands of these types."""
    kinds = tuple(map(_kind, types))
    encode = (vector_encoder if form.encoding.space else legacy_encoder)(form, kinds)
    for n, type_ in enumerate(types):
        if issubclass(type_, RelativeAddress):
            return _relative(form, n, encode)
    return encode


def _encoder(rows: list[Row], types: tuple[type, ...], operands: tuple[Any, ...]) -> FormEncoder:
    """Return the encoder that tries the forms which take these types in turn; each is made when it is first asked."""
    kinds = tuple(map(_kind, types))
    candidates = [(row, place) for row in rows for place in row.candidates(kinds)]
    for n, kind in enumerate(kinds):
        if kind in ("m", "mb"):
            candidates = [(row, place) for row, place in candidates if row.form(place).accepts(kinds)]
            if len({row.form(place).shape.slots[n].memory for row, place in candidates}) > 1:
                raise EncodingError(
                    _refusal(rows, operands, "the size of the access is open; write mem.dword(…) or the like")
                )
    for number, (row, place) in enumerate(candidates, 1):
        form = row.form(place)
        if form.accepts(kinds):
            encode, others = form_encoder(form, types), candidates[number:]
            return _else_others(encode, others, kinds, types) if others else encode
    raise EncodingError(_refusal(rows, operands, "no form takes these operands"))


def _else_others(
    first: FormEncoder, candidates: list[tuple[Row, int]], kinds: tuple[str, ...], types: tuple[type, ...]
) -> FormEncoder:
    """Return the encoder that tries others after the first one; they are often never asked, and made when they are."""
    others: list[FormEncoder] | None = None

    def encode(asm: Assembler, operands: tuple[Any, ...]) -> Record | None:
        nonlocal others
        record = first(asm, operands)
        if record is None:
            if others is None:
                forms = [row.form(place) for row, place in candidates]
                others = [form_encoder(form, types) for form in forms if form.accepts(kinds)]
            for other in others:
                record = other(asm, operands)
                if record is not None:
                    break
        return record

    return encode


def _relative(form: Form, address: int, encode: FormEncoder) -> FormEncoder:
    """Return the encoder that also has the address of a label written, once that is known."""
    rest = 4 + sum(slot.width for slot in form.shape.slots) + ("S" in form.encoding.roles)

    def encode_relative(asm: Assembler, operands: tuple[Any, ...]) -> Record | None:
        record = encode(asm, operands)
        if record is not None:
            place = operands[address]
            add_relative_fixup(asm, place.base, len(asm.buffer) + len(record[2]) - rest, rest, place.disp)
        return record

    return encode_relative


def _kind(type_: Any) -> str:
    return "i" if type_ is int else "rel" if type_ is Label else type_.kind


def _operand(operand: Any) -> Any:
    """Return the operand, an integer of another library as Python's. Raises EncodingError for what is no operand."""
    if hasattr(type(operand), "kind") or isinstance(operand, Label):
        return operand
    try:
        return operator.index(operand)
    except TypeError:
        hint = "Operands are registers, mem(…), integers and labels."
        raise EncodingError(f"{operand!r} is no operand\n  {hint}") from None


def _refusal(rows: list[Row], operands: tuple[Any, ...], reason: str) -> str:
    """Return the text of an error: the instruction as it was asked for, why not, and the forms that exist."""
    asked = f"{rows[0].mnemonic} {', '.join(map(_shown, operands))}".rstrip()
    return "\n".join([f"{asked}: {reason}", "  The forms are:", *(f"    {form}" for form in notations(rows))])


def notations(rows: list[Row]) -> list[str]:
    """Return the forms of some rows in the notation of the manual."""
    return sorted({form.notation for row in rows for form in row.forms()})


def _shown(operand: Any) -> str:
    return operand.name if isinstance(operand, Label) else str(operand)
