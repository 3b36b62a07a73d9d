"""`TeamExecutable`: the program of a nest with a team, mapped into this process: all its threads, or an error."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from einloom.ir.nest import Nest
from einloom.jit.kernel import Kernel
from einloom.jit.threads import launch_address, launch_together_address, run_team, run_together
from einloom.machine import Machine
from einloom.once import once
from einloom.targets.cpu import lower_nest
from einloom.targets.executable import scratch
from einloom.targets.sync import SYNC_BYTES

__all__ = ["TeamExecutable", "let_others_run"]


class TeamExecutable:
    """A nest for a fixed number of logical threads, and its code.

    Its function takes a block of words: the operands' addresses, the scratch of all threads, `SYNC_BYTES` of zeros
    that they share, and the address of `let_others_run`.

    Args:
        nest: what to run; it has a team.
        machine: the target; it must be one that this host can run.

    Raises:
        UnsupportedTarget: the machine has no kernels.

    Attributes:
        threads: how many shares the function is to be called for.
        has_sync: whether the threads take pieces as they come, or wait for each other.
    """

    def __init__(self, nest: Nest, machine: Machine) -> None:
        self.nest = nest
        self.program = lower_nest(nest, machine)
        self.kernel = Kernel(self.program.assembler, name="threaded loop")
        self.threads = self.program.shared_trips
        self._block = ctypes.c_int64 * (len(nest.operation.operands) + 3)
        self._together = nest.has_barriers and self.threads > 1
        self.has_sync = self._together or nest.takes_tickets

    def __call__(self, addresses: Sequence[int]) -> None:
        """Run on operands whose first elements lie at `addresses`.

        Threads without barriers between them share the cores, however many they are.

        Raises:
            DeviceError: there are barriers, and not as many threads as wait there.
        """
        run = run_together if self._together else run_team
        sync = (ctypes.c_int64 * (SYNC_BYTES // 8))()
        with scratch(self.scratch_bytes) as place:
            block = self._block(*addresses, place, ctypes.addressof(sync), let_others_run())
            run(self.address, block, self.threads)

    @property
    def address(self) -> int:
        """The address of the program's function."""
        return self.kernel.address_of(self.program.entry)

    @property
    def launch(self) -> int:
        """The address of the function that starts the team; see `einloom.jit.threads`."""
        return launch_together_address() if self._together else launch_address()

    @property
    def scratch_bytes(self) -> int:
        """The scratch of all threads together, in bytes."""
        return self.program.scratch_bytes * self.threads


@once
def let_others_run() -> int:
    """Return the address of the C library's function that gives the rest of a thread's time to others."""
    return ctypes.cast(ctypes.CDLL(None).sched_yield, ctypes.c_void_p).value or 0
