"""Every form with random operands against clang: both codes are decoded by iced-x86 and the texts compared."""

from __future__ import annotations

import random
from types import ModuleType

import pytest

from einloom.asm import Assembler
from einloom.asm.x86.dispatch import form_encoder
from einloom.asm.x86.rows import FAMILIES
from tests.asm.x86.decoding import differences
from tests.asm.x86.samples import emit, forms_of, mixes, sample

SAMPLES = 6  # mixes of operands a form


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__.rpartition(".")[2])
def test_clang_reads_every_form_the_same(family: ModuleType) -> None:
    """A form's own encoder, also where the assembler would prefer another form."""
    choose = random.Random(20)
    cases = []
    for form in forms_of(family.ROWS):
        every = list(mixes(form))
        for mix in every if len(every) <= SAMPLES else choose.sample(every, SAMPLES):
            asm = Assembler("x86_64")
            values = sample(form, mix, choose, asm)
            record = form_encoder(form, tuple(map(type, values)))(asm, values)
            assert record is not None, form.text(values)
            asm.buffer += record[2]
            cases.append((form, form.text(values), asm.bytes()))
    assert differences(cases) == []


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__.rpartition(".")[2])
def test_clang_reads_what_the_assembler_chooses_the_same(family: ModuleType) -> None:
    choose = random.Random(21)
    cases = []
    for form in forms_of(family.ROWS):
        asm = Assembler("x86_64")
        values = sample(form, choose.choice(list(mixes(form))), choose, asm)
        chosen = emit(asm, form.mnemonic, values)
        assert form.text(values) == chosen.text(values)
        cases.append((chosen, form.text(values), asm.bytes()))
    assert differences(cases) == []
