"""The founding documents' AArch64 code, bit for bit: chapters 7 (kernels) and 8 (generated words)."""

from __future__ import annotations

import random

import pytest

from einloom.asm import Assembler
from einloom.asm.aarch64 import v, w, x, xzr
from tests.asm.aarch64.notation import DATA, emit

ARRANGEMENTS = {"s2": 0x0, "s4": 0x40000000, "d2": 0x40400000}


def assembled(*instructions: str) -> list[int]:
    asm = Assembler("aarch64")
    for text in instructions:
        emit(asm, text)
    return asm.words()


@pytest.mark.parametrize("listing", ["7.2.2", "7.2.3", "7.3.2"])
def test_kernels_of_chapter_7(listing):
    asm, words, texts = Assembler("aarch64"), [], []
    labels = {}
    for line in (DATA / "listings" / f"{listing}.txt").read_text().splitlines():
        word, _, text = line.partition(" | ")
        if text.endswith(":"):
            labels[text[:-1]] = asm.label(text[:-1])
        else:
            emit(asm, text, labels)
            words.append(int(word, 16))
        texts.append(text)
    assert asm.words() == words
    assert [line.split("  ")[-1] for line in asm.listing().splitlines()] == texts


def test_example_0_returns_five():
    assert assembled("mov x0, #5", "ret") == [0xD28000A0, 0xD65F03C0]


@pytest.mark.parametrize("value", [0, 1, 3, 7, 512, 65535])
def test_example_1_sets_the_immediate(value):
    asm = Assembler("aarch64")
    asm.mov(x[0], value)
    assert asm.words() == [0xD2800000 | value << 5]


def test_example_2_adds_five():
    assert assembled("add x0, x0, #5", "ret") == [0x91001400, 0xD65F03C0]


def test_example_3_loops():
    asm = Assembler("aarch64")
    asm.mov(x[0], 512)
    asm.mov(x[1], 0)
    top = asm.label()
    asm.sub(x[0], x[0], 1)
    asm.add(x[1], x[1], 2)
    asm.cbnz(x[0], top)
    asm.mov(x[0], x[1])
    asm.ret()
    assert asm.words() == [0xD2804000, 0xD2800001, 0xD1000400, 0x91000821, 0xB5FFFFC0, 0xAA0103E0, 0xD65F03C0]
    assert asm.bytes()[:4] == bytes.fromhex("004080d2")


def test_cbnz_of_every_register():
    rng = random.Random(1)
    asm, expected = Assembler("aarch64"), []
    for number in range(31):
        for pool, size in ((w, 0), (x, 1)):
            steps = rng.randrange(-1 << 18, 1 << 18)
            asm.cbnz(pool[number], 4 * steps)
            expected.append(0x35000000 | size << 31 | (steps & 0x7FFFF) << 5 | number)
    asm.cbnz(xzr, -8)
    assert asm.words() == [*expected, 0xB5FFFFDF]


@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
def test_fmla_of_vectors(arrangement):
    asm, expected = Assembler("aarch64"), []
    for d in range(32):
        for n, m in ((d, 31 - d), (0, d), (d, 0), (31, d)):
            asm.fmla(*(getattr(v[number], arrangement) for number in (d, n, m)))
            expected.append(0x0E20CC00 | ARRANGEMENTS[arrangement] | m << 16 | n << 5 | d)
    assert asm.words() == expected


def test_fmla_by_element():
    asm, expected = Assembler("aarch64"), []
    for m in range(32):
        for index in range(4):
            for view, bits in (("s2", 0x0F801000), ("s4", 0x4F801000)):
                asm.fmla(getattr(v[m], view), getattr(v[31 - m], view), v[m].s[index])
                expected.append(bits | (index & 1) << 21 | (index >> 1) << 11 | m << 16 | 31 - m << 5 | m)
        for index in range(2):
            asm.fmla(v[m].d2, v[31 - m].d2, v[m].d[index])
            expected.append(0x4FC01000 | index << 11 | m << 16 | 31 - m << 5 | m)
    assert asm.words() == expected
