"""Orders of the axes of intermediate tensors: the same results, and never what the cost model takes to be slower."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import einloom as el
from einloom.expression.planned import planned
from einloom.jit.store import Store
from einloom.machine import AVX2, AVX512, NEON, Machine
from einloom.plan import layouts
from einloom.plan.layouts import chosen_layouts, operand_layout, predicted_seconds
from einloom.plan.problem import Problem, make_problem
from einloom.plan.steps import Layouts, plan_problem

SHAPES = [(8, 24, 72, 32), (12, 8, 8, 72), (84, 64, 12, 24)]
PATH = ((0, 1), (0, 1))


def problem_of(dtype: str = "float32") -> Problem:
    return make_problem("iaje,cigj,hfca->hgfei", SHAPES, [None] * 3, dtype)


@pytest.mark.parametrize("machine", [AVX512, AVX2, NEON], ids=lambda machine: machine.vector)
def test_a_choice_takes_less_time_by_the_model(machine: Machine) -> None:
    problem = problem_of()
    chosen = chosen_layouts(problem, None, PATH, machine)

    def seconds(given: Layouts) -> float:
        steps = plan_problem(problem, None, PATH, given).steps
        return sum(predicted_seconds(step.operation, machine) for step in steps)

    assert not chosen or seconds(chosen) < seconds({})
    assert machine is not AVX512 or chosen


@pytest.mark.parametrize(("given", "lies"), [("daeb", "daeb"), ("bead", "bead"), ("ab", "abde"), ("xyzw", "abde")])
def test_tensors_lie_as_a_plan_is_told(given: str, lies: str) -> None:
    """What does not fit is passed over."""
    problem = make_problem("abc,cde,bdf->fea", [(2, 3, 4), (4, 5, 6), (3, 5, 7)], [None] * 3, "float64")
    step, last = plan_problem(problem, None, PATH, {3: tuple(given)}).steps
    written = step.operation.strides(step.operation.output)
    assert "".join(sorted("abde", key=lambda label: -written[label])) == "".join(lies)
    (place,) = [place for place, number in enumerate(last.inputs) if number == 3]
    read = last.operation.strides(last.operation.operands[place])
    assert all(read[label] == written[label] for label in "abde")


def test_einsum_computes_with_chosen_layouts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layouts, "WORTH", 1)
    monkeypatch.setattr(layouts, "LITTLE", 1)
    monkeypatch.setattr(layouts, "BETTER", 10.0)  # Whatever it costs: then most tensors lie in another order.
    rng = np.random.default_rng(1)
    for dtype in ("float32", "float64", "complex64", "int8"):
        operands = [rng.integers(-2, 3, shape).astype(dtype) for shape in [(2, 3, 4), (4, 5, 6), (6, 3, 2), (5, 7)]]
        equation, path = "abc,cde,efa,dg->gbf", ((0, 1), (0, 1), (0, 1))
        expected = np.einsum(equation, *operands, optimize=True)
        f = el.compile(equation, *operands, optimize=path)
        assert np.array_equal(f(*operands), expected)
        g = el.compile(equation, *operands, optimize=path, constants={0: operands[0], 3: operands[3]})
        assert np.array_equal(g(*operands[1:3]), expected)


def test_layouts_are_remembered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    problem, machine, store = problem_of(), AVX512, Store(tmp_path / "programs")
    monkeypatch.setattr("einloom.expression.planned.code_store", lambda: store)
    first = planned(problem, None, PATH, machine)
    assert first.steps != plan_problem(problem, None, PATH).steps
    monkeypatch.setattr("einloom.expression.planned.chosen_layouts", None)
    assert planned(problem, None, PATH, machine) == first


def test_a_constant_lies_as_it_is_read_best() -> None:
    problem = make_problem("ab,cdb->acd", [(512, 512), (32, 16, 512)], [None] * 2, "float32")
    order = operand_layout(problem, ((0, 1),), 1, AVX512)
    assert sorted(order) == [0, 1, 2]
    diagonal = make_problem("ab,bb->ab", [(512, 512), (512, 512)], [None] * 2, "float32")
    assert operand_layout(diagonal, ((0, 1),), 1, AVX512) == (0, 1)
