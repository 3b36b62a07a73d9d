"""What the operating system says about caches and about the processors that this process may use.

>>> all(size > 0 for size in cache_sizes())
True
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from os.path import join

__all__ = ["cache_sizes", "quota_of", "usable_cores"]

_CACHES = "/sys/devices/system/cpu/cpu0/cache"
_CGROUPS = "/sys/fs/cgroup"
_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}
_USUAL = (32 * 1024, 1024 * 1024, 16 * 1024 * 1024)  # where the system does not say


def cache_sizes(folder: str = _CACHES) -> tuple[int, int, int]:
    """Return the bytes of first-level data, second-level and third-level cache that processor 0 sees.

    A level that the system does not name gets a usual size; without a third level, the second's size stands for it.
    """
    found = dict(_named_caches(folder))
    l1d = found.get(1, _USUAL[0])
    l2 = found.get(2, _USUAL[1])
    return l1d, l2, found.get(3, max(l2, 0 if 2 in found else _USUAL[2]))


def _named_caches(folder: str) -> Iterator[tuple[int, int]]:
    """Yield (level, bytes) of the data caches under a `cache` folder of /sys."""
    for entry in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        if _text(join(folder, entry, "type")) not in ("Data", "Unified"):
            continue
        level, size = (_text(join(folder, entry, name)) for name in ("level", "size"))
        digits, unit = size.rstrip("KMG"), size[-1:]
        if level.isdigit() and digits.isdigit():
            yield int(level), int(digits) * _UNITS.get(unit, 1)


def usable_cores() -> int:
    """Return how many processors this process may run on: its affinity, and its control group's quota rounded up."""
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = quota_of(_text("/proc/self/cgroup"))
    return affinity if quota >= affinity else max(1, math.ceil(quota))


def quota_of(membership: str, root: str = _CGROUPS) -> float:
    """Return the processors that the control groups grant, infinity where there is no quota.

    `membership` is the text of /proc/self/cgroup; a quota of any enclosing group counts. Inside a container the path
    may be the outer one, which is not there: then only the root of the mounted tree is seen.
    """
    quotas = [math.inf]
    for line in membership.splitlines():
        number, controllers, path = line.split(":", 2)
        if number == "0":
            quotas += [_quota(_text(join(group, "cpu.max"))) for group in _enclosing(root, path)]
        elif "cpu" in controllers.split(","):
            quotas += [
                _quota(" ".join(_text(join(group, f"cpu.cfs_{name}_us")) for name in ("quota", "period")))
                for group in _enclosing(join(root, "cpu"), path)
            ]
    return min(quotas)


def _enclosing(root: str, path: str) -> Iterator[str]:
    """Yield the folders of a group and of those around it, up to the root's."""
    names = path.strip("/").split("/")
    return (join(root, *names[:depth]) for depth in range(len(names), -1, -1))


def _quota(text: str) -> float:
    """Return microseconds granted over microseconds of the period; "max", -1 and unreadable mean no quota."""
    words = text.split()
    if len(words) == 2 and all(word.isdigit() and int(word) > 0 for word in words):
        return int(words[0]) / int(words[1])
    return math.inf


def _text(path: str) -> str:
    """Return a small file's text; without Python's streams, which take longer than the system does."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(file, 65536).decode("utf-8", "replace").strip()
    except OSError:
        return ""
    finally:
        os.close(file)
