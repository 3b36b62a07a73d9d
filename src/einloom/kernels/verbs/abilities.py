"""What only some vector ISAs have: fields of `einloom.kernels.verbs.vector.ArithmeticVerbs` that may be None."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from einloom.dtypes import DType

__all__ = [
    "OUTER_SHAPES",
    "BlockVerbs",
    "ElementVerbs",
    "GroupingVerbs",
    "HalfVerbs",
    "OuterVerbs",
    "PackVerbs",
    "TileVerbs",
]

OUTER_SHAPES = {4: (2, 2), 8: (4, 2)}
"""By the bytes of a sum, the vectors of A and of B whose outer products all tiles hold: as many tiles as bytes."""

R = TypeVar("R")
V = TypeVar("V")
A = TypeVar("A")


class GroupingVerbs(ABC, Generic[V, A]):
    """Verbs that put several products of k, or columns, side by side in a register: lanes (row, k) or (row, column)."""

    @abstractmethod
    def mask(self, lanes: int) -> int:
        """Return the mask of the lanes whose bit is set; emits what sets it up, once."""

    @abstractmethod
    def load_piece(self, dst: V, place: A, piece: int, rows: int, group: int, temporary: V) -> None:
        """Lanes (piece, row) of dst = rows at a place; the first piece clears all others."""

    @abstractmethod
    def add_piece(self, register: V, place: A, piece: int, rows: int, group: int, temporary: V) -> None:
        """Lanes (piece, row) of a register += rows at a place."""

    @abstractmethod
    def store_piece(self, place: A, src: V, piece: int, rows: int, group: int, temporary: V) -> None:
        """Rows at a place = lanes (piece, row) of src."""

    @abstractmethod
    def order_rows(self, dst: V, pieces: V | A, group: int, pitch: int) -> None:
        """dst = lanes (row, k) from lanes (k, row), `pitch` lanes from one k to the next, of a register or place."""

    @abstractmethod
    def load_repeats(self, dst: V, group: int) -> None:
        """dst = what `load_repeated` needs to repeat rows `group` times."""

    @abstractmethod
    def load_repeated(self, dst: V, place: A, rows: int, group: int, repeats: V) -> None:
        """Lanes (row, column) of dst = rows at a place, each for all columns."""

    @abstractmethod
    def part_columns(self, register: V, group: int, pitch: int, temporary: V) -> None:
        """register = lanes (column, row), `pitch` lanes from one column to the next, from lanes (row, column)."""

    @abstractmethod
    def broadcast_group(self, dst: V, place: A, group: int, count: int) -> None:
        """dst = `group` consecutive elements over and over, 0 from element `count` on."""

    @abstractmethod
    def sum_groups(self, registers: list[V], group: int, pitch: int, temporary: V) -> None:
        """registers[0] = the sums over k of `group` registers of lanes (row, k), as lanes (register, row).

        `pitch` lanes lie from one register to the next.
        """


class ElementVerbs(ABC, Generic[V, A]):
    """Verbs of an ISA whose products take one lane of a register for all lanes, and no operand from memory."""

    @abstractmethod
    def load_row(self, registers: Sequence[V], place: A, mask: int | None = None) -> None:
        """Load consecutive vectors, the last one masked."""

    @abstractmethod
    def store_row(self, place: A, registers: Sequence[V], mask: int | None = None) -> None:
        """Store consecutive vectors, the last one masked."""

    @abstractmethod
    def load_elements(self, dst: V, place: A, count: int) -> Sequence[object]:
        """Load `count` consecutive elements; return them as last operands of `fma` and `mul`, each for all lanes."""


class BlockVerbs(ABC, Generic[V, A]):
    """Verbs of an ISA that multiplies two rows of 8 bytes by two columns of 8 bytes, which makes four sums."""

    @abstractmethod
    def load_one(self, dst: V, place: A) -> None:
        """The first of dst's two rows or columns = 8 bytes at a place, the other one 0."""

    @abstractmethod
    def load_other(self, dst: V, place: A) -> None:
        """The second of dst's two rows or columns = 8 bytes at a place."""

    @abstractmethod
    def load_both(self, dst: V, place: A) -> None:
        """Both rows or columns of dst = 16 bytes at a place."""

    @abstractmethod
    def multiply_add(self, sums: V, rows: V, columns: V) -> None:
        """Add the products of two rows with two columns to four sums."""

    @abstractmethod
    def part_columns(self, free: V, upper: V, lower: V) -> None:
        """free, lower = the first and the second column of the sums of four rows, two in each of two registers."""


class HalfVerbs(ABC, Generic[V, A]):
    """Verbs of an ISA that sums products of float16 in float32: a register has twice as many halves as sums."""

    @abstractmethod
    def load(self, dst: V, place: A, count: int) -> None:
        """dst = `count` halves at a place; no byte behind them is touched."""

    @abstractmethod
    def broadcast(self, dst: V, place: A) -> None:
        """dst = the half at a place, over and over."""

    @abstractmethod
    def multiply_add(self, sums: V, rows: V, upper: bool, element: V) -> None:
        """Add to sums the products of the upper or the lower half of `rows` with `element`, each rounded once."""


class PackVerbs(ABC):
    """Makes the verbs of packs that write other bytes than they read."""

    @abstractmethod
    def changing(self, verbs: Any, packed: DType) -> Any:
        """Return the verbs with stores that make of bytes those of a type of scratch; registers are clobbered."""

    @abstractmethod
    def widening(self, pairs: DType) -> Any:
        """Return the verbs whose registers are pairs of bytes and whose stores write pairs of words."""


class TileVerbs(ABC, Generic[R]):
    """Verbs of matrix tiles: registers of several rows, and sums of products of such. Tiles are numbered from 0."""

    @abstractmethod
    def multiplies(self, rows: DType, columns: DType) -> bool:
        """Whether there is a product of tiles of these types."""

    @abstractmethod
    def configure(self, shapes: Sequence[tuple[int, int]]) -> None:
        """Give each tile its rows and the bytes of a row; what tiles held is lost."""

    @abstractmethod
    def release(self) -> None:
        """End the use of tiles."""

    @abstractmethod
    def zero(self, tile: int) -> None:
        """A tile = 0."""

    @abstractmethod
    def load(self, tile: int, base: R, offset: int, stride: R, once: bool = False) -> None:
        """A tile = rows that lie `stride` bytes apart, the first at base + offset.

        What is read `once` need not push anything else out of the first-level cache.
        """

    @abstractmethod
    def store(self, base: R, offset: int, stride: R, tile: int) -> None:
        """Rows that lie `stride` bytes apart, the first at base + offset, = a tile."""

    @abstractmethod
    def multiply_add(self, total: int, rows: int, columns: int, types: tuple[DType, DType]) -> None:
        """total[i, j] += sum over k of rows[i, k] columns[k, j], groups of k lying side by side in both."""


class OuterVerbs(ABC, Generic[R]):
    """Verbs of outer products: square tiles of sums, whose rows belong to elements of B, and columns to those of A."""

    @abstractmethod
    def multiplies(self, dtype: DType, groups: tuple[DType, DType] | None) -> bool:
        """Whether there are outer products of a type, or of groups of A and B that are summed in it."""

    @abstractmethod
    def side(self, dtype: DType) -> int:
        """Return the elements of a vector, which are the rows and columns of a tile."""

    @abstractmethod
    def shape(self, dtype: DType) -> tuple[int, int]:
        """Return how many vectors of A, and how many of B, all tiles together multiply."""

    @abstractmethod
    def begin(self, dtype: DType, groups: tuple[DType, DType] | None, factor: float) -> None:
        """Begin to use tiles; sums that are read are multiplied with a factor."""

    @abstractmethod
    def end(self) -> None:
        """End the use of tiles."""

    @abstractmethod
    def choose(self, across: Sequence[int], down: Sequence[int]) -> None:
        """Say how many elements of each vector of A, and of each one of B, count."""

    @abstractmethod
    def clear(self) -> None:
        """Set all sums to zero."""

    @abstractmethod
    def step(self, a: R, b: R, across: int, down: int) -> None:
        """Add the products of so many vectors at `a` with so many at `b`."""

    @abstractmethod
    def read_row(self, down: int, number: R | int, across: int) -> None:
        """Read a row of the tiles of a vector of B: a known one, or the one before a register's number."""

    @abstractmethod
    def add_row(self, place: R, across: int) -> None:
        """Add to the row that was read what lies at a place."""

    @abstractmethod
    def store_row(self, place: R, across: int) -> None:
        """Store the row that was read."""
