"""Rows that are read where they lie, and those that are copied as whole rows."""

from __future__ import annotations

import pytest

from einloom.ir.schedule import Schedule
from einloom.ir.text import parse_operation
from einloom.machine import AVX2, AVX512, Machine
from einloom.passes.contraction.blocking import Blocking
from einloom.passes.contraction.choose import costed, every_proposal
from einloom.passes.contraction.plan import Plan
from einloom.passes.identify import identify_primitive
from einloom.passes.values import Context

from .choices import (
    FOUR,
    LARGE,
    chosen_schedule,
    costed_proposals,
)
from .operations import PRODUCT, contraction


def test_kernels_read_runs_of_the_second_summed_axis_where_they_lie() -> None:
    operation = contraction("b 4496 k, c 8 m, a 146 k", "bca", "ab", "c")
    assert str(costed_proposals(operation)[0].proposal.schedule) == "prim m=c k=a batch=b"


def test_blocks_hold_all_of_the_summed_axis_along_which_a_copy_reads_runs() -> None:
    best = str(costed_proposals(FOUR)[0].proposal.schedule)
    assert "k=e batch=f" in best and "pack in1@3 cd:48 f e cd" in best  # e is contiguous in fdce
    assert identify_primitive(FOUR).k == "f"


def test_copies_read_whole_rows_of_a_large_operand_rather_than_lines_of_one_that_stays_near() -> None:
    operation = contraction("b 48 m, g 100 k, h 56 k, c 36 n, a 96 n", "bgh", "hcag", "abc")
    loops = costed_proposals(operation, LARGE)[0].proposal.schedule.loops
    assert [loop.axis for loop in loops if loop.axis in "gh"] == ["h"]
    larger = contraction("b 400 m, g 100 k, h 56 k, c 36 n, a 96 n", "bgh", "hcag", "abc")
    inside = next(each.proposal for each in costed_proposals(larger, LARGE) if each.proposal.family == "batch inside")
    found = [loop.step for loop in inside.schedule.loops if loop.axis == "h"]
    assert min(found) >= 14  # A cache line of h.
    alike = contraction("b 48 m, g 100 k, h 56 k, c 4 n, a 12 n", "bgh", "hcag", "abc")  # L2 keeps either.
    blocks = Blocking(alike, identify_primitive(alike), LARGE).schedule(Plan("vector block"))
    assert str(blocks).startswith("seq g:15 ")  # As many equal blocks as cache lines of g.


def test_of_two_summed_axes_kernels_take_one_where_l1_keeps_what_they_add_to() -> None:
    operation = contraction("a 84 m, d 84 k, e 84 k, c 84 m, b 84 n", "adec", "ebd", "abc")
    (found,) = [each for each in costed_proposals(operation, LARGE) if each.proposal.family == "parts in order"]
    assert str(found.proposal.schedule) == "seq a:1 seq e:1 prim m=c n=b k=d pack out@1 b c"
    (both,) = [each for each in costed_proposals(operation, LARGE) if each.proposal.family == "in place"]
    assert found.cost.seconds < 0.7 * both.cost.seconds
    small = contraction("a 40 m, d 84 k, e 84 k, c 84 m, b 84 n", "adec", "ebd", "abc")  # Its output stays in L2.
    every = every_proposal(small, Schedule((), identify_primitive(small)), Context(LARGE))
    assert "parts in order" not in [each.family for each in every]


def test_both_operands_are_copied_as_they_lie_where_whole_rows_are_two_panels() -> None:
    operation = contraction("b 32 c, k 512 m, d 64 n, q 512 k", "bqk", "bqd", "bkd")
    best = str(costed_proposals(operation)[0].proposal.schedule)
    assert best == "seq b:1 seq q:57 prim m=d n=k k=q pack in0@2 q k pack in1@2 q d"
    turned = contraction("b 32 c, k 512 m, d 64 n, q 512 k", "bkq", "bqd", "bkd")
    assert all(each.proposal.family != "straight copies" for each in costed_proposals(turned))


@pytest.mark.parametrize(
    ("axes", "words"),
    [
        ("j 4000 k, i 1000 m, b 4 n", ("ji", "bj", "bi")),
        ("a 400 k, b 3 n, c 500 m, d 24 m", ("adc", "ab", "dbc")),
        ("a 20 n, g 4608 k, b 4032 m", ("gb", "ag", "ab")),
        ("a 256 n, b 200 n, d 32 m, k 33 k", ("kd", "kab", "abd")),
    ],
)
def test_rows_that_are_used_a_few_times_are_read_where_they_lie(axes: str, words: tuple[str, str, str]) -> None:
    assert not chosen_schedule(contraction(axes, *words), LARGE).packs


@pytest.mark.parametrize("machine", [AVX2, AVX512])
def test_outer_products_write_a_few_whole_rows_at_a_time(machine: Machine) -> None:
    """Else kernels go down all rows, a tile wide, and come back to lines of the output that have left L1."""
    operation = contraction("m 700 m, n 700 n", "m", "n", "mn")
    prims = identify_primitive(operation)
    best = costed(operation, Schedule((), prims), Context(machine))[0].proposal
    assert best.family == "panels in order"
    tile = Blocking(operation, prims, machine).targets.tile_n
    assert str(best.schedule) == f"seq m:{tile} prim m=n n=m"


def test_few_rows_are_read_as_a_whole_at_once() -> None:
    assert str(chosen_schedule(contraction("j 1000 k, i 1000 m, b 5 n", "ji", "bj", "bi"), LARGE)) == (
        "seq j:25 prim m=i n=b k=j"
    )
    crowded = contraction("k 256 k, m 4096 m, n 17 n", "km", "nk", "nm")  # In few sets of L1, but followed.
    assert str(chosen_schedule(crowded, LARGE)) == "seq k:32 prim m=m n=n k=k"
    staged = "fuse bc=b*c seq a:32 prim m=bc k=a pack out@0 bc"
    assert str(chosen_schedule(contraction("a 10755 k, b 32 n, c 7 n", "a", "abc", "cb"), LARGE)) == staged


@pytest.mark.parametrize(("extent", "proposed"), [(32, True), (40, True), (70, True), (80, False)])
def test_rows_that_many_columns_meet_are_read_in_order_where_half_of_l1_keeps_the_output(
    extent: int, proposed: bool
) -> None:
    operation = contraction(f"b 8 c, n 5000 k, i {extent} m, j {extent} n", "bni", "bnj", "bij")
    assert ("rows in order" in [each.proposal.family for each in costed_proposals(operation)]) is proposed


def test_rows_in_pages_of_their_own_are_packed_if_kernels_come_back_to_them_often() -> None:
    """For 192 indices of the other input; not for 48, beside whose arithmetic pages are looked up.

    Pages that take half as long pack neither, those that take twice as long both.
    """
    text = """gemm first=zero last=none
    axis m {0} m
    axis n 96 n
    axis k 200 k
    in0 float32 m=1 k=1040
    in1 float32 k=1040 n=1
    out float32 m=96 n=1"""
    packed = {
        m: {pack.operand for pack in chosen_schedule(parse_operation(text.format(m)), AVX2).packs} for m in (48, 192)
    }
    assert packed == {48: set(), 192: {0, 1}}


def test_rows_that_kernels_may_read_in_place_are_packed_where_they_are_long() -> None:
    """2,000 rows of 8 KB; not 1,600 of 6.4 KB, which copies that take no longer than what they do would pack as well.

    Twice as slow ones would pack neither.
    """
    longer = contraction("i 2000 m, j 2000 n, k 2000 k", "ik", "kj", "ij")
    packed = [{pack.operand for pack in chosen_schedule(operation, AVX512).packs} for operation in (PRODUCT, longer)]
    assert packed == [{1}, {0, 1}]
