"""Many threads, processes and shapes for a long time: right results, and memory that does not grow."""

from __future__ import annotations

import gc
import random
import threading
import time
from multiprocessing import get_context

import numpy as np
import pytest

import einloom as el
from tests.soak import soak_count

EQUATIONS = {
    "ab,bc->ac": [(17, 40), (40, 23)],
    "abc,cd->abd": [(5, 6, 70), (70, 90)],
    "ab,bc,cd,de->ae": [(8, 9), (9, 30), (30, 7), (7, 11)],
    "ab,ab->b": [(30, 50), (30, 50)],
    "abc->cab": [(9, 33, 17)],
}

RIGHT, GROWN = 0, 17


def resident() -> int:
    """Bytes of this process that are in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def compute(seconds: float, seed: int, failures: list[str]) -> None:
    """Evaluate the same and different expressions on this thread, in slices now and then."""
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    end = time.monotonic() + seconds
    while time.monotonic() < end and not failures:
        equation, shapes = rng.choice(list(EQUATIONS.items()))
        operands = [numbers.integers(-3, 4, shape).astype(float) for shape in shapes]
        limit = 40 if equation.count(",") == 3 and rng.random() < 0.3 else None
        result = el.einsum(equation, *operands, memory_limit=limit, threads=rng.choice((1, 2)))
        if not np.array_equal(result, np.einsum(equation, *operands, optimize=True)):
            failures.append(equation)


def in_threads(seconds: float) -> int:
    """Return the code of what eight threads found: right results, and hardly more memory than after a tenth of it."""
    failures: list[str] = []
    sizes = []
    for share in (seconds / 10, seconds * 0.9):
        threads = [threading.Thread(target=compute, args=(share, seed, failures)) for seed in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        gc.collect()
        sizes.append(resident())
    if failures:
        return 1
    return RIGHT if sizes[1] - sizes[0] < 2**23 else GROWN


def _exit_with(seconds: float) -> None:
    raise SystemExit(in_threads(seconds))


@pytest.mark.soak
def test_threads_in_processes_compute_what_is_right_without_growth() -> None:
    seconds = soak_count(30, 1 / 30)
    processes = [get_context("spawn").Process(target=_exit_with, args=(seconds,)) for _ in range(soak_count(4, 1 / 4))]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [RIGHT] * len(processes)


def _try_many_shapes(count: int) -> None:
    """Exit with GROWN unless the second half of so many shapes takes hardly more memory than the first."""
    sizes = []
    for half in range(2):
        for number in range(count // 2):
            a, b = divmod(half * (count // 2) + number, 200)
            left, right = np.ones((a + 1, 3)), np.ones((3, b + 1))
            assert el.einsum("ab,bc->ac", left, right)[-1, -1] == 3
        gc.collect()
        sizes.append(resident())
    el.clear_cache()
    gc.collect()
    grown = sizes[1] - sizes[0] > max(2**24, 2048 * count // 2)
    raise SystemExit(GROWN if grown or resident() > sizes[1] else RIGHT)


@pytest.mark.soak
def test_shapes_without_end_take_bounded_memory() -> None:
    process = get_context("spawn").Process(target=_try_many_shapes, args=(soak_count(20_000, 0.005),))
    process.start()
    process.join()
    assert process.exitcode == RIGHT
