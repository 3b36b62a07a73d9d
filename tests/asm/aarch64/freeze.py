"""Write a vector for every variant of every row that has none yet: python -m tests.asm.aarch64.freeze

A vector is the text of an instruction with random operands and the word that clang, not einloom, makes of it. What
einloom makes of it must be the same, or nothing is written. Run it after adding rows; look at the difference.
"""

from __future__ import annotations

import random

from einloom.asm import Assembler
from einloom.asm.aarch64.row import Form, Row
from einloom.errors import EncodingError
from tests.asm.aarch64.notation import DATA, emit, read_vectors
from tests.asm.aarch64.samples import sample, variants
from tests.asm.oracle import assemble

Key = tuple[Row, tuple[tuple[str, str], ...]]


def key(form: Form) -> Key:
    """Return what one vector is enough for: a row and the choice of its variables."""
    return form.row, tuple(form.binding.items())


def used(asm: Assembler) -> list[Form]:
    """Return the forms of the instructions of an assembler."""
    return [form for form, _, _ in asm.records]


def emit_sample(asm: Assembler, row: Row, binding: dict[str, str], rng: random.Random) -> None:
    """Assemble random operands that take this row, not another of the same mnemonic."""
    for _ in range(1000):
        operands, modifiers = sample(row, binding, rng)
        try:
            getattr(asm, row.mnemonic.replace(".", "_"))(*operands, **modifiers)
        except EncodingError as error:
            assert "unpredictable" in str(error), error
            continue
        if used(asm)[-1].row is row:
            return
        asm.records.pop()
        del asm.buffer[-4:]
    raise AssertionError(f"no operands take the row {row}, {binding}")


def listed(asm: Assembler) -> list[str]:
    """Return the text of every instruction."""
    return [asm.text(form, operands) for form, operands, _ in asm.records]


def main() -> None:
    """Complete vectors.txt in the order of the tables."""
    texts: dict[Key, str] = {}
    known = Assembler("aarch64")
    for _, text in read_vectors("vectors.txt") if (DATA / "vectors.txt").exists() else ():
        emit(known, text)
        texts[key(used(known)[-1])] = text
    asm, rng = Assembler("aarch64"), random.Random(len(texts))
    for row, binding in variants():
        text = texts.get((row, tuple(binding.items())))
        if text:
            emit(asm, text)
        else:
            emit_sample(asm, row, binding, rng)
    lines = listed(asm)
    theirs = [int.from_bytes(code[:4], "little") for code in assemble(lines, "aarch64")]
    wrong = [text for text, word, own in zip(lines, theirs, asm.words()) if word != own]  # type: ignore[attr-defined]
    assert not wrong, f"clang encodes otherwise: {wrong}"
    body = "".join(f"{word:08x} | {text}\n" for word, text in zip(theirs, lines))
    (DATA / "vectors.txt").write_text("# One instruction for every variant of every row, encoded by clang.\n" + body)


if __name__ == "__main__":
    main()
