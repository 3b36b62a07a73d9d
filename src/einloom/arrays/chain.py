"""`Chain`: the entries of one callable object, the newest first, and Python behind them.

An entry comes with the second call of its signature: code for a single call would cost more than it saves.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any

from einloom.arrays.entry import Entry, moved
from einloom.jit.host import host
from einloom.jit.interpreter import Interpreter, known_interpreter
from einloom.jit.kernel import Kernel
from einloom.jit.linked import linked_code
from einloom.jit.native import Native
from einloom.once import once

__all__ = ["Chain"]

MOST_ENTRIES = 64
"""Entries of one object. A call that passes all of them takes 0.2 us longer; one by Python takes 60 us. They stay as
long as it does, for another thread may be inside one."""

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
        """Add an entry for a signature that has been met before; none while Python ends, for it imports no more.

        Args:
            native: the object.
            signature: what a call was.
            describe: gives the entry, and what is to be kept alive with it; or None if there can be none.
        """
        interpreter = known_interpreter()
        if interpreter is None or len(self._kernels) >= MOST_ENTRIES or sys.is_finalizing():
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
        following = self._kernels[-1] if self._kernels else _handover(self._function)
        kernel = Kernel(entry_code(interpreter, entry, following.address), host().isa, name="entry")
        self._kernels.append(kernel)
        native.enter_at(kernel, kept)


def entry_code(interpreter: Interpreter, entry: Entry, following: int) -> bytes:
    """Return the code of an entry, which later processes find with their own addresses in it."""
    isa, values = host().isa, [following, *interpreter.functions.values()]
    first = len(values)

    def known(value: int) -> int:
        values.append(value)
        return len(values) - 1

    form = moved(entry, known)  # Numbers of values in place of these.

    def emit(values: Sequence[int]) -> bytes:
        from einloom.arrays.emit import emit_entry  # Late: with the assembler, which a kept entry does not need.

        functions = replace(interpreter, functions=dict(zip(interpreter.functions, values[1:first])))
        return emit_entry(isa, functions, moved(form, values.__getitem__), values[0]).bytes()

    return linked_code(f"entry {isa} {_layout(interpreter)} {form}", values, emit)


@once
def _handover(function: Callable[..., Any]) -> Kernel:
    """Return the code that calls a Python function as a method; `once` keeps the function."""
    interpreter = known_interpreter()
    assert interpreter is not None
    isa = host().isa

    def emit(values: Sequence[int]) -> bytes:
        from einloom.arrays.emit import emit_handover

        functions = replace(interpreter, functions=dict(zip(interpreter.functions, values[1:])))
        return emit_handover(isa, functions, values[0]).bytes()

    values = [id(function), *interpreter.functions.values()]
    return Kernel(linked_code(f"handover {isa} {_layout(interpreter)}", values, emit), isa, name="handover to Python")


def _layout(interpreter: Interpreter) -> Interpreter:
    """Return the offsets without the addresses: with the names alone."""
    return replace(interpreter, functions=dict.fromkeys(interpreter.functions, 0))
