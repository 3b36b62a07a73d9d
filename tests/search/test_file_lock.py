"""The lock of a file: what holds it, and what releases it."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from einloom.search.file_lock import alone_with


def test_a_forked_child_does_not_keep_the_lock(tmp_path: Path) -> None:
    file = tmp_path / "file"
    waiting, go = os.pipe()
    with open(file, "ab") as stream, alone_with(stream):
        child = os.fork()
        if child == 0:
            os.read(waiting, 1)
            os._exit(0)
    try:
        with open(file, "ab") as again:
            fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)  # BlockingIOError: the child's copy holds it
    finally:
        os.write(go, b"x")
        os.waitpid(child, 0)


def test_what_was_written_is_there_when_the_next_comes(tmp_path: Path) -> None:
    file = tmp_path / "file"
    with open(file, "ab") as stream:
        with alone_with(stream):
            stream.write(b"line\n")
        assert file.read_bytes() == b"line\n"


def test_an_error_inside_releases_it(tmp_path: Path) -> None:
    with open(tmp_path / "file", "ab") as stream, open(tmp_path / "file", "ab") as other:
        with pytest.raises(KeyError), alone_with(stream):
            raise KeyError
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
