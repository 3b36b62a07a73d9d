"""Read AArch64 assembly text: the inverse of the assembler's listing, for tests.

>>> parse("ldr q4, [x0], #16")
('ldr', [q4, [x0], #16], {})
>>> parse("add x0, x1, x2, lsl #3")
('add', [x0, x1, x2], {'lsl': 3})
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from einloom.asm import Assembler, Label
from einloom.asm.aarch64 import operands as o
from einloom.asm.aarch64 import scalable_operands as so

DATA = Path(__file__).parent
_REGISTERS: dict[str, Any] = {
    register.name: register
    for pool in (o.x, o.w, o.b, o.h, o.s, o.d, o.q, (o.xzr, o.wzr, o.sp, o.wsp))
    for register in pool
}
_REGISTERS |= {view.name: view for one in so.z for view in (one.b, one.h, one.s, one.d)}
_REGISTERS |= {view.name: view for one in so.p for view in (one.whole, one.b, one.s, one.d, one.zeroing, one.merging)}
_REGISTERS |= {tile.name: tile for tile in (so.za, *so.za.s, *so.za.d)}
_OPERANDS = re.compile(r"\s*((?:\[[^]]*\]!?|\{[^}]*\}(?:\[\d+\])?|[^,\[{]+(?:\[[^]]*\])?)+?)\s*(?:,|$)")


def parse(text: str, labels: Mapping[str, Label] | None = None) -> tuple[str, list[Any], dict[str, int]]:
    """Return mnemonic, operands and modifiers of one instruction."""
    mnemonic, _, rest = text.strip().partition(" ")
    operands: list[Any] = []
    modifiers: dict[str, int] = {}
    for part in _OPERANDS.findall(rest):
        name, _, amount = part.partition(" #")
        if name in o.MODIFIERS:
            modifiers[name] = int(amount or 0)
        elif operands and isinstance(operands[-1], o.Offset):
            operands[-1] = operands[-1].post(_operand(part))
        else:
            operands.append(labels[part] if labels and part in labels else _operand(part))
    return mnemonic, operands, modifiers


def emit(asm: Assembler, text: str, labels: Mapping[str, Label] | None = None) -> None:
    """Assemble one line of text."""
    mnemonic, operands, modifiers = parse(text, labels)
    getattr(asm, mnemonic.replace(".", "_"))(*operands, **modifiers)


def read_vectors(name: str) -> list[tuple[int, str]]:
    """Return the words and texts of a file of lines `word | text`."""
    lines = (DATA / name).read_text().splitlines()
    return [(int(word, 16), text) for word, _, text in (line.partition(" | ") for line in lines if line[:1] != "#")]


def _operand(part: str) -> Any:
    if part[0] == "#":
        return float(part[1:]) if "." in part else int(part[1:], 0)
    if part[0] == "[":
        return _address(part)
    if part[0] == "{":
        inside, _, index = part[1:].partition("}")
        return [_register(name.strip() + index) for name in inside.split(",")]
    if row := re.fullmatch(r"(za\d)h\.([sd])\[(w\d+), (\d)\]", part):
        return _REGISTERS[f"{row[1]}.{row[2]}"].row(_REGISTERS[row[3]], int(row[4]))
    return _register(part) if part in _REGISTERS or re.match(r"v\d+\.", part) else part


def _register(text: str) -> Any:
    if text in _REGISTERS:
        return _REGISTERS[text]
    number, lanes, size, index = re.fullmatch(r"v(\d+)\.(\d*)([bhsd])(?:\[(\d+)\])?", text).groups()  # type: ignore[union-attr]
    view = getattr(o.v[int(number)], size + lanes)
    return view[int(index)] if index else view


def _address(part: str) -> Any:
    base, *rest = (piece.strip() for piece in part.strip("[]!").split(","))
    if not rest:
        return o.mem(_REGISTERS[base])
    if rest[-1] == "mul vl":
        return so.mem_vectors(_REGISTERS[base], int(rest[0][1:]))
    if rest[0][0] == "#":
        address = o.mem(_REGISTERS[base], int(rest[0][1:], 0))
        return address.pre if part.endswith("!") else address
    extension = {}
    if len(rest) > 1:
        name, _, amount = rest[1].partition(" #")
        extension = {name: int(amount or 0)}
    return o.mem(_REGISTERS[base], _REGISTERS[rest[0]], **extension)
