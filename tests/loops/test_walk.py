"""The reference interpreter: against the printed nest run as Python, and against what the notation says of threads."""

from __future__ import annotations

import random

import pytest

from einloom.errors import ScheduleError
from einloom.ir.loop_text import parse_loop_string
from einloom.ir.sharing import Clause, Dimension, Grid, Policy, Ways
from einloom.loops.nest import LoopNest
from einloom.loops.spec import LoopSpec
from einloom.loops.walk import run_threads, walk

from .strings import counted, random_specs, random_string, sequential_iterations


def applied(text: str, *specs: LoopSpec, threads: int | None = None) -> LoopNest:
    return LoopNest.of(parse_loop_string(text), specs, threads)


@pytest.mark.parametrize("seed", range(400))
def test_threads_together_run_every_iteration_once(seed: int) -> None:
    rng = random.Random(seed)
    letters = rng.randint(1, 4)
    string, specs = random_string(rng, letters), random_specs(rng, letters, extent=9)
    try:
        nest = LoopNest.of(string, specs, None if string.grid else rng.randint(1, 4))
    except ScheduleError as error:
        assert "a barrier inside loop" in str(error)
        return
    found: list[tuple[int, ...]] = []
    run_threads(nest, lambda thread, indices: found.append(indices))
    expected = sequential_iterations(nest)
    if nest.threads == 1:
        assert found == expected
    assert counted(found) == counted(expected)


@pytest.mark.parametrize("seed", range(100))
def test_every_thread_waits_as_often(seed: int) -> None:
    rng = random.Random(seed)
    string, specs = random_string(rng, 3), random_specs(rng, 3, extent=8)
    try:
        nest = LoopNest.of(string, specs, None if string.grid else 3)
    except ScheduleError:
        return
    waits = {sum(step is None for step in walk(nest, thread)) for thread in range(nest.threads)}
    assert len(waits) == 1


def test_each_thread_keeps_the_order_of_the_sequential_nest() -> None:
    nest = applied("bAB@schedule(static,2)", LoopSpec(0, 5), LoopSpec(0, 7, 1, (3,)), threads=3)
    order = sequential_iterations(nest)
    for thread in range(3):
        places = [order.index(step) for step in walk(nest, thread) if step is not None]
        assert places == sorted(places)


def test_static_gives_contiguous_shares_that_differ_by_one() -> None:
    nest = applied("A", LoopSpec(0, 11), threads=4)
    shares = [[step[0] for step in walk(nest, thread) if step] for thread in range(4)]
    assert [len(share) for share in shares] == [2, 3, 3, 3]
    assert [index for share in shares for index in share] == list(range(11))


def test_static_pieces_go_round_and_guided_ones_shrink() -> None:
    assert [list(map(list, Clause(Policy.STATIC, 2).share(7, t, 2))) for t in (0, 1)] == [
        [[0, 1], [4, 5]],
        [[2, 3], [6]],
    ]
    assert [len(piece) for piece in Clause(Policy.GUIDED, 2).pieces(20, 4)] == [5, 4, 3, 2, 2, 2, 2]
    assert [len(piece) for piece in Clause(Policy.DYNAMIC).pieces(3, 2)] == [1, 1, 1]


def test_a_grid_takes_runs_of_the_trips_rounded_up() -> None:
    assert [Ways(Dimension.ROWS, 5).share(12, index) for index in range(5)] == [
        *[range(3), range(3, 6), range(6, 9), range(9, 12), range(12, 12)]
    ]
    nest = applied("A{R:2}B{C:3}", LoopSpec(0, 4), LoopSpec(0, 3))
    assert list(walk(nest, 4)) == [(2, 1), (3, 1)]


def test_columns_are_neighbours_then_rows_then_layers() -> None:
    grid = Grid(rows=5, columns=4, layers=3)
    places = {tuple(grid.index(thread, dimension) for dimension in Dimension) for thread in range(60)}
    assert places == {(r, c, layer) for r in range(5) for c in range(4) for layer in range(3)}
    assert [grid.index(27, dimension) for dimension in Dimension] == [1, 3, 1]


def test_threads_run_in_turn_between_barriers() -> None:
    nest = applied("aB|", LoopSpec(0, 2), LoopSpec(0, 4), threads=2)
    seen = []
    run_threads(nest, lambda thread, indices: seen.append((thread, *indices)))
    assert seen == [(0, 0, 0), (0, 0, 1), (1, 0, 2), (1, 0, 3), (0, 1, 0), (0, 1, 1), (1, 1, 2), (1, 1, 3)]


def test_iterations_behind_the_end_of_a_short_block_do_nothing() -> None:
    nest = applied("aA", LoopSpec(0, 6, 1, (4,)), threads=2)
    assert list(walk(nest, 0)) == [(0,), (1,), (4,), (5,)]
    assert list(walk(nest, 1)) == [(2,), (3,)]
