"""Rates of this machine that `einloom info --measure` recorded: a file in the user's cache folder.

The cost model of the optimiser and the bounds that `show` prints take them in place of typical ones. They are read
once a process; nothing is measured while compiling. Rates are rounded up to steps of 6 %, so that measuring again
rarely changes what is compiled. The file says which einloom wrote it last. `EINLOOM_RATES` names another file, or
`none`.
"""

from __future__ import annotations

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

__all__ = ["coarse", "rates_file", "record_rates", "recorded_rates"]

VERSION = 2
"""Of the file's form and of what the numbers mean: an einloom that measures otherwise counts on."""

STEPS = 12
"""Steps of rates for a factor of two."""


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

    Raises:
        ArgumentError: the file cannot be written.
    """
    file = rates_file()
    if file is None:
        return None
    rounded = Rates(**{name: coarse(rate) for name, rate in asdict(rates).items()})
    entries: dict[str, Any] = {}
    try:
        known = json.loads(file.read_text(encoding="utf-8"))
        entries = known if known["version"] == VERSION else {}
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        pass  # No file yet, or one that nobody can read: a new one.
    entries |= {"version": VERSION, "einloom": config.VERSION}
    entries[_key(machine)] = asdict(rounded)
    try:
        _write(file, json.dumps(entries, indent=1) + "\n")
    except OSError as error:
        advice = "Set EINLOOM_RATES to a file that can be written, or to none."
        raise ArgumentError(f"rates cannot be written to {file}: {error.strerror}\n  {advice}") from None
    return file, rounded


def _write(file: Path, text: str) -> None:
    """Write a file at once: whoever reads it meanwhile sees the old one or the new one."""
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
    step = math.ceil(math.log2(rate) * STEPS - 0.01)  # A step that was written with four digits is its own.
    return float(f"{2 ** (step / STEPS):.4g}")


def _key(machine: Machine) -> str:
    return f"{machine.name}, {machine.vector}"
