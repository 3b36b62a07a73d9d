"""Loop strings with teams are leaves, and leaves loop strings: the same text both ways; what is illegal is no leaf."""

from __future__ import annotations

import random

import pytest

from einloom.dtypes import FLOAT32
from einloom.errors import DeadEnd, ScheduleError
from einloom.ir.bind import bind
from einloom.ir.operation import Operation
from einloom.ir.schedule import Schedule
from einloom.ir.text import parse_schedule
from einloom.jit.host import host
from einloom.machine import AVX512
from einloom.space.on_cpu.space import CpuSpace
from tests.ir.strategies import random_contraction
from tests.kernels.guarded import run_guarded
from tests.loops.strings import random_string
from tests.loops.test_interchange import NAMES, product
from tests.soak import soak_count
from tests.space.on_cpu.operations import PRODUCT, random_leaves
from tests.targets.programs import difference


def random_schedule(rng: random.Random) -> tuple[Operation, Schedule]:
    """Return what a random loop string means for a product; no step exceeds what the loops around it leave."""
    string, threads = random_string(rng, 3), rng.randint(1, 4)
    operation = product(*(rng.randint(1, 14) for _ in NAMES))
    sizes = {axis.name: random_steps(rng, axis.extent) for axis in operation.axes}
    threads = string.grid.threads if string.grid else threads
    return operation, Schedule.from_loop_string(operation, str(string), sizes, threads=threads)


def random_steps(rng: random.Random, left: int) -> tuple[int, ...]:
    """Return the steps of three levels of loops, of which each divides what is left or not."""
    steps = list[int]()
    for _ in range(3):
        left = rng.choice([rng.randint(1, left), *(step for step in range(1, left + 1) if left % step == 0)])
        steps.append(left)
    return tuple(steps)


@pytest.mark.soak
def test_loop_strings_are_leaves_and_leaves_loop_strings() -> None:
    legal = illegal = 0
    for seed in range(soak_count(1000, 0.012)):
        operation, schedule = random_schedule(random.Random(seed))
        space = CpuSpace(operation, AVX512, (schedule,), threads=2, teams=True)
        try:
            bind(operation, schedule)
        except ScheduleError:
            with pytest.raises(DeadEnd):
                space.leaf(schedule)
            illegal += 1
            continue
        leaf = space.leaf(schedule)
        assert leaf.is_leaf
        assert leaf.schedule == schedule
        assert leaf.schedule.to_loop_string() == schedule.to_loop_string()
        legal += 1
    assert legal and illegal


@pytest.mark.soak
def test_random_leaves_are_schedules_that_bind_and_lead_back() -> None:
    space, teams = CpuSpace(PRODUCT, AVX512, threads=4, teams=True), 0
    for state, schedule in random_leaves(space, soak_count(1000, 0.03), seed=1):
        bind(PRODUCT, schedule)
        assert parse_schedule(str(schedule)) == schedule
        assert space.leaf(schedule).inner.snapshot() == state.snapshot()
        teams += schedule.team is not None
        if schedule.loops and not schedule.packs:
            text, count = schedule.to_loop_string(), schedule.team and schedule.team.threads
            assert Schedule.from_loop_string(PRODUCT, text, prims=schedule.prims, threads=count) == schedule
    assert teams


@pytest.mark.soak
def test_random_leaves_equal_the_interpreter() -> None:
    machine = host()

    def complaint(seed: int) -> str | None:
        operation = random_contraction(random.Random(seed), FLOAT32, points=2000)
        space = CpuSpace(operation, machine, threads=2, teams=True)
        for _, schedule in random_leaves(space, 5, seed):
            if wrong := difference(operation, operation, schedule, machine, random.Random(seed)):
                return f"seed {seed}\n{wrong}"
        return None

    assert run_guarded(range(soak_count(200, 0.03)), complaint) is None


def test_an_expert_asks_for_a_grid() -> None:
    root = CpuSpace(PRODUCT, AVX512, threads=4, teams=True).root
    rows = root.apply({"dimension(m.0)": "ROWS", "ways(m.0)": 2})
    assert rows.domain("kind(m.0)") == ("SHARED",)
    assert rows.domain("form(team)") == ("GRID",)
    with pytest.raises(DeadEnd):
        rows.restrict("dimension(n.0)", "ROWS")
    assert rows.complete(seed=2).schedule.team is not None


def test_a_barrier_inside_a_parallel_loop_is_no_decision() -> None:
    root = CpuSpace(PRODUCT, AVX512, threads=2, teams=True).root
    shared = root.apply({"form(team)": "PIECES", "kind(m.0)": "SHARED", "order(m.0, k.0)": "OUTER"})
    assert shared.domain("barrier(k.0)") == ("NO",)
