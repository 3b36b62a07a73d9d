"""Every row against frozen vectors: what clang made of one instruction for each variant."""

from __future__ import annotations

import pytest

from einloom.asm import Assembler
from einloom.asm.aarch64.encoder import mnemonics, rows
from tests.asm.aarch64.freeze import key, listed, used
from tests.asm.aarch64.notation import emit, parse, read_vectors
from tests.asm.aarch64.samples import variants


@pytest.fixture(scope="module")
def assembled() -> Assembler:
    asm = Assembler("aarch64")
    for _, text in read_vectors("vectors.txt"):
        emit(asm, text)
    return asm


def test_every_vector_encodes_to_its_word(assembled):
    expected = read_vectors("vectors.txt")
    wrong = [
        f"{text}: {own:08x}, not {word:08x}" for (word, text), own in zip(expected, assembled.words()) if word != own
    ]
    assert not wrong
    assert len(expected) == len(assembled.words())


def test_every_vector_is_listed_as_it_was_written(assembled):
    assert listed(assembled) == [text for _, text in read_vectors("vectors.txt")]


def test_every_variant_of_every_row_has_a_vector(assembled):
    covered = {key(form) for form in used(assembled)}
    missing = [f"{row}  {binding}" for row, binding in variants() if (row, tuple(binding.items())) not in covered]
    assert not missing


def test_the_rows_need_these_features_and_no_others(assembled):
    assert assembled.features == {"neon", "lse", "dotprod", "i8mm", "bf16", "fp16fml"} | {
        *("sve", "sve_i8mm", "sve_bf16", "sme", "sme_f64f64"),
    }


def test_listing_parses_back_to_the_same_words(assembled):
    again = Assembler("aarch64")
    for line in assembled.listing().splitlines():
        emit(again, line.split("  ")[-1])
    assert again.words() == assembled.words()


def test_fields_of_a_row_are_drawn_once_and_fill_the_word():
    for mnemonic in mnemonics():
        for row in rows(mnemonic):
            widths = [int(t.partition(":")[2] or 1) if t[0] not in "01" else len(t) for t in row.bits.split()]
            assert sum(widths) == 32, row


def test_parse_reads_what_the_listing_writes():
    assert repr(parse("ld1 { v31.s, v0.s }[3], [sp], x7")) == "('ld1', [[v31.s[3], v0.s[3]], [sp], x7], {})"
    assert repr(parse("ldrsw x1, [x2, w3, sxtw #2]")) == "('ldrsw', [x1, [x2, w3, sxtw #2]], {})"
    assert repr(parse("add x0, sp, w1, uxtb")) == "('add', [x0, sp, w1], {'uxtb': 0})"
