"""Names of parametrised tests: the same in every process, which those that run tests side by side rely on."""

from __future__ import annotations

import re

ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def words_of(value: object) -> str:
    """Return the text of a value without the addresses of objects in it.

    >>> words_of([1, iter("ab")])
    '[1, <str_ascii_iterator object>]'
    """
    return ADDRESS.sub("", str(value))
