"""The program that `watch` starts on every host: it says which rank died first, and ends the others there.

It imports the standard library alone, so it starts in some milliseconds. It runs in a session of its own, where an
`mpiexec` that ends all ranks does not find it. It holds the other end of a connection of every rank, and the kernel
lists the ends of connections in the order in which they came, so the first one is known however soon the others follow.

Its arguments are what was computed, what to say of finished work (its first `{}` stands for how many units are kept),
the folder and the beginning of the names of these, and `RANK:PROCESS:DESCRIPTOR` for every rank of this host. It closes
its output when it watches. A byte from any rank says that all is well; a rank whose connection ends without one has
died.
"""

from __future__ import annotations

import os
import select
import signal
import sys

__all__ = ["main"]


def main(what: str, advice: str, folder: str, kept: str, *watched: str) -> None:
    """Wait until a rank dies, or all is well."""
    ranks: dict[int, tuple[str, int]] = {}
    with select.epoll() as ends:
        for each in watched:
            rank, process, descriptor = each.split(":")
            ranks[int(descriptor)] = rank, int(process)
            ends.register(int(descriptor), select.EPOLLIN)
        os.close(1)
        first, _ = ends.poll(maxevents=1)[0]
        if os.read(first, 1):
            return
        rank, process = ranks[first]
        finished = _finished(folder, kept) if kept else 0
        try:
            print(
                f"DeviceError: rank {rank}, process {process} on {os.uname().nodename}, died in {what}\n"
                f"  {advice.replace('{}', f'{finished:,}', 1)}",
                file=sys.stderr,
                flush=True,
            )
        finally:  # Also where nobody takes the message: a full disk, a closed pipe.
            ended = [descriptor for descriptor, _ in ends.poll(0)]
            _end([process for descriptor, (_, process) in ranks.items() if descriptor not in ended])


def _finished(folder: str, kept: str) -> int:
    try:
        names = os.listdir(folder)
    except OSError:  # Somebody has removed it: nothing is kept.
        return 0
    return sum(name.startswith(f"{kept}-") and name.endswith(".unit") for name in names)


def _end(others: list[int]) -> None:
    """End ranks that would wait for ever, where `mpiexec` leaves them."""
    for process in others:
        try:
            os.kill(process, signal.SIGTERM)
        except ProcessLookupError:
            continue


if __name__ == "__main__":
    main(*sys.argv[1:])
