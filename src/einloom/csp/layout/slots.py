"""Where each domain lies: one slot for each choice and tuple of distinct objects, (anti)symmetric choices stored once.

Slots of up to eight values come first, one byte each in a snapshot; wider ones follow with as many bytes as they need.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import eq, ge, gt, le, lt, ne
from struct import Struct
from typing import Any

from einloom.csp.compile.rows import EnumRow, IntegerRow
from einloom.csp.language.source import SpaceError
from einloom.csp.layout.members import Members

__all__ = ["OPERATORS", "Choice", "Domain", "Layout", "Limits", "converse_table", "merged_limits"]

OPERATORS = {"==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}

Limits = tuple[tuple[int, int | None, int | None], ...]

MOST_VALUES = 4096


@dataclass(slots=True, eq=False)
class Domain:
    """The values that some slots share; compared by identity.

    Attributes:
        values: names of an enumeration, or the sorted universe of an integer choice.
        full: the mask of all values.
        converse: for a (anti)symmetric enumeration, the mask seen from the other side, by mask; else None.
        bytes: size in a snapshot.
    """

    values: tuple[str, ...] | tuple[int, ...]
    full: int
    converse: tuple[int, ...] | None
    bytes: int
    _extremes: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])

    def extremes(self, mask: int) -> tuple[int, int]:
        """Return the smallest and largest integer of a non-empty mask."""
        found = self._extremes.get(mask)
        if found is None:
            low, high = (mask & -mask).bit_length() - 1, mask.bit_length() - 1
            found = self._extremes[mask] = (int(self.values[low]), int(self.values[high]))
        return found

    def seen(self, mask: int, flipped: bool) -> int:
        """Return a mask as it looks from the other side, if `flipped`."""
        return self.converse[mask] if flipped and self.converse else mask

    def compared(self, operator: str, bound: Any) -> int:
        """Return the mask of the values that stand in a relation to a bound."""
        holds = OPERATORS[operator]
        return sum(1 << i for i, value in enumerate(self.values) if holds(value, bound))

    def select(self, mask: int) -> tuple[str | int, ...]:
        """Return the values of a mask."""
        return tuple(value for i, value in enumerate(self.values) if mask >> i & 1)


@dataclass(slots=True, eq=False)
class Choice:
    """A choice of the space, laid out for one problem.

    Attributes:
        slots: slot of each tuple of objects, in the stored direction (lower number first, if it has a converse).
    """

    row: EnumRow | IntegerRow
    slots: dict[tuple[int, ...], int] = field(default_factory=dict[tuple[int, ...], int])

    @property
    def hidden(self) -> bool:
        """Whether it is kept out of the decisions."""
        return isinstance(self.row, EnumRow) and self.row.hidden

    @property
    def symmetric(self) -> bool:
        """Whether two directions share a slot."""
        return isinstance(self.row, EnumRow) and self.row.converse is not None


def converse_table(converse: Sequence[int]) -> tuple[int, ...]:
    """Return, for each mask, the mask of the converse values.

    >>> converse_table((1, 0, 2))[0b101]
    6
    """
    size = len(converse)
    return tuple(sum(1 << converse[i] for i in range(size) if mask >> i & 1) for mask in range(1 << size))


class Layout:
    """The slots of a problem.

    Attributes:
        choices: by name.
        choice_of, objects_of, domain_of, need_of: for each slot, its choice, objects, domain and extensions.
        exposed: the slots that are decisions; the others follow from them.
        by_need: the slots that need exactly this mask of extensions.
    """

    def __init__(self, members: Members) -> None:
        self.members = members
        self.choices: dict[str, Choice] = {}
        self.choice_of: list[Choice] = []
        self.objects_of: list[tuple[int, ...]] = []
        self.domain_of: list[Domain] = []
        self.need_of: list[int] = []
        self.by_need: dict[int, list[int]] = {}
        self._universes: dict[tuple[int, ...], Domain] = {}
        space = members.space
        self.choices = {row.name: Choice(row) for row in (*space.enums, *space.integers)}
        pending = [each for row in space.enums for each in self._enum(row)]
        pending += [each for row in space.integers for each in self._integer(row)]
        for choice, objects, need, domain in sorted(pending, key=lambda each: each[3].bytes > 1):
            self._slot(choice, objects, need, domain)
        self.full = [domain.full for domain in self.domain_of]
        self.exposed = [slot for slot, each in enumerate(self.choice_of) if not each.hidden]
        self.extension_bytes = (len(members.extensions) + 7) // 8
        self.bytes = sum(1 for domain in self.domain_of if domain.bytes == 1)

    def _enum(self, row: EnumRow) -> list[tuple[Choice, tuple[int, ...], int, Domain]]:
        converse = converse_table(row.converse) if row.converse else None
        count = len(row.values)
        domain = Domain(row.values, (1 << count) - 1, converse, (count + 7) // 8)
        return [
            (self.choices[row.name], objects, need, domain)
            for objects, need in sorted(self.members.tuples(row.parameters))
            if converse is None or objects[-2] < objects[-1]
        ]

    def _integer(self, row: IntegerRow) -> list[tuple[Choice, tuple[int, ...], int, Domain]]:
        return [
            (self.choices[row.name], objects, need, self._universe(row, objects))
            for objects, need in sorted(self.members.tuples(row.parameters))
        ]

    def _universe(self, row: IntegerRow, objects: tuple[int, ...]) -> Domain:
        hosts = self.members.hosts
        given = hosts.call(row.universe, objects)
        try:
            values = tuple(sorted({int(value) for value in given if int(value) == value}))
        except (TypeError, ValueError):
            values = ()
        if not values or values[0] < 1 or len(values) > MOST_VALUES:
            reason = f"the universe of {row.name} must be positive integers, at least one, not {given!r}"
            raise SpaceError(f"{hosts.place(row.universe)}: {reason}")
        if values not in self._universes:
            self._universes[values] = Domain(values, (1 << len(values)) - 1, None, (len(values) + 7) // 8)
        return self._universes[values]

    def _slot(self, choice: Choice, objects: tuple[int, ...], need: int, domain: Domain) -> None:
        slot = len(self.choice_of)
        choice.slots[objects] = slot
        self.choice_of.append(choice)
        self.objects_of.append(objects)
        self.domain_of.append(domain)
        self.need_of.append(need)
        self.by_need.setdefault(need, []).append(slot)

    def find(self, name: str, objects: tuple[int, ...]) -> tuple[int, bool]:
        """Return the slot of a choice for some objects, and whether it is stored in the other direction.

        Raises:
            KeyError: the choice has no variable for these objects.
        """
        choice = self.choices[name]
        if choice.symmetric and objects[-2] > objects[-1]:
            return choice.slots[(*objects[:-2], objects[-1], objects[-2])], True
        return choice.slots[objects], False

    def literal(self, name: str, objects: tuple[int, ...], mask: int) -> tuple[int, int]:
        """Return a choice's slot for some objects, and a mask of its values as the slot stores them."""
        slot, flipped = self.find(name, objects)
        return slot, self.domain_of[slot].seen(mask, flipped)

    def name(self, slot: int) -> str:
        """Return `choice(a, b)`."""
        names = self.members.names
        inside = ", ".join(names[number] for number in self.objects_of[slot])
        return f"{self.choice_of[slot].row.name}({inside})"

    def snapshot(self, domains: Sequence[int], asleep: int, limits: Limits) -> bytes:
        """Return domains, the extensions that sleep, and the limits that were set on counters, as bytes."""
        wide = zip(domains[self.bytes :], self.domain_of[self.bytes :])
        body = bytes(domains[: self.bytes]) + b"".join(mask.to_bytes(each.bytes, "little") for mask, each in wide)
        body += asleep.to_bytes(self.extension_bytes, "little")
        return body + b"".join(_LIMIT.pack(counter, _coded(low), _coded(high)) for counter, low, high in limits)

    def parse(self, snapshot: bytes) -> tuple[list[int], int, Limits]:
        """Return the domains, sleeping extensions and limits of a snapshot.

        Raises:
            ValueError: it has another length than this problem's.
        """
        domains = list(snapshot[: self.bytes])
        position = self.bytes
        for domain in self.domain_of[self.bytes :]:
            domains.append(int.from_bytes(snapshot[position : position + domain.bytes], "little"))
            position += domain.bytes
        asleep = int.from_bytes(snapshot[position : position + self.extension_bytes], "little")
        position += self.extension_bytes
        if len(snapshot) < position or (len(snapshot) - position) % _LIMIT.size:
            raise ValueError(f"a snapshot of this problem has {position} bytes, not {len(snapshot)}")
        limits = tuple(
            (counter, None if low < 0 else low, None if high < 0 else high)
            for counter, low, high in _LIMIT.iter_unpack(snapshot[position:])
        )
        return domains, asleep, limits


_LIMIT = Struct("<Hqq")


def _coded(bound: int | None) -> int:
    return -1 if bound is None else bound


def merged_limits(limits: Limits, counter: int, low: int | None, high: int | None) -> Limits:
    """Return limits with one more, the tighter of two for one counter; the order of calls does not matter.

    >>> merged_limits(((1, None, 8),), 1, 2, 9)
    ((1, 2, 8),)
    """
    found = {each: (old_low, old_high) for each, old_low, old_high in limits}
    old_low, old_high = found.get(counter, (None, None))
    lows = [each for each in (low, old_low) if each is not None]
    highs = [each for each in (high, old_high) if each is not None]
    found[counter] = max(lows, default=None), min(highs, default=None)
    return tuple((each, *found[each]) for each in sorted(found))
