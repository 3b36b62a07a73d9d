"""Data types: what a tensor's elements are. `FLOAT32.size` is in bytes.

>>> data_type("float32").size
4
"""

from __future__ import annotations

from dataclasses import dataclass

from einloom.errors import DTypeError

__all__ = ["DTYPES", "FLOAT32", "FLOAT64", "MOVED", "UINT8", "UINT16", "DType", "data_type"]


@dataclass(frozen=True, slots=True)
class DType:
    """A type of element: its NumPy name, its size in bytes and its unit roundoff doubled (machine epsilon)."""

    name: str
    size: int
    epsilon: float

    def __repr__(self) -> str:
        return self.name


FLOAT32 = DType("float32", 4, 2.0**-23)
FLOAT64 = DType("float64", 8, 2.0**-52)
DTYPES = {dtype.name: dtype for dtype in (FLOAT32, FLOAT64)}
UINT8 = DType("uint8", 1, 0.0)
UINT16 = DType("uint16", 2, 0.0)
"""These two are only moved: any elements of 1 and 2 bytes travel as them."""
MOVED = {dtype.name: dtype for dtype in (UINT8, UINT16)}


def data_type(name: object) -> DType:
    """Return the `DType` of a name, a NumPy type or a `DType`.

    Raises:
        DTypeError: einloom does not compute in this type.
    """
    if isinstance(name, DType):
        return name
    text = getattr(name, "name", None) or getattr(name, "__name__", None) or str(name)
    if text not in DTYPES:
        raise DTypeError(
            f"data type {text} is not supported\n  supported: {', '.join(DTYPES)}\n  Convert the operands."
        )
    return DTYPES[text]
