"""What the fields of a configuration may hold: each is brought into one form, or refused by its name.

>>> import numpy as np
>>> whole_numbers([np.int64(4), 2], "dim_sizes")
(4, 2)
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from operator import index
from typing import Any, TypeVar

from einloom.errors import ScheduleError
from einloom.ir.operation import Primitive

__all__ = ["PackEntry", "axis_ids", "choices", "entries_of", "pack_entries", "touch_words", "whole_numbers"]

PackEntry = tuple[int, int, tuple[tuple[str, int], ...]]
Word = TypeVar("Word", bound=StrEnum)

_NAME = re.compile(r"[^\s:=@]+")


def choices(kind: type[Word], values: Any, field: str) -> tuple[Word, ...]:
    """Return enumerations for a sequence of them or of their words.

    Raises:
        ScheduleError: no sequence, or another word.
    """
    return tuple(_choice(kind, value, field) for value in entries_of(values, field))


def touch_words(values: Any, field: str) -> tuple[str, ...]:
    """Return the words of one touch or of several; `copy` is another word for identity.

    Raises:
        ScheduleError: neither a word nor a sequence of words.
    """
    words = (values,) if isinstance(values, str) else entries_of(values, field)
    return tuple(_choice(Primitive, "identity" if word == "copy" else word, field).value for word in words)


def whole_numbers(values: Any, field: str) -> tuple[int, ...]:
    """Return Python integers for a sequence of integers of any kind.

    Raises:
        ScheduleError: no sequence, or something that is no integer.
    """
    return tuple(_whole_number(value, field) for value in entries_of(values, field))


def axis_ids(values: Any, field: str) -> tuple[str | int, ...]:
    """Return the names of axes: integers, or words that a schedule's text can hold.

    Raises:
        ScheduleError: another kind of name.
    """
    return tuple(
        _axis_name(value, field) if isinstance(value, str) else _whole_number(value, field)
        for value in entries_of(values, field)
    )


def pack_entries(values: Any) -> tuple[PackEntry, ...]:
    """Return packs as (operand, loop, layout) tuples.

    Raises:
        ScheduleError: an entry of another form.
    """
    return tuple(_pack_entry(entry) for entry in entries_of(values, "packs"))


def _pack_entry(entry: Any) -> PackEntry:
    fields = entries_of(entry, "packs")
    if len(fields) != 3:
        raise ScheduleError(f"packs: {entry!r:.80} is not (operand, loop, layout)")
    operand, loop = whole_numbers(fields[:2], "packs")
    return operand, loop, tuple(_digit(digit) for digit in entries_of(fields[2], "packs"))


def _digit(entry: Any) -> tuple[str, int]:
    fields = entries_of(entry, "packs")
    if len(fields) != 2 or not isinstance(fields[0], str):
        raise ScheduleError(f"packs: {entry!r:.80} is no digit (axis, step) of a layout")
    return _axis_name(fields[0], "packs"), _whole_number(fields[1], "packs")


def entries_of(values: Any, field: str) -> Sequence[Any]:
    """Return the entries of a field that is a list.

    Raises:
        ScheduleError: it is none.
    """
    try:
        if not isinstance(values, str | bytes | Mapping):
            return tuple(values)
    except TypeError:
        pass
    raise ScheduleError(f"{field} is {values!r:.80}\n  Give a tuple or list.")


def _whole_number(value: Any, field: str) -> int:
    try:
        return index(value)
    except TypeError:
        raise ScheduleError(f"{field}: {value!r:.80} is no whole number") from None


def _axis_name(value: str, field: str) -> str:
    if not _NAME.fullmatch(value):
        raise ScheduleError(
            f"{field}: {value!r:.80} cannot name an axis\n  Names have no spaces and no `:`, `=` or `@`."
        )
    return value


def _choice(kind: type[Word], value: Any, field: str) -> Word:
    if isinstance(value, str) and value in list(kind):
        return kind(value)
    raise ScheduleError(f"{field}: {value!r:.80} is not one of {', '.join(kind)}")
