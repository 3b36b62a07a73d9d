"""About how long a launch takes, as far as it ranks launches of one kernel: on a GPU, and where one is emulated.

`expected_seconds` adds to the bound what it leaves out: threads of a warp that meet in a bank of shared memory, or
touch many lines of the device's memory at once, and registers that do not suffice. It proves nothing.

`emulated_work`: a processor that emulates a GPU (PoCL) runs a block's threads as the iterations of loops, one loop
between two barriers, and vectorises over the innermost dimension. So a statement costs the same whichever thread
executes it, threads that repeat what others do included; neighbours that touch no neighbouring elements take their time
one by one; and registers live in memory between two barriers, where a block's are as many as its threads hold together.
"""

from __future__ import annotations

from math import hypot, prod
from typing import Any

import numpy as np

from einloom.ir.gpu.launch import Launch, Repeat, Space, places, statements
from einloom.ir.statement import LoopKind, Place, Statement, Terms
from einloom.space.model.bound import Bound
from einloom.space.rates import GpuRates

__all__ = ["emulated_work", "expected_seconds"]

Numbers = np.ndarray[Any, Any]

WARP, BANKS, WORD, LINE = 32, 32, 4, 128
"""Threads of a warp; banks of shared memory, each a word of so many bytes wide; bytes of a line of the caches."""

CACHE_PASSES = 2
"""How many times as long as a word of each bank a line of the cache takes."""

ADDRESSES, MOST_REGISTERS = 24, 255
"""Registers that a thread needs beside its arrays, about; and what it can have."""

SPILLED = 4
"""How many times as long a kernel takes whose threads keep registers in memory."""

FAR, HELD = (Space.GLOBAL, Space.SHARED), (Space.REGISTER, Space.FRAGMENT)

CACHED = 64 * 1024
"""Bytes of a block's registers that the caches of a core still hold beside everything else."""

SCATTERED = 4
"""How many times as long a vector of elements takes that lie apart."""


def emulated_work(launch: Launch) -> float:
    """Return the statements that all threads execute, weighed."""
    executed = sum(_trips(around) * _weight(each, launch) for each, around in statements(launch))
    registers = sum(each.size * each.dtype.size for each in launch.arrays if each.space is Space.REGISTER)
    return executed * launch.blocks * launch.threads * (1 + registers * launch.threads / CACHED)


def _trips(around: tuple[Repeat, ...]) -> int:
    return prod(loop.trips for loop in around if loop.kind is not LoopKind.VECTOR)


def _weight(statement: Statement, launch: Launch) -> int:
    """Return more than 1 where neighbouring threads touch elements of memory that lie apart."""
    if not launch.block:
        return 1
    far = [each for each in places(statement) if launch.array[each.buffer].space in FAR]
    steps = [sum(factor for name, factor in each.terms if name == launch.block[0].name) for each in far]
    return SCATTERED if any(step not in (0, 1) for step in steps) else 1


def expected_seconds(launch: Launch, bound: Bound, rates: GpuRates, registers: int) -> float:
    """Return about how long a launch takes: resources that are busy at the same time still get in each other's way.

    Args:
        launch: the kernel.
        bound: of the same leaf.
        rates: of the device.
        registers: of a processor.
    """
    busiest = -(-launch.blocks // rates.processors)
    threads = _Threads(launch)
    passes = sum(_trips(around) * threads.passes(each, around) for each, around in statements(launch))
    seconds = hypot(*bound.terms.values(), busiest * passes / rates.clock)
    held = sum(each.size * each.dtype.size // WORD for each in launch.arrays if each.space in HELD)
    needed = held + ADDRESSES
    spills = needed > MOST_REGISTERS or needed * launch.threads > registers
    return seconds * (SPILLED if spills else 1)


class _Threads:
    """The threads of a block, all loops being in their first iteration."""

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self.index: dict[str, Numbers] = {}
        rest = np.arange(-(-launch.threads // WARP) * WARP)
        self.exist = rest < launch.threads
        for level in launch.block:
            self.index[level.name], rest = rest % level.extent, rest // level.extent

    def passes(self, statement: Statement, around: tuple[Repeat, ...]) -> int:
        """Return how often memory is asked for what the warps of a block load or store: once each at best."""
        far = [each for each in places(statement) if self.launch.array[each.buffer].space in FAR]
        if not far:
            return 0
        running = self.exist.copy()
        for terms, limit in statement.within:
            running &= self._value(terms) < limit
        width = prod(loop.trips for loop in around if loop.kind is LoopKind.VECTOR)
        return sum(self._passes(place, running, width) for place in far)

    def _passes(self, place: Place, running: Numbers, width: int) -> int:
        array = self.launch.array[place.buffer]
        size = array.dtype.size * width
        # Where each thread moves several words, memory is asked for a part of the warp at a time.
        together = WARP // max(size // WORD, 1)
        first = self._value(place.terms) * array.dtype.size
        groups = zip(first.reshape(-1, together), running.reshape(-1, together))
        if array.space is Space.SHARED:
            return sum(_conflicts(starts[on], size) for starts, on in groups if on.any())
        return CACHE_PASSES * sum(len(np.unique(starts[on] // LINE)) for starts, on in groups if on.any())

    def _value(self, terms: Terms) -> Numbers:
        total = np.zeros(len(self.exist), np.int64)
        for name, factor in terms:
            if name in self.index:
                total += factor * self.index[name]
        return total


def _conflicts(first: Numbers, size: int) -> int:
    """Return the most different words that lie in one bank."""
    words = np.unique((first[:, None] + np.arange(0, max(size, 1), WORD)) // WORD)
    return int(np.bincount(words % BANKS).max())
