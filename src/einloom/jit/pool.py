"""The pool: how a job of a team is published, taken share by share, and ended, by callers and workers; as machine code.

It is pure: addresses come in as numbers, so that the code for either ISA can be made and checked anywhere. What owns
the memory, and who calls the code, is in `einloom.jit.threads`.

>>> asm = pool_of("x86_64", Addresses(memory=4096, syscall=16, create=24, mask=32, core=40))
>>> "worker:" in asm.listing()
True

Work is `void entry(void *arguments, int64 thread, int64 threads)`, which does share `thread` of `threads`. A caller
puts its job into a slot of its own, does share 0, takes others, and returns when all are done. Workers look at all
slots, take shares where there are any, and sleep when there have been none for a while. What holds:

1. Shares from 1 on are taken by lowering UNTAKEN, in one step, from a number above 0. So each is taken once. Share 0 is
   always the caller's, so that what a core of two has in its caches from one call to the next is its own.
2. ENTRY, ARGUMENTS, THREADS and ROUNDING are written before UNTAKEN is raised from below 1 and stay until the job has
   ended. Who has taken a share reads them after that, and signs off, by lowering UNFINISHED, when it has done its
   shares. The job has ended when UNFINISHED has come to 0: so whoever holds a share keeps the job, and nobody else
   touches it.
3. Slots themselves are there for ever. A worker that comes late may lower UNTAKEN of a slot whose job has ended: it is
   below 1, so nothing is taken, and the next job overwrites it. If the next job has been published meanwhile, it has
   taken a share of that one, whose words it reads only then.
4. Nobody waits for a share that nobody has begun: the caller takes shares until none is left, and waits only for those
   that others are in the middle of. So workers that are late, busy, or not there at all cost nothing but time; without
   a free slot, the caller does everything by itself.
5. No job is overlooked. A worker adds itself to SLEEPERS, reads BELL, looks at the slots once more, and sleeps only if
   BELL is still what it was. A caller publishes its job, then reads SLEEPERS, and if there are any changes BELL and
   wakes them. One of the two sees what the other has written, since each looks after it has written.
6. Workers compute as the caller does, with its roundings, and with zeros for the smallest numbers if it has them
   (ROUNDING): results do not depend on who has done which share.
7. Memory that is zero, but for what lies in front of it, is a pool without workers and jobs. A forked child, where
   there are none, finds that: whoever forked, the system wipes the page.

Shares that run *together* wait for each other. Their jobs have the first slot, which workers look at first, one job at
a time, and as many workers as there are other shares. As all other shares come to an end without waiting, all workers
come there in time. No share starts such a job: its thread may be one of the workers that are counted on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from einloom.jit.poolcode import FRAME, Register, pool_code

if TYPE_CHECKING:
    from einloom.asm import Assembler, Label

__all__ = [
    "ATTRIBUTES",
    "CALLER",
    "COUNT",
    "DOOR",
    "KEPT",
    "LIMIT",
    "LINE",
    "OWNED",
    "PATIENT",
    "REFUSED",
    "SIGNALS",
    "SLOT",
    "SLOTS",
    "SLOTS_END",
    "WORKERS",
    "Addresses",
    "pool_of",
]

LINE = 64
"""Bytes of a cache line: what is written by different threads at the same time lies on different ones."""

KEPT = 512
"""Bytes in front of the memory that forked children have as well."""

ATTRIBUTES, SIGNALS, LIMIT = -KEPT, -KEPT + 256, -LINE
"""What lies there: attributes of workers, a `pthread_attr_t`; a `sigset_t` of the signals they are not sent; how many
workers jobs may have whose shares do not wait."""

WORKERS, PATIENT, GROWING = 0, 8, 16
"""How many workers there are; until when the system, which has refused one, is asked for none; not 0 while somebody
makes more."""

SLEEPERS, BELL, CALLER = LINE, LINE + 8, LINE + 16
"""How many workers sleep, or are about to; what they wait for to change; the core of the caller that woke the last."""

SLOTS, SLOT, COUNT = 2 * LINE, 2 * LINE, 9
"""Where the slots begin, bytes of one, and how many there are: the first for jobs that run together."""

UNTAKEN, ENTRY, ARGUMENTS, THREADS, ROUNDING = 0, 8, 16, 24, 32
UNFINISHED, OWNED = LINE, LINE + 8
"""Words of a slot. Workers look at the first line. OWNED is not 0 while the slot is a caller's."""

SLOTS_END = SLOTS + COUNT * SLOT

WAITING = 1 << 20
"""What a caller that sleeps adds to UNFINISHED, and more than a job has shares."""

REFUSED = 1
"""What `launch_together` returns if there cannot be as many workers; then nothing has been done."""

DOOR = 16
"""`int64 launch(entry, arguments, int64 threads)` is at the beginning of the code, and `launch_together` so far on."""

_WAIT, _WAKE = 128, 129  # operations of futex, within a process
_BLOCK = 2  # SIG_SETMASK

_HALF_A_SECOND = 13
"""How often a time to look is doubled to become one in which the system is not asked again: a call that it refuses
takes some 20 microseconds."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """What the code refers to.

    Attributes:
        memory: of SLOTS_END bytes that stay for ever, from a cache line on, behind KEPT others.
        syscall, create, mask, core: of the C library's functions `syscall`, `pthread_create`, `pthread_sigmask` and
            `sched_getcpu`.
    """

    memory: int
    syscall: int
    create: int
    mask: int
    core: int


@dataclass(frozen=True, slots=True)
class _SystemCalls:
    """Numbers of Linux's system calls."""

    futex: int
    sched_yield: int
    sched_setaffinity: int
    sched_getaffinity: int


_SYSTEM_CALLS = {"x86_64": _SystemCalls(202, 24, 203, 204), "aarch64": _SystemCalls(98, 124, 122, 123)}


def pool_of(isa: str, addresses: Addresses) -> Assembler:
    """Return the code of a pool."""
    emitter = _Emitter(isa, addresses)
    emitter.emit()
    return emitter.code.asm


class _Emitter:
    """Emits the functions of the pool. All name the kept registers in the same way."""

    def __init__(self, isa: str, addresses: Addresses) -> None:
        self.code = code = pool_code(isa)
        self.addresses = addresses
        self.numbers = _SYSTEM_CALLS[isa]
        self.pool, self.slot, self.entry, self.arguments, self.threads, self.count = code.kept
        self.work, self.other = code.work
        self.worker, self.grow = code.asm.forward("worker"), code.asm.forward("grow")

    def emit(self) -> None:
        doors = [self.code.asm.forward(name) for name in ("launch", "launch_together")]
        for door in doors:
            self.code.asm.align(DOOR)
            self.code.jump(door)
        for door, together in zip(doors, (False, True)):
            self.code.asm.bind(door)
            self._launch(together)
        self.code.asm.bind(self.worker)
        self._worker()
        self.code.asm.bind(self.grow)
        self._grow()

    # ---- the caller

    def _launch(self, together: bool) -> None:
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
            code.deadline(until, doubled=_HALF_A_SECOND)
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
        code.call(self.addresses.syscall, self.numbers.futex, self.work, _WAKE, self.count)
        asm.bind(rung)

    def _say_where(self) -> None:
        """Write down which core this caller is on."""
        self.code.call(self.addresses.core)
        self.code.widen(self.work)
        self.code.store(self.pool, CALLER, self.work)

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
        code.call(self.addresses.syscall, self.numbers.futex, self.other, _WAIT, self.work, 0)
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

    # ---- callers and workers

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

    # ---- workers

    def _worker(self) -> None:
        """`void *worker(void *pool)`, which never returns. Its frame is its own; who called it has nothing to keep."""
        code, asm = self.code, self.code.asm
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
        code.call(self.addresses.syscall, self.numbers.futex, self.other, _WAIT, bell, 0)
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
        code.call(self.addresses.syscall, self.numbers.futex, self.other, _WAKE, 1)
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

    def _grow(self) -> None:
        """`void grow(pool, int64 wanted)`: make workers until there are so many, or the system refuses one."""
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
        code.call(self.addresses.mask, _BLOCK, constant, before)
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
        code.call(self.addresses.mask, _BLOCK, before, 0)
        code.constant(self.work, 0)
        code.release(self.pool, GROWING, self.work)
        code.leave()
