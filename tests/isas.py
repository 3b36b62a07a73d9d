"""Which vector ISAs the tests can run here."""

from __future__ import annotations

from functools import cache

from einloom.jit import host
from einloom.machine import VECTORS

__all__ = ["vectors_of_host"]


@cache
def vectors_of_host() -> tuple[str, ...]:
    """Return the vector ISAs whose code runs on this machine, widest first."""
    here = host()
    return tuple(name for name in VECTORS if name != "none" and here.with_vector(name).features <= here.features)
