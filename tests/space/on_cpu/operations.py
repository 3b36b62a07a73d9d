"""Operations with the schedules that the heuristic considers for them, and random leaves."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

from einloom import csp
from einloom.ir.operation import Operation
from einloom.ir.schedule import Schedule
from einloom.ir.text import parse_operation
from einloom.machine import AVX512, Machine
from einloom.passes.fuse import fuse
from einloom.passes.parallelise import parallelise
from einloom.space.on_cpu.given import operation_of_equation
from einloom.space.on_cpu.space import CpuSpace
from tests.targets.test_proposals import _operation, _proposals, _tiny
from tests.targets.test_residues import schedules

__all__ = ["PRODUCT", "TINY", "considered", "grouped", "proposed", "random_leaves", "tiny_space"]

GROUPED = ("bfloat16", "int8", "uint8")
"""Types whose products take groups of elements along k, on some machines."""

PRODUCT = parse_operation(
    """
    gemm first=zero last=none
    axis m 6 m
    axis n 4 n
    axis k 3 k
    in0 float32 m=1 k=6
    in1 float32 n=3 k=1
    out float32 m=1 n=6
    """
)
TINY = {
    "product": PRODUCT,
    "product of rows": parse_operation(
        "gemm first=zero last=none\naxis m 9 m\naxis n 2 n\naxis k 2 k\n"
        "in0 float32 m=2 k=1\nin1 float32 n=2 k=1\nout float32 m=1 n=9"
    ),
    "product without columns": parse_operation(
        "gemm first=zero last=none\naxis m 4 m\naxis k 4 k\nin0 float32 m=1 k=4\nin1 float32 k=1\nout float32 m=1"
    ),
    "product of bytes": parse_operation(
        "gemm first=zero last=none\naxis m 4 m\naxis n 5 n\naxis k 4 k\n"
        "in0 int8 m=1 k=4\nin1 int8 n=4 k=1\nout int32 m=1 n=4"
    ),
    "window": parse_operation(
        "gemm first=zero last=none\naxis m 6 m\naxis k 5 k\nin0 float32 m=1 k=1\nin1 float32 k=1\nout float32 m=1"
    ),
    "copy": parse_operation(
        "identity first=none last=none\naxis a 4 c\naxis b 3 c\nin0 float32 a=1 b=4\nout float32 a=3 b=1"
    ),
}


def considered(seed: int) -> tuple[Operation, list[Schedule]]:
    """Return a random contraction and every schedule of the heuristic's families for it, on one thread and on two."""
    rng = random.Random(seed)
    return _considered(rng, _operation(rng), AVX512)


def proposed(rng: random.Random, machine: Machine) -> tuple[Operation, list[Schedule]]:
    """Return an operation, on groups of elements too, and schedules that families propose for it on a machine."""
    if rng.random() < 0.25:
        return grouped(rng, [rng.randint(1, 24) for _ in "mnk"], rng.choice(GROUPED), machine)
    return _considered(rng, _operation(rng), machine)


def grouped(rng: random.Random, sizes: Sequence[int], dtype: str, machine: Machine) -> tuple[Operation, list[Schedule]]:
    """Return a product of matrices whose elements may be multiplied in groups, with all that is proposed for it."""
    m, n, k = sizes
    equation, second = rng.choice((("mk,kn->mn", (k, n)), ("mk,nk->mn", (n, k))))
    operation = fuse(operation_of_equation(equation, [(m, k), second], dtype))
    if rng.random() < 0.5:
        *inputs, output = operation.operands
        wide = replace(output, dtype=operation.accumulate)
        operation = replace(operation, operands=(*inputs, wide))
    return operation, list(dict.fromkeys(schedule for _, schedule in schedules(operation, machine)))


def _considered(rng: random.Random, made: Operation, machine: Machine) -> tuple[Operation, list[Schedule]]:
    operation, found = _proposals(made, rng.choice((machine, _tiny(machine))))
    schedules = [each.schedule for each in found]
    return operation, list(dict.fromkeys([*schedules, *(parallelise(operation, each, 2) for each in schedules)]))


def random_leaves(space: CpuSpace, count: int, seed: int) -> Iterator[tuple[csp.State, Schedule]]:
    """Yield leaves of uniform descents over randomly chosen decisions; how elements lie is the first one, since few
    others go with groups."""
    rng = random.Random(seed)
    manners = [space.problem.variable(f"manner({each.name})").slot for each in space.backbone.manners]
    for _ in range(count):
        state = space.problem.state()
        state.restrict(rng.choice(manners), 1)
        assert csp.complete(state, rng, seconds=20)
        yield state, space.schedule(state)


@cache
def tiny_space(name: str, machine: Machine, curves: bool = False) -> CpuSpace:
    """Return a space of a tiny operation, for two threads."""
    return CpuSpace(TINY[name], machine, threads=2, curves=curves)
