"""Schedules of contractions: what plans become, and which candidate is chosen on which machine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from einloom.dtypes import FLOAT32
from einloom.ir.bind import bind
from einloom.ir.operation import Operation
from einloom.ir.schedule import OUTPUT, Prims, Schedule
from einloom.ir.text import parse_operation, parse_schedule
from einloom.machine import AVX2, AVX512, NEON, TILES, Machine, Rates
from einloom.passes.contraction.blocking import Blocking
from einloom.passes.contraction.choose import costed, every_proposal
from einloom.passes.contraction.families import written_in_order
from einloom.passes.contraction.plan import Plan, Staging
from einloom.passes.contraction.proposals import Costed
from einloom.passes.contraction.setting import Setting
from einloom.passes.fuse import fuse
from einloom.passes.identify import identify_primitive
from einloom.passes.model.copied import copied_matrix, copied_run, finds_elements
from einloom.passes.model.cost import cost_of
from einloom.passes.model.flow import Flow
from einloom.passes.model.tiles import SCRATCH_LIMIT, block_targets
from einloom.passes.model.traffic import traffic_of
from einloom.passes.pipeline import explain_passes, optimize_operation
from einloom.passes.values import Context, Options

from .operations import PRODUCT, contraction

LARGE = replace(AVX512, l2=2**21)
ZEN3 = replace(AVX2, features=AVX2.features | {"bmi2"}, l2=2**19)
COLUMNS = contraction("i 1600 m, j 1600 n, k 1600 k", "ki", "kj", "ij")
PRIME_COLUMNS = contraction("i 1009 m, j 1009 n, k 1009 k", "ki", "kj", "ij")
HALVED = [
    contraction("a 84 m, b 84 m, d 84 m, c 24 n, e 84 k", "dbea", "ec", "abcd"),
    contraction("a 84 m, c 84 m, b 84 n, d 84 k, e 84 k", "adec", "ebd", "abc"),
    contraction("a 20 m, b 20 m, c 32 m, d 16 m, f 24 n, e 40 k", "cdeba", "fe", "abcdf"),
]
"""Tensors of several axes, of which blocks are cut otherwise than of matrices."""


@pytest.mark.parametrize(
    ("operation", "plan", "expected"),
    [
        pytest.param(
            PRODUCT,
            Plan("vector block, element in place", packs_element=False),
            "seq j:288 seq k:534 seq i:8 seq j:48 prim m=j n=i k=k pack in1@2 j:48 k j",
            id="rows are read where they lie, a panel of a few at a time",
        ),
        pytest.param(
            contraction("a 84 m, b 84 m, c 24 n, d 84 m, e 84 k", "ebad", "ce", "abcd"),
            Plan("rows in order", packs_vector=False, packs_element=False, few_steps=True),
            "seq b:1 seq a:42 seq e:28 seq a:1 prim m=d n=c k=e",
            id="rows that are read where they lie are read on from block to block, whatever the output's order",
        ),
        pytest.param(
            contraction("n 5000 k, i 40 m, j 40 n", "ni", "nj", "ij"),
            Plan("rows in order", packs_vector=False, packs_element=False, few_steps=True),
            "seq n:25 prim m=j n=i k=n",
            id="columns that come back to rows of one vector tile take few of these at a time",
        ),
        pytest.param(
            contraction("n 5000 k, i 8 m, j 40 n", "ni", "nj", "ij"),
            Plan("rows in order", packs_vector=False, packs_element=False, few_steps=True),
            "prim m=j n=i k=n",
            id="rows of one vector tile that meet one tile of columns are read once",
        ),
        pytest.param(
            COLUMNS,
            Plan("vector block"),
            "seq j:288 seq k:534 seq i:80 seq i:8 seq j:48 prim m=j n=i k=k pack in1@2 j:48 k j pack in0@3 i:8 k i",
            id="contiguous columns that are read one by one are cut into panels where their lines exceed L1",
        ),
        pytest.param(
            COLUMNS,
            Plan("element once", element_first=True, panels=True),
            "seq k:534 seq j:288 seq i:8 seq j:48 prim m=j n=i k=k pack in0@1 i:8 k i pack in1@2 j:48 k j",
            id="the element operand is packed once for each block of k",
        ),
        pytest.param(
            PRIME_COLUMNS,
            Plan("element once", element_first=True, panels=True),
            "seq k:505 seq j:288 seq i:8 seq j:48 prim m=j n=i k=k pack in0@1 i:8 k i pack in1@2 j:48 k j",
            id="contiguous columns of half a line stay together though the last vector is short",
        ),
        pytest.param(
            COLUMNS,
            Plan("five loops", vector_inside=True, panels=True),
            "seq k:160 seq i:800 seq j:48 seq i:8 prim m=j n=i k=k pack in1@1 j:48 k j pack in0@2 i:8 k i",
            id="five loops: a panel of the vector operand stays, a block of the other streams past",
        ),
        pytest.param(
            COLUMNS,
            Plan("vector block", k_parts=2),
            "seq j:432 seq k:320 seq i:136 seq i:8 seq j:48 prim m=j n=i k=k pack in1@2 j:48 k j pack in0@3 k i",
            id="half the k: contiguous columns that are read one by one are copied straight",
        ),
        pytest.param(
            contraction("d 84 m, b 84 m, e 84 k, a 84 m, c 24 n", "dbea", "ec", "abcd"),
            Plan("vector block, element in place", packs_element=False, long_runs=True),
            "seq d:32 seq b:1 seq a:1 prim m=d n=c k=e pack in0@2 a e d",
            id="a block holds runs of a tensor that is read once: all of a and e, panels of two vectors",
        ),
        pytest.param(
            contraction("e 400 m, g 24 k, a 16 m, f 20 n, c 320 n", "ega", "gfc", "acef"),
            Plan("staged tiles", staging=Staging.TILES),
            "seq e:100 seq a:1 seq c:1 seq e:20 prim m=f n=e k=g pack in1@0 c g f pack in0@1 a e:20 e g pack out@4 e f",
            id="tiles of few products are staged one by one",
        ),
        pytest.param(
            contraction("e 32 m, f 32 k, b 36 m, a 36 m, d 36 m, c 24 n", "efbad", "cf", "abcde"),
            Plan("vector block, element in place", packs_element=False, long_runs=True),
            "seq b:1 seq a:6 seq a:1 seq d:1 prim m=e n=c k=f pack in0@2 f a d e",
            id="the reduced axis stands outside where neighbours would alias in L1",
        ),
    ],
)
def test_what_plans_become(operation: Operation, plan: Plan, expected: str) -> None:
    assert str(Blocking(operation, identify_primitive(operation), LARGE).schedule(plan)) == expected


def test_products_that_the_innermost_axis_counts_are_computed_one_by_one() -> None:
    operation = contraction("b 40 c, h 3 c, m 32 m, n 32 n, k 16 k", "hmbk", "hbnk", "hmnb")
    found = [each.proposal for each in _costed(operation) if each.proposal.family == "one by one"]
    rows, columns = "pack out@1 b m n pack in1@2 k n", "pack out@1 b n m pack in0@2 k m"
    assert {str(each.schedule) for each in found} == {
        f"seq h:1 seq b:1 prim m=n n=m k=k {rows} pack in0@2 m k",
        f"seq h:1 seq b:1 prim m=n n=m k=k {rows}",
        f"seq h:1 seq b:1 prim m=m n=n k=k {columns} pack in1@2 n k",
        f"seq h:1 seq b:1 prim m=m n=n k=k {columns}",
    }


def test_products_one_by_one_add_some_rows_at_a_time() -> None:
    """Rows of vectors lie 8 KiB apart: all of them at once would push out each other of L1."""
    operation = contraction("z 16 c, a 48 m, b 128 n, k 128 k", "zak", "kzb", "abz")
    golden_cove = replace(AVX2, l1d=48 * 1024, l2=2**21)
    assert str(_chosen(operation, golden_cove)) == "seq z:1 seq k:32 prim m=b n=a k=k pack out@0 z a b"
    few = Plan("one by one", packs_vector=False, packs_element=False, staging=Staging.PRODUCTS, few_steps=True)
    prims, short = Prims("b", "a", "k"), contraction("z 16 c, a 48 m, b 128 n, k 30 k", "zak", "kzb", "abz")
    assert Blocking(operation, prims, golden_cove).schedule(few) is not None
    assert Blocking(short, prims, golden_cove).schedule(few) is None  # There are no parts.


def test_copies_turn_matrices_between_scratch_and_tensor() -> None:
    operation = contraction("c 24 n, b 504 m, a 5 n, d 64 k", "bd", "dca", "cba")
    schedule = parse_schedule("fuse ca=c*a seq d:64 prim m=ca n=b k=d pack out@0 b ca")
    flow = Flow(operation, schedule, AVX512)
    assert copied_run(flow, 2) == 5  # along a; c follows b in the tensor
    schedule = parse_schedule("seq c:1 seq d:64 prim m=b n=a k=d pack out@1 a b")
    assert copied_matrix(Flow(operation, schedule, AVX512), 2) == (504, 5, False, True)  # b begins where a ends
    schedule = parse_schedule("seq b:1 seq d:64 prim m=c n=a k=d pack out@1 a c")
    assert copied_matrix(Flow(operation, schedule, AVX512), 2) == (24, 5, True, False)  # c lies 2,520 elements apart


def test_vectors_run_along_an_input_where_the_innermost_axis_is_short() -> None:
    operation = contraction("c 24 n, b 504 m, a 5 n, d 1840 k", "bd", "dca", "cba")
    found = [str(each.proposal.schedule) for each in _costed(operation)]
    nest = "fuse ca=c*a seq d:460 seq b:8 seq ca:48 prim m=ca n=b k=d"
    assert found[0] == f"{nest} pack out@0 b ca pack in1@1 ca:48 d ca"  # the copy turns what is complete
    long = contraction("c 24 n, b 504 m, a 32 n, d 1840 k", "bd", "dca", "cba")
    assert all(each.proposal.family != "along an input" for each in _costed(long))


FOUR = contraction("a 52 m, b 56 m, c 56 n, d 56 n, e 56 k, f 56 k", "aefb", "fdce", "abcd")


def test_fused_axes_are_tried_where_the_cheapest_proposal_has_no_plan() -> None:
    operation = contraction("d 3 c, c 3 k, a 437 m, e 4 m, b 3 m, f 16 n", "dcaeb", "dcf", "afdbe")
    assert any(each.proposal.plan is None for each in _costed(operation)[1:])
    assert _costed(operation)[0].proposal.family == "vector block, fused"


@pytest.mark.parametrize(
    ("rows", "columns", "goes_on"), [(600_000, 52, True), (600_000, 26, False), (20_000, 52, False)]
)
def test_streams_beyond_the_caches_that_go_on_where_the_last_run_ended_wait_for_no_end(
    rows: int, columns: int, goes_on: bool
) -> None:
    operation = contraction(f"b {rows} m, a 52 n", "b", "a", "ba")
    loops = "seq b:3 seq a:26" if columns < 52 else "seq b:3"
    schedule = parse_schedule(f"{loops} prim m=a n=b pack out@{loops.count('seq')} b a")
    streamed = next(each for each in traffic_of(Flow(operation, schedule, LARGE)) if each.streams)
    assert (streamed.pieces < 1e-3) == goes_on


def test_kernels_read_runs_of_the_second_summed_axis_where_they_lie() -> None:
    operation = contraction("b 4496 k, c 8 m, a 146 k", "bca", "ab", "c")
    assert str(_costed(operation)[0].proposal.schedule) == "prim m=c k=a batch=b"


def test_blocks_hold_all_of_the_summed_axis_along_which_a_copy_reads_runs() -> None:
    best = str(_costed(FOUR)[0].proposal.schedule)
    assert "k=e batch=f" in best and "pack in1@3 cd:48 f e cd" in best  # e is contiguous in fdce
    assert identify_primitive(FOUR).k == "f"


def test_copies_read_whole_rows_of_a_large_operand_rather_than_lines_of_one_that_stays_near() -> None:
    operation = contraction("b 48 m, g 100 k, h 56 k, c 36 n, a 96 n", "bgh", "hcag", "abc")
    loops = _costed(operation, LARGE)[0].proposal.schedule.loops
    assert [loop.axis for loop in loops if loop.axis in "gh"] == ["h"]
    larger = contraction("b 400 m, g 100 k, h 56 k, c 36 n, a 96 n", "bgh", "hcag", "abc")
    inside = next(each.proposal for each in _costed(larger, LARGE) if each.proposal.family == "batch inside")
    found = [loop.step for loop in inside.schedule.loops if loop.axis == "h"]
    assert min(found) >= 14  # A cache line of h.
    alike = contraction("b 48 m, g 100 k, h 56 k, c 4 n, a 12 n", "bgh", "hcag", "abc")  # L2 keeps either.
    blocks = Blocking(alike, identify_primitive(alike), LARGE).schedule(Plan("vector block"))
    assert str(blocks).startswith("seq g:15 ")  # As many equal blocks as cache lines of g.


def test_of_two_summed_axes_kernels_take_one_where_l1_keeps_what_they_add_to() -> None:
    operation = contraction("a 84 m, d 84 k, e 84 k, c 84 m, b 84 n", "adec", "ebd", "abc")
    (found,) = [each for each in _costed(operation, LARGE) if each.proposal.family == "parts in order"]
    assert str(found.proposal.schedule) == "seq a:1 seq e:1 prim m=c n=b k=d pack out@1 b c"
    (both,) = [each for each in _costed(operation, LARGE) if each.proposal.family == "in place"]
    assert found.cost.seconds < 0.7 * both.cost.seconds
    small = contraction("a 40 m, d 84 k, e 84 k, c 84 m, b 84 n", "adec", "ebd", "abc")  # Its output stays in L2.
    every = every_proposal(small, Schedule((), identify_primitive(small)), Context(LARGE))
    assert "parts in order" not in [each.family for each in every]


def test_kernels_take_a_vector_axis_whole_that_would_be_two_panels() -> None:
    plan, prims = Plan("vector block", whole_rows=True), identify_primitive(FOUR)
    schedule = Blocking(FOUR, prims, LARGE).schedule(plan)
    assert schedule is not None and all(loop.axis != "d" for loop in schedule.loops)
    three = contraction("a 52 m, b 56 m, c 56 n, d 48 n, e 56 k, f 56 k", "aefb", "fdce", "abcd")
    assert Blocking(three, prims, LARGE).schedule(plan) is None


def test_both_operands_are_copied_as_they_lie_where_whole_rows_are_two_panels() -> None:
    operation = contraction("b 32 c, k 512 m, d 64 n, q 512 k", "bqk", "bqd", "bkd")
    best = str(_costed(operation)[0].proposal.schedule)
    assert best == "seq b:1 seq q:57 prim m=d n=k k=q pack in0@2 q k pack in1@2 q d"
    turned = contraction("b 32 c, k 512 m, d 64 n, q 512 k", "bkq", "bqd", "bkd")
    assert all(each.proposal.family != "straight copies" for each in _costed(turned))


def test_rests_of_vectors_are_filled_in_scratch_where_the_output_has_no_longer_runs() -> None:
    operation = contraction("a 52 m, b 56 n, c 56 m, d 56 n, e 56 k, f 56 k", "aecf", "fbed", "abcd")
    (first, *_) = [each.proposal for each in _costed(operation) if each.proposal.family == "staged rows"]
    assert str(first.schedule).startswith("fuse bd=b*d ") and "prim m=bd n=c" in str(first.schedule)
    assert any(pack.operand == OUTPUT for pack in first.schedule.packs)  # abcd has c between b and d
    whole = contraction("a 52 m, b 56 n, c 56 m, d 64 n, e 56 k, f 56 k", "aecf", "fbed", "abcd")
    assert all(each.proposal.family != "staged rows" for each in _costed(whole))


def test_panels_cut_rows_that_lie_across_memory_where_tiles_are_no_whole_cache_lines() -> None:
    operation = contraction("a 52 m, b 56 m, c 56 n, d 56 n, e 56 k, f 56 k", "aebf", "fdec", "abcd")

    def texts(machine: Machine) -> list[str]:
        undecided = Schedule((), identify_primitive(operation))
        return [str(each.schedule) for each in every_proposal(operation, undecided, Context(machine))]

    for layout in ("cd:24 e f cd", "e f cd"):
        assert any(each.endswith(f" pack in1@3 {layout}") for each in texts(AVX2))
    assert any("e f cd" in each for each in texts(AVX512)) and not any("cd:48 e f cd" in each for each in texts(AVX512))


@pytest.mark.parametrize(("rows", "block"), [(64, 16 * 56), (56, 16 * 56), (12, 12 * 56)])
def test_blocks_hold_whole_cache_lines_of_rows_that_lie_across_memory(rows: int, block: int) -> None:
    """16 rows of d: a line of the axis c, or all of it."""
    operation = contraction(f"a 52 n, b 56 n, c {rows} m, d 56 m, e 56 k, f 56 k", "fdec", "aebf", "abcd")
    golden_cove = replace(AVX512, l1d=48 * 1024, l2=2**21)
    found = [
        str(each.schedule)
        for each in every_proposal(operation, Schedule((), identify_primitive(operation)), Context(golden_cove))
    ]
    assert any(f"seq cd:{block} " in each for each in found)


@pytest.mark.parametrize(
    ("schedule", "strides", "elements"),
    [
        ("seq bcd:640 seq bcd:24 prim m=bcd n=a k=e pack in0@1 e bcd", "[128, 1]", False),
        ("seq bcd:880 seq bcd:24 prim m=bcd n=a k=e pack in0@1 e bcd", "[128, 1]", False),
        ("seq bcd:640 seq bcd:20 prim m=bcd n=a k=e pack in0@1 bcd:20 e bcd", "[128, 10240]", True),
        ("seq bcd:960 seq bcd:96 prim m=bcd n=a k=e pack in0@1 bcd:96 e bcd", "[128, 10240]", True),
    ],
)
def test_copies_of_rows_across_memory_take_them_together_unless_panels_cut_them(
    schedule: str, strides: str, elements: bool
) -> None:
    operation = contraction("a 50 n, b 32 m, c 4 m, d 80 m, e 40 k", "edbc", "ea", "abcd")
    copied = parse_schedule(f"fuse bcd=b*c*d {schedule}")
    assert finds_elements(Flow(operation, copied, AVX2), 0) is elements
    assert f"in0{strides}" in str(bind(operation, copied))
    together = parse_schedule("fuse bcd=b*c*d seq bcd:640 seq bcd:24 prim m=bcd n=a k=e pack in0@1 e bcd")
    copies = [cost_of(operation, each, AVX2).copies for each in (copied, together)]
    assert (copies[0] > 1.2 * copies[1]) is elements


def test_vectors_are_gathered_where_that_costs_less_than_a_copy() -> None:
    read_once = contraction("m 181520 m, n 7 n, k 6 k", "mk", "kn", "nm")
    assert _costed(read_once)[0].proposal.family == "in place"
    read_often = contraction("m 1600 m, n 1600 n, k 1600 k", "mk", "kn", "nm")
    assert _costed(read_often)[0].proposal.family != "in place"


@pytest.mark.parametrize("machine", [AVX2, AVX512], ids=["avx2", "avx512"])
@pytest.mark.parametrize("extent", [20, 18])
def test_tiles_as_wide_as_long_rows_are_staged_with_as_many_columns_as_hide_the_latency(
    machine: Machine, extent: int
) -> None:
    """L1 holds two of them beside the rows that are read, or else not even these; of 18 columns two are left."""
    operation = contraction(f"a 256 n, c 20 m, d {extent} n, e 400 m, g 24 k", "egc", "gda", "acde")
    best = costed(operation, Schedule((), identify_primitive(operation)), Context(machine))[0].proposal
    assert best.family == "staged tiles"
    columns, whole = best.schedule.loops[-1], block_targets(machine, FLOAT32, 400).tile_n
    assert columns.axis == "d" and columns.step == 4 <= whole
    assert machine.l1d < 4 * (24 * 400 + 2 * whole * 400) or whole == 4
    far = contraction("a 256 n, c 20 m, d 24 n, e 300 m, g 40 k", "egc", "gda", "acde")  # L1 has no room for the rows.
    tiles = Blocking(far, identify_primitive(far), machine).schedule(Plan("staged tiles", staging=Staging.TILES))
    assert f" seq d:{block_targets(machine, FLOAT32, 300).tile_n} prim" in str(tiles)
    assert str(best.schedule).endswith(" pack out@5 d e")
    longer = contraction("a 16 n, c 20 m, d 20 n, e 4000 m, g 24 k", "egc", "gda", "acde")
    found = costed(longer, Schedule((), identify_primitive(longer)), Context(machine))
    assert all(each.proposal.family != "staged tiles" for each in found)  # L1 does not hold such a tile.


def test_short_runs_of_one_product_are_written_from_scratch() -> None:
    operation = contraction("g 40 c, b 64 k, d 4 m, e 5 c, a 3 m, f 3 m, c 7 n", "dgbeaf", "gbec", "gdfcea")
    best = str(_costed(operation)[0].proposal.schedule)
    assert best == "fuse af=a*f seq g:1 seq e:1 seq d:1 prim m=af n=c k=b pack out@2 d c af"


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
    assert not _chosen(contraction(axes, *words), LARGE).packs


@pytest.mark.parametrize("machine", [AVX2, AVX512])
def test_outer_products_write_a_few_whole_rows_at_a_time(machine: Machine) -> None:
    """Else kernels go down all rows, a tile wide, and come back to lines of the output that have left L1."""
    operation = contraction("m 700 m, n 700 n", "m", "n", "mn")
    prims = identify_primitive(operation)
    best = costed(operation, Schedule((), prims), Context(machine))[0].proposal
    assert best.family == "panels in order"
    tile = Blocking(operation, prims, machine).targets.tile_n
    assert str(best.schedule) == f"seq m:{tile} prim m=n n=m"


@pytest.mark.parametrize("machine", [AVX2, AVX512])
def test_large_outer_products_leave_scratch_in_pieces_of_rows(machine: Machine) -> None:
    products = contraction("m 4000 m, n 4000 n", "m", "n", "mn")
    assert str(_chosen(products, machine)).endswith("prim m=n n=m pack out@2 n")
    best = costed(products, Schedule((), identify_primitive(products)), Context(machine))[0].proposal
    assert best.family == "pieces in order"
    sums = contraction("k 4 k, m 4000 m, n 4000 n", "km", "kn", "mn")
    assert not any(pack.operand == OUTPUT for pack in _chosen(sums, machine).packs)


def test_few_rows_are_read_as_a_whole_at_once() -> None:
    assert str(_chosen(contraction("j 1000 k, i 1000 m, b 5 n", "ji", "bj", "bi"), LARGE)) == (
        "seq j:25 prim m=i n=b k=j"
    )
    crowded = contraction("k 256 k, m 4096 m, n 17 n", "km", "nk", "nm")  # In few sets of L1, but followed.
    assert str(_chosen(crowded, LARGE)) == "seq k:32 prim m=m n=n k=k"
    staged = "fuse bc=b*c seq a:32 prim m=bc k=a pack out@0 bc"
    assert str(_chosen(contraction("a 10755 k, b 32 n, c 7 n", "a", "abc", "cb"), LARGE)) == staged


def test_a_large_input_is_read_along_its_runs_or_packed() -> None:
    def families(operation: Operation) -> set[str]:
        return {each.proposal.family for each in _costed(operation)}

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
    chosen = _costed(contraction(axes, *operands), machine)[0].proposal
    assert (chosen.family, str(chosen.schedule)) == ("along an input", best)


@pytest.mark.parametrize(
    ("columns", "machine", "rows"), [(100, LARGE, 50), (63, LARGE, 25), (100, replace(AVX2, l2=LARGE.l2), 25)]
)
def test_parts_of_a_sum_are_long_beside_the_ends_of_tiles(columns: int, machine: Machine, rows: int) -> None:
    """Where vectors of AVX-512 meet many columns: of few, reading the rows takes longer; those of AVX2 end sooner."""
    operation = contraction(f"m {columns} m, n 10000 n, k 500 k", "mk", "kn", "mn")
    schedules = [str(each.proposal.schedule) for each in _costed(operation, machine)]
    assert any(f"seq k:{rows} prim m=n n=m k=k pack out@1 m n" in each for each in schedules)
    turned = contraction(f"m {columns} m, n 10000 n, k 500 k", "mk", "kn", "nm")  # Blocks in L2, which few rows suit.
    every = every_proposal(turned, Schedule((), identify_primitive(turned)), Context(machine))
    assert not any("seq k:50 " in str(each.schedule) for each in every if each.family == "along an input")


def test_rows_that_push_out_each_other_of_l1_are_waited_for_in_l2_though_they_are_followed_beyond_it() -> None:
    schedule = parse_schedule("seq k:32 prim m=m n=n k=k")
    machine = replace(AVX512, l1d=48 * 1024, l2=2**21)
    crowded, apart = (
        cost_of(contraction(f"k 320 k, m {m} m, n 17 n", "km", "nk", "nm"), schedule, machine).waits
        for m in (4096, 4112)
    )
    assert crowded > 2 * apart


def test_short_rows_in_pages_of_their_own_are_read_several_at_a_time() -> None:
    operation = contraction("d 84 m, e 84 k, c 84 m, a 84 m, b 24 n", "deca", "be", "abcd")
    assert str(_chosen(operation, LARGE)) == "seq c:4 seq d:1 seq e:42 seq c:1 prim m=a n=b k=e pack out@1 b c d a"


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
    schedules = {str(each.proposal.schedule) for each in _costed(operation, LARGE)}
    assert expected in schedules
    assert any("seq d:1 seq e:" in each for each in schedules) == ("seq e:" in expected)


@pytest.mark.parametrize(("rows", "block"), [(84, "a:28 seq d:28 seq e:1"), (12, "a:42")])
def test_blocks_are_smaller_that_many_parts_of_a_sum_are_added_to(rows: int, block: str) -> None:
    """Each part of 28 d and one e goes over a whole block of the output: of 252 parts it fills half of L2, not more."""
    operation = contraction(f"a 84 m, b 84 n, c 84 m, d 84 k, e {rows} k", "adec", "ebd", "abc")
    schedules = [str(each.proposal.schedule) for each in _costed(operation, LARGE)]
    assert f"seq {block} seq a:1 prim m=c n=b k=d batch=e pack out@1 a b c" in schedules


def test_rows_fill_no_lines_of_the_output_where_columns_would_share_sets() -> None:
    operation = contraction("h 36 k, g 24 k, c 52 m, a 128 m, b 56 n", "hgca", "gbh", "abc")
    packed = [each.proposal.schedule for each in _costed(operation) if each.proposal.family == "along an input"]
    assert packed and all(loop.step * 4 % 4096 for each in packed for loop in each.loops if loop.axis == "ca")


def test_inputs_near_the_core_of_a_batch_or_with_many_columns_are_copied() -> None:
    for axes, operands in (
        ("d 84 m, e 84 k, c 2 m, a 84 m, b 24 n", ("deca", "be", "abcd")),
        ("d 84 m, e 84 k, c 84 m, a 84 m, b 240 n", ("deca", "be", "abcd")),
        ("b 32 c, k 512 m, d 64 n, q 512 k", ("bqk", "bqd", "bkd")),
    ):
        assert all(each.proposal.family != "along an input" for each in _costed(contraction(axes, *operands)))


def test_inputs_are_read_as_they_lie_too_where_the_output_alone_leaves_no_room_beside_them() -> None:
    """The input takes 13.8 MB, the output 28.8: the 16 that count of the last level keep neither beside the other."""
    operation = contraction("d 48 k, b 72 m, c 1000 m, a 100 n", "dbc", "ad", "abc")
    assert _costed(fuse(operation), LARGE)[0].proposal.family == "along an input"
    shorter = contraction("d 48 k, b 7 m, c 1000 m, a 100 n", "dbc", "ad", "abc")
    assert all(each.proposal.family != "along an input" for each in _costed(fuse(shorter), LARGE))


def test_complex_elements_are_read_as_they_lie_too() -> None:
    operation = contraction("d 368 k, c 368 m, a 368 m, b 24 n", "dca", "bd", "abc", "complex64")
    best = _costed(operation)[0].proposal
    assert str(best.schedule) == "fuse ca=c*a seq ca:1472 seq d:23 seq ca:72 prim m=ca n=b k=d pack out@1 b ca"


def test_columns_of_a_tile_count_products_whose_vectors_share_lines_of_the_output() -> None:
    operation = contraction("d 190 c, e 2 k, c 10 m, f 4 m, a 99 n, b 6 n", "decf", "abde", "bcadf")
    best = _costed(operation)[0].proposal
    assert best.family == "batch as columns"
    assert best.schedule.prims == Prims("f", "d", "e")  # four columns of d are a line of the output
    long = contraction("d 190 c, e 2 k, c 10 m, f 16 m, a 99 n, b 6 n", "decf", "abde", "bcadf")
    assert all(each.proposal.family != "batch as columns" for each in _costed(long))


def test_packed_blocks_hold_several_products_that_share_lines_of_an_input() -> None:
    operation = contraction("d 352 c, c 16 k, a 16 m, e 24 c, b 2 n", "caed", "cbde", "bdae")
    best = _costed(operation)[0].proposal.schedule
    assert str(best) == "seq d:16 seq a:8 seq d:1 seq b:1 seq a:1 prim m=e n=a k=c pack in0@2 d a c e"
    counted_by_none = contraction("d 352 c, c 16 k, a 16 m, e 24 c, b 2 n", "dcae", "cbde", "bdae")
    assert all(each.proposal.family != "several products" for each in _costed(counted_by_none))


def test_short_vectors_are_written_where_they_belong_while_the_next_tile_is_computed() -> None:
    operation = contraction("b 3 k, c 3 n, d 352 m, e 8 m, f 48 n, g 2 n, h 7 c", "ebdh", "gbchf", "dfcghe")
    packs = "pack in0@1 d b e pack in1@1 fcg b"
    written = parse_schedule(f"fuse fcg=f*c*g seq h:1 seq d:1 prim m=e n=fcg k=b {packs}")
    packs = "pack in0@1 d b e pack in1@2 c f g b pack out@2 d f c g e"
    staged = parse_schedule(f"seq h:1 seq f:8 seq f:1 seq c:1 seq d:1 prim m=e n=g k=b {packs}")
    # Measured as float64, vectors of 32 bytes: 5.9 ms written in place, 8.2 to 16 staged.
    assert cost_of(operation, written, LARGE).seconds < cost_of(operation, staged, LARGE).seconds


def test_packs_join_a_short_innermost_axis_with_the_sum_around_it() -> None:
    operation = contraction("c 144 c, e 2 m, b 10 m, a 80 k, d 12 n", "bcae", "cad", "cedb")
    schedule = Blocking(operation, Prims("b", "d", "a"), LARGE).schedule(Plan("vector block", packs_element=False))
    assert str(schedule) == "seq c:1 seq e:1 prim m=b n=d k=a pack in0@1 a e b"  # 10 rows of 160 elements each


def test_columns_of_a_batch_lie_outside_the_panel_in_a_pack() -> None:
    operation = contraction("c 8 c, m 480 m, k 4 k", "mck", "ck", "cm")
    schedule = Blocking(operation, Prims("m", "c", "k"), LARGE).schedule(Plan("vector block", packs_element=False))
    assert str(schedule).endswith("pack in0@0 m:48 c k m"), schedule


def test_vectors_of_a_pack_that_ends_with_another_axis_are_gathered() -> None:
    operation = contraction("c 8 c, m 48 m, k 64 k", "mck", "ck", "cm")
    last, inside = (
        cost_of(operation, parse_schedule(f"seq m:48 prim m=m n=c k=k pack in0@0 {layout}"), AVX512)
        for layout in ("c k m", "k m c")
    )
    assert inside.arithmetic > 4 * last.arithmetic


def test_an_input_that_varies_along_vectors_is_no_broadcast() -> None:
    operation = contraction("b 16 c, m 32 m, n 32 n, k 16 k", "mbk", "bnk", "mnb")
    in_place, packed = (
        next(each.cost.arithmetic for each in _costed(operation) if each.proposal.family == family)
        for family in ("vector block, element in place", "element once")
    )
    lanes = 16  # each product of vectors has one of its own to put together, element by element
    assert lanes / 2 < in_place / packed < 2 * lanes


def test_packed_vectors_of_both_inputs_are_so_few_that_l1_holds_them() -> None:
    """None is used twice in a tile: 16 x 3 products of 8 columns and 16 lanes are half of L1."""
    operation = contraction("a 200 m, b 64 n, c 36 c, d 16 k, e 24 k", "eadc", "ebdc", "abc")
    schedule = Blocking(operation, Prims("c", "b", "d", "e"), LARGE).schedule(
        Plan("element once", element_first=True, panels=True)
    )
    loops = "seq c:16 seq e:3 seq a:1 prim m=c n=b k=d batch=e"
    assert schedule is not None and str(schedule).startswith(loops), schedule


def test_parts_of_packed_rows_that_both_inputs_have_are_waited_for_in_l2() -> None:
    operation = contraction("a 48 m, b 40 n, c 80 n, d 80 c, e 32 k", "ead", "cbde", "abcd")
    wide, narrow = (
        cost_of(operation, parse_schedule(f"seq d:{d} seq c:16 seq b:1 seq a:1 {rest}"), LARGE)
        for rest in ("prim m=d n=c k=e pack in0@1 a e d pack in1@3 e c d",)
        for d in (64, 16)
    )
    assert wide.seconds > 1.5 * narrow.seconds  # measured: 2.5


def test_five_loops_are_tried_where_element_once_packs_vectors_again_for_each_block() -> None:
    """It takes 1.8 times as long as they do then, and 1.3 times as long as the best of the others."""
    operation = contraction("f 3 m, b 222 m, e 19 n, d 5 k, a 12 k, c 92 k", "cdbfa", "daec", "feb")
    assert _costed(operation, LARGE)[0].proposal.family == "five loops"


@pytest.mark.parametrize(("extent", "proposed"), [(32, True), (40, True), (70, True), (80, False)])
def test_rows_that_many_columns_meet_are_read_in_order_where_half_of_l1_keeps_the_output(
    extent: int, proposed: bool
) -> None:
    operation = contraction(f"b 8 c, n 5000 k, i {extent} m, j {extent} n", "bni", "bnj", "bij")
    assert ("rows in order" in [each.proposal.family for each in _costed(operation)]) is proposed


def test_a_plan_that_the_operation_has_no_room_for_is_none() -> None:
    blocks = Plan("staged blocks", staging=Staging.BLOCKS)
    adding = parse_operation(str(PRODUCT).replace("first=zero", "first=none"))
    assert Blocking(adding, identify_primitive(adding), LARGE).schedule(blocks) is None
    assert Blocking(PRODUCT, identify_primitive(PRODUCT), LARGE).schedule(blocks) is None  # sums are cut in blocks


def _chosen(operation: Operation, machine: Machine, threads: int = 1) -> Schedule:
    return optimize_operation(operation, machine, Options(threads))[1]


def test_axes_are_not_joined_where_blocks_are_of_one_index() -> None:
    strides = "in0 float32 a=64 b=-2 c=192 d=5952\nin1 float32 b=62 c=2\nout float32 a=248 b=-1 d=31"
    operation = parse_operation(
        f"gemm first=none last=none\naxis a 3 m\naxis b 31 c\naxis c 31 k\naxis d 8 m\n{strides}"
    )
    tiny = replace(AVX512, l1d=1024, l2=2048, l3=4096)
    assert every_proposal(operation, Schedule((), identify_primitive(operation)), Context(tiny))


def _costed(operation: Operation, machine: Machine = AVX512) -> list[Costed]:
    return costed(operation, Schedule((), identify_primitive(operation)), Context(machine))


def test_plans_are_varied_on_several_threads_as_on_one() -> None:
    """Arithmetic counts as threads share it, where it tells that variations cannot be better."""
    operation = contraction("a 52 m, b 56 m, c 56 n, d 52 n, e 56 k, f 52 k", "aefb", "fdce", "abcd")
    alone, *shared = ({axis.name for axis in _chosen(operation, AVX512, threads).fused} for threads in (1, 2, 4))
    assert "cd" in alone and all(each == alone for each in shared)


@pytest.mark.parametrize(
    "operation",
    [
        contraction("i 600 m, j 600 n, k 600 k", "ki", "kj", "ij", "complex64"),
        contraction("a 200 c, b 16 m, c 16 n, k 16 k", "abk", "akc", "abc", "complex64"),
        contraction("l 64 k, p 4 m, r 64 m, x 64 n", "lpr", "lx", "xpr", "complex64"),
        contraction("a 8 m, b 8 k, c 200 n, d 300 n", "ab", "cdb", "cda", "complex64"),
        contraction("a 64 k, b 64 k, i 16 m, j 16 n", "aib", "ajb", "ij", "complex64"),
    ],
    ids=["square", "batch", "state", "gate", "along a sum"],
)
def test_two_threads_halve_about_what_every_complex_proposal_costs(operation: Operation) -> None:
    schedule = Schedule((), identify_primitive(operation))
    alone, shared = (
        {each.proposal.schedule: each.cost.seconds for each in costed(operation, schedule, Context(AVX512, options))}
        for options in (Options(1), Options(2))
    )
    both = alone.keys() & shared.keys()
    assert len(both) > 2 and all(1.5 < alone[each] / shared[each] < 2.5 for each in both)


def test_little_work_takes_one_family() -> None:
    small = parse_operation(str(PRODUCT).replace("1600", "40"))
    assert str(_chosen(small, AVX512)) == "prim m=j n=i k=k"
    below, above = (parse_operation(str(PRODUCT).replace("1600", size)) for size in ("46", "47"))
    assert below.points < 100_000 < above.points
    assert len(_costed(below)) == 1 < len(_costed(above))


@pytest.mark.parametrize("machine", [AVX512, AVX2, LARGE], ids=["avx512", "avx2", "large L2"])
def test_large_products_pack_the_vector_operand(machine: Machine) -> None:
    packs = {pack.operand for pack in _chosen(COLUMNS, machine).packs}
    assert packs == {0, 1}
    assert 1 in {pack.operand for pack in _chosen(PRODUCT, machine).packs}


def test_blocks_shrink_with_the_caches() -> None:
    prims, plan = identify_primitive(COLUMNS), Plan("vector block")
    machines = [replace(AVX2, l2=size) for size in (2**20, 2**19, 2**18)]
    schedules = [Blocking(COLUMNS, prims, machine).schedule(plan) for machine in machines]
    elements = [_block(schedule) for schedule in schedules if schedule is not None]
    assert len(elements) == 3 and elements[0] > elements[1] > elements[2]
    costs = [
        [cost_of(COLUMNS, schedule, machine).seconds for machine in machines] for schedule in schedules if schedule
    ]
    assert costs[0][2] / costs[0][0] > costs[2][2] / costs[2][0] > 0.99  # a large block misses a large cache most


@pytest.mark.parametrize("machine", [AVX512, AVX2], ids=["avx512", "avx2"])
def test_halving_the_second_cache_moves_the_choice_to_smaller_blocks(machine: Machine) -> None:
    """Each machine may take what any of them would propose: it is the cost that decides, not the target of a block."""
    rates = Rates(float32=200e9, float64=100e9, l2=180e9, l3=20e9, memory=10e9, stream=10e9)
    machines = [replace(machine, l2=2**size, rates=rates) for size in (21, 20, 19, 18)]
    prims, plan = identify_primitive(COLUMNS), Plan("vector block")
    made = [Blocking(COLUMNS, prims, each).schedule(plan) for each in machines]
    schedules = [schedule for schedule in made if schedule is not None]
    chosen = [min(schedules, key=lambda each: cost_of(COLUMNS, each, to).seconds) for to in machines]
    blocks = [_block(schedule) for schedule in chosen]
    assert blocks == sorted(blocks, reverse=True) and len(set(blocks)) > 2
    assert all(4 * block < each.l2 for block, each in zip(blocks, machines))  # bytes
    whole = [_block(_chosen(COLUMNS, each)) for each in machines]
    assert whole == sorted(whole, reverse=True) and len(set(whole)) > 2


@pytest.mark.parametrize("machine", [AVX2, LARGE], ids=["avx2", "large L2"])
def test_plans_that_pack_other_inputs_are_varied_where_they_take_up_to_a_quarter_longer(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Variations of the cheapest plan alone are fewer, of plans that take much longer more."""
    operation = fuse(contraction("a 700 m, d 20 m, b 20 n, c 700 k", "dac", "bc", "bad"))

    def proposed() -> set[Schedule]:
        found = costed(operation, Schedule((), identify_primitive(operation)), Context(machine))
        return {each.proposal.schedule for each in found}

    counts = [len(proposed())]
    for varied in (1.0, 2.5):
        monkeypatch.setattr("einloom.passes.contraction.choose.VARIED", varied)
        counts.append(len(proposed()))
    taken, cheapest_alone, many = counts
    assert cheapest_alone < taken < many


def test_packs_make_one_axis_of_several_only_where_the_schedule_may_say_so() -> None:
    operation = fuse(contraction("a 700 m, d 20 m, b 20 n, c 700 k", "dac", "bc", "bad"))
    for fuses in (True, False):
        found = costed(operation, Schedule((), identify_primitive(operation)), Context(AVX2, Options(fuses=fuses)))
        assert any(each.proposal.schedule.fused for each in found) == fuses


def _block(schedule: Schedule) -> int:
    """Elements of the packed block that L2 holds: the innermost one, whichever operand's it is."""
    pack = max(schedule.packs, key=lambda pack: pack.loop)
    left = {axis.name: axis.extent for axis in COLUMNS.axes}
    left |= {loop.axis: loop.step for loop in schedule.loops[: pack.loop]}
    return left["ij"[pack.operand]] * left["k"]


def test_halving_the_first_cache_moves_the_choice_to_panels_that_it_holds() -> None:
    """Of 24 columns while it has 64 KiB and more than these need, of 4 rows below."""
    chosen = {size: _chosen(COLUMNS, replace(AVX2, l1d=2**size)) for size in (17, 16, 15, 14, 13)}
    assert _keeps_vectors(chosen[17]) and not any(_keeps_vectors(chosen[size]) for size in (15, 14, 13))
    for size, schedule in chosen.items():
        depth = min(loop.step for loop in schedule.loops if loop.axis == "k")
        assert (24 if _keeps_vectors(schedule) else 4) * depth * 4 < 2**size


def test_halving_the_third_cache_moves_the_choice_to_smaller_blocks_of_the_output() -> None:
    """What each block of k adds to stays there: 16 MB of output, or half of it."""
    square = contraction("i 2000 m, j 2000 n, k 2000 k", "ki", "kj", "ij")
    whole, half = (_added_to(square, _chosen(square, replace(AVX2, l3=2**size))) for size in (25, 24))
    assert 2**24 > half >= whole // 2 > 0 and half < whole < 2**25


def _added_to(operation: Operation, schedule: Schedule) -> int:
    """Bytes of the output that a block of k adds to before the next one does."""
    left = {axis.name: axis.extent for axis in operation.axes}
    first = next(index for index, loop in enumerate(schedule.loops) if loop.axis == "k")
    left |= {loop.axis: loop.step for loop in schedule.loops[:first]}
    return left["i"] * left["j"] * 4


@pytest.mark.parametrize("machine", [AVX512, AVX2], ids=["avx512", "avx2"])
@pytest.mark.parametrize("cache", ["l1d", "l2", "l3"])
def test_half_a_cache_makes_no_proposal_cheaper(machine: Machine, cache: str) -> None:
    """By more than 3 %: of 2,637 proposals for 64 contractions 15 become cheaper by less."""
    smaller = replace(machine, **{cache: getattr(machine, cache) // 2})
    dearer = 0
    for operation in (COLUMNS, PRIME_COLUMNS, PRODUCT, *HALVED):
        for each in costed(operation, Schedule((), identify_primitive(operation)), Context(machine)):
            before, after = (cost_of(operation, each.proposal.schedule, to).seconds for to in (machine, smaller))
            assert after > 0.97 * before, each.proposal.schedule
            dearer += after > 1.03 * before
    assert dearer  # Some need what is gone.


def test_panels_of_the_vector_operand_stay_where_the_second_cache_is_slow() -> None:
    """Where fetching a vector takes as long as multiplying with it, a panel is kept for all columns of a block."""
    rates = Rates(float32=118e9, float64=59e9, l2=89e9, l3=52e9, memory=28e9, stream=22e9)
    slow, fast = (replace(AVX2, l2=2**20, rates=replace(rates, l2=l2)) for l2 in (89e9, 300e9))
    assert _keeps_vectors(_chosen(COLUMNS, slow))
    assert not _keeps_vectors(_chosen(COLUMNS, fast))


def _keeps_vectors(schedule: Schedule) -> bool:
    """Whether the innermost loop goes over columns, beside one panel of the vector operand."""
    return schedule.loops[-1].axis == "i"


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
    packed = {m: {pack.operand for pack in _chosen(parse_operation(text.format(m)), AVX2).packs} for m in (48, 192)}
    assert packed == {48: set(), 192: {0, 1}}


def test_rows_that_kernels_may_read_in_place_are_packed_where_they_are_long() -> None:
    """2,000 rows of 8 KB; not 1,600 of 6.4 KB, which copies that take no longer than what they do would pack as well.

    Twice as slow ones would pack neither.
    """
    longer = contraction("i 2000 m, j 2000 n, k 2000 k", "ik", "kj", "ij")
    packed = [{pack.operand for pack in _chosen(operation, AVX512).packs} for operation in (PRODUCT, longer)]
    assert packed == [{1}, {0, 1}]


SHORT_SUMS, EVEN_SHORT_SUMS = (
    fuse(contraction(f"d 20 m, e 20 m, a 16 m, g 24 k, f {rows} n, b 16 n, c 20 n", "dega", "gfbc", "abcdef"))
    for rows in (20, 32)
)


def test_large_outputs_of_short_sums_are_written_in_order_where_stores_hardly_wait() -> None:
    schedule = _chosen(SHORT_SUMS, ZEN3)
    depths = {axis: i for i, (axis, *_) in enumerate(schedule.loops)}
    assert sorted(depths, key=lambda axis: -SHORT_SUMS.strides(SHORT_SUMS.output)[axis]) == [*depths]
    assert {(pack.operand, pack.loop) for pack in schedule.packs} == {(0, 0), (1, 0)}
    assert any(pack.operand == OUTPUT for pack in _chosen(SHORT_SUMS, replace(ZEN3, features=AVX2.features)).packs)


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


@pytest.mark.parametrize(("columns", "loops"), [(170, "seq i:4"), (171, "seq i:4 seq j:24")])
def test_tiles_that_are_written_in_order_go_along_rows_if_half_of_l1_keeps_what_they_read(
    columns: int, loops: str
) -> None:
    operation = contraction(f"i 4000 m, j {columns} n, k 24 k", "ik", "kj", "ij")
    found = Blocking(operation, identify_primitive(operation), ZEN3)
    schedule = found.schedule(Plan("written in order", panels=True, in_order=True))
    assert str(schedule).startswith(f"{loops} prim m=j")


def test_lines_arrive_ahead_of_stores_where_kernels_write_a_few_rows_at_once() -> None:
    """Up to 16 columns at a time, of which tiles have four; where stores wait they do so however many there are."""
    operation = contraction("b 24 m, c 84 m, d 20 n, a 312 n, e 36 k", "bce", "dea", "bdca")

    def waits(loops: str, machine: Machine) -> float:
        return cost_of(operation, parse_schedule(f"{loops} prim m=a n=c k=e"), machine).waits

    few, down = "seq b:1 seq d:1 seq c:12", "seq b:1 seq d:1 seq c:21"
    plain = replace(ZEN3, features=AVX2.features)
    assert 0 <= 20 * waits(few, ZEN3) < waits(down, ZEN3)
    assert waits(down, plain) < 1.1 * waits(few, plain)


@pytest.mark.parametrize(
    ("operation", "machine", "layout"),
    [
        (SHORT_SUMS, replace(AVX2, l2=2**19), "d*e:4 g d*e"),
        (SHORT_SUMS, AVX512, "d*e:4 d*e g"),
        (EVEN_SHORT_SUMS, AVX512, "d*e:4 g d*e"),
    ],
)
def test_columns_lie_side_by_side_beside_rests_of_vectors_shorter_than_a_line(
    operation: Operation, machine: Machine, layout: str
) -> None:
    """A copy turns the operand in any case; on AVX-512 kernels group columns of a rest and read along k."""
    found = Blocking(operation, identify_primitive(operation), machine, tile=(24, 4))
    assert f"pack in0@0 a {layout}" in str(found.schedule(Plan("written in order", panels=True, in_order=True)))


@pytest.mark.parametrize(("l2", "loops"), [(2**19, "seq b:1 seq d:1"), (3 * 2**17, "seq a:48 seq b:1 seq d:1")])
def test_rows_that_follow_each_other_stay_whole_where_a_copy_turns_the_output(l2: int, loops: str) -> None:
    """If the block need not grow to more than twice its size: each `eb` of `dbea` is one run of 28 KB."""
    operation = contraction("d 84 m, b 84 m, e 84 k, a 84 m, c 24 n", "dbea", "ec", "abcd")
    found = [str(each.proposal.schedule) for each in _costed(operation, replace(AVX2, l2=l2))]
    assert any(each.startswith(f"{loops} prim m=a") for each in found), found


def test_parts_of_a_sum_that_leave_the_second_cache_are_added_to() -> None:
    operation = contraction("a 200 m, b 4000 n, k 64 k", "ka", "kb", "ab")

    def again(step: int) -> float:
        schedule = parse_schedule(f"seq b:2000 seq k:{step} prim m=b n=a k=k pack out@1 a b")
        found = traffic_of(Flow(operation, schedule, ZEN3))
        return next(each.again for each in found if each.name == "scratch of out")

    assert [again(step) for step in (64, 32, 16)] == pytest.approx([0, 1 / 2, 3 / 4], abs=0.01)


def test_slow_streams_keep_the_output_out_of_scratch() -> None:
    operation = contraction("e 400 m, g 24 k, a 16 m, f 20 n, c 320 n", "ega", "gfc", "acef")
    rates = Rates(float32=200e9, float64=100e9, l2=180e9, l3=50e9, memory=30e9, stream=30e9)
    fast, slow = (replace(AVX512, rates=replace(rates, stream=stream)) for stream in (30e9, 1e9))
    assert any(pack.operand == OUTPUT for pack in _chosen(operation, fast).packs)
    assert not any(pack.operand == OUTPUT for pack in _chosen(operation, slow).packs)


def test_the_cheapest_is_chosen_the_same_each_time_and_all_are_shown() -> None:
    found = _costed(fuse(COLUMNS))
    seconds = [each.cost.seconds for each in found]
    assert seconds == sorted(seconds) and len(found) > 4
    assert _chosen(COLUMNS, AVX512) == found[0].proposal.schedule == _chosen(COLUMNS, AVX512)
    shown = explain_passes(COLUMNS, AVX512)
    assert all(f"{each.proposal.family}: {each.proposal.schedule}" in shown for each in found)
    assert all(f"{each.cost.seconds * 1e3:.3g} ms" in shown for each in found)


MATRICES = replace(AVX512, features=AVX512.features | {TILES, "amxtile", "amxint8"})
STREAMING = replace(NEON, features=NEON.features | {"sme", "sme512", "i8mm"})
BATCHED_ROWS = """gemm first=zero last=none
axis a 17 c
axis b 17 m
axis c 33 c
axis d 17 k
in0 uint8 a=9537 b=561 c=17 d=1
in1 uint8 a=33 c=1 d=561
out uint8 a=561 b=33 c=1"""


@pytest.mark.parametrize("machine", [MATRICES, STREAMING], ids=["amx", "sme"])
def test_tiles_take_no_axis_that_both_inputs_have(machine: Machine) -> None:
    """Vectors run along c, which is a batch: no row of one input meets all of the other's, in tiles of AMX or SME."""
    operation = parse_operation(BATCHED_ROWS)
    chosen, schedule = optimize_operation(operation, machine, Options(1))
    assert bind(chosen, schedule).body
    for each in costed(chosen, replace(schedule, loops=(), packs=()), Context(machine)):
        assert each.proposal.family != "tiles" and "outer" not in each.proposal.family


@pytest.mark.parametrize("summed", [600, 20_000, 1_000_000])
@pytest.mark.parametrize("rows", [40, 3000])
def test_scratch_of_matrix_tiles_stays_below_its_limit(summed: int, rows: int) -> None:
    text = f"""gemm first=zero last=none
    axis m {rows} m
    axis n 500 n
    axis k {summed} k
    in0 int8 m={summed} k=1
    in1 int8 n=1 k=500
    out int32 m=500 n=1"""
    chosen, schedule = optimize_operation(parse_operation(text), MATRICES, Options(1))
    assert any(pack.grouped for pack in schedule.packs)
    assert bind(chosen, schedule).scratch_bytes <= SCRATCH_LIMIT
