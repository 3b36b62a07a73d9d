"""Sizes as arguments: the numbers of a launch that follow from the extents of arrays, passed when it is started.

How often loops run, how far elements of arrays lie apart, where arrays begin and tails end follow from extents. So a
kernel that is told these (what decisions alone fix included) has one text for all whose leaves decide the same.

    loop k.0 32          `trips_k_0`
    A[4096 m.0 + m.1]    `step_A_m_0`
    if 4 m.0 + m.1 < 6   `end_m_0`
    A 96 from 32         `begin_A`
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import numpy as np

from einloom.ir.gpu.launch import Launch, Space, places, repeats, statements
from einloom.ir.statement import LoopKind, Terms

__all__ = [
    "Key",
    "has_long_indices",
    "key_of_end",
    "key_of_step",
    "key_of_trips",
    "origin_values",
    "origins_of",
    "size_values",
    "sizes_of",
]

Key = tuple[str, ...]
"""What a size is: its kind, and what it is of."""

NO_SHIFTS: Mapping[str, int] = MappingProxyType({})

LONG = 2**30
"""Arrays with so many elements are indexed by 64 bits: with 32, threads that stick out of a tail could count over."""


def key_of_trips(loop: str) -> Key:
    """Return the key of how often a loop runs."""
    return "trips", loop


def key_of_step(array: str, index: str) -> Key:
    """Return the key of how far an index moves through an array."""
    return "step", array, index


def key_of_end(terms: Terms) -> Key:
    """Return the key of a limit, which is named after the first index that it counts by."""
    return "end", terms[0][0], *(f"{factor} {name}" for name, factor in terms)


def has_long_indices(launch: Launch) -> bool:
    """Whether indices are 64 bits wide."""
    return any(each.size >= LONG for each in launch.arrays)


def sizes_of(launch: Launch) -> Mapping[Key, int]:
    """Return the sizes of a launch in the order in which its kernel takes them.

    What two statements call by one name and disagree about stays a constant, as do steps and limits of 1.
    """
    found: dict[Key, set[int]] = {}
    for loop in repeats(launch):
        if loop.kind is LoopKind.LOOP:
            found.setdefault(key_of_trips(loop.name), set()).add(loop.trips)
    for statement, _ in statements(launch):
        for place in places(statement):
            for index, step in place.terms if launch.array[place.buffer].space is Space.GLOBAL else ():
                found.setdefault(key_of_step(place.buffer, index), set()).add(step)
        for terms, limit in statement.within:
            found.setdefault(key_of_end(terms), set()).add(limit)
    single = {key: next(iter(values)) for key, values in found.items() if len(values) == 1}
    return {key: value for key, value in single.items() if value != 1 or key[0] == "trips"}


def origins_of(launch: Launch) -> tuple[str, ...]:
    """Return the arrays below whose first element lie others, which negative strides reach."""
    return tuple(each.name for each in launch.arguments if each.origin)


def origin_values(launch: Launch, begins: Iterable[str], shifts: Mapping[str, int] = NO_SHIFTS) -> list[np.integer]:
    """Return what a kernel is told about arrays whose origins are arguments, behind those of the launch.

    Args:
        launch: the program.
        begins: the arrays.
        shifts: how many elements of its memory lie before those of an array.
    """
    return [np.int64(launch.array[name].origin + shifts.get(name, 0)) for name in begins]


def size_values(launch: Launch) -> list[np.integer]:
    """Return what a kernel that takes sizes is given behind its other arguments: origins, then sizes."""
    integer = np.int64 if has_long_indices(launch) else np.int32
    return [*origin_values(launch, origins_of(launch)), *(integer(value) for value in sizes_of(launch).values())]
