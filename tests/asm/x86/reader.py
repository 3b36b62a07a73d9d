"""Text back to operands: the opposite of a form's `text`, for frozen vectors.

>>> read("vaddps zmm1 {k1} {z}, zmm2, dword ptr [rdi - 64]{1to16}", Assembler("x86_64"))
('vaddps', (zmm1 {k1} {z}, zmm2, zmmword ptr [rdi - 64]{bcst}))
"""

from __future__ import annotations

import re
from typing import Any

from einloom.asm import Assembler
from einloom.asm.x86 import operands
from einloom.asm.x86.addresses import SIZE_NAMES, Address, mem
from tests.asm.x86.samples import REGISTERS, label_at

NAMED: dict[str, Any] = {value.name: value for group in REGISTERS.values() for value in group} | {
    f"{{{mode}-sae}}": getattr(operands, f"{mode}_sae") for mode in ("rn", "rd", "ru", "rz")
}
NAMED["{sae}"] = operands.sae
SIZES = {name: size for size, name in SIZE_NAMES.items()}
MEMORY = re.compile(r"(?:(\w+) ptr )?\[(.*)\](?:\{1to(\d+)\})?")


def read(text: str, asm: Assembler) -> tuple[str, tuple[Any, ...]]:
    """Return mnemonic and operands as the assembler takes them: rounding last."""
    mnemonic, _, rest = text.replace("lock ", "lock_").partition(" ")
    values = [_operand(part, asm) for part in rest.split(", ")] if rest else []
    values.sort(key=lambda value: isinstance(value, operands.Rounding))
    return mnemonic, tuple(values)


def _operand(text: str, asm: Assembler) -> Any:
    if text in NAMED:
        return NAMED[text]
    if text.startswith("here"):
        return label_at(asm, int(text.removeprefix("here")))
    if text.lstrip("-").isdigit():
        return int(text)
    place, *marks = re.split(r" \{(?=[kz])", text)
    value: Any = NAMED[place] if place in NAMED else _address(place)
    if not marks:
        return value
    mask = NAMED[marks[0].rstrip("}")]
    return value | (mask.z if marks[1:] else mask)


def _address(text: str) -> Address:
    match = MEMORY.fullmatch(text)
    assert match, text
    size, place, lanes = match.groups()
    total: Any = None
    for term in place.replace("- ", "+ -").split(" + "):
        scale, _, name = term.rpartition("*")
        value = NAMED[name] * int(scale or 1) if name in NAMED and (scale or name[1:3] == "mm") else NAMED.get(name)
        value = int(name) if value is None else value
        total = value if total is None else total + value
    if not size or "mm" in place:
        return mem[total]
    bytes_ = SIZES[size] * int(lanes or 1)
    address = getattr(mem, SIZE_NAMES[bytes_])[total]
    return address.bcst if lanes else address
