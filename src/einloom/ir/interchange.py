"""Loop strings and schedules: which letter is which axis, and where a string says the steps.

The axes of an operation are the loops a, b, c, … in the order of their names: those of a matrix product over k, m and
n are a, b and c. A literal at the first letter of an axis says the steps of all its loops.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from einloom.errors import ScheduleError
from einloom.ir.loop_string import LETTERS, Level, Literal, LoopString
from einloom.ir.sharing import Clause

__all__ = ["axes_by_letter", "steps_of", "string_of"]

StepsByAxis = Mapping[str, Sequence[int]]


def axes_by_letter(names: Iterable[str]) -> dict[str, str]:
    """Return which axis each letter is.

    >>> axes_by_letter(["m", "n", "k"])
    {'a': 'k', 'b': 'm', 'c': 'n'}

    Raises:
        ScheduleError: there are more than letters.
    """
    ordered = sorted(set(names))
    if len(ordered) > len(LETTERS):
        raise ScheduleError(f"{len(ordered)} axes\n  Letters of a loop string go from a to z: at most 26.")
    return dict(zip(LETTERS, ordered))


def string_of(
    loops: Sequence[tuple[str, int, Level]], names: Iterable[str], clause: Clause | None = None
) -> LoopString:
    """Return the string of loops: axis, step, and the level that each is but for its letter.

    Raises:
        ScheduleError: there is no such string, as for `LoopString`.
    """
    letters = {axis: letter for letter, axis in axes_by_letter(names).items()}
    seen = set[str]()
    levels: list[Level] = []
    for axis, _, level in loops:
        *sizes, step = (step for other, step, _ in loops if other == axis)
        literal = None if axis in seen else Literal(step=step, sizes=tuple(sizes))
        levels.append(replace(level, letter=letters[axis], literal=literal))
        seen.add(axis)
    return LoopString(tuple(levels), clause)


def steps_of(string: LoopString, axes: Mapping[str, str], given: StepsByAxis) -> list[int]:
    """Return the step of every level: what literals say, else the first ones and the last one that are given.

    Args:
        string: the loops.
        axes: the axis of each letter.
        given: steps by axis, outermost first; the last one is the innermost loop's.

    Raises:
        ScheduleError: a letter without an axis, or without as many steps; a literal with a start or a bound.
    """
    literals = {level.letter: level.literal for level in string.levels if level.literal is not None}
    steps: list[int] = []
    for place, level in enumerate(string.levels):
        if level.letter not in axes:
            known = ", ".join(f"{letter} = {axis}" for letter, axis in axes.items())
            raise string.error(place, f"there is no axis {level.letter}", f"The axes are {known}.")
        axis, literal = axes[level.letter], literals.get(level.letter)
        if literal is not None and (literal.start is not None or literal.bound is not None):
            raise string.error(place, "an axis begins at 0 and ends at its extent", "Leave start and bound empty.")
        own = (*literal.sizes, literal.step) if literal is not None and literal.step else tuple(given.get(axis, ()))
        count, depth = string.letters.count(level.letter), string.letters[:place].count(level.letter)
        if len(own) < count:
            raise string.error(
                place,
                f"{count} loops over {axis}, but {len(own)} steps",
                f"Pass block_sizes={{{axis!r}: (…, step)}}, or write {level.letter}[,,step,(sizes)].",
            )
        steps.append(own[depth] if depth < count - 1 else own[-1])
    return steps
