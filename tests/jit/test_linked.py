"""Code that refers to addresses: what is kept is the same code for other addresses, and nothing else is kept."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from einloom.jit import linked
from einloom.jit.linked import linked_code
from einloom.jit.store import Store

VALUES = (0x7F00_1234_5678, 2**64 - 1, 7)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    store = Store(tmp_path / "programs")
    monkeypatch.setattr(linked, "code_store", lambda: store)
    return store


class Emitter:
    """Code with a word for every value but the last, the first one twice; it counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, values: Sequence[int]) -> bytes:
        self.asked += 1
        first, second, _ = (value.to_bytes(8, "little") for value in values)
        return b"\x90" + first + b"\x90\x90" + second + first + b"\xc3"


def test_later_processes_need_no_emitter(store: Store) -> None:
    emitter = Emitter()
    assert linked_code("key", VALUES, emitter) == Emitter()(VALUES)
    asked, others = emitter.asked, (1, 2, 3)
    assert linked_code("key", others, emitter) == Emitter()(others)
    assert linked_code("key", VALUES, emitter) == Emitter()(VALUES)
    assert emitter.asked == asked
    assert linked_code("another", VALUES, emitter) == Emitter()(VALUES) and emitter.asked > asked


def test_values_in_pieces_are_never_kept(store: Store) -> None:
    def pieces(values: Sequence[int]) -> bytes:
        return b"".join((value & 0xFFFF).to_bytes(2, "little") + b"\x00" for value in values)

    for values in (VALUES, (1, 2, 3)):
        assert linked_code("key", values, pieces) == pieces(values)
    assert store.files() == []


@pytest.mark.parametrize(
    "relocations",
    [[[0, 3]], [[0, -1]], [[-1, 0]], [[20, 0]], [[0]], {"a": 1}, "text", [["a", "b"]], None],
)
def test_what_cannot_be_is_emitted_again(store: Store, relocations: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "read", lambda key: json.dumps(relocations).encode() + b"\n" + b"\x90" * 24)
    assert linked_code("key", VALUES, Emitter()) == Emitter()(VALUES)


def test_without_a_store_it_is_emitted_for_its_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linked, "code_store", lambda: None)
    emitter = Emitter()
    assert linked_code("key", VALUES, emitter) == Emitter()(VALUES) and emitter.asked == 1
