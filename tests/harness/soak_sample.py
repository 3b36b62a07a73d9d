"""Tests that `test_soak` runs: its name keeps them out of every other run."""

from __future__ import annotations

import os

import pytest

from tests.soak import soak_count


@pytest.mark.soak
def test_full() -> None:
    assert soak_count(1000) == 1000


@pytest.mark.soak
def test_needs_what_is_not_there() -> None:
    pytest.skip("there is none")


@pytest.mark.soak
def test_crashes() -> None:
    os.abort()


def test_unmarked() -> None:
    raise AssertionError("it is not marked, so nobody runs it")
