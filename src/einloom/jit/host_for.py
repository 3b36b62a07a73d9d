"""`host_for(types)`: the host as code for elements of some types sees it."""

from __future__ import annotations

from collections.abc import Iterable

from einloom.dtypes import DType
from einloom.jit.host import host
from einloom.machine import Machine

__all__ = ["host_for"]


def host_for(types: Iterable[DType]) -> Machine:
    """Return the host; with matrix tiles, which have to be asked for, where types are narrow enough for them."""
    if all(each.group <= 1 for each in types):
        return host()
    from einloom.jit.tiles import host_with_tiles  # Late: its self-test needs an assembler.

    return host_with_tiles()
