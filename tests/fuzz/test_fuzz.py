"""Damaged texts of every kind: refused with an error of einloom, or computed rightly. Each share in a child process."""

from __future__ import annotations

import pytest

import einloom as el

from ..soak import soak_count
from . import equations
from .runner import failures

SHARES = 4


def _share(module: str, full: int, share: int) -> list[str]:
    count = -(-soak_count(full) // SHARES)
    return failures(module, share * count, count)


@pytest.mark.soak
@pytest.mark.parametrize("share", range(SHARES))
def test_equations(share: int) -> None:
    assert not _share("equations", 50_000, share)


@pytest.mark.soak
@pytest.mark.parametrize("share", range(SHARES))
def test_schedules(share: int) -> None:
    assert not _share("schedules", 20_000, share)


@pytest.mark.soak
@pytest.mark.parametrize("share", range(SHARES))
def test_configurations(share: int) -> None:
    assert not _share("configurations", 20_000, share)


@pytest.mark.soak
@pytest.mark.parametrize("share", range(SHARES))
def test_loop_strings(share: int) -> None:
    assert not _share("loop_strings", 20_000, share)


def test_a_wrong_result_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    einsum = el.einsum
    monkeypatch.setattr(el, "einsum", lambda *arguments: einsum(*arguments) + 1)
    assert sum(bool(equations.check(seed)) for seed in range(50)) > 10


def test_a_crash_is_seen() -> None:
    assert failures("dangers", 0, 3) == ["dangers 1: ValueError: not an error of einloom"]
    crash, *behind = failures("dangers", 3, 4)
    assert crash.startswith("['4']: the process ended with -11")
    assert behind == ["dangers 6: ValueError: not an error of einloom"]  # A share goes on behind a crash.
