"""Jumps and rip-relative addresses reach their labels from before and behind, with and without bytes that follow."""

from __future__ import annotations

import iced_x86
import pytest

from einloom.asm import Assembler
from einloom.asm.x86 import k, mem, rax, rcx, xmm, ymm, zmm
from einloom.errors import EncodingError


def instructions(code: bytes) -> list[iced_x86.Instruction]:
    return list(iced_x86.Decoder(64, code, ip=0))


def test_jumps_to_bound_labels_are_short_within_reach() -> None:
    asm = Assembler("x86_64")
    top = asm.label("top")
    for _ in range(126):
        asm.nop()
    asm.jne(top)
    asm.jne(top)
    short, long = instructions(asm.bytes())[-2:]
    assert (short.len, short.near_branch_target) == (2, 0)
    assert (long.len, long.near_branch_target) == (6, 0)


def test_jumps_ahead_are_fixed_up() -> None:
    asm = Assembler("x86_64")
    end = asm.forward("end")
    asm.jmp(end)
    asm.call(end)
    asm.jbe(end)
    asm.align(16)
    asm.bind(end)
    asm.ret()
    code = instructions(asm.bytes())
    assert [i.near_branch_target for i in code[:3]] == [16, 16, 16]
    assert code[-1].ip == 16


@pytest.mark.parametrize("disp", [0, 4, -4])
def test_rip_relative_addresses_count_from_the_end_of_the_instruction(disp: int) -> None:
    """Legacy, VEX2, VEX3, EVEX, with an immediate and with a register in the last byte."""
    asm = Assembler("x86_64")
    asm.nop()
    before = asm.label("before")
    constant = asm.data(bytes(range(64)), name="constant")
    for label in (before, constant):
        place = mem(label, disp)
        asm.mov(rax, place)
        asm.imul(rax, place, 1000)
        asm.imul(rax, place, 10)
        asm.cmp(mem.qword(label, disp), 5)
        asm.vaddps(ymm[0], ymm[1], place)
        asm.vaddps(ymm[8], ymm[9], place)
        asm.vfmadd231ps(ymm[0], ymm[1], place)
        asm.vaddps(zmm[0], zmm[1], place)
        asm.vaddps(zmm[0] | k[1], zmm[1], place.bcst)
        asm.vmovups(place | k[1], zmm[1])
        asm.vshufps(zmm[0], zmm[1], place, 3)
        asm.vshufps(xmm[0], xmm[1], place, 3)
        asm.vblendvps(xmm[0], xmm[1], place, xmm[2])
        asm.lea(rcx, place)
    asm.ret()
    code = asm.bytes()
    start = code.index(bytes(range(64)))
    count = len(asm.records) - 2
    memory = [i for i in instructions(code)[: count + 1] if i.is_ip_rel_memory_operand]
    assert len(memory) == count - 1
    half = len(memory) // 2
    assert [i.ip_rel_memory_address for i in memory[:half]] == [(1 + disp) % 2**64] * half
    assert [i.ip_rel_memory_address for i in memory[half:]] == [start + disp] * half


def test_data_lies_aligned_behind_the_code_and_is_shared() -> None:
    asm = Assembler("x86_64")
    asm.ret()
    small, large = asm.data(b"\1\2\3\4"), asm.data(bytes(64))
    assert asm.data(b"\1\2\3\4") is small
    assert asm.data(b"\1\2\3\4", name="mine") is not small
    asm.lea(rax, mem(small))
    asm.lea(rax, mem(large))
    code = instructions(asm.bytes())
    assert code[1].ip_rel_memory_address % 4 == 0
    assert code[2].ip_rel_memory_address % 64 == 0
    assert len(asm.bytes()) == code[2].ip_rel_memory_address + 64 + 4


def test_labels_that_are_never_bound_are_named() -> None:
    asm = Assembler("x86_64")
    asm.jmp(asm.forward("nowhere"))
    with pytest.raises(EncodingError, match="nowhere"):
        asm.bytes()


def test_padding_is_one_instruction_up_to_nine_bytes() -> None:
    for count in range(1, 16):
        asm = Assembler("x86_64")
        for _ in range(16 - count):
            asm.nop()
        asm.align(16)
        code = instructions(asm.bytes())
        assert asm.size == 16
        assert len(code) == 16 - count + (1 if count <= 9 else 2)
        assert {i.mnemonic for i in code} == {iced_x86.Mnemonic.NOP}
