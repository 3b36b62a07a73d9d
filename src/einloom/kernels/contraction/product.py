"""`Product`: a Brgemm brought into the form that its generator works on.

Axes of size 1 are dropped, a batch that continues k is merged with it, and m and n are exchanged (A and B with them)
where that makes the vectors run along memory. Run-time strides bear the names of their arguments.

>>> from einloom.kernels.specs import Brgemm
>>> row_major = Brgemm("float32", 8, 8, 8, a=(8, 0, 1, 0), b=(0, 1, 8, 0), c=(8, 1))
>>> product = Product.of(row_major)
>>> product.a.name, product.a.strides, product.c.strides
('b', (1, 0, 8, 0), (1, 8, 0, 0))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import NamedTuple

from einloom.dtypes import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, LOWERED, RAISED, DType
from einloom.frozen import frozen
from einloom.kernels.fetch import BROADCAST, STRIDED, VECTOR, Fetch
from einloom.kernels.specs import BatchBy, Brgemm, NamedStride, named_strides
from einloom.machine import Machine

__all__ = ["Product", "StridedMatrix", "group_size", "keeps_apart"]

PACKED_COLUMNS = 3
"""With fewer columns a strided operand is not worth a copy of its own."""

APART = 16
"""Bytes of neighbouring lanes that can be kept apart while the lanes of a register are summed."""


def keeps_apart(sums: int, dtype: DType) -> bool:
    """Return whether kernels keep so many sums of a type apart whose elements take turns along a vector."""
    return sums in (2, 4) and sums * dtype.size <= APART


@frozen
class StridedMatrix:
    """A matrix of a product, or a batch of them.

    Attributes:
        name: the argument that points to it.
        strides: along (m, n, k, batch), in elements or by name.
        dtype: of its elements in memory; of groups that of a register's elements.
        group_of: type of the neighbours along k that lie side by side in one of its elements; None: it has no groups.
        fetch: how a vector along m is fetched.
    """

    name: str
    strides: tuple[NamedStride, ...]
    dtype: DType
    group_of: DType | None = None
    fetch: Fetch = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "fetch", Fetch.along(self.strides[0], 1))

    @property
    def per_column(self) -> bool:
        """Whether it depends on n."""
        return self.strides[1] != 0

    def with_strides(self, strides: tuple[NamedStride, ...]) -> StridedMatrix:
        """Return the matrix with other strides."""
        return self if strides == self.strides else StridedMatrix(self.name, strides, self.dtype, self.group_of)

    def exchanged(self) -> StridedMatrix:
        """Return the matrix with m and n exchanged."""
        along_m, along_n, *others = self.strides
        return self.with_strides((along_n, along_m, *others))


class Product(NamedTuple):
    """C = beta C + alpha sum A B; see `Brgemm`. `a`'s fragments are the ones that vectors are loaded of.

    Attributes:
        dtype: type of the elements of registers.
        interleaved: sums that a row of A has, element by element in turn, and that are neighbours in C; k counts the
            elements of all of them. More than one only where the product `is_dot`.
    """

    dtype: DType
    m: int
    n: int
    k: int
    batch: int
    a: StridedMatrix
    b: StridedMatrix | None
    c: StridedMatrix
    beta: int | None
    alpha: float
    batch_by: BatchBy = BatchBy.STRIDE
    far: bool = False
    onward: int | None = None
    interleaved: int = 1

    @staticmethod
    def of(spec: Brgemm) -> Product:
        """Return the product that a spec describes, in the form that is generated best."""
        types = spec.types
        operands = {
            name: _matrix(name, (*named_strides(name, s), 0, 0)[:4], types[name], spec)
            for name, s in spec.strides.items()
        }
        a, b, c = operands["a"], operands.get("b"), operands["c"]
        sizes = (spec.m, spec.n, spec.k, spec.batch)
        product = Product(spec.dtype, *sizes, a, b, c, spec.beta, spec.alpha, spec.batch_by, spec.far, spec.onward)
        product = product._without_unit_axes()._merged()
        if product.is_biased:
            return product
        both = (product._vector_operand_first(), product.exchanged())
        if product.has_blocks:
            return min(both, key=Product._effort)._rows_first()
        dots = [each for each in (*both, *(each._with_sums_interleaved() for each in both)) if each.is_dot]
        return min(dots, key=lambda dot: dot.n) if dots else min(both, key=Product._effort)

    @property
    def steps(self) -> int:
        """How many products are summed."""
        return self.k * self.batch

    @property
    def keeps_c(self) -> bool:
        """Whether C stays as it is: it has no elements, or a sum over nothing is added to it."""
        return self.m == 0 or self.n == 0 or (self.steps == 0 and self.beta == 1)

    @property
    def groups(self) -> tuple[DType, DType] | None:
        """The types of the neighbours in the elements of A and B; None: they are no groups."""
        if self.b is None or self.a.group_of is None or self.b.group_of is None:
            return None
        return self.a.group_of, self.b.group_of

    @property
    def has_blocks(self) -> bool:
        """Whether groups are of 8 bytes, which instructions multiply two rows by two columns at a time."""
        return self.groups is not None and bool(self.groups[0].of)

    @property
    def is_biased(self) -> bool:
        """Whether B's elements are 128 more or less than what they stand for, and sums have to be put right."""
        return self.groups is not None and self.groups[1] in (RAISED, LOWERED)

    @property
    def inputs(self) -> tuple[StridedMatrix, ...]:
        """A, and B if there is one."""
        return (self.a,) if self.b is None else (self.a, self.b)

    @property
    def can_group(self) -> bool:
        """Whether several products of k fit side by side in a register: A's columns and B's k are contiguous."""
        return self._is_by_element and self.b is not None and self.b.strides[2] == 1

    @property
    def can_share(self) -> bool:
        """Whether several columns fit side by side in a register: A's columns and B's are contiguous."""
        return self._is_by_element and self.b is not None and self.b.strides[1] == 1

    @property
    def _is_by_element(self) -> bool:
        """Whether vectors of A meet an element of B for each column, all of one type."""
        return (
            self.b is not None
            and self.is_uniform
            and self.a.fetch is self.c.fetch is VECTOR
            and not self.a.per_column
            and self.b.fetch is BROADCAST
            and self.b.per_column
        )

    @property
    def is_uniform(self) -> bool:
        """Whether all elements in memory are of the type of those in registers."""
        return all(operand.dtype == self.dtype for operand in (*self.inputs, self.c))

    @property
    def is_in_order(self) -> bool:
        """Whether registers hold what lies in memory, one element or group after the other, or one over and over."""
        return self.is_uniform and self._gathers_nothing

    def is_scalable(self, machine: Machine) -> bool:
        """Whether scalable vectors take what lies in memory: in order, halves as float32 where they may be rounded."""
        widened = {FLOAT16, *([BFLOAT16] if "sve_bf16" in machine.features else [])}
        kinds = {operand.dtype for operand in (*self.inputs, self.c)} - {self.dtype}
        return self._gathers_nothing and (not kinds or (self.dtype == FLOAT32 and kinds <= widened))

    @property
    def _gathers_nothing(self) -> bool:
        return STRIDED not in [operand.fetch for operand in (*self.inputs, self.c)]

    @property
    def is_dot(self) -> bool:
        """Whether the sum runs along memory in every input, and C has so few columns that no copy of A would pay."""
        a, b = self.a, self.b
        return (
            1 <= self.n < PACKED_COLUMNS
            and self.k >= 4
            and a.strides[1:3] == (0, 1)
            and (b is None or (b.strides[0] == 0 and b.strides[2] == 1))
            and a.fetch is not VECTOR
            and self._is_plain_sum
            and not self.is_biased
            and not self.has_blocks
        )

    @property
    def _is_plain_sum(self) -> bool:
        return self.batch == 1 and self.batch_by is BatchBy.STRIDE

    @property
    def wants_packing(self) -> bool:
        """Whether A's vectors are best gathered once, by transposing it into scratch, for all columns."""
        return self._worth_packing(self.a) and self.steps > 0 and self.m > 1 and not self.has_blocks

    def _worth_packing(self, operand: StridedMatrix) -> bool:
        strided = operand.fetch is STRIDED and not operand.per_column
        return strided and operand.strides[2] == 1 and self.n >= PACKED_COLUMNS and self.batch_by is BatchBy.STRIDE

    def _map(self, change: Callable[[StridedMatrix], StridedMatrix], **sizes: int) -> Product:
        a, b, c = change(self.a), None if self.b is None else change(self.b), change(self.c)
        if a is self.a and b is self.b and c is self.c and not sizes:
            return self
        return self._replace(a=a, b=b, c=c, **sizes)

    def _without_unit_axes(self) -> Product:
        sizes = (self.m, self.n, self.k, self.batch)

        def change(operand: StridedMatrix) -> StridedMatrix:
            strides = tuple(0 if size == 1 else stride for size, stride in zip(sizes, operand.strides))
            if operand.name == "c" and strides[0] == 0:
                strides = (1, *strides[1:])  # A vector of one lane.
            return operand.with_strides(strides)

        return self._map(change)

    def _merged(self) -> Product:
        """Return the product with one summed axis where the batch is a continuation of k, or k is trivial."""
        if self.batch == 1 or self.batch_by is not BatchBy.STRIDE:
            return self
        continues = all(_times(o.strides[2], self.k) == o.strides[3] for o in self.inputs)
        if self.k != 1 and not continues:
            return self
        axis = 3 if self.k == 1 else 2
        return self._map(lambda o: o.with_strides((*o.strides[:2], o.strides[axis], 0)), k=self.k * self.batch, batch=1)

    def exchanged(self) -> Product:
        """Return the product with m and n exchanged."""
        product = self._map(StridedMatrix.exchanged, m=self.n, n=self.m)
        return product._without_unit_axes()._vector_operand_first()

    def _with_sums_interleaved(self) -> Product:
        """Return neighbouring sums, whose elements take turns in memory, as one row along which vectors run.

        before: m 2, n 5, k 7; A m=1 n=14 k=2; C m=1 n=2
        after:  m 5, k 14, interleaved 2; A m=14 k=1; C m=2
        """
        sums, a, c = self.m, self.a, self.c
        take_turns = not self.b and (a.strides[0], a.strides[2], c.strides[0]) == (1, sums, 1)
        if not take_turns or not self._is_plain_sum or not keeps_apart(sums, self.dtype):
            return self
        a, c = a.with_strides((a.strides[1], 0, 1, 0)), c.with_strides((c.strides[1], 0, 0, 0))
        return self._replace(m=self.n, n=1, k=sums * self.k, a=a, c=c, interleaved=sums)._without_unit_axes()

    def _effort(self) -> float:
        """Estimate the work per element and step: strided accesses cost a load or store for each lane."""
        lanes = 64 // self.dtype.size
        vectors = -(-self.m // lanes)
        shares = {VECTOR: 1.0, BROADCAST: 1.0, STRIDED: float(min(lanes, max(self.m, 1)))}
        effort = 0.5 * self._filled_vectors(lanes) * self.n * self.steps
        for operand in self.inputs:
            if self._worth_packing(operand):
                effort += 0.25 * self.m * self.steps
                continue
            fragments = vectors if operand.fetch is not BROADCAST else 1
            columns = self.n if operand.per_column else max(1, self.n / 12)
            effort += 0.4 * shares[operand.fetch] * fragments * columns * self.steps / (2 if operand.per_column else 1)
        return effort + 2 * shares[self.c.fetch] * vectors * self.n

    def _filled_vectors(self, lanes: int) -> float:
        """Return how many vectors cover m, where a few rows at the end share registers: a part of one for these."""
        whole, rest = divmod(self.m, lanes)
        shared = group_size(rest, lanes) if self.can_group or self.can_share else 1
        return whole + (rest > 0) / shared

    def _vector_operand_first(self) -> Product:
        """Return the product with the operand that is shared by all columns as A, where there is one."""
        if self.b is not None and self.a.per_column and not self.b.per_column:
            return self._replace(a=self.b, b=self.a)
        return self

    def _rows_first(self) -> Product:
        """Return the product with the operand that depends on m as A, also where C has one column."""
        if self.b is not None and self.a.strides[0] == 0 != self.b.strides[0]:
            return self._replace(a=self.b, b=self.a)
        return self


def _matrix(name: str, strides: tuple[NamedStride, ...], dtype: DType, spec: Brgemm) -> StridedMatrix:
    if spec.grouped and name != "c":
        return StridedMatrix(name, strides, FLOAT64 if dtype.of else spec.dtype, dtype)
    return StridedMatrix(name, strides, dtype)


def _times(stride: NamedStride, count: int) -> NamedStride:
    return stride * count if isinstance(stride, int) else stride if count == 1 else ""


def group_size(rows: int, lanes: int) -> int:
    """Return how many products of k, or columns, share a register of so few rows."""
    if rows == 0 or rows > lanes // 2:
        return 1
    return 4 if lanes == 16 and rows <= 4 else 2
