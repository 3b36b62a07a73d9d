"""Random operands for a form, kind by kind.

>>> form = Row("vaddps  xyz{kz}  xyz  xyz/m/b4{er}  | EVEX.0F.W0 58 /r RVM  | avx512f").forms()[2]
>>> len(list(mixes(form)))
12
>>> sample(form, ("z{kz}", "z", "mb"), random.Random(0), Assembler("x86_64"))
(zmm24 {k5} {z}, zmm31, zmmword ptr [r12 - 512]{bcst})
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from typing import Any

from einloom.asm import Assembler, Label
from einloom.asm.x86 import operands
from einloom.asm.x86.addresses import SIZE_NAMES, Address, mem
from einloom.asm.x86.forms import Form, Row
from einloom.asm.x86.notation import Slot

REGISTERS = {
    "b": operands.gpr8,
    "w": operands.gpr16,
    "d": operands.gpr32,
    "q": operands.gpr64,
    "x": operands.xmm,
    "y": operands.ymm,
    "z": operands.zmm,
    "k": operands.k,
    "t": operands.tmm,
}
ROUNDINGS = {
    "{er}": (operands.rn_sae, operands.rd_sae, operands.ru_sae, operands.rz_sae),
    "{sae}": (operands.sae,),
}
KEYWORDS = ("and", "or", "not")


def forms_of(rows: str) -> list[Form]:
    """Return every form of a family's text."""
    return [form for line in rows.splitlines() if line[0] != "#" for form in Row(line).forms()]


def emit(asm: Assembler, mnemonic: str, values: tuple[Any, ...]) -> Form:
    """Call the mnemonic's method and return the form that it chose."""
    getattr(asm, mnemonic + "_" * (mnemonic in KEYWORDS))(*values)
    return asm.records[-1][0]


def mixes(form: Form) -> Iterator[tuple[str, ...]]:
    """Yield every combination of kinds that a form takes; memory once, not once a size."""
    kinds = [[kind for kind in sorted(slot.kinds) if not kind[1:2].isdigit()] for slot in form.shape.slots]
    yield from product(*kinds)
    if form.shape.rounding:
        yield from filter(form.accepts, product(*kinds, [form.shape.rounding]))


def sample(form: Form, mix: tuple[str, ...], choose: random.Random, asm: Assembler) -> tuple[Any, ...]:
    """Return operands of these kinds: distinct vector registers, addresses of all shapes, immediates at the ends."""
    count = 32 if form.encoding.space == "EVEX" else 16
    numbers = iter(choose.sample(range(count), 6))
    if "t" in form.shape.letters:
        tiles = choose.sample(list(operands.tmm), 3)
        return tuple(tiles.pop() if kind == "t" else _tile_address(choose) for kind in mix)
    values = [_operand(slot, kind, numbers, choose, asm) for slot, kind in zip(form.shape.slots, mix)]
    if len(mix) > len(form.shape.slots):
        values.append(choose.choice(ROUNDINGS[form.shape.rounding]))
    return tuple(values)


def _operand(slot: Slot, kind: str, numbers: Iterator[int], choose: random.Random, asm: Assembler) -> Any:
    if slot.literal:
        return int(slot.literal) if slot.literal.isdigit() else operands.cl
    if kind == "rel":
        return label_at(asm, choose.randint(-100, 0) if slot.width == 1 else choose.choice([-10000, 300]))
    if kind == "i":
        return choose.choice([slot.low, slot.high, 1, choose.randint(slot.low, slot.high)])
    if kind[0] in "mv":
        return _address(slot, kind, next(numbers), choose)
    registers = REGISTERS[kind[0]]
    register = registers[next(numbers) % len(registers)]
    mask = operands.k[choose.randint(1, 7)]
    return register | mask.z if "{kz}" in kind else register | mask if "{k}" in kind else register


def _address(slot: Slot, kind: str, vector: int, choose: random.Random) -> Address:
    make = getattr(mem, SIZE_NAMES[slot.memory]) if kind[0] == "m" and slot.memory else mem
    base = choose.choice(operands.gpr64)
    step = slot.element if "b" in kind else slot.unit
    disp = choose.choice([0, 1, step, -128 * step, 127 * step, 128 * step, choose.randint(-(1 << 31), (1 << 31) - 1)])
    scale = choose.choice([1, 2, 4, 8])
    if kind[0] == "v":
        place = make(choose.choice([base, base, None]), disp, REGISTERS[kind[1]][vector], scale)
    elif choose.random() < 0.4:
        index = choose.choice([register for register in operands.gpr64 if register is not operands.rsp])
        place = make(choose.choice([base, base, None]), disp, index, scale)
    else:
        place = make(base, disp)
    place = place.bcst if "b" in kind else place
    return place | operands.k[choose.randint(1, 7)] if "{k}" in kind else place


def _tile_address(choose: random.Random) -> Address:
    """Return the address of a tile: always with an index."""
    index = choose.choice([register for register in operands.gpr64 if register is not operands.rsp])
    disp = choose.choice([0, 1, -128, 127, 128, choose.randint(-(1 << 31), (1 << 31) - 1)])
    return mem(choose.choice(operands.gpr64), disp, index, choose.choice([1, 2, 4, 8]))


def label_at(asm: Assembler, distance: int) -> Label:
    """Return a label so many bytes from the start of an empty assembler, named `here-12`."""
    label = Label(f"here{distance:+}", asm)
    label.position = distance
    return label
