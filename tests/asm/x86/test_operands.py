"""Registers, masks and addresses: how they are written, and how short their encodings are."""

from __future__ import annotations

import numpy
import pytest

from einloom.asm import Assembler
from einloom.asm.x86 import eax, k, mem, r12, r13, rax, rbp, rcx, rdi, rsp, xmm, ymm, zmm
from einloom.errors import EncodingError
from tests.asm.x86.decoding import decode


def code_of(mnemonic: str, *operands: object) -> bytes:
    asm = Assembler("x86_64")
    getattr(asm, mnemonic)(*operands)
    return asm.bytes()


def test_operands_read_like_assembly() -> None:
    assert str(mem(rdi)) == "[rdi]"
    assert str(mem(rdi, -64)) == "[rdi - 64]"
    assert str(mem(rdi, 8, rcx, 4)) == "[rdi + 4*rcx + 8]"
    assert str(mem[rax + rcx * 4 + 64]) == "[rax + 4*rcx + 64]"
    assert str(mem[64 + rcx * 4 + rax - 128]) == "[rax + 4*rcx - 64]"
    assert str(mem[rax + zmm[3] * 8].bcst) == "[rax + 8*zmm3]{bcst}"
    assert str(mem.dword(rdi) | k[1]) == "dword ptr [rdi] {k1}"
    assert str(zmm[3] | k[1]) == "zmm3 {k1}"
    assert str(zmm[3] | k[1].z) == "zmm3 {k1} {z}"


def test_both_ways_to_write_an_address_are_one() -> None:
    fast, readable = mem(rdi, 64, rcx, 8), mem[rdi + rcx * 8 + 64]
    assert code_of("mov", rax, fast) == code_of("mov", rax, readable)
    assert type(fast) is type(readable)


def test_registers_under_a_mask_are_interned() -> None:
    assert zmm[3] | k[1] is zmm[3] | k[1]
    assert zmm[3] | k[1].z is not zmm[3] | k[1]


@pytest.mark.parametrize("base", [rax, rsp, rbp, r12, r13])
@pytest.mark.parametrize("disp", [0, 1, -128, 127, 128, -129, 2**31 - 1, -(2**31)])
def test_displacements_take_the_fewest_bytes(base: object, disp: int) -> None:
    """Opcode, modrm and prefix are 3 bytes; rsp and r12 need SIB; rbp and r13 have no form without displacement."""
    awkward = base in (rbp, r13)
    expected = 3 + (base in (rsp, r12)) + (4 if not -128 <= disp <= 127 else 1 if disp or awkward else 0)
    assert len(code_of("mov", rax, mem(base, disp))) == expected


@pytest.mark.parametrize(
    ("disp", "size"), [(0, 6), (64, 7), (-8192, 7), (8128, 7), (8192, 10), (1, 10), (32, 10), (127, 10)]
)
def test_evex_counts_short_displacements_in_vectors(disp: int, size: int) -> None:
    assert len(code_of("vmovups", zmm[0], mem(rdi, disp))) == size


@pytest.mark.parametrize(("disp", "size"), [(4, 7), (508, 7), (-512, 7), (512, 10), (2, 10)])
def test_evex_counts_broadcasts_in_elements(disp: int, size: int) -> None:
    assert len(code_of("vaddps", zmm[0], zmm[1], mem(rdi, disp).bcst)) == size


def test_vex_is_preferred_where_it_can_say_the_same() -> None:
    def first_byte(*operands: object) -> int:
        return code_of("vaddps", *operands)[0]

    assert first_byte(ymm[0], ymm[1], ymm[2]) == 0xC5
    assert first_byte(ymm[0], ymm[1], ymm[9]) == 0xC4
    assert first_byte(ymm[0], ymm[1], mem(rdi, 64)) == 0xC5
    assert first_byte(ymm[0], ymm[1], mem(r13, 64)) == 0xC4
    for operands in (
        (ymm[16], ymm[1], ymm[2]),
        (ymm[0], ymm[16], mem(rdi)),
        (ymm[0], ymm[1], ymm[16]),
        (ymm[16], ymm[17], ymm[18]),
        (ymm[0] | k[1], ymm[1], ymm[2]),
        (ymm[0], ymm[1], mem(rdi).bcst),
        (zmm[0], zmm[1], zmm[2]),
    ):
        assert first_byte(*operands) == 0x62


def test_two_unreachable_registers_do_not_cancel() -> None:
    """vfmadd231ps has a VEX form; high registers in two places must still choose EVEX."""
    for registers in ((16, 17, 2), (16, 1, 18), (1, 17, 18), (8, 9, 10), (31, 31, 31)):
        operands = [xmm[n] for n in registers]
        text = f"vfmadd231ps {','.join(map(str, operands))}"
        assert decode(code_of("vfmadd231ps", *operands))[0] == text


def test_small_immediates_are_short() -> None:
    assert len(code_of("add", rdi, 64)) == 4
    assert len(code_of("add", rdi, -128)) == 4
    assert len(code_of("add", rdi, 128)) == 7
    assert len(code_of("mov", rax, 1)) == 7
    assert len(code_of("mov", eax, 1)) == 5
    assert len(code_of("mov", rax, 2**31)) == 10


def test_integers_of_other_libraries_are_taken() -> None:
    assert code_of("add", rdi, numpy.int64(64)) == code_of("add", rdi, 64)
    assert code_of("mov", rax, mem(rdi, numpy.int32(8))) == code_of("mov", rax, mem(rdi, 8))


@pytest.mark.parametrize(
    "make",
    [
        lambda: zmm[0] | k[0],
        lambda: mem(rdi) | k[0],
        lambda: mem(rdi) | k[1].z,
        lambda: mem(rdi, index=rcx, scale=3),
        lambda: mem(rdi, index=rsp, scale=2),
        lambda: mem(eax),
        lambda: mem(zmm[1]),
        lambda: mem[rax + rcx + rdi],
        lambda: mem[rax * 2 + rcx * 4],
        lambda: mem[rax * 3],
    ],
)
def test_operands_that_cannot_be_encoded_are_refused(make: object) -> None:
    with pytest.raises(EncodingError):
        make()  # type: ignore[operator]


def test_displacements_beyond_32_bits_are_refused() -> None:
    with pytest.raises(EncodingError, match="more than 32 bits"):
        code_of("mov", rax, mem(rdi, 2**31))
