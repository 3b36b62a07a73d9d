"""What is built once: one value a key, bounded, from many threads at once, anew in a forked child."""

from __future__ import annotations

import dis
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

import einloom as el
from einloom.jit import host
from einloom.once import OnceTable, once
from einloom.primitives.callables import KERNELS
from tests.jit.processes import exit_code_in_child


def together(count: int, work: Any) -> list[Any]:
    """Run `work(i)` in that many threads that begin at once; return what each returned or raised."""
    results: list[Any] = [None] * count
    barrier = threading.Barrier(count)

    def run(index: int) -> None:
        barrier.wait()
        try:
            results[index] = work(index)
        except ValueError as error:
            results[index] = error

    threads = [threading.Thread(target=run, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_threads_that_ask_for_the_same_kernel_get_one() -> None:
    compiled: list[Any] = []

    def compile_slowly(spec: Any) -> object:
        compiled.append(spec)
        time.sleep(0.01)
        return object()

    cache: OnceTable[object] = OnceTable(100)
    kernels = together(16, lambda index: cache.get(index % 2, lambda: compile_slowly(index % 2)))
    assert len(set(map(id, kernels))) == 2 and sorted(compiled) == [0, 1]


def test_the_least_recently_used_kernel_is_forgotten() -> None:
    compiled: list[int] = []
    cache: OnceTable[int] = OnceTable(2)
    for spec in (1, 2, 1, 3, 1, 2):
        assert cache.get(spec, lambda spec=spec: compiled.append(spec) or spec) == spec
        assert len(cache) <= 2
    assert compiled == [1, 2, 3, 2]
    cache.clear()
    assert len(cache) == 0


def test_what_compiling_raises_reaches_every_thread_and_is_not_kept() -> None:
    attempts: list[int] = []

    def fail_once() -> str:
        attempts.append("attempt")
        time.sleep(0.01)
        if len(attempts) == 1:
            raise ValueError("not this time")
        return "kernel"

    cache: OnceTable[str] = OnceTable(4)
    results = together(4, lambda index: cache.get("spec", fail_once))
    assert any(isinstance(result, ValueError) for result in results)
    assert cache.get("spec", fail_once) == "kernel"


def interrupted_after_call(number: int, work: Callable[[], object]) -> bool:
    """Raise KeyboardInterrupt in `once` behind the call of this number, where the interpreter handles signals."""
    calls = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal calls
        if frame.f_code.co_filename != OnceTable.get.__code__.co_filename:
            return None
        frame.f_trace_opcodes = True
        code = dis.get_instructions(frame.f_code, show_caches=False)
        before = [step.opname for step in code if step.offset < frame.f_lasti][-1:]
        if event == "opcode" and before in (["CALL"], ["RESUME"]):
            calls += 1
            if calls == number:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    known = sys.gettrace()
    try:
        sys.settrace(trace)
        work()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(known)
    return False


def is_served(table: OnceTable[str]) -> bool:
    """Return whether another thread gets the value."""
    found: list[str] = []
    other = threading.Thread(target=lambda: found.append(table.get("key", lambda: "value")), daemon=True)
    other.start()
    other.join(10)
    return found == ["value"]


def test_an_interrupt_anywhere_leaves_nothing_that_others_wait_for() -> None:
    for number in range(1, 100):
        table: OnceTable[str] = OnceTable(4)
        interrupted = interrupted_after_call(number, lambda table=table: table.get("key", lambda: "value"))
        assert is_served(table), f"behind call {number}"
        if not interrupted:
            return
    raise AssertionError("get makes fewer calls")


def test_an_interrupt_is_not_raised_in_threads_that_wait() -> None:
    table: OnceTable[str] = OnceTable()
    begun = threading.Event()
    attempts: list[str] = []

    def build() -> str:
        attempts.append("attempt")
        if len(attempts) == 1:
            begun.set()
            time.sleep(0.05)
            raise KeyboardInterrupt
        return "value"

    def interrupted() -> None:
        with pytest.raises(KeyboardInterrupt):
            table.get("key", build)

    first = threading.Thread(target=interrupted)
    first.start()
    begun.wait()
    assert table.get("key", build) == "value"
    first.join()


def test_building_may_ask_for_the_same_as_a_signal_handler_does() -> None:
    table: OnceTable[object] = OnceTable()
    inner: list[object] = []

    def build() -> object:
        inner.append(table.get("key", object))
        return object()

    found: list[object] = []
    builder = threading.Thread(target=lambda: found.append(table.get("key", build)), daemon=True)
    builder.start()
    builder.join(10)
    assert found == inner and table.get("key", object) is found[0]


def test_values_that_are_forgotten_may_ask_for_others() -> None:
    table: OnceTable[object] = OnceTable()

    class Asks:
        def __del__(self) -> None:
            table.get("key", object)

    table.get("key", Asks)
    table.clear()
    assert table.get("key", object) is table.get("key", object)


def test_other_machines_and_parameters_have_other_kernels() -> None:
    p = el.primitives
    first = p.unary("elu", m=9, n=2)
    assert first._kernel is p.unary("elu", m=9, n=2)._kernel
    others = [
        p.unary("elu", m=9, n=2, alpha=0.5),
        p.unary("elu", m=9, n=2, b="row"),
        p.unary("elu", m=9, n=2, isa="neon" if host().isa == "x86_64" else "avx2"),
    ]
    assert all(first._kernel is not other._kernel for other in others)


def test_primitives_from_many_threads() -> None:
    names = ("relu", "exp", "tanh", "gelu")
    kernels = together(16, lambda index: el.primitives.unary(names[index % 4], m=11, n=index % 2 + 1))
    assert len({id(kernel._kernel) for kernel in kernels}) == 4
    assert len(KERNELS) <= KERNELS.capacity


@pytest.mark.parametrize("capacity", [1, 3])
def test_many_kernels_stay_bounded_between_threads(capacity: int) -> None:
    def keys(index: int) -> list[int]:
        return [(index * step) % 7 for step in range(50)]

    cache: OnceTable[int] = OnceTable(capacity)
    results = together(8, lambda index: [cache.get(key, lambda key=key: key) for key in keys(index)])
    assert results == [keys(index) for index in range(8)]
    assert len(cache) == capacity


def test_once_gives_every_thread_the_same() -> None:
    made: list[int] = []

    @once
    def slow(number: int) -> object:
        made.append(number)
        time.sleep(0.01)
        return object()

    results = together(8, lambda index: slow(index % 2))
    assert len(set(map(id, results))) == 2 and sorted(made) == [0, 1]
    slow.clear()
    assert slow(0) not in results


def test_a_forked_child_builds_what_another_thread_of_the_parent_was_building() -> None:
    table: OnceTable[str] = OnceTable()
    begun, go_on = threading.Event(), threading.Event()

    def build() -> str:
        begun.set()
        go_on.wait()
        return "parent's"

    builder = threading.Thread(target=lambda: table.get("half", build))
    builder.start()
    begun.wait()
    table.get("whole", lambda: "ready")
    with table._lock:  # as a thread of the parent may, at the moment of the fork
        code = exit_code_in_child(
            lambda: table.get("whole", lambda: "again") == "ready" and table.get("half", lambda: "own") == "own"
        )
    go_on.set()
    builder.join()
    assert code == 0 and table.get("half", lambda: "own") == "parent's"
