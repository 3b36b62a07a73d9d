"""`Executable`: a program mapped into this process, ready to run on addresses."""

from __future__ import annotations

import platform
import threading
from collections.abc import Sequence
from importlib import import_module

import numpy as np

from einloom.ir.nest import Nest
from einloom.jit.kernel import Kernel
from einloom.jit.threads import team_function
from einloom.machine import Machine
from einloom.targets.cpu import lower_nest

if platform.machine() == "x86_64":  # With the import of einloom, and not within the first compilation.
    for name in ("asm.x86.assembler", "kernels.verbs.avx512", "kernels.verbs.narrow_x86"):
        import_module(f"einloom.{name}")

__all__ = ["Executable", "reserve_scratch"]

ALIGNMENT = 64


class _Arena(threading.local):
    """Scratch of the Python thread that calls: grows to the largest demand, is used by one execution at a time."""

    def __init__(self) -> None:
        self.memory = np.empty(0, np.uint8)
        self.address = 0

    def reserve(self, size: int) -> int:
        """Return the address of `size` bytes that begin at a cache line."""
        if size + ALIGNMENT > self.memory.size:
            self.memory = np.empty(size + ALIGNMENT, np.uint8)
            self.address = -(-self.memory.ctypes.data // ALIGNMENT) * ALIGNMENT
        return self.address


_arena = _Arena()


def reserve_scratch(size: int) -> int:
    """Return the address of `size` bytes at a cache line, for this Python thread until it asks again."""
    return _arena.reserve(size)


class Executable:
    """A nest, its program and the mapped code.

    Args:
        nest: what to run.
        machine: the target; it must be one that this host can run.

    Raises:
        UnsupportedTarget: the machine has no kernels, or code for it does not run here (at the first execution).
    """

    def __init__(self, nest: Nest, machine: Machine) -> None:
        self.nest = nest
        self.program = lower_nest(nest, machine)
        self.kernel = Kernel(self.program.assembler, name="tensor operation")

    def __call__(self, addresses: Sequence[int], threads: int) -> None:
        """Run on operands whose index 0 lies at `addresses` (inputs, then the output), on up to `threads` threads."""
        run = team_function(len(self.nest.operation.operands) + 1)
        size = self.scratch_bytes(threads)
        run(self.address, self.shares(threads), *addresses, reserve_scratch(size) if size else 0)

    @property
    def address(self) -> int:
        """The address of the program's function."""
        return self.kernel.address_of(self.program.entry)

    def shares(self, threads: int) -> int:
        """Return among how many threads the work is shared if up to `threads` may be used."""
        return min(threads, self.program.shared_trips)

    def scratch_bytes(self, threads: int) -> int:
        """Return the scratch of all these threads together, in bytes."""
        return self.program.scratch_bytes * self.shares(threads)
