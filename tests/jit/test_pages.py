"""Executable pages: never writable and executable at once, freed with their owner, refused with the system's reason."""

from __future__ import annotations

import ctypes
import errno
import gc
import mmap

import pytest

from einloom.errors import DeviceError
from einloom.jit import pages as module
from einloom.jit.pages import ExecutablePages
from tests.jit.processes import exit_code_in_child, permissions, python

CODE = bytes(range(256)) * 20  # it is never run


def test_pages_are_readable_and_executable_only():
    pages = ExecutablePages(CODE)
    assert permissions(pages.address) == "r-xp"
    assert permissions(pages.address + pages.size - 1) == "r-xp"
    assert ctypes.string_at(pages.address, len(CODE)) == CODE
    assert pages.address % mmap.PAGESIZE == 0 and pages.size % mmap.PAGESIZE == 0 and pages.size >= len(CODE)


def test_pages_are_not_executable_while_they_are_written(monkeypatch):
    seen = []

    def spy(name):
        original = getattr(module, name)

        def wrapped(address, size):
            seen.append((name, permissions(address)))
            original(address, size)
            seen.append((name, permissions(address)))

        monkeypatch.setattr(module, name, wrapped)

    spy("_flush")
    spy("_protect")
    ExecutablePages(CODE)
    assert seen == [("_flush", "rw-p"), ("_flush", "rw-p"), ("_protect", "rw-p"), ("_protect", "r-xp")]


def test_pages_go_with_their_owner():
    pages = ExecutablePages(CODE)
    address = pages.address
    del pages
    gc.collect()
    assert permissions(address) is None


def test_free_and_with_unmap_once():
    with ExecutablePages(CODE) as pages:
        assert permissions(pages.address) == "r-xp"
    assert permissions(pages.address) is None
    assert "freed" in repr(pages)
    later = mmap.mmap(-1, pages.size)  # most likely at the same address: a second free must not unmap it
    pages.free()
    later[0] = 1
    later.close()


def test_many_pages_leave_nothing_behind():
    def mappings() -> int:
        with open("/proc/self/maps") as file:
            return len(file.readlines())

    before = mappings()
    for _ in range(500):
        ExecutablePages(CODE).free()
    assert mappings() <= before + 20


def test_forked_child_frees_its_own_copy():
    pages = ExecutablePages(CODE)

    def action() -> bool:
        there = permissions(pages.address) == "r-xp"
        pages.free()
        return there and permissions(pages.address) is None

    assert exit_code_in_child(action) == 0
    assert permissions(pages.address) == "r-xp"


def test_no_code_is_refused():
    with pytest.raises(DeviceError, match="no code"):
        ExecutablePages(b"")


class RefusingLibc:
    """The C library, with one function that fails."""

    def __init__(self, refused: str, number: int, result: int | None) -> None:
        self.real = module._libc()
        self.refused, self.number, self.result = refused, number, result
        self.unmapped: list[int] = []

    def _call(self, name: str, *arguments):
        if name == self.refused:
            ctypes.set_errno(self.number)
            return self.result
        return getattr(self.real, name)(*arguments)

    def mmap(self, *arguments):
        return self._call("mmap", *arguments)

    def mprotect(self, *arguments):
        return self._call("mprotect", *arguments)

    def munmap(self, address, size):
        self.unmapped.append(address)
        return self._call("munmap", address, size)


def test_no_memory_is_an_error_with_the_systems_words(monkeypatch):
    libc = RefusingLibc("mmap", errno.ENOMEM, ctypes.c_void_p(-1).value)
    monkeypatch.setattr(module, "_libc", lambda: libc)
    with pytest.raises(DeviceError, match="Cannot allocate memory"):
        ExecutablePages(CODE)
    assert libc.unmapped == []


def test_refused_execution_is_an_error_and_leaves_no_pages(monkeypatch):
    libc = RefusingLibc("mprotect", errno.EACCES, -1)
    monkeypatch.setattr(module, "_libc", lambda: libc)
    with pytest.raises(DeviceError, match="Permission denied") as caught:
        ExecutablePages(CODE)
    assert "interpreter" in str(caught.value)
    [address] = libc.unmapped
    assert permissions(address) is None


def test_memory_limit_of_the_process():
    assert "Cannot allocate memory" in python(
        """
        import resource
        from einloom.errors import DeviceError
        from einloom.jit.pages import ExecutablePages
        code = bytes(64 << 20)
        pages = int(open("/proc/self/statm").read().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (32 << 20),) * 2)
        try:
            ExecutablePages(code)
        except DeviceError as error:
            print(error)
        """
    )
