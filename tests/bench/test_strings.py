"""What strings cost, and nests as C++: a compiler's nest runs the iterations that the string says."""

from __future__ import annotations

import doctest
import importlib
import json
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest

from einloom.bench.peers.cpp_loops import Body, compiled_nest, cpp_source, has_compiler
from einloom.bench.strings import StringCosts
from einloom.cli import main
from einloom.ir.loop_text import parse_loop_string
from einloom.loops.nest import LoopNest
from einloom.loops.spec import LoopSpec
from einloom.loops.walk import walk

SPECS = (LoopSpec(0, 7, 2, (4,)), LoopSpec(1, 9, 1, (4, 2)), LoopSpec(0, 10, 3, (6,)))


def test_what_strings_cost_is_a_choice_of_the_suite(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")  # No compiler.
    assert main(["bench", "loops", "--cases", "strings", "--peers", "g++", "--json", "-"]) == 0
    report = json.loads(capsys.readouterr().out)
    costs = StringCosts(**report["strings"])
    assert report["rows"] == [] and 0 < costs.seen < costs.new and costs.compiled is None
    assert "first of a process" in str(costs) and "g++" not in str(costs)
    assert "g++ 500 ms" in str(replace(costs, compiled=0.5))


@pytest.mark.skipif(not has_compiler(), reason="needs g++")
@pytest.mark.parametrize("text", ["bC{R:2}aB{C:3}cb", "cAB|cab@schedule(dynamic,1)"])
def test_a_compiled_nest_runs_the_iterations_of_the_string(text: str, tmp_path: Path) -> None:
    nest = LoopNest.of(parse_loop_string(text), SPECS, None if "{" in text else 3)
    seen: dict[int, list[tuple[int, ...]]] = {thread: [] for thread in range(nest.threads)}
    compiled_nest(nest, tmp_path)(Body(lambda thread, indices: seen[thread].append(tuple(indices[:3]))))
    expected = {thread: [step for step in walk(nest, thread) if step] for thread in seen}
    if nest.grid:
        assert seen == expected  # Who runs what, and in which order, is said by the string.
    assert sorted(chain(*seen.values())) == sorted(chain(*expected.values()))
    assert cpp_source(nest).count("#pragma omp barrier") == text.count("|")


def test_the_example() -> None:
    assert doctest.testmod(importlib.import_module("einloom.bench.peers.cpp_loops")).failed == 0
