"""What all samples share: the precision that USE_BF16=1 chooses, arrays that begin at a cache line, and the report."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import lt
from timeit import repeat
from typing import Any

import numpy as np

import einloom as el

__all__ = [
    "Work",
    "begins",
    "block_count",
    "empty",
    "grouped",
    "integers",
    "is_narrow",
    "report",
    "run_length",
    "uniform",
]

LINE = 64
"""Kernels read vectors of so many bytes; one in two lines costs twice."""


def integers(given: Sequence[str], names: str, defaults: tuple[int, ...] = (10,)) -> tuple[int, ...]:
    """Return the numbers of a command line, 1 or more, or 0 or more where a name ends in `?`.

    The last ones may be left out: `defaults`, how many runs.

    Raises:
        ArgumentError: they are no numbers, too few, too many, or too small.
    """
    least = [int(not name.endswith("?")) for name in names.split()]
    numbers = tuple(int(each) for each in given if each.isdecimal())
    missing = len(least) - len(given)
    if len(numbers) < len(given) or not 0 <= missing <= len(defaults) or any(map(lt, numbers, least)):
        raise el.ArgumentError(
            f"the numbers are {' '.join(given) or 'none'}\n  Give {names}: each at least 1, or 0 where there is a ?."
        )
    return numbers + defaults[len(defaults) - missing :]


def block_count(size: int, block: int) -> int:
    """Return how many blocks an extent has."""
    if size % block:
        raise el.ScheduleError(f"blocks of {block} do not divide {size}\n  Take a divisor.")
    return size // block


def is_narrow() -> bool:
    """Whether the samples compute with bfloat16."""
    return os.environ.get("USE_BF16", "0") not in ("", "0")


def precision() -> np.dtype:
    """Return the type of the samples' elements."""
    if not is_narrow():
        return np.dtype("float32")
    import ml_dtypes

    return np.dtype(ml_dtypes.bfloat16)


def empty(shape: tuple[int, ...], dtype: np.dtype | str | None = None) -> np.ndarray:
    """Return an array that holds anything."""
    kind = precision() if dtype is None else np.dtype(dtype)
    size = int(np.prod(shape)) * kind.itemsize
    memory = np.empty(size + LINE, np.uint8)
    start = -memory.ctypes.data % LINE
    return memory[start : start + size].view(kind).reshape(shape)


def run_length(loop: el.ThreadedLoop, letter: str) -> int:
    """Return how many indices of a loop a thread runs through before another one changes; 1 if that is inside."""
    last = loop.nest.loops[-1]
    return max(last.lengths) if last.letter == letter and not (last.collapsed or last.ways) else 1


def begins(loop: el.ThreadedLoop, letter: str, outer: str, index: Any) -> Any:
    """Return when a thread begins with a loop inside another one: what it prepares for the others then, it may keep."""
    loops, nest = loop.nest.loops, loop.nest
    own = [each for each in loops if each.letter == letter]
    inside = loops[max(place for place, each in enumerate(loops) if each.letter == outer) + 1 :]
    if all(each in inside for each in own):
        if not loop.get_loop_par_type(letter):
            return index == 0
        if nest.group == tuple(own) and nest.string.clause is None and own[0].trips % nest.threads == 0:
            return index == loop.get_tid() * (own[0].trips // nest.threads)
    return index % run_length(loop, letter) == 0


def uniform(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Return an array of random numbers between -1 and 1."""
    array = empty(shape)
    array[...] = rng.uniform(-1, 1, shape)
    return array


def grouped(blocks: np.ndarray) -> np.ndarray:
    """Return blocks (…, k, m) in pairs of neighbours along k, (…, k / 2, m, 2), if they are bfloat16."""
    if not is_narrow():
        return blocks
    *outer, k, m = blocks.shape
    if k % 2:
        raise el.ScheduleError(f"blocks of {k} along the sum are no pairs\n  Take an even block for bfloat16.")
    array = empty((*outer, k // 2, m, 2))
    array[...] = blocks.reshape(*outer, k // 2, 2, m).swapaxes(-1, -2)
    return array


@dataclass(frozen=True)
class Work:
    """What a sample computes: its loops, their flop, one run of it, how many are asked for, and where the result is.

    `truth` computes what the result should be, in float64.
    """

    loop: el.ThreadedLoop
    flops: float
    run: Callable[[], object]
    iterations: int
    result: np.ndarray
    truth: Callable[[], np.ndarray]

    def __post_init__(self) -> None:
        if self.iterations < 1:
            raise el.ArgumentError(f"{self.iterations} runs\n  Give 1 or more.")

    @property
    def error(self) -> float:
        """The largest error of a run's result, relative to the largest element of the truth."""
        self.run()
        truth = self.truth()
        return float(np.abs(self.result.astype(float) - truth).max() / max(np.abs(truth).max(), 1e-30))


def report(build: Callable[..., Work], *arguments: str) -> float:
    """Run a sample, print block sizes, error and best rate, return the error; without arguments say what they are."""
    given = arguments or sys.argv[1:]
    if not given:
        sys.exit(sys.modules[build.__module__].__doc__)
    work = build(*given)
    print(*(f"{letter}: {spec}" for letter, spec in zip("abcdefg", work.loop.nest.specs)), sep="\n")
    error, seconds = work.error, min(repeat(work.run, number=1, repeat=work.iterations))
    print(
        f"{work.loop.nest.string}: {1e-9 * work.flops / seconds:.1f} GFLOP/s, {seconds * 1e3:.2f} ms, "
        f"{work.result.dtype}, {work.loop.nest.threads} threads, error {error:.2g}"
    )
    return error
