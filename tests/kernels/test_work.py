"""What a kernel executes, counted on its code, is what an interpreter of the integers in that code reaches."""

from __future__ import annotations

import random
from typing import Any

import pytest

from einloom.asm import Assembler, Label
from einloom.asm.assembler import Directive
from einloom.asm.x86.operands import Address
from einloom.dtypes import FLOAT32
from einloom.kernels.emit import emit_kernel
from einloom.kernels.select import machine_for
from einloom.kernels.specs import Brgemm, Spec, Unary
from einloom.kernels.work import Work, work_of
from einloom.machine import AVX2, AVX512, NEON, Machine
from tests.soak import soak_count

_JUMPS = {"jne": lambda x: x != 0, "jnz": lambda x: x != 0, "jg": lambda x: x > 0, "jle": lambda x: x <= 0}
_JUMPS |= {"je": lambda x: x == 0, "jl": lambda x: x < 0, "jge": lambda x: x >= 0, "jmp": lambda x: True}


def counted(spec: Spec, machine: Machine, flag: int) -> dict[str, int]:
    """Run the integers of a kernel's code, and count the instructions that were reached, by mnemonic."""
    asm = Assembler(machine.isa)
    emit_kernel(machine_for(asm, machine), spec)
    places = {operand: place for place, (form, operand, _) in enumerate(asm.records) if form is Directive.LABEL}
    registers: dict[str, int] = {"rsp": 1 << 40}
    memory: dict[int, int] = {}
    found: dict[str, int] = {}
    place, compared = 0, 0
    while True:
        form, operands, _ = asm.records[place]
        place += 1
        if isinstance(form, Directive):
            continue
        name = form.mnemonic
        found[name] = found.get(name, 0) + 1
        if name == "ret":
            return found
        if name in _JUMPS:
            place = places[operands[0]] if _JUMPS[name](compared) else place
        elif operands and not name.startswith(("v", "k", "prefetch")):
            compared = _step(name, operands, registers, memory, flag, compared)


def _step(name: str, operands: Any, registers: dict[str, int], memory: dict[int, int], flag: int, before: int) -> int:
    """Execute an instruction on integers; return what a jump behind it compares with 0."""

    def wide(register: Any) -> str:
        text = str(register)
        return {"e": "r" + text[1:]}.get(text[0], text.removesuffix("d") if text[1:2].isdigit() else text)

    def where(address: Any) -> int:
        return value(address[1]) + address[2] + (value(address[3]) * address[4] if len(address) > 3 else 0)

    def value(operand: Any) -> int:
        if isinstance(operand, int):
            return operand
        if isinstance(operand, Address):
            return 0 if isinstance(operand[1], Label) else memory.get(where(operand), 0)
        return registers.get(wide(operand), flag)

    first, *others = operands
    rest = [value(each) for each in others]
    match name:
        case "mov":
            result = rest[0]
        case "lea":
            result = 0 if isinstance(others[0][1], Label) else where(others[0])
        case "add":
            result = value(first) + rest[0]
        case "sub" | "cmp":
            result = value(first) - rest[0]
        case "and":
            result = value(first) & rest[0]
        case "neg":
            result = -value(first)
        case "shl":
            result = value(first) << rest[0]
        case "dec":
            result = value(first) - 1
        case "xor":
            result = 0
        case "test":
            return value(first) & rest[0]
        case "imul":
            result = rest[-1] * (rest[0] if len(rest) > 1 else value(first))
        case "push":
            registers["rsp"] -= 8
            memory[registers["rsp"]] = value(first)
            return before
        case "pop":
            registers[wide(first)] = memory[registers["rsp"]]
            registers["rsp"] += 8
            return before
        case _:
            raise AssertionError(f"{name} {operands}")
    if name == "cmp":
        return result
    if isinstance(first, Address):
        memory[where(first)] = result
    else:
        registers[wide(first)] = result
    return result if name in ("add", "sub", "dec", "xor") else before


def random_spec(rng: random.Random) -> Spec:
    m, n, k, batch = (rng.choice((1, 2, 7, 16, 33, 70)) for _ in "mnkb")
    if rng.random() < 0.3:
        return Unary("identity", FLOAT32, m, n, a=(1, m), b=(n, 1) if rng.random() < 0.5 else (1, m))
    a, b = rng.choice(((1, 0, m, m * k), (k, 0, 1, m * k))), (0, k, 1, n * k)
    return Brgemm(FLOAT32, m, n, k, batch, a=a, b=b, c=rng.choice(((1, m), (n, 1))), beta=rng.choice((0, 1, None)))


@pytest.mark.soak
@pytest.mark.parametrize("machine", [AVX512, AVX2], ids=["avx512", "avx2"])
def test_no_more_is_counted_than_runs_and_products_exactly(machine: Machine) -> None:
    rng = random.Random(1)
    for _ in range(soak_count(400)):
        spec = random_spec(rng)
        work, runs = work_of(spec, machine), [counted(spec, machine, flag) for flag in (0, 1)]
        for found in runs:
            assert work.instructions <= sum(count for name, count in found.items() if not name.startswith("j"))
            assert work.full_gathers <= work.gathers <= sum(n for name, n in found.items() if "gather" in name)
        multiplied = [sum(n for name, n in each.items() if name.startswith(("vfm", "vmul"))) for each in runs]
        assert min(multiplied) * 0.9 <= work.products <= min(multiplied)


def test_the_kinds_of_a_product_in_registers() -> None:
    spec = Brgemm(FLOAT32, 32, 6, 100, a=(1, 0, 32, 0), b=(0, 100, 1, 0), c=(1, 32), beta=0)
    assert (
        work_of(spec, AVX512).products == work_of(spec, AVX2).products // 2 == work_of(spec, NEON).products // 4 == 1200
    )
    assert work_of(spec, AVX512).stores == 12
    assert work_of(spec, AVX512).gathers == 0
    assert Work(1, 2).plus(Work(3, 4), 2) == Work(7, 10)
