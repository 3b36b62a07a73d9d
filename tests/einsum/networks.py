"""Random expressions of several operands, some with a path of contractions that is not the best one."""

from __future__ import annotations

import random

__all__ = ["random_network"]

LABELS = "abcdefghijkl"


def random_network(
    rng: random.Random, most: int, extents: tuple[int, ...] = (1, 2, 3, 4, 5)
) -> tuple[str, list[tuple[int, ...]]]:
    """Return an equation of 1 to `most` operands with an explicit output, and the shapes of its operands.

    Labels may stand twice in an operand (a diagonal), and have an extent of 1 in some of the operands (broadcast).
    """
    labels = LABELS[: rng.randint(1, min(len(LABELS), most + 3))]
    sizes = {label: rng.choice(extents) for label in labels}
    terms = [rng.choices(labels, k=rng.randint(0, 4)) for _ in range(rng.randint(1, most))]
    shapes = [_shape(rng, term, sizes) for term in terms]
    used = sorted({label for term in terms for label in term})
    output = rng.sample(used, rng.randint(0, min(3, len(used))))
    return ",".join(map("".join, terms)) + "->" + "".join(output), shapes


def _shape(rng: random.Random, term: list[str], sizes: dict[str, int]) -> tuple[int, ...]:
    narrow = {label for label in term if rng.random() < 0.05}
    return tuple(1 if label in narrow else sizes[label] for label in term)
