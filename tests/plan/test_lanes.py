"""Lanes of a plan: the same steps, none that reads what another lane writes, and no two tensors in one place."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

from einloom.plan.lanes import in_lanes
from einloom.plan.problem import make_problem
from einloom.plan.steps import Plan, plan_problem
from tests.plan.test_order import random_plan

PLENTY = 2**40


def chain(count: int, extent: int, path: tuple[tuple[int, ...], ...]) -> Plan:
    """The product of so many square matrices."""
    labels = "abcdefghijklmnop"
    equation = ",".join(labels[i : i + 2] for i in range(count)) + f"->{labels[0]}{labels[count]}"
    problem = make_problem(equation, [(extent, extent)] * count, [None] * count, "float32")
    return plan_problem(problem, None, path)


BALANCED = ((0, 1),) * 7


def test_lanes_keep_the_steps_and_are_independent() -> None:
    parallel = 0
    for seed in range(300):
        plan = random_plan(seed, extents=(8, 20, 40))
        found = in_lanes(plan, 2 + seed % 3, PLENTY)
        parallel += bool(found.lanes)
        assert sorted(str(s.operation) for s in found.steps) == sorted(str(s.operation) for s in plan.steps)
        lanes = dict(enumerate(found.lane_of, found.given))
        for number, step in enumerate(found.steps, found.given):
            read = [each for each in step.inputs if each >= found.given]
            assert all(each < number for each in read)
            assert lanes[number] is None or all(lanes[each] == lanes[number] for each in read)
    assert parallel > 20


def test_tensors_of_different_lanes_share_no_byte() -> None:
    found = in_lanes(chain(8, 100, BALANCED), 2, PLENTY)
    assert found.lanes == (3, 3)
    places, size = found.arena.places, found.steps[0].bytes
    first, second = places[:3], places[3:]
    assert all(abs(a - b) >= size for a in first for b in second)
    assert any(a != b for a, b in combinations(first, 2))


def test_a_subtree_with_little_to_do_gets_no_lane() -> None:
    assert in_lanes(chain(8, 8, BALANCED), 2, PLENTY).lanes == ()
    assert in_lanes(chain(3, 200, ((0, 1), (0, 1))), 2, PLENTY).lanes == ()  # A chain of steps has no two subtrees.
    assert in_lanes(chain(8, 100, BALANCED), 1, PLENTY).lanes == ()


def test_lanes_take_no_more_memory_than_is_spare() -> None:
    plan = chain(8, 100, BALANCED)
    grown = in_lanes(plan, 2, PLENTY).arena.size - plan.arena.size
    assert grown > 0
    assert in_lanes(plan, 2, grown).lanes == (3, 3)
    assert in_lanes(plan, 2, grown - 1).lanes == ()


def test_a_thousand_steps_in_a_row() -> None:
    problem = make_problem(",".join(["ab"] + ["b"] * 1500) + "->a", [(9, 9)] + [(9,)] * 1500, [None] * 1501, "float32")
    plan = plan_problem(problem, None, ((0, 1), *((0, left) for left in range(1499, 0, -1))))
    assert replace(in_lanes(plan, 2, PLENTY), lanes=()) == plan
