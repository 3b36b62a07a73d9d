"""What plans become: `Blocking` sizes loops and packs for the caches."""

from __future__ import annotations

from dataclasses import replace

import pytest

from einloom.ir.operation import Operation
from einloom.ir.schedule import Prims
from einloom.ir.text import parse_operation
from einloom.machine import AVX2, AVX512, Machine
from einloom.passes.contraction.blocking import Blocking
from einloom.passes.contraction.plan import Plan, Staging
from einloom.passes.identify import identify_primitive
from einloom.passes.model.cost import cost_of

from .choices import (
    COLUMNS,
    EVEN_SHORT_SUMS,
    FOUR,
    LARGE,
    PRIME_COLUMNS,
    SHORT_SUMS,
    ZEN3,
    chosen_schedule,
    packed_block,
)
from .operations import PRODUCT, contraction


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


def test_products_one_by_one_add_some_rows_at_a_time() -> None:
    """Rows of vectors lie 8 KiB apart: all of them at once would push out each other of L1."""
    operation = contraction("z 16 c, a 48 m, b 128 n, k 128 k", "zak", "kzb", "abz")
    golden_cove = replace(AVX2, l1d=48 * 1024, l2=2**21)
    assert str(chosen_schedule(operation, golden_cove)) == "seq z:1 seq k:32 prim m=b n=a k=k pack out@0 z a b"
    few = Plan("one by one", packs_vector=False, packs_element=False, staging=Staging.PRODUCTS, few_steps=True)
    prims, short = Prims("b", "a", "k"), contraction("z 16 c, a 48 m, b 128 n, k 30 k", "zak", "kzb", "abz")
    assert Blocking(operation, prims, golden_cove).schedule(few) is not None
    assert Blocking(short, prims, golden_cove).schedule(few) is None  # There are no parts.


def test_kernels_take_a_vector_axis_whole_that_would_be_two_panels() -> None:
    plan, prims = Plan("vector block", whole_rows=True), identify_primitive(FOUR)
    schedule = Blocking(FOUR, prims, LARGE).schedule(plan)
    assert schedule is not None and all(loop.axis != "d" for loop in schedule.loops)
    three = contraction("a 52 m, b 56 m, c 56 n, d 48 n, e 56 k, f 56 k", "aefb", "fdce", "abcd")
    assert Blocking(three, prims, LARGE).schedule(plan) is None


def test_packs_join_a_short_innermost_axis_with_the_sum_around_it() -> None:
    operation = contraction("c 144 c, e 2 m, b 10 m, a 80 k, d 12 n", "bcae", "cad", "cedb")
    schedule = Blocking(operation, Prims("b", "d", "a"), LARGE).schedule(Plan("vector block", packs_element=False))
    assert str(schedule) == "seq c:1 seq e:1 prim m=b n=d k=a pack in0@1 a e b"  # 10 rows of 160 elements each


def test_columns_of_a_batch_lie_outside_the_panel_in_a_pack() -> None:
    operation = contraction("c 8 c, m 480 m, k 4 k", "mck", "ck", "cm")
    schedule = Blocking(operation, Prims("m", "c", "k"), LARGE).schedule(Plan("vector block", packs_element=False))
    assert str(schedule).endswith("pack in0@0 m:48 c k m"), schedule


def test_packed_vectors_of_both_inputs_are_so_few_that_l1_holds_them() -> None:
    """None is used twice in a tile: 16 x 3 products of 8 columns and 16 lanes are half of L1."""
    operation = contraction("a 200 m, b 64 n, c 36 c, d 16 k, e 24 k", "eadc", "ebdc", "abc")
    schedule = Blocking(operation, Prims("c", "b", "d", "e"), LARGE).schedule(
        Plan("element once", element_first=True, panels=True)
    )
    loops = "seq c:16 seq e:3 seq a:1 prim m=c n=b k=d batch=e"
    assert schedule is not None and str(schedule).startswith(loops), schedule


def test_a_plan_that_the_operation_has_no_room_for_is_none() -> None:
    blocks = Plan("staged blocks", staging=Staging.BLOCKS)
    adding = parse_operation(str(PRODUCT).replace("first=zero", "first=none"))
    assert Blocking(adding, identify_primitive(adding), LARGE).schedule(blocks) is None
    assert Blocking(PRODUCT, identify_primitive(PRODUCT), LARGE).schedule(blocks) is None  # sums are cut in blocks


def test_blocks_shrink_with_the_caches() -> None:
    prims, plan = identify_primitive(COLUMNS), Plan("vector block")
    machines = [replace(AVX2, l2=size) for size in (2**20, 2**19, 2**18)]
    schedules = [Blocking(COLUMNS, prims, machine).schedule(plan) for machine in machines]
    elements = [packed_block(schedule) for schedule in schedules if schedule is not None]
    assert len(elements) == 3 and elements[0] > elements[1] > elements[2]
    costs = [
        [cost_of(COLUMNS, schedule, machine).seconds for machine in machines] for schedule in schedules if schedule
    ]
    assert costs[0][2] / costs[0][0] > costs[2][2] / costs[2][0] > 0.99  # a large block misses a large cache most


@pytest.mark.parametrize(("columns", "loops"), [(170, "seq i:4"), (171, "seq i:4 seq j:24")])
def test_tiles_that_are_written_in_order_go_along_rows_if_half_of_l1_keeps_what_they_read(
    columns: int, loops: str
) -> None:
    operation = contraction(f"i 4000 m, j {columns} n, k 24 k", "ik", "kj", "ij")
    found = Blocking(operation, identify_primitive(operation), ZEN3)
    schedule = found.schedule(Plan("written in order", panels=True, in_order=True))
    assert str(schedule).startswith(f"{loops} prim m=j")


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
