"""The store gives back what was written, and nothing that somebody else may have put there or that is damaged."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from einloom.jit import store as module
from einloom.jit.folders import cache_folder
from einloom.jit.store import Store

PAYLOAD = bytes(range(256)) * 40

WRITER = """
import sys
from pathlib import Path
from einloom.jit.store import Store
store = Store(Path(sys.argv[1]))
print("ready", flush=True)
while True:
    for number in range(20):
        store.write(f"key {number}", bytes([number]) * 100_000)
"""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "caches" / "programs")


def only_file(store: Store) -> Path:
    [(name, _)] = store.files()
    return store.folder / name


def test_what_is_written_comes_back(store: Store) -> None:
    assert store.read("key") is None
    assert not store.folder.exists()
    store.write("key", PAYLOAD)
    store.write("other", b"")
    assert store.read("key") == PAYLOAD
    assert store.read("other") == b""
    assert store.read("third") is None
    assert len(store.files()) == 2
    assert store.clear() == 2
    assert store.read("key") is None
    assert store.clear() == 0


def test_what_was_written_under_another_key_is_not_read(store: Store) -> None:
    store.write("key", PAYLOAD)
    written = only_file(store)
    store.write("other", b"another program")
    (other,) = (store.folder / name for name, _ in store.files() if name != written.name)
    other.write_bytes(written.read_bytes())
    assert store.read("other") is None and store.read("key") == PAYLOAD


def test_folder_and_files_are_the_user_s_alone(store: Store) -> None:
    store.write("key", PAYLOAD)
    assert store.folder.stat().st_mode & 0o777 == 0o700
    assert only_file(store).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: b[:40], lambda b: b"", lambda b: b[:-1] + b"\0"])
@pytest.mark.parametrize("key", ["key"])
def test_damaged_files_are_not_read(store: Store, damage, key: str) -> None:
    store.write(key, PAYLOAD)
    file = only_file(store)
    file.write_bytes(damage(file.read_bytes()))
    assert store.read(key) is None
    store.write(key, PAYLOAD)
    assert store.read(key) == PAYLOAD


def test_files_that_others_may_have_written_are_not_read(store: Store, tmp_path: Path) -> None:
    store.write("key", PAYLOAD)
    file = only_file(store)
    file.chmod(0o622)
    assert store.read("key") is None
    file.chmod(0o600)
    assert store.read("key") == PAYLOAD
    elsewhere = tmp_path / "elsewhere"
    file.rename(elsewhere)
    file.symlink_to(elsewhere)
    assert store.read("key") is None
    file.unlink()
    os.mkfifo(file, 0o600)
    assert store.read("key") is None
    file.unlink()
    file.mkdir()
    assert store.read("key") is None


def test_foreign_files_are_not_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.write("key", PAYLOAD)
    owner = os.geteuid()
    monkeypatch.setattr(module.os, "geteuid", lambda: owner + 1)
    assert store.read("key") is None
    store.write("key", b"mine")
    monkeypatch.undo()
    assert store.read("key") == PAYLOAD


@pytest.mark.parametrize("which", ["folder", "parent"])
def test_folders_that_others_may_change_are_not_used(store: Store, which: str) -> None:
    store.write("key", PAYLOAD)
    folder = store.folder if which == "folder" else store.folder.parent
    folder.chmod(0o777)
    assert store.read("key") is None
    store.write("other", PAYLOAD)
    folder.chmod(0o700)
    assert store.read("key") == PAYLOAD
    assert store.read("other") is None


def test_a_linked_folder_is_not_used(store: Store) -> None:
    store.write("key", PAYLOAD)
    moved = store.folder.with_name("moved")
    store.folder.rename(moved)
    store.folder.symlink_to(moved)
    assert store.read("key") is None
    assert Store(moved).read("key") == PAYLOAD


def test_where_nothing_can_be_written_nothing_happens(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    store = Store(tmp_path / "file" / "programs")
    store.write("key", PAYLOAD)
    assert store.read("key") is None
    assert store.files() == []


def test_few_writes_look_at_all_files_however_many_processes_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []
    monkeypatch.setattr(module, "_make_room", looks.append)
    for number in range(640):  # A store of its own for each, as processes have that compile one program.
        Store(tmp_path / "store").write(str(number), b"")
    assert 1 <= len(looks) <= 32


def test_the_oldest_go_when_there_is_no_room(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 20 * len(PAYLOAD))
    monkeypatch.setattr(module, "WRITES_PER_LOOK", 1)
    for number in range(40):
        store.write(f"key {number}", PAYLOAD)
        for name, _ in store.files():
            os.utime(store.folder / name, ns=(0, os.stat(store.folder / name).st_mtime_ns - 10**9))
    assert 10 <= len(store.files()) <= 20
    assert store.read("key 0") is None
    assert store.read("key 39") == PAYLOAD


def test_files_that_it_did_not_write_are_left_alone(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.write("key", PAYLOAD)
    foreign = [store.folder / name for name in ("thesis.tex", "part-1.txt", "f" * 63, only_file(store).name + "~")]
    for file in foreign:
        file.write_bytes(PAYLOAD)
        os.utime(file, (0, 0))
    (store.folder / ("0" * 64)).mkdir()
    monkeypatch.setattr(module, "MOST_BYTES", 2 * len(PAYLOAD))
    monkeypatch.setattr(module, "WRITES_PER_LOOK", 1)
    Store(store.folder).write("other", PAYLOAD)
    assert store.clear() == 1
    assert store.clear() == 0
    assert all(file.read_bytes() == PAYLOAD for file in foreign)


def test_what_is_too_large_is_not_kept(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_OF_ONE", len(PAYLOAD) - 1)
    store.write("key", PAYLOAD)
    assert store.files() == []


def test_two_writers_and_one_of_them_killed(store: Store) -> None:
    store.folder.parent.mkdir(parents=True)
    line = [sys.executable, "-c", WRITER, str(store.folder)]
    writers = [subprocess.Popen(line, stdout=subprocess.PIPE) for _ in range(2)]
    for writer in writers:
        assert writer.stdout is not None
        writer.stdout.readline()
    deadline, seen = time.monotonic() + 60, set[int]()
    while len(seen) < 20 and time.monotonic() < deadline:
        for number in range(20):
            found = store.read(f"key {number}")
            assert found in (None, bytes([number]) * 100_000)
            seen |= {number} if found else set()
    assert len(seen) == 20
    for writer in writers:
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        assert writer.stdout is not None
        writer.stdout.close()
    assert all(store.read(f"key {number}") == bytes([number]) * 100_000 for number in range(20))
    for part in store.folder.glob("part-*"):
        os.utime(part, (0, 0))
    store.files()
    assert not list(store.folder.glob("part-*"))


def test_the_folder_is_the_one_that_platformdirs_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    platformdirs = pytest.importorskip("platformdirs")
    for place in ("", str(tmp_path)):
        monkeypatch.setenv("XDG_CACHE_HOME", place)
        assert cache_folder() == platformdirs.user_cache_path("einloom")
