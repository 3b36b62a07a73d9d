"""From the rows to closures: find the form for an instruction's operands, compile it once, encode.

A mnemonic's rows are tried in the order of the tables: the first wins that takes operands of these kinds and values.

>>> rows("ret")[1].bits
'1101011 0 010 11111 000000 11110 00000'
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from functools import cache
from typing import Any, Protocol

from einloom.asm.aarch64.addresses import LabelSpec, address_spec, label_spec, modifier_spec
from einloom.asm.aarch64.immediates import immediate_spec
from einloom.asm.aarch64.names import CONDITIONS, name_spec
from einloom.asm.aarch64.operands import Address, Arranged, Lane, Modifier, Register, Scalar
from einloom.asm.aarch64.registers import Kind, Put, register_spec
from einloom.asm.aarch64.row import Form, Row, parse_row
from einloom.asm.aarch64.scalable import scalable_spec
from einloom.asm.assembler import Assembler, Encoder, Label, Memory, Record
from einloom.errors import EncodingError

__all__ = ["encoder", "matches", "mnemonics", "rows", "spec", "takes_lists", "takes_modifiers", "text"]

_FAMILIES = (
    *("integer", "control", "memory", "scalar_float"),
    *("vector_float", "vector_integer", "vector_move", "vector_memory", "dot_products"),
    *("scalable", "matrix"),
)
_INTERNED = (Register, Address, Modifier)
_REMEMBERED = 4096  # records kept for each mnemonic


class Spec(Protocol):
    """What a row says about one operand."""

    def accepts(self, kind: Kind, binding: dict[str, str]) -> bool: ...
    def put(self, form: Form, kind: Kind) -> Put: ...


@cache
def _lines() -> dict[str, list[str]]:
    """Return the lines of the tables by mnemonic."""
    lines: dict[str, list[str]] = {}
    for family in _FAMILIES:
        for line in importlib.import_module(f"einloom.asm.aarch64.rows.{family}").ROWS.splitlines():
            if not line or line[0] == "#":
                continue
            mnemonic = line.split(None, 1)[0]
            if mnemonic == "b.cond":
                for name, code in CONDITIONS.items():
                    lines[f"b.{name}"] = [line.replace("b.cond", f"b.{name}").replace("cond:4", f"{code:04b}")]
            else:
                lines.setdefault(mnemonic, []).append(line)
    return lines


def mnemonics() -> list[str]:
    """Return every mnemonic there is."""
    return list(_lines())


@cache
def rows(mnemonic: str) -> tuple[Row, ...]:
    """Return the rows of a mnemonic; none for an unknown one."""
    return tuple(parse_row(line) for line in _lines().get(mnemonic, ()))


@cache
def spec(token: str) -> Spec:
    """Return what a row's token says about an operand."""
    readers = (modifier_spec, register_spec, scalable_spec, immediate_spec, address_spec, label_spec, name_spec)
    found = next((made for reader in readers if (made := reader(token)) is not None), None)
    assert found is not None, f"no operand is written {token!r}"
    return found


def kind_of(operand: Any) -> Kind:
    """Return what operands are told apart by."""
    if type(operand) is tuple:
        return (type(operand[0]), len(operand)) if operand else (None, 0)
    return type(operand)


def matches(row: Row, kinds: tuple[Kind, ...]) -> Iterator[dict[str, str]]:
    """Yield the bindings of a row's variables under which it takes operands of these kinds."""
    tokens = row.operands
    if len(kinds) != len(tokens) and not (len(kinds) == len(tokens) - 1 and tokens[-1][0] == "{"):
        return
    specs = [spec(token) for token in tokens[: len(kinds)]]
    for binding in row.bindings():
        if all(one.accepts(kind, binding) for one, kind in zip(specs, kinds)):
            yield binding


def encoder(mnemonic: str, memory: Memory) -> Encoder:
    """Return what encodes a mnemonic's instructions; records that would be made again alike are kept in `memory`."""
    table: dict[tuple[Kind, ...], tuple[list[Encoder], bool]] = {}

    def encode(asm: Assembler, operands: tuple[Any, ...]) -> Record:
        kinds = tuple(map(type, operands))
        if tuple in kinds:
            kinds = tuple(map(kind_of, operands))
        entry = table.get(kinds)
        if entry is None:
            entry = table[kinds] = list(_compile(mnemonic, kinds)), _is_remembered(kinds)
        candidates, remembered = entry
        for candidate in candidates:
            try:
                record = candidate(asm, operands)
            except EncodingError:
                continue
            if remembered and len(memory) < _REMEMBERED:
                memory[operands] = record
            return record
        raise EncodingError(_refusal(mnemonic, operands, [_reason(one, asm, operands) for one in candidates]))

    return encode


def _is_remembered(kinds: tuple[Kind, ...]) -> bool:
    """Whether equal operands of these kinds always give the same record. Not floats: 0.0 equals -0.0."""
    plain = [kind[0] if type(kind) is tuple else kind for kind in kinds]
    return all(kind in (int, str) or (isinstance(kind, type) and issubclass(kind, _INTERNED)) for kind in plain)


def _compile(mnemonic: str, kinds: tuple[Kind, ...]) -> Iterator[Encoder]:
    """Yield an encoder for each row that takes operands of these kinds, in the order of the tables."""
    vector = any(_is_vector(kind) for kind in kinds)
    for row in rows(mnemonic):
        for binding in matches(row, kinds):
            yield _closure(Form.of(row, binding, vector), kinds)
            break


def _is_vector(kind: Kind) -> bool:
    kind = kind[0] if type(kind) is tuple else kind
    return isinstance(kind, type) and issubclass(kind, Scalar | Arranged | Lane)


def _closure(form: Form, kinds: tuple[Kind, ...]) -> Encoder:
    """Return what encodes one form."""
    encode = _plain_closure(form, [spec(token).put(form, kind) for token, kind in zip(form.row.operands, kinds)])
    if Label in kinds:
        return _with_fixup(encode, form, kinds.index(Label))
    return _with_distinct(encode, form) if form.row.distinct else encode


def _plain_closure(form: Form, puts: list[Put]) -> Encoder:
    """Return what sets every operand's bits; unrolled for three operands, because it runs for each instruction."""
    base = form.base

    def encode(asm: Assembler, operands: tuple[Any, ...]) -> Record:
        code = base
        for put, operand in zip(puts, operands):
            code = put(code, operand)
        return form, operands, code.to_bytes(4, "little")

    if len(puts) != 3:
        return encode
    first, second, third = puts

    def encode_three(asm: Assembler, operands: tuple[Any, ...]) -> Record:
        a, b, c = operands
        return form, operands, third(second(first(base, a), b), c).to_bytes(4, "little")

    return encode_three


def _with_fixup(encode: Encoder, form: Form, position: int) -> Encoder:
    label_spec = spec(form.row.operands[position])
    assert isinstance(label_spec, LabelSpec)
    patch = label_spec.patch(form)

    def encode_label(asm: Assembler, operands: tuple[Any, ...]) -> Record:
        record = encode(asm, operands)
        asm.fixups.append((len(asm.buffer), operands[position], patch))
        return record

    return encode_label


def _with_distinct(encode: Encoder, form: Form) -> Encoder:
    """Refuse what the manual calls unpredictable: a register written back that is also data, one loaded twice."""
    vector_data = form.binding.get("Y", "x") not in "wx"
    pairs = [(form.place(a), form.place(b)) for a, b in form.row.distinct if a != "n" or not vector_data]
    base = form.place("n")

    def encode_distinct(asm: Assembler, operands: tuple[Any, ...]) -> Record:
        record = encode(asm, operands)
        code = int.from_bytes(record[2], "little")
        for first, second in pairs:
            number = code >> first & 31
            if number == code >> second & 31 and (first, number) != (base, 31):  # 31 is sp for a base, xzr for data
                raise EncodingError("two of these registers must not be the same: the result is unpredictable")
        return record

    return encode_distinct


def _reason(candidate: Encoder, asm: Assembler, operands: tuple[Any, ...]) -> str:
    try:
        candidate(asm, operands)
    except EncodingError as error:
        return str(error)
    raise AssertionError("an encoder that refused must refuse again")


def _refusal(mnemonic: str, operands: tuple[Any, ...], reasons: list[str]) -> str:
    reason = "; ".join(dict.fromkeys(reasons)) or "no form takes such operands"
    forms = "\n".join(f"    {row}" for row in rows(mnemonic))
    return f"aarch64 cannot encode `{text(mnemonic, operands)}`: {reason}\n  Forms of {mnemonic}:\n{forms}"


def text(mnemonic: str, operands: tuple[Any, ...]) -> str:
    """Return an instruction in the notation of Arm's assemblers."""
    return f"{mnemonic} {', '.join(map(_operand_text, operands))}".rstrip()


def _operand_text(operand: Any) -> str:
    if isinstance(operand, str):
        return operand
    if isinstance(operand, Label):
        return operand.name
    if isinstance(operand, tuple):
        names = ", ".join(str(one).partition("[")[0] for one in operand)
        return f"{{ {names} }}[{operand[0].index}]" if operand and isinstance(operand[0], Lane) else f"{{ {names} }}"
    if isinstance(operand, float) or hasattr(operand, "__index__"):
        return f"#{operand}"
    return repr(operand)


def takes_lists(mnemonic: str) -> bool:
    """Whether some row of a mnemonic has a list of registers."""
    return any(token[:2] in ("{V", "{Z") for row in rows(mnemonic) for token in row.operands)


def takes_modifiers(mnemonic: str) -> bool:
    """Whether some row of a mnemonic ends in a shift or an extension."""
    return any(modifier_spec(row.operands[-1]) for row in rows(mnemonic) if row.operands)
