"""What callers and workers do alike: take shares, sign off, lock a word."""

from __future__ import annotations

from einloom.frozen import frozen
from einloom.jit.pool.layout import ARGUMENTS, CALLER, ENTRY, ROUNDING, THREADS, UNFINISHED, UNTAKEN, Addresses
from einloom.jit.poolcode import PoolCode, Register

__all__ = ["WAIT", "WAKE", "Emitter"]

WAIT, WAKE = 128, 129
"""Operations of futex, within a process."""


@frozen
class _SystemCalls:
    """Numbers of Linux's system calls."""

    futex: int
    sched_yield: int
    sched_setaffinity: int
    sched_getaffinity: int


_SYSTEM_CALLS = {"x86_64": _SystemCalls(202, 24, 203, 204), "aarch64": _SystemCalls(98, 124, 122, 123)}


class Emitter:
    """Emits functions of the pool. All name the kept registers in the same way.

    Args:
        isa: the instruction set of the code; `code`: takes it; `addresses`: what it refers to.
    """

    def __init__(self, isa: str, code: PoolCode, addresses: Addresses) -> None:
        self.code, self.addresses, self.numbers = code, addresses, _SYSTEM_CALLS[isa]
        self.pool, self.slot, self.entry, self.arguments, self.threads, self.count = code.kept
        self.work, self.other = code.work

    def _lock(self, base: Register, offset: int) -> None:
        """Go on when a word has become 0, and is not any more."""
        code, asm = self.code, self.code.asm
        locked = asm.forward("locked")
        again = asm.label("lock")
        code.constant(self.work, 1)
        code.fetch_add(self.work, base, offset)
        code.branch("eq", self.work, 0, locked)
        code.call(self.addresses.syscall, self.numbers.sched_yield)
        code.jump(again)
        asm.bind(locked)

    def _say_where(self) -> None:
        """Write down which core this caller is on."""
        self.code.call(self.addresses.core)
        self.code.widen(self.work)
        self.code.store(self.pool, CALLER, self.work)

    def _take_shares(self, of_another: bool) -> None:
        """Take and do shares, of another caller or one's own, until none is left, and count them as well."""
        code, asm = self.code, self.code.asm
        none = asm.forward("none_left")
        again = asm.label("take")
        code.load(self.work, self.slot, UNTAKEN)
        code.branch("le", self.work, 0, none)
        code.constant(self.work, -1)
        code.fetch_add(self.work, self.slot, UNTAKEN)
        code.branch("le", self.work, 0, none)
        if of_another:
            code.load_rounding(self.slot, ROUNDING)
        arguments, share, threads = code.given[:3]
        code.load(arguments, self.slot, ARGUMENTS)
        code.load(threads, self.slot, THREADS)
        code.move(share, threads)
        code.subtract(share, self.work)  # the lowest first
        code.add(self.count, self.count, 1)
        code.call_word(self.slot, ENTRY)
        code.jump(again)
        asm.bind(none)

    def _sign_off(self) -> None:
        """Take the shares that this thread has done from UNFINISHED; `work` is what it was."""
        self.code.constant(self.work, 0)
        self.code.subtract(self.work, self.count)
        self.code.fetch_add(self.work, self.slot, UNFINISHED)
