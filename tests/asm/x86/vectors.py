"""The frozen vectors, `bytes | text` in `vectors.txt`: one for every form, so that tests need no other assembler.

`python -m tests.asm.x86.vectors` writes the file again, after clang and iced-x86 have read every line as we do.
"""

from __future__ import annotations

import random
from pathlib import Path

from einloom.asm import Assembler
from einloom.asm.x86.forms import Form
from einloom.asm.x86.rows import FAMILIES
from tests.asm.x86.decoding import differences
from tests.asm.x86.samples import emit, forms_of, mixes, sample

PATH = Path(__file__).with_name("vectors.txt")


def read_vectors() -> list[tuple[bytes, str]]:
    """Return (code, text) of every line."""
    lines = PATH.read_text(encoding="utf-8").splitlines()
    return [(bytes.fromhex(code), text) for code, text in (line.split(" | ") for line in lines)]


def make_vector(form: Form, choose: random.Random) -> tuple[Form, str, bytes]:
    """Return (form, text, code) of operands for which the assembler chooses this very form."""
    every = list(mixes(form))
    choose.shuffle(every)
    for mix in every * 20:
        asm = Assembler("x86_64")
        values = sample(form, mix, choose, asm)
        if tuple(emit(asm, form.mnemonic, values)) == tuple(form):  # Forms themselves are equal only to themselves.
            return form, form.text(values), asm.bytes()
    raise AssertionError(f"the assembler never chooses {form.notation}")


def main() -> None:
    """Write the vectors."""
    choose = random.Random(22)
    cases = [make_vector(form, choose) for family in FAMILIES for form in forms_of(family.ROWS)]
    wrong = differences(cases)
    if wrong:
        raise SystemExit("\n".join(wrong))
    PATH.write_text("".join(f"{code.hex()} | {text}\n" for _, text, code in cases), encoding="utf-8")


if __name__ == "__main__":
    main()
