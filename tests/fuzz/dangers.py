"""Cases that go wrong, for the test of the runner: seeds 1 and 6 raise, seed 4 reads address 0."""

from __future__ import annotations

import ctypes


def check(seed: int) -> str:
    if seed in (1, 6):
        raise ValueError("not an error of einloom")
    return "" if seed != 4 else ctypes.string_at(0).decode()
