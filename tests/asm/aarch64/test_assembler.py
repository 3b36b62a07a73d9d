"""Labels, data, listing and constants of the AArch64 assembler; immediates against their definition in the manual."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest

from einloom.asm import Assembler
from einloom.asm.aarch64 import d, mem, s, v, w, x
from einloom.asm.aarch64.immediates import bitmask, float8
from einloom.errors import EncodingError


@pytest.fixture
def asm() -> Assembler:
    return Assembler("aarch64")


def test_the_base_class_dispatches_and_operands_are_attributes(asm):
    assert isinstance(asm, Assembler) and asm.isa == "aarch64"
    assert (asm.x, asm.v, asm.mem, asm.s, asm.d) == (x, v, mem, s, d)
    assert len(asm.x) == len(asm.w) == 31 and len(asm.v) == 32
    assert (asm.sp.name, asm.xzr.number, asm.wzr.name, asm.wsp.number) == ("sp", 31, "wzr", 31)


def test_registers_and_addresses_are_interned():
    assert v[3].s4 is v[3].s4 and v[3].s[2] is v[3].s[2]
    assert mem(x[1], 16) is mem(x[1], 16) and mem(x[1]).post(64) is mem(x[1]).post(64)


def test_forward_and_backward_labels(asm):
    end = asm.forward("end")
    asm.cbz(w[3], end)
    asm.tbnz(x[3], 63, end)
    top = asm.label("top")
    asm.b_ge(end)
    asm.adr(x[0], top)
    asm.b("lt", top)
    asm.bl(end)
    asm.b(top)
    asm.bind(end)
    assert asm.words() == [0x340000E3, 0xB7F800C3, 0x540000AA, 0x10FFFFE0, 0x54FFFFCB, 0x94000002, 0x17FFFFFC]


def test_data_behind_the_code_is_addressable(asm):
    constant = asm.data(bytes(range(16)), name="bytes")
    asm.ldr(asm.q[0], constant)
    asm.adr(x[1], constant)
    asm.adrp(x[2], constant)
    asm.ret()
    assert asm.size == 16 and asm.bytes()[16:] == bytes(range(16))
    assert asm.words() == [0x9C000080, 0x10000061, 0x90000002, 0xD65F03C0]


def test_adrp_counts_pages_of_the_code(asm):
    asm.align(8192)
    asm.nop()
    asm.align(8192)
    place = asm.label()
    asm.adrp(x[0], place)
    asm.buffer[0x1FFC:0x2000] = asm.buffer[:4]
    assert asm.words()[-1] == 0x90000000


REACH = {  # instruction: bytes forward that it cannot reach, bytes that it can
    "tbz": (lambda a, label: a.tbz(x[0], 3, label), 1 << 15),
    "cbz": (lambda a, label: a.cbz(x[0], label), 1 << 20),
    "b_ne": (lambda a, label: a.b_ne(label), 1 << 20),
    "ldr": (lambda a, label: a.ldr(x[0], label), 1 << 20),
    "adr": (lambda a, label: a.adr(x[0], label), 1 << 20),
}


@pytest.mark.parametrize("name", REACH)
def test_labels_out_of_reach(name):
    emit, reach = REACH[name]
    near, far = Assembler("aarch64"), Assembler("aarch64")
    for asm, distance in ((near, reach - 4), (far, reach)):
        label = asm.forward("there")
        emit(asm, label)
        asm.buffer += bytes(distance - 4)
        asm.bind(label)
    near.bytes()
    with pytest.raises(EncodingError, match=rf"at 0x0 cannot reach label there: the distance {reach} is not -{reach}"):
        far.bytes()


def test_a_misaligned_label_is_no_branch_target(asm):
    label = asm.data(b"12345678", align=1)
    asm.data(b"1", align=1)
    odd = asm.data(b"abc", align=1)
    asm.b(label)
    asm.bytes()
    asm.b(odd)
    with pytest.raises(EncodingError, match=r"cannot reach label constant_3: .* a multiple of 4"):
        asm.bytes()


def test_unbound_label(asm):
    asm.b(asm.forward("nowhere"))
    with pytest.raises(EncodingError, match="nowhere is used but never bound"):
        asm.words()


def test_listing(asm):
    asm.comment("C += A B")
    top = asm.label("loop_k")
    asm.ld1([v[24].s4, v[25].s4], mem(x[7]).post(32))
    asm.fmla(v[0].s4, v[24].s4, v[28].s[0])
    asm.add(x[1], x[1], x[2], lsl=2)
    asm.csel(x[0], x[1], x[2], "hi")
    asm.b_ne(top)
    asm.align(16)
    constant = asm.data(b"\0\0\x80\x3f", name="one")
    asm.ldr(s[0], constant)
    assert asm.listing().splitlines() == [
        "          // C += A B",
        "loop_k:",
        "     0    4cdfa8f8  ld1 { v24.4s, v25.4s }, [x7], #32",
        "     4    4f9c1300  fmla v0.4s, v24.4s, v28.s[0]",
        "     8    8b020821  add x1, x1, x2, lsl #2",
        "     c    9a828020  csel x0, x1, x2, hi",
        "    10    54ffff81  b.ne loop_k",
        "    14    d503201fd503201fd503201f  align 16",
        "    20    1c000020  ldr s0, one",
        "one:",
        "    24    0000803f",
    ]
    assert asm.counts() == {"ld1": 1, "fmla": 1, "add": 1, "csel": 1, "b.ne": 1, "ldr": 1}
    assert asm.features == {"neon"}


def test_features(asm):
    asm.add(x[0], x[1], x[2])
    assert asm.features == frozenset()
    asm.ldadd(x[0], x[1], mem(x[2]))
    assert asm.features == {"lse"}
    asm.sdot(v[0].s4, v[1].b16, v[2].b16)
    asm.ldr(d[0], mem(x[0]))
    assert asm.features == {"lse", "dotprod", "neon"}


def test_align_takes_whole_instructions(asm):
    asm.align(2)
    asm.nop()
    asm.align(8)
    assert asm.words() == [0xD503201F] * 2
    asm.buffer += b"\0"
    with pytest.raises(EncodingError, match="no whole number of instructions"):
        asm.align(4)


def test_reserved_words_take_an_underscore(asm):
    asm.and_(x[0], x[1], x[2])
    asm.not_(v[0].b16, v[1].b16)
    assert asm.counts() == {"and": 1, "not": 1}


def test_numpy_integers_are_immediates(asm):
    numpy = pytest.importorskip("numpy")
    asm.add(x[0], x[0], numpy.int64(64))
    asm.ldr(asm.q[0], mem(x[0], numpy.int32(32)))
    asm.add(x[0], x[0], 64)
    assert asm.words() == [0x91010000, 0x3DC00800, 0x91010000]


def test_mov_prefers_wide_immediates_to_bitmasks(asm):
    for value in (0, 0xFFFF0000, -1, 0x5555555555555555, -0x10001, 0xFFFF):
        asm.mov(x[0], value)
    assert asm.words() == [0xD2800000, 0xD2BFFFE0, 0x92800000, 0xB200F3E0, 0x92A00020, 0xD29FFFE0]


@pytest.mark.parametrize("register", [x[9], w[9]])
def test_mov_constant_makes_any_number(register):
    rng = random.Random(3)
    width = 64 if register is x[9] else 32
    values = [rng.randrange(-1 << width - 1, 1 << width) for _ in range(200)]
    values += [sum(rng.choice((0, 0xFFFF, 0x1234)) << i for i in range(0, width, 16)) for _ in range(200)]
    for value in [*values, 0, -1, 1, (1 << width) - 1, -1 << width - 1, 0xFF00FF]:
        asm = Assembler("aarch64")
        asm.mov_constant(register, value)
        assert 1 <= asm.size // 4 <= width // 16
        assert _simulate(asm.records, width) == value % (1 << width)


def _simulate(records, width) -> int:
    """Return what the register holds after mov, movz, movn, movk."""
    value = 0
    for form, (_, immediate, *rest), _ in records:
        shift = rest[0].amount if rest else 0
        field = immediate << shift
        if form.mnemonic == "movk":
            value = value & ~(0xFFFF << shift) | field
        else:
            value = {"mov": immediate, "movz": field, "movn": ~field}[form.mnemonic]
    return value % (1 << width)


def test_mov_constant_refuses_what_does_not_fit(asm):
    for register, value in ((x[0], 1 << 64), (w[0], 1 << 32), (v[0].s4, 1), (x[0], -(1 << 63) - 1)):
        with pytest.raises(EncodingError, match="mov_constant"):
            asm.mov_constant(register, value)
    for value in (1.5, "1", None):
        with pytest.raises(EncodingError, match="that is no integer"):
            asm.mov_constant(x[0], value)


@pytest.mark.filterwarnings("error")
def test_mov_constant_takes_integers_of_other_libraries(asm):
    for value in (np.uint64(2**63 + 5), np.int8(-3)):
        asm.mov_constant(x[0], value)
        other = Assembler("aarch64")
        other.mov_constant(x[0], int(value))
        assert asm.bytes()[-other.size :] == other.bytes()


def test_float_immediates_are_those_of_the_manual():
    values = {}
    for sign, b, c, efgh in product((0, 1), (0, 1), range(4), range(16)):  # VFPExpandImm
        exponent = c - 3 if b else c + 1
        values[(-1) ** sign * (16 + efgh) / 16 * 2.0**exponent] = sign << 7 | b << 6 | c << 4 | efgh
    assert len(values) == 256
    assert all(float8(value) == bits for value, bits in values.items())
    assert all(float8(value) is None for value in (0.0, -0.0, 0.1, 31.5, 32.0, 0.12, float("inf"), float("nan"), 1e300))


@pytest.mark.parametrize("width", [32, 64])
def test_bitmask_immediates_are_those_of_the_manual(width):
    values = {}
    for n, immr, imms in product((0, 1), range(64), range(64)):
        value = _decode_bit_masks(n, immr, imms, width)
        if value is not None and (n, immr % _size(n, imms)) == (n, immr):
            values[value] = n << 12 | immr << 6 | imms
    assert len(values) == {32: 1302, 64: 5334}[width]
    assert all(bitmask(value, width) == bits for value, bits in values.items())
    rng = random.Random(width)
    others = [rng.randrange(1 << width) for _ in range(2000)] + [value ^ 1 << rng.randrange(width) for value in values]
    assert all(bitmask(value, width) == values.get(value) for value in others)
    assert all(bitmask(value - (1 << width), width) == bits for value, bits in values.items() if value >> width - 1)


def _size(n: int, imms: int) -> int:
    return 1 << (n << 6 | ~imms & 63).bit_length() - 1 if n or ~imms & 63 else 0


def _decode_bit_masks(n: int, immr: int, imms: int, width: int) -> int | None:
    """Return the value of a logical immediate, or None for a reserved one: DecodeBitMasks of the manual."""
    size = _size(n, imms)
    if size < 2 or size > width or (imms & size - 1) == size - 1:
        return None
    run = (1 << (imms & size - 1) + 1) - 1
    turn = immr % size
    element = (run >> turn | run << size - turn) & (1 << size) - 1
    return int(f"{element:0{size}b}" * (width // size), 2)
