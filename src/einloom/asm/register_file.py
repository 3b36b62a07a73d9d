"""`RegisterFile`: the registers of one kind by number, with an error that says how many there are.

>>> RegisterFile("ab")["1"]
Traceback (most recent call last):
    ...
einloom.errors.EncodingError: there is no register number '1'; they go from 0 to 1
"""

from __future__ import annotations

from typing import Any, TypeVar

from einloom.errors import EncodingError

__all__ = ["RegisterFile"]

Register = TypeVar("Register")


class RegisterFile(tuple[Register, ...]):
    """A tuple of registers."""

    __slots__ = ()

    def __getitem__(self, number: Any) -> Any:
        """Return the register of a number, or several of a slice.

        Raises:
            EncodingError: there is none.
        """
        try:
            return tuple.__getitem__(self, number)
        except (IndexError, TypeError):
            last = len(self) - 1
            raise EncodingError(f"there is no register number {number!r}; they go from 0 to {last}") from None
