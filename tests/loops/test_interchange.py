"""Loop strings, schedules and nests are notations of one thing: the same loops, the same results, exact round trips."""

from __future__ import annotations

import random

import numpy as np
import pytest

import einloom as el
from einloom.dtypes import FLOAT32
from einloom.ir.bind import bind
from einloom.ir.interpret import interpret, interpret_nest
from einloom.ir.loop_text import parse_loop_string
from einloom.ir.memory import Memory
from einloom.ir.nest import Loop, walk
from einloom.ir.operation import Axis, DimType, Operand, Operation, Primitive, Touch
from einloom.ir.schedule import ExecType, Prims, Schedule, ScheduledLoop, ScheduledPack
from einloom.ir.sharing import Clause, Policy, Team
from einloom.ir.text import parse_schedule
from einloom.jit.arrays import array_address
from einloom.jit.host import host
from einloom.loops.nest import LoopNest
from einloom.loops.spec import LoopSpec
from einloom.targets.executable import Executable
from einloom.targets.image import image_of

from ..soak import soak_count
from .strings import random_string

NAMES = ("k", "m", "n")


def product(k: int, m: int, n: int) -> Operation:
    """C[n, m] = relu(sum of A[k, m] B[n, k]), all contiguous."""
    axes = (Axis("k", k, DimType.K), Axis("m", m, DimType.M), Axis("n", n, DimType.N))
    operands = (
        Operand("in0", FLOAT32, (m, 1, 0)),
        Operand("in1", FLOAT32, (1, 0, k)),
        Operand("out", FLOAT32, (0, 1, m)),
    )
    return Operation(axes, operands, Primitive.BRGEMM, Touch(Primitive.ZERO), (Touch(Primitive.RELU),))


def arrays(operation: Operation, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    k, m, n = (axis.extent for axis in operation.axes)
    return [rng.integers(-3, 4, size).astype(np.float32) for size in (k * m, n * k, n * m)]


def random_sizes(rng: random.Random, levels: int) -> tuple[int, ...]:
    step = rng.randint(1, 4)
    return (*sorted((rng.choice((step, 2 * step, 5, 7)) for _ in range(levels - 1)), reverse=True), step)


@pytest.mark.soak
def test_random_strings_mean_the_same_as_schedules() -> None:
    run = refused = 0
    for seed in range(soak_count(2000)):
        rng = random.Random(seed)
        string, threads = random_string(rng, 3), rng.randint(1, 4)
        threads = string.grid.threads if string.grid else threads
        operation = product(*(rng.randint(1, 14) for _ in NAMES))
        sizes = {name: random_sizes(rng, 3) for name in NAMES}
        try:
            schedule = Schedule.from_loop_string(operation, str(string), sizes, threads=threads)
            nest = bind(operation, schedule)
        except el.ScheduleError as error:
            shares_sum = any(level.parallel and level.letter == "a" for level in string.levels)
            assert shares_sum or "would wait for ever" in str(error), error
            refused += 1
            continue
        assert parse_schedule(str(schedule)) == schedule
        text = schedule.to_loop_string()
        count = None if schedule.team is None else schedule.team.threads
        assert Schedule.from_loop_string(operation, text, prims=schedule.prims, threads=count) == schedule
        _check_loops(operation, schedule, threads)
        given = arrays(operation, seed)
        expected = given[-1].copy()
        interpret(operation, [*map(Memory, given[:-1]), Memory(expected)])
        meant = given[-1].copy()
        interpret_nest(nest, [*map(Memory, given[:-1]), Memory(meant)])
        assert (meant == expected).all(), (seed, str(string))
        Executable(image_of(nest, host()))([array_address(each) for each in given], threads)
        assert (given[-1] == expected).all(), (seed, str(string))
        run += 1
    assert run > refused


def _check_loops(operation: Operation, schedule: Schedule, threads: int) -> None:
    """The loops of the nest are those of a `ThreadedLoop` with the same string."""
    text = schedule.to_loop_string()
    string = parse_loop_string(text)
    specs = tuple(LoopSpec(0, axis.extent) for axis in operation.axes)
    loops = LoopNest.of(string, specs, threads).loops
    nest = [node for node in walk(bind(operation, schedule).body) if isinstance(node, Loop)]
    assert [(x.axis, x.trips, x.ways, x.kind is ExecType.SHARED) for x in nest] == [
        (NAMES["abc".index(x.letter)], x.trips, x.ways, bool(x.collapsed or x.ways)) for x in loops
    ]


def test_what_a_loop_string_cannot_say_is_said() -> None:
    loops = (ScheduledLoop("m", 4), ScheduledLoop("n", 2, ExecType.SFC))
    packed = Schedule(loops, Prims("m", "n", "k"), (ScheduledPack(0, 0, ()),))
    with pytest.raises(el.ScheduleError, match="cannot say: pack in0@0, sfc n:2"):
        packed.to_loop_string()
    with pytest.raises(el.ScheduleError, match="a primitive without loops"):
        Schedule((), Prims("m", "n", "k")).to_loop_string()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("abd", "there is no axis d"),
        ("abb", "2 loops over m, but 1 steps"),
        ("b[0,8,2,()]a", "begins at 0"),
        ("Bac", "blocks of"),
        ("Aabc", "contracted"),
        ("bC{R:2}|c{R:2}", "not parallel"),
    ],
)
def test_what_is_no_schedule(text: str, message: str) -> None:
    operation = product(8, 8, 8)
    axes = (*operation.axes, Axis("o", 2, DimType.N))
    operands = tuple(Operand(o.name, o.dtype, (*o.strides, 64 * (o.name != "in0"))) for o in operation.operands)
    if message == "blocks of":
        operation = Operation(axes, operands, Primitive.BRGEMM)
    with pytest.raises(el.ScheduleError, match=message):
        sizes = {"k": (4, 2), "m": (2,), "n": (2,)}
        bind(operation, Schedule.from_loop_string(operation, text, sizes))


@pytest.mark.parametrize(
    ("loops", "team", "packs", "message"),
    [
        ((ScheduledLoop("m", 2, barrier=True),), None, (), "is for a team"),
        ((ScheduledLoop("m", 2),), Team(2), (), "no shared loop"),
        ((ScheduledLoop("m", 2, ExecType.SHARED),), Team(0), (), "0 threads"),
        ((ScheduledLoop("m", 2, ExecType.SFC),), Team(2), (), "curves"),
        ((ScheduledLoop("m", 2, ExecType.SHARED),), Team(2), (ScheduledPack(-1, 0, ()),), "out is packed"),
        ((ScheduledLoop("m", 2),), Team(1, clause=Clause(Policy.DYNAMIC)), (), "no loop is parallel"),
    ],
)
def test_teams_are_checked(loops, team, packs, message: str) -> None:
    with pytest.raises(el.ScheduleError, match=message):
        Schedule(loops, Prims("m", "n", "k"), packs, team=team)


def test_pieces_that_come_as_they_may_wait_between_parts_of_a_sum() -> None:
    operation = product(8, 8, 8)
    sizes = {"k": (2,), "m": (2,), "n": (2,)}
    schedule = Schedule.from_loop_string(operation, "aBC@schedule(dynamic,1)", sizes, threads=2)
    assert bind(operation, schedule).has_barriers
    for still in ("aBC", "BCa@schedule(dynamic,1)"):
        assert not bind(operation, Schedule.from_loop_string(operation, still, sizes, threads=2)).has_barriers


STRINGS = ["bcaBCb", "bC{R:2}aB{C:2}", "aBC@schedule(guided)", "aBC@schedule(dynamic, 1)", "a|BC", "Cab", "cba"]


@pytest.mark.parametrize("string", STRINGS)
def test_expressions_take_loop_strings(string: str) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((70, 90), (90, 50)))
    f = el.compile("mk,kn->mn", a, b, schedule=string, threads=2)
    for _ in range(4):
        np.testing.assert_allclose(f(a, b), a @ b, atol=1e-3)
    again = el.compile("mk,kn->mn", a, b, schedule=str(f.schedule), threads=2)
    assert again.schedule == f.schedule
    assert "loop string: " in f.show("nest")
    assert el.compile("mk,kn->mn", a, b, schedule=f.schedule.to_loop_string(), threads=2).schedule == f.schedule


def test_the_schedule_of_a_single_word_is_no_loop_string() -> None:
    f = el.compile("mk,kn->mn", (1, 1), (1, 1))
    assert str(f.schedule) == "prim"
    assert el.compile("mk,kn->mn", (1, 1), (1, 1), schedule="prim").schedule == f.schedule


def test_letters_count_axes_that_the_schedule_does_not_name() -> None:
    """An axis of extent 1 without a loop is in no part of the schedule; the letters behind its own stay theirs."""
    operation = product(48, 1, 17)
    schedule = Schedule.from_loop_string(operation, "aC", {"k": (8,), "n": (4,)})
    text = schedule.to_loop_string(operation)
    assert text == "a[,,8,()]C[,,4,()]"
    assert Schedule.from_loop_string(operation, text) == schedule

    compiled = el.compile("mk,kn->mn", (1, 48), (48, 17), schedule="aC", threads=1)
    (shown,) = (line for line in compiled.show().splitlines() if line.startswith("loop string: "))
    again = el.compile("mk,kn->mn", (1, 48), (48, 17), schedule=shown.removeprefix("loop string: "), threads=1)
    assert again.schedule == compiled.schedule
