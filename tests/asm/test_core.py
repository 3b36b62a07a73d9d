"""What both assemblers share: labels, data, listings, counts, features, dispatch on the ISA."""

from __future__ import annotations

from keyword import iskeyword

import pytest

from einloom.asm import Assembler, Label
from einloom.errors import EncodingError

ISAS = ("x86_64", "aarch64")


@pytest.fixture(params=ISAS)
def asm(request: pytest.FixtureRequest) -> Assembler:
    return Assembler(request.param)


def test_an_assembler_is_made_by_isa() -> None:
    for isa in ISAS:
        assert isinstance(Assembler(isa), Assembler)
        assert Assembler(isa).isa == isa
    with pytest.raises(EncodingError, match="x86_64, aarch64"):
        Assembler("riscv64")


def test_labels_take_their_place_once(asm: Assembler) -> None:
    asm.ret()
    here = asm.label("here")
    assert here.position == asm.size > 0
    with pytest.raises(EncodingError, match="bound twice"):
        asm.bind(here)
    with pytest.raises(EncodingError, match="bound twice"):
        asm.bind(asm.data(bytes(4)))


def test_labels_stay_with_their_assembler(asm: Assembler) -> None:
    other = Assembler(asm.isa)
    with pytest.raises(EncodingError, match="another assembler"):
        other.bind(asm.forward("mine"))
    place = asm.label("mine")
    (other.jmp if asm.isa == "x86_64" else other.b)(place)
    with pytest.raises(EncodingError, match="another assembler"):
        other.bytes()


def test_equal_names_are_told_apart(asm: Assembler) -> None:
    names = [asm.forward(name).name for name in ("loop", "loop", None, None, "end")]
    assert len(set(names)) == len(names)
    assert (names[0], names[-1]) == ("loop", "end")


def test_alignment_pads_to_powers_of_two(asm: Assembler) -> None:
    asm.ret()
    asm.align(32)
    assert asm.size == 32
    asm.align(32)
    assert asm.size == 32
    with pytest.raises(EncodingError, match="power of two"):
        asm.align(12)
    with pytest.raises(EncodingError, match="power of two"):
        asm.data(b"1234", align=3)


def test_bytes_may_be_read_before_the_end(asm: Assembler) -> None:
    asm.ret()
    first = asm.bytes()
    constant = asm.data(bytes(range(16)))
    asm.ret()
    last = asm.bytes()
    assert last.startswith(first * 2)
    assert last.endswith(bytes(range(16)))
    assert (len(last) - 16) % 16 == 0
    assert isinstance(constant, Label)
    assert asm.bytes() == last


def test_counts_and_features_come_from_the_rows(asm: Assembler) -> None:
    assert (asm.counts(), asm.features) == ({}, frozenset())
    asm.label("top")
    asm.comment("nothing yet")
    asm.nop()
    asm.nop()
    asm.ret()
    asm.align(64)
    assert asm.counts() == {"nop": 2, "ret": 1}


def test_features_of_x86_forms() -> None:
    asm = Assembler("x86_64")
    asm.mov(asm.rax, asm.rdi)
    assert asm.features == frozenset()
    asm.vpaddd(asm.ymm[0], asm.ymm[1], asm.ymm[2])
    asm.vpaddd(asm.xmm[0], asm.xmm[1], asm.xmm[2])
    assert asm.features == {"avx", "avx2"}
    asm.vaddps(asm.zmm[0], asm.zmm[1], asm.zmm[2])
    assert asm.features == {"avx", "avx2", "avx512f"}
    asm.vaddps(asm.ymm[0] | asm.k[1], asm.ymm[1], asm.ymm[2])
    assert asm.features == {"avx", "avx2", "avx512f", "avx512vl"}


def test_the_listing_needs_no_disassembler() -> None:
    asm = Assembler("x86_64")
    asm.comment("sums 16 floats at a time")
    top = asm.label("top")
    scale = asm.data(b"\0\0\x80\x3f", name="one")
    asm.vaddps(asm.zmm[0] | asm.k[1].z, asm.zmm[0], asm.mem(asm.rdi, 64))
    asm.vmulps(asm.zmm[0], asm.zmm[0], asm.mem(scale).bcst)
    asm.add(asm.rdi, 64)
    asm.dec(asm.rsi)
    asm.jne(top)
    asm.align(16)
    asm.ret()
    assert asm.listing().splitlines() == [
        "          ; sums 16 floats at a time",
        "top:",
        "     0    62f17cc9584701                    vaddps zmm0 {k1} {z}, zmm0, zmmword ptr [rdi + 64]",
        "     7    62f17c58590513000000              vmulps zmm0, zmm0, dword ptr [rip + one]{1to16}",
        "    11    4883c740                          add rdi, 64",
        "    15    48ffce                            dec rsi",
        "    18    75e6                              jne top",
        "    1a    660f1f440000                      align 16",
        "    20    c3                                ret",
        "one:",
        "    24    0000803f",
    ]


def test_an_unknown_mnemonic_is_no_attribute(asm: Assembler) -> None:
    with pytest.raises(EncodingError, match="no instruction 'addd'"):
        asm.addd()
    with pytest.raises(AttributeError):
        asm.addd()
    assert not hasattr(asm, "frobnicate")
    assert not hasattr(asm, "_private")


@pytest.mark.parametrize("isa", ["x86_64", "aarch64"])
def test_the_plain_assembler_has_every_mnemonic(isa: str) -> None:
    plain, suggesting = Assembler.plain(isa), Assembler(isa)
    names = [f"{name}_" if iskeyword(name) else name for name in plain.mnemonics()]
    assert all(callable(getattr(plain, name)) for name in names)
    for asm in (plain, suggesting):
        register = asm.rax if isa == "x86_64" else asm.x[0]
        asm.and_(register, register, *[register] * (isa == "aarch64"))
        asm.add(register, register, *[1] * (isa == "aarch64"))
        asm.ret()
    assert plain.bytes() == suggesting.bytes()
    assert plain.listing() == suggesting.listing()


def test_the_plain_assembler_suggests_nothing() -> None:
    plain = Assembler.plain("x86_64")
    assert isinstance(plain, Assembler)
    with pytest.raises(AttributeError) as raised:
        plain.addd()
    assert not isinstance(raised.value, EncodingError)
    with pytest.raises(EncodingError, match="no assembler for ISA 'z80'"):
        Assembler.plain("z80")


def test_a_refused_instruction_leaves_nothing(asm: Assembler) -> None:
    with pytest.raises(EncodingError):
        asm.add(1, 2, 3, 4)
    assert (asm.size, asm.records, asm.fixups) == (0, [], [])


def test_repr_says_how_much_there_is() -> None:
    asm = Assembler("x86_64")
    asm.label("begin")
    asm.ret()
    assert repr(asm) == "X86Assembler(x86_64, 1 instruction, 1 bytes)"
    other = Assembler("aarch64")
    other.nop()
    other.ret()
    assert repr(other) == "AArch64Assembler(aarch64, 2 instructions, 8 bytes)"


@pytest.mark.parametrize(
    ("isa", "wrong", "near", "form"),
    [
        ("x86_64", "vfmad231ps", "vfmadd231ps", "vfmadd231ps zmm {k}{z}, zmm, zmm/m512/m32bcst{er}"),
        ("aarch64", "fmlaa", "fmla", "fmla Vd.2d, Vn.2d, Vm.d[H]"),
    ],
)
def test_a_misspelt_instruction_shows_the_forms_of_the_nearest(isa: str, wrong: str, near: str, form: str) -> None:
    with pytest.raises(EncodingError) as raised:
        getattr(Assembler(isa), wrong)
    lines = str(raised.value).splitlines()
    assert lines[1].startswith(f"  Near: {near}, ")
    assert lines[2] == f"  Forms of {near}:"
    assert f"    {form}" in lines
