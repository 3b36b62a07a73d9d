"""`einloom space`: the table beside the paper's, and JSON."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace

import pytest

from einloom.cli import bound as bound_command
from einloom.cli import paper as paper_command
from einloom.cli import space as command
from einloom.errors import ArgumentError, EinloomError, ScheduleError
from einloom.space import DEVICES, gpu


def run(capsys, *words: str) -> str:
    """Run the command and return what it printed."""
    parser = argparse.ArgumentParser()
    command.add_parser(parser.add_subparsers())
    arguments = parser.parse_args(["space", *words])
    assert arguments.run(arguments) == 0
    return capsys.readouterr().out


def test_the_open_decisions_are_shown_without_an_estimator(capsys):
    out = run(capsys, "axpy", "n=64")
    assert "space axpy(n=64) on Quadro K4000" in out and "dim_kind" in out


def test_above_a_kernel_stand_its_decisions_and_its_bound(capsys, monkeypatch):
    above, _, kernel = run(capsys, "axpy", "n=65536", "--device", "h200", "--show", "cuda").partition("extern")
    assert "axpy(const float *__restrict__ x" in kernel
    told, bound = above.splitlines()[:-1], above.splitlines()[-1]
    assert told[0] == "// axpy(n=65536)" and told[-1] == "// cache none: load_x, load_y, store_z"
    assert "// global: x, y, z" in told
    assert [line.partition(": ")[2] for line in told if "// vector" in line] == ["load_x.n.2, load_y.n.2, store_z.n.2"]
    assert bound.startswith("// on H200: at least ") and " 0," not in bound
    assert run(capsys, "axpy", "n=64", "--leaf", "1", "--show", "launch").startswith("launch axpy\n  ")
    assert "mad(" in run(capsys, "axpy", "n=64", "--leaf", "1", "--show", "nest")
    monkeypatch.setitem(DEVICES, "h100", replace(DEVICES["h100"], rates=None))
    without = run(capsys, "axpy", "n=64", "--device", "h100", "--leaf", "1", "--show", "opencl")
    assert "// global: x, y, z" in without and "at least" not in without


def test_the_table_stands_beside_the_papers(capsys):
    out = run(capsys, "axpy", "--estimate", "knuth", "--samples", "5", "--dead-ends", "--descents", "5")
    assert "1.1e+11" in out and "86,587" in out and "dead ends" in out


def test_json_carries_the_same(capsys):
    found = json.loads(run(capsys, "axpy", "--estimate", "knuth", "--samples", "5", "--json"))
    assert found["paper"] == {"size": 1.1e11, "dead_ends": 0.001, "nodes_at_depth_10": 86587}
    assert found["estimate"]["interval"][0] <= found["estimate"]["size"] <= found["estimate"]["interval"][1]


def test_the_order_of_decisions_is_the_callers(capsys):
    found = json.loads(run(capsys, "axpy", "n=64", "--order", "order, dim_kind", "--json"))
    assert found["order"] == ["order", "dim_kind"]
    with pytest.raises(ScheduleError, match="'colour' names no choice"):
        run(capsys, "axpy", "n=64", "--order", "colour")


def test_nodes_at_a_depth_are_counted(capsys):
    out = run(capsys, "axpy", "--depth", "2")
    assert "nodes at depth 2" in out and " 20 " in out
    assert json.loads(run(capsys, "axpy", "--depth", "2", "--json"))["nodes"] == {"depth": 2, "count": 20}


def test_a_size_without_a_name_is_refused(capsys):
    with pytest.raises(ScheduleError, match="NAME=VALUE"):
        run(capsys, "axpy", "64")


@pytest.mark.parametrize("word", ["device=h100", "name=x", "colour=1", "n=True"])
def test_options_that_no_kernel_has_are_refused(capsys, word):
    with pytest.raises(EinloomError):
        run(capsys, "axpy", word)


def test_progress_is_shown_also_when_piped(capsys):
    parser = argparse.ArgumentParser()
    command.add_parser(parser.add_subparsers())
    arguments = parser.parse_args(["space", "axpy", "n=64", "--dead-ends", "--descents", "20"])
    assert arguments.run(arguments) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "descents: 2 of 20" and lines[-1] == "descents: 20 of 20" and len(lines) == 10


def bound(capsys, *words: str) -> str:
    parser = argparse.ArgumentParser()
    bound_command.add_parser(parser.add_subparsers())
    arguments = parser.parse_args(["bound", *words])
    assert arguments.run(arguments) == 0
    return capsys.readouterr().out


def test_the_bound_of_a_kernel_is_a_tree(capsys):
    out = bound(capsys, "axpy")
    assert out.startswith("axpy(n=67108864) on Quadro K4000, ") and "\nseconds = 0.005971\n  memory = 0.005971\n" in out


def test_decisions_and_candidates_are_bounded(capsys, tmp_path):
    file = tmp_path / "candidate.json"
    gpu("axpy", n=2**20).root.restrict("dim_kind(n.0)", "LOOP").save(file)
    whole = json.loads(bound(capsys, "axpy", "n=1048576", "--json"))
    saved = json.loads(bound(capsys, "axpy", "n=1048576", "--json", "--candidate", str(file)))
    decided = json.loads(bound(capsys, "axpy", "n=1048576", "--json", "--decide", "dim_kind(n.0)=LOOP"))
    assert saved == decided and saved["terms"]["latency"] > 2 * whole["terms"]["latency"]
    assert saved["tree"]["value"] == saved["seconds"]
    assert json.loads(bound(capsys, "axpy", "n=1048576", "--json", "--decide", "size(n.1)=8"))["seconds"] > 0
    with pytest.raises(ScheduleError, match="DECISION=VALUE"):
        bound(capsys, "axpy", "--decide", "dim_kind(n.0)")


@pytest.mark.parametrize(
    "words",
    [
        ("mk,kn->mn", "--sizes", "m=8,k=8,n=8", "--device", "h200"),
        ("mk,kn->mn", "--sizes", "m=8,k=8,n=8", "--candidate", "x"),
        ("mk,kn->mn", "n=8", "--sizes", "m=8,k=8,n=8"),
        ("axpy", "--dtype", "float64"),
    ],
)
def test_a_bound_refuses_what_would_have_no_effect(capsys, words):
    with pytest.raises(ArgumentError, match="says nothing about"):
        bound(capsys, *words)


@pytest.mark.parametrize("words", [("--samples", "5"), ("--cut", "1e-3")])
def test_a_space_refuses_what_would_have_no_effect(capsys, words):
    with pytest.raises(ArgumentError, match="--estimate"):
        run(capsys, "axpy", *words)


def test_a_cut_leaves_fewer_nodes(capsys):
    count = json.loads(run(capsys, "axpy", "--depth", "4", "--cut", "7.05e-3", "--json"))["nodes"]["count"]
    assert 0 < count < json.loads(run(capsys, "axpy", "--depth", "4", "--json"))["nodes"]["count"]


def test_the_space_says_what_nothing_can_beat(capsys):
    assert "nothing is faster than" in run(capsys, "matmul", "--bound")
    assert json.loads(run(capsys, "matmul", "--bound", "--json"))["bound"]["seconds"] > 1e-3


def test_the_bound_of_an_equation_is_one_of_schedules_here(capsys):
    whole = bound(capsys, "mk,kn->mn", "--sizes", "m=512,k=512,n=512")
    none = [word for axis in "mnk" for word in ("--decide", f"role({axis})=NONE")]
    single = bound(capsys, "mk,kn->mn", "--sizes", "m=512,k=512,n=512", *none)
    assert "arithmetic" in whole and "decisions open" in whole
    seconds = [float(each.splitlines()[1].split("=")[1]) for each in (whole, single)]
    assert seconds[1] > 2 * seconds[0] > 0
    with pytest.raises(ScheduleError, match="an equation needs --sizes"):
        bound(capsys, "mk,kn->mn")


@pytest.mark.parametrize("experiment", ["table2", "table3", "orders"])
def test_experiments_of_the_paper_print_their_tables(experiment, capsys):
    parser = argparse.ArgumentParser()
    paper_command.add_parser(parser.add_subparsers())
    for words in ([], ["--json"]):
        arguments = parser.parse_args(["paper", experiment, "--rows", "0", "--samples", "4", *words])
        assert arguments.run(arguments) == 0
    out = capsys.readouterr().out
    assert "axpy(n=67108864)" in out and "|" in out and json.loads(out.splitlines()[-1])["row"] == "axpy(n=67108864)"
