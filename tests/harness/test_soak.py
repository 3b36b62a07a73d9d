"""`make soak` finds the marked tests, gives them their full counts, and says which failed or were skipped."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import soak


def test_a_share_without_soak(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EINLOOM_SOAK", raising=False)
    assert [soak.soak_count(full) for full in (50_000, 10, 1)] == [1500, 1, 1]
    monkeypatch.setenv("EINLOOM_SOAK", "1")
    assert soak.soak_count(50_000) == 50_000


def test_one_crash_is_one_failure(capsys: pytest.CaptureFixture[str]) -> None:
    assert soak.main([str(Path(__file__).with_name("soak_sample.py"))]) == 1
    printed = capsys.readouterr().out
    verdicts = [line.split()[0] for line in printed.splitlines() if line.startswith(("passed ", "skipped ", "FAILED "))]
    assert verdicts == ["passed", "skipped", "FAILED"]
    assert "there is none" in printed
    assert "1 of 3 soak tests passed, 1 skipped" in printed
