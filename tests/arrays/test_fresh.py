"""Results begin where cache lines do, and are arrays like all others: they own their memory, and outlive everything."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import einloom as el
from einloom.arrays.fresh import HUGE, LEAST, LINE, fresh

FLOAT = np.dtype(np.float32)
SIDE = 300
"""Of square matrices of more than `LEAST` bytes."""


def handler_of(array: object) -> object:
    """Return who allocated an array, by NumPy's word."""
    core = pytest.importorskip("numpy._core.multiarray")
    return core.get_handler_name(array)


def test_large_results_begin_where_cache_lines_do() -> None:
    a = np.random.default_rng(0).random((SIDE, SIDE)).astype(np.float32)
    f = el.compile("ij,jk->ik", a, a)
    results = [make() for make in (lambda: el.einsum("ij,jk->ik", a, a), lambda: f(a, a)) for _ in range(4)]
    for result in (*results, el.einsum("ij->ji", a), el.einsum("ij,jk", a, a, dtype="float64")):
        assert result.nbytes >= LEAST
        assert result.ctypes.data % LINE == 0
        assert result.base is None
        assert result.flags.owndata


@pytest.mark.parametrize("size", [0, LEAST - 4, LEAST, LEAST + 4, HUGE + 4])
@pytest.mark.parametrize("order", ["C", "F"])
def test_an_array_of_any_size_is_numpys(size: int, order: str) -> None:
    array = fresh((size // 4,), FLOAT, order)  # type: ignore[arg-type]
    array[...] = 7
    again = pickle.loads(pickle.dumps(array))
    assert np.array_equal(copy.copy(array), again)
    array.resize(size // 4 + 1000)  # which only the owner of memory may
    assert not array[size // 4 :].any()
    assert np.array_equal(array[: size // 4], again)


def test_numpys_own_arrays_stay_numpys() -> None:
    usual = handler_of(np.empty(10))
    assert handler_of(fresh((LEAST,), FLOAT)) != usual
    assert handler_of(np.empty(LEAST)) == usual
    with pytest.raises(MemoryError):
        fresh((1 << 58,), FLOAT)
    assert handler_of(np.empty(LEAST)) == usual


def test_threads_allocate_at_once() -> None:
    def sums(seed: int) -> bool:
        made = [fresh((LEAST // 4 + seed,), FLOAT) for _ in range(50)]
        for array in made:
            array[...] = seed
        return all((array == seed).all() and array.ctypes.data % LINE == 0 for array in made)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(sums, range(32)))


@pytest.mark.parametrize("allocator", ["", "debug", "malloc"])
def test_arrays_outlive_the_interpreter_under_every_allocator(allocator: str) -> None:
    code = (
        "import sys, tracemalloc, numpy as np, einloom as el; tracemalloc.start();"
        "a = np.ones((300, 300)); sys.kept = el.einsum('ij,jk', a, a); assert sys.kept[0, 0] == 300;"
        "assert el.einsum('ij->ji', a).sum() == 90000; print('right')"
    )
    environment = os.environ | ({"PYTHONMALLOC": allocator} if allocator else {})
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr
