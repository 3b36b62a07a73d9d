"""Specs of operators on elements, and of reductions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from einloom.dtypes import FLOAT32, INT32, DType, data_type, promoted
from einloom.frozen import frozen
from einloom.kernels.specs.sized import Pair, Sized, Stride, Strides, Types, differing

__all__ = ["Binary", "ElementWise", "Reduce", "Ternary", "Unary"]


@frozen
class Unary(Sized):
    """B[m, n] = op(A[m, n]); `zero` reads no A. Strides along (m, n): unequal unit axes transpose.

    Attributes:
        op: name of an operator, as in `einloom.kernels.formula.functions.UNARY`.
        dtype: type of the elements of A.
        m, n: sizes.
        a, b: strides of A and B along (m, n).
        alpha: the operator's parameter; None: its usual value.
        output: type of the elements of B, if it is another one.
    """

    op: str
    dtype: DType
    m: int
    n: int
    a: Pair = (1, None)
    b: Pair = (1, None)
    alpha: float | None = None
    output: DType | None = None

    def __post_init__(self) -> None:
        Sized.__post_init__(self)
        object.__setattr__(self, "output", None if self.output in (None, self.dtype) else data_type(self.output))

    @property
    def strides(self) -> Mapping[str, Strides]:
        """The strides of each matrix."""
        return {"a": (0, 0) if self.op == "zero" else self.a, "b": self.b}

    @property
    def types(self) -> Mapping[str, DType]:
        """The types of the elements of each matrix in memory."""
        return {"a": self.dtype, "b": self.output or self.dtype}

    @property
    def registers(self) -> DType:
        """The type of the elements of registers: the wider one, but float32 for what it is rounded from."""
        if (self.dtype, self.output) == (INT32, FLOAT32):
            return FLOAT32
        return promoted(self.dtype, self.output or self.dtype).accumulate


@frozen
class Binary(Sized):
    """C[m, n] = op(A[m, n], B[m, n]); a stride of 0 broadcasts an input along that axis. `muladd` adds A B to C.

    Attributes:
        op: name of an operator, as in `einloom.kernels.formula.functions.BINARY`.
        dtype: type that is computed in: that of the elements of registers.
        m, n: sizes.
        a, b, c: strides of A, B and C along (m, n).
        memory: types of the elements of A, B and C in memory; empty: those of registers.
    """

    op: str
    dtype: DType
    m: int
    n: int
    a: Pair = (1, None)
    b: Pair = (1, None)
    c: Pair = (1, None)
    memory: Types = ()

    def __post_init__(self) -> None:
        Sized.__post_init__(self)
        object.__setattr__(self, "memory", differing(self.memory, self.dtype))

    @property
    def types(self) -> Mapping[str, DType]:
        """The types of the elements of each matrix in memory."""
        return dict(zip("abc", self.memory or (self.dtype,) * 3))

    @property
    def strides(self) -> Mapping[str, Strides]:
        """The strides of each matrix."""
        return {"a": self.a, "b": self.b, "c": self.c}


@frozen
class Ternary(Sized):
    """D[m, n] = op(A[m, n], B[m, n], C[m, n]); a stride of 0 broadcasts an input along that axis.

    Attributes:
        op: name of an operator, as in `einloom.kernels.formula.functions.TERNARY`.
        dtype: type of the elements.
        m, n: sizes.
        a, b, c, d: strides of the matrices along (m, n).
    """

    op: str
    dtype: DType
    m: int
    n: int
    a: Pair = (1, None)
    b: Pair = (1, None)
    c: Pair = (1, None)
    d: Pair = (1, None)

    @property
    def strides(self) -> Mapping[str, Strides]:
        """The strides of each matrix."""
        return {"a": self.a, "b": self.b, "c": self.c, "d": self.d}


@frozen
class Reduce(Sized):
    """b[i] = op over one axis of A[m, n], which is contiguous along m.

    Attributes:
        op: name of an operator, as in `einloom.kernels.elementwise.reduce.OPERATORS`.
        dtype: type of the elements.
        m, n: sizes.
        axis: the axis that disappears, `"m"` or `"n"`.
        a: strides of A along (m, n), the first one 1.
        b: the stride of the results, which is 1.
    """

    op: str
    dtype: DType
    m: int
    n: int
    axis: str
    a: Pair = (1, None)
    b: tuple[Stride] = (1,)

    @property
    def kept(self) -> str:
        """The axis that the results have."""
        return "n" if self.axis == "m" else "m"

    @property
    def strides(self) -> Mapping[str, Strides]:
        """The strides of each matrix."""
        return {"a": self.a, "b": self.b}


ElementWise: TypeAlias = Unary | Binary | Ternary
