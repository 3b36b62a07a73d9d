"""Wrong operands: each kind raises EncodingError, names the forms that exist, and emits nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from einloom.asm import Assembler
from einloom.asm.x86 import al, cl, eax, k, mem, r8, rax, rcx, rdi, rn_sae, rsp, sae, xmm, ymm, zmm
from einloom.errors import EncodingError

WRONG = [
    ("vaddps", (zmm[0], zmm[1]), "too few operands"),
    ("vaddps", (zmm[0], zmm[1], zmm[2], zmm[3]), "too many operands"),
    ("ret", (rax,), "a register where an immediate belongs"),
    ("vaddps", (zmm[0], zmm[1], rax), "a general register where a vector belongs"),
    ("vaddps", (zmm[0], zmm[1], ymm[2]), "mixed vector lengths"),
    ("vaddps", (zmm[0], zmm[1], 3), "an immediate where a vector belongs"),
    ("vaddps", (zmm[0], mem(rdi), zmm[1]), "memory in the middle"),
    ("vmovups", (mem(rdi), mem(rdi)), "memory twice"),
    ("vaddps", (zmm[0] | k[1], zmm[1] | k[1], zmm[2]), "a mask on a source"),
    ("vmovntps", (mem(rdi) | k[1], zmm[1]), "a mask where none is allowed"),
    ("vcmpps", (k[1] | k[2], ymm[1], ymm[2], 300), "an immediate of 9 bits"),
    ("vcmpps", (k[1] | k[2], ymm[1], ymm[2], -129), "an immediate below 8 bits"),
    ("vgatherdps", (zmm[1], mem(rdi, 0, zmm[2])), "a gather without a mask"),
    ("vgatherdps", (zmm[1] | k[1], mem(rdi, 0, ymm[2])), "an index of another length"),
    ("vgatherdps", (zmm[1] | k[1], mem(rdi, 0, rcx)), "a scalar index"),
    ("vgatherdps", (zmm[1] | k[1].z, mem(rdi, 0, zmm[2])), "a zeroing gather"),
    ("vmovups", (zmm[0], mem(rdi).bcst), "a broadcast where none is allowed"),
    ("vaddps", (ymm[0], ymm[1], ymm[2], rn_sae), "rounding at 256 bits"),
    ("vaddps", (zmm[0], zmm[1], mem(rdi), rn_sae), "rounding with memory"),
    ("vaddps", (zmm[0], zmm[1], zmm[2], sae), "sae where rounding belongs"),
    ("vperm2f128", (ymm[0], ymm[16], ymm[1], 1), "a high register in an instruction without EVEX"),
    ("vblendvps", (ymm[0], ymm[1], ymm[2], ymm[16]), "a high fourth register"),
    ("add", (rdi, 2**31), "an immediate beyond signed 32 bits"),
    ("add", (eax, 2**32), "an immediate beyond 32 bits"),
    ("mov", (rax, 2**64), "an immediate beyond 64 bits"),
    ("add", (rdi, eax), "registers of two widths"),
    ("add", (rdi, 1.5), "no operand at all"),
    ("add", (rdi, "rax"), "a name instead of a register"),
    ("add", (rdi, None), "nothing"),
    ("shl", (rax, al), "a shift by another register than cl"),
    ("shl", (rax, 256), "a shift by more than 8 bits"),
    ("shl", (rax, r8), "a shift by a wide register"),
    ("mov", (rdi, mem.dword(rsp)), "memory of the wrong size"),
    ("vaddps", (zmm[0], zmm[1], mem.dword(rsp)), "memory of one element without .bcst"),
    ("jmp", (5,), "a number where a label belongs"),
    ("call", (eax,), "a jump to a 32-bit register"),
    ("push", (eax,), "a push of 32 bits"),
    ("imul", (rax, cl), "a byte where two operands have none"),
    ("kmovw", (k[1], rax), "a wide register where 32 bits belong"),
]


@pytest.mark.parametrize(("mnemonic", "operands", "why"), WRONG, ids=[why for _, _, why in WRONG])
def test_wrong_operands(mnemonic: str, operands: tuple[object, ...], why: str) -> None:
    asm = Assembler("x86_64")
    with pytest.raises(EncodingError) as caught:
        getattr(asm, mnemonic)(*operands)
    message = str(caught.value)
    assert f"    {mnemonic} " in message or "is no operand" in message
    assert asm.size == 0
    assert asm.records == []


BESIDE_INSTRUCTIONS: dict[str, Callable[[], object]] = {
    "half a displacement": lambda: mem(rdi, 1.5),  # type: ignore[arg-type]
    "a name for a displacement": lambda: mem(rdi, "8"),  # type: ignore[arg-type]
    "a list for a scale": lambda: mem(rdi, 0, rcx, []),  # type: ignore[arg-type]
    "a scale without an index": lambda: mem(rdi, 0, None, 4),
    "a register that is subtracted": lambda: mem[rdi - rcx],  # type: ignore[operator]
    "a number for a mask": lambda: zmm[0] | 3,  # type: ignore[operator]
    "a number for a mask of a mask": lambda: k[1] | 3,  # type: ignore[operator]
    "a number for a mask in memory": lambda: mem(rdi) | 3,  # type: ignore[operator]
    "a mask register that zeroes": lambda: k[1] | k[2].z,  # type: ignore[operator]
}


@pytest.mark.parametrize("make", BESIDE_INSTRUCTIONS.values(), ids=BESIDE_INSTRUCTIONS)
def test_wrong_addresses_and_masks(make: Callable[[], object]) -> None:
    with pytest.raises(EncodingError):
        make()


@pytest.mark.parametrize(
    ("mnemonic", "operands"),
    [
        ("inc", (mem(rdi),)),
        ("mov", (mem(rdi), 5)),
        ("shl", (mem(rdi), 1)),
        ("movzx", (eax, mem(rdi))),
        ("vcvtpd2ps", (xmm[0], mem(rdi))),
        ("vcvtpd2ps", (xmm[0], mem(rdi).bcst)),
        ("vcvtsi2ss", (xmm[0], xmm[1], mem(rdi))),
        ("vfpclassps", (k[1], mem(rdi), 3)),
    ],
)
def test_an_open_memory_size_asks_for_one(mnemonic: str, operands: tuple[object, ...]) -> None:
    asm = Assembler("x86_64")
    with pytest.raises(EncodingError, match=r"size of the access is open"):
        getattr(asm, mnemonic)(*operands)


def test_a_gather_that_would_fault_is_refused() -> None:
    asm = Assembler("x86_64")
    for operands in (
        (zmm[2] | k[1], mem(rdi, 0, zmm[2])),
        (ymm[1], mem(rdi, 0, ymm[1]), ymm[2]),
        (ymm[1], mem(rdi, 0, ymm[2]), ymm[1]),
        (ymm[1], mem(rdi, 0, ymm[2]), ymm[2]),
    ):
        with pytest.raises(EncodingError, match="differ from each other"):
            asm.vgatherdps(*operands)
    asm.vscatterdps(mem(rdi, 0, zmm[2]) | k[1], zmm[2])


def test_a_stated_memory_size_is_enough() -> None:
    asm = Assembler("x86_64")
    asm.inc(mem.dword(rdi))
    asm.mov(mem.qword(rdi), 5)
    asm.vcvtpd2ps(xmm[0], mem.ymmword(rdi))
    asm.vcvtpd2ps(xmm[0], mem.ymmword(rdi).bcst)
    assert [line.split("    ", 1)[1].split("  ")[-1] for line in asm.listing().splitlines()] == [
        "inc dword ptr [rdi]",
        "mov qword ptr [rdi], 5",
        "vcvtpd2ps xmm0, ymmword ptr [rdi]",
        "vcvtpd2ps xmm0, qword ptr [rdi]{1to4}",
    ]


def test_the_message_lists_the_forms() -> None:
    asm = Assembler("x86_64")
    with pytest.raises(EncodingError) as caught:
        asm.vpermps(zmm[0], zmm[1], 3)
    assert str(caught.value).splitlines() == [
        "vpermps zmm0, zmm1, 3: no form takes these operands",
        "  The forms are:",
        "    vpermps ymm {k}{z}, ymm, ymm/m256/m32bcst",
        "    vpermps ymm, ymm, ymm/m256",
        "    vpermps zmm {k}{z}, zmm, zmm/m512/m32bcst",
    ]


def test_an_unknown_mnemonic_names_its_neighbours() -> None:
    asm = Assembler("x86_64")
    with pytest.raises(EncodingError, match="vfmadd231ps"):
        asm.vfmad231ps(zmm[0], zmm[1], zmm[2])
    assert not hasattr(asm, "fmla")
    assert hasattr(asm, "vaddps")
