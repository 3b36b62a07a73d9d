"""Bytes to a callable: executable pages, kernels, the host's description, thread teams. Knows no tensors.

>>> host().isa in ("x86_64", "aarch64")
True
"""

from __future__ import annotations

from einloom.jit.arrays import array_address
from einloom.jit.host import host
from einloom.jit.kernel import Kernel
from einloom.jit.pages import ExecutablePages
from einloom.jit.threads import launch_address, run_team

__all__ = [
    "ExecutablePages",
    "Kernel",
    "array_address",
    "host",
    "launch_address",
    "run_team",
]
