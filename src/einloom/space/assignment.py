"""`Assignment`: a full assignment of decisions, read by name. The checker and the decoder see a leaf only through it.

It knows the names of choices and their values, and nothing of the engine that found them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from einloom.errors import ScheduleError
from einloom.frozen import frozen
from einloom.once import cached_property
from einloom.space.backbone import Backbone, Dimension, Instruction, Region, Result, Temporary

__all__ = ["Assignment", "split_name"]

_EXCHANGED = {"BEFORE": "AFTER", "AFTER": "BEFORE", "OUTER": "INNER", "INNER": "OUTER"}
_NAME = re.compile(r"\s*(\w+)\s*\((.*)\)\s*")


@cache
def split_name(name: str) -> tuple[str, tuple[str, ...]]:
    """Return the choice and the objects of a decision's name.

    >>> split_name("order(m.1, mad)")
    ('order', ('m.1', 'mad'))
    """
    match = _NAME.fullmatch(name)
    if match is None:
        raise ScheduleError(f"{name!r} names no decision\n  Write a choice and its objects, as in order(m.1, n.1).")
    return match[1], tuple(part.strip() for part in match[2].split(",") if part.strip())


@cache
def _key(name: str) -> tuple[str, ...]:
    """Return the choice of a decision's name, then its objects: one value for all leaves, which are many."""
    choice, objects = split_name(name)
    return (choice, *objects)


@frozen(slots=False, eq=False)
class Assignment:
    """A backbone and one value for each decision, by name."""

    backbone: Backbone
    decisions: Mapping[str, str | int]

    @cached_property
    def values(self) -> dict[tuple[str, ...], str | int]:
        """The values by (choice, *objects)."""
        return {_key(name): value for name, value in self.decisions.items()}

    @cached_property
    def orders(self) -> dict[str, dict[str, str]]:
        """How each statement stands to each other one, in both directions."""
        found: dict[str, dict[str, str]] = {}
        for key, value in self.values.items():
            if key[0] == "order":
                _, a, b = key
                if found.setdefault(a, {}).setdefault(b, str(value)) != value:
                    raise ScheduleError(f"order({a}, {b}) is decided in both directions, which contradict each other")
                found.setdefault(b, {})[a] = _EXCHANGED.get(str(value), str(value))
        return found

    def value(self, choice: str, *objects: str) -> str | int:
        """Return the value of one decision; antisymmetric ones in either direction.

        Raises:
            ScheduleError: the assignment does not decide it.
        """
        key = (choice, *objects)
        if key in self.values:
            return self.values[key]
        exchanged = (choice, *objects[:-2], *objects[:-3:-1])
        if len(objects) > 1 and exchanged in self.values:
            found = self.values[exchanged]
            return _EXCHANGED.get(str(found), found)
        raise ScheduleError(f"{choice}({', '.join(objects)}) is not decided, so this is no implementation")

    @cached_property
    def temporaries(self) -> tuple[Temporary, ...]:
        """The temporaries in use: those of values that some dimension can only pass on through memory."""
        return tuple(each for each in self.backbone.temporaries if self._is_stored(each))

    def _is_stored(self, temporary: Temporary) -> bool:
        given = self.backbone.instruction[temporary.user].inputs[temporary.position]
        assert isinstance(given, Result)
        return any(self.value("dim_mapping", *pair) == "STORED" for pair in given.mapping)

    @cached_property
    def instructions(self) -> dict[str, Instruction]:
        """The instructions of this implementation: users of stored values read the temporary's load instead."""
        found = {each.name: each for each in self.backbone.instructions}
        for temporary in self.temporaries:
            user = found[temporary.user]
            old = self.backbone.instruction[temporary.user].inputs[temporary.position]
            assert isinstance(old, Result)
            pairs = tuple((loaded, target) for (_, loaded), (_, target) in zip(temporary.pairs, old.mapping))
            inputs = list(user.inputs)
            inputs[temporary.position] = Result(temporary.load.name, pairs)
            found[user.name] = replace(user, inputs=tuple(inputs))
            found[temporary.store.name] = temporary.store
            found[temporary.load.name] = temporary.load
        return found

    @cached_property
    def dimensions(self) -> dict[str, Dimension]:
        """The dimensions of this implementation."""
        added = [dimension for temporary in self.temporaries for dimension in temporary.dimensions]
        return {each.name: each for each in (*self.backbone.dimensions, *added)}

    @cached_property
    def regions(self) -> dict[str, Region]:
        """The arrays of this implementation."""
        return {each.name: each for each in (*self.backbone.regions, *(t.region for t in self.temporaries))}

    def tiling(self, axis: str) -> int:
        """Return the product of the sizes of an axis's tiles."""
        product = 1
        for dimension in self.backbone.dimensions:
            if dimension.axis == axis and dimension.static and dimension.name == self._first(dimension):
                product *= int(self.value("size", dimension.name))
        return product

    def _first(self, dimension: Dimension) -> str:
        same = (d for d in self.backbone.dimensions if (d.axis, d.level) == (dimension.axis, dimension.level))
        return next(same).name

    def extent(self, name: str) -> int:
        """Return how many iterations a dimension has."""
        dimension = self.dimensions[name]
        if dimension.static:
            return int(self.value("size", name))
        return -(-self.backbone.axis[dimension.axis].size // self.tiling(dimension.axis))

    def kind(self, name: str) -> str:
        """Return how a dimension's iterations run."""
        return str(self.value("dim_kind", name))

    def inside(self, a: str) -> set[str]:
        """Return the statements that are nested inside statement `a`."""
        return {b for b, stands in self.orders.get(a, {}).items() if stands == "OUTER"}

    def order(self, a: str, b: str) -> str:
        """Return how statement `a` stands to statement `b`."""
        return self.orders.get(a, {}).get(b) or str(self.value("order", a, b))
