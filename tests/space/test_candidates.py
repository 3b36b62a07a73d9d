"""Candidates for people: open decisions, reasons, experts, files, text, equality."""

from __future__ import annotations

import json

import pytest

import einloom.space as space_module
from einloom.errors import DeadEnd, ScheduleError
from einloom.space import gpu

SPACE = gpu("matmul", m=1024, n=1024, k=1024)
ROOT = SPACE.root


def test_open_decisions_carry_their_values():
    assert set(ROOT.open["dim_kind(n.1)"]) == {"LOOP", "UNROLL", "THREAD", "BLOCK"}
    assert ROOT.domain("size(m.1)") == (2, 4, 8, 16, 32)
    assert not ROOT.is_leaf


def test_restricting_propagates_both_ways():
    threads = ROOT.restrict("dim_kind(n.1)", "THREAD")
    assert threads.domain("dim_kind(n.1)") == ("THREAD",)
    assert "dim_kind(n.1)" not in threads.open
    inside = ROOT.restrict("order(m.1, n.1)", "OUTER").restrict("dim_kind(m.1)", "UNROLL")
    assert set(inside.domain("dim_kind(n.1)")) == {"UNROLL"}
    outside = ROOT.restrict("order(m.1, n.1)", "OUTER").restrict("dim_kind(n.1)", "THREAD")
    assert "UNROLL" not in outside.domain("dim_kind(m.1)")
    assert ROOT.domain("dim_kind(n.1)") != ("THREAD",)


def test_decisions_commute_and_candidates_compare_by_value():
    taken = {"dim_kind(n.1)": "THREAD", "size(m.1)": 16, "order(m.1, n.1)": "OUTER"}
    forwards, backwards = ROOT, ROOT
    for name, value in taken.items():
        forwards = forwards.restrict(name, value)
    for name, value in reversed(taken.items()):
        backwards = backwards.restrict(name, value)
    assert forwards == backwards == ROOT.apply(taken)
    assert forwards != ROOT and hash(forwards) == hash(backwards)
    assert gpu("matmul", m=1024, n=1024, k=1024).root.apply(taken) == forwards
    assert gpu("matmul", m=1024, n=1024, k=512).root != ROOT


def test_why_names_the_constraint_and_the_decisions():
    threads = ROOT.restrict("dim_kind(n.1)", "THREAD")
    assert threads.why("dim_kind(m.1)", "VECTOR") is not None
    assert threads.why("dim_kind(n.1)", "THREAD") is None
    inside = ROOT.restrict("order(m.1, n.1)", "OUTER").restrict("dim_kind(m.1)", "UNROLL")
    reason = inside.why("dim_kind(n.1)", "THREAD")
    assert reason is not None
    assert "UNROLL" in reason.constraint
    assert {name for name, _ in reason.decisions} == {"order(m.1, n.1)", "dim_kind(m.1)"}


def test_a_dead_end_is_a_schedule_error_with_a_reason():
    threads = ROOT.restrict("dim_kind(n.1)", "THREAD")
    with pytest.raises(DeadEnd):
        threads.apply({"order(m.1, n.1)": "OUTER", "dim_kind(m.1)": "UNROLL"})
    with pytest.raises(ScheduleError):
        ROOT.restrict("dim_kind(k.0)", "BLOCK")


def test_unknown_names_are_met_with_near_ones():
    with pytest.raises(Exception, match=r"dim_kind\(n\.1\)|dim_kind"):
        ROOT.domain("dim_kind(n1)")


def test_decisions_are_saved_and_loaded_by_name(tmp_path):
    candidate = ROOT.apply({"dim_kind(n.1)": "THREAD", "size(m.1)": [8, 16]})
    candidate.save(tmp_path / "candidate.json")
    assert SPACE.load(tmp_path / "candidate.json") == candidate
    assert json.loads(candidate.to_json()) == {
        "kernel": "matmul",
        "options": {"m": 1024, "n": 1024, "k": 1024},
        "device": "Quadro K4000",
        "space": SPACE.digest,
        "decisions": {"dim_kind(n.1)": ["THREAD"], "size(m.1)": [8, 16]},
    }


def test_a_file_belongs_to_a_kernel_its_sizes_and_a_device():
    text = gpu("axpy", n=64, tiles={"n": (4,)}).root.restrict("dim_kind(n.1)", "THREAD").to_json()
    assert gpu("axpy", tiles={"n": [4]}, tails=None, n=64).from_json(text).domain("dim_kind(n.1)") == ("THREAD",)
    for other in (SPACE, gpu("axpy", n=64), gpu("axpy", n=64, tiles={"n": (4,)}, device="h100")):
        with pytest.raises(ScheduleError, match=r"belong to axpy\(n=64, tiles={'n': \[4\]}\) on Quadro K4000, not to"):
            other.from_json(text)


def test_sizes_are_named_in_one_order():
    assert gpu("matmul", k=8, n=8, m=8).name == gpu("matmul", m=8, n=8, k=8).name == "matmul(m=8, n=8, k=8)"
    tiles = {"n": (4,), "m": (2,)}
    assert gpu("matmul", m=8, n=8, k=8, tiles=tiles) == gpu(
        "matmul", m=8, n=8, k=8, tiles=dict(reversed(tiles.items()))
    )


def test_a_file_of_another_version_of_the_space_counts_as_far_as_it_holds():
    saved = json.loads(ROOT.restrict("dim_kind(n.1)", "THREAD").to_json()) | {"space": "0123456789abcdef"}
    assert SPACE.from_json(json.dumps(saved)).domain("dim_kind(n.1)") == ("THREAD",)
    with pytest.raises(ScheduleError, match="another version of this space"):
        SPACE.from_json(json.dumps(saved | {"decisions": {"colour(n.1)": ["RED"]}}))


def test_a_decision_narrowed_twice_is_saved_once():
    twice = (
        ROOT.restrict("size(m.1)", [4, 8]).restrict("size(m.1)", [8, 16]).restrict("order(load_b, load_a)", "ORDERED")
    )
    twice = twice.restrict("order(load_b, load_a)", ["BEFORE"])
    assert twice.decisions["size(m.1)"] == (8,) and twice.decisions["order(load_b, load_a)"] == ("BEFORE",)
    assert SPACE.from_json(twice.to_json()) == twice


def test_an_expert_leaves_the_rest_to_random_descents():
    expert = {"dim_kind(m.0)": "BLOCK", "dim_kind(n.0)": "BLOCK", "dim_kind(m.1)": "THREAD", "dim_kind(n.2)": "UNROLL"}
    leaf = ROOT.apply(expert).complete(seed=5)
    assert leaf.is_leaf and leaf.violations() == ()
    assert ROOT.apply(leaf.decisions) == leaf
    for name, value in expert.items():
        assert leaf.domain(name) == (value,)
    assert leaf.show().startswith("block ")


def test_decisions_are_read_without_the_engine(monkeypatch: pytest.MonkeyPatch):
    candidates = [ROOT, ROOT.restrict("dim_kind(n.1)", "THREAD"), *map(SPACE.random_leaf, range(3))]
    expected = [SPACE.decided(each.inner.state()) for each in candidates]
    monkeypatch.setattr(SPACE.problem, "state", None)
    assert [each.assignment for each in candidates] == expected and len({*map(len, expected)}) > 2


def test_text_and_html():
    text = repr(ROOT)
    assert "open" in text and "dim_kind" in text
    html = ROOT._repr_html_()
    assert html.startswith("<p>") and html.count("<tr>") == len(text.splitlines())
    assert "matmul(m=1024, n=1024, k=1024)" in repr(SPACE)
    with pytest.raises(ScheduleError, match="decisions are open"):
        ROOT.nest()


def test_snapshots_are_small():
    assert len(ROOT.inner.snapshot()) <= 8 * 1024


def test_a_prime_size_has_an_open_space():
    odd = gpu("matmul", m=127, n=131, k=113)
    assert odd.root.domain("tail(m)") == ("PREDICATED",)
    assert odd.random_leaf(0).violations() == ()


def test_names_that_people_use():
    assert {"gpu", "estimate", "Candidate", "Space"} <= set(space_module.__all__)
