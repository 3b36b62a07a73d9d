"""What is wrong with a schedule that somebody typed, and what to do about it."""

from __future__ import annotations

import pytest

from einloom.errors import ScheduleError
from einloom.ir.bind import bind
from einloom.ir.text import parse_operation, parse_schedule

PRODUCT = parse_operation(
    """
    gemm first=zero last=none
    axis m 40 m
    axis n 49 n
    axis k 21 k
    in0 float32 m=21 k=1
    in1 float32 n=1 k=49
    out float32 m=49 n=1
    """
)
COPY = parse_operation("identity first=none last=none\naxis i 8 c\nin0 float32 i=1\nout float32 i=1")


@pytest.mark.parametrize(
    ("schedule", "advice"),
    [
        ("m:4", r"^  m:4$\n.*\n  Begin with seq, shared"),
        ("seq m", "Loops are axes with steps"),
        ("sfc m:4:5", "Loops are axes with steps"),
        ("prim m=m m=n", "m=, n=, k= and batch=, each once"),
        ("prim m=m n=n k=k pack in0", "such as in0@2"),
        ("fuse cd", "such as cd=c[*]d"),
        ("team four", "a number of threads"),
        ("seq m:0 prim m=m n=n k=k", "the loop over m has step 0\n  Give it a step of at least 1"),
        ("prim m=m n=n k=m", "takes a dimension twice: m n m\n  Name each once"),
        ("prim m=m n=n batch=n", "takes a dimension twice"),
        ("seq k:1 prim m=m k=n", r"dimension n \(role n\) cannot be the k of gemm\n  Take a dimension of role k"),
        ("seq m:1 prim m=k n=n", "dimension k is contracted .*\n  Take a dimension of the output"),
        ("prim m=m n=n k=k pack in0@3 k m", "at loop 3 of 0 loops\n  Give 0 "),
        ("prim m=m n=n k=k pack in7@0 k m", "operand 7, which there is not\n  Give 0 to 1 or, the output, -1"),
        ("prim m=m n=n k=k pack in0@0 k m pack in0@0 m k", "in0 is packed twice\n  Keep one"),
        ("prim m=m n=n k=k pack in0@0:1e k m", "multiplies no complex numbers here\n  Leave :1e out"),
        ("prim m=m n=n k=k pack in0@0 k m:0 m", "the digit m has step 0\n  Give it a step"),
        ("prim m=m n=n k=k pack in0@0 n k m", "does not depend on the axis n\n  Its axes are m k: "),
        ("prim m=m n=n k=k pack in0@0 k", "lacks the innermost digit of axis m\n  Name m without a step"),
        ("prim m=m n=n k=k pack in0@0 m:4 m:3 k m", "m:3 does not fit into 4\n  Panels of an axis get smaller"),
        ("prim m=m n=n k=k pack in0@0 m:4 k m", "block of 40 m .* panel of 4\n  Add a loop over m with step 4"),
        ("seq m:6 seq m:2 prim m=m n=n k=k pack in0@0 m:4 k m", "in steps of 2 does not follow .*\n  Take steps"),
    ],
)
def test_a_wrong_schedule_says_what_to_do(schedule: str, advice: str) -> None:
    with pytest.raises(ScheduleError, match=f"(?m){advice}"):
        bind(PRODUCT, parse_schedule(schedule))


def test_a_copy_takes_nothing_that_is_summed() -> None:
    with pytest.raises(
        ScheduleError, match="cannot be the k of identity\n  Leave k=i out, and loop over i with step 1"
    ):
        bind(COPY, parse_schedule("prim k=i"))
