"""Domains seen as rows of bits: for a value v and an object a, which objects b may still have `f(a, b)` = v.

Relations, three-object clauses and quotients work on whole rows at once; only the choices that they mention have
rows. A choice of one object has one row a value. A choice of two objects has a row for each value and first object,
and, unless it has a converse, for each value and second object. Leading parameters of a choice with a converse (its
context) have rows of their own. Bits are object numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from einloom.csp.compile.rows import EnumRow
from einloom.csp.layout.slots import Choice, Layout, converse_table

__all__ = ["BitRows", "Place", "Where"]

Place = tuple[Mapping[int, tuple[tuple[int, int], ...]], int, int, int, int]
Where = tuple[str, tuple[int, ...]]


class BitRows:
    """Where the rows of a problem lie, in one list of integers per state.

    The list starts with a scratch row, then one row for each watched set (its members that are awake), then the rows of
    choices.

    Attributes:
        places: for each slot, how a lost value changes rows: `(steps by lost mask, a, bit of a, b, bit of b)`; None for
            slots without rows.
        start: for each choice and context, its first row.
        members: for each watched set and owners, its row.
        objects: how many objects there are.
    """

    def __init__(self, layout: Layout, choices: Iterable[str], sets: Iterable[Where]) -> None:
        self.layout = layout
        self.objects = len(layout.members.items)
        self.members = {where: 1 + i for i, where in enumerate(sorted(set(sets)))}
        self.start: dict[Where, int] = {}
        self.size = 1 + len(self.members)
        self._slot_tables: dict[str, list[int]] = {}
        self.places: list[Place | None] = [None] * len(layout.full)
        for name in sorted(set(choices)):
            choice = layout.choices[name]
            assert isinstance(choice.row, EnumRow)
            if len(choice.row.parameters) == 1:
                self._add_unary(choice, choice.row)
            else:
                self._add_binary(choice, choice.row)

    def _add_unary(self, choice: Choice, row: EnumRow) -> None:
        count = len(row.values)
        steps = _Steps([(self.size + value, 0) for value in range(count)])
        self.start[row.name, ()] = self.size
        self.size += count
        for (number,), slot in choice.slots.items():
            self.places[slot] = steps, 0, 0, 0, 1 << number

    def _add_binary(self, choice: Choice, row: EnumRow) -> None:
        count, objects = len(row.values), self.objects
        converse = row.converse or tuple(range(count))
        steps: dict[tuple[int, ...], _Steps] = {}
        for numbers, slot in choice.slots.items():
            context, (a, b) = numbers[:-2], numbers[-2:]
            if context not in steps:
                start = self.start[row.name, context] = self.size
                back = start if row.converse else start + count * objects
                steps[context] = _Steps(
                    [(start + value * objects, back + converse[value] * objects) for value in range(count)]
                )
                self.size = back + count * objects
            self.places[slot] = steps[context], a, 1 << a, b, 1 << b

    def first_rows(self, name: str, mask: int, context: tuple[int, ...] = ()) -> tuple[int, ...]:
        """Return, for each value of a mask, where its rows of first objects start (its row, for one object)."""
        row = self.layout.choices[name].row
        step = 1 if len(row.parameters) == 1 else self.objects
        start = self.start.get((name, context), 0)
        return tuple(start + value * step for value in range(mask.bit_length()) if mask >> value & 1)

    def second_rows(self, name: str, mask: int) -> tuple[int, ...]:
        """Return, for each value of a mask, where its rows of second objects start; their bits are first objects."""
        row = self.layout.choices[name].row
        assert isinstance(row, EnumRow)
        if row.converse is not None:
            return self.first_rows(name, converse_table(row.converse)[mask])
        beyond = len(row.values) * self.objects
        return tuple(start + beyond for start in self.first_rows(name, mask))

    def slot_table(self, name: str) -> list[int]:
        """Return the slots of a choice by object, or by `first * objects + second`; -1 where there is none."""
        if name not in self._slot_tables:
            choice = self.layout.choices[name]
            table = self._slot_tables[name] = [-1] * self.objects ** len(choice.row.parameters)
            for objects, slot in choice.slots.items():
                table[self._position(objects)] = slot
                if choice.symmetric:
                    table[self._position(objects[::-1])] = slot
        return self._slot_tables[name]

    def _position(self, objects: tuple[int, ...]) -> int:
        return objects[0] if len(objects) == 1 else objects[0] * self.objects + objects[1]

    def deltas(self, lost: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return how rows change, as `(row, bits to flip)`, when slots lose values."""
        found: dict[int, int] = {}
        for slot, mask in lost:
            place = self.places[slot]
            if place is not None:
                steps, a, bit_a, b, bit_b = place
                for forward, backward in steps[mask]:
                    found[forward + a] = found.get(forward + a, 0) ^ bit_b
                    found[backward + b] = found.get(backward + b, 0) ^ bit_a
        return list(found.items())

    def fill(self, domains: list[int], asleep: int) -> list[int]:
        """Return the rows of some domains."""
        rows = [0] * self.size
        for place, mask in zip(self.places, domains):
            if place is not None:
                steps, a, bit_a, b, bit_b = place
                for forward, backward in steps[mask]:
                    rows[forward + a] |= bit_b
                    rows[backward + b] |= bit_a
        for where, row in self.members.items():
            rows[row] = self.awake(where, asleep)
        rows[0] = 0
        return rows

    def awake(self, where: Where, asleep: int) -> int:
        """Return the bits of the members of a set that are awake."""
        return sum(1 << number for number, need in self._needs(where).items() if not need & asleep)

    def joining(self, extension: int) -> list[tuple[int, int, int]]:
        """Return the members that watched sets gain with an extension, as `(row, bit, need)`."""
        return [
            (row, 1 << number, need)
            for where, row in self.members.items()
            for number, need in self._needs(where).items()
            if need >> extension & 1
        ]

    def _needs(self, where: Where) -> dict[int, int]:
        return self.layout.members.sets[where[0]].get(where[1], {})


class _Steps(dict[int, tuple[tuple[int, int], ...]]):
    """The steps of the values of each mask, found on first use."""

    def __init__(self, steps: list[tuple[int, int]]) -> None:
        super().__init__()
        self.steps = steps

    def __missing__(self, mask: int) -> tuple[tuple[int, int], ...]:
        found = self[mask] = tuple(step for value, step in enumerate(self.steps) if mask >> value & 1)
        return found
