"""Who is in which set: numbers, names and memberships of all objects that can ever exist in one problem.

A membership that an extension brings needs that extension: `need` is a bit mask of extensions, 0 for what exists at the
root. Everything that is made from objects (slots, clauses, counters, …) needs what its objects need together.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from einloom.csp.compile.compiler import Space
from einloom.csp.compile.rows import HostCall, Quantifier, SetRow
from einloom.csp.language.source import SpaceError
from einloom.csp.layout.additions import Addition, Extension
from einloom.csp.layout.hosts import Hosts

__all__ = ["Members"]

FORBIDDEN = frozenset("(),'\"\n")
MOST_ROUNDS = 64


class Members:
    """Objects and sets of a frozen instance.

    Attributes:
        items: the object of each number.
        names: its name.
        sets: for each set and owners, `{object number: need}`.
        extensions: in the order of their numbers.
        fired: for each trigger tuple that may fire: (row number, objects, need, extension number).
    """

    def __init__(self, space: Space, additions: Iterable[Addition], host: Mapping[str, Any]) -> None:
        self.space = space
        self.items: list[Any] = []
        self.names: list[str] = []
        self.numbers: dict[Hashable, int] = {}
        self.by_name: dict[str, int] = {}
        self.rows = {row.name: row for row in self.space.sets}
        self.sets: dict[str, dict[tuple[int, ...], dict[int, int]]] = {name: {} for name in self.rows}
        self.extensions: list[Extension] = []
        self.fired: list[tuple[int, tuple[int, ...], int, int]] = []
        self.hosts = Hosts(self.space, host, self.items)
        self._new: list[tuple[str, tuple[int, ...], int, int]] = []
        for addition in additions:
            self._include(addition, 0)
        for row in self.space.sets:
            if row.iterator and not row.parameters:
                self._iterate(row, (), 0)
        self._derive()
        self._run_triggers()
        self._check_disjoint()

    def _include(self, addition: Addition, need: int) -> None:
        row = self.rows.get(addition.set_name)
        if row is None or row.quotient:
            known = ", ".join(name for name, each in self.rows.items() if not each.quotient)
            raise SpaceError(f"there is no set {addition.set_name!r} to add to; there are {known}")
        if len(addition.of) != len(row.parameters):
            count = len(row.parameters)
            raise SpaceError(f"{row.name} belongs to {count} object(s): give them as of=(..), not {addition.of!r}")
        owners = tuple(self._owner(row, owner) for owner in addition.of)
        self._add(row, owners, self._number(row, owners, addition.item, addition.name), need)

    def _owner(self, row: SetRow, owner: Hashable) -> int:
        if owner not in self.numbers:
            raise SpaceError(f"{row.name} cannot belong to {owner!r}, which is in no set yet: add it first")
        return self.numbers[owner]

    def _number(self, row: SetRow, owners: tuple[int, ...], item: Hashable, name: str | None) -> int:
        if item in self.numbers:
            number = self.numbers[item]
            if name is not None and name != self.names[number]:
                raise SpaceError(f"object {self.names[number]!r} cannot also be called {name!r}")
            return number
        self._check_type(row, item)
        name = name if name is not None else self._name(row, owners, item)
        if not name or FORBIDDEN & set(name):
            raise SpaceError(f"object name {name!r} must not be empty, nor contain parentheses, commas or quotes")
        if name in self.by_name:
            raise SpaceError(f"two objects are called {name!r}: give one another name")
        number = len(self.items)
        self.numbers[item] = self.by_name[name] = number
        self.items.append(item)
        self.names.append(name)
        return number

    def _check_type(self, row: SetRow, item: Hashable) -> None:
        expected = self.hosts.names.__dict__.get(row.item_type)
        if isinstance(expected, type) and not isinstance(item, expected):
            raise SpaceError(f"{row.name} holds objects of type {row.item_type}, not {item!r}")

    def _name(self, row: SetRow, owners: tuple[int, ...], item: Hashable) -> str:
        if row.namer:
            return str(self._key_value(row.namer, owners, item))
        name = getattr(item, "name", None)
        if isinstance(name, str):
            return name
        return f"{row.prefix}{len(self.items)}" if row.prefix else str(item)

    def _key_value(self, call: HostCall, owners: tuple[int, ...], last: Any) -> Any:
        """Return the value of a key's expression: its variables are the owners, then the object."""
        given = [*(self.items[owner] for owner in owners), last]
        return self.hosts.apply(call, [given[argument] for argument in call.arguments])

    def _add(self, row: SetRow, owners: tuple[int, ...], number: int, need: int) -> None:
        members = self.sets[row.name].setdefault(owners, {})
        if number in members:
            known = members[number]
            if known & ~need:
                raise SpaceError(f"two extensions put {self.names[number]!r} into {row.name}: give them one key")
            return
        for owner, parameter in zip(owners, row.parameters):
            need |= self._need_of_owner(row, parameter, owners, owner)
        if row.superset is not None:
            name, positions = row.superset
            above = tuple(owners[position] for position in positions)
            if number not in self.sets[name].get(above, {}):
                self._add(self.rows[name], above, number, need)
            need |= self.sets[name][above][number]
        members[number] = need
        self._new.append((row.name, owners, number, need))

    def _need_of_owner(self, row: SetRow, parameter: Quantifier, owners: tuple[int, ...], owner: int) -> int:
        above = tuple(owners[position] for position in parameter.owners)
        needs = self.sets[parameter.set].get(above, {})
        if owner not in needs:
            raise SpaceError(f"{row.name} belongs to objects of {parameter.set}; {self.names[owner]!r} is not one")
        return needs[owner]

    def _derive(self) -> None:
        """Evaluate the iterators and filters of sets that depend on objects that are new."""
        while self._new:
            name, owners, number, need = self._new.pop(0)
            for row in self.space.sets:
                if row.iterator and len(row.parameters) == 1 and row.parameters[0].set == name and not owners:
                    self._iterate(row, (number,), need)
                if row.filter and row.superset is not None and row.superset[0] == name:
                    self._filter(row, number, need)

    def _iterate(self, row: SetRow, owners: tuple[int, ...], need: int) -> None:
        assert row.iterator is not None
        given = self.hosts.apply(row.iterator, [self.items[owners[each]] for each in row.iterator.arguments])
        try:
            found = list(given)
        except TypeError:
            raise SpaceError(f"{self.hosts.place(row.iterator)}: the iterator of {row.name} gave {given!r}") from None
        for item in found:
            if row.item_getter:
                item = self._key_value(row.item_getter, owners, item)
            self._add(row, owners, self._number(row, owners, item, None), need)

    def _filter(self, row: SetRow, number: int, need: int) -> None:
        assert row.filter is not None
        if not row.parameters and self._key_value(row.filter, (), self.items[number]):
            self._add(row, (), number, need)

    def _run_triggers(self) -> None:
        """Call every trigger for every tuple, also for objects that extensions bring, until nothing is new."""
        by_key: dict[str, int] = {}
        done: set[tuple[int, tuple[int, ...]]] = set()
        for _ in range(MOST_ROUNDS):
            todo = [
                (i, objects, need)
                for i, row in enumerate(self.space.triggers)
                for objects, need in self.tuples(row.quantifiers)
                if (i, objects) not in done
            ]
            if not todo:
                return
            for i, objects, need in todo:
                done.add((i, objects))
                row = self.space.triggers[i]
                if all(self.hosts.call(guard, objects) for guard in row.guards):
                    self._fire(i, objects, need, self.hosts.call(row.callback, objects), by_key)
            self._derive()
        raise SpaceError(
            f"extensions still bring extensions after {MOST_ROUNDS} rounds: do their objects fire them again?"
        )

    def _fire(self, row: int, objects: tuple[int, ...], need: int, given: Any, by_key: dict[str, int]) -> None:
        if given is None:
            return
        if not isinstance(given, Extension):
            place = self.space.triggers[row].place
            raise SpaceError(f"{place}: a trigger's callback gives a Extension or None, not {given!r}")
        if given.key not in by_key:
            by_key[given.key] = len(self.extensions)
            self.extensions.append(given)
            for addition in given.additions:
                self._include(addition, 1 << by_key[given.key])
        self.fired.append((row, objects, need, by_key[given.key]))

    def _check_disjoint(self) -> None:
        for row in self.space.sets:
            for other in row.disjoint:
                ours = {number for members in self.sets[row.name].values() for number in members}
                theirs = {number for members in self.sets[other].values() for number in members}
                if ours & theirs:
                    name = self.names[min(ours & theirs)]
                    raise SpaceError(f"{row.name} and {other} are disjoint, but {name!r} is in both")

    def tuples(self, quantifiers: Sequence[Quantifier]) -> Iterator[tuple[tuple[int, ...], int]]:
        """Yield every tuple of distinct objects that the quantifiers range over, with its need."""
        yield from self._extend(quantifiers, (), 0)

    def tuples_from(
        self, quantifiers: Sequence[Quantifier], objects: tuple[int, ...], need: int
    ) -> Iterator[tuple[tuple[int, ...], int]]:
        """Yield the tuples that start with some objects."""
        yield from self._extend(quantifiers, objects, need)

    def _extend(
        self, quantifiers: Sequence[Quantifier], objects: tuple[int, ...], need: int
    ) -> Iterator[tuple[tuple[int, ...], int]]:
        if len(objects) == len(quantifiers):
            yield objects, need
            return
        quantifier = quantifiers[len(objects)]
        owners = tuple(objects[owner] for owner in quantifier.owners)
        for number, more in self.sets[quantifier.set].get(owners, {}).items():
            if number not in objects:
                yield from self._extend(quantifiers, (*objects, number), need | more)
