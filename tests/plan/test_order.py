"""Steps in an order that takes little memory: the same steps, each after those that it reads, in no larger an arena."""

from __future__ import annotations

import random

from einloom.plan.order import in_little_memory
from einloom.plan.problem import make_problem
from einloom.plan.steps import Plan, plan_problem


def random_plan(seed: int, extents: tuple[int, ...] = (2, 5, 20, 60)) -> Plan:
    """A chain of matrices of random sizes along a random path."""
    rng = random.Random(seed)
    count = rng.randint(2, 12)
    sizes = [rng.choice(extents) for _ in range(count + 1)]
    labels = "abcdefghijklmnop"
    terms = [labels[i : i + 2] for i in range(count)]
    path = [tuple(sorted(rng.sample(range(left), 2))) for left in range(count, 1, -1)]
    shapes = [(sizes[i], sizes[i + 1]) for i in range(count)]
    problem = make_problem(f"{','.join(terms)}->{labels[0]}{labels[count]}", shapes, [None] * count, "float32")
    return plan_problem(problem, None, tuple(path))


def live_bytes(plan: Plan) -> int:
    """Most bytes of intermediate tensors at any time."""
    last = {number: place for place, step in enumerate(plan.steps) for number in step.inputs}
    sizes = {plan.given + place: step.bytes for place, step in enumerate(plan.steps[:-1])}
    return max(
        sum(size for number, size in sizes.items() if number - plan.given <= place <= last[number])
        for place in range(len(plan.steps))
    )


def test_plans_keep_their_steps_and_take_no_more_memory() -> None:
    better = 0
    for seed in range(200):
        plan = random_plan(seed)
        ordered = in_little_memory(plan)
        assert sorted(str(s.operation) for s in ordered.steps) == sorted(str(s.operation) for s in plan.steps)
        for place, step in enumerate(ordered.steps):
            assert all(number < plan.given + place for number in step.inputs)
        assert ordered.steps[-1].operation == plan.steps[-1].operation
        assert live_bytes(ordered) <= live_bytes(plan), seed
        better += live_bytes(ordered) < live_bytes(plan)
    assert better > 20
