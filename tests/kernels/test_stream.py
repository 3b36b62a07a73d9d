"""Copies past the caches: every alignment of the target, lengths around a cache line, both neighbours unmapped.

Transposed ones too: rows that are one run, rows that lie apart, and runs that pass the buffer in several parts.
"""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest

from einloom.asm import Assembler
from einloom.asm.assembler import Directive
from einloom.dtypes import data_type
from einloom.kernels import Stream, machine_for
from einloom.kernels.emit import emit_kernel
from einloom.machine import AVX512

from ..soak import soak_count
from .guarded import GuardedArray, run_guarded
from .products import compile_kernel

LENGTHS = (0, 1, 7, 15, 16, 17, 31, 33, 64, 79, 100, 161)


def _guarded(size: int, dtype: str, at_end: bool) -> tuple[GuardedArray, np.ndarray[Any, Any]]:
    """Return guarded memory and its elements; complex ones begin between two multiples of their size."""
    if dtype != "complex64":
        array = GuardedArray(size, dtype, at_end)
        return array, array.values
    array = GuardedArray(2 * size + 1, "float32", at_end)
    return array, (array.values[:-1] if at_end else array.values[1:]).view(dtype)


def _spec(dtype: str, m: int, n: int, a: tuple[int, int], b: tuple[int, int], far: bool = False) -> Stream:
    in_pairs = dtype == "complex64"
    return Stream(data_type("float64" if in_pairs else dtype), m, n, a, b, far, in_pairs)


def _check(case: tuple[str, str, int, int, int, bool]) -> str | None:
    vector, dtype, m, n, gap, at_end = case
    lead = m + gap
    size = max(lead * (n - 1) + m, 1)
    (source, given), (target, written) = _guarded(size, dtype, at_end), _guarded(size, dtype, at_end)
    given[:] = np.arange(size)
    target.values[:] = -1
    expected = written.copy()
    for column in range(n):
        expected[column * lead : column * lead + m] = given[column * lead : column * lead + m]
    kernel = compile_kernel(_spec(dtype, m, n, (1, lead), (1, lead)), vector)
    kernel.call(given.ctypes.data, written.ctypes.data)
    equal = np.array_equal(written, expected)
    source.close()
    target.close()
    return None if equal else "another result"


def test_streams_copy_columns_and_nothing_else(vector: str) -> None:
    dtypes = ("float32", "float64", "complex64")
    cases = product([vector], dtypes, LENGTHS, (0, 1, 2, 5), (0, 1, 3, 16), (False, True))
    assert run_guarded(list(cases), _check) is None


@pytest.mark.parametrize("turned", [False, True])
def test_no_line_is_asked_for_where_a_run_begins_or_ends_between_lines(turned: bool) -> None:
    """Each request is skipped where the edge is the beginning of its line: it would be read in vain."""
    a, b = ((1, 105), (320, 1)) if turned else ((1, 100), (1, 128))
    asm = Assembler(AVX512.isa)
    emit_kernel(machine_for(asm, AVX512), Stream(data_type("float32"), 100, 300, a=a, b=b, far=True))
    code = [(getattr(form, "mnemonic", form), operands) for form, operands, _ in asm.records]
    requests = [place for place, (name, _) in enumerate(code) if name == "prefetcht0"]
    assert len(requests) == (4 if turned else 1)  # Both ends of whole blocks of rows and of the last one.
    for place in requests:
        (align, (line, _)), (compare, (same, edge)), (skip, (behind,)) = code[place - 3 : place]
        assert (align, compare, skip, line) == ("and", "cmp", "je", same), "it is the line of the edge"
        assert str(code[place][1][0]) == f"[{line}]" and edge != line
        assert code[place + 1] == (Directive.LABEL, behind)


def test_masked_stores_of_parts_stay_in_their_line() -> None:
    """What is before the first whole line is stored back from where that begins, not on from where the run does."""
    asm = Assembler(AVX512.isa)
    emit_kernel(machine_for(asm, AVX512), Stream(data_type("float32"), 100, 300, a=(1, 100), b=(1, 128)))
    code = [(getattr(form, "mnemonic", form), operands) for form, operands, _ in asm.records]
    places = [operands[0] for name, operands in code if name == "vmovdqu8" and operands[0].kind == "m{k}"]
    first, last = places
    assert (first.base, first.disp, last.disp) == (last.base, -64, 0)


@pytest.mark.parametrize(("n", "passes"), [(15, False), (16, True), (20, True), (64, True)])
@pytest.mark.parametrize("far", [False, True])
def test_transposed_runs_pass_the_caches_from_a_line_on(n: int, passes: bool, far: bool) -> None:
    asm = Assembler(AVX512.isa)
    spec = Stream(data_type("float32"), 100, n, a=(1, 105), b=(320, 1), far=far)
    emit_kernel(machine_for(asm, AVX512), spec)
    names = {getattr(form, "mnemonic", form) for form, *_ in asm.records}
    assert ("vmovntps" in names) is (passes and far)


SHAPES = ((2, 64), (3, 33), (15, 100), (16, 16), (17, 84), (36, 32), (84, 300), (100, 700), (300, 20), (700, 17))
"""(m, n): n elements follow each other in the target."""


class _Turn(NamedTuple):
    """m rows of n elements: `gap` elements lie between rows, `apart` between columns of the source.

    `skipped` elements lie before the first row.
    """

    vector: str
    dtype: str
    m: int
    n: int
    gap: int
    skipped: int
    exchanged: bool
    apart: int = 5
    far: bool = True


def _turn(case: _Turn) -> str | None:
    vector, dtype, m, n, gap, skipped, exchanged, apart, far = case
    size = (n + gap) * (m - 1) + n + skipped
    (source, given), (target, written) = _guarded(m * n + apart * (n - 1), dtype, True), _guarded(size, dtype, True)
    given[:] = np.arange(len(given)) % 251
    target.values[:] = 255
    expected, lanes = written.copy(), given.itemsize
    from_ = np.lib.stride_tricks.as_strided(given, (m, n), (lanes, (m + apart) * lanes))
    to = np.lib.stride_tricks.as_strided(expected[skipped:], (m, n), ((n + gap) * lanes, lanes))
    to[...] = from_
    spec = _spec(dtype, m, n, (1, m + apart), (n + gap, 1), far)
    if exchanged:
        spec = replace(spec, m=n, n=m, a=spec.a[::-1], b=spec.b[::-1])
    kernel = compile_kernel(spec, vector)
    kernel.call(given.ctypes.data, written.ctypes.data + skipped * lanes)
    equal = np.array_equal(written, expected)
    source.close()
    target.close()
    return None if equal else "another result"


def test_streams_transpose_and_touch_nothing_else(vector: str) -> None:
    shapes = ((m, n, gap, skipped) for (m, n), gap, skipped in product(SHAPES, (0, 1, 16), (0, 3, 16)))
    cases = [
        _Turn(vector, dtype, m, n, gap, skipped, exchanged=bool(index % 2))
        for index, (m, n, gap, skipped) in enumerate(shapes)
        for dtype in ("float32", "float64", "complex64", "uint8")
    ]
    assert run_guarded(cases, _turn) is None


def _random_turn(vector: str, rng: random.Random) -> _Turn:
    """A few rows or columns in half of the cases, so that what remains of blocks of registers has any size."""
    m, n = rng.sample((rng.randint(2, rng.choice((6, 40))), rng.randint(2, rng.choice((40, 400)))), 2)
    gap, apart, skipped = (rng.choice((0, 0, 0, 1, 5, 16, 30)) for _ in range(3))
    dtype = rng.choice(("float32", "float64", "complex64", "uint8", "uint16"))
    return _Turn(vector, dtype, m, n, gap, skipped, rng.random() < 0.5, apart, far=rng.random() < 0.5)


@pytest.mark.soak
def test_random_streams_transpose_and_touch_nothing_else(vector: str) -> None:
    rng = random.Random(3)
    assert run_guarded([_random_turn(vector, rng) for _ in range(soak_count(8000))], _turn) is None
