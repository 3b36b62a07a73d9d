"""Who is measured: einloom and its peers, the settings that each is tried at, and what a contestant has to offer.

A contestant is a module `einloom.bench.peers.NAME` with `prepare(case, operands, output, threads, target)`. It raises
`UnsupportedTarget` for work that it has no way to do.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import field

from einloom.bench.data import Array
from einloom.errors import ScheduleError, UnsupportedTarget
from einloom.frozen import frozen
from einloom.machine import Machine

__all__ = [
    "EINLOOM",
    "PEERS",
    "Contestant",
    "Prepared",
    "Variant",
    "chosen_peers",
    "isa_environment",
    "kernel_repeats",
    "restricted_machine",
    "variants_of",
]


@frozen
class Prepared:
    """Work that is ready to be measured.

    Attributes:
        once: do the work one time on the output as it was given; returns the output, which is checked.
        call: what the clock measures.
        repeats: how often `call` does the work.
        compile_seconds: how long it took from the description of the work to something callable, where that is a step.
        note: what a reader of the figures should know.
    """

    once: Callable[[], Array]
    call: Callable[[], object]
    repeats: int = 1
    compile_seconds: float | None = None
    note: str = ""


@frozen
class Variant:
    """A setting of a contestant: environment variables of its process."""

    name: str
    environment: Mapping[str, str] = field(default_factory=dict[str, str])


@frozen
class Contestant:
    """Somebody to measure.

    Attributes:
        name: also of its module, `peers.NAME`.
        package: what has to be importable.
        settings: variants beside the default one, with the machine feature that each needs.
    """

    name: str
    package: str
    settings: tuple[tuple[str, Variant], ...] = ()


EINLOOM = Contestant("einloom", "einloom")

_SKYLAKEX = Variant("OPENBLAS_CORETYPE=SKYLAKEX", {"OPENBLAS_CORETYPE": "SKYLAKEX"})

PEERS = {
    peer.name: peer
    for peer in (
        Contestant("numpy", "numpy", (("avx512f", _SKYLAKEX),)),
        Contestant("torch", "torch"),
        Contestant("etops", "etops"),
    )
}
"""Peers by name. OpenBLAS takes AVX2 kernels on AVX-512 processors that it does not know, so it is tried with both."""


_AVX2 = {
    "OPENBLAS_CORETYPE": "Haswell",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "LIBXSMM_TARGET": "hsw",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "ATEN_CPU_CAPABILITY": "avx2",
    # NumPy's own loops. What a version does not know it passes over, with a warning that is not shown.
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR",
}


def isa_environment(vector: str | None) -> dict[str, str]:
    """Return the environment that puts einloom and every peer on a vector ISA; of None nothing."""
    if vector is None:
        return {}
    return {"EINLOOM_ISA": vector, **(_AVX2 if vector == "avx2" else {})}


def restricted_machine(machine: Machine, vector: str | None) -> Machine:
    """Return the machine as contestants on a vector ISA see it.

    Raises:
        UnsupportedTarget: it has not this vector ISA.
    """
    restricted = machine.with_vector(vector)
    if not restricted.features <= machine.features:
        raise UnsupportedTarget(
            f"{machine.name} has {machine.vector}, not {vector}\n  Measure on a machine that has it."
        )
    return restricted


def variants_of(contestant: Contestant, machine: Machine) -> tuple[Variant, ...]:
    """Return the settings that a contestant is measured at on a machine; the best one counts."""
    others = (variant for feature, variant in contestant.settings if feature in machine.features)
    return (Variant("default"), *others)


def chosen_peers(names: str) -> tuple[list[Contestant], list[str]]:
    """Return (peers that are installed, names of those that are not) of a comma-separated list.

    Raises:
        ScheduleError: a name is no peer's.
    """
    wanted = list(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    unknown = [name for name in wanted if name not in PEERS]
    if unknown:
        raise ScheduleError(f"no peer {unknown[0]!r}\n  Peers: {', '.join(PEERS)}.")
    there = [PEERS[name] for name in wanted if importlib.util.find_spec(PEERS[name].package)]
    return there, [name for name in wanted if PEERS[name] not in there]


def kernel_repeats(flops: int) -> int:
    """How often a kernel is repeated inside one call: for about a millisecond of a fast machine's time."""
    return max(1, 100_000_000 // max(flops, 1))
