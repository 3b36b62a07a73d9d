"""A contestant's process answers when its threads sleep."""

from __future__ import annotations

import numpy as np
import pytest

from einloom.bench import worker
from einloom.bench.peers.contestants import Prepared


@pytest.mark.parametrize(("busy", "glances"), [(0, 1), (3, 4), (10**6, 100)])
def test_threads_that_spin_are_waited_for_but_not_for_ever(
    busy: int, glances: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, spent, slept = [0.0], [0.0], [0]

    def sleep(seconds: float) -> None:
        slept[0] += 1
        now[0] += seconds
        spent[0] += seconds if slept[0] <= busy else 0.0

    monkeypatch.setattr(worker.time, "sleep", sleep)
    monkeypatch.setattr(worker.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(worker.time, "process_time", lambda: spent[0])
    worker.settle(patience=1.0, glance=0.01)
    assert abs(slept[0] - glances) <= (glances > 50)


@pytest.mark.parametrize(("threads", "lasts", "clock"), [(1, 0.01, "processor"), (2, 0.01, "wall"), (1, 1e-4, "wall")])
def test_long_calls_on_one_thread_are_measured_in_processor_time(
    threads: int, lasts: float, clock: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others on the core take time within such calls, which no round escapes."""
    asked = list[str]()

    def timed(call: object, seconds: float, clock: object = None) -> list[float]:
        asked.append("wall" if clock is None else "processor")
        return [lasts, lasts]

    monkeypatch.setattr(worker, "timed_calls", timed)
    monkeypatch.setattr(worker, "settle", lambda: None)
    session = worker._Session("numpy")
    session._prepared, session._threads = Prepared(lambda: np.zeros(1), lambda: None), threads
    assert session.answer({"do": "measure", "seconds": 0.0}) == {"seconds": lasts}
    assert asked[-1] == clock
