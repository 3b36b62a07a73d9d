"""Names of generated code for profilers and debuggers, on request: `EINLOOM_DEBUG=perf`, `gdb` or `perf,gdb`.

`perf` reads them from /tmp/perf-PID.map, gdb through its JIT interface. A name is the kernel's and the label's of its
listing, as in `einloom:tensor_operation:kernel0`. Without the request nothing happens and nothing is kept.

How to use them: docs/how-to/debug.md. Sources: Linux, tools/perf/Documentation/jit-interface.txt; "Debugging with GDB",
chapter "JIT Compilation Interface".
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterable
from enum import Enum

from einloom.errors import UnsupportedTarget
from einloom.jit.elf import Symbol, symbol_object
from einloom.jit.gdb import gdb_interface

__all__ = ["Tool", "announce_code", "code_symbols", "requested_tools"]


class Tool(Enum):
    """Who is told about generated code."""

    PERF = "perf"
    GDB = "gdb"


def requested_tools() -> frozenset[Tool]:
    """Return whom `EINLOOM_DEBUG` names.

    Raises:
        UnsupportedTarget: it names somebody else.
    """
    names = os.environ.get("EINLOOM_DEBUG", "").replace(",", " ").split()
    if not names:
        return frozenset()
    known = {tool.value: tool for tool in Tool}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UnsupportedTarget(
            f"EINLOOM_DEBUG names {unknown[0]!r}\n  Set it to {', '.join(known)}, or several of them, or not at all."
        )
    return frozenset(known[name] for name in names)


def announce_code(owner: object, isa: str, address: int, size: int, symbols: list[Symbol]) -> None:
    """Tell the tools that were asked for about code at `address`; gdb forgets it when `owner` goes."""
    tools = requested_tools()
    if Tool.PERF in tools:
        _append_to_map(address, symbols)
    if Tool.GDB in tools:
        interface = gdb_interface(isa)
        entry = interface.register(symbol_object(isa, address, size, symbols))
        weakref.finalize(owner, interface.withdraw, entry).atexit = False  # at the end of the process nobody looks


def code_symbols(labels: Iterable[tuple[str, int]], name: str, size: int) -> list[Symbol]:
    """Return a name for every part of the code between two labels; one for all of it where there are no labels.

    >>> [(symbol.name, symbol.offset, symbol.size) for symbol in code_symbols([("loop", 1)], "my kernel", 2)]
    [('einloom:my_kernel', 0, 1), ('einloom:my_kernel:loop', 1, 1)]
    """
    stem = f"einloom:{'_'.join(name.split())}"
    starts: dict[int, str] = {}
    for label, position in labels:
        starts.setdefault(position, f"{stem}:{label}")
    starts.setdefault(0, stem)
    ends = [*sorted(starts)[1:], size]
    return [Symbol(starts[start], start, end - start) for start, end in zip(sorted(starts), ends) if start < end]


def _append_to_map(address: int, symbols: list[Symbol]) -> None:
    """Append lines "address size name", the numbers in hexadecimal, to the map of this process.

    One write for all, so that lines of several threads do not mix.
    """
    lines = "".join(f"{address + symbol.offset:x} {symbol.size:x} {symbol.name}\n" for symbol in symbols)
    descriptor = os.open(f"/tmp/perf-{os.getpid()}.map", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    try:
        os.write(descriptor, lines.encode())
    finally:
        os.close(descriptor)
