"""Rates of this machine that `einloom info --measure` recorded: a file in the user's cache folder.

The cost model of the optimiser and the bounds that `show` prints take them in place of typical ones. They are read
once a process; nothing is measured while compiling. Rates are rounded up to steps of 6 %, and what is recorded stays
until a rate is measured to be clearly another one: noise changes nothing that is compiled. The file says which einloom
wrote it last. `EINLOOM_RATES` names another file, or `none`.
"""

from __future__ import annotations

import errno
import json
import math
import os
from dataclasses import asdict
from pathlib import Path
from threading import get_ident
from typing import Any

from einloom import config
from einloom.errors import ArgumentError
from einloom.jit.folders import cache_folder
from einloom.machine import Machine, Rates

__all__ = ["coarse", "rates_file", "record_rates", "recorded_rates", "settled"]

VERSION = 2
"""Of the file's form and of what the numbers mean: an einloom that measures otherwise counts on."""

STEPS = 12
"""Steps of rates for a factor of two."""

STAYS = 3
"""How many steps beside the recorded one a measured rate counts as the same: a fifth more or less.

Measured: of 264 repeated measurements on two busy cores of an Intel Xeon (Emerald Rapids, AVX-512 and AVX2) 253 would
have changed the file without this, 60 with one step, 2 with two, none with three. Rates that are rounded up to steps of
26 % cost choices 0.03 % of predicted time at most (266 contractions, four sets of rates).
"""


def rates_file() -> Path | None:
    """Return the file that rates are recorded in; None if `EINLOOM_RATES` is `none`."""
    named = os.environ.get("EINLOOM_RATES", "").strip()
    if named:
        return None if named == "none" else Path(os.path.expanduser(named))
    return cache_folder() / "rates.json"


def recorded_rates(machine: Machine) -> Rates | None:
    """Return what was recorded of the machine's processor and vector ISA; None if nothing was, or nothing readable."""
    file = rates_file()
    try:
        entries = json.loads(file.read_text(encoding="utf-8")) if file and file.is_file() else {}  # No pipe or device.
        return Rates(**entries[_key(machine)]) if entries.get("version") == VERSION else None
    except (OSError, ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return None


def record_rates(machine: Machine, rates: Rates) -> tuple[Path, Rates] | None:
    """Write rates, rounded, beside those of other processors; return the file and what it says. None: no file is kept.

    A rate that was recorded stays where the new one is what noise would make of it (`settled`).

    Raises:
        ArgumentError: the file cannot be written, or holds something else.
    """
    file = rates_file()
    if file is None:
        return None
    before = recorded_rates(machine)
    kept = asdict(before) if before is not None else {}
    rounded = Rates(**{name: settled(rate, kept.get(name)) for name, rate in asdict(rates).items()})
    entries = _entries(file) | {"version": VERSION, "einloom": config.VERSION}
    entries[_key(machine)] = asdict(rounded)
    try:
        _write(file, json.dumps(entries, indent=1) + "\n")
    except OSError as error:
        advice = "Set EINLOOM_RATES to a file that can be written, or to none."
        raise ArgumentError(f"rates cannot be written to {file}: {error.strerror}\n  {advice}") from None
    return file, rounded


def _entries(file: Path) -> dict[str, Any]:
    """Return what a file of rates says; nothing if there is none yet, or one that nobody can read or an older one."""
    try:
        known = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    except (OSError, ValueError, RecursionError):
        return {}
    version = known.get("version") if isinstance(known, dict) else None
    if known and not (isinstance(version, int) and version <= VERSION):
        what = "those of a newer einloom" if isinstance(version, int) else "something else"
        raise ArgumentError(
            f"{file} does not hold rates but {what}\n  Remove it, or set EINLOOM_RATES to another file."
        )
    return known if version == VERSION else {}


def _write(file: Path, text: str) -> None:
    """Write a file at once: whoever reads it meanwhile sees the old or the new one. Devices, pipes and folders stay."""
    if file.exists() and not file.is_file():
        raise OSError(errno.EEXIST, "it is no regular file")
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f"{file.name}.{os.getpid()}.{get_ident()}")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


def coarse(rate: float) -> float:
    """Return the rate rounded up to the next of twelve steps for a factor of two.

    >>> coarse(100.0), coarse(101.0), coarse(coarse(101.0)) == coarse(101.0)
    (101.6, 101.6, True)
    """
    return float(f"{2 ** (_step(rate) / STEPS):.4g}")


def settled(rate: float, recorded: float | None) -> float:
    """Return what to record of a measured rate: what is recorded already, if noise may have made the difference.

    So what lies within so many steps of the first measurement (`STAYS`) changes nothing, however often it is repeated;
    what lies one step further away does.

    >>> settled(100.0, None), settled(119.0, 101.6), settled(81.0, 101.6), settled(122.0, 101.6), settled(79.0, 101.6)
    (101.6, 101.6, 101.6, 128.0, 80.63)
    """
    if recorded is not None and abs(_step(rate) - _step(recorded)) <= STAYS:
        return recorded
    return coarse(rate)


def _step(rate: float) -> int:
    return math.ceil(math.log2(rate) * STEPS - 0.01)  # A step that was written with four digits is its own.


def _key(machine: Machine) -> str:
    return f"{machine.name}, {machine.vector}"
