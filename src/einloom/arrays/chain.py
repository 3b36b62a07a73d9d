"""`Chain`: the entries of one callable object, the newest first, and Python behind them.

An entry comes with the second call of its signature: code for a single call would cost more than it saves.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from einloom.arrays.entry import Entry
from einloom.jit.host import host
from einloom.jit.interpreter import Interpreter, known_interpreter
from einloom.jit.kernel import Kernel
from einloom.jit.native import Native
from einloom.once import once

__all__ = ["Chain"]

MOST_ENTRIES = 16
"""Entries of one object. They stay as long as it does, for another thread may be inside one."""

MOST_MET = 256
"""Signatures that an object remembers to have met once."""


class Chain:
    """Entries of an object whose class derives from `Native`.

    Args:
        native: the object; calls of it go to Python until it has an entry.
        function: the class's `__call__`, which gets the calls that no entry takes.
    """

    __slots__ = ("_function", "_kernels", "_met")

    def __init__(self, native: Native, function: Callable[..., Any]) -> None:
        native.call_python()  # Who calls `__init__` of an object again makes another one of it.
        self._function = function
        self._kernels: list[Kernel] = []
        self._met: dict[Hashable, bool] = {}  # whether the entry was asked for

    def meet(self, native: Native, signature: Hashable, describe: Callable[[], tuple[Entry, object] | None]) -> None:
        """Add an entry for a signature that has been met before.

        Args:
            native: the object.
            signature: what a call was.
            describe: gives the entry, and what is to be kept alive with it; or None if there can be none.
        """
        interpreter = known_interpreter()
        if interpreter is None or len(self._kernels) >= MOST_ENTRIES:
            return
        asked = self._met.get(signature)
        if asked is None and len(self._met) < MOST_MET:
            self._met[signature] = False
        if asked is not False:
            return
        self._met[signature] = True
        described = describe()
        if described is not None:
            self._add(native, interpreter, *described)

    def _add(self, native: Native, interpreter: Interpreter, entry: Entry, kept: object) -> None:
        from einloom.arrays.emit import emit_entry  # Late: with the assembler, which a single call does not need.

        following = self._kernels[-1] if self._kernels else _handover(self._function)
        code = emit_entry(host().isa, interpreter, entry, following.address)
        kernel = Kernel(code, name="entry")
        self._kernels.append(kernel)
        native.enter_at(kernel, kept)


@once
def _handover(function: Callable[..., Any]) -> Kernel:
    """Return the code that calls a Python function as a method; `once` keeps the function."""
    from einloom.arrays.emit import emit_handover

    interpreter = known_interpreter()
    assert interpreter is not None
    return Kernel(emit_handover(host().isa, interpreter, id(function)), name="handover to Python")
