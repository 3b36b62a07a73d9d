"""The rows of the model's tables, and how it reads a candidate: slots and masks of the engine by number.

An instruction's surroundings are groups: the dimensions that stand for one tile of one axis, in any nest, and that may
stand around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from einloom.frozen import frozen

__all__ = [
    "BLOCK",
    "LOOP",
    "SEQUENTIAL",
    "THREAD",
    "UNROLL",
    "VECTOR",
    "Around",
    "Group",
    "InstructionTable",
    "Tile",
    "View",
]


class View(Protocol):
    """A candidate as the model reads it."""

    @property
    def domains(self) -> Sequence[int]:
        """The values that each slot still has, as a mask."""
        ...

    @property
    def alive(self) -> int:
        """The extensions that fired, as a mask."""
        ...

    def range(self, counter: int) -> tuple[int, float]:
        """Return the least and the greatest value of a counter."""
        ...


LOOP, UNROLL, VECTOR, THREAD, BLOCK = 1, 2, 4, 8, 16
"""Masks of the values of `dim_kind`."""
SEQUENTIAL = LOOP | UNROLL


@frozen
class Around:
    """A dimension that may stand around an instruction.

    Attributes:
        name: its name.
        bit: 1 << its number.
        need: the extensions that must have fired for it to exist.
        tile: the number of its tile.
        kind: the slot of its `dim_kind`.
        own: whether it belongs to the instruction.
        order: the slot of its order to the instruction; `outer` is the mask of standing outside.
        fused: slots and masks by which it may be one loop with an earlier dimension of its group.
    """

    name: str
    bit: int
    need: int
    tile: int
    kind: int
    own: bool
    order: int = -1
    outer: int = 0
    fused: tuple[tuple[int, int], ...] = ()


Group = tuple[Around, ...]
"""The dimensions of one tile around an instruction, its own one first."""


@frozen
class InstructionTable:
    """An instruction.

    Attributes:
        name: its name.
        number: its place among all instructions.
        operator: what it does.
        need: the extensions that must have fired for it to exist.
        instances: how often its definition runs it: the product of its axes' sizes.
        groups: what may stand around it.
        cache: the slot of its `cache`, -1 if it touches no memory; `cached` is the mask of those above L2.
        space: the slot of its array's `mem_space`; `shared` is the mask of shared memory.
        moves: for each own dimension of a load or store its kind's slot, the stride of its axis (elements) and the
            tiles inside it: an iteration moves by the product of the stride and their sizes.
        producers: the instructions whose results it reads, by number; of a reduction, its start too.
        reduced: the tiles that it reduces over, as a mask.
        steps: how many values it reduces to one.
        kept: kind slots and tiles of its own dimensions that it does not reduce over.
        one_writer: whether only one of the threads of foreign loops runs it.
    """

    name: str
    number: int
    operator: str
    need: int
    instances: float
    groups: tuple[Group, ...]
    cache: int
    cached: int
    space: int
    shared: int
    moves: tuple[tuple[int, int, tuple[int, ...]], ...]
    producers: tuple[int, ...]
    reduced: int
    steps: float
    kept: tuple[tuple[int, int], ...]
    one_writer: bool


@frozen
class Tile:
    """A tile, or what is left of an axis outside its tiles.

    Attributes:
        slot: of its size, or (at level 0) of the axis's tiling factor.
        values: the numbers that the bits of the slot stand for.
        whole: the size of the axis at level 0, where the tiles divide it; 0 for a tile.
    """

    slot: int
    values: tuple[int, ...]
    whole: int
