"""Random operands for every row of the AArch64 tables, in every variant.

>>> from einloom.asm.aarch64.encoder import rows
>>> row = rows("fmla")[2]
>>> operands, modifiers = sample(row, {"T": "4s"}, random.Random(1))
>>> [type(operand).__name__ for operand in operands]
['V4s', 'V4s', 'V4s']
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from einloom.asm.aarch64 import operands as o
from einloom.asm.aarch64 import scalable_operands as so
from einloom.asm.aarch64.addresses import AddressSpec, LabelSpec, ModifierSpec
from einloom.asm.aarch64.encoder import mnemonics, rows, spec
from einloom.asm.aarch64.immediates import ImmediateSpec
from einloom.asm.aarch64.names import TABLES, NameSpec
from einloom.asm.aarch64.registers import LaneSpec, ListSpec, RegisterSpec, VectorSpec
from einloom.asm.aarch64.row import Form, Row
from einloom.asm.aarch64.scalable import ScalableSpec

_POOLS: dict[type, tuple[Any, ...]] = {
    type(pool[0]): pool
    for pool in (o.x, o.w, (o.xzr,), (o.wzr,), (o.sp,), (o.wsp,), *(getattr(o, letter) for letter in "bhsdq"))
}


def variants() -> Iterator[tuple[Row, dict[str, str]]]:
    """Yield every row with every choice of its variables."""
    for mnemonic in mnemonics():
        for row in rows(mnemonic):
            for binding in row.bindings():
                yield row, binding


def sample(row: Row, binding: dict[str, str], rng: random.Random) -> tuple[list[Any], dict[str, int]]:
    """Return operands, and modifiers by keyword, that the row takes (often, but for `n!=t` and earlier rows)."""
    form = Form.of(row, binding)
    given: list[Any] = []
    for token in row.operands:
        given.append(_operand(spec(token), form, given, rng))
    modifiers = {}
    if given and (given[-1] is None or isinstance(given[-1], o.Modifier)):
        last = given.pop()
        modifiers = {} if last is None else {last.name: last.amount}
    return given, modifiers


def _operand(one: Any, form: Form, before: list[Any], rng: random.Random) -> Any:
    if isinstance(one, RegisterSpec):
        kinds = one.classes(form.binding)
        kind = kinds[0] if rng.random() < 0.85 else kinds[-1]
        return rng.choice(_POOLS[kind])
    if isinstance(one, VectorSpec):
        return _view(rng.randrange(32), one.arranged(form.binding))
    if isinstance(one, LaneSpec):
        return _lane(one, form, rng)
    if isinstance(one, ListSpec):
        return _list(one, form, rng)
    if isinstance(one, AddressSpec):
        return _address(one, form, rng)
    if isinstance(one, LabelSpec):
        return _distance(one, form, rng)
    if isinstance(one, NameSpec):
        return rng.choice(list(TABLES[one.table][1]))
    if isinstance(one, ModifierSpec):
        return _modifier(one, form, rng)
    if isinstance(one, ScalableSpec):
        return before[0] if one.repeats else _scalable(one, form, rng)
    assert isinstance(one, ImmediateSpec)
    return _immediate(one.name, form, before, rng)


def _scalable(one: ScalableSpec, form: Form, rng: random.Random) -> Any:
    """Return a register of the view, one that fits all its fields."""
    if one.classes.keys() == {""}:
        return (so.za,)
    view = one.view.replace("E", form.binding.get("E", ""))
    number = rng.randrange(1 << min(form.fields[field][1] for field in one.fields))
    if one.row:
        rows = 1 << form.fields[one.row[1]][1]
        return getattr(so.za, view)[number].row(o.w[rng.randrange(12, 16)], rng.randrange(rows))
    if one.classes is so.TILES:
        return getattr(so.za, view)[number]
    if one.classes is so.PREDICATES:
        return getattr(so.p[number], {"": "whole", "/z": "zeroing", "/m": "merging"}.get(view) or view[1:])
    register = getattr(so.z[number], view)
    return (register,) if one.listed else register


def _view(number: int, arrangement: str) -> o.Arranged:
    return getattr(o.v[number], arrangement[-1] + arrangement[:-1])


def _lane(one: LaneSpec, form: Form, rng: random.Random) -> o.Lane:
    size = one.lane(form.binding)
    lanes = getattr(o.v[rng.randrange(1 << form.fields[one.field][1])], size[-1] + size[:-1])
    return lanes[int(one.brackets)] if one.brackets.isdigit() else lanes[rng.randrange(len(lanes))]


def _list(one: ListSpec, form: Form, rng: random.Random) -> list[o.Register]:
    first = rng.randrange(32)
    vectors = [o.v[(first + i) % 32] for i in range(one.length)]
    if one.brackets:
        size = one.arrangement if one.arrangement != "E" else form.binding["E"]
        index = rng.randrange(len(getattr(vectors[0], size)))
        return [getattr(vector, size)[index] for vector in vectors]
    arrangement = form.binding["T"] if one.arrangement == "T" else one.arrangement
    return [_view(vector.number, arrangement) for vector in vectors]


def _address(one: AddressSpec, form: Form, rng: random.Random) -> o.Address:
    base = rng.choice((*o.x, o.sp))
    factor = form.transfer_bytes if one.scale == "Y" else int(one.scale or 1)
    if one.kind is so.VectorsAway:
        return so.mem_vectors(base, rng.randrange(-8, 8))
    if one.kind is o.Indexed:
        extension = rng.choice(("lsl", "sxtx", "uxtw", "sxtw"))
        index = rng.choice((*o.w, o.wzr) if extension.endswith("xtw") else (*o.x, o.xzr))
        return o.mem(base, index, **{extension: rng.choice((0, factor.bit_length() - 1))})
    if one.kind is o.PostRegister:
        return o.mem(base).post(rng.choice(o.x))
    if not one.offset:
        return o.mem(base)
    if one.offset in ("#bytes", "#element"):
        return o.mem(base).post(_step(one.offset, form))
    bits = int(one.offset[2:])
    span = range(1 << bits) if one.offset[1] == "u" else range(-1 << bits - 1, 1 << bits - 1)
    offset = factor * _biased(span, rng)
    return {o.Offset: o.mem(base, offset), o.Pre: o.mem(base, offset).pre, o.Post: o.mem(base).post(offset)}[one.kind]


def _step(offset: str, form: Form) -> int:
    """Return the bytes that a list of registers moves, counted anew."""
    count = int(form.row.operands[0][-2])
    if "T" not in form.binding:
        return count * o.ELEMENT_BYTES[form.binding["E"]]
    lanes, size = int(form.binding["T"][:-1]), o.ELEMENT_BYTES[form.binding["T"][-1]]
    return count * size * (lanes if offset == "#bytes" else 1)


def _distance(one: LabelSpec, form: Form, rng: random.Random) -> int:
    bits = form.fields["offset"][1] + 2 * form.has("low")
    unit = 4096 if one.page else 1 if form.has("low") else 4
    return unit * _biased(range(-1 << bits - 1, 1 << bits - 1), rng)


def _modifier(one: ModifierSpec, form: Form, rng: random.Random) -> o.Modifier | None:
    if one.optional and rng.random() < 0.3:
        return None
    name = rng.choice(one.names)
    if form.has("amount"):
        amounts = range(5) if form.fields["amount"][1] == 3 else range(form.register_bits)
    elif form.has("hw"):
        amounts = range(0, form.register_bits, 16)
    elif form.has("sh"):
        amounts = (0, 12)
    else:
        amounts = (8, 16) if name == "msl" else range(0, 8 << form.fields["by8"][1], 8)
    return o.Modifier.of(name, rng.choice(amounts))


def _biased(span: range, rng: random.Random) -> int:
    """Return a number out of a range: often one of its ends."""
    return rng.choice((span[0], span[-1], rng.choice(span), rng.choice(span)))


def _run_of_ones(width: int, rng: random.Random) -> int:
    """Return a run of ones, rotated and repeated to `width` bits."""
    size = rng.choice([size for size in (2, 4, 8, 16, 32, 64) if size <= width])
    run, turn = (1 << rng.randrange(1, size)) - 1, rng.randrange(size)
    run = (run << turn | run >> size - turn) & (1 << size) - 1
    return int(f"{run:0{size}b}" * (width // size), 2)


def _immediate(name: str, form: Form, before: list[Any], rng: random.Random) -> Any:
    if name[0] == "u":
        return _biased(range(1 << int(name[1:])), rng)
    width = form.register_bits
    if name in ("imm12", "movz", "movn", "bitmask"):
        return _wide(name, width, rng)
    if name in ("insert", "extract"):
        return _biased(range(1, width - before[-1] + 1), rng)
    if name in ("immr", "imms", "lsl", "to", "bit"):
        return _biased(range(width), rng)
    if name == "nzcv":
        return rng.randrange(16)
    if name == "fraction":
        return _biased(range(1, width + 1), rng)
    if name == "float":
        return rng.choice((-1, 1)) * rng.randrange(16, 32) / 16 * 2.0 ** rng.randrange(-3, 5)
    if name == "bytemask":
        return sum(0xFF << 8 * i for i in range(8) if rng.random() < 0.5)
    if name in ("0", "0.0"):
        return 0.0 if "." in name else 0
    bits = form.element_bits
    return {"left": _biased(range(bits), rng), "right": _biased(range(1, bits + 1), rng), "element": bits}[name]


def _wide(name: str, width: int, rng: random.Random) -> int:
    if name == "imm12":
        return _biased(range(4096), rng) << rng.choice((0, 12))
    if name == "bitmask":
        return _run_of_ones(width, rng)
    value = rng.randrange(1 << 16) << rng.randrange(0, width, 16)
    return value if name == "movz" else ~value & (1 << width) - 1
