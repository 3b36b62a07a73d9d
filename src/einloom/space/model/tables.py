"""What the model reads about a kernel's space, found once: slots and masks by number instead of by name."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from einloom import csp
from einloom.space.backbone import Backbone, Dimension, Instruction, Result
from einloom.space.device import GpuDevice
from einloom.space.model.rows import Around, Group, InstructionTable, Tile

__all__ = ["Tables"]


class Tables:
    """The slots of one problem that the model reads."""

    def __init__(self, problem: csp.Problem, backbone: Backbone, device: GpuDevice) -> None:
        self.problem, self.backbone, self.device = problem, backbone, device
        self.widest = max(device.vector_widths, default=1)
        self.root = problem.state().domains[:]
        self.needs = {key: 1 << position for position, key in enumerate(problem.extensions)}
        self.owner = {name: t.region.name for t in backbone.temporaries for name in (t.store.name, t.load.name)}
        self.owner |= {d.name: t.region.name for t in backbone.temporaries for d in t.dimensions}
        self.tile_number: dict[tuple[str, int], int] = {}
        self.tiles = [self._tile(axis.name, level) for axis in backbone.axes for level in range(axis.levels)]
        self.dimensions = [d for d in backbone.dimension.values() if self._exists(d.name)]
        self.kinds = [self._kind(dimension) for dimension in self.dimensions]
        self.instructions = self._instructions()
        self.tile_of = [self._tile_of(dimension) for dimension in self.dimensions]
        self.sequence = self._sequence()
        self.wakers = self._wakers()
        self.blocks = self._blocks()
        self.tails = self._tails()
        self.threads = problem.names.counter("num_threads()")
        self.shared_bytes = problem.names.counter("shared_bytes()")

    def _tile(self, axis: str, level: int) -> Tile:
        self.tile_number[axis, level] = len(self.tile_number)
        first = next(d for d in self.backbone.dimensions if (d.axis, d.level) == (axis, level))
        found = self.problem.variable(f"size({first.name})" if level else f"tiling({axis})")
        values = tuple(int(value) for value in found.values)
        return Tile(found.slot, values, 0 if level else self.backbone.axis[axis].size)

    def _exists(self, name: str) -> bool:
        """Whether an object can ever exist: extensions that cannot wake have none."""
        return name not in self.owner or self.owner[name] in self.needs

    def _kind(self, dimension: Dimension) -> tuple[int, int, int]:
        """Return the extensions that a dimension needs, the slot of its `dim_kind` and the number of its tile."""
        need = self.needs[self.owner[dimension.name]] if dimension.name in self.owner else 0
        return need, self.problem.variable(f"dim_kind({dimension.name})").slot, self._tile_of(dimension)

    def _instructions(self) -> tuple[InstructionTable, ...]:
        alive = [each for each in self.backbone.instruction.values() if self._exists(each.name)]
        numbers = {each.name: number for number, each in enumerate(alive)}
        return tuple(self._instruction(each, numbers) for each in alive)

    def _instruction(self, each: Instruction, numbers: dict[str, int]) -> InstructionTable:
        cache, cached, space, shared = -1, 0, -1, 0
        if each.address:
            caches = ("L1", "READ_ONLY") if self.device.caches_loads else ()
            cache, cached = self._choice(f"cache({each.name})", *caches)
            space, shared = self._choice(f"mem_space({each.address.region})", "SHARED")
        temporary = self.owner.get(each.name)
        return InstructionTable(
            each.name,
            numbers[each.name],
            each.operator,
            self.needs[temporary] if temporary else 0,
            self._extent(self.backbone.axes_of(each)),
            tuple(self._groups(each)),
            cache,
            cached,
            space,
            shared,
            self._moves(each),
            tuple(numbers[name] for name in self._producers(each)),
            sum(1 << self._tile_of(self.backbone.dimension[name]) for name in each.reduced),
            self._extent({self.backbone.dimension[name].axis for name in each.reduced}),
            tuple(self._kept(each)),
            temporary is not None and each.operator == "store",
        )

    def _choice(self, name: str, *values: str) -> tuple[int, int]:
        """Return the slot of a decision, and the mask of some of its values there."""
        variable = self.problem.variable(name)
        return variable.slot, self.problem.names.mask(variable, values)

    def _extent(self, axes: Iterable[str]) -> float:
        return float(prod(self.backbone.axis[axis].size for axis in axes))

    def _tile_of(self, dimension: Dimension) -> int:
        return self.tile_number[dimension.axis, dimension.level]

    def _producers(self, each: Instruction) -> list[str]:
        """Return the instructions whose values reach this one: of a temporary's load, the store that fills it."""
        found = [result.instruction for result in each.results]
        for temporary in self.backbone.temporaries:
            if temporary.region.name in self.needs and each.name == temporary.load.name:
                found.append(temporary.store.name)
            if temporary.region.name in self.needs and each.name == temporary.user:
                found.append(temporary.load.name)
        return found

    def _kept(self, each: Instruction) -> list[tuple[int, int]]:
        names = [name for name in each.dimensions if name not in each.reduced]
        kept = [self.backbone.dimension[name] for name in names]
        return [(self.problem.variable(f"dim_kind({d.name})").slot, self._tile_of(d)) for d in kept]

    def _groups(self, each: Instruction) -> list[Group]:
        found: dict[int, list[Around]] = {}
        for own in (True, False):
            for number, dimension in enumerate(self.dimensions):
                if (dimension.name in each.dimensions) == own:
                    around = self._around(each, number, dimension, own, found.get(self._tile_of(dimension), []))
                    if around is not None:
                        found.setdefault(around.tile, []).append(around)
        return [tuple(group) for group in found.values()]

    def _around(
        self, each: Instruction, number: int, dimension: Dimension, own: bool, earlier: list[Around]
    ) -> Around | None:
        need, kind, tile = self.kinds[number]
        if own:
            return Around(dimension.name, 1 << number, need, tile, kind, True)
        order, outer = self._choice(f"order({dimension.name}, {each.name})", "OUTER")
        if not self.root[order] & outer:
            return None
        fused = tuple(self._choice(f"order({dimension.name}, {other.name})", "MERGED") for other in earlier)
        return Around(dimension.name, 1 << number, need, tile, kind, False, order, outer, fused)

    def _moves(self, each: Instruction) -> tuple[tuple[int, int, tuple[int, ...]], ...]:
        """Return for each own dimension its kind's slot, the stride of its axis, and the tiles inside it."""
        if each.address is None:
            return ()
        strides = dict(each.address.strides)
        found: list[tuple[int, int, tuple[int, ...]]] = []
        for name in each.dimensions:
            d = self.backbone.dimension[name]
            kind = self.problem.variable(f"dim_kind({name})").slot
            inner = range(d.level + 1, self.backbone.axis[d.axis].levels)
            found.append((kind, abs(strides.get(d.axis, 1)), tuple(self.tile_number[d.axis, level] for level in inner)))
        return tuple(found)

    def _blocks(self) -> tuple[tuple[int, int], ...]:
        """Return the kind's slot and the tile of every dimension that may be one of the grid of blocks."""
        anchor = next(each for each in self.backbone.instructions if each.operator == "store")
        own = [self.backbone.dimension[name] for name in anchor.dimensions]
        return tuple((self.problem.variable(f"dim_kind({d.name})").slot, self._tile_of(d)) for d in own if d.parallel)

    def _sequence(self) -> tuple[int, ...]:
        """Return the numbers of the instructions, each after those whose values it reads."""
        found: dict[int, None] = {}

        def visit(number: int) -> None:
            for producer in self.instructions[number].producers:
                visit(producer)
            found[number] = None

        for each in self.instructions:
            visit(each.number)
        return tuple(found)

    def _wakers(self) -> tuple[tuple[int, int, int], ...]:
        """Return what wakes an extension: its bit, a slot of `dim_mapping` and the mask of being stored."""
        found: list[tuple[int, int, int]] = []
        for temporary in self.backbone.temporaries:
            if temporary.region.name in self.needs:
                read = self.backbone.instruction[temporary.user].inputs[temporary.position]
                assert isinstance(read, Result)
                for pair in read.mapping:
                    slot, stored = self._choice(f"dim_mapping({', '.join(pair)})", "STORED")
                    found.append((self.needs[temporary.region.name], slot, stored))
        return tuple(found)

    def _tails(self) -> tuple[tuple[int, int], ...]:
        """Return for each axis the slot of `tail` and the mask of those that stick out."""
        return tuple(self._choice(f"tail({axis.name})", "PREDICATED") for axis in self.backbone.axes)
