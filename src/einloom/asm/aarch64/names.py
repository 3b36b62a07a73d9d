"""Operands that are names: conditions, barriers, prefetch operations, cache operations, system registers.

Source of the codes: Arm Architecture Reference Manual, C1.2.4 (conditions), C6.2 (DMB, PRFM, DC, IC), D13 (registers).
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import NamedTuple

from einloom.asm.aarch64.registers import Kind, Put
from einloom.asm.aarch64.row import Form
from einloom.errors import EncodingError

__all__ = ["CONDITIONS", "TABLES", "NameSpec", "name_spec"]

_CONDITION_NAMES = ("eq", "ne", "cs", "cc", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le", "al", "nv")
CONDITIONS = {name: code for code, name in enumerate(_CONDITION_NAMES)} | {"hs": 2, "lo": 3}
_BARRIERS = {"ld": 13, "st": 14, "sy": 15} | {
    f"{domain}{accesses}": high << 2 | low
    for high, domain in enumerate(("osh", "nsh", "ish"))
    for low, accesses in ((1, "ld"), (2, "st"), (3, ""))
}
_PREFETCHES = {
    f"{kind}{level}{policy}": i << 3 | j << 1 | k
    for i, kind in enumerate(("pld", "pli", "pst"))
    for j, level in enumerate(("l1", "l2", "l3"))
    for k, policy in enumerate(("keep", "strm"))
}


def _operation(op1: int, crn: int, crm: int, op2: int) -> int:
    return op1 << 11 | crn << 7 | crm << 3 | op2


_DATA_CACHE = {
    "ivac": _operation(0, 7, 6, 1),
    "cvac": _operation(3, 7, 10, 1),
    "cvau": _operation(3, 7, 11, 1),
    "civac": _operation(3, 7, 14, 1),
    "zva": _operation(3, 7, 4, 1),
}
_INSTRUCTION_CACHE = {"ivau": _operation(3, 7, 5, 1)}
_INSTRUCTION_CACHES = {"iallu": _operation(0, 7, 5, 0), "ialluis": _operation(0, 7, 1, 0)}
_WRITABLE = {  # op0 of 3: its lower bit is the first of the field
    "fpcr": 1 << 14 | _operation(3, 4, 4, 0),
    "fpsr": 1 << 14 | _operation(3, 4, 4, 1),
    "nzcv": 1 << 14 | _operation(3, 4, 2, 0),
    "tpidr_el0": 1 << 14 | _operation(3, 13, 0, 2),
}
_READABLE = {
    **_WRITABLE,
    "cntfrq_el0": 1 << 14 | _operation(3, 14, 0, 0),
    "cntvct_el0": 1 << 14 | _operation(3, 14, 0, 2),
    "ctr_el0": 1 << 14 | _operation(3, 0, 0, 1),
    "dczid_el0": 1 << 14 | _operation(3, 0, 0, 7),
    "midr_el1": 1 << 14 | _operation(0, 0, 0, 0),
    "id_aa64pfr0_el1": 1 << 14 | _operation(0, 0, 4, 0),
    "id_aa64isar0_el1": 1 << 14 | _operation(0, 0, 6, 0),
}
# The inverted condition: always and never have none.
_INVERTED = {name: code ^ 1 for name, code in CONDITIONS.items() if code < 14}

# Notation in rows: (field, names).
TABLES: Mapping[str, tuple[str, Mapping[str, int]]] = {
    "cond": ("cond", CONDITIONS),
    "!cond": ("cond", _INVERTED),
    "barrier": ("option", _BARRIERS),
    "prefetch": ("prefetch", _PREFETCHES),
    "data_cache": ("operation", _DATA_CACHE),
    "code_cache": ("operation", _INSTRUCTION_CACHE),
    "code_caches": ("operation", _INSTRUCTION_CACHES),
    "readable": ("system", _READABLE),
    "writable": ("system", _WRITABLE),
}


class NameSpec(NamedTuple):
    """A name out of a table."""

    table: str

    def accepts(self, kind: Kind, binding: Mapping[str, str]) -> bool:
        """Whether an operand of this kind goes here."""
        return kind is str

    def put(self, form: Form, kind: Kind) -> Put:
        """Return what sets the field to the name's code."""
        field, codes = TABLES[self.table]
        shift = form.place(field)

        def put(word: int, operand: str) -> int:
            code = codes.get(operand)
            if code is None:
                near = difflib.get_close_matches(operand, codes, n=3) or codes
                raise EncodingError(f"{operand!r} is no {self.table}; there are {', '.join(near)}")
            return word | code << shift

        return put


def name_spec(token: str) -> NameSpec | None:
    """Return what a row's token says, or None if it names no table."""
    return NameSpec(token) if token in TABLES else None
