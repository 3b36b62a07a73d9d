"""Arrays as hostile as they come through each public entry: the right result, or an error with nothing written.

Misaligned, overlapping, read-only, big-endian, of size zero, of any strides; canaries round every buffer. Each call is
made three times, so that generated entries get their share.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import einloom as el

from ..soak import soak_count
from .memory import TYPES, Array, Buffers, fill, is_small

CASES = 10_000
EQUATIONS = ("ab,bc->ac", "ab->ba", "ab->a", "ab,ab->ab", "a,a->", "ab,b->a", "ab,bc,cd->ad", "ab->ab")
SIZES = (0, 1, 2, 3, 5, 8, 17)
TURNS = 3


def attempt(
    memory: Buffers, call: Callable[[], Any], expected: Callable[[], Array | None], written: Array | None, what: str
) -> bool:
    """Make a call; return whether it gave a result.

    Args:
        memory: all that may change.
        call: the call.
        expected: gives what the result must be, from what memory was; None if that is not known exactly.
        written: the elements that may change; None: the call returns its result.
        what: for the message.
    """
    memory.begin()
    try:
        result = call()
    except el.EinloomError:
        assert memory.nothing_written(), f"an error, and something was written\n{what}"
        return False
    assert memory.only_written(*([] if written is None else [written])), f"written beside the output\n{what}"
    wanted = expected()
    if wanted is not None:
        assert np.array_equal(np.asarray(result if written is None else written), wanted), f"a wrong result\n{what}"
    return True


def text_of(*arrays: Any) -> str:
    kinds = [
        f"{a.dtype} {a.shape} {a.strides} {a.flags.writeable} {a.ctypes.data % 64}" for a in arrays if a is not None
    ]
    return "\n".join(kinds)


def einsum_of(memory: Buffers, equation: str, operands: list[Array]) -> Array | None:
    before = [memory.was(operand, operand.shape, operand.strides) for operand in operands]
    if not all(map(is_small, before)):
        return None
    return np.einsum(equation, *(array.astype("c16" if array.dtype.kind == "c" else "f8") for array in before))


@pytest.mark.soak
@pytest.mark.parametrize("form", ["einsum", "expression"])
def test_einsum_and_expressions(form: str) -> None:
    count = soak_count(CASES)
    served = 0
    for seed in range(count):
        rng = random.Random(seed)
        equation, dtype = rng.choice(EQUATIONS), rng.choice(TYPES)
        sizes = {label: rng.choice(SIZES) for label in "abcd"}
        terms, result = equation.split("->")
        memory = Buffers(rng, 40_000)
        operands = [memory.hostile(tuple(sizes[x] for x in term), dtype) for term in terms.split(",")]
        out = memory.hostile(tuple(sizes[x] for x in result), dtype) if rng.random() < 0.7 else None
        if form == "einsum":
            call = partial(el.einsum, equation, *operands, out=out)
        else:
            call = partial(el.compile(equation, *(array.shape for array in operands), dtype=dtype), *operands, out=out)
        what = f"seed {seed}: {form} {equation} {dtype}\n{text_of(*operands, out)}"
        for _ in range(TURNS):
            for operand in operands:
                fill(rng, operand)
            served += attempt(memory, call, partial(einsum_of, memory, equation, operands), out, what)
    assert served > count  # a third of the calls and more is legal


def gemm_config(rng: random.Random, accumulate: bool) -> el.TensorOperationConfig:
    m, n, k = (rng.choice((0, 1, 2, 3, 5, 8, 17)) for _ in range(3))
    lead_a, lead_b, lead_c = (max(extent, 1) + rng.choice((0, 0, 1, 4)) for extent in (m, k, m))
    return el.TensorOperationConfig(
        dtype=rng.choice(TYPES),
        prim_first_touch="none" if accumulate else "zero",
        prim_main="gemm",
        dim_types=("m", "n", "k"),
        exec_types=("prim", "prim", "prim"),
        dim_sizes=(m, n, k),
        strides_in0=(1, 0, lead_a),
        strides_in1=(0, lead_b, 1),
        strides_out=(1, lead_c, 0),
    )


def product_of(
    memory: Buffers, arrays: list[Array], shapes: list[tuple[int, int]], leads: list[int], accumulate: bool
) -> Array | None:
    """Return A B, or C + A B, of column-major matrices, from what memory was."""
    before = [
        memory.was(array, shape, (array.itemsize, lead * array.itemsize))
        for array, shape, lead in zip(arrays, shapes, leads)
    ]
    if not all(map(is_small, before if accumulate else before[:2])):
        return None
    product = before[0].astype("f8") @ before[1].astype("f8")
    return product + before[2] if accumulate else product


@pytest.mark.soak
@pytest.mark.parametrize("form", ["execute", "brgemm"])
def test_products_of_matrices_in_flat_arrays(form: str) -> None:
    """The configuration or the leading dimensions say what is reached of arrays of any length."""
    count = soak_count(CASES)
    served = 0
    for seed in range(count):
        rng = random.Random(seed)
        accumulate = rng.random() < 0.5
        config = gemm_config(rng, accumulate)
        (m, n, k), dtype = config.dim_sizes, str(config.dtype)
        leads = [config.strides_in0[2], (config.strides_in1 or (0, 0, 0))[1], config.strides_out[1]]
        shapes = [(m, k), (k, n), (m, n)]
        memory = Buffers(rng, 16_000)
        lengths = [lead * columns + rng.choice((0, 0, 0, 3, -1, -2)) for (_, columns), lead in zip(shapes, leads)]
        arrays = [memory.hostile((max(length, 0),), dtype) for length in lengths]
        if form == "execute":
            call = partial(el.TensorOperation(config).execute, *arrays)
        else:
            kernel = el.primitives.brgemm(m=m, n=n, k=k, dtype=dtype, beta=int(accumulate))
            call = partial(kernel, *arrays, *leads)
        out = arrays[2]
        written = _reached(out, (m, n), leads[2])
        what = f"seed {seed}: {form} {config}\n{text_of(*arrays)}"
        for _ in range(TURNS):
            for array in arrays:
                fill(rng, array)
            expected = partial(product_of, memory, arrays, shapes, leads, accumulate)
            served += attempt(memory, call, expected, written, what)
    assert served > count // 2


def _reached(array: Array, shape: tuple[int, int], lead: int) -> Array:
    """Return the elements of a column-major matrix from an array's first element on, which may reach beyond it."""
    return np.lib.stride_tricks.as_strided(array, shape, (array.itemsize, lead * array.itemsize))


def elementwise_of(memory: Buffers, arrays: list[Array], shape: tuple[int, int], leads: list[int]) -> Array | None:
    """Return A - B, or |A| of one input, of column-major matrices, from what memory was."""
    before = [memory.was(array, shape, (array.itemsize, lead * array.itemsize)) for array, lead in zip(arrays, leads)][
        :-1
    ]
    if not all(map(is_small, before)):
        return None
    return np.abs(before[0]) if len(before) == 1 else before[0] - before[1]


@pytest.mark.soak
@pytest.mark.parametrize("form", ["unary", "binary"])
def test_element_wise_primitives(form: str) -> None:
    """In place, too: an operand may be the output itself."""
    count = soak_count(CASES)
    served = 0
    for seed in range(count):
        rng = random.Random(seed)
        m, n, dtype = rng.choice(SIZES), rng.choice(SIZES), rng.choice(TYPES)
        operands = 2 if form == "unary" else 3
        leads = [max(m, 1) + rng.choice((0, 0, 0, 1, 4, -1)) for _ in range(operands)]
        memory = Buffers(rng, 16_000)
        arrays = [memory.hostile((max(lead * n + rng.choice((0, 0, 3, -1)), 0),), dtype) for lead in leads]
        if rng.random() < 0.3:
            arrays[0], leads[0] = arrays[-1], leads[-1]
        if form == "unary":
            kernel = el.primitives.unary("abs", m=m, n=n, dtype=dtype)
        else:
            kernel = el.primitives.binary("sub", m=m, n=n, dtype=dtype)
        what = f"seed {seed}: {kernel!r} {leads}\n{text_of(*arrays)}"
        for _ in range(TURNS):
            for array in arrays:
                fill(rng, array)
            expected = partial(elementwise_of, memory, arrays, (m, n), leads)
            written = _reached(arrays[-1], (m, n), leads[-1])
            served += attempt(memory, partial(kernel, *arrays, *leads), expected, written, what)
    assert served > count // 2
