"""Specs of contractions: products of matrices of reals, one or a batch of them, and of complex numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import TypeAlias

from einloom.dtypes import DType
from einloom.errors import ShapeError
from einloom.frozen import frozen
from einloom.kernels.specs.sized import Pair, Sized, Stride, Strides, Types, check_sizes, differing

__all__ = ["Ahead", "BatchBy", "Brgemm", "Leaves", "PairProduct"]

Four: TypeAlias = tuple[Stride, Stride, Stride, Stride]


class BatchBy(StrEnum):
    """How the matrices of a batch are found.

    By strides; by offsets, from two more arguments, arrays of 64-bit offsets in elements; or by addresses, `a` and `b`
    being arrays of addresses.
    """

    STRIDE = "stride"
    OFFSETS = "offsets"
    ADDRESSES = "addresses"


@frozen
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


@frozen
class Leaves:
    """What a kernel stores of an earlier block while it computes, past the caches; see `LeaveBehind`.

    Attributes:
        lines: how many a call should store.
        apart: bytes from one run of the block to the next, in scratch and where it goes; empty: there is one run.
    """

    lines: int
    apart: tuple[int, ...] = ()


@frozen
class Brgemm(Sized):
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
            strides of A and B count groups, of 4 bytes or of the 8 that their types say.
        far: whether C lies beyond the second-level cache: it is asked for while few products are computed, too.
        onward: bytes from A to what the next call reads of it, where A lies beyond the second-level cache: rows that
            lie apart are asked for while this call computes; None: processors find A by themselves.
        ahead: what is asked for besides; kernels that have no tiles ignore it.
        leaving: what leaves meanwhile; the same kernels ignore it.
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
    onward: int | None = None
    ahead: Ahead | None = None
    leaving: Leaves | None = None

    def __post_init__(self) -> None:
        Sized.__post_init__(self)
        object.__setattr__(self, "memory", differing(self.memory, self.dtype))
        check_sizes(k=self.k, batch=self.batch)
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
        group = self.types["a"].group if self.grouped else 1
        return 2 * self.m * self.n * self.k * self.batch * group


@frozen
class PairProduct(Sized):
    """C[m, n] = beta C[m, n] + sum over batch and k of A B, of complex numbers whose parts lie side by side.

    Attributes:
        dtype: type of the parts.
        m, n, k, batch: sizes in complex elements, 0 and more.
        a, b: strides of A and B along (m, n, k, batch), in complex elements; c: those of C along (m, n).
        beta: 1 adds to C, 0 overwrites it and never reads it, None leaves the choice to a last argument, 0 or 1.
        conjugated: whether A and B are.
        around: loops around it, the outermost first: how many iterations, and how far A, B and C are from one to the
            next. Only kernels whose sums are over lanes take any.
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
    around: tuple[tuple[int, int, int, int], ...] = ()

    @property
    def strides(self) -> Mapping[str, Strides]:
        """The strides of each matrix."""
        return {"a": self.a, "b": self.b, "c": self.c}

    @property
    def exchanged(self) -> PairProduct:
        """The same product with m and n exchanged."""
        a, b = ((along[1], along[0], *along[2:]) for along in (self.a, self.b))
        return replace(self, m=self.n, n=self.m, a=a, b=b, c=(self.c[1], self.c[0]))

    @property
    def with_other_first(self) -> PairProduct:
        """The same product with A and B exchanged."""
        around = tuple((count, b, a, c) for count, a, b, c in self.around)
        return replace(self, a=self.b, b=self.a, conjugated=self.conjugated[::-1], around=around)
