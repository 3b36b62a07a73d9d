"""Random loop strings with specifications that fit them, and an oracle: the printed nest, run as Python."""

from __future__ import annotations

import random
import re
from collections import Counter

from einloom.ir.loop_string import Level, Literal, LoopString
from einloom.ir.sharing import Clause, Dimension, Policy, Ways
from einloom.loops.nest import LETTERS, LoopNest
from einloom.loops.spec import LoopSpec


def random_string(rng: random.Random, letters: int, *, most_levels: int = 3) -> LoopString:
    """Return a legal string: blockings, both parallel modes, barriers, clauses, literals."""
    names = [letter for letter in LETTERS[:letters] for _ in range(rng.randint(1, most_levels))]
    rng.shuffle(names)
    levels = [Level(name) for name in names]
    mode = rng.choice(("sequential", "collapse", "collapse", "grid"))
    clause = None
    barred = range(len(levels))
    if mode == "collapse":
        first = rng.randrange(len(levels))
        last = min(first + rng.randrange(3), len(levels) - 1)
        levels[first : last + 1] = [Level(level.letter, True) for level in levels[first : last + 1]]
        clause = rng.choice((None, Clause(rng.choice(tuple(Policy)), rng.choice((None, 1, 2, 3)))))
        barred = [*range(first), last]
    elif mode == "grid":
        chosen = rng.sample(range(len(levels)), min(rng.randint(1, 3), len(levels)))
        for place, dimension in zip(chosen, rng.sample(tuple(Dimension), len(chosen))):
            levels[place] = Level(levels[place].letter, True, Ways(dimension, rng.randint(1, 4)))
        barred = range(min(chosen) + 1)
    for place in barred:
        if rng.random() < 0.2:
            old = levels[place]
            levels[place] = Level(old.letter, old.parallel, old.ways, barrier=True)
    return LoopString(tuple(levels), clause)


def random_specs(rng: random.Random, letters: int, *, most_levels: int = 3, extent: int = 12) -> list[LoopSpec]:
    """Return specifications with block sizes that sometimes divide each other."""
    specs = []
    for _ in range(letters):
        start = rng.choice((0, 0, 0, 3, -4))
        step = rng.randint(1, 3)
        sizes = sorted((rng.choice((step, 2 * step, 4 * step, 5, 7)) for _ in range(most_levels - 1)), reverse=True)
        specs.append(LoopSpec(start, start + rng.randint(0, extent), step, tuple(sizes)))
    return specs


def with_literal(rng: random.Random, string: LoopString, specs: list[LoopSpec]) -> LoopString:
    """Return the string with one loop's specification written into it."""
    place = rng.randrange(len(string.levels))
    old = string.levels[place]
    spec = specs[LETTERS.index(old.letter)]
    literal = Literal(spec.start, spec.bound, spec.step, spec.block_sizes)
    level = Level(old.letter, old.parallel, old.ways, literal, old.barrier)
    return LoopString((*string.levels[:place], level, *string.levels[place + 1 :]), string.clause)


def sequential_iterations(nest: LoopNest) -> list[tuple[int, ...]]:
    """Run the printed nest as Python: the iterations in sequential order."""
    lines = []
    for line in str(nest).splitlines():
        if match := re.fullmatch(r"( *)for (\w+) = (.+) to (.+) with step (\d+)", line):
            indent, name, start, end, step = match.groups()
            lines.append(f"{indent}for {name} in range({start}, {end}, {step}):")
        elif match := re.fullmatch(r"( *)// Logical indices to use for the computation are (.+)", line):
            lines.append(f"{match[1]}found.append(({match[2]},))")
    found: list[tuple[int, ...]] = []
    exec("\n".join(lines), {"found": found})
    return found


def counted(iterations: list[tuple[int, ...]]) -> Counter[tuple[int, ...]]:
    """How often each iteration stands in a list."""
    return Counter(iterations)
