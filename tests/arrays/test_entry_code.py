"""Entries as code: made for either ISA on any machine, from descriptions alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

import einloom as el
from einloom.arrays.emit import emit_entry, emit_handover
from einloom.arrays.entry import (
    Apart,
    ArrayArgument,
    Call,
    Data,
    Entry,
    Fresh,
    IntegerArgument,
    NamedNone,
    NoneArgument,
    Scratch,
    ThreadSettings,
)
from einloom.jit.entrycode import Number
from einloom.jit.interpreter import FUNCTIONS, Interpreter

INTERPRETER = Interpreter({name: 0x7F0000001000 + 64 * place for place, name in enumerate(FUNCTIONS)})
FOLLOWING = 0x7F0000002000
ARRAY = ArrayArgument(0x7F0000003000, 0x7F0000003100, (8, 1, 5), (-40, 3, 8), 8, (-280, 40))
ENTRY = Entry(
    arguments=(
        ARRAY,
        NoneArgument(0x7F0000003200),
        IntegerArgument(0x7F0000003300, (1, 7)),
        replace(ARRAY, written=True),
    ),
    calls=(Call(0x7F0000004000, (Data(0), Data(3), Scratch(64)), threads=2),),
    result=3,
    keywords=(0x7F0000003400,),
    apart=(Apart(3, 0, unless_same=True),),
    launch=0x7F0000005000,
    settings=ThreadSettings(0x7F0000006000, 0x7F0000006100, 0x7F0000006200, 0),
    scratch=0x7F0000007000,
    releases_interpreter=True,
)
FRESH = replace(
    ENTRY,
    result=Fresh(0x7F0000008000, 0x7F0000008100, 0x7F0000008200),
    keywords=(),
    may_be_none=NamedNone(0x7F0000003400, NoneArgument(0x7F0000003200)),
    apart=(),
)
DIRECT = Entry(
    arguments=(ARRAY,) * 9,
    calls=(Call(0x7F0000004000, (*(Data(place) for place in range(9)), Number(-5))),),
    result=Number(0x7F0000003200),
)


@pytest.mark.parametrize("isa", ["x86_64", "aarch64"])
@pytest.mark.parametrize("entry", [ENTRY, FRESH, DIRECT])
def test_entries_are_made_anywhere(isa: str, entry: Entry) -> None:
    code = emit_entry(isa, INTERPRETER, entry, FOLLOWING)
    assert code.bytes() == emit_entry(isa, INTERPRETER, entry, FOLLOWING).bytes()
    assert len(code.bytes()) < 2500
    assert emit_handover(isa, INTERPRETER, 0x7F0000009000).bytes()


@pytest.mark.parametrize("isa", ["x86_64", "aarch64"])
def test_checks_touch_nothing(isa: str) -> None:
    """Before the frame is made nothing is stored, and what the next entry needs stays in its registers."""
    listing = emit_entry(isa, INTERPRETER, ENTRY, FOLLOWING).listing()
    lines = [line.split(maxsplit=2)[-1] for line in listing.splitlines()]
    frame = next(place for place, line in enumerate(lines) if line.startswith(("sub rsp", "stp x29")))
    checks = [line for line in lines[:frame] if " " in line]
    assert len(checks) > 20
    kept = ("rdi", "rsi", "rdx", "rcx") if isa == "x86_64" else ("x0", "x1", "x2", "x3")
    for line in checks:
        mnemonic, operands = line.split(maxsplit=1)
        assert mnemonic not in ("str", "stp", "push", "call", "bl", "blr")
        if mnemonic not in ("cmp", "test", "tst", "cbz", "cbnz"):
            assert operands.split(",")[0] not in kept and not operands.startswith(("[", "qword", "dword")), line


def test_there_are_two_isas() -> None:
    with pytest.raises(el.UnsupportedTarget, match="x86_64, aarch64"):
        emit_entry("riscv64", INTERPRETER, ENTRY, FOLLOWING)
