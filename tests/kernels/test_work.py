"""What a kernel executes, counted on its code, is what an interpreter of the integers in that code reaches."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from einloom.asm import Assembler
from einloom.dtypes import FLOAT32
from einloom.kernels.emit import emit_kernel
from einloom.kernels.select import machine_for
from einloom.kernels.specs import Brgemm, Spec, Unary
from einloom.kernels.work import Work, work_of
from einloom.machine import AVX2, AVX512, NEON, Machine
from tests.kernels.integers import reached
from tests.soak import soak_count


def counted(spec: Spec, machine: Machine, flag: int) -> dict[str, int]:
    """Count the instructions that a kernel's code reaches, by mnemonic."""
    asm = Assembler(machine.isa)
    emit_kernel(machine_for(asm, machine), spec)
    return Counter(asm.records[place][0].mnemonic for place in reached(asm, {}, flag))


def random_spec(rng: random.Random) -> Spec:
    m, n, k, batch = (rng.choice((1, 2, 7, 16, 33, 70)) for _ in "mnkb")
    if rng.random() < 0.3:
        return Unary("identity", FLOAT32, m, n, a=(1, m), b=(n, 1) if rng.random() < 0.5 else (1, m))
    a, b = rng.choice(((1, 0, m, m * k), (k, 0, 1, m * k))), (0, k, 1, n * k)
    return Brgemm(FLOAT32, m, n, k, batch, a=a, b=b, c=rng.choice(((1, m), (n, 1))), beta=rng.choice((0, 1, None)))


@pytest.mark.soak
@pytest.mark.parametrize("machine", [AVX512, AVX2], ids=["avx512", "avx2"])
def test_no_more_is_counted_than_runs_and_products_exactly(machine: Machine) -> None:
    rng = random.Random(1)
    for _ in range(soak_count(400)):
        spec = random_spec(rng)
        work, runs = work_of(spec, machine), [counted(spec, machine, flag) for flag in (0, 1)]
        for found in runs:
            assert work.instructions <= sum(count for name, count in found.items() if not name.startswith("j"))
            assert work.full_gathers <= work.gathers <= sum(n for name, n in found.items() if "gather" in name)
        multiplied = [sum(n for name, n in each.items() if name.startswith(("vfm", "vmul"))) for each in runs]
        assert min(multiplied) * 0.9 <= work.products <= min(multiplied)


def test_the_kinds_of_a_product_in_registers() -> None:
    spec = Brgemm(FLOAT32, 32, 6, 100, a=(1, 0, 32, 0), b=(0, 100, 1, 0), c=(1, 32), beta=0)
    assert (
        work_of(spec, AVX512).products == work_of(spec, AVX2).products // 2 == work_of(spec, NEON).products // 4 == 1200
    )
    assert work_of(spec, AVX512).stores == 12
    assert work_of(spec, AVX512).gathers == 0
    assert Work(1, 2).plus(Work(3, 4), 2) == Work(7, 10)
