"""The pool's memory: words of 64 bits at fixed places, and what its code refers to outside of it."""

from __future__ import annotations

from einloom.frozen import frozen

__all__ = [
    "ARGUMENTS",
    "ATTRIBUTES",
    "BELL",
    "CALLER",
    "COUNT",
    "DOOR",
    "ENTRY",
    "GROWING",
    "KEPT",
    "LIMIT",
    "LINE",
    "OWNED",
    "PATIENT",
    "REFUSED",
    "ROUNDING",
    "SIGNALS",
    "SLEEPERS",
    "SLOT",
    "SLOTS",
    "SLOTS_END",
    "THREADS",
    "UNFINISHED",
    "UNTAKEN",
    "WAITING",
    "WORKERS",
    "Addresses",
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


@frozen
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
