"""Thread teams: every share exactly once, whoever does it, however many threads there are and whatever they do."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from einloom.errors import DeviceError
from einloom.jit import threads
from einloom.jit.host import host
from einloom.jit.pool import layout
from einloom.jit.threads import launch_address, run_team
from tests.emulation import times
from tests.jit.entries import Gate, PoolWord, Record, nester, recorder
from tests.jit.processes import exit_code_in_child, python

CHECK = """
import ctypes, os
from einloom.jit.pool import layout
from einloom.jit import threads
from einloom.jit.threads import run_team
from tests.jit.entries import Gate, PoolWord, Record, recorder
from tests.jit.test_threads import check, until, workers
"""


def check(shares: int, turns: int = 0) -> Record:
    record = Record(turns)
    run_team(recorder().address, record.block, shares)
    assert record.calls(shares) == [1] * shares
    assert record.threads(shares) == [shares] * shares
    return record


def until(condition: Callable[[], bool]) -> None:
    """Wait for what another thread does."""
    while not condition():
        time.sleep(0.001)


def workers() -> int:
    """Return how many threads this process has besides the one that it began with."""
    return len(os.listdir("/proc/self/task")) - 1


@pytest.fixture
def limit() -> Iterator[PoolWord]:
    """How many workers there may be, until the test ends."""
    word = PoolWord(layout.LIMIT)
    before = word.value
    yield word
    word.value = before


@pytest.mark.parametrize("shares", [*range(1, 9), 15, 16, 17, 33, 63, 64])
def test_every_share_is_called_once(shares: int) -> None:
    for turns in (0, 0, 100, 10_000):
        for _ in range(5):
            check(shares, turns)


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_with_any_number_of_workers(limit: PoolWord, count: int) -> None:
    limit.value = count
    for shares in (2, 3, 8, 64):
        for turns in (0, 0, 1000, 100_000):
            check(shares, turns)


def test_one_share_stays_on_the_calling_thread() -> None:
    called = Record()
    recorder().call(called.block, 0, 1)
    assert abs(called.stacks(1)[0] - check(1).stacks(1)[0]) < 2**16


def test_the_first_share_is_the_callers() -> None:
    called = Record()
    recorder().call(called.block, 0, 1)
    for _ in range(20):
        assert abs(called.stacks(1)[0] - check(8, 1000).stacks(1)[0]) < 2**16


def test_a_team_of_no_threads_is_refused() -> None:
    with pytest.raises(DeviceError, match="0 threads"):
        run_team(recorder().address, Record().block, 0)


def test_there_are_as_many_workers_as_other_shares_but_not_more_than_other_cores() -> None:
    script = """
    before, limit = workers(), PoolWord(layout.LIMIT)
    limit.value = 3
    seen = []
    for shares in 1, 2, 2, 3, 64, 5:
        check(shares)
        seen.append(workers() - before)
    print(seen, PoolWord(layout.WORKERS).value)
    """
    assert python(CHECK + dedented(script)) == "[0, 1, 1, 2, 3, 3] 3"


def dedented(script: str) -> str:
    return "\n".join(line[4:] for line in script.splitlines())


def test_as_many_workers_as_other_cores_by_default() -> None:
    assert PoolWord(layout.LIMIT).value == host().cores - 1


@pytest.mark.parametrize("shares", [2, 5, 64])
def test_the_caller_does_what_nobody_has_begun(shares: int) -> None:
    """With workers that do not exist, which are waited for by whoever waits for workers."""
    script = f"""
    PoolWord(layout.WORKERS).value = PoolWord(layout.LIMIT).value = 64
    before = workers()
    stacks = {{stack >> 16 for _ in range(50) for stack in check({shares}, 100).stacks({shares})}}
    print(workers() - before, max(stacks) - min(stacks) <= 1)
    """
    assert python(CHECK + dedented(script)) == "0 True"


def test_a_worker_that_is_busy_for_long_keeps_nobody_waiting(limit: PoolWord) -> None:
    check(2)
    limit.value = PoolWord(layout.WORKERS).value
    with Gate(limit.value + 1) as busy:
        until(lambda: busy.begun == limit.value + 1)
        for shares in (2, 3, 64):
            for _ in range(20):
                check(shares, 100)
        assert busy.begun == limit.value + 1


def test_the_caller_waits_for_what_others_have_begun(limit: PoolWord) -> None:
    limit.value = 1
    for pause in (0.0, 0.05):  # It looks at first, and then sleeps.
        with Gate(2, free=1) as busy:
            until(lambda: busy.begun == 2)
            time.sleep(pause)
            assert not busy.has_returned
        assert busy.has_returned
    check(2)


def test_more_callers_than_slots(limit: PoolWord) -> None:
    check(2)
    gates = [Gate(2) for _ in range(layout.COUNT + 3)]
    with ExitStack() as stack:
        for each in gates:
            stack.enter_context(each)
        until(lambda: all(each.begun for each in gates))
        for _ in range(20):
            check(5)
    assert all(each.begun == 2 for each in gates)
    for place in range(layout.SLOTS, layout.SLOTS_END, layout.SLOT):
        assert PoolWord(place + layout.OWNED).value == 0


@pytest.mark.parametrize("count", [1, 3])
def test_eight_python_threads_at_once(limit: PoolWord, count: int) -> None:
    limit.value = count
    failures = []

    def many(number: int) -> None:
        try:
            for turn in range(times(500)):
                check(1 + (number + turn) % 9, turns=(0, 50, 3000)[turn % 3])
        except BaseException as error:
            failures.append(error)

    callers = [threading.Thread(target=many, args=(number,)) for number in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not failures


def check_nested(outer: int, inner: int) -> list[list[int]]:
    records = [Record() for _ in range(outer)]
    blocks = [ctypes.addressof(record.block) for record in records]
    block = (ctypes.c_int64 * (3 + outer))(launch_address(), recorder().address, inner, *blocks)
    run_team(nester().address, block, outer)
    return [record.calls(inner) for record in records]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_team_inside_a_team(limit: PoolWord, count: int) -> None:
    limit.value = count
    for outer, inner in ((3, 4), (3, 1), (12, 5)):
        for _ in range(20):
            assert check_nested(outer, inner) == [[1] * inner] * outer


# ---- forks


def test_a_forked_child_makes_its_own_workers() -> None:
    script = """
    PoolWord(layout.LIMIT).value = 3
    check(3)
    child = os.fork()
    if not child:
        begun = workers(), PoolWord(layout.WORKERS).value
        PoolWord(layout.LIMIT).value = 3
        for _ in range(50):
            check(4)
        os._exit(0 if (begun, workers()) == ((0, 0), 3) else 1)
    print(os.waitpid(child, 0)[1])
    check(4)
    """
    assert python(CHECK + dedented(script)) == "0"


def test_a_forked_child_of_a_process_without_workers() -> None:
    script = """
    child = os.fork()
    if not child:
        check(3)
        os._exit(0)
    print(os.waitpid(child, 0)[1])
    """
    assert python(CHECK + dedented(script)) == "0"


def test_a_fork_while_the_pool_is_busy(limit: PoolWord) -> None:
    def action() -> bool:
        owned = [PoolWord(place + layout.OWNED).value for place in range(layout.SLOTS, layout.SLOTS_END, layout.SLOT)]
        for shares in (1, 2, 3, 64):
            check(shares, 100)
        return not any(owned)

    limit.value = 2
    with Gate(3) as first, Gate(2) as second:
        until(lambda: first.begun > 0 and second.begun > 0)
        assert exit_code_in_child(action) == 0
        assert exit_code_in_child(action) == 0
    check(3)


def test_a_pool_that_could_not_be_made_leaves_nothing_to_a_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> bytes:
        raise DeviceError("no executable memory")

    before = list(threads._wiped_in_children)
    monkeypatch.setattr(threads, "linked_code", refuse)
    monkeypatch.setattr(threads, "_is_wiped_by_forks", lambda _: False)
    with pytest.raises(DeviceError, match="no executable memory"):
        threads._pool.function()
    assert threads._wiped_in_children == before


NO_SUCH_ADVICE = "from einloom.jit import threads; threads._MADV_WIPEONFORK = 9999\n"


def test_a_forked_child_of_a_system_that_wipes_nothing() -> None:
    script = """
    check(3)
    assert threads._wiped_in_children and PoolWord(layout.WORKERS).value > 0
    child = os.fork()
    if not child:
        before = PoolWord(layout.WORKERS).value
        check(3)
        os._exit(before)
    print(os.waitpid(child, 0)[1])
    """
    assert python(CHECK + NO_SUCH_ADVICE + "PoolWord(layout.LIMIT).value = 2" + dedented(script)) == "0"


def test_a_child_that_python_has_not_forked_makes_its_own_workers() -> None:
    """In the middle of a job of another thread, and while a third one makes workers."""
    script = """
    from tests.jit.test_together import met
    check(4)
    with Gate(2) as busy:
        until(lambda: busy.begun > 0)
        PoolWord(layout.GROWING).value = 1
        child = ctypes.PyDLL(None).fork()
        if not child:
            signal.alarm(20)
            words = range(0, layout.SLOTS_END, 8)
            wiped = not any(PoolWord(word).value for word in words)
            check(4)
            os._exit(0 if wiped and workers() == 3 and met(6) == 6 and workers() == 5 else 1)
        PoolWord(layout.GROWING).value = 0
        print(os.waitpid(child, 0)[1], PoolWord(layout.WORKERS).value)
    """
    assert python(CHECK + "import signal\nPoolWord(layout.LIMIT).value = 3" + dedented(script)) == "0 3"


# ---- signals, faults, and the end


def test_an_interrupt_comes_after_the_last_share() -> None:
    script = """
    import signal, threading
    from tests.jit.entries import gate

    def interrupt():
        until(lambda: block[0] > 0)
        os.kill(os.getpid(), signal.SIGINT)
        block[1] = 1

    signal.signal(signal.SIGINT, signal.default_int_handler)  # Whoever started this may ignore it.
    block = (ctypes.c_int64 * 3)()
    other = threading.Thread(target=interrupt)
    try:
        other.start()
        run_team(gate().address, block, 3)
        until(lambda: False)
    except KeyboardInterrupt:
        other.join()
        check(3)
        print("interrupted after", block[0])
    """
    assert python(CHECK + dedented(script)) == "interrupted after 3"


def test_signals_come_to_pythons_threads() -> None:
    check(2)
    for tid in map(int, os.listdir("/proc/self/task")):
        with open(f"/proc/self/task/{tid}/status") as file:
            status = dict(line.split(":", 1) for line in file)
        blocked = int(status["SigBlk"], 16)
        if tid not in {thread.native_id for thread in threading.enumerate()} and blocked:
            assert blocked >> (signal.SIGINT - 1) & 1 and blocked >> (signal.SIGTERM - 1) & 1
            assert not blocked >> (signal.SIGSEGV - 1) & 1
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, ())


@pytest.mark.parametrize("pause", ["", "import time; time.sleep(0.05)"])
def test_the_process_ends_with_workers_awake_and_asleep(pause: str) -> None:
    for _ in range(times(2)):
        assert python(CHECK + f"for _ in range(100): check(4)\n{pause}") == ""


REFUSES = """
from tests.jit.test_threads import stack_size
from tests.jit.test_together import met
usual = stack_size()
stack_size(1 << 50)
PoolWord(layout.LIMIT).value = 3
before = workers()
check(4)
assert workers() - before == PoolWord(layout.WORKERS).value == 0
stack_size(usual)
"""


def stack_size(size: int | None = None) -> int:
    """Return, or change, the size of new workers' stacks: the system gives no thread with too large a one."""
    attributes, found = ctypes.c_void_p(PoolWord(layout.ATTRIBUTES).address), ctypes.c_size_t()
    libc = ctypes.CDLL(None)
    if size is not None:
        assert libc.pthread_attr_setstacksize(attributes, ctypes.c_size_t(size)) == 0
    assert libc.pthread_attr_getstacksize(attributes, ctypes.byref(found)) == 0
    return found.value


def test_a_system_that_refuses_a_thread_is_not_asked_again_at_once() -> None:
    script = """
    PoolWord(layout.PATIENT).value = 2**62
    for _ in range(100):
        check(4)
    print(workers() - before, PoolWord(layout.LIMIT).value, PoolWord(layout.WORKERS).value)
    """
    assert python(CHECK + REFUSES + dedented(script)) == "0 3 0"


def test_a_system_that_has_refused_a_thread_is_asked_again_in_a_while() -> None:
    script = """
    begun = time.monotonic()
    while workers() - before < 3:
        check(4)
    print(time.monotonic() - begun > 0.1)
    """
    assert python(CHECK + REFUSES + "import time" + dedented(script)) == "True"  # Or it is killed after a minute.


def test_threads_that_run_together_are_asked_for_at_once() -> None:
    script = """
    PoolWord(layout.PATIENT).value = 2**62
    print(met(3), workers() - before, [check(4) and workers() - before for _ in range(3)])
    """
    assert python(CHECK + REFUSES + dedented(script)) == "3 2 [2, 2, 2]"
