"""What a program executes between its kernels, counted on its code, is what an interpreter of its integers reaches."""

from __future__ import annotations

import pytest

from einloom.ir.bind import bind
from einloom.ir.nest import Call, Nest, walk
from einloom.ir.operation import Operation
from einloom.ir.schedule import Schedule
from einloom.ir.text import parse_schedule
from einloom.kernels.work import Work, kinds_of, work_of
from einloom.machine import AVX2, AVX512, Machine
from einloom.space.on_cpu.work import executed, spec_of
from einloom.targets.cpu import lower_loops
from einloom.targets.overhead import Overhead
from tests.kernels.integers import reached
from tests.soak import soak_count
from tests.space.on_cpu.operations import PRODUCT, TINY, random_leaves, tiny_space


def run(nest: Nest, machine: Machine) -> Work:
    """Run a nest's program on one thread, and count what is executed."""
    asm, places = lower_loops(nest, machine)
    calls = {each.start: (each.node, each.sizes) for each in places if each.sizes is not None}
    kinds, found = kinds_of(asm.isa), Work()
    for place in reached(asm, {"rsi": 0, "rdx": 1}):
        form, operands, _ = asm.records[place]
        found = found.plus(Work(*kinds(form.mnemonic, operands)))
        node, sizes = calls.get(place, (None, ()))
        if isinstance(node, Call):
            found = found.plus(work_of(spec_of(nest, node, sizes, machine), machine))
    return found


def counted(operation: Operation, schedule: Schedule, machine: Machine) -> tuple[Work, Work]:
    """Return what is counted of a schedule's program, and what runs."""
    nest = bind(operation, schedule)
    found = executed(nest, machine, {"instructions": 1e9}, Overhead)
    assert found is not None
    return found.work, run(nest, machine)


@pytest.mark.soak
@pytest.mark.parametrize("machine", [AVX512, AVX2], ids=["avx512", "avx2"])
@pytest.mark.parametrize("name", ["product", "product of rows", "window", "copy"])
def test_no_more_is_counted_than_runs(name: str, machine: Machine) -> None:
    shares: list[float] = []
    for _, schedule in random_leaves(tiny_space(name, machine), soak_count(300, 0.05), 4):
        found, runs = counted(TINY[name], schedule, machine)
        assert all(a <= b for a, b in zip(found, runs))
        shares.append(found.instructions / runs.instructions)
    assert (
        sum(shares) / len(shares) > 0.5
    )  # Entering and leaving are not counted: a third of programs as small as these.


def test_loops_without_short_blocks_are_counted_exactly() -> None:
    """Nothing depends on what is left of the axes; only saving registers, and bringing addresses, comes before."""
    schedule = parse_schedule("seq n:2 seq m:3 prim m=m n=n k=k")
    found, runs = counted(PRODUCT, schedule, AVX512)
    nest = bind(PRODUCT, schedule)
    asm, places = lower_loops(nest, AVX512)
    first = min(each.start for each in places)
    last = max(each.end for each in places)
    kinds = kinds_of(asm.isa)
    around = [kinds(x.mnemonic, y)[0] for x, y, _ in asm.records[:first] + asm.records[last:] if hasattr(x, "mnemonic")]
    assert len([node for node in walk(nest.body) if isinstance(node, Call)]) == 1
    assert runs.instructions == found.instructions + sum(around)
