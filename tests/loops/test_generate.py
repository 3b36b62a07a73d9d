"""The generator of strings, against a brute force over all texts."""

from __future__ import annotations

import itertools

import pytest

from einloom.errors import ScheduleError
from einloom.ir.loop_string import LETTERS
from einloom.ir.loop_text import parse_loop_string
from einloom.loops.generate import LoopStrings


def brute_force(letters: str, summed: str) -> set[str]:
    """All orders of the letters, every choice of cases, those that the parser takes and that share no sum."""
    found = set()
    for order in set(itertools.permutations(letters)):
        for upper in itertools.product((False, True), repeat=len(order)):
            text = "".join(letter.upper() if case else letter for letter, case in zip(order, upper))
            try:
                parse_loop_string(text)
            except ScheduleError:
                continue
            if not any(letter.upper() in text for letter in summed):
                found.add(text)
    return found


@pytest.mark.parametrize(
    ("specification", "letters"),
    [("a_0_K", "a"), ("a_0_M,b_1_N", "abb"), ("a_0_K,b_1_M,c_1_N", "abbcc"), ("b_2_M,a_1_K", "aabbb")],
)
def test_all_distinct_legal_strings(specification: str, letters: str) -> None:
    strings = LoopStrings(specification)
    listed = list(strings)
    assert set(listed) == brute_force(letters, "a" if "K" in specification else "")
    assert len(listed) == len(set(listed)) == len(strings)
    assert [strings[place] for place in range(len(strings))] == listed
    assert strings[-1] == listed[-1] and strings[1:3] == listed[1:3]


def test_counting_lists_nothing() -> None:
    strings = LoopStrings(",".join(f"{letter}_3_M" for letter in "abcdefg"))
    assert strings.total > 10**20
    assert strings[10**20] == strings[10**20] and parse_loop_string(strings[10**20]).letters
    assert next(iter(strings)).startswith("aaaabbbb")


def test_twenty_six_loops_are_counted() -> None:
    strings = LoopStrings(",".join(f"{letter}_0_M" for letter in LETTERS))
    assert strings.total > 2**88 and parse_loop_string(strings[strings.total - 1]).letters
    assert len(LoopStrings("a_0_M,b_0_N,c_0_M")) == len(list(LoopStrings("a_0_M,b_0_N,c_0_M")))


def test_longer_strings_than_there_are() -> None:
    with pytest.raises(ScheduleError, match="257 letters"):
        LoopStrings("a_99_M,b_99_N,c_56_K")
    LoopStrings("a_99_M,b_99_N,c_55_K")
    assert LoopStrings("a_99_M,b_99_N").total > 2**200


@pytest.mark.parametrize("text", ["", "a", "a_0", "a_0_K,c_1_M", "a_0_K,a_1_M", "a_0_K;b_1_M", "A_0_K", "a_100_M"])
def test_what_is_no_specification(text: str) -> None:
    with pytest.raises(ScheduleError, match="specifies no loops"):
        LoopStrings(text)
