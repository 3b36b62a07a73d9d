"""Threads that wait for each other: all run at the same time, or none runs and the error says so."""

from __future__ import annotations

import ctypes
from functools import cache

import pytest

from einloom.asm import Assembler
from einloom.errors import DeviceError
from einloom.jit import Kernel, host
from einloom.jit.pool import run_apart
from einloom.jit.threads import run_together
from einloom.kernels.select import machine_for
from tests.jit.processes import exit_code_in_child, python


@cache
def meeting() -> Kernel:
    """Return `void entry(counter, thread, threads)`: add 1 to the counter, and wait until every thread has."""
    asm = Assembler(host().isa)
    km = machine_for(asm, host())
    counter, _, threads, one = km.arguments[:4]
    km.constant(one, 1)
    km.fetch_add(one, counter)
    top, done = asm.label("wait"), asm.forward("done")
    km.observe(one, counter, 0)
    km.branch("ge", one, threads, done)
    km.pause()
    km.jump(top)
    asm.bind(done)
    km.return_()
    return Kernel(asm, name="meeting")


def met(threads: int) -> int:
    counter = (ctypes.c_int64 * 1)()
    run_together(meeting().address, counter, threads)
    return counter[0]


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_all_run_at_the_same_time(threads: int) -> None:
    for _ in range(5):
        assert met(threads) == threads


def test_threads_of_python_do_where_there_is_no_runtime() -> None:
    counter = (ctypes.c_int64 * 1)()
    run_apart(meeting().address, ctypes.addressof(counter), 4)
    assert counter[0] == 4


def test_a_forked_child_meets_too() -> None:
    met(3)
    assert exit_code_in_child(lambda: met(3) == 3) == 0


def test_too_few_threads_are_an_error_and_nothing_is_done() -> None:
    code = """
import pytest
from tests.jit.test_together import *
counter = (ctypes.c_int64 * 1)()
with pytest.raises(DeviceError, match="4 threads have to run at the same time"):
    run_together(meeting().address, counter, 4)
assert counter[0] == 0
"""
    python(code, OMP_THREAD_LIMIT="2")


def test_threads_that_the_system_refuses_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    import _thread

    start, started = _thread.start_new_thread, []

    def refuse(function, arguments):
        if len(started) == 2:
            raise RuntimeError("can't start new thread")
        started.append(start(function, arguments))

    monkeypatch.setattr(_thread, "start_new_thread", refuse)
    counter = (ctypes.c_int64 * 1)()
    with pytest.raises(DeviceError, match="refuses 3 threads"):
        run_apart(meeting().address, ctypes.addressof(counter), 3)
    assert counter[0] == 0
