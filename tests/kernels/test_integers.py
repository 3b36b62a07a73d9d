"""Kernels of integers and truth values, with memory of the same and of narrower types: exact, modulo 2**bits.

Elements are drawn from the whole range of their type, so everything wraps; operands end or begin at unmapped pages.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from einloom.dtypes import DTYPES, DType, Kind, promoted
from einloom.ir import meanings
from einloom.kernels import Brgemm
from einloom.kernels.specs import Binary, Reduce, Spec, Unary

from .guarded import GuardedArray, run_guarded
from .products import compile_kernel

TYPES = [dtype for dtype in DTYPES.values() if dtype.kind is not Kind.FLOAT and dtype.kind is not Kind.COMPLEX]
WIDER = {"int8": ("int8", "int32"), "uint8": ("uint8", "uint32"), "int16": ("int16", "int32")}
"""Types of an output, by that of the inputs, where it is not the same alone."""
UNARY = ("zero", "identity", "relu", "negate", "abs", "square", "increment", "decrement", "sign")
BINARY = ("add", "sub", "mul", "min", "max", "muladd", "gt", "ge", "lt", "le", "eq", "ne")
OF_TRUTH = ("zero", "identity", "add", "mul", "min", "max", "muladd")


def drawn(rng: random.Random, count: int, dtype: str) -> Any:
    """Elements of the whole range; bytes of truth need not be 0 or 1."""
    bits = np.frombuffer(rng.randbytes(count * np.dtype(dtype).itemsize), np.uint8)
    return (bits % 3 % 2 * bits).view(bool) if dtype == "bool" else bits.view(dtype)


class Placed:
    """A matrix of any strides between guard pages."""

    def __init__(self, rng: random.Random, shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType) -> None:
        ends = [(extent - 1) * stride for extent, stride in zip(shape, strides)]
        low, high = sum(min(end, 0) for end in ends), sum(max(end, 0) for end in ends)
        self.memory = GuardedArray(high - low + 1, dtype.name, rng.random() < 0.5)
        self.memory.values[:] = drawn(rng, high - low + 1, dtype.name)
        item = dtype.size
        self.address = self.memory.values.ctypes.data - low * item
        self.first, self.shape, self.strides = -low, shape, tuple(stride * item for stride in strides)
        self.view = self._elements(self.memory.values)
        self.before = self.memory.values.copy()

    def _elements(self, memory: Any) -> Any:
        return np.lib.stride_tricks.as_strided(memory[self.first :], self.shape, self.strides)

    def matches(self, wanted: Any) -> bool:
        """Whether the elements are these, and nothing between them has changed."""
        expected = self.before.copy()
        self._elements(expected)[...] = wanted
        return expected.tobytes() == self.memory.values.tobytes()


def numbers(array: Any, dtype: DType) -> Any:
    return array != 0 if dtype.kind is Kind.BOOL else array.astype(np.uint64 if dtype.name == "uint64" else np.int64)


def stored(values: Any, dtype: DType) -> Any:
    with np.errstate(all="ignore"):
        return values.astype(dtype.name)


def two_strides(rng: random.Random, m: int, n: int) -> tuple[int, int]:
    """Column-major, row-major, or apart and backwards."""
    ld, other = m + rng.choice((0, 0, 3)), n + rng.choice((0, 0, 2))
    return rng.choice(((1, ld), (1, ld), (other, 1), (2, 2 * m), (-1, m), (1, -ld)))


def check_product(case: tuple[str, int]) -> str | None:
    vector, seed = case
    rng = random.Random(seed)
    inner = rng.choice(TYPES)
    output = DTYPES[rng.choice(WIDER.get(inner.name, (inner.name,)))]
    m, n, k = rng.choice((1, 3, rng.randint(1, 40))), rng.randint(1, 13), rng.choice((1, 2, rng.randint(1, 70)))
    (am, ak), (bk, bn), (cm, cn) = two_strides(rng, m, k), two_strides(rng, k, n), two_strides(rng, m, n)
    beta = rng.choice((0, 1))
    spec = Brgemm(
        promoted(inner, output).accumulate, m, n, k,
        a=(am, 0, ak, 0), b=(0, bn, bk, 0), c=(cm, cn), beta=beta, memory=(inner, inner, output),
    )  # fmt: skip
    a, b = Placed(rng, (m, k), (am, ak), inner), Placed(rng, (k, n), (bk, bn), inner)
    c = Placed(rng, (m, n), (cm, cn), output)
    product = np.einsum("mk,kn->mn", numbers(a.view, inner), numbers(b.view, inner))
    wanted = stored(product + numbers(c.view, output) if beta else product, output)
    compile_kernel(spec, vector).call(a.address, b.address, c.address)
    return None if c.matches(wanted) else f"{spec}\n{c.view}\n{wanted}"


def check_operator(case: tuple[str, int]) -> str | None:
    vector, seed = case
    rng = random.Random(seed)
    dtype = rng.choice(TYPES)
    m, n = rng.choice((1, rng.randint(1, 70))), rng.randint(1, 20)
    ops = [op for op in (*UNARY, *BINARY) if dtype.kind is not Kind.BOOL or op in OF_TRUTH]
    op = rng.choice(ops)
    strides = [two_strides(rng, m, n) for _ in range(3)]
    first, second, output = (Placed(rng, (m, n), along, dtype) for along in strides)
    spec: Spec
    x, y, z = (numbers(placed.view, dtype) for placed in (first, second, output))
    if dtype.size < 8 or dtype.kind is Kind.SIGNED:
        x, y, z = (each if dtype.kind is Kind.BOOL else each.astype(np.int64) for each in (x, y, z))
    if op in UNARY:
        spec = Unary(op, dtype, m, n, a=strides[0], b=strides[2])
        wanted = meanings.UNARY[op](x)
        arguments = [first.address, output.address]
    else:
        spec = Binary(op, dtype.accumulate, m, n, a=strides[0], b=strides[1], c=strides[2], memory=(dtype,) * 3)
        wanted = meanings.BINARY[op](x, y, z) if op == "muladd" else meanings.BINARY[op](x, y)
        arguments = [first.address, second.address, output.address]
    compile_kernel(spec, vector).call(*arguments)
    wanted = stored(wanted, dtype)
    return None if output.matches(wanted) else f"{spec}\n{output.view}\n{wanted}"


def check_reduction(case: tuple[str, int]) -> str | None:
    vector, seed = case
    rng = random.Random(seed)
    dtype, axis, op = rng.choice(TYPES), rng.choice("mn"), rng.choice(("sum", "max", "min", "prod", "sum_of_squares"))
    if dtype.kind is Kind.BOOL and op == "sum_of_squares":
        op = "prod"
    m, n = rng.randint(1, 70), rng.randint(1, 20)
    ld = m + rng.choice((0, 3))
    a = Placed(rng, (m, n), (1, ld), dtype)
    b = Placed(rng, (n if axis == "m" else m,), (1,), dtype)
    along = 0 if axis == "m" else 1
    x = numbers(a.view, dtype)
    if op in ("max", "min"):
        wanted = getattr(np, op)(x, axis=along)
    elif op == "prod":
        wanted = x.prod(axis=along, dtype=x.dtype)
    else:
        wanted = (x * x if op == "sum_of_squares" else x).sum(axis=along, dtype=x.dtype)
    compile_kernel(Reduce(op, dtype, m, n, axis, a=(1, ld)), vector).call(a.address, b.address)
    return None if b.matches(stored(wanted, dtype)) else f"{op} {dtype} {m}x{n} along {axis}\n{b.view}\n{wanted}"


@pytest.mark.parametrize("check", [check_product, check_operator, check_reduction], ids=lambda check: check.__name__)
def test_kernels_are_exact(vector: str, check: Any) -> None:
    assert run_guarded([(vector, seed) for seed in range(150)], check) is None


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_every_residue_of_m_and_k(vector: str, dtype: DType) -> None:
    def check(sizes: tuple[int, int]) -> str | None:
        m, k = sizes
        rng = random.Random(m * 100 + k)
        spec = Brgemm(dtype.accumulate, m, 3, k, a=(1, 0, m, 0), b=(0, k, 1, 0), c=(1, m), beta=0, memory=(dtype,) * 3)
        a, b = Placed(rng, (m, k), (1, m), dtype), Placed(rng, (k, 3), (1, k), dtype)
        c = Placed(rng, (m, 3), (1, m), dtype)
        wanted = stored(np.einsum("mk,kn->mn", numbers(a.view, dtype), numbers(b.view, dtype)), dtype)
        compile_kernel(spec, vector).call(a.address, b.address, c.address)
        return None if c.matches(wanted) else f"{spec}\n{c.view}\n{wanted}"

    sizes = [(m, k) for m in range(1, 18) for k in (1, 4, 7)] + [(16, k) for k in range(1, 17)]
    assert run_guarded(sizes, check) is None
