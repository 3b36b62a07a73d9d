"""Settings of a block of code. They decide nothing about the host, whose cores the caller passes in.

>>> with settings(threads=2):
...     thread_count(cores=8)
2
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from enum import StrEnum
from operator import index
from typing import Any

from einloom.errors import ArgumentError
from einloom.frozen import frozen
from einloom.once import once

__all__ = [
    "LEAST_WORK",
    "MOST_THREADS",
    "VERSION",
    "Fallback",
    "Settings",
    "WatchedSettings",
    "current_settings",
    "environment_threads",
    "set_process_limit",
    "settings",
    "thread_count",
    "watched_settings",
]

VERSION = "0.1.0"
"""Of einloom."""

LEAST_WORK = 2**19
"""Arithmetic or bytes that one more thread must get to pay for waking it (some tens of microseconds)."""

MOST_THREADS = 4096  # more is a mistake (a size that landed in the wrong place), not a wish


class Fallback(StrEnum):
    """What happens to types that there is no code for: NumPy computes, and a warning says so once; or an error."""

    WARN = "warn"
    ERROR = "error"


@frozen
class Settings:
    """What a `with settings(...)` block asks for; None leaves the threads to the environment."""

    threads: int | None = None
    fallback: Fallback = Fallback.WARN
    records: str | bool | None = None


_NOTHING = Settings()
_current: ContextVar[Settings] = ContextVar("einloom_settings", default=_NOTHING)
_equal: dict[Settings, Settings] = {_NOTHING: _NOTHING}  # one object for equal settings, which generated code compares
_limit = ctypes.c_int64(0)  # of the whole process, 0 for none; generated code reads it


def current_settings() -> Settings:
    """Return the settings of this context: of this thread or asynchronous task, a new thread starts with none."""
    return _current.get()


@contextmanager
def settings(
    *,
    threads: int | None = None,
    fallback: str | None = None,
    records: str | os.PathLike[str] | bool | None = None,
) -> Generator[Settings]:
    """Set what holds for work started in this block; blocks nest, None keeps the outer block's.

    >>> with settings(threads=3) as inner:
    ...     inner.threads
    3

    Args:
        threads: how many threads are used.
        fallback: `"error"` refuses types that there is no code for, `"warn"` lets NumPy compute and says so once.
        records: where the schedules lie that problems were tuned to: a file or a folder; True for the default file,
            False for none. It counts for what is compiled in this block: what is compiled already stays as it is.

    Raises:
        ArgumentError: `threads` is no whole number from 1 to 4096, `fallback` is another word, or `records` none
            of these.
    """
    before = _current.get()
    now = before if threads is None else replace(before, threads=_checked(threads, "settings(threads=…)"))
    if fallback is not None:
        now = replace(now, fallback=_fallback(fallback))
    if records is not None:
        now = replace(now, records=_checked_records(records))
    token = _current.set(_equal.setdefault(now, now))
    try:
        yield now
    finally:
        _current.reset(token)


def _checked_records(records: Any) -> str | bool:
    if isinstance(records, bool):
        return records
    if isinstance(records, str | os.PathLike):
        return os.fspath(records)
    raise ArgumentError(f"records is {records!r:.80}\n  Give a path, True for the default file, or False for none.")


def set_process_limit(threads: int | None) -> None:
    """Set how many threads work uses in this process where neither the call nor its context says; None: no limit.

    Raises:
        ArgumentError: no whole number from 1 to 4096.
    """
    _limit.value = 0 if threads is None else _checked(threads, "the limit of the process")


@frozen
class WatchedSettings:
    """What the number of threads follows from, for generated code that sees by it that nothing has changed.

    Attributes:
        variable: the context variable.
        value: the object that it holds.
        limit: of the process, 0 for none.
    """

    variable: ContextVar[Settings]
    value: Settings
    limit: int

    @property
    def words(self) -> tuple[int, int, int, int]:
        """Addresses of the variable and of the value; of the word that holds the limit, and what it holds."""
        return id(self.variable), id(self.value), ctypes.addressof(_limit), self.limit


def watched_settings() -> WatchedSettings:
    """Return what `thread_count(None, …)` follows from now, environment and cores aside, which do not change."""
    return WatchedSettings(_current, _current.get(), _limit.value)


def thread_count(threads: int | None = None, *, cores: int) -> int:
    """Return how many threads to use.

    `threads`, else the context's, else the process's, else `EINLOOM_THREADS`, `OMP_NUM_THREADS`, `cores`.

    Of a list in `OMP_NUM_THREADS` (one number per nesting level) the first counts; what is no number there does not:
    the variable is another library's, which may complain.

    Raises:
        ArgumentError: `threads` or `EINLOOM_THREADS` is no whole number from 1 to 4096.
    """
    if threads is not None:
        return _checked(threads, "threads=…")
    chosen = _current.get().threads
    if chosen is not None:
        return chosen
    if _limit.value:
        return _limit.value
    return environment_threads() or cores


@once
def environment_threads() -> int | None:
    """Return the number of threads that the environment asks for, read once in a process, as runtimes of OpenMP do.

    Raises:
        ArgumentError: as `thread_count`; then it is read again.
    """
    if text := os.environ.get("EINLOOM_THREADS", "").strip():
        return _checked(_number(text), "EINLOOM_THREADS")
    first = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if first.isascii() and first.isdigit() and 1 <= int(first) <= MOST_THREADS:
        return int(first)
    return None


def _fallback(word: Any) -> Fallback:
    try:
        return Fallback(word)
    except ValueError:
        words = ", ".join(Fallback)
        raise ArgumentError(f"settings(fallback={word!r:.80})\n  It is one of: {words}.") from None


def _checked(value: Any, where: str) -> int:
    try:
        count = 0 if isinstance(value, bool) else index(value)
    except TypeError:
        count = 0
    if not 1 <= count <= MOST_THREADS:
        raise ArgumentError(
            f"{where} is {value!r:.80}\n  Give a whole number of threads from 1 to {MOST_THREADS}, or leave it out."
        )
    return count


def _number(text: str) -> int | str:
    """Return the whole number that a text says, or else the text."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else text
