"""What a kernel computes: frozen descriptions, complete enough to be the key of a cache. They generate nothing.

Sizes and strides are in elements. A stride is an `int`, known when the code is made, or `None`: then it is an argument
of the generated function. 0 says that an operand does not depend on an axis; negative strides are legal. A matrix
product of column-major matrices with run-time leading dimensions, and the same with everything known:

>>> signature(Brgemm("float32", 64, 48, 64, a=(1, 0, None, 0), b=(0, None, 1, 0), c=(1, None)))
('a', 'b', 'c', 'ld_a', 'ld_b', 'ld_c')
>>> signature(Brgemm("float32", 64, 48, 64, a=(1, 0, 64, 0), b=(0, 64, 1, 0), c=(1, 64), beta=None))
('a', 'b', 'c', 'beta')
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

from einloom.dtypes import FLOAT32, INT32, DType, data_type, promoted
from einloom.errors import ShapeError

__all__ = [
    "Ahead",
    "BatchBy",
    "Binary",
    "Brgemm",
    "ElementWise",
    "Interleave",
    "NamedStride",
    "PairCopy",
    "PairProduct",
    "Reduce",
    "Spec",
    "Stream",
    "Stride",
    "Ternary",
    "Unary",
    "named_strides",
    "run_time_strides",
    "signature",
]

Stride: TypeAlias = int | None
Strides: TypeAlias = tuple[Stride, ...]
NamedStride: TypeAlias = int | str
"""A stride, or the name of the argument that holds it."""

Types: TypeAlias = tuple[DType, ...]
GROUP_BYTES = 4
"""Bytes of neighbours along k that lie side by side where an instruction sums their products."""

Pair: TypeAlias = tuple[Stride, Stride]
Four: TypeAlias = tuple[Stride, Stride, Stride, Stride]


class _Sized:
    """What all specs are checked for."""

    __slots__ = ()

    dtype: DType
    m: int
    n: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", data_type(self.dtype))
        _check_sizes(m=self.m, n=self.n)

    @property
    def strides(self) -> Mapping[str, Strides]:
        """The strides of each matrix that there is."""
        raise NotImplementedError

    @property
    def types(self) -> Mapping[str, DType]:
        """The types of the elements of each matrix in memory."""
        return dict.fromkeys(self.strides, self.dtype)


class BatchBy(StrEnum):
    """How the matrices of a batch are found.

    By strides; by offsets, from two more arguments, arrays of 64-bit offsets in elements; or by addresses, `a` and `b`
    being arrays of addresses.
    """

    STRIDE = "stride"
    OFFSETS = "offsets"
    ADDRESSES = "addresses"


@dataclass(frozen=True, slots=True)
class Ahead:
    """What a kernel asks memory for while it computes: a block that is wanted later, one cache line after the other.

    How far it is lies in memory, so that each call goes on where the last one stopped: an address, then for each level
    what is left of it. Behind the end of the block it begins again.

    Attributes:
        lines: how many a call should ask for.
        levels: (how many, bytes from one to the next), the innermost first: lines of a piece, then pieces.
    """

    lines: int
    levels: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Brgemm(_Sized):
    """C[m, n] = beta C[m, n] + alpha sum over batch and k of A B, the vectors running along m.

    Attributes:
        dtype: type that is computed in: that of the elements of registers.
        m, n, k, batch: sizes, 0 and more.
        a: strides of A along (m, n, k, batch); along n 0 in an ordinary product.
        b: strides of B along (m, n, k, batch), along m 0 in an ordinary product; None: there is no B, A is summed.
        c: strides of C along (m, n).
        beta: 1 adds to C, 0 overwrites it and never reads it, None leaves the choice to a last argument, 0 or 1.
        alpha: factor of the sum.
        batch_by: how the matrices of the batch are found.
        memory: types of the elements of A, B and C in memory; empty: those of registers.
        grouped: whether neighbours along k lie side by side in A and B, as `Interleave` puts them: then k and the
            strides of A and B count groups of 4 bytes.
        far: whether C lies beyond the second-level cache: it is asked for while few products are computed, too.
        ahead: what is asked for besides; kernels that have no tiles ignore it.
    """

    dtype: DType
    m: int
    n: int
    k: int
    batch: int = 1
    a: Four = (1, 0, None, 0)
    b: Four | None = (0, None, 1, 0)
    c: Pair = (1, None)
    beta: int | None = 1
    alpha: float = 1
    batch_by: BatchBy = BatchBy.STRIDE
    memory: Types = ()
    grouped: bool = False
    far: bool = False
    ahead: Ahead | None = None

    def __post_init__(self) -> None:
        _Sized.__post_init__(self)
        object.__setattr__(self, "memory", _differing(self.memory, self.dtype))
        _check_sizes(k=self.k, batch=self.batch)
        if self.beta not in (0, 1, None):
            raise ShapeError(f"beta is {self.beta}\n  It is 0 (overwrite C), 1 (add to C) or None (an argument).")

    @property
    def strides(self) -> Mapping[str, Strides]:
        """The strides of each matrix that there is."""
        return {"a": self.a, "c": self.c} if self.b is None else {"a": self.a, "b": self.b, "c": self.c}

    @property
    def types(self) -> Mapping[str, DType]:
        """The types of the elements of each matrix in memory."""
        return dict(zip("abc", self.memory or (self.dtype,) * 3))

    @property
    def flops(self) -> int:
        """Multiplications and additions of one call."""
        group = GROUP_BYTES // self.types["a"].size if self.grouped else 1
        return 2 * self.m * self.n * self.k * self.batch * group


@dataclass(frozen=True, slots=True)
class PairProduct(_Sized):
    """C[m, n] = beta C[m, n] + sum over batch and k of A B, of complex numbers whose parts lie side by side.

    Attributes:
        dtype: type of the parts.
        m, n, k, batch: sizes in complex elements, 0 and more.
        a, b: strides of A and B along (m, n, k, batch), in complex elements; c: those of C along (m, n).
        beta: 1 adds to C, 0 overwrites it and never reads it, None leaves the choice to a last argument, 0 or 1.
        conjugated: whether A and B are.
    """

    dtype: DType
    m: int
    n: int
    k: int
    batch: int
    a: tuple[int, int, int, int]
    b: tuple[int, int, int, int]
    c: tuple[int, int]
    beta: int | None = 0
    conjugated: tuple[bool, bool] = (False, False)

    @property
    def strides(self) -> Mapping[str, Strides]:
        """The strides of each matrix."""
        return {"a": self.a, "b": self.b, "c": self.c}

    @property
    def exchanged(self) -> PairProduct:
        """The same product with m and n exchanged."""
        a, b = ((along[1], along[0], *along[2:]) for along in (self.a, self.b))
        return replace(self, m=self.n, n=self.m, a=a, b=b, c=(self.c[1], self.c[0]))


@dataclass(frozen=True, slots=True)
class PairCopy(_Sized):
    """B[m, n] = A[m, n], of complex numbers whose parts lie side by side and may change places and signs.

    Attributes:
        dtype: type of the parts.
        m, n: sizes in complex elements.
        a, b: strides of A and B along (m, n), in complex elements.
        swapped: whether the parts change places.
        negative: whether the first and the second part of B have changed their sign.
    """

    dtype: DType
    m: int
    n: int
    a: tuple[int, int]
    b: tuple[int, int]
    swapped: bool = False
    negative: tuple[bool, bool] = (False, False)

    @property
    def strides(self) -> Mapping[str, Strides]:
        """The strides of each matrix."""
        return {"a": self.a, "b": self.b}

    @property
    def changes_signs(self) -> bool:
        """Whether any part changes its sign."""
        return any(self.negative)

    @property
    def exchanged(self) -> PairCopy:
        """The same copy with m and n exchanged."""
        return replace(self, m=self.n, n=self.m, a=self.a[::-1], b=self.b[::-1])


@dataclass(frozen=True, slots=True)
class Unary(_Sized):
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
        _Sized.__post_init__(self)
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


@dataclass(frozen=True, slots=True)
class Binary(_Sized):
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
        _Sized.__post_init__(self)
        object.__setattr__(self, "memory", _differing(self.memory, self.dtype))

    @property
    def types(self) -> Mapping[str, DType]:
        """The types of the elements of each matrix in memory."""
        return dict(zip("abc", self.memory or (self.dtype,) * 3))

    @property
    def strides(self) -> Mapping[str, Strides]:
        """The strides of each matrix."""
        return {"a": self.a, "b": self.b, "c": self.c}


@dataclass(frozen=True, slots=True)
class Ternary(_Sized):
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


@dataclass(frozen=True, slots=True)
class Reduce(_Sized):
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


@dataclass(frozen=True, slots=True)
class Stream(_Sized):
    """B[m, n] = A[m, n], stored past the caches where columns are contiguous; B shares no byte with A.

    Attributes:
        dtype: type of the elements.
        m, n: sizes.
        a, b: strides of A and B along (m, n).
    """

    dtype: DType
    m: int
    n: int
    a: tuple[int, int]
    b: tuple[int, int]

    @property
    def strides(self) -> Mapping[str, Strides]:
        """The strides of each matrix."""
        return {"a": self.a, "b": self.b}


@dataclass(frozen=True, slots=True)
class Interleave(_Sized):
    """B[m, n // g] = the `group` g neighbours A[m, n], A[m, n + 1], … side by side, 0 where A ends inside a group.

    Attributes:
        dtype: type of the elements of A; g of those of B have 4 bytes.
        m, n: sizes of A.
        a: strides of A along (m, n).
        b: strides of B along (m, n), in groups.
        output: type of the elements of B, if it is another one: a type of scratch, or words that bytes are widened to.
    """

    dtype: DType
    m: int
    n: int
    a: tuple[int, int]
    b: tuple[int, int]
    output: DType | None = None

    def __post_init__(self) -> None:
        _Sized.__post_init__(self)
        object.__setattr__(self, "output", None if self.output == self.dtype else self.output)

    @property
    def packed(self) -> DType:
        """The type of the elements of B."""
        return self.output or self.dtype

    @property
    def group(self) -> int:
        """How many elements lie side by side."""
        return GROUP_BYTES // self.packed.size

    @property
    def strides(self) -> Mapping[str, Strides]:
        """The strides of each matrix."""
        return {"a": self.a, "b": self.b}


ElementWise: TypeAlias = Unary | Binary | Ternary
Spec: TypeAlias = Brgemm | PairProduct | PairCopy | ElementWise | Reduce | Stream | Interleave


def signature(spec: Spec) -> tuple[str, ...]:
    """Return the names of the arguments of a spec's kernel, in order.

    Pointers come first. Then follow the strides that are `None`, first those of a, b and c inside a matrix, `ld_x`
    where it is an operand's only one, else `x_m`, `x_n`, `x_k`; then those from one matrix of the batch to the next, or
    the arrays of offsets; then `beta`; at last `ahead`, which points to how far a kernel is that asks for a block.
    """
    strides = spec.strides
    pointers = ("a", "b", "c") if isinstance(spec, Brgemm) else tuple(strides)
    inner = tuple(name for operand, values in strides.items() for name, _ in run_time_strides(operand, values))
    batch = tuple(
        f"br_stride_{operand}" for operand, values in strides.items() if len(values) == 4 and values[3] is None
    )
    if isinstance(spec, Brgemm) and spec.batch_by is BatchBy.OFFSETS:
        batch = ("offsets_a", "offsets_b")[: 1 if spec.b is None else 2]
    flag = ("beta",) if isinstance(spec, Brgemm | PairProduct) and spec.beta is None else ()
    ahead = ("ahead",) if isinstance(spec, Brgemm) and spec.ahead else ()
    return pointers + inner + batch + flag + ahead


def run_time_strides(operand: str, strides: Strides) -> list[tuple[str, int]]:
    """Return (argument's name, axis) of each run-time stride inside a matrix: axes 0 m, 1 n, 2 k."""
    axes = [axis for axis, stride in enumerate(strides[:3]) if stride is None]
    if len(axes) == 1:
        return [(f"ld_{operand}", axes[0])]
    return [(f"{operand}_{'mnk'[axis]}", axis) for axis in axes]


def named_strides(operand: str, strides: Strides) -> tuple[NamedStride, ...]:
    """Return the strides along (m, n) or (m, n, k, batch), those at run time by the names of their arguments."""
    names = {axis: name for name, axis in run_time_strides(operand, strides)} | {3: f"br_stride_{operand}"}
    return tuple(names[axis] if stride is None else stride for axis, stride in enumerate(strides))


def _differing(memory: Types, registers: DType) -> Types:
    """The types of memory, empty if all are those of registers: equal kernels have equal specs."""
    types = tuple(map(data_type, memory))
    return () if all(each == registers for each in types) else types


def _check_sizes(**sizes: int) -> None:
    for name, size in sizes.items():
        if size < 0:
            raise ShapeError(f"{name} is {size}\n  A size is 0 or more.")
