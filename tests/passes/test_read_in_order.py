"""Contractions that use each element of an input once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from einloom.ir.bind import bind
from einloom.ir.operation import Operation
from einloom.ir.text import parse_operation, parse_schedule
from einloom.machine import AVX512
from einloom.passes.model.tiles import SCRATCH_LIMIT
from einloom.passes.pipeline import explain_passes, optimize_operation
from einloom.passes.read_in_order import read_in_order
from einloom.plan.pairs import on_reals

from .operations import contraction


def _sum(out: str, dtype: str = "float32") -> Operation:
    """A sum of an input of three axes, whose output has one or two of them; row-major."""
    extents = {"a": 20, "b": 30, "c": 500}
    strides = " ".join(f"{name}={1 if name == out[-1] else extents[out[-1]]}" for name in out)
    return parse_operation(
        f"""
        sum first=zero last=none
        axis a 20 {"m" if "a" in out else "k"}
        axis b 30 {"m" if "b" in out else "k"}
        axis c 500 {"m" if "c" in out else "k"}
        in0 {dtype} a=15000 b=500 c=1
        out {dtype} {strides}
        """
    )


@pytest.mark.parametrize(
    "operation, schedule",
    [
        (contraction("i 4000 m, j 4000 k", "ij", "j", "i"), "seq i:8 prim m=i k=j"),
        (contraction("i 4000 k, j 4000 m", "ij", "i", "j"), "seq i:8 prim m=j k=i"),
        (contraction("i 400 k, j 40000 m", "ij", "i", "j"), "seq j:13334 seq i:8 prim m=j k=i"),
        (contraction("b 64 c, j 5000 k", "bj", "bj", "b"), "seq b:1 prim k=j"),
        (contraction("i 20 m, j 900000 k", "ij", "j", "i"), "seq j:14517 seq i:8 prim m=i k=j"),
        (contraction("b 9 c, i 70 m, j 80 k", "bij", "bj", "bi"), "seq b:1 seq i:8 prim m=i k=j"),
        (contraction("i 400 m, j 400 k, l 50 k", "ijl", "lj", "i"), "seq j:1 seq i:8 prim m=i k=l pack in1@0 j l"),
        (_sum("b"), "seq a:1 seq b:8 prim m=b k=c"),
        (_sum("a"), "seq a:8 prim m=a k=b*c"),
        (_sum("c"), "seq a*b:8 prim m=c k=a*b"),
    ],
)
def test_the_large_input_is_read_as_it_lies(operation: Operation, schedule: str) -> None:
    machine = replace(AVX512, l2=2**20)
    assert optimize_operation(operation, machine)[1] == parse_schedule(schedule)


@pytest.mark.parametrize(
    "operation, schedule",
    [
        (contraction("a 900 c, b 900 c", "ab", "ab", "ab"), "seq a*b:2046 prim m=a*b pack out@1 a*b"),
        (contraction("a 900 c, b 5000 m", "ab", "a", "ab"), "seq a:1 seq b:1667 prim m=b pack out@2 b"),
        (contraction("a 3 k, b 900000 m", "ab", "a", "b"), "seq b:2046 prim m=b k=a pack out@1 b"),
        (
            contraction("a 1024 c, b 1024 c", "ab", "ba", "ab"),
            "seq b:512 seq a:32 seq a:1 prim m=b pack in1@2 a b pack out@2 a b",
        ),
        (contraction("a 1025 c, b 1001 c", "ab", "ba", "ab"), "seq a:1 prim m=b"),  # L2 keeps 1,001 lines
        (contraction("a 200 c, b 900 c", "ab", "ab", "ab"), "seq a*b:16364 prim m=a*b"),  # L2 keeps the output
        (contraction("a 9000 c, b 90 m", "ab", "a", "ab"), "seq a:1 prim m=b"),  # runs of 360 bytes
    ],
)
def test_large_outputs_that_are_written_once_pass_the_caches(operation: Operation, schedule: str) -> None:
    machine = replace(AVX512, l1d=48 * 1024, l2=2**20)
    assert optimize_operation(operation, machine)[1] == parse_schedule(schedule)


@pytest.mark.parametrize(
    "operation, schedule",
    [
        (_sum("ca"), "seq a:1 seq b:8 prim m=c k=b pack out@0 a c"),
        (_sum("cb"), "seq a:8 seq b:1 prim m=c k=a pack out@0 b c"),
        (
            contraction("a 900 m, b 20 k, c 500 m", "abc", "b", "ca"),
            "seq a:129 seq a:1 seq b:8 prim m=c k=b pack out@1 a c",  # L2 holds a part
        ),
        (
            contraction("a 8 k, b 900 m, c 9000 m", "abc", "a", "cb"),
            "seq b:16 seq c:4500 seq a:8 seq b:1 prim m=c k=a pack out@2 b c",  # long rows in parts
        ),
    ],
)
def test_sums_are_added_in_scratch_where_the_output_lies_across(operation: Operation, schedule: str) -> None:
    machine = replace(AVX512, l2=2**20)
    assert optimize_operation(operation, machine)[1] == parse_schedule(schedule)


def test_short_rows_are_read_in_order_where_nothing_is_summed_or_a_batch_is() -> None:
    machine = replace(AVX512, l1d=48 * 1024)
    for operation, schedule in (
        (contraction("a 3000 m, b 13 c", "ab", "b", "ab"), "seq a:79 prim m=b n=a"),
        (contraction("a 40 c, b 7 m, c 13 c", "abc", "ac", "abc"), "seq a:1 prim m=c n=b"),
        (contraction("b 3000 c, i 20 k", "bi", "bi", "b"), "seq b:1 prim k=i"),
        (contraction("b 30 c, i 70 m, j 20 k", "bij", "bj", "bi"), "seq b:1 seq i:8 prim m=i k=j"),
    ):
        assert optimize_operation(operation, machine)[1] == parse_schedule(schedule)


@pytest.mark.parametrize(
    "operation",
    [
        contraction("a 4096 m, b 20 k, c 4096 m", "abc", "b", "ca"),
        contraction("i 20 m, j 3000 k, l 500 k", "ijl", "lj", "i", "float16"),
    ],
)
def test_scratch_has_a_limit_however_much_the_second_level_cache_holds(operation: Operation) -> None:
    fused, schedule = optimize_operation(operation, replace(AVX512, l2=2**26, l3=2**27))
    assert bind(fused, schedule).scratch_bytes <= SCRATCH_LIMIT


@pytest.mark.parametrize(
    "out, dtype, schedule",
    [
        ("ab", "complex64", "seq a*b:8 prim m=parts n=a*b k=c"),
        ("a", "complex128", "seq a:8 prim m=parts n=a k=b*c"),
        ("b", "complex64", "seq a:1 seq b:8 prim m=parts n=b k=c"),
        ("", "complex64", "seq a*b*c:300000 prim m=parts k=a*b*c"),
    ],
)
def test_both_parts_of_complex_numbers_go_along_in_vectors(out: str, dtype: str, schedule: str) -> None:
    summed = on_reals(_sum(out, dtype))
    assert optimize_operation(summed, replace(AVX512, l2=2**22))[1] == parse_schedule(schedule)


def test_sums_from_memory_take_row_after_row_where_l1_holds_what_they_are_added_to() -> None:
    """The input has 1.2 MB, the output 2,000 bytes."""
    for machine, rows in (
        (replace(AVX512, l3=2**20), 1),
        (replace(AVX512, l3=2**21), 8),
        (replace(AVX512, l3=2**20, l1d=2048), 8),
    ):
        assert optimize_operation(_sum("c"), machine)[1] == parse_schedule(f"seq a*b:{rows} prim m=c k=a*b")


@pytest.mark.parametrize(
    "operation",
    [
        contraction("i 400 m, j 400 k, n 4 n", "ij", "jn", "in"),  # elements are used four times
        contraction("i 400 m, j 9 k", "ij", "j", "i"),  # runs of nine elements
        contraction("i 400 m, j 4000 k, l 50 k", "ijl", "lj", "i"),  # the other input does not follow, nor fit
        contraction("a 400 m, b 4 k, c 500 m", "abc", "b", "ca"),  # sums of a few
        contraction("a 400 m, b 40 k, c 500 c", "abc", "cb", "ca"),  # the other input lies across as well
    ],
)
def test_others_are_left_to_blocks(operation: Operation) -> None:
    assert read_in_order(operation, AVX512) is None


@pytest.mark.parametrize(
    "operation, way",
    [
        (contraction("i 4000 m, j 4000 k", "ij", "j", "i"), "vectors along the sum over j"),
        (contraction("i 4000 k, j 4000 m", "ij", "i", "j"), "rows are added"),
        (contraction("a 90 m, b 30 k, c 500 m", "abc", "b", "ca"), "rows are added in scratch, a copy turns them"),
        (contraction("a 900 c, b 5000 m", "ab", "a", "ab"), "pieces of the output pass the caches"),
        (contraction("a 90 c, b 500 m", "ab", "a", "ab"), "rows are written as they are read"),
    ],
)
def test_it_says_why(operation: Operation, way: str) -> None:
    said = f"each element of in0 is used once: read as it lies, {way}"
    assert said in explain_passes(operation, replace(AVX512, l2=2**20))
