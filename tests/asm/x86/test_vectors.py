"""Frozen vectors: bytes that clang and iced-x86 agreed with when they were written."""

from __future__ import annotations

import iced_x86

from einloom.asm import Assembler
from einloom.asm.x86.forms import Form
from einloom.asm.x86.rows import FAMILIES
from tests.asm.x86.reader import read
from tests.asm.x86.samples import emit, forms_of
from tests.asm.x86.vectors import read_vectors


def assembled(text: str) -> tuple[Form, str, bytes]:
    """Return the form that the assembler chooses, the listing's text and the code of an instruction."""
    asm = Assembler("x86_64")
    mnemonic, values = read(text, asm)
    form = emit(asm, mnemonic, values)
    return form, form.text(asm.records[-1][1]), asm.bytes()


def test_every_vector_still_assembles_to_its_bytes_and_lists_as_its_text() -> None:
    wrong = []
    for code, text in read_vectors():
        _, listed, actual = assembled(text)
        if (listed, actual) != (text, code):
            wrong.append(f"{text}: {actual.hex()} {listed}, not {code.hex()}")
    assert wrong == []


def test_every_form_of_every_row_has_a_vector() -> None:
    covered = {tuple(assembled(text)[0]) for _, text in read_vectors()}
    missing = [form.notation for family in FAMILIES for form in forms_of(family.ROWS) if tuple(form) not in covered]
    assert missing == []


def test_features_are_those_that_iced_knows() -> None:
    known = {value: name for name, value in vars(iced_x86.CpuidFeature).items() if isinstance(value, int)}
    optional = {feature for family in FAMILIES for form in forms_of(family.ROWS) for feature in form.features}
    wrong = []
    for code, text in read_vectors():
        names = [known[feature] for feature in iced_x86.Decoder(64, code).decode().cpuid_features()]
        expected = {name.lower().replace("_", "").replace("bmi1", "bmi") for name in names} & optional
        form, _, _ = assembled(text)
        if set(form.features) != expected:
            wrong.append(f"{text}: {form.features}, not {expected}")
    assert wrong == []
