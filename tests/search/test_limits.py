"""Limits of a machine: they only grow, and a time that beats its bound opens again what was cut by it."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, replace
from pathlib import Path

import pytest

from einloom import csp
from einloom.jit.host import host
from einloom.jit.rates import read_rates
from einloom.machine import AVX2, AVX512
from einloom.search.limits import known_limits, limits_beside, measured_limits, raised_limits
from einloom.search.search import Budget, Outcome, run_search
from einloom.space import cpu
from einloom.space.on_cpu.rates import CpuRates, cpu_rates
from tests.search.simulation import SLOW

SOME = CpuRates(*(1e9 * place for place in range(1, 7)))


def test_limits_only_grow_and_are_of_one_machine(tmp_path: Path) -> None:
    file = limits_beside(tmp_path / "folder" / "records.jsonl")
    assert known_limits(file, AVX512) is None
    assert raised_limits(file, AVX512, SOME) == SOME
    other = replace(SOME, fmas=9e9, memory=1.0)
    assert raised_limits(file, AVX512, other) == replace(SOME, fmas=9e9) == known_limits(file, AVX512)
    assert raised_limits(file, AVX2, SOME) == SOME
    assert known_limits(file, AVX512) == replace(SOME, fmas=9e9)
    assert raised_limits(None, AVX512, SOME) == SOME


def test_nothing_is_lost_where_several_raise_limits_at_once(tmp_path: Path) -> None:
    """Each opens the lock for itself, so threads keep each other out as processes do."""
    file = tmp_path / "limits.json"
    machines = [replace(AVX512, name=f"machine {number}") for number in range(100)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda machine: raised_limits(file, machine, SOME), machines))
    assert all(known_limits(file, machine) == SOME for machine in machines)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["limits.json", "limits.lock"]


@pytest.mark.parametrize(
    "text", ["", "[]", "3", '{"version": 0}', '{"version": 1, "x86-64 with AVX-512, avx512": {"fmas": 1}}', "\x00"]
)
def test_what_cannot_be_read_counts_as_nothing_and_is_replaced(text: str, tmp_path: Path) -> None:
    file = tmp_path / "limits.json"
    file.write_text(text)
    assert known_limits(file, AVX512) is None
    raised_limits(file, AVX512, SOME)
    assert known_limits(file, AVX512) == SOME


@pytest.mark.parametrize("rate", [0, -1.0, float("nan"), float("inf"), None, "fast"])
def test_what_is_no_rate_counts_as_nothing(rate: object, tmp_path: Path) -> None:
    file = tmp_path / "limits.json"
    raised_limits(file, AVX512, SOME)
    entries = json.loads(file.read_text())
    entries["x86-64 with AVX-512, avx512"]["l2"] = rate
    file.write_text(json.dumps(entries))
    assert known_limits(file, AVX512) is None


def test_everything_is_measured_and_below_what_any_processor_can_do() -> None:
    measured, most = measured_limits(host()), cpu_rates(replace(host(), rates=None))
    assert all(mine > 1e6 for mine in astuple(measured))
    assert all(mine <= any_of for mine, any_of in zip(astuple(measured), astuple(most)))


def test_a_process_probes_the_machine_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = measured_limits(host())
    monkeypatch.setattr("einloom.search.limits.read_rates", None)
    assert measured_limits(host()) is first


@pytest.mark.parametrize(("l3", "mebibytes"), [(0, 32), (16, 64), (32, 128), (512, 256)])
def test_what_is_read_from_memory_is_no_larger_than_caches_ask_for(
    l3: int, mebibytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[int]()

    class Asked(Exception):
        pass

    def pages(size: int) -> None:
        asked.append(size)
        raise Asked

    monkeypatch.setattr("einloom.jit.rates._pages", pages)
    with pytest.raises(Asked):
        read_rates(replace(host(), l3=l3 * 2**20))
    assert asked == [mebibytes * 2**20]


def test_a_time_that_beats_its_bound_raises_its_rate_and_opens_what_that_had_cut() -> None:
    """With a rate that is eight times too low a search ends at a wrong optimum, unless it believes what it measures."""
    space = cpu("mk,k->m", (2, 2), (2,), dtype="float32", machine=SLOW)
    endless = CpuRates(*[1e18] * 6)
    right, wrong = (replace(space, rates=replace(endless, stores=rate)) for rate in (8e3, 1e3))
    best = min(right.model.bound(leaf).seconds for leaf in csp.solutions(right.problem, right.slots()))

    class Exact:
        def evaluate(self, state: csp.State, best: float) -> Outcome:
            return Outcome("ok", right.model.bound(state).seconds)

    for strategy in ("exhaustive", "bound_first"):
        run = run_search(wrong, Exact(), Budget(evaluations=5000), strategy)
        assert run.explorer.best == pytest.approx(best)
        assert run.raised and run.explorer.model.bound(right.problem.state()).seconds <= best


def test_leaves_that_are_known_to_beat_their_bounds_count_too() -> None:
    space = cpu("mk,k->m", (2, 2), (2,), dtype="float32", machine=SLOW)
    leaf = next(iter(csp.solutions(space.problem, space.slots())))
    seconds = space.model.bound(leaf).seconds / 5
    known = [(space.problem.load(leaf.snapshot()), seconds)]

    class Never:
        def evaluate(self, state: csp.State, best: float) -> Outcome:
            raise AssertionError

    run = run_search(space, Never(), Budget(evaluations=0), known=known)
    assert run.explorer.model.bound(leaf).seconds <= seconds * (1 + 1e-9)
