"""iced-x86's reading of code, and whether clang's assembly of a text means the same as ours."""

from __future__ import annotations

from collections.abc import Sequence

import iced_x86

from einloom.asm.x86.forms import Form
from tests.asm.oracle import assemble

# Keeps clang from another encoding: it would swap sources to save a byte.
PSEUDO_PREFIX = {"": "", "VEX": "{vex3} ", "EVEX": "{evex} "}
_FORMATTER = iced_x86.Formatter(iced_x86.FormatterSyntax.INTEL)
_FORMATTER.show_branch_size = False
ADDRESS = 1 << 30


def decode(code: bytes) -> tuple[str, int]:
    """Return the text of the first instruction and its length in bytes."""
    instruction = iced_x86.Decoder(64, code, ip=ADDRESS).decode()
    return _FORMATTER.format(instruction), instruction.len


def differences(cases: Sequence[tuple[Form, str, bytes]]) -> list[str]:
    """Return a line for each case (form, text, code) that clang and iced-x86 read otherwise."""
    lines = [_line(n, form, text) for n, (form, text, _) in enumerate(cases)]
    found = []
    for (form, text, code), theirs in zip(cases, assemble(lines, "x86_64"), strict=True):
        expected, _ = decode(theirs)
        actual, length = decode(code)
        if form.mnemonic == "xchg":  # the order of its operands has no meaning
            expected, actual = "".join(sorted(expected)), "".join(sorted(actual))
        if actual != expected or length != len(code):
            found.append(f"{text}: {code.hex()} is {actual!r} of {length} bytes, not {expected!r}")
    return found


def _line(n: int, form: Form, text: str) -> str:
    """Return a case as clang takes it; the target of a jump is written `here+300`."""
    if "here" in text:
        return f"here{n}: " + text.replace("here", f"here{n}")
    return PSEUDO_PREFIX[form.encoding.space] + text
