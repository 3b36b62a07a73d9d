"""What people call slots, counters, values and objects, and the numbers that the engine has for them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

from einloom.csp.compile.rows import EnumRow, Quantifier
from einloom.csp.language.source import UnknownChoice
from einloom.csp.layout.slots import Layout
from einloom.frozen import frozen
from einloom.once import cached_property

__all__ = ["Names", "Variable"]


@frozen
class Variable:
    """One decision.

    Attributes:
        name: the choice applied to its objects' names, `"order(a, b)"`, in the direction that was asked for.
        choice: the choice's name.
        objects: names of the objects.
        values: names (or integers) of the values; bit i of a mask of `slot` is `values[i]`.
        slot: index into `State.domains`.
        flipped: whether the slot stores the other direction, so that masks must pass through the converse.
        extensions: keys of the extensions that must have fired before it exists; empty for the root's.
    """

    name: str
    choice: str
    objects: tuple[str, ...]
    values: tuple[str, ...] | tuple[int, ...]
    slot: int
    flipped: bool = False
    extensions: tuple[str, ...] = ()


class Names:
    """The names of one problem.

    Args:
        counters: the number of each counter, by its name and objects.
    """

    def __init__(self, layout: Layout, counters: Mapping[str, Mapping[tuple[int, ...], int]]) -> None:
        self.layout = layout
        self.counters = counters
        self.objects = layout.members.names
        self.extensions = [each.key for each in layout.members.extensions]

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """All decisions, with those of objects that sleep, in slot order."""
        return tuple(self.describe(slot) for slot in self.layout.exposed)

    def describe(self, slot: int, flipped: bool = False) -> Variable:
        """Return the variable of a slot, in the stored or in the other direction."""
        layout = self.layout
        objects = layout.objects_of[slot]
        if flipped:
            objects = (*objects[:-2], objects[-1], objects[-2])
        inside = tuple(self.objects[number] for number in objects)
        choice = layout.choice_of[slot].row.name
        keys = tuple(key for i, key in enumerate(self.extensions) if layout.need_of[slot] >> i & 1)
        values = layout.domain_of[slot].values
        return Variable(f"{choice}({', '.join(inside)})", choice, inside, values, slot, flipped, keys)

    def variable(self, name: str) -> Variable:
        """Return the variable of that name, in either direction, with any spaces.

        Raises:
            UnknownChoice: there is none; the message lists near names.
        """
        found = self.find(name)
        if found is None:
            _unknown("choice", name, [each.name for each in self.variables])
        return found

    def find(self, name: str) -> Variable | None:
        """Return what `variable` does, or None: an error that lists near names takes long to make."""
        choice, objects = self._parse(name)
        if choice in self.layout.choices and objects is not None:
            try:
                return self.describe(*self.layout.find(choice, objects))
            except (KeyError, IndexError):
                pass
        return None

    def counter(self, name: str) -> int:
        """Return the number of a counter by its name, as in `"threads()"`.

        Raises:
            UnknownChoice: there is none.
        """
        choice, objects = self._parse(name)
        known = self.counters.get(choice, {})
        if objects is None or objects not in known:
            _unknown("counter", name, [self.applied(each, to) for each in self.counters for to in self.counters[each]])
        return known[objects]

    def is_counter(self, name: str) -> bool:
        """Whether a name is that of a counter."""
        return self._parse(name)[0] in self.counters

    def _parse(self, name: Any) -> tuple[str, tuple[int, ...] | None]:
        if not isinstance(name, str):
            raise UnknownChoice(f"{name!r} names no decision\n  Give a text, as in 'order(a, b)'.")
        match = re.fullmatch(r"\s*(\w+)\s*\((.*)\)\s*", name)
        if match is None:
            return name, None
        inside = [part.strip() for part in match.group(2).split(",")] if match.group(2).strip() else []
        numbers = [self.layout.members.by_name.get(part, -1) for part in inside]
        return match.group(1), None if -1 in numbers else tuple(numbers)

    def mask(self, variable: Variable, values: Iterable[str | int]) -> int:
        """Return values or aliases of a variable as a mask of its slot.

        Raises:
            UnknownChoice: it has no such value.
        """
        row = self.layout.choices[variable.choice].row
        known: dict[str | int, int] = {value: 1 << i for i, value in enumerate(variable.values)}
        if isinstance(row, EnumRow):
            known |= row.masks
        mask = 0
        for value in values:
            if value not in known:
                raise UnknownChoice(f"{variable.name} has no value {value!r}; it has {', '.join(map(str, known))}")
            mask |= known[value]
        return self.layout.domain_of[variable.slot].seen(mask, variable.flipped)

    def values(self, variable: Variable, mask: int) -> tuple[str | int, ...]:
        """Return the values of a mask of a variable's slot, as the variable sees them."""
        domain = self.layout.domain_of[variable.slot]
        return domain.select(domain.seen(mask, variable.flipped))

    def applied(self, name: str, objects: Sequence[int]) -> str:
        """Return `name(a, b)`."""
        return f"{name}({', '.join(self.objects[each] for each in objects)})"

    def said(self, text: str, quantifiers: Sequence[Quantifier], objects: Sequence[int], place: str) -> str:
        """Return the text of a definition with the names of objects where its variables stand, and its place."""
        names = [(quantifier.variable, self.objects[each]) for quantifier, each in zip(quantifiers, objects)]
        for variable, name in sorted(names, key=lambda pair: -len(pair[0])):
            text = text.replace(f"${variable}", name)
        return f"{text}  [{place}]"


def _unknown(what: str, name: str, known: Sequence[str]) -> NoReturn:
    near = get_close_matches(name, known, 3, 0.5)
    raise UnknownChoice(f"there is no {what} {name!r}" + (f"; near names: {'; '.join(near)}" if near else ""))
