"""Every row, with random operands, against clang; decoded by capstone.

An AArch64 instruction has one encoding, so the words are equal, not only the decoded texts.
"""

from __future__ import annotations

import random

import capstone
import pytest

from einloom.asm import Assembler
from tests.asm.aarch64.freeze import emit_sample, listed
from tests.asm.aarch64.notation import emit, read_vectors
from tests.asm.aarch64.samples import variants
from tests.asm.oracle import TARGETS, Refused, assemble

SAMPLES = 4  # of each variant of each row


def clang_words(lines: list[str]) -> list[int]:
    """Return the word that clang makes of each line."""
    return [int.from_bytes(code[:4], "little") for code in assemble(lines, "aarch64")]


def decoded(words: list[int]) -> list[str]:
    """Return capstone's text of each word, as if it stood at address 0."""
    decoder = capstone.Cs(capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM)
    texts = []
    for word in words:
        text = next(decoder.disasm_lite(word.to_bytes(4, "little"), 0), None)
        texts.append(f"{text[2]} {text[3]}" if text else "")
    return texts


def test_clang_encodes_every_row_like_einloom():
    asm, rng = Assembler("aarch64"), random.Random(20261120)
    for row, binding in variants():
        for _ in range(SAMPLES):
            emit_sample(asm, row, binding, rng)
    lines, own = listed(asm), asm.words()
    theirs = clang_words(lines)
    wrong = [f"{line}: {a:08x}, clang says {b:08x}" for line, a, b in zip(lines, own, theirs) if a != b]
    assert not wrong, "\n".join(wrong[:20])
    assert len(own) == len(theirs) > 8000


def test_capstone_reads_from_einlooms_words_what_it_reads_from_clangs():
    asm, rng = Assembler("aarch64"), random.Random(7)
    for row, binding in variants():
        emit_sample(asm, row, binding, rng)
    lines, own = listed(asm), asm.words()
    texts = decoded(own)
    assert texts == decoded(clang_words(lines))
    undefined = [line for line, text in zip(lines, texts) if not text]
    assert not undefined


def test_clang_agrees_with_the_frozen_vectors():
    vectors = read_vectors("vectors.txt")
    assert clang_words([text for _, text in vectors]) == [word for word, _ in vectors]


def test_the_feature_column_names_what_plain_armv8_lacks(monkeypatch):
    monkeypatch.setitem(TARGETS, "armv8.0", (["-target", "aarch64-linux-gnu", "-mcpu=generic"], ""))
    asm, texts = Assembler("aarch64"), [text for _, text in read_vectors("vectors.txt")]
    for text in texts:
        emit(asm, text)
    taken_anywhere = ("smstart", "smstop")  # as writes of a system register
    needs_more = [
        n
        for n, (form, _, _) in enumerate(asm.records)
        if set(form.features) - {"neon"} and form.mnemonic not in taken_anywhere
    ]
    with pytest.raises(Refused) as refused:
        assemble(texts, "armv8.0")
    assert list(refused.value.errors) == needs_more
