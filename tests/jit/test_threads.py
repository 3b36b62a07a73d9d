"""Thread teams: every share exactly once, whatever runs them, however many threads there are."""

from __future__ import annotations

import ctypes
import threading

import pytest

from einloom.errors import DeviceError
from einloom.jit import threads as module
from einloom.jit.host import host
from einloom.jit.openmp import find_runtime
from einloom.jit.pool import Pool, _Job
from einloom.jit.threads import front_function, launch_address, run_team, runtime_name, team_function
from tests.jit.entries import Record, adder, nester, recorder
from tests.jit.processes import exit_code_in_child, python

CHECK = """
from tests.jit.entries import Record, recorder
from einloom.jit.threads import run_team, runtime_name
def check(threads, times=20):
    for _ in range(times):
        record = Record()
        run_team(recorder().address, record.block, threads)
        assert record.calls(threads) == [1] * threads, record.calls(threads)
        assert record.threads(threads) == [threads] * threads
    return record
"""


def check(threads: int, pool: Pool | None = None, turns: int = 0) -> Record:
    record = Record(turns)
    if pool:
        pool.run(recorder().address, ctypes.addressof(record.block), threads, threads)
    else:
        run_team(recorder().address, record.block, threads)
    assert record.calls(threads) == [1] * threads
    assert record.threads(threads) == [threads] * threads
    return record


@pytest.mark.parametrize("threads", [1, 2, 3, 4, 64])
def test_every_share_is_called_once(threads):
    for _ in range(20):
        check(threads)


def test_one_share_stays_on_the_calling_thread():
    called = Record()
    recorder().call(called.block, 0, 1)
    assert abs(called.stacks(1)[0] - check(1).stacks(1)[0]) < 2**16


def test_the_team_is_as_large_as_the_cores_and_no_larger():
    stacks = {stack >> 16 for stack in check(64).stacks(64)}
    assert runtime_name() == "pool" or len(stacks) == min(64, host().cores)


def test_a_team_of_no_threads_is_refused():
    with pytest.raises(DeviceError, match="0 threads"):
        run_team(recorder().address, Record().block, 0)


@pytest.mark.parametrize("words", [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 17])
@pytest.mark.parametrize("release_gil", [True, False])
def test_words_arrive_in_order(words, release_gil):
    call = team_function(words + 1, release_gil=release_gil)
    values = [-3, 10**15, 7, 2**40 + 1, -1, 1, 5, -8, 9, 10, 11, 12, 13, 14, 15, 16][: words - 1]
    expected = sum(number * value for number, value in enumerate(values, 1))
    for threads in (1, 2, 3):
        out = (ctypes.c_int64 * 4)()
        call(adder().address, threads, ctypes.addressof(out), *values, 0)
        assert list(out) == [expected] * threads + [0] * (4 - threads)


def test_several_python_threads_at_once():
    failures = []

    def many() -> None:
        try:
            for _ in range(50):
                check(3, turns=1000)
        except BaseException as error:
            failures.append(error)

    callers = [threading.Thread(target=many) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not failures


def check_nested(run, outer: int, inner: int) -> list[list[int]]:
    records = [Record() for _ in range(outer)]
    blocks = [ctypes.addressof(record.block) for record in records]
    block = (ctypes.c_int64 * (3 + outer))(launch_address(), recorder().address, inner, *blocks)
    run(nester().address, block, outer)
    return [record.calls(inner) for record in records]


def test_a_team_inside_a_team():
    if runtime_name() != "pool":
        assert check_nested(run_team, 3, 4) == [[1] * 4] * 3
    assert check_nested(run_team, 3, 1) == [[1]] * 3


def test_forked_child_uses_the_pool():
    check(3)
    front = front_function(2)

    def action() -> bool:
        record = Record()
        refused = front(recorder().address, 2, *record.block) == 1 and record.calls(2) == [0, 0]
        alone = front(recorder().address, 1, *record.block) == 0 and record.calls(1) == [1]
        check(1)
        check(4)
        again = Record()
        team_function(2)(recorder().address, 3, *again.block)
        return refused and alone and again.calls(3) == [1] * 3 and runtime_name() == "pool"

    assert exit_code_in_child(action) == 0
    check(3)


def test_forked_child_of_a_process_without_team_uses_the_pool():
    shown = python(
        CHECK
        + """
import os
import einloom.jit
child = os.fork()
if not child:
    check(3)
    os._exit(0 if runtime_name() == "pool" else 1)
print(os.waitpid(child, 0)[1])
"""
    )
    assert shown == "0"


def test_helpers_of_the_parent_are_replaced_in_a_forked_child():
    shown = python(
        CHECK
        + """
import os
from types import SimpleNamespace
from einloom.jit import threads
real = threads.host()
threads.host = lambda: SimpleNamespace(isa=real.isa, cores=3)
threads.find_runtime = lambda: None
def tasks():
    return len(os.listdir("/proc/self/task"))
before = tasks()
check(3)
assert tasks() == before + 2
child = os.fork()
if not child:
    check(3)
    os._exit(0 if tasks() == 3 else 1)
print(os.waitpid(child, 0)[1])
"""
    )
    assert shown == "0"


def test_no_runtime_is_no_obstacle():
    shown = python(
        CHECK
        + """
from einloom.jit import threads
threads.find_runtime = lambda: None
for number in 1, 2, 4:
    check(number)
print(runtime_name())
"""
    )
    assert shown == "pool"


@pytest.mark.parametrize("limit", ["1", "2", "3"])
def test_a_runtime_that_grants_fewer_threads(limit):
    script = f"""
from types import SimpleNamespace
from einloom.jit import threads
real = threads.host()
threads.host = lambda: SimpleNamespace(isa=real.isa, cores=4)
stacks = {{stack >> 16 for stack in check(4).stacks(4)}}
assert runtime_name() == "pool" or len(stacks) == {limit}, stacks
check(7)
"""
    python(CHECK + script, OMP_THREAD_LIMIT=limit, OMP_DYNAMIC="false")


# The pool by itself


@pytest.mark.parametrize("threads", [1, 2, 3, 4, 9])
def test_pool_calls_every_share_once(threads):
    pool = Pool()
    for turns in (0, 0, 0, 100_000):
        check(threads, pool, turns)
    assert pool.threads == threads - 1


def test_pool_serves_several_callers_with_too_few_helpers():
    pool = Pool()
    check(2, pool)
    failures = []

    def many() -> None:
        try:
            for _ in range(50):
                check(2, pool, 1000)
        except BaseException as error:
            failures.append(error)

    callers = [threading.Thread(target=many) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not failures and pool.threads == 1


def test_pool_works_alone_where_no_thread_can_start(monkeypatch):
    def refuse(function, arguments) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("_thread.start_new_thread", refuse)
    pool = Pool()
    check(4, pool)
    assert pool.threads == 0


def test_an_interrupt_comes_after_the_last_share(monkeypatch):
    record = Record()
    work, interrupts = _Job.work, []

    def interrupted(self) -> None:
        """Be interrupted twice before and once after the work."""
        if len(interrupts) == 2:
            work(self)
        interrupts.append(record.words[:4])
        raise KeyboardInterrupt

    monkeypatch.setattr(_Job, "work", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Pool().run(recorder().address, ctypes.addressof(record.block), 4, 1)
    assert interrupts == [[0] * 4, [0] * 4, [1] * 4]


def test_interrupts_before_the_work_lose_no_share(monkeypatch):
    pool = Pool()

    start = Pool._start

    def interrupt(self, wanted: int) -> None:
        start(self, wanted)
        if wanted:
            raise KeyboardInterrupt

    monkeypatch.setattr(Pool, "_start", interrupt)
    record = Record()
    with pytest.raises(KeyboardInterrupt):
        pool.run(recorder().address, ctypes.addressof(record.block), 3, 3)
    assert record.calls(3) == [1] * 3


def test_a_runtime_is_found_where_there_is_one():
    try:
        ctypes.CDLL("libgomp.so.1")
    except OSError:
        return
    assert find_runtime() is not None and module.runtime_name() != "pool"
