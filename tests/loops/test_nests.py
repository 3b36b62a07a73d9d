"""Strings applied: the nests that they make, and what cannot be applied."""

from __future__ import annotations

import re

import pytest

from einloom.errors import ArgumentError, ScheduleError
from einloom.ir.loop_text import parse_loop_string
from einloom.loops.nest import LoopNest
from einloom.loops.spec import LoopSpec

SIZES = {
    "Kb": 16,
    "Mb": 64,
    "Nb": 60,
    "k_step": 4,
    "l1_m_step": 16,
    "l0_m_step": 8,
    "m_step": 2,
    "l1_n_step": 12,
    "n_step": 3,
}
SPECS = (
    LoopSpec(0, SIZES["Kb"], SIZES["k_step"], (8, 4)),
    LoopSpec(0, SIZES["Mb"], SIZES["m_step"], (SIZES["l1_m_step"], SIZES["l0_m_step"])),
    LoopSpec(0, SIZES["Nb"], SIZES["n_step"], (SIZES["l1_n_step"], 6)),
)

B0 = "for b0 = 0 to Mb with step l1_m_step"
B1 = "for b1 = b0 to b0 + l1_m_step with step l0_m_step"
B2 = "for b2 = b1 to b1 + l0_m_step with step m_step"
C0 = "for c0 = 0 to Nb with step l1_n_step"
C1 = "for c1 = c0 to c0 + l1_n_step with step n_step"
A0 = "for a0 = 0 to Kb with step k_step"
INDICES = "// Logical indices to use for the computation are a0, b2, c1"
PARALLEL = "#pragma omp parallel"
COLLAPSE = "#pragma omp for collapse(2) nowait"
DYNAMIC = "#pragma omp for collapse(2) schedule(dynamic,1) nowait"
BARRIER = "#pragma omp barrier"

PRINTED = {
    "bcabcb": [B0, C0, A0, B1, C1, B2, INDICES],
    "bcaBcb": [PARALLEL, B0, C0, A0, "#pragma omp for nowait", B1, C1, B2, INDICES],
    "bcaBCb": [PARALLEL, B0, C0, A0, COLLAPSE, B1, C1, B2, INDICES],
    "bcaBCb@schedule(dynamic,1)": [PARALLEL, B0, C0, A0, DYNAMIC, B1, C1, B2, INDICES],
    "bc|aBCb": [PARALLEL, B0, C0, A0, COLLAPSE, B1, C1, B2, INDICES, BARRIER],
    "bC{R:16}abcb": [PARALLEL, B0, "# Parallelize 16-ways loop c0", C0, A0, B1, C1, B2, INDICES],
    "bC{R:16}aB{C:4}cb": [
        *[PARALLEL, B0, "# Parallelize 16-ways loop c0", C0, A0, "# Parallelize 4-ways loop b1", B1, C1, B2, INDICES]
    ],
    "bC{R:5}B{C:4}cba": [
        *[PARALLEL, B0, "# Parallelize 5-ways loop c0", C0, "# Parallelize 4-ways loop b1", B1, C1, B2, A0, INDICES]
    ],
    "bC{R:5}B{C:4}cbA{L:3}": [
        *[PARALLEL, B0, "# Parallelize 5-ways loop c0", C0, "# Parallelize 4-ways loop b1", B1, C1, B2],
        *["# Parallelize 3-ways loop a0", A0, INDICES],
    ],
}
"""By string the lines of its nest, with the names of its sizes."""


@pytest.mark.parametrize("text", PRINTED)
def test_the_nests_of_the_seed(text: str) -> None:
    names = re.compile("|".join(rf"\b{name}\b" for name in SIZES))
    expected = [names.sub(lambda match: str(SIZES[match[0]]), line) for line in PRINTED[text]]
    assert [line.strip() for line in str(applied(text)).splitlines()] == expected


def applied(text: str, threads: int | None = None) -> LoopNest:
    return LoopNest.of(parse_loop_string(text), SPECS, threads)


def test_loops_lie_in_each_other_and_a_barrier_behind_its_loop() -> None:
    assert str(applied("bc|aBCb")) == "\n".join(
        [
            "#pragma omp parallel",
            "for b0 = 0 to 64 with step 16",
            "  for c0 = 0 to 60 with step 12",
            "    for a0 = 0 to 16 with step 4",
            "      #pragma omp for collapse(2) nowait",
            "      for b1 = b0 to b0 + 16 with step 8",
            "        for c1 = c0 to c0 + 12 with step 3",
            "          for b2 = b1 to b1 + 8 with step 2",
            "            // Logical indices to use for the computation are a0, b2, c1",
            "  #pragma omp barrier",
        ]
    )


def test_blocks_that_do_not_nest_end_where_the_outer_ones_do() -> None:
    nest = LoopNest.of(parse_loop_string("aaa"), (LoopSpec(0, 100, 7, (48, 20)),))
    ends = [line.strip() for line in str(nest).splitlines()][:3]
    assert ends == [
        "for a0 = 0 to 100 with step 48",
        "for a1 = a0 to min(a0 + 48, 100) with step 20",
        "for a2 = a1 to min(a1 + 20, a0 + 48, 100) with step 7",
    ]
    assert [loop.lengths for loop in nest.loops] == [(100,), (48, 4), (20, 8, 4)]


def test_a_literal_takes_the_place_of_a_specification_or_of_parts() -> None:
    nest = LoopNest.of(parse_loop_string("a[,,2,(8)]ba"), SPECS[:2])
    assert nest.specs[0] == LoopSpec(0, 16, 2, (8,))
    assert LoopNest.of(parse_loop_string("b[0,4,1,()]a[1,9,3,()]"), ()).specs == (LoopSpec(1, 9, 3), LoopSpec(0, 4))


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ("bcad", 3, "there is no loop d"),
        ("bbbbca", 2, "loop b has 4 levels, but 2 block sizes"),
        ("d[0,4,,()]abc", 0, "the literal of loop d leaves something open"),
        ("a[0,4,0,()]bc", 0, "step is 0"),
        ("abC{R:7}b|c", 8, "does not run alike"),
        ("ab", 2, "does not name loop c"),
    ],
)
def test_what_cannot_be_applied(text: str, place: int, problem: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        applied(text)
    first, quoted, caret, *_ = str(caught.value).splitlines()
    assert problem in first and quoted.strip() == text and caret == "  " + " " * place + "^"


def test_threads() -> None:
    assert applied("bC{R:5}B{C:4}cba").threads == 20
    assert applied("bC{R:5}B{C:4}cba", 20).threads == 20
    assert applied("abc", 3).threads == 1
    assert applied("Abc", 3).threads == 3
    with pytest.raises(ScheduleError, match=r"threads=19, but the grid has 20\n  bC\{R.*\n   \^\n"):
        applied("bC{R:5}B{C:4}cba", 19)
    with pytest.raises(ArgumentError, match="threads=…"):
        applied("Abc", 0)


@pytest.mark.parametrize(
    "values", [(0, 4.5, 1), (0, 4, 0), (0, 2**62, 1), (0, True, 1), (0, 4, 1, (2, 0)), (0, 4, 1, 3)]
)
def test_specifications_are_checked(values: tuple) -> None:
    with pytest.raises(ScheduleError, match=r"\n  "):
        LoopSpec(*values)
