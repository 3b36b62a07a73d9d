"""A fork waits for imports of einloom by other threads, and for nothing else."""

from __future__ import annotations

import _imp
import importlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from einloom import forks
from tests.jit.processes import python

_module_lock: Any = vars(importlib)["_bootstrap"]._get_module_lock


@contextmanager
def importing(name: str) -> Iterator[None]:
    """A thread is importing a module meanwhile."""
    lock, begun, end = _module_lock(name), threading.Event(), threading.Event()

    def work() -> None:
        with lock_held(lock):
            begun.set()
            end.wait()

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    try:
        yield
    finally:
        end.set()
        thread.join()


@contextmanager
def lock_held(lock: Any) -> Iterator[None]:
    lock.acquire()
    try:
        yield
    finally:
        lock.release()


def forking() -> threading.Event:
    """Start a thread that waits as a fork does; return what it sets then."""
    ready = threading.Event()

    def work() -> None:
        forks.wait_for_imports()
        _imp.release_lock()
        ready.set()

    threading.Thread(target=work).start()
    return ready


@pytest.mark.parametrize("name", ["einloom.slow", "opt_einsum"])
def test_it_waits_until_the_module_is_there(name: str) -> None:
    with importing(name):
        ready = forking()
        assert not ready.wait(0.05)
    assert ready.wait(30)


FORK = """
import importlib, os, threading, time
import einloom

lock = vars(importlib)["_bootstrap"]._get_module_lock("einloom.slow")
begun = threading.Event()

def load():
    lock.acquire()
    begun.set()
    time.sleep(0.3)
    lock.release()

threading.Thread(target=load).start()
begun.wait()
child = os.fork()
if child == 0:
    os._exit(lock.owner is not None)
print(os.waitpid(child, 0)[1])
"""


def test_every_fork_waits() -> None:
    assert python(FORK) == "0"


@pytest.mark.parametrize("name", ["json.slow", "einloomed"])
def test_it_does_not_wait_for_others_modules(name: str) -> None:
    with importing(name):
        assert forking().wait(30)


def test_it_does_not_wait_for_itself() -> None:
    with lock_held(_module_lock("einloom.slow")):
        forks.wait_for_imports()
        _imp.release_lock()


def test_it_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forks, "PATIENCE", 0.01)
    with importing("einloom.slow"):
        assert forking().wait(30)
