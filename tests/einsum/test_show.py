"""What an expression shows: the same on every machine, and a schedule that may be passed back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import einloom as el
from einloom.jit import peak
from einloom.jit.host import host
from einloom.machine import AVX2, AVX512, NEON, Rates
from einloom.passes.pipeline import PIPELINES
from einloom.passes.values import Rules

CASES = [
    ("abc,cd->abd", (8, 9, 10), (10, 11)),
    ("abcd->acbd", (8, 30, 20, 16)),
    ("abc,bc->a", (8, 9, 10), (9, 10)),
    ("ab,bc->ac", (300, 1), (1, 200)),
    ("mk,kn->mn", (200, 700), (700, 300)),
    ("abcd,cde->abe", (5, 9, 30, 20), (30, 20, 64)),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_the_schedule_that_is_shown_may_be_passed_back(case: tuple[str, *tuple[tuple[int, ...], ...]]) -> None:
    equation, *shapes = case
    f = el.compile(equation, *shapes, dtype="float32", threads=1)
    assert f.schedule is not None
    assert str(f.schedule) in f.show()
    for given in (f.schedule, str(f.schedule)):
        again = el.compile(equation, *shapes, dtype="float32", threads=1, schedule=given)
        assert again.code == f.code
        assert again.schedule == f.schedule
    operands = [np.ones(shape, np.float32) for shape in shapes]
    assert np.array_equal(f(*operands), np.einsum(equation, *operands))


def test_fused_axes_say_what_they_are_made_of() -> None:
    shown = el.compile(*CASES[0], dtype="float32", threads=1).show()
    assert "axis a*b 72 m" in shown
    assert "n=a*b" in shown


def test_axes_that_are_no_one_axis_cannot_be_fused() -> None:
    with pytest.raises(el.ScheduleError, match="do not lie like one axis"):
        el.compile("abc,cd->adb", (8, 9, 10), (10, 11), dtype="float32", schedule="prim m=a*b n=d k=c")


def test_steps_have_headings() -> None:
    f = el.compile("ab,bc,cd->ad", (20, 30), (30, 40), (40, 5), dtype="float32", threads=1)
    headings = [line for line in f.show("tree").splitlines() if line.startswith("t")]
    assert len(headings) == 2
    assert f.schedule is None
    for what in ("passes", "nest", "asm"):
        assert [line for line in f.show(what).splitlines() if line in headings] == headings


def test_the_tree_says_what_lies_where() -> None:
    shapes, path = [(20, 30), (40, 30), (40, 5), (5, 7)], [(0, 1), (0, 2), (0, 1)]
    f = el.compile("ab,cb,cd,de->ea", *shapes, dtype="float32", optimize=path, threads=1, target=AVX512)
    *lines, origin = f.show("tree").splitlines()
    assert lines[1].startswith("    t0[a b] t1[c b] -> t4[a c]; at least 10,400 bytes")
    assert "; in the arena at 0" in lines[1]
    assert lines[-2].endswith("; the result")
    assert lines[-1] == f"arena: {20 * 40 * 4 + 448:,} bytes"
    assert origin.startswith("least times: by typical rates")


@pytest.mark.parametrize(("dtype", "seconds"), [("float32", 2 / 100e9), ("complex128", 8 / 50e9)])
def test_the_tree_says_the_least_time_of_every_step(dtype: str, seconds: float) -> None:
    """Without recorded rates it said none."""
    shapes = [(200, 300), (300, 400), (400, 50)]
    known = replace(AVX2, name="known", rates=Rates(100e9, 50e9, 80e9, 40e9, 10e9, 8e9))
    for machine in (AVX2, known):
        f = el.compile("ab,bc,cd->ad", *shapes, dtype=dtype, optimize=[(1, 2), (0, 1)], threads=1, target=machine)
        lines = f.show("tree").splitlines()
        for line, points in ((lines[1], 300 * 400 * 50), (lines[3], 200 * 300 * 50)):
            assert f"{points * seconds * 1e3:.3g} ms, by its arithmetic" in line
        assert ("typical rates" in lines[-1]) == (machine is AVX2)


def test_every_pass_has_a_line() -> None:
    lines = el.compile(*CASES[0], dtype="float32", threads=1).show("passes").splitlines()
    assert [line[:24].strip() for line in lines[2:]] == [each.name for each in PIPELINES[Rules.CACHES]]
    assert "a*b (72): one axis in every operand" in lines[2]
    given = el.compile("ab,bc->ac", (2, 3), (3, 4), dtype="float32", schedule="prim m=c n=a k=b")
    assert "the schedule was given" in given.show("passes")


def test_what_is_shown_depends_on_the_target_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is measured, and no name, cache or rate of this host gets in."""
    here = [el.compile(*case, dtype="float32", threads=1, target=NEON).show() for case in CASES]
    monkeypatch.setattr(peak, "peak_flops", lambda *_: pytest.fail("measured"))
    other = replace(AVX512, name="another host", l2=4096, rates=Rates(1.0, 1.0, 1.0, 1.0, 1.0, 1.0))
    monkeypatch.setattr("einloom.expression.recipe.host_for", lambda _: other)
    assert [el.compile(*case, dtype="float32", threads=1, target=NEON).show() for case in CASES] == here
    assert not any(host().name in shown or "at least 0" in shown for shown in here)


def test_a_bound_follows_from_recorded_rates() -> None:
    known = replace(AVX2, name="known", rates=Rates(100e9, 50e9, 80e9, 40e9, 10e9, 8e9))
    product = el.compile("ab,bc->ac", (100, 200), (200, 50), dtype="float32", threads=1, target=known)
    assert "at least 0.02 ms, by its arithmetic at 100 GFLOP/s on one core of known" in product.show()
    copy = el.compile("ab->ba", (8000, 8000), dtype="float32", threads=1, target=known)
    assert "at least 32 ms, by its writes at 8 GB/s on one core of known" in copy.show()
    cached = el.compile("ab->ba", (80, 80), dtype="float32", threads=1, target=known)
    assert "at least" not in cached.show().replace("bytes at least", "")
    unknown = el.compile("ab,bc->ac", (100, 200), (200, 50), dtype="float32", threads=1, target=AVX2)
    assert "GFLOP/s" not in unknown.show()


def test_what_an_expression_is_for() -> None:
    assert el.compile(*CASES[0], dtype="float32", target=AVX2).isa == "avx2"
    assert el.compile(*CASES[0], dtype="float32", target="interpreter").isa == "none"
    assert el.compile(*CASES[0], dtype="float32").isa == host().vector
    assert el.compile(*CASES[0], dtype="float32", target="interpreter").show("nest").count("axis") == 4
