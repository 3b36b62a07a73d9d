"""Texts to values and back, and refusals with a caret at the place."""

from __future__ import annotations

import random

import pytest

from einloom.errors import ScheduleError
from einloom.ir.loop_string import Level, Literal, LoopString
from einloom.ir.loop_text import parse_loop_string
from einloom.ir.sharing import Clause, Dimension, Policy, Ways

from .strings import random_specs, random_string, with_literal


def test_every_part() -> None:
    string = parse_loop_string("bC{R:16}a[0,64,2,(16,8)]B{C:4}[,,3,()]cb|")
    assert string.levels == (
        Level("b"),
        Level("c", True, Ways(Dimension.ROWS, 16)),
        Level("a", literal=Literal(0, 64, 2, (16, 8))),
        Level("b", True, Ways(Dimension.COLUMNS, 4), Literal(step=3)),
        Level("c"),
        Level("b", barrier=True),
    )
    assert string.grid is not None and string.grid.threads == 64
    assert parse_loop_string("aBC@schedule(guided, 4)").clause == Clause(Policy.GUIDED, 4)
    assert parse_loop_string("aBC@schedule(static)").group == range(1, 3)


@pytest.mark.parametrize("seed", range(200))
def test_texts_parse_back(seed: int) -> None:
    rng = random.Random(seed)
    string = with_literal(rng, random_string(rng, 3), random_specs(rng, 3))
    assert parse_loop_string(str(string)) == string


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ("bc aB", 2, "' ' is no loop"),
        ("bcäB", 2, "'ä' is no loop"),
        ("|ab", 0, "'|' is no loop"),
        ("aBcA", 3, "second parallel loop"),
        ("aC{R:4}cB", 8, "without a dimension of the grid"),
        ("ac{R:4}", 1, "loop c has {R:4}, but is not parallel"),
        ("aC{R:4}B{R:2}", 7, "dimension R"),
        ("aC{R:0}", 1, "shared 0 ways"),
        ("aC{X:4}", 3, "'X' is no dimension"),
        ("aC{R4}", 4, "':' is expected"),
        ("aC{R:4", 6, "'}' is expected"),
        ("aC{R:x}", 5, "a number"),
        ("a[0,4,1]", 7, "',' is expected"),
        ("a[0,4,1,(2,)]", 11, "a number"),
        ("a[0,4,1,()", 10, "']' is expected"),
        ("a[0,4,1,()]ba[,,2,()]", 12, "two literals"),
        ("aB|C", 1, "between loops that are collapsed"),
        ("aBc|", 2, "inside a parallel loop"),
        ("aBc@", 4, "'schedule(' is expected"),
        ("aBc@schedule(fair)", 13, "no such schedule"),
        ("aBc@schedule(dynamic,)", 21, "a number"),
        ("aBc@schedule(dynamic,1)x", 23, "ends with its clause"),
        ("abc@schedule(dynamic,1)", 3, "no loop is parallel"),
        ("aB{R:2}@schedule(static)", 7, "threads of a grid"),
        ("", 0, "names no loop"),
        ("@schedule(static)", 0, "names no loop"),
        ("aB@schedule(dynamic,0)", 2, "pieces of 0"),
        ("A{R:4096}B{C:2}", 9, "a grid of 8,192 threads"),
        ("A{R:" + "9" * 19 + "}", 4, "at most 18 digits"),
    ],
)
def test_refusals_mark_the_place(text: str, place: int, problem: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        parse_loop_string(text)
    first, quoted, caret, advice = str(caught.value).splitlines()
    assert problem in first
    assert quoted.strip() == text
    assert caret == "  " + " " * place + "^"
    assert advice.startswith("  ")


def test_a_long_string_is_quoted_around_the_place() -> None:
    with pytest.raises(ScheduleError, match=rf"^300 letters\n  {'a' * 124}\n {{82}}\^\n  At most 256 go\.$"):
        parse_loop_string("a" * 300)


def test_a_value_made_by_hand_is_checked_like_a_text() -> None:
    with pytest.raises(ScheduleError, match="second parallel loop"):
        LoopString((Level("a", True), Level("b"), Level("c", True)))
