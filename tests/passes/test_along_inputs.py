"""Large inputs that are read as they lie, along their runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from einloom.ir.operation import Operation
from einloom.ir.schedule import Prims, Schedule
from einloom.machine import AVX2, AVX512, Machine
from einloom.passes.contraction.choose import every_proposal
from einloom.passes.fuse import fuse
from einloom.passes.identify import identify_primitive
from einloom.passes.values import Context

from .choices import (
    LARGE,
    chosen_schedule,
    costed_proposals,
)
from .operations import contraction


def test_vectors_run_along_an_input_where_the_innermost_axis_is_short() -> None:
    operation = contraction("c 24 n, b 504 m, a 5 n, d 1840 k", "bd", "dca", "cba")
    found = [str(each.proposal.schedule) for each in costed_proposals(operation)]
    nest = "fuse ca=c*a seq d:460 seq b:8 seq ca:48 prim m=ca n=b k=d"
    assert found[0] == f"{nest} pack out@0 b ca pack in1@1 ca:48 d ca"  # the copy turns what is complete
    long = contraction("c 24 n, b 504 m, a 32 n, d 1840 k", "bd", "dca", "cba")
    assert all(each.proposal.family != "along an input" for each in costed_proposals(long))


def test_a_large_input_is_read_along_its_runs_or_packed() -> None:
    def families(operation: Operation) -> set[str]:
        return {each.proposal.family for each in costed_proposals(operation)}

    turned = contraction("b 3 n, c 24 n, a 2896 n, d 13 k", "d", "dcab", "bca")
    assert "along an input" in families(turned)  # runs of in1 are axes of the output
    summed = contraction("m 100 m, n 10000 n, k 500 k", "mk", "nk", "mn")
    assert "along an input" not in families(summed)  # runs of in1 are summed: its elements would be read one by one


@pytest.mark.parametrize(
    ("axes", "operands", "best", "machine"),
    [
        pytest.param(
            "d 84 m, e 84 k, c 84 m, a 84 m, b 24 n",
            ("deca", "be", "abcd"),
            "fuse ca=c*a seq ca:84 seq d:1 prim m=ca n=b k=e pack out@1 b d ca",
            AVX512,
            id="all rows at once, which translation buffers hold",
        ),
        pytest.param(
            "e 32 m, f 32 k, c 36 m, a 36 m, d 36 m, b 24 n",
            ("efcad", "bf", "abcde"),
            "fuse ad=a*d seq c:1 seq ad:108 seq e:1 prim m=ad n=b k=f pack out@2 b e ad",
            AVX512,
            id="several axes that are one run there",
        ),
        pytest.param(
            "b 368 m, d 368 k, a 368 m, c 24 n",
            ("bda", "dc", "abc"),
            "seq b:7 seq d:23 seq b:1 prim m=a n=c k=d pack out@1 b c a",
            AVX512,
            id="more rows than that in parts",
        ),
        pytest.param(
            "d 368 k, c 368 m, a 368 m, b 24 n",
            ("dca", "bd", "abc"),
            "fuse ca=c*a seq ca:5888 seq d:23 seq ca:144 prim m=ca n=b k=d pack out@1 b ca",
            LARGE,
            id="16 rows, which are lines of the output",
        ),
    ],
)
def test_inputs_from_memory_are_read_as_they_lie(
    axes: str, operands: tuple[str, str, str], best: str, machine: Machine
) -> None:
    chosen = costed_proposals(contraction(axes, *operands), machine)[0].proposal
    assert (chosen.family, str(chosen.schedule)) == ("along an input", best)


@pytest.mark.parametrize(
    ("columns", "machine", "rows"), [(100, LARGE, 50), (63, LARGE, 25), (100, replace(AVX2, l2=LARGE.l2), 25)]
)
def test_parts_of_a_sum_are_long_beside_the_ends_of_tiles(columns: int, machine: Machine, rows: int) -> None:
    """Where vectors of AVX-512 meet many columns: of few, reading the rows takes longer; those of AVX2 end sooner."""
    operation = contraction(f"m {columns} m, n 10000 n, k 500 k", "mk", "kn", "mn")
    schedules = [str(each.proposal.schedule) for each in costed_proposals(operation, machine)]
    assert any(f"seq k:{rows} prim m=n n=m k=k pack out@1 m n" in each for each in schedules)
    turned = contraction(f"m {columns} m, n 10000 n, k 500 k", "mk", "kn", "nm")  # Blocks in L2, which few rows suit.
    every = every_proposal(turned, Schedule((), identify_primitive(turned)), Context(machine))
    assert not any("seq k:50 " in str(each.schedule) for each in every if each.family == "along an input")


def test_short_rows_in_pages_of_their_own_are_read_several_at_a_time() -> None:
    operation = contraction("d 84 m, e 84 k, c 84 m, a 84 m, b 24 n", "deca", "be", "abcd")
    assert (
        str(chosen_schedule(operation, LARGE)) == "seq c:4 seq d:1 seq e:42 seq c:1 prim m=a n=b k=e pack out@1 b c d a"
    )


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (72, "fuse ca=c*a seq ca:168 seq d:1 prim m=ca n=b k=e pack out@1 b d ca"),
        (84, "seq c:4 seq d:1 seq e:42 seq c:1 prim m=a n=b k=e pack out@1 b c d a"),
        (128, "seq c:4 seq d:1 seq e:64 seq c:1 prim m=a n=b k=e pack out@1 b c d a"),
        (256, "seq c:4 seq d:1 seq e:32 seq c:1 prim m=a n=b k=e pack out@1 b c d a"),
    ],
)
def test_sums_over_rows_in_many_pages_are_cut_inside_of_what_lies_around_them(rows: int, expected: str) -> None:
    operation = contraction(f"d 84 m, e {rows} k, c 84 m, a 84 m, b 24 n", "deca", "be", "abcd")
    schedules = {str(each.proposal.schedule) for each in costed_proposals(operation, LARGE)}
    assert expected in schedules
    assert any("seq d:1 seq e:" in each for each in schedules) == ("seq e:" in expected)


@pytest.mark.parametrize(("rows", "block"), [(84, "a:28 seq d:28 seq e:1"), (12, "a:42")])
def test_blocks_are_smaller_that_many_parts_of_a_sum_are_added_to(rows: int, block: str) -> None:
    """Each part of 28 d and one e goes over a whole block of the output: of 252 parts it fills half of L2, not more."""
    operation = contraction(f"a 84 m, b 84 n, c 84 m, d 84 k, e {rows} k", "adec", "ebd", "abc")
    schedules = [str(each.proposal.schedule) for each in costed_proposals(operation, LARGE)]
    assert f"seq {block} seq a:1 prim m=c n=b k=d batch=e pack out@1 a b c" in schedules


def test_rows_fill_no_lines_of_the_output_where_columns_would_share_sets() -> None:
    operation = contraction("h 36 k, g 24 k, c 52 m, a 128 m, b 56 n", "hgca", "gbh", "abc")
    proposals = [each.proposal for each in costed_proposals(operation)]
    packed = [each.schedule for each in proposals if each.family == "along an input"]
    assert packed and all(loop.step * 4 % 4096 for each in packed for loop in each.loops if loop.axis == "ca")


def test_inputs_near_the_core_of_a_batch_or_with_many_columns_are_copied() -> None:
    for axes, operands in (
        ("d 84 m, e 84 k, c 2 m, a 84 m, b 24 n", ("deca", "be", "abcd")),
        ("d 84 m, e 84 k, c 84 m, a 84 m, b 240 n", ("deca", "be", "abcd")),
        ("b 32 c, k 512 m, d 64 n, q 512 k", ("bqk", "bqd", "bkd")),
    ):
        assert all(each.proposal.family != "along an input" for each in costed_proposals(contraction(axes, *operands)))


def test_inputs_are_read_as_they_lie_too_where_the_output_alone_leaves_no_room_beside_them() -> None:
    """The input takes 13.8 MB, the output 28.8: the 16 that count of the last level keep neither beside the other."""
    operation = contraction("d 48 k, b 72 m, c 1000 m, a 100 n", "dbc", "ad", "abc")
    assert costed_proposals(fuse(operation), LARGE)[0].proposal.family == "along an input"
    shorter = contraction("d 48 k, b 7 m, c 1000 m, a 100 n", "dbc", "ad", "abc")
    assert all(each.proposal.family != "along an input" for each in costed_proposals(fuse(shorter), LARGE))


def test_complex_elements_are_read_as_they_lie_too() -> None:
    operation = contraction("d 368 k, c 368 m, a 368 m, b 24 n", "dca", "bd", "abc", "complex64")
    best = costed_proposals(operation)[0].proposal
    assert str(best.schedule) == "fuse ca=c*a seq ca:1472 seq d:23 seq ca:72 prim m=ca n=b k=d pack out@1 b ca"


def test_columns_of_a_tile_count_products_whose_vectors_share_lines_of_the_output() -> None:
    operation = contraction("d 190 c, e 2 k, c 10 m, f 4 m, a 99 n, b 6 n", "decf", "abde", "bcadf")
    best = costed_proposals(operation)[0].proposal
    assert best.family == "batch as columns"
    assert best.schedule.prims == Prims("f", "d", "e")  # four columns of d are a line of the output
    long = contraction("d 190 c, e 2 k, c 10 m, f 16 m, a 99 n, b 6 n", "decf", "abde", "bcadf")
    assert all(each.proposal.family != "batch as columns" for each in costed_proposals(long))


def test_packed_blocks_hold_several_products_that_share_lines_of_an_input() -> None:
    operation = contraction("d 352 c, c 16 k, a 16 m, e 24 c, b 2 n", "caed", "cbde", "bdae")
    best = costed_proposals(operation)[0].proposal.schedule
    assert str(best) == "seq d:16 seq a:8 seq d:1 seq b:1 seq a:1 prim m=e n=a k=c pack in0@2 d a c e"
    counted_by_none = contraction("d 352 c, c 16 k, a 16 m, e 24 c, b 2 n", "dcae", "cbde", "bdae")
    assert all(each.proposal.family != "several products" for each in costed_proposals(counted_by_none))
