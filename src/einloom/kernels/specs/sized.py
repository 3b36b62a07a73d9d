"""What all specs have: sizes, strides and types, checked once. `Stride` and its kin are their vocabulary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from einloom.dtypes import DType, data_type
from einloom.errors import ShapeError

__all__ = ["GROUP_BYTES", "NamedStride", "Pair", "Sized", "Stride", "Strides", "Types", "check_sizes", "differing"]

Stride: TypeAlias = int | None
Strides: TypeAlias = tuple[Stride, ...]
Pair: TypeAlias = tuple[Stride, Stride]
NamedStride: TypeAlias = int | str
"""A stride, or the name of the argument that holds it."""

Types: TypeAlias = tuple[DType, ...]
GROUP_BYTES = 4
"""Bytes of neighbours along k that lie side by side where an instruction sums their products."""


class Sized:
    """What all specs are checked for."""

    __slots__ = ()

    dtype: DType
    m: int
    n: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", data_type(self.dtype))
        check_sizes(m=self.m, n=self.n)

    @property
    def strides(self) -> Mapping[str, Strides]:
        """The strides of each matrix that there is."""
        raise NotImplementedError

    @property
    def types(self) -> Mapping[str, DType]:
        """The types of the elements of each matrix in memory."""
        return dict.fromkeys(self.strides, self.dtype)


def differing(memory: Types, registers: DType) -> Types:
    """Return the types of memory, empty if all are those of registers: equal kernels have equal specs."""
    types = tuple(map(data_type, memory))
    return () if all(each == registers for each in types) else types


def check_sizes(**sizes: int) -> None:
    """Refuse negative sizes.

    Raises:
        ShapeError: one is.
    """
    for name, size in sizes.items():
        if size < 0:
            raise ShapeError(f"{name} is {size}\n  A size is 0 or more.")
