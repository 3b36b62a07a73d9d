"""Threads that wait for each other: all run at the same time, or none runs and the error says so."""

from __future__ import annotations

import ctypes
import threading
from functools import cache

import pytest

from einloom.asm import Assembler
from einloom.jit import Kernel, host
from einloom.jit.threads import run_together
from einloom.kernels.select import machine_for
from tests.emulation import times
from tests.jit.entries import rounding_recorder, rounding_setter
from tests.jit.processes import exit_code_in_child, python
from tests.jit.test_threads import check


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


def test_two_callers_at_the_same_time() -> None:
    failures = []

    def many(threads: int) -> None:
        try:
            for _ in range(times(20)):
                assert met(threads) == threads
        except BaseException as error:
            failures.append(error)

    callers = [threading.Thread(target=many, args=(threads,)) for threads in (2, 3, 2)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not failures


def test_beside_teams_that_do_not_wait() -> None:
    stop: list[None] = []

    def others() -> None:
        while not stop:
            check(5, 1000)

    callers = [threading.Thread(target=others) for _ in range(3)]
    for caller in callers:
        caller.start()
    try:
        for _ in range(times(10)):
            assert met(3) == 3
    finally:
        stop.append(None)
        for caller in callers:
            caller.join()


ROUNDINGS = {"x86_64": 3 << 13, "aarch64": 3 << 22}
"""Where the settings of numbers say how results are rounded: 0 to the nearest, all of it towards zero."""


def test_workers_round_as_the_caller_does() -> None:
    def settings() -> list[int]:
        block = (ctypes.c_int64 * 5)()
        run_together(rounding_recorder().address, block, 4)
        return block[1:]

    towards_zero = ROUNDINGS[host().isa]
    usual = settings()[0]  # Workers are there now, and have begun with it.
    rounding_setter().call((ctypes.c_int64 * 1)(usual | towards_zero))
    try:
        changed = settings()
    finally:
        rounding_setter().call((ctypes.c_int64 * 1)(usual))
    for found, expected in ((changed, towards_zero), (settings(), 0)):
        assert [word & towards_zero for word in found] == [expected] * 4


def test_a_forked_child_meets_too() -> None:
    met(3)
    assert exit_code_in_child(lambda: met(3) == 3) == 0


def test_a_child_that_python_has_not_forked_meets_too() -> None:
    code = """
import os, signal
from tests.jit.test_together import *
met(3)
child = ctypes.PyDLL(None).fork()
if not child:
    signal.alarm(20)
    os._exit(met(3))
print(os.waitpid(child, 0)[1] >> 8)
"""
    assert python(code) == "3"


def test_threads_that_the_system_refuses_are_an_error_and_nothing_is_done() -> None:
    code = """
import pytest
from einloom.errors import DeviceError
from einloom.jit.pool import layout
from tests.jit.entries import PoolWord
from tests.jit.test_together import *
met(3)
attributes = ctypes.c_void_p(PoolWord(layout.ATTRIBUTES).address)
assert ctypes.CDLL(None).pthread_attr_setstacksize(attributes, ctypes.c_size_t(1 << 50)) == 0
counter = (ctypes.c_int64 * 1)()
with pytest.raises(DeviceError, match="4 threads have to run at the same time"):
    run_together(meeting().address, counter, 4)
assert counter[0] == 0 and met(3) == 3 and met(2) == 2
check(8)
"""
    python(code)
