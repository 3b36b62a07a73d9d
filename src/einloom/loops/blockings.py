"""Block sizes for letters that a loop string repeats, by PARLOOPER's rule: prime factors of the trips, one by one."""

from __future__ import annotations

from einloom.loops.spec import LoopSpec

__all__ = ["blocked_specs"]


def blocked_specs(string: str, bounds: dict[str, tuple[int, int]]) -> list[LoopSpec]:
    """Return a LoopSpec for every letter, from its bound and step, with as many block sizes as the string needs.

    The innermost block has as many steps as the first prime factor of the trips, the next one as many of those blocks
    as the second, and so on.

    >>> blocked_specs("aCBcc", {"a": (2, 1), "b": (6, 1), "c": (60, 5)})[2]
    LoopSpec(start=0, bound=60, step=5, block_sizes=(20, 10))
    """
    specs: list[LoopSpec] = []
    for letter, (bound, step) in bounds.items():
        sizes, size = list[int](), step
        factors = prime_factors(bound // step)
        for factor in factors[: string.lower().count(letter) - 1]:
            size *= factor
            sizes.insert(0, size)
        specs.append(LoopSpec(0, bound, step, tuple(sizes)))
    return specs


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
