"""What copies between scratch and tensors turn, and which rows they take together."""

from __future__ import annotations

import pytest

from einloom.ir.bind import bind
from einloom.ir.text import parse_schedule
from einloom.machine import AVX2, AVX512
from einloom.passes.model.copied import copied_matrix, copied_run, counted_piece, finds_elements
from einloom.passes.model.cost import cost_of
from einloom.passes.model.flow import Flow

from .operations import contraction


def test_copies_turn_matrices_between_scratch_and_tensor() -> None:
    operation = contraction("c 24 n, b 504 m, a 5 n, d 64 k", "bd", "dca", "cba")
    schedule = parse_schedule("fuse ca=c*a seq d:64 prim m=ca n=b k=d pack out@0 b ca")
    flow = Flow(operation, schedule, AVX512)
    assert copied_run(flow, 2) == 5  # along a; c follows b in the tensor
    schedule = parse_schedule("seq c:1 seq d:64 prim m=b n=a k=d pack out@1 a b")
    assert copied_matrix(Flow(operation, schedule, AVX512), 2) == (504, 5, False, True)  # b begins where a ends
    schedule = parse_schedule("seq b:1 seq d:64 prim m=c n=a k=d pack out@1 a c")
    assert copied_matrix(Flow(operation, schedule, AVX512), 2) == (24, 5, True, False)  # c lies 2,520 elements apart


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


@pytest.mark.parametrize(
    ("panel", "piece"), [(24, 26.0), (10, None), (7, None), (35, None)], ids=["24", "repeated", "a row", "five rows"]
)
def test_copies_that_count_rows_move_a_few_elements_a_call(panel: int, piece: float | None) -> None:
    """Rows of seven: one, and all that is contiguous beside it, unless a few pieces repeat or panels are whole rows."""
    operation = contraction("b 7 m, c 110 m, a 8 m, e 26 k, d 19 n", "bcae", "ed", "dacb")
    schedule = parse_schedule(f"fuse cb=c*b seq a:1 seq cb:{panel} prim m=cb n=d k=e pack in0@1 cb:{panel} e cb")
    flow = Flow(operation, schedule, AVX2)
    assert counted_piece(flow, 0) == piece
    assert ("in0.c.rows 0:770:1 " in str(bind(operation, schedule))) is (piece is not None)
