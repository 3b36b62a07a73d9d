"""A contestant's process answers when its threads sleep."""

from __future__ import annotations

import pytest

from einloom.bench import worker


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
