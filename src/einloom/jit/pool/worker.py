"""What workers of the pool do, and how they come: look at the slots, take shares, sleep."""

from __future__ import annotations

from einloom.asm import Label
from einloom.jit.pool.emitter import WAIT, WAKE, Emitter
from einloom.jit.pool.layout import (
    ATTRIBUTES,
    BELL,
    CALLER,
    GROWING,
    SIGNALS,
    SLEEPERS,
    SLOT,
    SLOTS,
    SLOTS_END,
    UNFINISHED,
    UNTAKEN,
    WAITING,
    WORKERS,
    Addresses,
)
from einloom.jit.poolcode import FRAME, PoolCode, Register

__all__ = ["Worker"]

BLOCK = 2
"""`SIG_SETMASK`."""


class Worker(Emitter):
    """Emits the function of a worker, and the one that makes workers.

    Attributes:
        worker, grow: where they begin.
    """

    def __init__(self, isa: str, code: PoolCode, addresses: Addresses) -> None:
        super().__init__(isa, code, addresses)
        self.worker, self.grow = code.asm.forward("worker"), code.asm.forward("grow")

    def work_for_ever(self) -> None:
        """`void *worker(void *pool)`, which never returns. Its frame is its own; who called it has nothing to keep."""
        code, asm = self.code, self.code.asm
        asm.bind(self.worker)
        rest, found, late = asm.forward("rest"), asm.forward("found"), asm.forward("found_late")
        deadline, bell, end = self.entry, self.threads, self.arguments
        code.enter()
        code.move(self.pool, code.given[0])
        code.add(end, self.pool, SLOTS_END)
        awake = asm.label("awake")
        self._leave_core(rest)
        code.deadline(deadline)
        look = asm.label("look")
        self._look(end, found)
        code.pause()
        code.before(deadline, look)

        asm.bind(rest)
        code.constant(self.work, 1)
        code.fetch_add(self.work, self.pool, SLEEPERS)
        code.observe(bell, self.pool, BELL)
        self._look(end, late)
        code.add(self.other, self.pool, BELL)
        code.call(self.addresses.syscall, self.numbers.futex, self.other, WAIT, bell, 0)
        self._count_as_awake()
        code.jump(awake)

        asm.bind(late)
        self._count_as_awake()
        asm.bind(found)
        code.constant(self.count, 0)
        self._take_shares(of_another=True)
        code.branch("eq", self.count, 0, awake)
        self._sign_off()
        code.subtract(self.work, self.count)
        code.branch("ne", self.work, WAITING, awake)
        code.add(self.other, self.slot, UNFINISHED)  # If another job is there by now, its caller looks and sleeps on.
        code.call(self.addresses.syscall, self.numbers.futex, self.other, WAKE, 1)
        code.jump(awake)

    def _look(self, end: Register, found: Label) -> None:
        """Branch with the first slot that has a share to take."""
        code = self.code
        code.add(self.slot, self.pool, SLOTS)
        again = code.asm.label("slots")
        code.load(self.work, self.slot, UNTAKEN)
        code.branch("gt", self.work, 0, found)
        code.add(self.slot, self.slot, SLOT)
        code.branch("ne", self.slot, end, again)

    def _leave_core(self, alone: Label) -> None:
        """Go to another core if a caller is on this one: here this thread can only take its time.

        Where all cores are busy, the system may well wake a thread beside the one that wakes it. If there is no other
        core for this thread, branch.
        """
        code, asm, system = self.code, self.code.asm, self.addresses.syscall
        cores, size, core, apart = self.slot, self.threads, self.count, asm.forward("apart")
        code.call(self.addresses.core)
        code.widen(self.work)
        code.load(self.other, self.pool, CALLER)
        code.branch("ne", self.work, self.other, apart)
        code.branch("lt", self.work, 0, apart)  # The system does not say.
        code.move(core, self.work)
        code.frame(cores)
        code.call(system, self.numbers.sched_getaffinity, 0, FRAME, cores)
        code.branch("le", self.work, 0, apart)
        code.move(size, self.work)
        code.flip_bit(cores, core)
        code.call(system, self.numbers.sched_setaffinity, 0, size, cores)
        code.branch("ne", self.work, 0, alone)
        code.flip_bit(cores, core)
        code.call(system, self.numbers.sched_setaffinity, 0, size, cores)
        asm.bind(apart)

    def _count_as_awake(self) -> None:
        self.code.constant(self.work, -1)
        self.code.fetch_add(self.work, self.pool, SLEEPERS)

    def make_workers(self) -> None:
        """`void grow(pool, int64 wanted)`: make workers until there are so many, or the system refuses one."""
        self.code.asm.bind(self.grow)
        code, asm, create = self.code, self.code.asm, self.addresses.create
        thread, before, constant = self.slot, self.entry, self.arguments
        enough = asm.forward("all_there")
        code.enter()
        code.move(self.pool, code.given[0])
        code.move(self.count, code.given[1])
        self._lock(self.pool, GROWING)
        self._say_where()
        code.frame(thread)
        code.add(before, thread, FRAME - 128)
        code.add(constant, self.pool, SIGNALS)
        code.call(self.addresses.mask, BLOCK, constant, before)
        again = asm.label("more")
        code.load(self.work, self.pool, WORKERS)
        code.branch("ge", self.work, self.count, enough)
        code.add(constant, self.pool, ATTRIBUTES)
        code.address(self.other, self.worker)
        code.call(create, thread, constant, self.other, self.pool)
        code.widen(self.work)
        code.branch("ne", self.work, 0, enough)
        code.constant(self.work, 1)
        code.fetch_add(self.work, self.pool, WORKERS)
        code.jump(again)
        asm.bind(enough)
        code.call(self.addresses.mask, BLOCK, before, 0)
        code.constant(self.work, 0)
        code.release(self.pool, GROWING, self.work)
        code.leave()
