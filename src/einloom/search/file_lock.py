"""A lock on an open file, for threads and processes of one machine."""

from __future__ import annotations

import fcntl
from collections.abc import Generator
from contextlib import contextmanager
from typing import IO

__all__ = ["alone_with"]


@contextmanager
def alone_with(stream: IO[bytes]) -> Generator[None, None, None]:
    """Hold the file's lock; whoever asks for it meanwhile waits. What was written is flushed before it is released.

    It is released by name: a child forked meanwhile has the file open too, so closing it here would release nothing.
    """
    fcntl.flock(stream, fcntl.LOCK_EX)
    try:
        yield
        stream.flush()
    finally:
        fcntl.flock(stream, fcntl.LOCK_UN)
