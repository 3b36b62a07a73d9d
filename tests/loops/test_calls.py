"""Calls of traced bodies: arrays of any library come in by one set of rules, and repeated calls enter native code."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import einloom as el
from einloom.jit.interpreter import known_interpreter
from einloom.traced_body import TracedBody

SPECS = [el.LoopSpec(0, 6), el.LoopSpec(0, 8)]


def add_one(string: str = "aB", threads: int = 2) -> TracedBody:
    """Adds U to each block of R, through scratch."""

    def body(a: Any, b: Any, R: Any, U: Any) -> None:
        scratch = el.tpp.scratch((4,))
        el.tpp.copy(R[b, a], scratch)
        el.tpp.add(scratch, U, R[b, a])

    return el.ThreadedLoop(SPECS, string, threads=threads).body(body)


@pytest.fixture
def slow_calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What Python itself checked, call by call."""
    seen: list[str] = []
    original = TracedBody._imported

    def watched(self: TracedBody, tensors: dict[str, Any]) -> Any:
        seen.append(" ".join(tensors))
        return original(self, tensors)

    monkeypatch.setattr(TracedBody, "_imported", watched)
    return seen


@pytest.mark.skipif(known_interpreter() is None, reason="entries need a known interpreter")
@pytest.mark.parametrize(
    ("string", "threads"),
    [("ab", 1), ("aB", 2), ("aB@schedule(dynamic,1)", 3), ("a|B", 2), ("A{R:2}B{C:2}", 4), ("aB|", 2)],
)
def test_repeated_calls_enter_native_code(string: str, threads: int, slow_calls: list[str]) -> None:
    body = add_one(string, threads if "{" not in string else 4)
    out, ones = np.zeros((8, 6, 4), np.float32), np.ones(4, np.float32)
    for _ in range(5):
        body(R=out, U=ones)
        body(U=ones, R=out)
    assert (out == 10).all()
    assert slow_calls == ["R U", "U R"] * 2


def test_what_is_unexpected_goes_to_python() -> None:
    body = add_one()
    memory = np.zeros((8, 6, 4), np.float32)
    ones = np.ones(4, np.float32)
    for _ in range(3):
        body(R=memory, U=ones)
    fixed = memory.copy()
    fixed.flags.writeable = False
    shifted = np.zeros(8 * 6 * 4 * 4 + 1, np.uint8)[1:].view(np.float32).reshape(8, 6, 4)
    for given, error in (
        ({"R": fixed, "U": ones}, el.StrideError),
        ({"R": shifted, "U": ones}, el.StrideError),
        ({"R": memory, "U": memory[0, 0]}, el.OverlapError),
        ({"R": memory, "U": ones.astype(">f4")}, el.DTypeError),
        ({"R": memory, "U": ones.astype(np.int8)}, el.DTypeError),
        ({"R": memory, "U": ones.tolist()}, el.DTypeError),
        ({"R": memory}, el.ScheduleError),
    ):
        with pytest.raises(error):
            body(**given)
    assert (memory == 3).all() and (ones == 1).all()
    other = np.zeros((8, 6, 8), np.float32)[..., ::2]
    with pytest.raises(el.ShapeError):
        body(R=np.zeros((7, 6, 4), np.float32), U=ones)
    for count in range(1, 4):
        body(R=other, U=ones)
        assert (other == count).all()


def test_arrays_of_other_libraries() -> None:
    torch = pytest.importorskip("torch")
    out, ones = torch.zeros(8, 6, 4), torch.ones(4)
    body = add_one()
    for _ in range(3):
        body(R=out, U=ones)
    assert bool((out == 3).all())


def test_many_threads_of_python_are_inside_at_once() -> None:
    body = add_one("aB@schedule(dynamic,1)", 2)
    ones = np.ones(4, np.float32)
    arrays = [np.zeros((8, 6, 4), np.float32) for _ in range(4)]

    def work(out: np.ndarray[Any, Any]) -> None:
        for _ in range(50):
            body(R=out, U=ones)

    threads = [threading.Thread(target=work, args=(out,)) for out in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((out == 50).all() for out in arrays)
