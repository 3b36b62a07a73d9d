"""Limits of this machine, for bounds: the most that generated probes were ever seen to do, remembered in a file.

A bound that divides by them is only as sound as they are, so they only grow: by what is measured at the start of a
search, and by every time that beat its bound. Nothing is compiled by them.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import asdict, astuple
from math import inf
from pathlib import Path
from threading import get_ident
from typing import Any

import numpy as np

from einloom.ir.bind import bind
from einloom.ir.text import parse_operation, parse_schedule
from einloom.jit.host import host
from einloom.jit.issue import issue_rates
from einloom.jit.kernel import Kernel
from einloom.jit.peak import peak_flops
from einloom.jit.rates import CHUNK, bytes_loop, read_rates
from einloom.machine import Machine
from einloom.once import once
from einloom.search.file_lock import alone_with
from einloom.space.on_cpu.rates import CpuRates
from einloom.targets.executable import Executable
from einloom.targets.image import image_of

__all__ = ["known_limits", "limits_beside", "measured_limits", "raised_limits"]

_log = logging.getLogger("einloom")

VERSION = 2
"""Of the file's form and of what the numbers mean."""

REPEATS = 40

PROBE = """
gemm first=none last=none
axis m 64 m
axis n 64 n
axis k 8 k
in0 float32 m=1 k=64
in1 float32 n=8 k=1
out float32 m={m} n={n}
"""
SMALLEST = (
    (1, 64, "seq k:1 seq m:1 seq n:1 prim", 2**15),
    (64, 1, "seq k:1 seq n:1 seq m:1 prim", 2**15),
    (64, 1, "seq n:1 seq k:1 seq m:1 prim", 2**15),
    (1, 64, "seq m:2 seq k:1 seq n:1 prim m=m", 2**14),
)
"""The output's strides, and a schedule that makes so many calls of the smallest blocks."""


@once
def measured_limits(machine: Machine) -> CpuRates:
    """Return the best that probes do, in about a third of a second; a process measures once."""
    reads = read_rates(machine)
    bits = 2 * machine.vector_bits
    return CpuRates(
        fmas=max(peak_flops("float32", 1, 0.05) * 32, peak_flops("float64", 1, 0.05) * 64) / bits,
        stores=_stores(machine),
        calls=max(_calls(*each) for each in SMALLEST),
        l2=max(reads),
        l3=max(reads[1:]),
        memory=reads[2],
        **issue_rates(machine),
    )


def _stores(machine: Machine) -> float:
    """Return how many stores a second go to L1."""
    memory, size = np.zeros(2 * CHUNK, np.uint8), 2**24
    start = -(-memory.ctypes.data // 64) * 64
    loop = Kernel(bytes_loop(machine.vector, "store"), name="stores")
    return 2 * size / (machine.vector_bits // 8) / _least(lambda: loop.call(start, size, 1))


def _calls(m: int, n: int, schedule: str, calls: int) -> float:
    """Return how many calls a second a schedule of the probe makes."""
    nest = bind(parse_operation(PROBE.format(m=m, n=n)), parse_schedule(schedule))
    executable = Executable(image_of(nest, host()))
    memories = [np.zeros(4096 + 16, np.float32) for _ in range(3)]
    addresses = [-(-memory.ctypes.data // 64) * 64 for memory in memories]
    return calls / _least(lambda: executable(addresses, 1))


def _least(call: Callable[[], object]) -> float:
    least = inf
    for _ in range(REPEATS):
        begin = time.perf_counter()
        call()
        least = min(least, time.perf_counter() - begin)
    return least


# ---- what is remembered ----------------------------------------------------------------------------------------------


def limits_beside(records: Path) -> Path:
    """Return the file of limits that lies beside a file of records."""
    return records.with_name("limits.json")


def known_limits(file: Path, machine: Machine) -> CpuRates | None:
    """Return the limits that were recorded of a machine; None if there are none, or none that can be read."""
    try:
        found = CpuRates(**_entries(file)[_key(machine)])
        sound = all(0 < float(rate) <= inf for rate in asdict(found).values())
        return found if sound and max(astuple(found)[: -len(found.of_code)]) < inf else None
    except (KeyError, TypeError, ValueError):
        return None


def raised_limits(file: Path | None, machine: Machine, seen: CpuRates) -> CpuRates:
    """Raise the recorded limits of a machine to what was seen; return what is recorded then.

    Where the file cannot be written, they hold for this search alone.
    """
    known = None if file is None else known_limits(file, machine)
    limits = _raised(known, seen)
    if file is None or limits == known:
        return limits
    try:
        with _alone(file):
            limits = _raised(known_limits(file, machine), seen)
            _write(file, {**_entries(file), "version": VERSION, _key(machine): asdict(limits)})
    except OSError as error:
        _log.warning("the limits of this machine are not remembered: %s", error)
    return limits


def _raised(known: CpuRates | None, seen: CpuRates) -> CpuRates:
    return seen if known is None else known.or_faster(seen)


@contextmanager
def _alone(file: Path) -> Generator[None, None, None]:
    """Let nobody else change a file meanwhile. It is replaced, so the lock is another file, which stays."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with open(file.with_suffix(".lock"), "ab") as lock, alone_with(lock):
        yield


def _write(file: Path, entries: dict[str, Any]) -> None:
    part = file.with_suffix(f".{os.getpid()}.{get_ident()}")
    part.write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")
    part.replace(file)


def _entries(file: Path) -> dict[str, Any]:
    """What a file says, by machine: nothing if it is none, or a later einloom's."""
    try:
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return found if found["version"] == VERSION else {}
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return {}


def _key(machine: Machine) -> str:
    return f"{machine.name}, {machine.vector}"
