"""What only some vector ISAs have: fields of `einloom.kernels.verbs.vector.ArithmeticVerbs` that may be None."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from einloom.dtypes import DType

__all__ = ["ElementVerbs", "GroupingVerbs", "PackVerbs", "TileVerbs"]

R = TypeVar("R")
V = TypeVar("V")
A = TypeVar("A")


class GroupingVerbs(ABC, Generic[V, A]):
    """Verbs that put several products of k side by side in a register: lanes (row, k), or (k, row) as in memory."""

    @abstractmethod
    def mask(self, lanes: int) -> int:
        """Return the mask of the lanes whose bit is set; emits what sets it up, once."""

    @abstractmethod
    def load_piece(self, dst: V, place: A, piece: int, rows: int, group: int) -> None:
        """Lanes (piece, row) of dst = rows of a place that lies as many lanes before them; the first piece clears."""

    @abstractmethod
    def order_rows(self, dst: V, pieces: V | A, group: int, pitch: int) -> None:
        """dst = lanes (row, k) from lanes (k, row), `pitch` lanes from one k to the next, of a register or place."""

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
    def load(self, tile: int, base: R, offset: int, stride: R) -> None:
        """A tile = rows that lie `stride` bytes apart, the first at base + offset."""

    @abstractmethod
    def store(self, base: R, offset: int, stride: R, tile: int) -> None:
        """Rows that lie `stride` bytes apart, the first at base + offset, = a tile."""

    @abstractmethod
    def multiply_add(self, total: int, rows: int, columns: int, types: tuple[DType, DType]) -> None:
        """total[i, j] += sum over k of rows[i, k] columns[k, j], groups of k lying side by side in both."""
