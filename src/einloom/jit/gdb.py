"""gdb's JIT interface: a list of images in this process, and a function in which gdb stops to read it again.

gdb finds both by their names in a shared library. The process has none of einloom's, so one is generated, kept in a
file in memory, and loaded; it holds a function that returns, and the head of the list.

Source: "Debugging with GDB", chapter "JIT Compilation Interface".
"""

from __future__ import annotations

import ctypes
import os
import threading
from enum import IntEnum

from einloom.errors import DeviceError
from einloom.frozen import frozen
from einloom.jit.elf import export_library
from einloom.once import once

__all__ = ["GdbEntry", "GdbInterface", "gdb_interface"]

RETURN = {"x86_64": bytes.fromhex("c3"), "aarch64": bytes.fromhex("c0035fd6")}
VERSION = 1


class _Action(IntEnum):
    """Values of `jit_actions_t`."""

    NOTHING = 0
    REGISTER = 1
    WITHDRAW = 2


class _Entry(ctypes.Structure):
    """`struct jit_code_entry`."""

    _fields_ = (
        ("next", ctypes.c_void_p),
        ("previous", ctypes.c_void_p),
        ("image", ctypes.c_void_p),
        ("size", ctypes.c_uint64),
    )


class _Descriptor(ctypes.Structure):
    """`struct jit_descriptor`."""

    _fields_ = (
        ("version", ctypes.c_uint32),
        ("action", ctypes.c_uint32),
        ("relevant", ctypes.c_void_p),
        ("first", ctypes.c_void_p),
    )


@frozen(eq=False)
class GdbEntry:
    """One registered image: keep it until it is withdrawn."""

    image: ctypes.Array[ctypes.c_char]
    entry: _Entry


class GdbInterface:
    """The list of one process; its entries are linked in C's memory, newest first."""

    def __init__(self, isa: str) -> None:
        variable = bytes(_Descriptor(VERSION, _Action.NOTHING, 0, 0))
        image = export_library(isa, ("__jit_debug_register_code", RETURN[isa]), ("__jit_debug_descriptor", variable))
        self._library = _load(image)
        self._descriptor = _Descriptor.in_dll(self._library, "__jit_debug_descriptor")
        self._notify = self._library["__jit_debug_register_code"]
        self._entries: list[GdbEntry] = []  # newest first, as gdb sees them
        self._lock = threading.RLock()  # a finaliser may run at any time, also inside `register`
        os.register_at_fork(after_in_child=self._renew_lock)

    def register(self, image: bytes) -> GdbEntry:
        """Add an image to the list and tell gdb, if it is there; return what `withdraw` takes."""
        memory = ctypes.create_string_buffer(image, len(image))
        new = GdbEntry(memory, _Entry(0, 0, ctypes.addressof(memory), len(image)))
        with self._lock:
            self._entries.insert(0, new)
            self._link()
            self._tell(_Action.REGISTER, new)
        return new

    def withdraw(self, gone: GdbEntry) -> None:
        """Take an image out of the list and tell gdb."""
        with self._lock:
            self._entries.remove(gone)
            self._link()
            self._tell(_Action.WITHDRAW, gone)

    def images(self) -> list[bytes]:
        """Return the registered images as gdb finds them, newest first: by following the list in memory."""
        found: list[bytes] = []
        address, before = self._descriptor.first, None
        while address:
            entry = _Entry.from_address(address)
            assert entry.previous == before
            found.append(ctypes.string_at(entry.image, entry.size))
            before, address = address, entry.next
        return found

    def _renew_lock(self) -> None:
        self._lock = threading.RLock()  # a thread that does not exist in the child may have held it

    def _link(self) -> None:
        addresses = [0, *(ctypes.addressof(each.entry) for each in self._entries), 0]
        for each, before, after in zip(self._entries, addresses, addresses[2:]):
            each.entry.previous, each.entry.next = before or None, after or None
        self._descriptor.first = addresses[1] or None

    def _tell(self, action: _Action, entry: GdbEntry) -> None:
        self._descriptor.relevant = ctypes.addressof(entry.entry)
        self._descriptor.action = action
        self._notify()
        self._descriptor.action = _Action.NOTHING


def _load(image: bytes) -> ctypes.CDLL:
    """Load a library that gdb can read as long as the process lives: its file is in memory, seen under /proc."""
    descriptor = os.memfd_create("einloom-gdb")
    os.write(descriptor, image)
    try:
        return ctypes.CDLL(f"/proc/{os.getpid()}/fd/{descriptor}")
    except OSError as error:
        raise DeviceError(f"cannot load the library that gdb looks for: {error}\n  Unset EINLOOM_DEBUG.") from None


@once
def gdb_interface(isa: str) -> GdbInterface:
    """Return the interface of this process."""
    return GdbInterface(isa)
