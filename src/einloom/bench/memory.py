"""`check_memory`: refuse a case whose arrays do not fit into memory, before anybody starts on it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from einloom.bench.cases import Case
from einloom.bench.peers.contestants import Contestant, variants_of
from einloom.dtypes import COMPUTED
from einloom.errors import ArgumentError
from einloom.machine import Machine
from einloom.search.worker import free_memory

__all__ = ["check_memory"]


def check_memory(case: Case, peers: Sequence[Contestant], machine: Machine, free: float | None = None) -> None:
    """Refuse a case of which there is no memory for the operands and the result of every contestant at once.

    Args:
        case: what is to be computed.
        peers: who computes it beside einloom, a process for each of their settings.
        machine: this one.
        free: bytes; what the system says if None.

    Raises:
        ArgumentError: there is not.
    """
    free = free_memory() if free is None else free
    *operands, result = (math.prod(shape) * COMPUTED[case.dtype].size for shape in case.shapes)
    once, processes = sum(operands) + result, 1 + sum(len(variants_of(peer, machine)) for peer in peers)
    if once * processes <= free:
        return
    sizes = f"operands {' and '.join(map(_size_text, operands))}, result {_size_text(result)}"
    fewer = processes > 1 and once <= free
    raise ArgumentError(
        f"{sizes} of {case.dtype}"
        + f", held by {processes} processes at once" * fewer
        + f": this machine has {_size_text(free)} free\n  {case.equation}\n"
        + ("  Leave out contestants, as in --peers '', or give smaller sizes." if fewer else "  Give smaller sizes.")
    )


def _size_text(size: float) -> str:
    """Return a number of bytes in the unit that suits it.

    >>> _size_text(480e9)
    '447 GiB'
    """
    units = ("bytes", "KiB", "MiB", "GiB", "TiB")
    scale = min(max(int(math.log2(max(size, 1))) // 10, 0), len(units) - 1)
    return f"{size / 1024**scale:.3g} {units[scale]}"
