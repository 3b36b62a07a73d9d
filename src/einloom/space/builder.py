"""`Builder`: writes a backbone, one nest for each instruction, connected point to point.

Each axis gets one outer dimension that all nests share, and each nest its own copy of the tiles (paper, section 5.2:
"every instruction is placed in its own loop nest"). Values flow between nests along the tiles of their common axes.

>>> b = Builder("double")
>>> n = b.axis("n", 16, ((2, 4),))
>>> x = b.load(b.input("x", n))
>>> b.store(b.output("y", n), b.nest("main", n).apply("add", x, x))
>>> [each.name for each in b.backbone().instructions]
['load_x', 'add', 'store_y']
"""

from __future__ import annotations

import operator
from dataclasses import replace
from itertools import accumulate, chain, count

from einloom.dtypes import FLOAT32, DType
from einloom.errors import ScheduleError, ShapeError
from einloom.frozen import frozen
from einloom.space.backbone import (
    Address,
    Backbone,
    Constant,
    Dimension,
    Input,
    Instruction,
    Parameter,
    Reduction,
    Region,
    Result,
    TiledAxis,
)
from einloom.space.temporaries import with_temporaries
from einloom.space.wellformed import check_backbone

__all__ = ["Builder", "NestBuilder", "Value"]

Scalar = float | Parameter
MAIN = "main"
"""The nest whose dimensions carry short names (`m.1` instead of `load_a.m.1`)."""


@frozen
class Value:
    """What an instruction produces, seen from outside its nest.

    Attributes:
        instruction: who produces it.
        nest: where that stands.
        storable: whether it may reach other nests through a temporary array.
    """

    instruction: str
    nest: NestBuilder
    storable: bool | None = None

    def may_be_stored_for(self, reader: NestBuilder) -> bool:
        """Whether it may reach a nest through a temporary array.

        Where nothing else was said, what is loaded may, and so may any result that the reader uses more than once:
        along axes that the value does not have.
        """
        if self.storable is not None:
            return self.storable
        return self.nest.builder.is_load(self) or not set(reader.axes) <= set(self.nest.axes)


@frozen
class NestBuilder:
    """Adds instructions to one nest of a backbone: the axes that repeat them."""

    name: str
    axes: tuple[TiledAxis, ...]
    builder: Builder

    @property
    def dimensions(self) -> tuple[str, ...]:
        """Names of the dimensions, axis by axis, outermost tile first."""
        return tuple(self.dimension(axis, level) for axis in self.axes for level in range(axis.levels))

    def dimension(self, axis: TiledAxis, level: int) -> str:
        """Return the name of the dimension that stands for one level of an axis in this nest."""
        name = f"{axis.name}.{level}"
        return name if level == 0 or self.name == MAIN else f"{self.name}.{name}"

    def apply(
        self, operator: str, *values: Value | Scalar, name: str | None = None, storable: bool | None = None
    ) -> Value:
        """Add a scalar operation of values, numbers and parameters.

        Args:
            operator: a key of `einloom.ir.statement.SCALARS`.
            values: what it reads.
            name: the instruction's, unlike all others; by default the operator's or the nest's, with a number.
            storable: whether the result may reach other nests through a temporary array; None lets it where a reader
                uses it more than once.
        """
        return self._add(name, operator, tuple(self._input(each) for each in values), storable)

    def reduce(
        self,
        operator: str,
        *values: Value | Scalar,
        start: Value,
        name: str | None = None,
        storable: bool | None = None,
    ) -> Value:
        """Add an operation whose last input is its own previous value along the axes that `start` does not have."""
        over = tuple(axis for axis in self.axes if axis not in start.nest.axes)
        dimensions = tuple(self.dimension(axis, level) for axis in over for level in range(axis.levels))
        reduction = Reduction(Result(start.instruction, self.mapping(start)), dimensions)
        for dimension in dimensions:
            self.builder.forbid_parallel(dimension)
        self._own(start)
        self.builder.pin(start.instruction)
        inputs = tuple(self._input(each) for each in values)
        return self._add(name, operator, (*inputs, reduction), storable, pinned=True)

    def reading(self, value: Value) -> Result:
        """Return how an instruction of this nest reads the result of another one."""
        self._own(value)
        within = value.nest.name == self.name
        return Result(value.instruction, () if within else self.mapping(value), value.may_be_stored_for(self))

    def _input(self, value: Value | Scalar) -> Input:
        if isinstance(value, Value):
            return self.reading(value)
        return value if isinstance(value, Parameter) else Constant(float(value))

    def _own(self, value: Value) -> None:
        if value.nest.builder is not self.builder:
            raise ScheduleError(f"{value.instruction} belongs to another builder than nest {self.name}")

    def mapping(self, value: Value) -> tuple[tuple[str, str], ...]:
        """Return the pairs of tiles along which `value` flows into this nest: those of the axes both have."""
        shared = [axis for axis in value.nest.axes if axis in self.axes]
        levels = [(axis, level) for axis in shared for level in range(1, axis.levels)]
        return tuple((value.nest.dimension(axis, level), self.dimension(axis, level)) for axis, level in levels)

    def _add(
        self, name: str | None, operator: str, inputs: tuple[Input, ...], storable: bool | None, pinned: bool = False
    ) -> Value:
        default = operator if self.name == MAIN else self.name
        instruction = Instruction(name or self.builder.fresh(default), operator, self.dimensions, inputs, pinned=pinned)
        return self.builder.add(instruction, self, storable)


class Builder:
    """Collects axes, arrays, nests and instructions; `backbone()` returns the frozen value."""

    def __init__(self, name: str, dtype: DType = FLOAT32) -> None:
        self.name, self.dtype = name, dtype
        self._axes: list[TiledAxis] = []
        self._dimensions: dict[str, Dimension] = {}
        self._instructions: dict[str, Instruction] = {}
        self._nests: dict[str, NestBuilder] = {}
        self._regions: list[Region] = []
        self._parameters: list[str] = []

    def axis(self, name: str, size: int, tiles: tuple[tuple[int, ...], ...] = (), ragged: bool = False) -> TiledAxis:
        """Add an axis with the possible sizes of its tiles, outermost tile first; `ragged` allows tails."""
        if size < 1:
            raise ShapeError(f"axis {name} of {self.name} has size {size}\n  Give a size of at least 1.")
        self._axes.append(TiledAxis(name, size, tiles, ragged))
        self._dimensions[f"{name}.0"] = Dimension(f"{name}.0", name, 0)
        return self._axes[-1]

    def input(
        self, name: str, *axes: TiledAxis, strides: tuple[int, ...] | None = None, dtype: DType | None = None
    ) -> Region:
        """Add an input array, column-major unless `strides` (elements, one per axis) say otherwise."""
        return self._region(name, "input", axes, strides, dtype)

    def output(
        self, name: str, *axes: TiledAxis, strides: tuple[int, ...] | None = None, dtype: DType | None = None
    ) -> Region:
        """Add an output array, column-major unless `strides` (elements, one per axis) say otherwise."""
        return self._region(name, "output", axes, strides, dtype)

    def parameter(self, name: str) -> Parameter:
        """Add a scalar argument."""
        self._parameters.append(name)
        return Parameter(name)

    def nest(self, name: str, *axes: TiledAxis) -> NestBuilder:
        """Add a nest of loops over `axes`, or open it again; the one called `main` gives its dimensions short names.

        Raises:
            ScheduleError: there is a nest of that name over other axes.
        """
        nest = NestBuilder(name, axes, self)
        if self._nests.setdefault(name, nest).axes != axes:
            raise ScheduleError(f"{self.name} has a nest {name!r} over other axes\n  Give each nest a name of its own.")
        for axis in axes:
            for level, sizes in enumerate(axis.tiles, 1):
                dimension = nest.dimension(axis, level)
                self._dimensions.setdefault(dimension, Dimension(dimension, axis.name, level, sizes))
        return nest

    def load(self, region: Region) -> Value:
        """Add a load of every element of an array, in a nest of its own called `load_` and the array's name."""
        nest = self.nest(f"load_{region.name.lower()}", *self._axes_of(region))
        return self.add(Instruction(nest.name, "load", nest.dimensions, address=self._address(region)), nest)

    def store(self, region: Region, value: Value) -> None:
        """Add a store of every element of an array, in a nest of its own called `store_` and the array's name."""
        nest = self.nest(f"store_{region.name.lower()}", *self._axes_of(region))
        address = self._address(region)
        given = replace(nest.reading(value), storable=value.storable is True)
        self.add(Instruction(nest.name, "store", nest.dimensions, (given,), address, pinned=True), nest)

    def add(self, instruction: Instruction, nest: NestBuilder, storable: bool | None = None) -> Value:
        """Add an instruction to a nest.

        Raises:
            ScheduleError: another one has its name.
        """
        if instruction.name in self._instructions:
            raise ScheduleError(f"two instructions of {self.name} are called {instruction.name!r}\n  Use `name=`.")
        self._instructions[instruction.name] = instruction
        return Value(instruction.name, nest, storable)

    def fresh(self, name: str) -> str:
        """Return a name, with a number behind it if an instruction has it already."""
        numbered = (f"{name}_{number}" for number in count(2))
        return next(each for each in chain((name,), numbered) if each not in self._instructions)

    def pin(self, name: str) -> None:
        """Forbid an instruction to run under other dimensions than its own."""
        old = self._instructions[name]
        self._instructions[name] = replace(old, pinned=True)

    def forbid_parallel(self, name: str) -> None:
        """Record that a reduction runs along a dimension."""
        old = self._dimensions[name]
        self._dimensions[name] = replace(old, parallel=False)

    def is_load(self, value: Value) -> bool:
        """Whether a value comes from memory, so that it may be staged in a temporary array."""
        return self._instructions[value.instruction].operator == "load"

    def backbone(self) -> Backbone:
        """Return what was built, with the temporaries it may come to need; dimensions of the main nest come first.

        Raises:
            ScheduleError: it means nothing; see `check_backbone`.
        """
        short = {f"{axis.name}.{level}" for axis in self._axes for level in range(axis.levels)}
        backbone = Backbone(
            self.name,
            tuple(self._axes),
            tuple(sorted(self._dimensions.values(), key=lambda each: each.name not in short)),
            tuple(self._instructions.values()),
            tuple(self._regions),
            tuple(self._parameters),
            dtype=self.dtype,
        )
        check_backbone(backbone)
        return with_temporaries(backbone)

    def _region(
        self,
        name: str,
        role: str,
        axes: tuple[TiledAxis, ...],
        strides: tuple[int, ...] | None,
        dtype: DType | None,
    ) -> Region:
        if strides is None:
            strides = tuple(accumulate((axis.size for axis in axes[:-1]), operator.mul, initial=1))
        self._regions.append(Region(name, role, tuple(axis.name for axis in axes), strides, dtype))
        return self._regions[-1]

    def _axes_of(self, region: Region) -> tuple[TiledAxis, ...]:
        return tuple(axis for name in region.axes for axis in self._axes if axis.name == name)

    def _address(self, region: Region) -> Address:
        return Address(region.name, tuple(zip(region.axes, region.strides)))
