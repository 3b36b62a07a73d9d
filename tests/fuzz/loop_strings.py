"""Random loop strings, most of them damaged: refused with a `ScheduleError`, or the iterations that the nest says."""

from __future__ import annotations

import random
from math import prod

from einloom.errors import ScheduleError
from einloom.ir.loop_text import parse_loop_string
from einloom.loops.nest import LoopNest
from einloom.loops.walk import run_threads

from ..loops.strings import counted, random_specs, random_string, sequential_iterations, with_literal

PARTS = (
    *(
        "a",
        "b",
        "c",
        "d",
        "z",
        "A",
        "B",
        "C",
        "|",
        "||",
        "@",
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        ",",
        ":",
        "-",
        " ",
        "\n",
        "ä",
        "\0",
    ),
    *(
        "{R:2}",
        "{C:3}",
        "{L:1}",
        "{R:0}",
        "{X:2}",
        "[0,9,2,()]",
        "[,,,()]",
        "[,,1,(4,2)]",
        "[0,-3,1,()]",
        "9" * 18,
        "9" * 40,
    ),
    *(
        "@schedule(static)",
        "@schedule(dynamic,1)",
        "@schedule(guided,3)",
        "@schedule(dynamic,0)",
        "schedule(",
        "abc" * 90,
    ),
)
MOST_STEPS = 5000


def check(seed: int) -> str:
    """Return what is wrong with this case, or nothing."""
    rng = random.Random(seed)
    letters = rng.randint(1, 4)
    string, specs = random_string(rng, letters), random_specs(rng, letters, extent=8)
    if rng.random() < 0.3:
        string = with_literal(rng, string, specs)
    damaged = rng.random() < 0.9
    text = _damaged(rng, str(string)) if damaged else str(string)
    try:
        parsed = parse_loop_string(text)
        nest = LoopNest.of(parsed, specs, rng.choice((None, 1, 2, 3)), cores=2)
    except ScheduleError as error:
        return "" if damaged or "threads=" in str(error) or "a barrier inside" in str(error) else f"{text}: {error}"
    if parse_loop_string(str(parsed)) != parsed:
        return f"{text!r} does not parse back"
    return _compared(nest)


def _compared(nest: LoopNest) -> str:
    str(nest)
    if prod(max(loop.trips, 1) for loop in nest.loops) * nest.threads > MOST_STEPS:
        return ""
    found: list[tuple[int, ...]] = []
    run_threads(nest, lambda thread, indices: found.append(indices))
    expected = sequential_iterations(nest)
    if found != expected if nest.threads == 1 else counted(found) != counted(expected):
        return f"{nest.string} runs other iterations than\n{nest}"
    return ""


def _damaged(rng: random.Random, text: str) -> str:
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        place = rng.randrange(len(text) + 1)
        kind = rng.randrange(5)
        if kind == 0:
            text = text[:place] + rng.choice(PARTS) + text[place:]
        elif kind == 1:
            text = text[:place] + text[place + rng.randint(1, 3) :]
        elif kind == 2:
            text = text[:place] + text[place : place + 1].swapcase() + text[place + 1 :]
        elif kind == 3:
            other = rng.randrange(len(text) + 1)
            text = text[:place] + text[other : other + 4] + text[place:]
        else:
            text = text[:place] + chr(rng.randrange(1, 0x250)) + text[place + 1 :]
    return text
