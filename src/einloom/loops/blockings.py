"""Block sizes for letters that a loop string repeats, by PARLOOPER's rule: prime factors of the trips, one by one."""

from __future__ import annotations

from itertools import accumulate, chain, islice, repeat
from operator import mul

from einloom.loops.spec import LoopSpec

__all__ = ["blocked_specs", "whole_parts"]

LISTED = 2
"""Block sizes that every loop has, used or not: a letter that stands there twice takes the first of them."""


def blocked_specs(string: str, bounds: dict[str, tuple[int, int]]) -> list[LoopSpec]:
    """Return a LoopSpec for every letter, from its bound and step, with two block sizes, or as many as it needs.

    The last one has as many steps as the first prime factor of the trips, the one before as many of those blocks as
    the second, and so on.

    >>> blocked_specs("aCBc", {"a": (2, 1), "b": (6, 1), "c": (60, 5)})[1:]
    [LoopSpec(start=0, bound=6, step=1, block_sizes=(6, 2)), LoopSpec(start=0, bound=60, step=5, block_sizes=(20, 10))]
    """
    specs: list[LoopSpec] = []
    for letter, (bound, step) in bounds.items():
        count = max(LISTED, string.partition("@")[0].lower().count(letter) - 1)
        factors = islice(chain(prime_factors(bound // step), repeat(1)), count)
        _, *sizes = accumulate(factors, mul, initial=step)
        specs.append(LoopSpec(0, bound, step, tuple(reversed(sizes))))
    return specs


def whole_parts(trips: int, parts: int) -> int:
    """Return into how many equal parts trips are cut that should be cut into so many: the next fewer that divides.

    >>> whole_parts(64, 3), whole_parts(64, 100)
    (2, 64)
    """
    return next((each for each in range(min(parts, trips), 0, -1) if trips % each == 0), 1)


def prime_factors(number: int) -> list[int]:
    """Return the prime factors, the least first.

    >>> prime_factors(60)
    [2, 2, 3, 5]
    """
    factors, divisor = list[int](), 2
    while number > 1:
        if number % divisor:
            divisor += 1
        else:
            factors.append(divisor)
            number //= divisor
    return factors
