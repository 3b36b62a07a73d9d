"""Which vector ISAs the tests can run here."""

from __future__ import annotations

import os
from functools import cache

from einloom.jit import host
from einloom.machine import VECTORS

__all__ = ["vectors_of_host"]


@cache
def vectors_of_host() -> tuple[str, ...]:
    """Return the vector ISAs whose code runs on this machine, widest first; of an emulated one only the first.

    Narrower ones have an emulated processor of their own.
    """
    here = host()
    found = tuple(name for name in VECTORS if name != "none" and here.with_vector(name).features <= here.features)
    return found[:1] if "EINLOOM_EMULATED_CPU" in os.environ else found
