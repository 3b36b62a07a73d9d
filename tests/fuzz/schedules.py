"""Random schedules as texts, most of them damaged: refused with a `ScheduleError`, or the right result."""

from __future__ import annotations

import random
import re

import numpy as np

import einloom as el
from einloom.dtypes import FLOAT32, FLOAT64
from einloom.ir.bind import bind
from einloom.ir.interpret import interpret
from einloom.ir.memory import Memory
from einloom.ir.operation import Operation
from einloom.ir.text import parse_schedule
from einloom.jit.arrays import array_address
from einloom.jit.host import host
from einloom.targets.executable import Executable
from einloom.targets.image import image_of

from ..ir.strategies import random_fused_schedule, random_memories, random_operation, random_schedule

NUMBERS = ("0", "1", "2", "3", "4", "7", "8", "16", "-1", "-8", "1000000", "9" * 18, "9" * 30, "", "1.5", "x")
WORDS = ("seq", "shared", "sfc", "prim", "pack", "fuse", "in0@0", "in1@1", "out@0", "out@1", "a:1", "b:4", "m=a", "k=b")
POINTS = 2000


def check(seed: int) -> str:
    """Return what is wrong with this case, or nothing."""
    rng = random.Random(seed)
    operation = random_operation(rng, rng.choice((FLOAT32, FLOAT64)), points=POINTS)
    fuse = rng.random() < 0.2
    text = str((random_fused_schedule if fuse else random_schedule)(rng, operation))
    damaged = rng.random() < 0.8
    given = _damaged(rng, text, operation) if damaged else text
    try:
        schedule = parse_schedule(given)
        bind(operation, schedule)
    except el.EinloomError as error:
        return "" if damaged or fuse else f"{text} on\n{operation}\nis refused: {error}"
    if parse_schedule(str(schedule)) != schedule:
        return f"{schedule} does not parse back"
    return run(operation, given, rng)


def run(operation: Operation, text: str, rng: random.Random) -> str:
    """Run the schedule on arrays whose neighbours are watched, and compare with the interpreter."""
    executable = Executable(image_of(bind(operation, parse_schedule(text)), host()))
    memories = random_memories(rng, operation)
    guarded = [Guarded(memory) for memory in memories]
    interpret(operation, memories)
    executable([each.address for each in guarded], rng.choice((1, 1, 2)))
    for operand, memory, each in zip(operation.operands, memories, guarded):
        if not each.is_intact():
            return f"{text} on\n{operation}\nwrites beside {operand.name}"
        if not np.allclose(each.elements, memory.elements, rtol=1e-4, atol=1e-4, equal_nan=True):
            return f"{text} on\n{operation}\ngives a wrong {operand.name}"
    return ""


class Guarded:
    """A copy of a memory between elements that must stay as they are."""

    MARGIN = 64
    MARK = -12345.0

    def __init__(self, memory: Memory) -> None:
        margin, count = self.MARGIN, len(memory.elements)
        self._all = np.full(count + 2 * margin, self.MARK, memory.elements.dtype)
        self.elements = self._all[margin : margin + count]
        self.elements[:] = memory.elements
        self.address = array_address(self._all) + (margin + memory.origin) * self._all.itemsize

    def is_intact(self) -> bool:
        margin = self.MARGIN
        return bool((self._all[:margin] == self.MARK).all() and (self._all[-margin:] == self.MARK).all())


def _damaged(rng: random.Random, text: str, operation: Operation) -> str:
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        words = text.split(" ")
        place = rng.randrange(len(words))
        kind = rng.randrange(7)
        if kind == 0:
            words[place] = re.sub(r"\d+$", lambda _: rng.choice(NUMBERS), words[place])
        elif kind == 1:
            del words[place]
        elif kind == 2:
            words.insert(place, rng.choice((*WORDS, *words)))
        elif kind == 3:
            other = rng.randrange(len(words))
            words[place], words[other] = words[other], words[place]
        elif kind == 4:
            words[place] = re.sub(r"\b[a-g]\b", lambda _: rng.choice((*operation.names, "z")), words[place])
        elif kind == 5:
            words[place] = words[place].replace(rng.choice(":=@*"), rng.choice(":=@* "))
        else:
            words[place] += f":{rng.choice(NUMBERS)}"
        text = " ".join(words)
    return text
