"""Logs of searches: the same search again without measuring, whatever of the file is left."""

from __future__ import annotations

import gzip
import json
import resource
import signal
from dataclasses import replace
from math import inf
from pathlib import Path

import pytest

from einloom.cli import main
from einloom.errors import ScheduleError
from einloom.machine import AVX512
from einloom.search.log import EventLog, SearchSetup, read_log, replayed_log
from einloom.search.search import Budget, Outcome, SearchRun, run_search
from einloom.search.strategies import STRATEGIES
from einloom.space import cpu
from einloom.space.on_cpu.rates import cpu_rates
from einloom.space.on_cpu.space import CpuSpace
from tests.search.simulation import SLOW, Simulated

SPACE = cpu("mk,k->m", (6, 4), (4,), dtype="float32", machine=SLOW)


def logged(file: Path, strategy: str, evaluations: int = 25, space: CpuSpace = SPACE) -> SearchRun:
    """A simulated search with its log, from two starts and a leaf that is known to fail."""
    leaves = [space.root.complete(seed) for seed in range(3)]
    texts = [leaf.show() for leaf in leaves]
    space = replace(space, known=tuple(leaf.schedule for leaf in leaves))
    domains = [space.leaf(leaf.schedule).inner for leaf in leaves]
    log = EventLog(file, SearchSetup(space, strategy, 3, tuple(texts[:2]), ((texts[2], None),)))

    def seen(run: SearchRun) -> None:
        state = space.problem.state()
        state.load(run.history[-1].leaf.snapshot)
        log.trial(str(space.schedule(state)), run.history[-1].outcome)

    budget = Budget(evaluations=evaluations)
    known = [(domains[2], inf)]
    run = run_search(space, Simulated(space), budget, strategy, 3, starts=domains[:2], known=known, progress=seen)
    log.close(run.ended)
    return run


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_log_replays_its_own_search(strategy: str, tmp_path: Path) -> None:
    run = logged(tmp_path / "search.gz", strategy)
    again = replayed_log(tmp_path / "search.gz")
    assert [t.leaf.snapshot for t in again.history] == [t.leaf.snapshot for t in run.history]
    assert (again.explorer.best, again.floor) == (run.explorer.best, run.floor)


def test_rates_that_were_raised_are_raised_again(tmp_path: Path) -> None:
    slower = replace(SPACE, rates=cpu_rates(SLOW).times(0.2))
    leaves = [slower.root.complete(seed) for seed in range(3)]
    space = replace(slower, known=tuple(leaf.schedule for leaf in leaves))
    log = EventLog(tmp_path / "search.gz", SearchSetup(space, "tag", 1))
    right = Simulated(replace(space, rates=None))

    def seen(run: SearchRun) -> None:
        state = space.problem.state()
        state.load(run.history[-1].leaf.snapshot)
        log.trial(str(space.schedule(state)), run.history[-1].outcome)

    run = run_search(space, right, Budget(evaluations=10), "tag", 1, progress=seen)
    log.close()
    assert run.raised and replayed_log(tmp_path / "search.gz").raised == run.raised


def test_what_a_killed_search_left_is_read_up_to_its_last_event(tmp_path: Path) -> None:
    file = tmp_path / "search.gz"
    logged(file, "local", 12)
    whole, (_, trials) = file.read_bytes(), read_log(file)
    counts = set[int]()
    for end in range(len(whole) - 300, len(whole), 17):
        file.write_bytes(whole[:end])
        some = read_log(file)[1]
        assert some == trials[: len(some)]
        counts.add(len(some))
    assert len(counts) > 3
    assert len(replayed_log(file).history) == len(read_log(file)[1])


def test_another_proposal_than_the_logs_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "search.gz"
    logged(file, "local", 6)
    lines = gzip.decompress(file.read_bytes()).splitlines()
    lines[3], lines[4] = lines[4], lines[3]
    file.write_bytes(gzip.compress(b"\n".join(lines)))
    with pytest.raises(ScheduleError, match="trial 3 is another one than the log's"):
        replayed_log(file)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"event": "begin", "version": 1}', '{"event": "begin"}'])
def test_what_is_no_log_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "search.gz"
    file.write_bytes(gzip.compress(text.encode()))
    with pytest.raises(ScheduleError, match=r"this is no beginning|no log of a search"):
        read_log(file)
    file.write_text(text)
    with pytest.raises(ScheduleError, match="no log of a search"):
        read_log(file)


@pytest.mark.parametrize(
    "wrong",
    [
        (0, {"threads": 0}),
        (0, {"threads": None}),
        (0, {"threads": 10**30}),
        (0, {"seed": []}),
        (0, {"known": [["prim", "x"]]}),
        (0, {"starts": [3]}),
        (0, {"strategy": 5}),
        (0, {"machine": 3}),
        (1, {"schedule": None}),
        (1, {"status": 3}),
        (1, {"seconds": "x"}),
        (1, {"seconds": 0.0}),
        (1, {"seconds": float("nan")}),
    ],
)
def test_a_log_that_was_changed_is_refused(wrong: tuple[int, dict[str, object]], tmp_path: Path) -> None:
    file = tmp_path / "search.gz"
    logged(file, "random", 3)
    lines = gzip.decompress(file.read_bytes()).splitlines()
    place, changes = wrong
    lines[place] = json.dumps(json.loads(lines[place]) | changes).encode()
    file.write_bytes(gzip.compress(b"\n".join(lines)))
    with pytest.raises(ScheduleError, match="this is no"):
        replayed_log(file)


@pytest.mark.parametrize(
    "wrong",
    [
        *({"isa": "z80"}, {"isa": None}, {"vector": "x"}, {"vector": "neon"}, {"name": 3}, {"features": 3}),
        *({"l1d": 0}, {"l2": "x"}, {"l2": -1}, {"l3": 2**80}, {"cores": None}, {"rates": {"memory": 0.0}}, {"new": 1}),
    ],
    ids=str,
)
def test_a_log_of_a_machine_that_cannot_be_is_refused(wrong: dict[str, object], tmp_path: Path) -> None:
    file = tmp_path / "search.gz"
    logged(file, "random", 3)
    begin, *lines = gzip.decompress(file.read_bytes()).splitlines()
    told = json.loads(begin)
    told["machine"] |= wrong
    file.write_bytes(gzip.compress(b"\n".join([json.dumps(told).encode(), *lines])))
    with pytest.raises(ScheduleError, match="this is no"):
        replayed_log(file)


def test_a_search_goes_on_where_its_log_cannot(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    log = EventLog(tmp_path / "search.gz", SearchSetup(SPACE, "tag", 0))
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, ((tmp_path / "search.gz").stat().st_size, limit[1]))
        log.trial("prim", Outcome("crash"))
        log.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, before)
    assert "not written from here on" in caplog.text
    assert read_log(tmp_path / "search.gz")[1] == []


def test_setups_and_their_text_are_the_same() -> None:
    space = replace(SPACE, machine=AVX512, known=(SPACE.root.complete(1).schedule,), rates=cpu_rates(SLOW), threads=2)
    setup = SearchSetup(space, "uct", 4, ("a",), (("b", 1.0), ("c", None)))
    told = json.loads(json.dumps(setup.to_json()))
    assert SearchSetup.from_json(told).to_json() == told == setup.to_json()


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logged(tmp_path / "search.gz", "tag", 5)
    assert main(["replay", str(tmp_path / "search.gz")]) == 0
    assert "5 trials as in the log" in capsys.readouterr().out


def test_outcomes_that_failed_have_no_time(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "search.gz", SearchSetup(SPACE, "tag", 0))
    log.trial("prim", Outcome("crash"))
    log.close()
    assert read_log(tmp_path / "search.gz")[1] == [("prim", Outcome("crash"))]
