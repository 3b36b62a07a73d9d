"""The temporaries a backbone may come to need: each storable value may pass through an array between two nests.

A value produced in one nest and used in another goes through registers when every dimension of its mapping is fused,
unrolled on both sides, or mapped to the same hardware threads. Otherwise it is stored to a temporary array and loaded
back (paper, section 4.4, Listing 12). Which of them a candidate needs is decided by the search; what they would add is
known from the start, so that names never depend on the order of decisions.
"""

from __future__ import annotations

from dataclasses import replace

from einloom.space.backbone import Address, Backbone, Dimension, Instruction, Region, Result, Temporary

__all__ = ["with_temporaries"]


def with_temporaries(backbone: Backbone) -> Backbone:
    """Return the backbone with one potential temporary for each storable value."""
    found: list[Temporary] = []
    taken: set[str] = set()
    for user in backbone.instructions:
        for position, given in enumerate(user.inputs):
            if isinstance(given, Result) and given.storable and given.mapping:
                name = _fresh_name(f"tmp_{given.instruction.removeprefix('load_')}", taken)
                found.append(_temporary(backbone, name, user, position, given))
    return replace(backbone, temporaries=tuple(found))


def _fresh_name(name: str, taken: set[str]) -> str:
    """Return `name`, made unique among the regions."""
    unique, number = name, 2
    while unique in taken:
        unique, number = f"{name}_{number}", number + 1
    taken.add(unique)
    return unique


def _temporary(backbone: Backbone, name: str, user: Instruction, position: int, given: Result) -> Temporary:
    source = backbone.instruction[given.instruction]
    into = {first: f"store_{name}.{_suffix(backbone, first)}" for first, _ in given.mapping}
    out = {first: f"load_{name}.{_suffix(backbone, first)}" for first, _ in given.mapping}
    around = tuple(d for d in source.dimensions if d in user.dimensions and d not in source.reduced)
    store = Instruction(
        f"store_{name}",
        "store",
        (*around, *into.values()),
        (Result(source.name, tuple(into.items())),),
        Address(name, dimensions=tuple(into.values())),
    )
    load = Instruction(
        f"load_{name}",
        "load",
        (*around, *out.values()),
        address=Address(name, dimensions=tuple(out.values())),
    )
    dimensions = tuple(
        replace(backbone.dimension[first], name=new, parallel=True)
        for names in (into, out)
        for first, new in names.items()
    )
    pairs = tuple((into[first], out[first]) for first in into)
    return Temporary(Region(name, "temporary"), source.name, user.name, position, store, load, dimensions, pairs)


def _suffix(backbone: Backbone, dimension: str) -> str:
    """Return a dimension's name without its nest: axis and level."""
    found: Dimension = backbone.dimension[dimension]
    return f"{found.axis}.{found.level}"
