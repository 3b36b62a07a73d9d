"""What callers of the pool do: publish a job, ring, take shares, wait for those that others are in the middle of."""

from __future__ import annotations

from einloom.asm import Label
from einloom.jit.pool.emitter import WAIT, WAKE, Emitter
from einloom.jit.pool.layout import (
    ARGUMENTS,
    BELL,
    ENTRY,
    LIMIT,
    OWNED,
    PATIENT,
    REFUSED,
    ROUNDING,
    SLEEPERS,
    SLOT,
    SLOTS,
    SLOTS_END,
    THREADS,
    UNFINISHED,
    UNTAKEN,
    WAITING,
    WORKERS,
    Addresses,
)
from einloom.jit.poolcode import PoolCode

__all__ = ["Caller"]

HALF_A_SECOND = 13
"""How often a time to look is doubled to become one in which the system is not asked again: a call that it refuses
takes some 20 microseconds."""


class Caller(Emitter):
    """Emits `launch` and `launch_together`.

    Args:
        isa, code, addresses: as for `Emitter`.
        grow: the function that makes workers.
    """

    def __init__(self, isa: str, code: PoolCode, addresses: Addresses, grow: Label) -> None:
        super().__init__(isa, code, addresses)
        self.grow = grow

    def launch(self, together: bool) -> None:
        """`int64 launch(entry, arguments, int64 threads)`: do all shares and return 0."""
        code, asm = self.code, self.code.asm
        alone, done = asm.forward("alone"), asm.forward("done")
        refused = asm.forward("refused") if together else None
        code.enter()
        for register, given in zip((self.entry, self.arguments, self.threads), code.given):
            code.move(register, given)
        code.constant(self.pool, self.addresses.memory)
        code.branch("le", self.threads, 1, alone)
        self._want_workers(refused, alone)
        if together:
            self._await_slot()
        else:
            self._find_slot(alone)
        self._publish()
        self._ring(together)
        code.constant(self.count, 0)
        self._do_share()
        self._take_shares(of_another=False)
        self._await_others()
        code.constant(self.work, 0)
        code.release(self.slot, OWNED, self.work)
        asm.bind(done)
        code.constant(self.work, 0)
        code.leave()

        asm.bind(alone)
        self._do_all()
        code.jump(done)
        if refused is not None:
            asm.bind(refused)
            code.constant(self.work, REFUSED)
            code.leave()

    def _want_workers(self, refused: Label | None, alone: Label) -> None:
        """Count how many workers could take part, and see that there are so many."""
        code = self.code
        within, enough = code.asm.forward("within"), code.asm.forward("enough")
        code.add(self.count, self.threads, -1)
        if refused is None:
            code.load(self.work, self.pool, LIMIT)
            code.branch("le", self.count, self.work, within)
            code.move(self.count, self.work)
            code.asm.bind(within)
            code.branch("le", self.count, 0, alone)
        code.load(self.work, self.pool, WORKERS)
        code.branch("ge", self.work, self.count, enough)
        until = self.slot
        if refused is None:  # Where the system refuses threads, it is not asked again with every call.
            code.load(until, self.pool, PATIENT)
            code.before(until, enough)
        code.move(code.given[0], self.pool)
        code.move(code.given[1], self.count)
        code.call_label(self.grow)
        code.load(self.work, self.pool, WORKERS)
        if refused is not None:
            code.branch("lt", self.work, self.count, refused)
        else:
            code.branch("ge", self.work, self.count, enough)
            code.deadline(until, doubled=HALF_A_SECOND)
            code.store(self.pool, PATIENT, until)
        code.asm.bind(enough)

    def _find_slot(self, none: Label) -> None:
        """Make a slot one's own that is nobody's."""
        code, asm = self.code, self.code.asm
        following, mine = asm.forward("following"), asm.forward("mine")
        code.add(self.slot, self.pool, SLOTS + SLOT)
        again = asm.label("find")
        code.load(self.work, self.slot, OWNED)
        code.branch("ne", self.work, 0, following)
        code.constant(self.work, 1)
        code.fetch_add(self.work, self.slot, OWNED)
        code.branch("eq", self.work, 0, mine)
        asm.bind(following)
        code.add(self.slot, self.slot, SLOT)
        code.add(self.work, self.pool, SLOTS_END)
        code.branch("ne", self.slot, self.work, again)
        code.jump(none)
        asm.bind(mine)

    def _await_slot(self) -> None:
        """Make the first slot one's own; another job that runs together may be there."""
        self.code.add(self.slot, self.pool, SLOTS)
        self._lock(self.slot, OWNED)

    def _publish(self) -> None:
        code = self.code
        words = {ENTRY: self.entry, ARGUMENTS: self.arguments, THREADS: self.threads, UNFINISHED: self.threads}
        for offset, register in words.items():
            code.store(self.slot, offset, register)
        code.store_rounding(self.slot, ROUNDING)
        code.add(self.work, self.threads, -1)
        code.publish(self.slot, UNTAKEN, self.work)

    def _ring(self, together: bool) -> None:
        """Wake as many sleeping workers as should take part and will not come by themselves."""
        code, asm = self.code, self.code.asm
        wake, rung = asm.forward("wake"), asm.forward("rung")
        code.load(self.work, self.pool, SLEEPERS)
        code.branch("le", self.work, 0, rung)
        if not together:
            # Who has the first slot mostly is the only caller: workers that are awake then have nothing to do.
            code.add(self.other, self.pool, SLOTS + SLOT)
            code.branch("ne", self.slot, self.other, wake)
            code.load(self.other, self.pool, WORKERS)
            code.subtract(self.other, self.work)
            code.subtract(self.count, self.other)
            code.branch("le", self.count, 0, rung)
        asm.bind(wake)
        self._say_where()
        code.constant(self.work, 1)
        code.fetch_add(self.work, self.pool, BELL)
        code.add(self.work, self.pool, BELL)
        code.call(self.addresses.syscall, self.numbers.futex, self.work, WAKE, self.count)
        asm.bind(rung)

    def _await_others(self) -> None:
        """Sign off, and go on when all shares are done: look for a while, then sleep."""
        code, asm = self.code, self.code.asm
        ended = asm.forward("ended")
        self._sign_off()
        code.branch("eq", self.work, self.count, ended)
        code.deadline(self.entry)
        look = asm.label("look")
        code.observe(self.work, self.slot, UNFINISHED)
        code.branch("eq", self.work, 0, ended)
        code.pause()
        code.before(self.entry, look)
        code.constant(self.work, WAITING)
        code.fetch_add(self.work, self.slot, UNFINISHED)
        code.branch("eq", self.work, 0, ended)
        sleep = asm.label("sleep")
        code.observe(self.work, self.slot, UNFINISHED)
        code.branch("eq", self.work, WAITING, ended)
        code.add(self.other, self.slot, UNFINISHED)
        code.call(self.addresses.syscall, self.numbers.futex, self.other, WAIT, self.work, 0)
        code.jump(sleep)
        asm.bind(ended)

    def _do_all(self) -> None:
        """Do every share alone; there may be one only."""
        code = self.code
        code.constant(self.count, 0)
        again = code.asm.label("next_share")
        self._do_share()
        code.branch("lt", self.count, self.threads, again)

    def _do_share(self) -> None:
        """Do the share of the number `count`, and count it."""
        code = self.code
        for given, register in zip(code.given, (self.arguments, self.count, self.threads)):
            code.move(given, register)
        code.call_register(self.entry)
        code.add(self.count, self.count, 1)
