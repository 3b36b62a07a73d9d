"""Data types: what a tensor's elements are, and what sums of them are kept in. `FLOAT32.size` is in bytes.

A `DType` is data: nothing here knows an instruction set. What a machine has instructions for is the business of
`einloom.kernels`. A product of operands of any types is computed in one type, the `accumulate` of what NumPy promotes
them to. Kernels widen narrower elements as they load them or packs as they copy them, and a result is rounded
(integers wrap) once, when its last contribution is stored. In a *grouped* layout `group` neighbours along k lie side by
side and make one element of the accumulation type:

>>> promoted("int8", "int8").accumulate, INT8.group
(int32, 4)

NumPy's names are the names. Complex elements are pairs of their `real` type. `bfloat16` is a type of `ml_dtypes` and
of torch; NumPy itself sees elements of 2 bytes.
"""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache

import numpy as np

from einloom.errors import DTypeError
from einloom.frozen import frozen

__all__ = [
    "BFLOAT16",
    "BFLOAT16_FOURS",
    "BOOL",
    "COMPLEX64",
    "COMPLEX128",
    "COMPUTED",
    "DTYPES",
    "FLOAT16",
    "FLOAT32",
    "FLOAT64",
    "INT8",
    "INT8_EIGHTS",
    "INT16",
    "INT32",
    "INT64",
    "LOWERED",
    "MOVED",
    "ONES",
    "PAIRS",
    "RAISED",
    "TRUTH",
    "TYPES",
    "UINT8",
    "UINT8_EIGHTS",
    "UINT16",
    "UINT32",
    "UINT64",
    "DType",
    "Kind",
    "data_type",
    "promoted",
]


class Kind(StrEnum):
    """What arithmetic means: IEEE 754, modulo 2**bits, or of ands, or pairs."""

    FLOAT = "float"
    SIGNED = "signed"
    UNSIGNED = "unsigned"
    BOOL = "bool"
    COMPLEX = "complex"


@frozen
class DType:
    """A type of element.

    Attributes:
        name: NumPy's.
        size: in bytes.
        kind: which arithmetic.
        epsilon: unit roundoff doubled (machine epsilon); 0 where arithmetic is exact.
        sum: name of the type that sums are kept in; empty: this one.
        of: name of the type of the elements, where 8 bytes of neighbours lie side by side in a grouped layout.
    """

    name: str
    size: int
    kind: Kind
    epsilon: float = 0.0
    sum: str = ""
    of: str = ""

    # Names tell types apart, and keys of many tables have types in them.

    def __hash__(self) -> int:
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is DType and self.name == other.name)

    @property
    def accumulate(self) -> DType:
        """The type of 4 or 8 bytes (complex ones: a part) that products and sums are computed and kept in."""
        return TYPES[self.sum] if self.sum else self

    @property
    def group(self) -> int:
        """How many neighbours along k lie side by side in a grouped layout: one element of the accumulation type."""
        return (8 if self.of else self.accumulate.size) // self.size

    @property
    def alone(self) -> DType:
        """The type of an element, whatever lies beside it."""
        return TYPES[self.of] if self.of else self

    @property
    def real(self) -> DType:
        """The type of a part of a complex element; of any other type itself."""
        return {"complex64": FLOAT32, "complex128": FLOAT64}.get(self.name, self)

    @property
    def is_integer(self) -> bool:
        """Whether arithmetic is modulo 2**bits."""
        return self.kind in (Kind.SIGNED, Kind.UNSIGNED)

    def __repr__(self) -> str:
        return self.name


FLOAT32 = DType("float32", 4, Kind.FLOAT, 2.0**-23)
FLOAT64 = DType("float64", 8, Kind.FLOAT, 2.0**-52)
FLOAT16 = DType("float16", 2, Kind.FLOAT, 2.0**-10, "float32")
BFLOAT16 = DType("bfloat16", 2, Kind.FLOAT, 2.0**-7, "float32")
INT8 = DType("int8", 1, Kind.SIGNED, sum="int32")
INT16 = DType("int16", 2, Kind.SIGNED, sum="int32")
INT32 = DType("int32", 4, Kind.SIGNED)
INT64 = DType("int64", 8, Kind.SIGNED)
UINT8 = DType("uint8", 1, Kind.UNSIGNED, sum="uint32")
UINT16 = DType("uint16", 2, Kind.UNSIGNED, sum="uint32")
UINT32 = DType("uint32", 4, Kind.UNSIGNED)
UINT64 = DType("uint64", 8, Kind.UNSIGNED)
BOOL = DType("bool", 1, Kind.BOOL, sum="truth")
TRUTH = DType("truth", 4, Kind.BOOL)
"""Truth values in a register and in scratch, of 4 bytes like the integers: not 0, or 0. It is no type of arrays."""
ONES = DType("ones", 1, Kind.BOOL, sum="truth")
"""Truth values of 1 byte in scratch that are 0 or 1; those of arrays may be any byte."""
RAISED = DType("raised", 1, Kind.SIGNED, sum="int32")
LOWERED = DType("lowered", 1, Kind.UNSIGNED, sum="uint32")
"""Elements of int8 in scratch as unsigned bytes that are 128 more, of uint8 as signed ones that are 128 less: the
highest bit is the other one. Instructions multiply unsigned bytes by signed ones; what 128 makes of a sum, kernels take
off again."""
INT8_EIGHTS = DType("int8x8", 1, Kind.SIGNED, sum="int32", of="int8")
UINT8_EIGHTS = DType("uint8x8", 1, Kind.UNSIGNED, sum="uint32", of="uint8")
BFLOAT16_FOURS = DType("bfloat16x4", 2, Kind.FLOAT, 2.0**-7, "float32", of="bfloat16")
"""Elements in scratch of which 8 bytes lie side by side: instructions multiply two such rows by two columns."""
COMPLEX64 = DType("complex64", 8, Kind.COMPLEX, 2.0**-23)
COMPLEX128 = DType("complex128", 16, Kind.COMPLEX, 2.0**-52)

_FLOATS = (FLOAT32, FLOAT64, FLOAT16, BFLOAT16)
_INTEGERS = (INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64)
_EIGHTS = (INT8_EIGHTS, UINT8_EIGHTS, BFLOAT16_FOURS)
_PACKED = (TRUTH, ONES, RAISED, LOWERED, *_EIGHTS)
TYPES = {t.name: t for t in (*_FLOATS, *_INTEGERS, BOOL, *_PACKED, COMPLEX64, COMPLEX128)}
"""All types that have a name here."""
DTYPES = {t.name: t for t in (*_FLOATS, *_INTEGERS, BOOL)}
"""The types that kernels compute in. Elements of all others are only moved."""
PAIRS = {t.name: t for t in (COMPLEX64, COMPLEX128)}
"""Complex types: contractions of them are contractions of their real parts, and kernels see reals alone."""
COMPUTED = DTYPES | PAIRS
"""The types of the operands that `einsum` has code for."""
MOVED = {t.name: t for t in (UINT8, UINT16)}
"""Any elements of 1 and 2 bytes are copied as these."""


def data_type(name: object) -> DType:
    """Return the `DType` of a name, a NumPy type or a `DType` that einloom computes in.

    Raises:
        DTypeError: einloom does not compute in this type.
    """
    if isinstance(name, DType):
        return name
    text = _name_of(name)
    if text in PAIRS:
        raise DTypeError(
            f"data type {text} is not supported here\n  einsum and compile multiply complex numbers.\n"
            f"  Elsewhere view the array as its parts, of {PAIRS[text].real}, with a last axis of 2."
        )
    if text not in DTYPES:
        raise DTypeError(
            f"data type {text} is not supported\n  supported: {', '.join(DTYPES)}\n  Convert the operands."
        )
    return DTYPES[text]


def promoted(*types: object) -> DType:
    """Return the type that operands of these types are computed in, as NumPy promotes (ml_dtypes for bfloat16).

    >>> promoted("int8", "float32"), promoted("float32", "int32"), promoted("bfloat16", "int8")
    (float32, float64, bfloat16)

    Raises:
        DTypeError: they have no common type.
    """
    if types and isinstance(types[0], DType) and types.count(types[0]) == len(types):
        return types[0]
    return _promoted(frozenset(each if isinstance(each, DType) else _known(each) for each in types))


@lru_cache(256)
def _promoted(types: frozenset[DType]) -> DType:
    if len(types) == 1:
        return next(iter(types))
    others = types - {BFLOAT16, TRUTH}
    if not others or all(each.kind is Kind.BOOL for each in types):
        return TRUTH
    result = _known(np.result_type(*(each.name for each in others)))
    if BFLOAT16 not in types or result in (FLOAT32, FLOAT64, COMPLEX64, COMPLEX128):
        return result
    if all(each.size == 1 for each in others):
        return BFLOAT16
    names = ", ".join(sorted(each.name for each in types))
    raise DTypeError(f"no common data type of {names}\n  Convert the operands.")


def _known(name: object) -> DType:
    text = _name_of(name)
    if text not in TYPES:
        raise DTypeError(f"data type {text} has no arithmetic\n  Convert the operands.")
    return TYPES[text]


def _name_of(name: object) -> str:
    return getattr(name, "name", None) or getattr(name, "__name__", None) or str(name)
