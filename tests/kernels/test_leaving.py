"""Blocks that leave scratch later: noted, stored line by line by kernels that compute, and what is left at last."""

from __future__ import annotations

import numpy as np
import pytest

from einloom.asm import Assembler
from einloom.dtypes import FLOAT32
from einloom.jit.host import host
from einloom.jit.kernel import Kernel
from einloom.kernels import Brgemm, machine_for
from einloom.kernels.elementwise.leave import WORDS
from einloom.kernels.emit import emit_kernel
from einloom.kernels.specs import LeaveBehind, Leaves, Spec

LINE = 16
"""Floats of a cache line."""

SIZES = ((48, 8, 40, 1), (17, 5, 3, 1), (48, 30, 40, 1), (40, 11, 12, 3), (20, 20, 24, 1), (16, 1, 200, 1))
"""One tile with a loop over k and without one, several tiles, a batch, grouped rows, more products than lines."""


def _kernel(spec: Spec, vector: str) -> Kernel:
    machine = host().with_vector(vector)
    asm = Assembler(machine.isa)
    emit_kernel(machine_for(asm, machine), spec)
    return Kernel(asm)


def _floats(count: int) -> np.ndarray:
    """Return so many floats that begin at a cache line."""
    memory = np.zeros(count + LINE, np.float32)
    begin = -memory.ctypes.data % 64 // 4
    return memory[begin : begin + count]


@pytest.mark.parametrize("noted", [0, 1, 5, 100])
@pytest.mark.parametrize("lines", [1, 5, 13])
@pytest.mark.parametrize("sizes", SIZES)
def test_kernels_store_lines_that_are_noted(vector: str, sizes: tuple[int, ...], lines: int, noted: int) -> None:
    m, n, k, batch = sizes
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-4, 5, (batch, *shape)).astype(np.float32) for shape in ((k, m), (n, k)))
    strides = {"a": (1, 0, m, m * k), "b": (0, k, 1, n * k), "c": (1, m)}
    kernel = _kernel(Brgemm(FLOAT32, m, n, k, batch, beta=0, leaving=Leaves(lines), **strides), vector)  # type: ignore[arg-type]
    source, target, c = _floats(100 * LINE), _floats(102 * LINE), np.full((n, m), -1, np.float32)
    source[:] = rng.integers(1, 99, len(source))
    begin = target.ctypes.data + 64
    state = np.array([source.ctypes.data, begin, begin + 64 * noted, *[0] * (WORDS - 3)], np.int64)
    kernel.call(a.ctypes.data, b.ctypes.data, c.ctypes.data, state.ctypes.data)
    assert np.array_equal(c, np.einsum("xkm,xnk->nm", a, b))
    stored = int(state[1] - begin) // 64
    assert min(lines, noted) <= stored <= noted
    assert state[0] - source.ctypes.data == 64 * stored
    assert np.array_equal(target[LINE : (1 + stored) * LINE], source[: stored * LINE])
    assert not target[:LINE].any()
    assert not target[(1 + stored) * LINE :].any()


@pytest.mark.parametrize("size", [16, 31, 80, 200])
@pytest.mark.parametrize("begin", [0, 1, 7, 15])
def test_what_no_kernel_stores_leaves_with_the_next_block(vector: str, begin: int, size: int) -> None:
    kernel, last = (_kernel(LeaveBehind(FLOAT32, m), vector) for m in (size, 0))
    blocks, target = _floats(3 * 256).reshape(3, 256), _floats(4 * 256)
    blocks[:] = np.arange(1, 3 * 256 + 1).reshape(3, 256)
    state, done, wanted = np.zeros(WORDS, np.int64), 0, np.zeros(len(target), np.float32)
    for block in blocks:
        place = begin + done
        kernel.call(block.ctypes.data, target[place:].ctypes.data, state.ctypes.data)
        assert np.array_equal(target, wanted), "a block left before it had to"
        wanted[place : place + size] = block[:size]
        done += size
    for _ in range(2):
        last.call(0, 0, state.ctypes.data)
        assert np.array_equal(target, wanted)


@pytest.mark.skipif(host().isa != "x86_64", reason="x86-64's instructions are counted")
def test_lines_pass_the_caches_and_others_are_asked_for(vector: str) -> None:
    """A whole line takes as many stores as vectors; of the two at the ends of a block there may be parts."""
    product, block = (
        _kernel(Brgemm(FLOAT32, 16, 1, 2, leaving=Leaves(1)), vector),
        _kernel(LeaveBehind(FLOAT32, 80), vector),
    )
    vectors = {"avx2": 2, "avx512": 1}[vector]
    assert product.listing().count("vmovntps") == vectors
    assert block.listing().count("prefetch") == 2


@pytest.mark.parametrize("whole", [1, 3])
@pytest.mark.parametrize("lines", [1, 7, 40])
@pytest.mark.parametrize("sizes", SIZES)
def test_kernels_go_from_run_to_run(vector: str, sizes: tuple[int, ...], lines: int, whole: int) -> None:
    m, n, k, batch = sizes
    runs, row, line = 5, 4 * LINE, 4 * LINE
    strides = {"a": (1, 0, m, m * k), "b": (0, k, 1, n * k), "c": (1, m)}
    leaves = Leaves(lines, (row * 4, 2 * line * 4))
    spec = Brgemm(FLOAT32, m, n, k, batch, beta=0, leaving=leaves, **strides)  # type: ignore[arg-type]
    kernel, (a, b) = _kernel(spec, vector), (np.ones((batch, size), np.float32) for size in (m * k, n * k))
    source, target, c = _floats(runs * row), _floats(runs * 2 * line), np.full((n, m), -1, np.float32)
    source[:] = np.arange(1, len(source) + 1)
    begin = target.ctypes.data
    end, back = begin + 64 * whole, -64 * whole
    state = np.array([source.ctypes.data, begin, end, runs, back, *[0] * (WORDS - 5)], np.int64)
    wanted = np.zeros((runs, 2 * line), np.float32)
    wanted[:, : whole * LINE] = source.reshape(runs, row)[:, : whole * LINE]
    order = np.zeros((runs, 2 * line), bool)
    order[:, : whole * LINE] = True
    done = 0
    while done < runs * whole:
        kernel.call(a.ctypes.data, b.ctypes.data, c.ctypes.data, state.ctypes.data)
        stored = np.count_nonzero(target.reshape(wanted.shape)[order]) // LINE
        assert stored >= min(done + lines, runs * whole)
        done = stored
        first = np.flatnonzero(order.ravel())[: done * LINE]
        assert np.array_equal(target[first], wanted.ravel()[first])
        assert np.count_nonzero(target) == done * LINE
    kernel.call(a.ctypes.data, b.ctypes.data, c.ctypes.data, state.ctypes.data)
    assert np.array_equal(target.reshape(wanted.shape), wanted)
    assert np.all(c == k * batch)


@pytest.mark.parametrize("size", [16, 17, 31, 32, 80])
@pytest.mark.parametrize("begin", [0, 1, 7, 15])
def test_runs_that_no_kernel_stores_leave_with_the_next_block(vector: str, begin: int, size: int) -> None:
    rows, runs = 96, (4, 3)
    a, b = (1, 100), (1, 2 * rows)
    kernels = [_kernel(LeaveBehind(FLOAT32, size, n, a, b), vector) for n in runs]
    last = _kernel(LeaveBehind(FLOAT32, 0, 1, a, b), vector)
    blocks, target = _floats(2 * 400).reshape(2, 4, 100), _floats(2 * 4 * 2 * rows).reshape(2, 4, 2 * rows)
    blocks[:] = np.arange(1, 801).reshape(blocks.shape)
    state, wanted = np.zeros(WORDS, np.int64), np.zeros_like(target)
    for number, (kernel, n) in enumerate(zip(kernels, runs)):
        kernel.call(blocks[number].ctypes.data, target[number, 0, begin:].ctypes.data, state.ctypes.data)
        assert np.array_equal(target, wanted), "a block left before it had to"
        wanted[number, :n, begin : begin + size] = blocks[number, :n, :size]
    for _ in range(2):
        last.call(0, 0, state.ctypes.data)
        assert np.array_equal(target, wanted)
