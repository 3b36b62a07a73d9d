"""Specs of copies: past the caches, with the parts of complex numbers turned, with neighbours side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from einloom.dtypes import DType
from einloom.frozen import frozen
from einloom.kernels.specs.sized import Sized, Strides

__all__ = ["Interleave", "LeaveBehind", "PairCopy", "Stream"]


@frozen
class PairCopy(Sized):
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


@frozen
class Stream(Sized):
    """B[m, n] = A[m, n], stored past the caches in runs of B; B shares no byte with A.

    Attributes:
        dtype: type of the elements.
        m, n: sizes.
        a, b: strides of A and B along (m, n).
        far: whether B lies beyond the second-level cache: what is transposed passes the caches only then.
        in_pairs: whether an element is a pair, and B begins anywhere where one of its halves may.
    """

    dtype: DType
    m: int
    n: int
    a: tuple[int, int]
    b: tuple[int, int]
    far: bool = False
    in_pairs: bool = False

    @property
    def unit(self) -> int:
        """What the address of B is a multiple of, in bytes."""
        return self.dtype.size // 2 if self.in_pairs else self.dtype.size

    @property
    def strides(self) -> Mapping[str, Strides]:
        """The strides of each matrix."""
        return {"a": self.a, "b": self.b}


@frozen
class LeaveBehind(Sized):
    """B[m, n] = A[m, n], but later: the kernels of `Brgemm.leaving` store the whole lines of B, past the caches.

    An address behind the pointers says what has not left yet of the block before; `kernels/elementwise/leave.py` says
    how. All of that leaves first; with m = 0 nothing is noted instead. Runs are as long as a line at least, and several
    all begin at the same place of one.

    Attributes:
        dtype: type of the elements.
        m, n: sizes; there are n runs, unless all blocks have one only.
        a, b: strides of A and B along (m, n), those along m being 1; along n 0 if all blocks have one run.
    """

    dtype: DType
    m: int
    n: int = 1
    a: tuple[int, int] = (1, 0)
    b: tuple[int, int] = (1, 0)

    @property
    def strides(self) -> Mapping[str, Strides]:
        """The strides of each matrix."""
        return {"a": self.a, "b": self.b}

    @property
    def apart(self) -> tuple[int, ...]:
        """Bytes from one run to the next in A and B; empty if all blocks have one."""
        return tuple(strides[1] * self.dtype.size for strides in (self.a, self.b)) if self.b[1] else ()


@frozen
class Interleave(Sized):
    """B[m, n // g] = the `group` g neighbours A[m, n], A[m, n + 1], … side by side, 0 where A ends inside a group.

    Attributes:
        dtype: type of the elements of A; g of those of B have 4 bytes, or 8.
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
        Sized.__post_init__(self)
        object.__setattr__(self, "output", None if self.output == self.dtype else self.output)

    @property
    def packed(self) -> DType:
        """The type of the elements of B."""
        return self.output or self.dtype

    @property
    def group(self) -> int:
        """How many elements lie side by side."""
        return self.packed.group

    @property
    def group_bytes(self) -> int:
        """Bytes of a group."""
        return self.group * self.packed.size

    @property
    def strides(self) -> Mapping[str, Strides]:
        """The strides of each matrix."""
        return {"a": self.a, "b": self.b}
