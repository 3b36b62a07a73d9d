"""The process that runs candidates: takes JSON lines on standard input and answers each with one on standard output.

    {"do": "prepare", "operation": "gemm …", "threads": 1, "schedule": "seq …", "checked": false}   {"status": "ok"}
    {"do": "evaluate", "schedule": "seq …", "seconds": 0.02, "hopeless": 0.004}   {"status": "ok", "times": […], …}

Operands hold small whole numbers, so that sums are exact and a right result equals the interpreter's in every bit.
"""

from __future__ import annotations

import base64
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from einloom.dtypes import BOOL, Kind
from einloom.ir.interpret import interpret
from einloom.ir.memory import Memory
from einloom.ir.numbers import narrowed
from einloom.ir.operation import Axis, Operation, reach
from einloom.ir.text import parse_operation
from einloom.jit.host import host
from einloom.jit.timing import timed_calls, undisturbed
from einloom.search.claims import compiled_image, digest_of
from einloom.search.problems import host_of
from einloom.search.process import Evaluate, answer_requests, private_output, send
from einloom.targets.executable import Executable
from einloom.targets.image import Image

__all__ = ["Bench", "checked_blocks", "serve", "written_places"]

CHECKED_POINTS = 20_000_000
"""Points of the iteration space that the interpreter computes; of larger operations it computes some blocks."""

LARGEST = 3
"""Operands hold whole numbers up to this, either sign; not 0, which as a factor would hide the others."""

PIECE = 1 << 18
"""Elements that are compared at a time: they stay in a core's cache."""

SHORT = 2e-4
"""Seconds of a call up to which some repetitions are undisturbed; of longer ones on one thread its processor time
counts, so that what else runs on the machine does not."""

LONG = 5e-3
"""Seconds from which on beginning anew costs a call next to nothing: its first time tells whether it is worth more."""


def serve() -> None:
    """Answer requests until standard input ends."""
    answers = private_output()
    send(answers, {"isa": host().vector})
    answer_requests(answers, _prepared)


def _prepared(request: dict[str, Any]) -> tuple[Evaluate, dict[str, Any]]:
    bench = Bench(parse_operation(request["operation"]), request["threads"])
    return bench.evaluate, bench.prepare(request["schedule"], request["checked"])


class Bench:
    """One operation with its operands, and what the result should be.

    Args:
        operation: what is computed.
        threads: how many may share the work.
    """

    def __init__(self, operation: Operation, threads: int) -> None:
        self.operation, self.threads = operation, threads
        self.machine = host_of(operation)
        self.memories = _memories(operation)
        self.start = self.memories[-1].elements.copy()
        self.expected: np.ndarray[Any, Any] | None = None
        size = [memory.elements.itemsize for memory in self.memories]
        origins = [memory.origin for memory in self.memories]
        bases = [memory.elements.__array_interface__["data"][0] for memory in self.memories]
        self.addresses = [base + origin * each for base, origin, each in zip(bases, origins, size)]

    def prepare(self, schedule: str, checked: bool = False) -> dict[str, Any]:
        """Compute the result by a schedule, and compare it with the interpreter: whole, or in blocks, unless it was."""
        executable, _ = self._executable(schedule)
        self._run_once(executable)
        result = self.memories[-1].elements
        for block, places in () if checked else checked_blocks(self.operation):
            memories = [Memory(m.elements, m.origin + place) for m, place in zip(self.memories, places)]
            memories[-1] = Memory(self.start.copy(), memories[-1].origin)
            interpret(block, memories)
            mine = memories[-1].elements
            written = written_places(block, len(mine), memories[-1].origin)
            if not np.array_equal(mine[written], result[written]):
                return {"status": "wrong", "note": "the first schedule computes something else than the interpreter"}
        self.expected = result.copy()
        return {"status": "ok"}

    def evaluate(self, schedule: str, seconds: float, hopeless: float, image: str = "") -> dict[str, Any]:
        """Compile a schedule unless its image is given, compare what it computes, and time it."""
        executable, code = self._executable(schedule, image)
        needed, free = executable.scratch_bytes(self.threads), free_memory()
        if needed > free:
            raise MemoryError(f"{needed:,} bytes of scratch, where {free:,.0f} are free")
        clock = time.thread_time if self.threads == 1 else time.perf_counter
        begin = clock()
        self._run_once(executable)
        first = clock() - begin
        assert self.expected is not None
        if not _are_same(self.memories[-1].elements, self.expected):
            return {"status": "wrong", "code": code}
        if first > (hopeless / 2 if first > LONG else 2 * hopeless):  # A short call takes longer the first time.
            return {"status": "ok", "seconds": first, "code": code}
        if first < SHORT:
            clock = time.perf_counter
        times = timed_calls(lambda: executable(self.addresses, self.threads), seconds, hopeless, clock)
        return {"status": "ok", "seconds": undisturbed(times), "code": code}

    def _executable(self, text: str, given: str = "") -> tuple[Executable, str]:
        image = Image.from_bytes(base64.b64decode(given))
        if image is None or not image.fits(len(self.operation.operands), self.machine):
            image = compiled_image(self.operation, text, self.machine)
        return Executable(image), digest_of(image)

    def _run_once(self, executable: Executable) -> None:
        self.memories[-1].elements[:] = self.start
        executable(self.addresses, self.threads)


def free_memory() -> float:
    """Return the bytes that are free on this machine; what takes more, the system ends. Infinity: it does not say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return math.inf
    return next((1024.0 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")), math.inf)


def _are_same(found: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> bool:
    """Whether two flat arrays hold the same, piece by piece: the search for NaN costs more than many a candidate."""
    pieces = (slice(begin, begin + PIECE) for begin in range(0, len(expected), PIECE))
    return all(
        np.array_equal(found[each], expected[each]) or np.array_equal(found[each], expected[each], equal_nan=True)
        for each in pieces
    )


def _memories(operation: Operation) -> list[Memory]:
    """Operands of small whole numbers; an output that is not read starts as NaN, so that a gap shows.

    Truth values are rarer the longer sums are, so that about half of the sums are true.
    """
    generator = np.random.default_rng(2026)
    memories: list[Memory] = []
    reads_output = operation.main.is_contraction and not operation.first_touch.initialises
    summed = math.prod(axis.extent for axis in operation.axes if not _is_kept(axis))
    true = (1 - 0.5 ** (1 / max(summed, 1))) ** (1 / len(operation.inputs))
    for operand in operation.operands:
        low, high = reach(operation, operand) or (0, -1)
        values = generator.integers(1, LARGEST + 1, high - low + 1) * generator.choice((-1, 1), high - low + 1)
        if operand.dtype is BOOL:
            values = generator.random(high - low + 1) < true
        if operand is operation.output and not reads_output and operand.dtype.kind is Kind.FLOAT:
            values = np.full(high - low + 1, np.nan)
        memories.append(Memory(narrowed(values, operand.dtype), -low))
    return memories


def checked_blocks(operation: Operation) -> Iterator[tuple[Operation, Sequence[int]]]:
    """Yield blocks of the operation with where each operand begins there: the whole, or first, last and some others."""
    lengths = _block_lengths(operation)
    generator = np.random.default_rng(7)
    room = [axis.extent - length for axis, length in zip(operation.axes, lengths)]
    corners = [[0] * len(room), room] if any(room) else [[0] * len(room)]
    if any(room):
        corners += [[int(generator.integers(0, each + 1)) for each in room] for _ in range(2)]
    axes = tuple(replace(axis, extent=length) for axis, length in zip(operation.axes, lengths))
    for corner in corners:
        places = [sum(c * s for c, s in zip(corner, operand.strides)) for operand in operation.operands]
        yield replace(operation, axes=axes), places


def _block_lengths(operation: Operation) -> list[int]:
    """How far a checked block reaches along each axis: all of what is summed."""
    lengths = [axis.extent for axis in operation.axes]
    kept = [place for place, axis in enumerate(operation.axes) if _is_kept(axis)]
    while kept and math.prod(lengths) > CHECKED_POINTS and any(lengths[place] > 1 for place in kept):
        longest = max(kept, key=lambda place: lengths[place])
        lengths[longest] = -(-lengths[longest] // 2)
    return lengths


def written_places(operation: Operation, size: int, origin: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return which elements of a flat output of a size an operation writes, whose first one lies at an origin."""
    written = np.zeros(size, bool)
    kept = [place for place, axis in enumerate(operation.axes) if _is_kept(axis)]
    extents = [operation.axes[place].extent for place in kept]
    Memory(written, origin).view(extents, [operation.output.strides[place] for place in kept])[...] = True
    return written


def _is_kept(axis: Axis) -> bool:
    return axis.role != "k"
