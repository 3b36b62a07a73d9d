"""What is built at most once, whichever threads ask first: `once` for functions, `OnceTable` for what comes and goes.

`cached_property` is for what an object derives from itself.

Of threads that ask for the same new thing one builds it and the others wait for that one; threads that ask for
different things do not wait for each other. In a forked child locks are new, and what another thread of the parent was
building is built anew: that thread does not exist there.

>>> table = OnceTable(2)
>>> table.get("a", object) is table.get("a", object)
True
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar, overload

__all__ = ["Once", "OnceTable", "cached_property", "once"]

Value = TypeVar("Value")
Arguments = ParamSpec("Arguments")
Derived = TypeVar("Derived", covariant=True)


class cached_property(Generic[Derived]):
    """A property that is derived with its first use, and kept in the object.

    Unlike that of `functools` it holds no lock, which a forked child would find locked for ever (until Python 3.12).
    Threads that ask first at once derive it each; what the first of them has stored counts.

    >>> class Square:
    ...     def __init__(self, side: int) -> None:
    ...         self.side = side
    ...
    ...     @cached_property
    ...     def area(self) -> int:
    ...         return self.side**2
    >>> Square(3).area
    9
    """

    def __init__(self, derive: Callable[[Any], Derived]) -> None:
        self.derive, self.__doc__ = derive, derive.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> cached_property[Derived]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Derived: ...
    def __get__(self, instance: object, owner: type) -> Derived | cached_property[Derived]:
        if instance is None:
            return self
        return vars(instance).setdefault(self.name, self.derive(instance))


class _Entry(Generic[Value]):
    """One entry of a table: the lock is held by the thread that builds the value."""

    __slots__ = ("done", "lock", "value")

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.done = False
        self.value: Any = None

    def result(self, build: Callable[[], Value]) -> Value:
        """Return the value; build it unless this has been done, also while this waited.

        An interrupt leaves the entry as it was. Building may come back here in the same thread, through a signal
        handler or a finaliser: then the inner value is there first, and is everyone's.
        """
        if not self.done:
            with self.lock:
                if not self.done:
                    value = build()
                    if not self.done:
                        self.value, self.done = value, True
        return self.value


class OnceTable(Generic[Value]):
    """A table of built values; the least recently used are forgotten.

    Args:
        capacity: how many values are kept; None: all.
    """

    def __init__(self, capacity: int | None = None) -> None:
        self.capacity = capacity
        # Signal handlers and finalisers may come here at any time, also within `get`: they must not wait for it.
        self._lock = threading.RLock()
        self._entries: OrderedDict[Hashable, _Entry[Value]] = OrderedDict()
        _tables.add(self)

    def get(self, key: Hashable, build: Callable[[], Value]) -> Value:
        """Return the value under a key, built on first use.

        What building raises is raised here and not remembered: a thread that waited for the value then builds it.
        """
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                entry = self._entries.setdefault(key, _Entry())
            if key in self._entries:
                self._entries.move_to_end(key)
            while self.capacity is not None and len(self._entries) > self.capacity:
                self._entries.popitem(last=False)
        return entry.result(build)

    def latest(self) -> Value | None:
        """Return the value that was asked for last, None if none is ready."""
        with self._lock:
            return next((entry.value for entry in reversed(list(self._entries.values())) if entry.done), None)

    def clear(self) -> None:
        """Forget every value."""
        with self._lock:
            self._entries = OrderedDict()  # Not clear(), during which finalisers of the values may come back here.

    def renew_in_forked_child(self) -> None:
        """Forget what a thread of the parent was building, and the locks that it held."""
        self._lock = threading.RLock()
        entries = [(key, entry) for key, entry in list(self._entries.items()) if entry.done]
        self._entries = OrderedDict(entries)

    def __len__(self) -> int:
        return len(self._entries)


class Once(Generic[Arguments, Value]):
    """A function that is computed once for each set of positional arguments; see `once`."""

    def __init__(self, function: Callable[Arguments, Value]) -> None:
        self.function = function
        self._table: OnceTable[Value] = OnceTable()
        self._ready: dict[tuple[Any, ...], Value] = {}
        update_wrapper(self, function)

    def __call__(self, *arguments: Arguments.args, **named: Arguments.kwargs) -> Value:
        key = (*arguments, *sorted(named.items())) if named else arguments
        try:
            return self._ready[key]  # without the table's lock
        except KeyError:
            return self._ready.setdefault(key, self._table.get(key, lambda: self.function(*arguments, **named)))

    def clear(self) -> None:
        """Forget the results."""
        self._ready.clear()
        self._table.clear()


def once(function: Callable[Arguments, Value]) -> Once[Arguments, Value]:
    """Remember the results of a function of hashable arguments, each computed by one thread.

    `functools.cache` lets two threads that come first compute a result each, and hands out both: where one of them
    owns memory that generated code knows the address of, that memory is freed under it.

    >>> @once
    ... def answer() -> int:
    ...     return 42
    >>> answer()
    42
    """
    return Once(function)


_tables: weakref.WeakSet[OnceTable[Any]] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for table in list(_tables):
        table.renew_in_forked_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
