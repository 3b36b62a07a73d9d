"""Contractions in units: whoever computes them, in whatever order and size, gets the bits of the whole."""

from __future__ import annotations

import pickle
import random

import numpy as np
import pytest

import einloom as el
from einloom.expression.units import UnitProgram, added, unit_program
from einloom.plan.cuts import cuts_for
from einloom.plan.problem import make_problem
from einloom.plan.slices import Cut, Slicing
from einloom.plan.units import Unit, Work, below, folded

from .networks import random_network


def joined(program: UnitProgram, operands: list[np.ndarray], threads: int, rng: random.Random) -> np.ndarray:
    """Compute units in a random order, and join them."""
    work, out = program.work, np.empty(program.output_shape, program.dtype)
    units = [*work.units]
    rng.shuffle(units)
    done = {unit: program.compute(unit, operands, threads) for unit in units}
    for place in range(work.slicing.places):
        sums = folded(work.whole(place), work.grain, done.__getitem__, added)
        whole = work.is_whole(next(work.of_place(place)))
        out[program.part(place)] = sums if whole else program.finished(place, sums)
    return out


@pytest.mark.parametrize("dtype", ["float32", "complex64", "float16", "int8"])
def test_units_of_any_size_in_any_order_make_the_bits_of_the_whole(dtype: str) -> None:
    rng, tried = random.Random(dtype), 0
    numbers = np.random.default_rng(7)
    while tried < 5:
        equation, shapes = random_network(rng, most=5)
        f = el.compile(equation, *shapes, dtype=dtype, memory_limit=rng.choice((1, 3, 8)))
        if f.slicing is None:
            continue
        tried += 1
        operands = [np.asarray(4 * numbers.standard_normal(shape)).astype(dtype) for shape in shapes]
        whole = np.asarray(f(*operands))
        program = unit_program(f)
        assert program is not None
        program = pickle.loads(pickle.dumps(program.with_grain(rng.choice((1, 2, 4, 64)))))
        result = joined(program, f.readable(operands), rng.choice((1, 2, 3)), rng)
        assert result.tobytes() == whole.tobytes(), (equation, shapes)


def test_units_without_code_are_the_same() -> None:
    f = el.compile("ab,bc,cd->ad", (4, 6), (6, 8), (8, 5), memory_limit=4, target="interpreter")
    operands = [np.random.default_rng(1).standard_normal(shape) for shape in f.shapes]
    program = unit_program(f)
    assert program is not None and program.work.slicing.leaves > 1
    for grain in (1, 2):
        assert np.array_equal(joined(program.with_grain(grain), operands, 1, random.Random(1)), f(*operands))


def test_a_tree_of_units_is_that_of_their_slices() -> None:
    problem = make_problem("ab,b->a", [(4, 13), (13,)], [None] * 2, "float32")
    slicing = Slicing(problem, ((0, 1),), (Cut("b", 13, 1),))
    whole = Unit(0, 13)
    fine = folded(whole, 1, lambda unit: str(unit.start), lambda a, b: f"({a}+{b})")
    for grain in (2, 4, 16):
        work = Work(slicing, grain)
        assert [i for unit in work.units for i in range(unit.start, unit.stop)] == list(range(13))
        parts = {part: nested(part) for part in below(whole, grain)}
        assert folded(whole, grain, parts.__getitem__, lambda a, b: f"({a}+{b})") == fine


def test_places_are_handed_out_together_where_a_task_has_room() -> None:
    problem = make_problem("ab,b->a", [(5, 6), (6,)], [None] * 2, "float32")
    slicing = Slicing(problem, ((0, 1),), (Cut("a", 5, 1), Cut("b", 6, 3)))
    assert Work(slicing, 2).together == tuple(range(i, i + 1) for i in range(5))
    assert Work(slicing, 4).together == (range(2), range(2, 4), range(4, 5))


def nested(unit: Unit) -> str:
    """The tree below a unit as text."""
    return str(unit.start) if unit.count == 1 else "({}+{})".format(*map(nested, unit.halves))


def test_what_is_small_is_not_cut_for_company() -> None:
    small = make_problem("ab,bc->ac", [(8, 8), (8, 8)], [None] * 2, "float32")
    assert cuts_for(small, ((0, 1),), 64) == ()
    large = make_problem("ab,bc->ac", [(1024, 512), (512, 1024)], [None] * 2, "float32")
    cuts = cuts_for(large, ((0, 1),), 64)
    assert {cut.label for cut in cuts} == {"a", "c"} and Slicing(large, ((0, 1),), cuts).places == 64
