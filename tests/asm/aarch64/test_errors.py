"""What the AArch64 encoder refuses, and what it says then."""

from __future__ import annotations

import pytest

from einloom.asm import Assembler
from einloom.asm.aarch64 import b, d, h, mem, q, s, sp, v, w, wzr, x, xzr
from einloom.errors import EncodingError

WRONG_OPERANDS = {
    "arrangements differ": lambda a: a.fmla(v[0].s4, v[1].s4, v[2].s2),
    "no such arrangement": lambda a: a.fadd(v[0].h8, v[1].h8, v[2].h8),
    "bits have bytes": lambda a: a.and_(v[0].s4, v[1].s4, v[2].s4),
    "lane of another size": lambda a: a.fmla(v[0].s4, v[1].s4, v[2].d[0]),
    "bare vector": lambda a: a.fmla(v[0], v[1], v[2]),
    "too few": lambda a: a.fmla(v[0].s4, v[1].s4),
    "too many": lambda a: a.ret(x[0], x[1]),
    "none": lambda a: a.add(),
    "widths differ": lambda a: a.add(x[0], w[1], x[2]),
    "general for scalar": lambda a: a.fadd(s[0], s[1], x[2]),
    "sp is no zero register": lambda a: a.orr(x[0], sp, x[1]),
    "xzr is no stack pointer": lambda a: a.add(xzr, x[0], 1),
    "wzr for a base": lambda a: a.ldr(x[0], mem(wzr)),
    "vector for a base": lambda a: a.ldr(x[0], mem(v[0].d2)),
    "W for a base": lambda a: a.ldr(x[0], mem(w[1])),
    "W index without extension": lambda a: a.ldr(x[0], mem(x[1], w[2])),
    "X index with uxtw": lambda a: a.ldr(x[0], mem(x[1], x[2], uxtw=3)),
    "sp for an index": lambda a: a.ldr(x[0], mem(x[1], sp)),
    "two extensions": lambda a: a.ldr(x[0], mem(x[1], x[2], lsl=3, sxtx=3)),
    "extension of a number": lambda a: a.ldr(x[0], mem(x[1], 8, lsl=3)),
    "no offset at all": lambda a: a.ldr(x[0], mem(x[1], "8")),
    "half an offset": lambda a: a.ldr(x[0], mem(x[1], 0.5)),
    "post-indexed with offset": lambda a: a.ldr(x[0], mem(x[1], 8).post(8)),
    "pre-indexed list": lambda a: a.ld1([v[0].s4], mem(x[1], 16).pre),
    "list with offset": lambda a: a.ld1([v[0].s4], mem(x[1], 16)),
    "no list": lambda a: a.ld1(v[0].s4, mem(x[1])),
    "empty list": lambda a: a.ld1([], mem(x[1])),
    "five registers": lambda a: a.ld1([v[i].s4 for i in range(5)], mem(x[1])),
    "not consecutive": lambda a: a.ld1([v[0].s4, v[2].s4], mem(x[1])),
    "arrangements in a list differ": lambda a: a.ld1([v[0].s4, v[1].s2], mem(x[1])),
    "lanes in a list differ": lambda a: a.ld2([v[0].s[0], v[1].s[1]], mem(x[1])),
    "ld2 has no 1d": lambda a: a.ld2([v[0].d1, v[1].d1], mem(x[1])),
    "post-index of a list by xzr": lambda a: a.ld1([v[0].s4], mem(x[1]).post(xzr)),
    "text for a register": lambda a: a.add("x0", x[1], 1),
    "text for a label": lambda a: a.cbz(x[0], "loop"),
    "float for an integer": lambda a: a.add(x[0], x[1], 1.5),
    "None": lambda a: a.add(x[0], x[1], None),
    "byte pair": lambda a: a.ldp(b[0], b[1], mem(x[0])),
    "modifier of another row": lambda a: a.add(x[0], x[1], x[2], ror=1),
    "modifier of no row": lambda a: a.add(x[0], x[1], x[2], rol=1),
    "two modifiers": lambda a: a.add(x[0], x[1], x[2], lsl=1, lsr=1),
}

OUT_OF_RANGE = {
    "add 4097": (lambda a: a.add(x[0], x[0], 4097), "4097 is not 0 to 4095"),
    "add negative": (lambda a: a.add(x[0], x[0], -1), "-1 is not 0 to 4095"),
    "add 2^24": (lambda a: a.add(x[0], x[0], 1 << 24), "4096 times such a number"),
    "mov": (lambda a: a.mov(x[0], 0x12345), "is not 16 bits at a multiple of 16"),
    "mov w, 33 bits": (lambda a: a.mov(w[0], 1 << 32), "no bitmask of 32 bits"),
    "mov below": (lambda a: a.mov(x[0], -(1 << 63) - 1), "no bitmask of 64 bits"),
    "movz": (lambda a: a.movz(x[0], 65536), "65536 is not 0 to 65535"),
    "movz shift": (lambda a: a.movz(x[0], 1, lsl=8), "the amount is one of 0, 16, 32, 48"),
    "movk w shift": (lambda a: a.movk(w[0], 1, lsl=32), "the amount is one of 0, 16"),
    "and zero": (lambda a: a.and_(x[0], x[1], 0), "0 is no bitmask of 64 bits"),
    "and ones": (lambda a: a.and_(x[0], x[1], -1), "-1 is no bitmask"),
    "and 5": (lambda a: a.and_(x[0], x[1], 5), "5 is no bitmask"),
    "shift": (lambda a: a.lsl(w[0], w[1], 32), "32 is not 0 to 31"),
    "shifted register": (lambda a: a.add(w[0], w[1], w[2], lsl=32), "the amount is one of 0 to 31"),
    "extended register": (lambda a: a.add(x[0], x[1], w[2], uxtw=5), "the amount is one of 0 to 4"),
    "width": (lambda a: a.ubfx(x[0], x[1], 60, 5), "5 is not 1 to 4"),
    "width of bfi": (lambda a: a.bfi(w[0], w[1], 31, 2), "2 is not 1 to 1"),
    "tested bit": (lambda a: a.tbz(w[0], 32, 8), "32 is not 0 to 31"),
    "flags": (lambda a: a.ccmp(x[0], x[1], 16, "eq"), "16 is not 0 to 15"),
    "condition": (lambda a: a.csel(x[0], x[1], x[2], "eqq"), "'eqq' is no cond; there are eq"),
    "inverted always": (lambda a: a.cset(x[0], "al"), "'al' is no !cond"),
    "system register": (lambda a: a.mrs(x[0], "fpcrr"), "there are fpcr"),
    "read-only register": (lambda a: a.msr("cntvct_el0", x[0]), "is no writable"),
    "barrier": (lambda a: a.dmb("all"), "'all' is no barrier"),
    "prefetch": (lambda a: a.prfm("pldl1kepp", mem(x[0])), "there are pldl1keep"),
    "offset misaligned": (lambda a: a.ldr(q[0], mem(x[0], 4104)), "is not 0 to 65520, a multiple of 16"),
    "offset too large": (lambda a: a.ldr(x[0], mem(x[0], 32768)), "32768 is not 0 to 32760, a multiple of 8"),
    "offset too small": (lambda a: a.ldr(x[0], mem(x[0], -257)), "-257 is not -256 to 255"),
    "ldur": (lambda a: a.ldur(x[0], mem(x[0], 256)), "256 is not -256 to 255"),
    "pre": (lambda a: a.str(s[0], mem(x[0], 256).pre), "256 is not -256 to 255"),
    "post": (lambda a: a.str(h[0], mem(x[0]).post(-257)), "-257 is not -256 to 255"),
    "pair misaligned": (lambda a: a.ldp(d[0], d[1], mem(x[0], 4)), "offset 4 is not -512 to 504, a multiple of 8"),
    "pair too far": (lambda a: a.stp(q[0], q[1], mem(x[0], 1024)), "1024 is not -1024 to 1008"),
    "index shift": (lambda a: a.ldr(x[0], mem(x[1], x[2], lsl=2)), "the index is shifted by 0 or 3"),
    "list step": (lambda a: a.ld1([v[0].s4], mem(x[0]).post(32)), "offset 32: only 16 goes here"),
    "lane step": (lambda a: a.st1([v[0].s[1]], mem(x[0]).post(16)), "only 4 goes here"),
    "acquire offset": (lambda a: a.ldar(x[0], mem(x[1], 8)), "offset 8: only 0 goes here"),
    "left shift of lanes": (lambda a: a.shl(v[0].s4, v[1].s4, 32), "32 is not 0 to 31"),
    "right shift of lanes": (lambda a: a.ushr(v[0].s4, v[1].s4, 0), "0 is not 1 to 32"),
    "fraction": (lambda a: a.scvtf(s[0], w[1], 33), "33 is not 1 to 32"),
    "ext": (lambda a: a.ext(v[0].b8, v[1].b8, v[2].b8, 8), "8 is not 0 to 7"),
    "half lane": (lambda a: a.mul(v[0].h8, v[1].h8, v[16].h[0]), "only lanes of v0 to v15"),
    "movi": (lambda a: a.movi(v[0].s4, 256), "256 is not 0 to 255"),
    "movi shift": (lambda a: a.movi(v[0].h8, 1, lsl=16), "the amount is one of 0, 8"),
    "movi ones": (lambda a: a.movi(v[0].s4, 1, msl=4), "the amount is one of 8, 16"),
    "movi bytes": (lambda a: a.movi(v[0].d2, 0x0100), "every byte of this constant is 00 or ff"),
    "float 0.1": (lambda a: a.fmov(v[0].s4, 0.1), "0.1 is not ±(16 to 31)/16"),
    "float 32": (lambda a: a.fmov(s[0], 32.0), "32.0 is not"),
    "negative zero": (lambda a: a.fcmp(s[0], -0.0), "only 0.0 goes here"),
    "high lane": (lambda a: a.fmov(x[0], v[0].d[0]), "only lane 1 goes here"),
    "compare with 1": (lambda a: a.cmeq(v[0].s4, v[1].s4, 1), "only 0 goes here"),
    "branch misaligned": (lambda a: a.b(6), "a multiple of 4"),
    "branch too far": (lambda a: a.b(1 << 27), "is not -134217728 to 134217724 bytes"),
    "page": (lambda a: a.adrp(x[0], 4097), "a multiple of 4096"),
}

UNPREDICTABLE = {
    "written back and loaded": lambda a: a.ldr(x[1], mem(x[1], 8).pre),
    "written back and stored": lambda a: a.str(w[1], mem(x[1]).post(8)),
    "loaded twice": lambda a: a.ldp(d[3], d[3], mem(x[1])),
    "second written back": lambda a: a.stp(x[0], x[1], mem(x[1]).post(16)),
    "status is data": lambda a: a.stxr(w[1], x[1], mem(x[2])),
}


@pytest.fixture
def asm() -> Assembler:
    return Assembler("aarch64")


def refusal(asm: Assembler, emit) -> str:
    """Return the message; nothing must have been emitted."""
    with pytest.raises(EncodingError) as caught:
        emit(asm)
    assert asm.size == 0 and asm.bytes() == b"" and not asm.fixups
    return str(caught.value)


@pytest.mark.parametrize("case", WRONG_OPERANDS)
def test_wrong_operands(asm, case):
    assert refusal(asm, WRONG_OPERANDS[case])


@pytest.mark.parametrize("case", OUT_OF_RANGE)
def test_out_of_range(asm, case):
    emit, words = OUT_OF_RANGE[case]
    message = refusal(asm, emit)
    assert words in message
    assert "Forms of" in message


@pytest.mark.parametrize("case", UNPREDICTABLE)
def test_unpredictable(asm, case):
    assert "unpredictable" in refusal(asm, UNPREDICTABLE[case])


def test_the_stack_pointer_written_back_is_no_data_register(asm):
    asm.ldr(xzr, mem(sp).post(16))
    asm.stp(x[0], xzr, mem(sp, -16).pre)
    asm.ldr(q[1], mem(x[1]).post(16))
    assert asm.words() == [0xF84107FF, 0xA9BF7FE0, 0x3CC10421]


def test_message_shows_the_instruction_and_every_form(asm):
    message = refusal(asm, lambda a: a.fmla(v[0].s4, v[1].s4, v[2].d2))
    assert message.splitlines() == [
        "aarch64 cannot encode `fmla v0.4s, v1.4s, v2.2d`: no form takes such operands",
        "  Forms of fmla:",
        "    fmla Sd, Sn, Vm.s[HL]",
        "    fmla Dd, Dn, Vm.d[H]",
        "    fmla Vd.T, Vn.T, Vm.T                        T is 2s 4s 2d",
        "    fmla Vd.T, Vn.T, Vm.s[HL]                    T is 2s 4s",
        "    fmla Vd.2d, Vn.2d, Vm.d[H]",
        "    fmla Zd.E, Pg/m, Zn.E, Zm.E                  E is s d",
    ]


def test_unknown_mnemonic_names_near_ones(asm):
    with pytest.raises(
        EncodingError, match=r"aarch64 has no instruction 'fmlaa'\n  Near: .*fmla.*\n  Forms of fmla:\n    fmla Sd, Sn"
    ):
        asm.fmlaa(v[0].s4, v[1].s4, v[2].s4)
    with pytest.raises(EncodingError, match=r"(?s)'b_nee'.*b_ne"):
        asm.b_nee(8)
    with pytest.raises(EncodingError, match=r"(?s)'b_nee'.*b_ne"):
        asm.b("nee", 8)
    assert not hasattr(asm, "vfmadd231ps")


def test_lanes_and_views_that_do_not_exist():
    with pytest.raises(EncodingError, match=r"v28\.s\[4\]: the lanes are 0 to 3"):
        v[28].s[4]
    with pytest.raises(EncodingError, match=r"v0\.d\[-1\]"):
        v[0].d[-1]
    with pytest.raises(AttributeError, match=r"v3\.s3: there are the arrangements b8, b16"):
        v[3].s3  # noqa: B018


def test_a_remembered_instruction_does_not_let_a_wrong_one_pass(asm):
    asm.fmov(s[0], 1)
    asm.fcmp(s[0], 0.0)
    asm.add(x[0], x[0], 1)
    for emit in (lambda: asm.fcmp(s[0], -0.0), lambda: asm.add(x[0], x[0], 1.5), lambda: asm.fmov(s[0], 1.1)):
        with pytest.raises(EncodingError):
            emit()
    assert asm.words() == [0x1E2E1000, 0x1E202008, 0x91000400]
