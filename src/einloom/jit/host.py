"""`host()`: the machine that this process runs on, as a `Machine`. It is asked once and kept.

Elsewhere than Linux on x86-64 or AArch64, and where the system refuses machine code, the vector ISA is `"none"`: the
interpreter still works there. `EINLOOM_ISA=avx512|avx2|neon|none` takes away what goes beyond that vector ISA,
`EINLOOM_ISA=-avx512bf16` a feature, and a comma separates several; `amx` trusts matrix tiles (`einloom.jit.tiles`).

>>> host().cores >= 1
True
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from dataclasses import replace

from einloom.errors import DeviceError, UnsupportedTarget
from einloom.frozen import frozen
from einloom.jit import cpuid, hwcap
from einloom.jit.recorded import recorded_rates
from einloom.jit.resources import cache_sizes, usable_cores
from einloom.machine import VECTORS, Machine, vector_of
from einloom.once import once

__all__ = ["IsaSetting", "host", "isa_setting", "tiles_granted"]

_ISA = {"AMD64": "x86_64", "arm64": "aarch64"}
_FEATURES = {"x86_64": cpuid.processor_features, "aarch64": hwcap.processor_features}


@once
def host() -> Machine:
    """Return the description of this machine.

    Raises:
        UnsupportedTarget: `EINLOOM_ISA` names no vector ISA, or a wider one than this machine has.
    """
    isa = _platform_isa()
    name = _processor_name() or isa
    features: frozenset[str] = frozenset()
    if sys.platform.startswith("linux") and isa in _FEATURES:
        try:
            features = _FEATURES[isa]()
        except DeviceError as error:
            name = f"{name}; {str(error).splitlines()[0]}"
    machine = Machine(isa, vector_of(isa, features), features, *cache_sizes(), cores=usable_cores(), name=name)
    masked = _masked(machine, isa_setting())
    return replace(masked, rates=recorded_rates(masked))


def _platform_isa() -> str:
    machine = platform.machine()
    isa = _ISA.get(machine, machine) or "unknown"
    return isa if sys.maxsize > 2**32 else f"{isa} (32-bit)"


@frozen
class IsaSetting:
    """What `EINLOOM_ISA` says.

    Attributes:
        vector: the vector ISA that it restricts to; None: the machine's.
        without: features that it takes away.
        tiles: whether it trusts matrix tiles.
    """

    vector: str | None = None
    without: frozenset[str] = frozenset()
    tiles: bool = False


def isa_setting() -> IsaSetting:
    """Return what `EINLOOM_ISA` says.

    Raises:
        UnsupportedTarget: it names what is neither a vector ISA nor a feature to take away.
    """
    text = _text()
    words = [word.strip() for word in text.split(",") if word.strip()]
    without = frozenset(word[1:] for word in words if word[0] == "-")
    vectors = [word for word in words if word[0] != "-" and word != "amx"]
    if len(vectors) > 1 or any(vector not in VECTORS for vector in vectors):
        raise UnsupportedTarget(
            f"EINLOOM_ISA is {text!r}\n  Set it to one of {', '.join(VECTORS)}, or not at all; -FEATURE takes one away."
        )
    return IsaSetting(vectors[0] if vectors else None, without, "amx" in words)


def _masked(machine: Machine, setting: IsaSetting) -> Machine:
    """Return the machine restricted as `EINLOOM_ISA` says."""
    restricted = machine.with_vector(setting.vector)
    if restricted.isa != machine.isa or not restricted.features <= machine.features:
        raise UnsupportedTarget(
            f"EINLOOM_ISA is {setting.vector!r}, but this machine ({machine.name}) has only {machine.vector}\n"
            "  It can take features away, not add them: unset it, or name a narrower vector ISA."
        )
    if setting.without:
        features = restricted.features - setting.without
        vector = restricted.vector if restricted.vectors.features <= features else vector_of(machine.isa, features)
        restricted = replace(restricted, vector=vector, features=features)
    if machine.has_vectors and not restricted.has_vectors:  # Whoever refuses this machine says why, by its name.
        return replace(restricted, name=f"{machine.name} with EINLOOM_ISA={_text()!r} ({_choices(machine)})")
    return restricted


def _text() -> str:
    return os.environ.get("EINLOOM_ISA", "")


def _choices(machine: Machine) -> str:
    """Return what `EINLOOM_ISA` may be for code to be generated."""
    there = [name for name in VECTORS if name != "none" and machine.with_vector(name).features <= machine.features]
    return f"unset it, or set {' or '.join(there)}"


def _processor_name() -> str:
    """Return the processor's name from the first entry of /proc/cpuinfo; Arm's have numbers for names."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            entry = file.read(4096).split("\n\n")[0]
    except OSError:
        return ""
    fields = dict(line.split(":", 1) for line in entry.splitlines() if ":" in line)
    values = {key.strip(): value.strip() for key, value in fields.items()}
    if "model name" in values:
        return values["model name"]
    numbers = values.get("CPU implementer"), values.get("CPU part")
    return "AArch64 implementer {} part {}".format(*numbers) if all(numbers) else ""


_ARCH_PRCTL, _REQUEST_PERMISSION, _TILE_DATA = 158, 0x1023, 18


@once
def tiles_granted() -> bool:
    """Whether Linux lets this process use AMX's tiles, after asking for them, once for all its threads."""
    return ctypes.CDLL(None).syscall(_ARCH_PRCTL, _REQUEST_PERMISSION, _TILE_DATA) == 0
