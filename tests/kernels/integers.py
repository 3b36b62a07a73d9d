"""An interpreter of the integers in x86-64 code: which instructions run, where what is computed with vectors does not
decide that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from einloom.asm import Assembler, Label
from einloom.asm.assembler import Directive
from einloom.asm.x86.operands import Address

__all__ = ["reached"]

_JUMPS = {"jne": lambda x: x != 0, "jnz": lambda x: x != 0, "jg": lambda x: x > 0, "jle": lambda x: x <= 0}
_JUMPS |= {"je": lambda x: x == 0, "jl": lambda x: x < 0, "jge": lambda x: x >= 0, "jmp": lambda x: True}


def reached(asm: Assembler, start: Mapping[str, int], other: int = 0) -> Iterator[int]:
    """Yield the places of the instructions that run, in that order, from the first record to where that returns.

    What is called is not followed. Memory holds 0 at first, and registers what `start` says or the `other` value.
    """
    places = {operand: place for place, (form, operand, _) in enumerate(asm.records) if form is Directive.LABEL}
    registers, memory = {"rsp": 1 << 40, **start}, dict[int, int]()
    place, compared = 0, 0
    while True:
        form, operands, _ = asm.records[place]
        place += 1
        if isinstance(form, Directive):
            continue
        yield place - 1
        name = form.mnemonic
        if name == "ret":
            return
        if name in _JUMPS:
            place = places[operands[0]] if _JUMPS[name](compared) else place
        elif operands and not name.startswith(("v", "k", "prefetch", "call")):
            compared = _step(name, operands, registers, memory, other, compared)


def _step(name: str, operands: Any, registers: dict[str, int], memory: dict[int, int], other: int, before: int) -> int:
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
        return registers.get(wide(operand), other)

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
        case "shr":
            result = value(first) >> rest[0]
        case "cmovg":
            result = rest[0] if before > 0 else value(first)
        case "div":
            registers["rax"], registers["rdx"] = divmod(registers["rax"], value(first))
            return before
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
