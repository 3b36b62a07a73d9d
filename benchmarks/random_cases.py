"""Draw the contractions of `cases/random.json` again, and print that file.

Run: python benchmarks/random_cases.py > benchmarks/cases/random.json

Two operands of 1 to 3 axes of each kind in any order, extents 2 to 200, 2e5 to 3e8 products, no tensor beyond 16 MB;
`--seed` draws others, which nobody has looked at.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from typing import Any

PRODUCTS = range(200_000, 300_000_000)
LARGEST = 4_000_000
"""Elements of a tensor."""


def drawn_cases(seed: int, count: int) -> dict[str, Any]:
    """Return the file's content."""
    generator = random.Random(seed)
    cases: list[dict[str, Any]] = []
    while len(cases) < count:
        case = _drawn(generator)
        terms = case["equation"].replace("->", ",").split(",")
        elements = [math.prod(case["sizes"][label] for label in term) for term in terms]
        if max(elements) <= LARGEST and math.prod(case["sizes"].values()) in PRODUCTS:
            cases.append(case)
    about = f"{count} random contractions of 2e5 to 3e8 products, float32"
    return {"about": f"{about}, drawn by benchmarks/random_cases.py with seed {seed}", "cases": cases}


def _drawn(generator: random.Random) -> dict[str, Any]:
    """A contraction whose axes are batches, of one operand and the output, or summed."""
    batches = generator.choice((0, 0, 0, 1))
    first, second, summed = (generator.choice((1, 1, 2, 2, 3)) for _ in range(3))
    labels = iter("abcdefghijkl")
    batch, rows, columns, reduced = ([next(labels) for _ in range(n)] for n in (batches, first, second, summed))
    terms = [batch + rows + reduced, batch + reduced + columns, batch + rows + columns]
    for term in terms:
        generator.shuffle(term)
    sizes = {label: round(2 * 100 ** generator.random()) for label in (*batch, *rows, *columns, *reduced)}
    return {"equation": "{},{}->{}".format(*("".join(term) for term in terms)), "sizes": sizes}


def main() -> None:
    """Print the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--count", type=int, default=30)
    arguments = parser.parse_args()
    print(json.dumps(drawn_cases(arguments.seed, arguments.count), indent=1))


if __name__ == "__main__":
    main()
