"""`LoopStrings`: all distinct legal strings of a specification such as `a_0_K,b_2_M,c_2_N`, counted without listing.

Every loop stands there once more often than it is blocked, in every order. One run of letters side by side may be in
upper case, none of them of a loop over K: its iterations add to the same result. Strings with barriers, clauses and
grids are these with something written into them.

>>> strings = LoopStrings("a_0_K,b_0_M")
>>> list(strings)
['ab', 'aB', 'ba', 'Ba']
>>> len(LoopStrings("a_0_K,b_2_M,c_2_N")), LoopStrings("a_0_K,b_2_M,c_2_N")[1000]
(2380, 'bcBCBac')
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, overload

from einloom.errors import ScheduleError
from einloom.ir.loop_string import LETTERS, MOST_LEVELS

__all__ = ["LoopStrings"]

_LOOP = re.compile(r"([a-z])_([0-9]{1,2})_([A-Z])", re.ASCII)
_SUMMED = "K"

Phase = Literal["before", "inside", "behind"]
"""Whether the parallel loop has begun, goes on, or has ended."""


class LoopStrings(Sequence[str]):
    """The strings of a specification, in alphabetical order, lower case before upper case.

    Args:
        specification: for every loop its letter, how often it is blocked and its kind, K for one that is summed over:
            `a_0_K,b_2_M,c_2_N`.

    Raises:
        ScheduleError: the specification is not of that form, its letters are not a, b, c, …, or strings would be longer
            than a loop string may be.
    """

    def __init__(self, specification: str) -> None:
        loops = [_LOOP.fullmatch(part.strip()) for part in specification.split(",")]
        names = "".join(match[1] for match in loops if match)
        if None in loops or sorted(names) != list(LETTERS[: len(loops)]):
            raise ScheduleError(
                f"{specification!r:.80} specifies no loops\n  Write letter_blockings_kind: 'a_0_K,b_2_M,c_2_N'."
            )
        self.specification = specification
        found = sorted((match[1], int(match[2]) + 1, match[3]) for match in loops if match)
        self._letters = tuple(letter for letter, _, _ in found)
        self._levels = tuple(levels for _, levels, _ in found)
        self._parallel = tuple(kind != _SUMMED for _, _, kind in found)
        if sum(self._levels) > MOST_LEVELS:
            raise ScheduleError(
                f"{specification!r:.80} is of strings of {sum(self._levels):,} letters\n  At most {MOST_LEVELS} go."
            )
        self._counts: dict[tuple[Sequence[tuple[bool, int]], Phase], int] = {}

    @property
    def total(self) -> int:
        """How many strings there are; `len` of more than 2**63 is beyond Python."""
        return self._count(self._levels, "before")

    def __len__(self) -> int:
        return self.total

    def __iter__(self) -> Iterator[str]:
        return self._strings(self._levels, "before", "")

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        """Return the string at a position, without those before it."""
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(self.total))]
        place = index + self.total if index < 0 else index
        if not 0 <= place < self.total:
            raise IndexError(f"string {index} of {self.total}")
        text, left, phase = "", self._levels, "before"
        while any(left):
            for letter, rest, after in self._choices(left, phase):
                count = self._count(rest, after)
                if place < count:
                    text, left, phase = text + letter, rest, after
                    break
                place -= count
        return text

    def _strings(self, left: tuple[int, ...], phase: Phase, text: str) -> Iterator[str]:
        if not any(left):
            yield text
        for letter, rest, after in self._choices(left, phase):
            yield from self._strings(rest, after, text + letter)

    def _choices(self, left: tuple[int, ...], phase: Phase) -> Iterator[tuple[str, tuple[int, ...], Phase]]:
        """Yield what may stand next: the letter, what is left then, and where the parallel loop is."""
        for place, count in enumerate(left):
            if not count:
                continue
            rest = (*left[:place], count - 1, *left[place + 1 :])
            yield self._letters[place], rest, "before" if phase == "before" else "behind"
            if self._parallel[place] and phase != "behind":
                yield self._letters[place].upper(), rest, "inside"

    def _count(self, left: tuple[int, ...], phase: Phase) -> int:
        key = tuple(sorted(zip(self._parallel, left))), phase  # Which letter is left how often, does not matter.
        if key not in self._counts:
            ways = (self._count(rest, after) for _, rest, after in self._choices(left, phase))
            self._counts[key] = sum(ways) if any(left) else 1
        return self._counts[key]

    def __repr__(self) -> str:
        return f"LoopStrings({self.specification!r}), {self.total:,} strings"
