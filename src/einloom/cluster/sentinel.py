"""The program that `watch` starts on every host: it says which rank died first, and ends the others there.

It imports the standard library alone, so it starts in some milliseconds. It runs in a session of its own, where an
`mpiexec` that ends all ranks does not find it; and the kernel lists the ends of processes in the order in which they
came, so the first one is known however soon the others follow.

Its arguments are what was computed, what to say of finished work (`{}` stands for how many units are kept), the folder
and the beginning of the names of these, and `RANK:PROCESS` for every rank of this host. A byte on standard input says
that all is well; where the input ends before, the rank that held it has died, which is the first of them.
"""

from __future__ import annotations

import os
import select
import signal
import sys

__all__ = ["main"]

PATIENCE = 1.0
"""Seconds that a process may take to end after its pipe."""


def main(what: str, advice: str, folder: str, kept: str, *processes: str) -> None:
    """Wait until a rank dies, or all is well."""
    ranks: dict[int, str] = {}
    with select.epoll() as ends:
        for each in processes:
            rank, _, process = each.partition(":")
            descriptor = os.pidfd_open(int(process))
            ranks[descriptor] = f"rank {rank}, process {process} on {os.uname().nodename},"
            ends.register(descriptor, select.EPOLLIN)
        ends.register(0, select.EPOLLIN)
        print("ready", flush=True)
        dead = _first(ends, holder=next(iter(ranks)))
    if dead:
        finished = _finished(folder, kept) if kept else 0
        print(
            f"DeviceError: {ranks[dead]} died in {what}\n  {advice.format(f'{finished:,}')}",
            file=sys.stderr,
            flush=True,
        )
        _end([descriptor for descriptor in ranks if descriptor != dead])


def _first(ends: select.epoll, holder: int) -> int:
    """Return the first process that ended; 0: all is well.

    A process is listed a little after its pipes have ended. Where that is the input, its holder was the first,
    whoever has been ended meanwhile.
    """
    for descriptor, _ in ends.poll():
        if descriptor or os.read(0, 1):
            return descriptor
        break
    return holder if select.select([holder], [], [], PATIENCE)[0] else 0


def _finished(folder: str, kept: str) -> int:
    return sum(name.startswith(f"{kept}-") and name.endswith(".unit") for name in os.listdir(folder))


def _end(others: list[int]) -> None:
    """End ranks that would wait for ever, where `mpiexec` leaves them."""
    for descriptor in others:
        try:
            signal.pidfd_send_signal(descriptor, signal.SIGTERM)
        except ProcessLookupError:
            continue


if __name__ == "__main__":
    main(*sys.argv[1:])
