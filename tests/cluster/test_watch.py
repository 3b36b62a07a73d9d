"""Ranks are watched by connections that the kernel ends first, and compute unwatched where that cannot be."""

from __future__ import annotations

import fcntl
import os
import sys
from typing import Any

import pytest

from einloom.cluster import watch
from einloom.cluster.watch import watched
from einloom.errors import DeviceError


class Alone:
    """The communicator of one rank."""

    rank = 0

    def allgather(self, value: Any) -> list[Any]:
        """Return what every rank has."""
        return [value]

    def Barrier(self) -> None:
        """Wait for nobody."""


def descriptors() -> list[int]:
    """Return which are open, without that of the list itself."""
    listed = [int(each) for each in os.listdir("/proc/self/fd")]
    return sorted(each for each in listed if os.path.exists(f"/proc/self/fd/{each}"))


def test_the_connection_is_above_all_open_files() -> None:
    high = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 300)
    before = descriptors()
    with watched(Alone(), "a sum"):
        highest = max(set(descriptors()) - set(before))
        assert highest > high
        assert os.readlink(f"/proc/self/fd/{highest}").startswith("socket:")
    os.close(high)
    assert descriptors() == [each for each in before if each != high]


def test_an_error_of_all_ranks_passes() -> None:
    with pytest.raises(DeviceError, match="failed"), watched(Alone(), "a sum"):
        raise DeviceError("failed")


def test_a_sentinel_that_cannot_be_started_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    before = descriptors()
    with watched(Alone(), "a sum"):
        pass
    assert descriptors() == before


@pytest.mark.parametrize("refused", ["bind", "connect", "accept"])
def test_sockets_that_a_sandbox_refuses_are_no_failure(refused: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(watch.socket, "socket", type("Refusing", (watch.socket.socket,), {refused: refuses}))
    before = descriptors()
    with watched(Alone(), "a sum"):
        pass
    assert descriptors() == before
