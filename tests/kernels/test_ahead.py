"""Kernels that ask for a block while they compute: the product stays, and each call goes on where the last one was."""

from __future__ import annotations

import numpy as np
import pytest

from einloom.asm import Assembler
from einloom.dtypes import FLOAT32, INT8, INT32
from einloom.jit.host import host
from einloom.jit.kernel import Kernel
from einloom.jit.tiles import host_with_tiles
from einloom.kernels import Brgemm, machine_for
from einloom.kernels.emit import emit_kernel
from einloom.kernels.specs import Ahead
from einloom.machine import TILES, Machine

LEVELS = ((3, 64), (40, 1000), (6, 50_000))
"""720 lines; behind the last one comes the first."""

ROUNDED = 100
"""Lines of a call beyond those that were asked for, at most: every tile's are rounded up, and those of each trip."""

SIZES = ((48, 8, 40, 1), (17, 5, 3, 1), (48, 30, 40, 1), (40, 11, 12, 3), (16, 1, 200, 1))
"""One tile with a loop over k and without one, several tiles, a batch, more products than lines."""


def _after(lines: int) -> list[int]:
    """Where a block is after so many lines: the distance from its beginning, and what is left of each level."""
    left, rest, distance = list[int](), lines, 0
    for count, apart in LEVELS:
        rest, index = divmod(rest, count)
        left.append(count - index)
        distance += index * apart
    return [distance, *left]


@pytest.mark.parametrize("lines", [1, 7, 100, 721])
@pytest.mark.parametrize("sizes", SIZES)
def test_calls_go_on_where_the_last_one_stopped(vector: str, sizes: tuple[int, int, int, int], lines: int) -> None:
    check_calls(sizes, lines, host().with_vector(vector), grouped=False)


@pytest.mark.parametrize("lines", [1, 100, 721])
@pytest.mark.parametrize("sizes", SIZES)
def test_matrix_tiles_ask_as_well(sizes: tuple[int, int, int, int], lines: int) -> None:
    machine = host_with_tiles()
    if TILES not in machine.features:
        pytest.skip("this host has no matrix tiles")
    check_calls(sizes, lines, machine, grouped=True)


def check_calls(sizes: tuple[int, int, int, int], lines: int, machine: Machine, grouped: bool) -> None:
    """Check three calls of a kernel one after the other; in groups each element is one product of bytes."""
    m, n, k, batch = sizes
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-4, 5, (batch, *shape)).astype(np.int32) for shape in ((k, m), (n, k)))
    dtype, memory = (INT32, (INT8, INT8, INT32)) if grouped else (FLOAT32, ())
    # The lowest of the four bytes alone counts.
    left, right = (each & 0xFF if grouped else each.astype(np.float32) for each in (a, b))
    strides = {"a": (1, 0, m, m * k), "b": (0, k, 1, n * k), "c": (1, m)}
    spec = Brgemm(dtype, m, n, k, batch, beta=0, memory=memory, grouped=grouped, ahead=Ahead(lines, LEVELS), **strides)  # type: ignore[arg-type]
    asm = Assembler(host().isa)
    emit_kernel(machine_for(asm, machine), spec)
    kernel, begin = Kernel(asm), 1 << 40
    state = np.array([begin, *(count for count, _ in LEVELS)], np.int64)
    places = {tuple(_after(count)): count for count in range(720)}
    for call in (1, 2, 3):
        c = np.full((n, m), -1, dtype.name)
        kernel.call(left.ctypes.data, right.ctypes.data, c.ctypes.data, state.ctypes.data)
        assert np.array_equal(c, np.einsum("xkm,xnk->nm", a, b))
        asked = places[int(state[0]) - begin, *map(int, state[1:])]
        assert (asked - call * lines) % 720 <= call * ROUNDED
