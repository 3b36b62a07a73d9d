"""The semantic backbone: what a kernel computes, at the grain of scalar instructions, before any decision.

It is a list of statements (instructions and the dimensions that repeat them) with their inputs, and says nothing
about nesting, order, tiles' sizes, parallelism or memory: those are the decisions of a space (paper, sections 2.2, 4.1
and 4.4). A backbone is a frozen value; `space.builder` writes one, `space.temporaries` adds the temporaries that it may
come to need.

>>> TiledAxis("m", 1024, ((2, 4, 8), (2, 4))).levels
3
"""

from __future__ import annotations

from dataclasses import field

from einloom.dtypes import FLOAT32, DType
from einloom.frozen import frozen
from einloom.once import cached_property

__all__ = [
    "Address",
    "Backbone",
    "Constant",
    "Dimension",
    "Input",
    "Instruction",
    "Parameter",
    "Reduction",
    "Region",
    "Result",
    "Temporary",
    "TiledAxis",
]


@frozen
class TiledAxis:
    """A logical dimension: a loop of the original program, strip-mined into one outer loop and any number of tiles.

    Attributes:
        name: what people call it, for instance `"m"`.
        size: its extent.
        tiles: the possible sizes of each tile, outermost tile first; `()` leaves the axis whole.
        ragged: whether products of tile sizes that do not divide `size` are allowed, with a tail.
    """

    name: str
    size: int
    tiles: tuple[tuple[int, ...], ...] = ()
    ragged: bool = False

    @property
    def levels(self) -> int:
        """How many dimensions stand for this axis: the outer one (level 0) and one for each tile."""
        return 1 + len(self.tiles)


@frozen
class Dimension:
    """An iteration dimension: repeats the statements nested inside it.

    Attributes:
        name: for instance `"m.1"`, or `"load_a.m.1"` outside the kernel's main nest.
        axis: the name of its axis.
        level: 0 is what is left of the axis outside all tiles, 1 the outermost tile.
        sizes: the possible sizes; empty at level 0, whose extent follows from the tiles.
        parallel: whether its iterations may run at the same time.
    """

    name: str
    axis: str
    level: int
    sizes: tuple[int, ...] = ()
    parallel: bool = True

    @property
    def static(self) -> bool:
        """Whether the size is a decision (a tile) instead of a consequence (level 0)."""
        return self.level > 0


@frozen
class Region:
    """A piece of memory that holds one array.

    Attributes:
        name: the array's name.
        role: `"input"`, `"output"` or `"temporary"`.
        axes: the axes that index it; a temporary's storage follows from decisions instead.
        strides: one stride in elements for each of `axes`.
        dtype: type of its elements; None: the backbone's.
    """

    name: str
    role: str
    axes: tuple[str, ...] = ()
    strides: tuple[int, ...] = ()
    dtype: DType | None = None


@frozen
class Address:
    """The address of a load or store: an induction variable that grows by `strides` (elements) along axes.

    A temporary's address has no strides of its own: `dimensions` are those that may index its storage.
    """

    region: str
    strides: tuple[tuple[str, int], ...] = ()
    dimensions: tuple[str, ...] = ()


@frozen
class Constant:
    """A number known now."""

    value: float


@frozen
class Parameter:
    """A scalar that the kernel's caller passes."""

    name: str


@frozen
class Result:
    """The value another instruction produced: the last one, except along the dimensions of `mapping`.

    Attributes:
        instruction: who produces it.
        mapping: pairs (dimension of the producer, dimension of the user): iteration i of one feeds iteration i of the
            other (point-to-point communication, paper section 4.4).
        storable: whether the value may pass through a temporary array when registers cannot carry it.
    """

    instruction: str
    mapping: tuple[tuple[str, str], ...] = ()
    storable: bool = False


@frozen
class Reduction:
    """The value of the same instruction at the previous iteration of `dimensions`; at the first one that of `start`."""

    start: Result
    dimensions: tuple[str, ...]


Input = Constant | Parameter | Result | Reduction


@frozen
class Instruction:
    """One scalar operation, repeated by its own `dimensions` (and by no other one, if it is `pinned`).

    Attributes:
        name: unique among all statements.
        operator: `"load"`, `"store"`, or a scalar operator of `einloom.ir.statement`.
        dimensions: names of its dimensions.
        inputs: the values it reads.
        address: the address of a load or a store.
        pinned: running it more often than its dimensions say would change the meaning or repeat a side effect.
    """

    name: str
    operator: str
    dimensions: tuple[str, ...]
    inputs: tuple[Input, ...] = ()
    address: Address | None = None
    pinned: bool = False

    @property
    def results(self) -> tuple[Result, ...]:
        """The values of other instructions that this one reads, reductions' starts included."""
        found: list[Result] = []
        for given in self.inputs:
            if isinstance(given, Result):
                found.append(given)
            elif isinstance(given, Reduction):
                found.append(given.start)
        return tuple(found)

    @property
    def reduced(self) -> tuple[str, ...]:
        """The dimensions this instruction reduces over."""
        found: list[str] = []
        for given in self.inputs:
            if isinstance(given, Reduction):
                found += given.dimensions
        return tuple(found)


@frozen
class Temporary:
    """A temporary array that a value may have to pass through: what an extension adds to the backbone.

    Attributes:
        region: where the value waits.
        source, user: the two instructions it connects; `position` is that of the value among the inputs of `user`.
        store, load: the instructions that the extension adds.
        dimensions: the dimensions that the extension adds.
        pairs: for each stored dimension, its dimension around the store and around the load.
    """

    region: Region
    source: str
    user: str
    position: int
    store: Instruction
    load: Instruction
    dimensions: tuple[Dimension, ...]
    pairs: tuple[tuple[str, str], ...]


@frozen(slots=False)
class Backbone:
    """A kernel's meaning: axes, dimensions, instructions, regions, parameters, and its potential temporaries.

    Arrays hold elements of `dtype` unless they say otherwise; registers, temporaries and parameters hold what its sums
    are kept in.
    """

    name: str
    axes: tuple[TiledAxis, ...]
    dimensions: tuple[Dimension, ...]
    instructions: tuple[Instruction, ...]
    regions: tuple[Region, ...]
    parameters: tuple[str, ...] = ()
    temporaries: tuple[Temporary, ...] = field(default=())
    dtype: DType = FLOAT32

    @cached_property
    def axis(self) -> dict[str, TiledAxis]:
        """The axes by name."""
        return {axis.name: axis for axis in self.axes}

    @cached_property
    def dimension(self) -> dict[str, Dimension]:
        """All dimensions by name, those of potential temporaries included."""
        added = [dimension for temporary in self.temporaries for dimension in temporary.dimensions]
        return {dimension.name: dimension for dimension in (*self.dimensions, *added)}

    @cached_property
    def instruction(self) -> dict[str, Instruction]:
        """All instructions by name, those of potential temporaries included."""
        added = [each for temporary in self.temporaries for each in (temporary.store, temporary.load)]
        return {each.name: each for each in (*self.instructions, *added)}

    @cached_property
    def region(self) -> dict[str, Region]:
        """All regions by name, potential temporaries included."""
        added = [temporary.region for temporary in self.temporaries]
        return {region.name: region for region in (*self.regions, *added)}

    @cached_property
    def reduction_of(self) -> dict[str, Instruction]:
        """The reductions, by their own names and by those of their starts."""
        found: dict[str, Instruction] = {}
        for instruction in self.instructions:
            for given in instruction.inputs:
                if isinstance(given, Reduction):
                    found[instruction.name] = found[given.start.instruction] = instruction
        return found

    def axes_of(self, instruction: Instruction) -> frozenset[str]:
        """Return the axes that repeat an instruction."""
        return frozenset(self.dimension[name].axis for name in instruction.dimensions)

    def type_of(self, region: Region) -> DType:
        """The type of an input's or output's elements."""
        return region.dtype or self.dtype

    def extent(self, region: Region) -> int:
        """Number of elements from the first to the last one of an input or output, in memory."""
        return 1 + sum((self.axis[name].size - 1) * abs(stride) for name, stride in zip(region.axes, region.strides))

    def origin(self, region: Region) -> int:
        """How many elements of an input or output lie below the one of index 0: what negative strides reach."""
        return sum((self.axis[name].size - 1) * max(-stride, 0) for name, stride in zip(region.axes, region.strides))
