"""`TeamExecutable`: the program of a nest with a team, mapped into this process: all its threads, or an error."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from einloom.ir.nest import Nest
from einloom.jit.kernel import Kernel
from einloom.jit.threads import run_team, run_together
from einloom.machine import Machine
from einloom.once import once
from einloom.targets.cpu import lower_nest
from einloom.targets.executable import scratch
from einloom.targets.sync import SYNC_BYTES

__all__ = ["TeamExecutable"]


class TeamExecutable:
    """A nest for a fixed number of logical threads, and its code.

    Args:
        nest: what to run; it has a team.
        machine: the target; it must be one that this host can run.

    Raises:
        UnsupportedTarget: the machine has no kernels.
    """

    def __init__(self, nest: Nest, machine: Machine) -> None:
        self.nest = nest
        self.program = lower_nest(nest, machine)
        self.kernel = Kernel(self.program.assembler, name="threaded loop")
        self._block = ctypes.c_int64 * (len(nest.operation.operands) + 3)
        self._sync = ctypes.c_int64 * (SYNC_BYTES // 8)
        self._together = nest.has_barriers and self.program.shared_trips > 1

    def __call__(self, addresses: Sequence[int]) -> None:
        """Run on operands whose first elements lie at `addresses`.

        Threads without barriers between them share the cores, however many they are.

        Raises:
            DeviceError: there are barriers, and not as many threads as wait there.
        """
        threads = self.program.shared_trips
        sync = self._sync()
        run = run_together if self._together else run_team
        with scratch(self.program.scratch_bytes * threads) as place:
            block = self._block(*addresses, place, ctypes.addressof(sync), _let_others_run())
            run(self.kernel.address_of(self.program.entry), block, threads)


@once
def _let_others_run() -> int:
    """The address of the C library's function that gives the rest of a thread's time to others."""
    return ctypes.cast(ctypes.CDLL(None).sched_yield, ctypes.c_void_p).value or 0
