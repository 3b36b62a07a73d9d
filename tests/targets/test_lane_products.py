"""Products of complex numbers that sum over lanes of vectors, and the loops around them that their kernels take."""

from __future__ import annotations

import random
from dataclasses import replace

from einloom.dtypes import COMPLEX64, COMPLEX128
from einloom.ir.bind import bind
from einloom.ir.operation import Operation
from einloom.ir.schedule import Schedule
from einloom.ir.text import parse_schedule
from einloom.jit.host import host
from einloom.machine import AVX2, AVX512, NEON, Machine
from einloom.passes.contraction.choose import every_proposal
from einloom.passes.fuse import fuse
from einloom.passes.identify import identify_primitive
from einloom.passes.values import Context
from einloom.targets.cpu import lower_nest

from ..ir.strategies import random_late_gate
from ..kernels.guarded import run_guarded
from ..passes.operations import contraction
from .programs import difference

SEEDS = range(150)
FAMILIES = "in short runs", "matrix in registers"


def _found(seed: int, machine: Machine) -> tuple[Operation, Operation, list[Schedule]]:
    rng = random.Random(seed)
    operation = random_late_gate(rng, rng.choice((COMPLEX64, COMPLEX128)))
    fused = fuse(operation)
    every = every_proposal(fused, Schedule((), identify_primitive(fused)), Context(machine))
    return operation, fused, [each.schedule for each in every if each.family in FAMILIES]


def test_caches_without_room_for_a_vector_take_another_family() -> None:
    tiny = replace(AVX512, l1d=64, l2=128, l3=256)
    assert all(every == [] for seed in SEEDS for _, _, every in [_found(seed, tiny)])


def _listing(operation: Operation, schedule: Schedule, machine: Machine) -> str:
    return lower_nest(bind(operation, schedule), machine).assembler.listing()


def test_gates_at_late_sites_equal_the_interpreter(vector: str) -> None:
    machine = host().with_vector(vector)

    def complaint(seed: int) -> str | None:
        operation, fused, schedules = _found(seed, machine)
        wrong = (difference(operation, fused, each, machine, random.Random(seed)) for each in schedules)
        return next((f"seed {seed}\n{each}" for each in wrong if each), None)

    assert run_guarded(SEEDS, complaint) is None


def test_kernels_of_all_vectors_sum_over_lanes_and_take_loops() -> None:
    for machine, least in ((AVX512, 20), (AVX2, 20), (NEON, 5)):
        found = [(fused, each) for seed in SEEDS for _, fused, every in [_found(seed, machine)] for each in every]
        listings = [_listing(fused, each, machine) for fused, each in found]
        assert sum("sums over lanes" in each for each in listings) > least, machine.name
        assert sum("around=((" in each for each in listings) > least, machine.name


def test_matrices_of_long_runs_stay_in_registers() -> None:
    late = contraction("a 2 k, X 2 m, b 512 n, k 2 k, z 2 m, c 512 n", "Xzak", "abkc", "Xbzc", dtype="complex64")
    every = every_proposal(late, Schedule((), identify_primitive(late)), Context(AVX512))
    (found,) = [each.schedule for each in every if each.family == "matrix in registers"]
    assert str(found) == "seq b:1 seq c:256 seq X:1 prim m=c n=z k=k batch=a"
    assert "around=((2, 0, 8, 524288),)" in _listing(late, found, AVX512)


def test_a_loop_is_taken_only_where_its_kernel_keeps_something() -> None:
    late = contraction("a 64 n, z 2 m, y 2 m, r 2 k, s 2 n", "zyr", "ars", "yazs", dtype="complex64")
    taken = _listing(late, parse_schedule("seq y:1 seq z:1 prim m=a n=s k=r"), AVX512)
    assert "around=((2, 0, 2, 256), (2, 0, 4, 2))" in taken
    summed = _listing(late, parse_schedule("seq r:1 seq y:1 seq z:1 prim m=a n=s"), AVX512)
    assert "around=()" in summed and "around=((" not in summed
    few = contraction("a 2 n, z 2 m, y 2 m, r 2 k, s 2 n", "zyr", "ars", "yazs", dtype="complex64")
    assert "around=((" not in _listing(few, parse_schedule("seq y:1 seq z:1 prim m=a n=s k=r"), AVX512)
