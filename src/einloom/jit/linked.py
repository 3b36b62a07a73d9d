"""`linked_code`: small functions that refer to addresses of this process, kept for later processes.

Code is emitted for *marks* in place of addresses, numbers that no address is. Where they stand in the code are its
relocations; a later process reads the code and writes its own addresses there. So it needs no assembler.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TypeAlias

from einloom.jit.code_store import code_store, package_stamp

__all__ = ["linked_code"]

MARKS = 0x7A11_5EED_1357_0000, 0x6B42_C0DE_2468_8000
"""The first mark, and that of a second set which differs in every piece: no addresses, and too long for short forms."""

WORD = 8

Relocations: TypeAlias = list[tuple[int, int]]
"""Places in the code, in bytes, each with the number of the value that belongs there."""


def linked_code(key: str, values: Sequence[int], emit: Callable[[Sequence[int]], bytes]) -> bytes:
    """Return the code that `emit` gives for these values, 64 bits each.

    Args:
        key: all that decides the code but the values.
        values: what the code refers to.
        emit: gives the code. Where that is not the same but for 8 bytes at each place where a value stands, as on ISAs
            that build constants of pieces, nothing is kept.
    """
    full, store = repr((key, len(values), package_stamp())), code_store()
    if store is None:
        return emit(values)
    known = _from_bytes(store.read(full), len(values))
    if known is None:
        first, second = ([mark + number for number in range(len(values))] for mark in MARKS)
        code = emit(first)
        known = code, _relocations(code, first)
        if _with_values(*known, second) != emit(second):
            return emit(values)
        store.write(full, json.dumps(known[1]).encode() + b"\n" + code)
    return _with_values(*known, values)


def _relocations(code: bytes, marks: Sequence[int]) -> Relocations:
    found: Relocations = []
    for number, mark in enumerate(marks):
        word, place = mark.to_bytes(WORD, "little"), -1
        while (place := code.find(word, place + 1)) >= 0:
            found.append((place, number))
    return found


def _with_values(code: bytes, relocations: Relocations, values: Sequence[int]) -> bytes:
    linked = bytearray(code)
    for place, number in relocations:
        linked[place : place + WORD] = (values[number] % 2**64).to_bytes(WORD, "little")
    return bytes(linked)


def _from_bytes(content: bytes | None, count: int) -> tuple[bytes, Relocations] | None:
    """Return what was written; None if it was not, or says what cannot be."""
    said, _, code = (content or b"").partition(b"\n")
    try:
        relocations = [(int(place), int(number)) for place, number in json.loads(said)]
    except (ValueError, TypeError, RecursionError):
        return None
    inside = all(0 <= place <= len(code) - WORD and 0 <= number < count for place, number in relocations)
    return (code, relocations) if code and inside else None
