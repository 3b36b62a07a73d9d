"""`covering`: few combinations of parameters in which every two values of two parameters meet.

Most defects need one value, or two together: an edge in a layout, an operator with a broadcast. All combinations of
five parameters would be millions; a covering design has about as many as the two longest parameters have pairs.

>>> len(list(covering(op=("add", "mul"), layout=("row", "col", "strided"), open=(False, True))))
6
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, TypeAlias

__all__ = ["MOST_PAIRS", "covering"]

MOST_PAIRS = 400
"""Two parameters with more pairs of values than this do not have to meet in all of them."""

Chosen: TypeAlias = tuple[str, int]
"""A parameter and the position of one of its values."""


def covering(most_pairs: int = MOST_PAIRS, **choices: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """Yield combinations of one value for each parameter, the same ones in the same order every time.

    Every value occurs. Every two values of two parameters meet, unless those have more than `most_pairs` pairs: then
    their values meet ever new partners.
    """
    open_pairs = _all_pairs(choices, most_pairs)
    used: Counter[Chosen] = Counter()
    waiting = [(name, value) for name, values in choices.items() for value in range(len(values))]
    for start in waiting:
        while not used[start] or open_pairs[start]:
            row = dict([start])
            for name in sorted(choices, key=lambda name: -len(choices[name])):
                if name not in row:
                    row[name] = _best(name, len(choices[name]), row, open_pairs, used)
            _close(row, open_pairs)
            used.update(row.items())
            yield {name: choices[name][row[name]] for name in choices}


def _all_pairs(choices: dict[str, Sequence[Any]], most_pairs: int) -> dict[Chosen, set[Chosen]]:
    """Return for every value the values that it has to meet."""
    found: dict[Chosen, set[Chosen]] = {
        (name, i): set() for name, values in choices.items() for i in range(len(values))
    }
    for one, other in combinations(choices, 2):
        if len(choices[one]) * len(choices[other]) <= most_pairs:
            for i in range(len(choices[one])):
                for j in range(len(choices[other])):
                    found[one, i].add((other, j))
                    found[other, j].add((one, i))
    return found


def _best(
    name: str, count: int, row: dict[str, int], open_pairs: dict[Chosen, set[Chosen]], used: Counter[Chosen]
) -> int:
    """Return the value that meets most of the row for the first time; of several the one that was used least."""
    return max(
        range(count),
        key=lambda value: (len(open_pairs[name, value] & row.items()), -used[name, value], -value),
    )


def _close(row: dict[str, int], open_pairs: dict[Chosen, set[Chosen]]) -> None:
    for chosen in row.items():
        open_pairs[chosen] -= row.items()
