"""`microarchitecture_of`: which core a machine has, and what one such core is known to do, others at work beside it.

>>> from dataclasses import replace
>>> from einloom.machine import AVX2
>>> zen3 = replace(AVX2, features=AVX2.features | {"bmi2"}, l2=512 * 1024)
>>> found = microarchitecture_of(zen3)
>>> found.name if found else None
'Zen 2, Zen 3'
>>> microarchitecture_of(AVX2) is None
True

Virtual machines seldom tell a processor's name, but always its features and mostly its caches: x86-64 cores are known
by those, Arm's by the numbers that Linux gives for names.

Sources. Pipes of multiply-adds: Agner Fog, The microarchitecture of Intel, AMD and VIA CPUs; uops.info; Arm's software
optimization guides. Bytes a cycle of L2: AMD's software optimization guides for families 17h, 19h (32 of Zen 2 to Zen
4) and 1Ah (64), Intel's optimization reference manual (64, of which 48 last), Arm's guides and technical reference
manuals (32 to 64); three quarters of each. Clocks are those that servers keep with all cores on vectors. What one core
gets from L3 and memory depends on the platform more than on the core. Measured with einloom or beside it: the memory of
Zen 3, Zen 4 and Zen 5, L2 and L3 of Golden Cove, that Zen 3 and Golden Cove follow rows, that stores of Zen 3 hardly
wait. Fitted to measured schedules: what Zen 3 writes past the caches, how long it copies, what shows of what it has
asked for, what its L3 keeps, that it reads on behind no long pieces and hides elements from L2. The others are
estimates of the right size and no more; `einloom info --measure` records better ones.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

from einloom.machine import Machine, Rates

__all__ = ["ASKED", "COPYING", "NOTICED", "Microarchitecture", "kept_in_last_level", "microarchitecture_of"]

KIB = 1024
COPYING = 1.3
"""How much longer copies take than what they do one after the other, where nothing else was measured."""

ASKED = 0.6
"""How much of the transfers of a packed block shows that kernels have asked for, and of the waits for one in place."""

KEPT = 8
"""How many times what L2 holds of tensors stays in L3 from call to call, where nothing else was measured: it is shared,
and a virtual machine is told the size of a whole socket's."""

NOTICED = 4.0
"""Lines of a piece that make processors read on in its page, however many others there are, where nothing else was
measured."""

WITH_NAMES = frozenset({"bmi2"})
"""What every x86-64 core here has and no generic machine says that it has."""


class Microarchitecture(NamedTuple):
    """A kind of core: how to know it, and what it does.

    Attributes:
        name: what people call it.
        clock: cycles a second, in 1e9.
        pipes, pipe_bits: multiply-adds that begin in a cycle, and how wide each may be.
        l2, l3: bytes read in a cycle.
        memory, stream: bytes read, and written past the caches, in 1e9 a second.
        l1d, l2_size: sizes of the caches in bytes by which it is known; 0: any.
        features: those by which it is known.
        number: the part of a machine's name by which it is known.
        follows_rows: whether it reads rows that lie apart, with hardly any arithmetic between, as fast as memory gives
            them, and slower where kernels ask for them.
        stores_ahead: whether lines from beyond L2 that kernels write arrive while they compute: stores hardly wait.
        copying: how much longer copies take than their transfers and their instructions one after the other.
        asked: how much of the transfers of a packed block shows that kernels have asked for.
        moves_ahead: whether so many loads and stores are under way that elements which are only moved hardly wait.
        kept: how many times what L2 holds of tensors stays in L3 from call to call.
        noticed: lines of a piece that make it read on in the piece's page, however many others there are.
        hides_elements: whether elements that several vectors use come from L2 without any wait.
    """

    name: str
    clock: float
    pipes: int
    pipe_bits: int
    l2: float
    l3: float
    memory: float
    stream: float
    l1d: int = 0
    l2_size: int = 0
    features: frozenset[str] = WITH_NAMES
    number: str = ""
    follows_rows: bool = False
    stores_ahead: bool = False
    copying: float = COPYING
    asked: float = ASKED
    moves_ahead: bool = False
    kept: int = KEPT
    noticed: float = NOTICED
    hides_elements: bool = False

    def describes(self, machine: Machine) -> bool:
        """Whether a machine has such cores, by what it says of itself."""
        return (
            self.l1d in (0, machine.l1d)
            and self.l2_size in (0, machine.l2)
            and self.features <= machine.features
            and self.number in machine.name
        )

    def passes(self, vector_bits: int) -> int:
        """Return how many times a vector goes through a pipe: once for each part of it."""
        return max(vector_bits // self.pipe_bits, 1)

    def rates(self, vector_bits: int) -> Rates:
        """Return what one core does with vectors of this width."""
        cycles = self.clock * 1e9
        float32 = cycles * self.pipes * min(self.pipe_bits, vector_bits) / 32 * 2
        return Rates(float32, float32 / 2, self.l2 * cycles, self.l3 * cycles, self.memory * 1e9, self.stream * 1e9)


def _x86(name: str, caches: tuple[int, int], rates: tuple[float, ...], *features: str) -> Microarchitecture:
    """A core with two pipes, known by caches in KiB and features; rates: clock, width, l2, l3, memory, stream."""
    clock, bits, l2, l3, memory, stream = rates
    l1d, l2_size = caches
    known = WITH_NAMES.union(features)
    return Microarchitecture(name, clock, 2, int(bits), l2, l3, memory, stream, l1d * KIB, l2_size * KIB, known)


def _arm(name: str, number: str, rates: tuple[float, ...]) -> Microarchitecture:
    """A core with pipes of 128 bits, known by its number; rates: clock, pipes, l2, l3, memory, stream."""
    clock, pipes, l2, l3, memory, stream = rates
    neon = frozenset({"neon"})
    return Microarchitecture(name, clock, int(pipes), 128, l2, l3, memory, stream, features=neon, number=number)


KNOWN = (  # The first one that describes a machine holds: one with more features stands before one with fewer.
    _x86("Zen 2, Zen 3", (32, 512), (2.45, 256, 24, 16, 16, 27))._replace(
        follows_rows=True,
        stores_ahead=True,
        copying=0.9,
        asked=0.3,
        moves_ahead=True,
        kept=32,
        noticed=math.inf,
        hides_elements=True,
    ),
    _x86("Zen 4", (32, 1024), (3.7, 256, 24, 14, 28, 22), "gfni"),
    _x86("Zen 5", (48, 1024), (4.1, 512, 48, 16, 30, 30), "gfni"),
    _x86("Skylake-X, Cascade Lake", (32, 1024), (2.4, 512, 48, 10, 12, 9), "avx512cd"),
    _x86("Ice Lake server", (48, 1280), (2.7, 512, 48, 10, 14, 10), "gfni"),
    _x86("Golden Cove: Sapphire, Emerald, Granite Rapids", (48, 2048), (3.1, 512, 56, 16, 30, 20), "gfni")._replace(
        follows_rows=True
    ),
    _arm("Neoverse N1: Graviton 2, Altra", "implementer 0x41 part 0xd0c", (2.6, 2, 24, 10, 14, 14)),
    _arm("Neoverse V1: Graviton 3", "implementer 0x41 part 0xd40", (2.6, 4, 36, 12, 24, 24)),
    _arm("Neoverse N2", "implementer 0x41 part 0xd49", (2.8, 2, 36, 12, 20, 20)),
    _arm("Neoverse V2: Graviton 4, Grace", "implementer 0x41 part 0xd4f", (2.8, 4, 48, 14, 30, 30)),
    _arm("Apple M", "implementer 0x61", (3.2, 4, 32, 20, 50, 40)),
)


@lru_cache(16)
def microarchitecture_of(machine: Machine) -> Microarchitecture | None:
    """Return the core that a machine has; None: it is none of those known."""
    return next((each for each in KNOWN if each.describes(machine)), None)


def kept_in_last_level(machine: Machine) -> int:
    """Return the bytes of tensors that stay in L3 from call to call."""
    core = microarchitecture_of(machine)
    return min(machine.last_level, (core.kept if core else KEPT) * machine.l2)
