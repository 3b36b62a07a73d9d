"""Large outputs of short sums, which are written in their own order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from einloom.ir.schedule import OUTPUT, Prims, Schedule
from einloom.machine import AVX2
from einloom.passes.contraction.families import written_in_order
from einloom.passes.contraction.plan import Plan
from einloom.passes.contraction.setting import Setting
from einloom.passes.identify import identify_primitive
from einloom.passes.values import Context

from .choices import (
    SHORT_SUMS,
    ZEN3,
    chosen_schedule,
    costed_proposals,
)
from .operations import contraction


def test_large_outputs_of_short_sums_are_written_in_order_where_stores_hardly_wait() -> None:
    schedule = chosen_schedule(SHORT_SUMS, ZEN3)
    depths = {axis: i for i, (axis, *_) in enumerate(schedule.loops)}
    assert sorted(depths, key=lambda axis: -SHORT_SUMS.strides(SHORT_SUMS.output)[axis]) == [*depths]
    assert {(pack.operand, pack.loop) for pack in schedule.packs} == {(0, 0), (1, 0)}
    assert any(
        pack.operand == OUTPUT for pack in chosen_schedule(SHORT_SUMS, replace(ZEN3, features=AVX2.features)).packs
    )


@pytest.mark.parametrize(
    ("rows", "columns", "summed", "packs_element"),
    [
        pytest.param(2000, 2000, 64, [True], id="short sums, large output"),
        pytest.param(20, 10000, 64, [False], id="elements that L1 keeps"),
        pytest.param(300, 300, 64, [], id="an output that L2 keeps"),
        pytest.param(1000, 1000, 320, [True], id="sums as long as blocks of L1"),
        pytest.param(1000, 1000, 321, [], id="longer sums"),
        pytest.param(9000, 9000, 64, [], id="inputs beyond the limit of scratch"),
    ],
)
def test_what_is_proposed_to_be_written_in_order(
    rows: int, columns: int, summed: int, packs_element: list[bool]
) -> None:
    operation = contraction(f"i {rows} m, j {columns} n, k {summed} k", "ik", "kj", "ij")
    setting = Setting.of(operation, Schedule((), identify_primitive(operation)), Context(ZEN3))
    assert [plan.packs_element for plan in written_in_order(setting)] == packs_element


def test_what_is_added_to_later_is_not_written_in_order() -> None:
    """Kernels take two of three summed axes: blocks of the third one would come back to all of the output."""

    def proposed(extent: int) -> list[Plan]:
        operation = contraction(f"i 1000 m, j 1000 n, l 5 k, q 4 k, k {extent} k", "ikql", "klqj", "ij")
        prims = Prims(m="j", n="i", k="l", batch="q")
        return list(written_in_order(Setting.of(operation, Schedule((), prims), Context(ZEN3))))

    assert proposed(1) and not proposed(20)


@pytest.mark.parametrize("parts", [1, 4])
@pytest.mark.parametrize(("rows", "columns", "packed"), [(2000, 2000, " pack in0@0 i:4 k i"), (30, 7000, "")])
def test_what_is_written_in_order_is_read_in_panels_that_hold_the_sum(
    rows: int, columns: int, packed: str, parts: int
) -> None:
    """Of elements that a straight copy would move, or that L1 keeps; also where other blocks would be cut in parts."""
    operation = contraction(f"i {rows} m, j {columns} n, k 130 k", "ki", "kj", "ij")
    setting = Setting.of(operation, Schedule((), identify_primitive(operation)), Context(ZEN3))
    found = [setting.blocking.schedule(plan._replace(k_parts=parts)) for plan in written_in_order(setting)]
    assert list(map(str, found)) == [f"seq i:4 seq j:24 prim m=j n=i k=k pack in1@0 j:24 k j{packed}"]


@pytest.mark.parametrize(("l2", "loops"), [(2**19, "seq b:1 seq d:1"), (3 * 2**17, "seq a:48 seq b:1 seq d:1")])
def test_rows_that_follow_each_other_stay_whole_where_a_copy_turns_the_output(l2: int, loops: str) -> None:
    """If the block need not grow to more than twice its size: each `eb` of `dbea` is one run of 28 KB."""
    operation = contraction("d 84 m, b 84 m, e 84 k, a 84 m, c 24 n", "dbea", "ec", "abcd")
    found = [str(each.proposal.schedule) for each in costed_proposals(operation, replace(AVX2, l2=l2))]
    assert any(each.startswith(f"{loops} prim m=a") for each in found), found
