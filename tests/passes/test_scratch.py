"""There is always a proposal that finds scratch enough, however little there is, and none that needs more."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest

from einloom.dtypes import BFLOAT16, COMPLEX64, FLOAT16, FLOAT32, FLOAT64, INT8, DType
from einloom.ir.bind import bind
from einloom.ir.operation import Operation
from einloom.ir.schedule import Schedule
from einloom.ir.text import parse_operation
from einloom.machine import AVX2, AVX512, NEON, Machine
from einloom.passes.block_elementwise import costed_element_wise
from einloom.passes.contraction.choose import CHOOSE_CONTRACTION
from einloom.passes.fuse import fuse
from einloom.passes.identify import identify_primitive
from einloom.passes.model.tiles import SCRATCH_LIMIT
from einloom.passes.values import Context

from ..ir.strategies import random_contraction, random_product, random_reading
from .choices import ZEN3

LIMITS = (0, 1024, 16384)
LEAST = 2**19
"""Bytes that are enough for blocks that have to be converted or turned, an eighth of what there is."""


def _contraction(rng: random.Random, dtype: DType) -> Operation:
    """A large one in memory that nobody touches: axes are up to sixteen times as long as where programs run."""
    maker = random_product if dtype is COMPLEX64 else rng.choice((random_contraction, random_reading))
    made = maker(rng, dtype if dtype in (COMPLEX64, FLOAT64) else FLOAT32)
    factor = rng.choice((2, 8, 16))
    axes = tuple(replace(axis, extent=axis.extent * factor) for axis in made.axes)
    operands = []
    for operand in made.operands:
        strides, step = [0] * len(axes), 1
        for i in sorted(range(len(axes)), key=lambda i: abs(operand.strides[i])):
            if operand.strides[i]:
                strides[i], step = step, step * axes[i].extent
        narrow = dtype if len(made.operands) == 3 and made.first_touch.initialises else operand.dtype
        operands.append(replace(operand, dtype=narrow, strides=tuple(strides)))
    return fuse(replace(made, axes=axes, operands=tuple(operands)))


def _scratch_bytes(operation: Operation, machine: Machine) -> int:
    given = Schedule((), identify_primitive(operation))
    return bind(*CHOOSE_CONTRACTION.apply(operation, given, Context(machine))).scratch_bytes


@pytest.mark.parametrize("machine", [AVX512, AVX2, NEON], ids=lambda machine: machine.vector)
@pytest.mark.parametrize("dtype", [FLOAT32, FLOAT64, FLOAT16, BFLOAT16, INT8, COMPLEX64], ids=str)
def test_there_is_a_proposal_for_any_limit(dtype: DType, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("einloom.passes.contraction.proposals.LITTLE", 1)  # Else the smallest have no choice.
    needed = 0
    for seed in range(30):
        operation = _contraction(random.Random(seed), dtype)
        converts = dtype not in (FLOAT32, FLOAT64)
        needed += _scratch_bytes(operation, machine) > LIMITS[-1]
        for limit in LIMITS:
            with monkeypatch.context() as limited:
                limited.setattr("einloom.passes.contraction.choose.SCRATCH_LIMIT", limit)
                scratch = _scratch_bytes(operation, machine)
            assert scratch <= (LEAST if converts else limit), f"seed {seed}\n{operation}"
    assert needed  # Without the limits some take more.


def _element_wise(rng: random.Random) -> Operation:
    """An identity or a product of large tensors, each in an order of its own."""
    axes, extents = "abcd"[: rng.randint(2, 4)], (2, 7, 64, 257, 512, 1000)
    sizes = {axis: rng.choice(extents) for axis in axes}
    while not 2**18 < math.prod(sizes.values()) < 2**26:
        sizes = {axis: rng.choice(extents) for axis in axes}
    dtype, inputs = rng.choice((INT8, FLOAT16, BFLOAT16, FLOAT32, COMPLEX64)), rng.randint(1, 2)

    def operand(name: str) -> str:
        order, strides, stride = rng.sample(axes, len(axes)), dict[str, int](), 1
        for axis in order:
            strides[axis], stride = stride, stride * sizes[axis]
        return f"{name} {dtype} " + " ".join(f"{axis}={strides[axis]}" for axis in axes)

    kind = "identity" if inputs == 1 else "mul"
    described = [f"axis {axis} {size} c" for axis, size in sizes.items()]
    described += [operand(name) for name in ("in0", "in1")[:inputs]]
    return fuse(parse_operation("\n".join([f"{kind} first=none last=none", *described, operand("out")])))


@pytest.mark.parametrize(
    "machine", [ZEN3, AVX512, replace(NEON, l2=2**24)], ids=["zen 3", "avx512", "second cache beyond the limit"]
)
def test_no_element_wise_proposal_needs_more_scratch_than_there_is(machine: Machine) -> None:
    """Runs of two inputs that lie across each other, and of the output, span blocks of all of them."""
    staged = 0
    for seed in range(60):
        operation = _element_wise(random.Random(seed))
        given = Schedule((), identify_primitive(operation))
        for each in costed_element_wise(operation, given, Context(machine)):
            scratch = bind(operation, each.proposal.schedule).scratch_bytes
            staged += scratch > 0
            assert scratch <= SCRATCH_LIMIT
    assert staged > 60
