"""What tests change on an emulated processor (`tests/aarch64`), where Python is twelve times as slow and more.

Elsewhere `times` and `patience` return what they are given, and `PART` is 1.
"""

from __future__ import annotations

import os

__all__ = ["EMULATED", "PART", "SLOWER", "patience", "times"]

EMULATED = "EINLOOM_EMULATED_CPU" in os.environ
PART = int(os.environ.get("EINLOOM_EMULATED_PART", "1"))
"""Of so many cases of the largest tests one is tried: more than one in the quick part under emulation."""

SLOWER = 10


def times(count: int, least: int = 1) -> int:
    """Return how often something is done: a tenth where the processor is emulated, but so often at least."""
    return max(count // SLOWER, least) if EMULATED else count


def patience(seconds: int) -> int:
    """Return how long to wait for something before it counts as hanging."""
    return SLOWER * seconds if EMULATED else seconds
