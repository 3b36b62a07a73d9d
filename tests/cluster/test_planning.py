"""Plans: what is predicted for workers that are not there."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import einloom as el
from einloom.plan.chunks import aligned

NETWORK = "ab,bc,cd->ad", [(1024, 512), (512, 1024), (1024, 512)]


def test_more_workers_take_less_time_until_there_is_no_more_to_share() -> None:
    plan = el.cluster.plan(*NETWORK)
    times = [row.computing for row in plan.rows]
    assert len(plan.rows) == 13 and plan.rows[-1].workers == 4096
    assert times == sorted(times, reverse=True) and times[0] > 10 * times[-1]
    assert plan.rows[0].efficiency == 1 and plan.rows[0].traffic == 0 < plan.rows[1].traffic
    assert all(row.efficiency <= 1.001 for row in plan.rows)


def test_slow_networks_cost_time() -> None:
    fast, slow = (el.cluster.plan(*NETWORK, workers=8, bandwidth=b).rows[0] for b in (1e10, 1e7))
    assert fast.seconds < slow.seconds and fast.traffic == slow.traffic


def test_memory_decides_where_to_cut() -> None:
    whole = el.cluster.plan(*NETWORK, workers=1).rows[0].memory
    tight = el.cluster.plan(*NETWORK, workers=1, memory=whole - 100_000)
    assert tight.rows[0].memory <= whole - 100_000
    with pytest.raises(el.ArgumentError, match="however it is cut"):
        el.cluster.plan(*NETWORK, workers=1, memory=10**6)


def test_what_is_too_small_is_not_shared() -> None:
    plan = el.cluster.plan("ab,bc->ac", [(4, 4), (4, 4)], workers=(1, 2))
    assert [row.efficiency for row in plan.rows] == [1, 0.5] and "too small" in repr(plan)


def test_a_plan_of_a_grid() -> None:
    shapes = (2048, 2048), (2048, 2048)
    d = el.cluster.Distribution("ik,kj->ij", *shapes, grid=(2, 2))
    plan = el.cluster.plan("ik,kj->ij", shapes, distribution=d)
    (row,) = plan.rows
    assert row.workers == 4 and 0.2 < row.efficiency <= 1.2 and row.traffic == 2 * 2048 * 2048 * 8


def test_a_plan_of_a_grid_over_nothing_or_of_another_product() -> None:
    d = el.cluster.Distribution("ik,kj->ij", (5, 0), (0, 5), grid=(2, 2))
    assert el.cluster.plan("ik,kj->ij", [(5, 0), (0, 5)], distribution=d).rows[0].traffic == 0
    for equation, shapes in (("ab,bc->ac", [(5, 0), (0, 5)]), ("ik,kj->ij", [(5, 1), (1, 5)])):
        with pytest.raises(el.ArgumentError, match="Pass the same ones"):
            el.cluster.plan(equation, shapes, distribution=d)


def test_a_plan_of_chunks_says_what_is_rechunked() -> None:
    fitting, other = ((64,) * 8, (64,) * 8), ((64,) * 8, (100,) * 5 + (12,))
    shapes = [(512, 512)] * 3
    plan = el.cluster.plan("ij,jk,kl->il", shapes, chunks=[fitting] * 3)
    assert plan.rechunked == 0 and plan.slices == 2 * 64 and plan.flops == 4 * 512**3
    assert plan.rows[0].traffic == 0 < plan.rows[1].traffic <= plan.rows[-1].traffic and plan.rows[0].efficiency == 1
    expected = aligned(["ij", "jk"], [other, fitting], [8, 8])
    plan = el.cluster.plan("ij,jk->ik", shapes[:2], chunks=[other, fitting], workers=2)
    assert plan.rechunked == sum(expected.moved) > 0 and f"{plan.rechunked:,} bytes rechunked" in plan.table()
    whole = el.cluster.plan("ij,jk->ik", shapes[:2], chunks=[None, None], workers=2)
    assert whole.slices == 1 and whole.rechunked == 0
    with pytest.raises(el.ShapeError, match="chunks of operand 1"):
        el.cluster.plan("ij,jk->ik", shapes[:2], chunks=[fitting, ((64,), (64,))])


def test_numbers_that_make_no_sense() -> None:
    nan = float("nan")
    wrong: dict[str, tuple[Any, ...]] = {
        "workers": (0, (), 2.5, "many", (1, 2.5), None),
        "memory": ("4GB", 0, -1, nan),
        "bandwidth": (0, "fast", nan, None),
        "latency": (-1.0, "x", nan, float("inf")),
        "distribution": ("x",),
    }
    for options in ({name: value} for name, values in wrong.items() for value in values):
        with pytest.raises(el.ArgumentError, match=next(iter(options))):
            el.cluster.plan("ab,bc->ac", [(4, 4)] * 2, **options)
    with pytest.raises(el.ShapeError, match="chunks of 1 operands"):
        el.cluster.plan("ab,bc->ac", [(4, 4)] * 2, chunks=[None])
    chunks: tuple[Any, ...] = (4, ((2.5, 1.5), (4,)), ("x", (4,)), ((4,),))
    for own in chunks:
        with pytest.raises(el.ShapeError, match="chunks of operand 1"):
            el.cluster.plan("ab,bc->ac", [(4, 4)] * 2, chunks=[None, own])
    shapes: tuple[Any, ...] = (5, [5, 5])
    for given in shapes:
        with pytest.raises(el.ShapeError, match="Give the shape of every operand"):
            el.cluster.plan("ab,bc->ac", given)


def test_types_that_numpy_lacks() -> None:
    narrow, wide = (
        el.cluster.plan("ab,bc->ac", [(64, 64)] * 2, chunks=[None, None], dtype=dtype, workers=1)
        for dtype in ("bfloat16", "float64")
    )
    assert narrow.rows[0].memory * 4 == wide.rows[0].memory
    with pytest.raises(el.DTypeError, match="'foo' is no data type"):
        el.cluster.plan("ab,bc->ac", [(64, 64)] * 2, chunks=[None, None], dtype="foo")


def test_slices_without_number_are_counted_but_not_listed() -> None:
    plan = el.cluster.plan("ab,bc,cd,de,ef->af", [(3000, 3000)] * 5, memory_limit=10, workers=(1, 4))
    assert plan.slices > 10**10 and plan.rows[0].efficiency == 1 > plan.rows[1].efficiency > 0.9
    f = el.cluster.compile("ab,bc,cd->ad", *[(640, 640)] * 3, memory_limit=2**12)
    assert f.program is not None
    for grain in (1, 2, 4, 64, 256, 2**20):
        work = f.program.with_grain(grain).work
        listed = [len(places) * work.slicing.leaves for places in work.together]
        if grain < work.slicing.leaves:
            listed = [unit.count for unit in work.units]
        assert work.tasks == Counter(listed), grain
        assert work.neighbours == len(work.together[0])


def test_plans_as_tables_and_figures(tmp_path: Path) -> None:
    plan = el.cluster.plan(*NETWORK, workers=(1, 16))
    assert len(plan.table().splitlines()) == 4 and "efficiency" in plan.table()
    pytest.importorskip("matplotlib")
    figure = plan.plot(str(tmp_path / "plan.svg"))
    assert len(figure.axes) == 2 and (tmp_path / "plan.svg").stat().st_size > 1000
