"""Leaves are schedules, and schedules leaves: both ways, exactly; every leaf binds and computes what it should."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from einloom.dtypes import FLOAT32
from einloom.errors import DeadEnd, ScheduleError
from einloom.ir.bind import bind
from einloom.ir.schedule import Prims, Schedule
from einloom.ir.text import parse_operation, parse_schedule
from einloom.jit.host import host
from einloom.jit.tiles import host_with_tiles
from einloom.loops.generate import LoopStrings
from einloom.machine import AVX512
from einloom.space import cpu
from einloom.space.on_cpu.schedules import decisions_of
from einloom.space.on_cpu.space import CpuSpace
from tests.ir.strategies import random_contraction, random_reading
from tests.kernels.guarded import run_guarded
from tests.soak import soak_count
from tests.space.on_cpu.operations import PRODUCT, considered, grouped, proposed, random_leaves
from tests.targets.programs import difference

GROUPS = replace(AVX512, features=AVX512.features | {"avx512vnni", "avx512bf16"})
"""A machine that multiplies groups of bytes and of bfloat16."""


@pytest.mark.soak
def test_every_considered_schedule_is_a_leaf(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("einloom.passes.parallelise.LEAST_WORK", 1)  # Threads share even the smallest work.
    seen = 0
    for seed in range(soak_count(400)):
        operation, schedules = considered(seed)
        for schedule in schedules:
            leaf = CpuSpace(operation, AVX512, (schedule,)).leaf(schedule)
            assert leaf.is_leaf
            assert leaf.schedule == schedule, f"seed {seed}"
            seen += 1
    assert seen > 50


def test_all_of_them_are_leaves_of_one_space() -> None:
    operation, schedules = considered(0)
    space = CpuSpace(operation, AVX512, tuple(schedules))
    assert len(set(schedules)) > 3
    assert [space.leaf(each).schedule for each in schedules] == schedules


@pytest.mark.soak
def test_random_leaves_bind_and_lead_back_to_themselves() -> None:
    leaves = set()
    for seed in range(soak_count(300)):
        operation, schedules = considered(seed)
        space = CpuSpace(operation, AVX512, tuple(schedules), curves=seed % 2 == 0)
        for state, schedule in random_leaves(space, 8, seed):
            bind(operation, schedule)
            leaf = space.leaf(schedule)
            assert leaf.inner.snapshot() == state.snapshot()
            leaves.add((seed, schedule))
    assert len(leaves) > 50


@pytest.mark.soak
def test_random_leaves_equal_the_interpreter() -> None:
    machine = host()

    def complaint(seed: int) -> str | None:
        rng = random.Random(seed)
        multiplies = rng.random() < 2 / 3
        operation = random_contraction(rng, FLOAT32, points=2000) if multiplies else random_reading(rng, FLOAT32)
        space = CpuSpace(operation, machine, threads=2, curves=True)
        for _, schedule in random_leaves(space, 5, seed):
            if wrong := difference(operation, operation, schedule, machine, random.Random(seed)):
                return f"seed {seed}\n{wrong}"
        return None

    assert run_guarded(range(soak_count(400)), complaint) is None


@pytest.mark.soak
def test_random_leaves_beside_proposals_equal_the_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fused axes, rows that panels cut, packs of what touches read, groups, matrices: what families bring in."""
    monkeypatch.setattr("einloom.passes.parallelise.LEAST_WORK", 1)
    machine = host_with_tiles()

    def complaint(seed: int) -> str | None:
        operation, schedules = proposed(random.Random(seed), machine)
        space = CpuSpace(operation, machine, tuple(schedules), threads=2, curves=seed % 2 == 0)
        for _, schedule in random_leaves(space, 5, seed):
            if wrong := difference(operation, operation, schedule, machine, random.Random(seed)):
                return f"seed {seed}\n{wrong}"
        return None

    assert run_guarded(range(soak_count(400)), complaint) is None


def test_decisions_commute() -> None:
    space = CpuSpace(PRODUCT, AVX512, threads=2)
    rng = random.Random(7)
    for _, schedule in random_leaves(space, 10, 3):
        decisions = list(decisions_of(space.backbone, schedule).items())
        rng.shuffle(decisions)
        assert space.root.apply(dict(decisions)).schedule == schedule


def test_an_expert_fixes_a_pack_or_a_tile_and_everything_else_adapts() -> None:
    space = cpu("mk,kn->mn", (96, 80), (80, 112), dtype="float32")
    fixed = space.root.apply({"step(n.0)": 48, "role(n)": "M", "pack(in1)": "PACKED", "around(in1, n.0)": "AROUND"})
    for seed in range(5):
        schedule = fixed.complete(seed).schedule
        assert any(loop.axis == "n" and loop.step == 48 for loop in schedule.loops)
        assert [pack.loop > 0 for pack in schedule.packs if pack.operand == 1] == [True]
        assert schedule.prims.m == "n"


def test_a_decision_that_contradicts_others_says_why() -> None:
    space = CpuSpace(PRODUCT, AVX512, threads=2)
    candidate = space.root.apply({"kind(m.0)": "SEQ", "kind(n.0)": "SHARED"})
    assert candidate.domain("order(m.0, n.0)") == ("INNER",)
    reason = candidate.why("order(m.0, n.0)", "OUTER")
    assert reason is not None and reason.decisions == (("kind(m.0)", ("SEQ",)), ("kind(n.0)", ("SHARED",)))
    with pytest.raises(DeadEnd, match=r"order\(m.0, n.0\)"):
        candidate.restrict("order(m.0, n.0)", "OUTER")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("seq q:1 prim m=m n=n k=k", "names the axis q"),
        ("seq m:5 seq m:4 seq m:3 seq m:2 prim m=m n=n k=k", "4 loops over m; the space has 3 levels"),
        ("seq m:2 prim m=m n=n k=k pack in0@0 m:4 k m", "as the outermost loop within the copy"),
        ("prim m=m n=n k=k pack in0@0 n k m", "does not depend on the axis n"),
    ],
)
def test_what_the_space_cannot_say_is_refused(text: str, reason: str) -> None:
    schedule = parse_schedule(text)
    with pytest.raises(ScheduleError, match=reason):
        CpuSpace(PRODUCT, AVX512, (schedule,)).leaf(schedule)


def test_an_illegal_schedule_is_no_leaf() -> None:
    schedule = parse_schedule("seq k:1 prim m=m n=n pack out@1 n m")
    with pytest.raises(DeadEnd):
        CpuSpace(PRODUCT, AVX512, (schedule,)).leaf(schedule)


@pytest.mark.soak
def test_loop_strings_are_leaves_and_leaves_loop_strings() -> None:
    """Every string whose parallel loops come first: three levels of each axis, in any order; others ask for a team."""
    operation = parse_operation(
        "gemm first=zero last=none\naxis m 24 m\naxis n 16 n\naxis k 12 k\n"
        "in0 float32 m=1 k=24\nin1 float32 n=12 k=1\nout float32 m=1 n=24"
    )
    sizes = {"k": (6, 3, 1), "m": (12, 4, 2), "n": (8, 4, 2)}
    prims, rng, found = Prims(m="m", n="n", k="k"), random.Random(11), 0
    for _ in range(soak_count(1000, 0.1)):
        levels = [rng.randrange(3) for _ in range(3)]
        strings = LoopStrings("a_{}_K,b_{}_M,c_{}_N".format(*levels))
        text = strings[rng.randrange(len(strings))]
        schedule = Schedule.from_loop_string(operation, text, sizes, prims, threads=2)
        if schedule.team is not None:
            continue
        leaf = CpuSpace(operation, AVX512, (schedule,), threads=2).leaf(schedule)
        assert leaf.schedule.to_loop_string() == schedule.to_loop_string()
        assert Schedule.from_loop_string(operation, leaf.schedule.to_loop_string(), prims=prims, threads=2) == schedule
        found += 1
    assert found > 10


@pytest.mark.parametrize("dtype", ["complex64", "bfloat16", "int8"])
def test_elements_in_groups_and_as_matrices_are_part_of_leaves(dtype: str) -> None:
    """All that the heuristic considers is a leaf of one space, exactly; random leaves lead back to themselves."""
    operation, schedules = grouped(random.Random(1), (48, 56, 40), dtype, GROUPS)
    space = CpuSpace(operation, GROUPS, tuple(schedules))
    assert [space.leaf(each).schedule for each in schedules] == schedules
    assert any(pack.grouped or pack.turned for each in schedules for pack in each.packs)
    leaves = [schedule for _, schedule in random_leaves(space, 20, seed=4)]
    assert any(pack.grouped or pack.turned for each in leaves for pack in each.packs)
    for schedule in leaves:
        bind(operation, schedule)
        assert space.leaf(schedule).schedule == schedule


def test_what_the_space_has_no_word_for_is_refused_and_not_changed() -> None:
    space = CpuSpace(PRODUCT, AVX512, threads=2)
    team = parse_schedule("team 2 seq k:1 shared m:2 prim m=m n=n")
    with pytest.raises(ScheduleError, match=r"for a team of 2 threads.*teams=True"):
        space.leaf(team)
    grouped = parse_schedule("seq m:2 prim m=m n=n k=k pack in0@0:bfloat16 m:2 k m")
    with pytest.raises(ScheduleError, match="in groups or as matrices"):
        space.leaf(grouped)
