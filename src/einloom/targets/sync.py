"""`Sync`: what the threads of one execution share: the next ticket of a parallel loop, and a barrier.

Both are words in the zeroed bytes that an `Image` asks for, each in a cache line of its own. Who takes which piece is
said in `teams`.
"""

from __future__ import annotations

from einloom.ir.nest import Call, walk
from einloom.targets.positions import Positions

__all__ = ["Sync", "sync_variables"]

TICKETS, ARRIVALS, ENDED = 0, 64, 128
"""Where the shared bytes hold the next ticket, how many threads came to barriers, and how many were let through."""

SPINS = 2000
"""How often a thread looks before it lets others run."""


def sync_variables() -> list[str]:
    """Return the variables of a thread: where the bytes are, whom to call to wait, its arrivals, its ticket."""
    return ["sync", "others", "phase", "ticket"]


class Sync:
    """Code for so many threads; the variables `sync` and `others` hold what the caller of the program gave."""

    def __init__(self, positions: Positions, threads: int) -> None:
        self.positions = positions
        self.threads = threads

    def draw(self) -> None:
        """Draw the next ticket."""
        vm, variables = self.positions.vm, self.positions.variables
        number, address = vm.arguments[3:5]
        vm.constant(number, 1)
        variables.load(address, "sync")
        vm.add_constant(address, TICKETS)
        vm.fetch_add(number, address)
        variables.write("ticket", number)

    def barrier(self) -> None:
        """Arrive, and wait until all threads have: `phase` counts the arrivals that end this wait."""
        if self.threads == 1:
            return
        asm, vm, variables = self.positions.asm, self.positions.vm, self.positions.variables
        wait, look, done = asm.forward("wait"), asm.forward("look"), asm.forward("all_there")
        number, address, phase = vm.arguments[3:6]
        if any(isinstance(node, Call) and node.streams for node in walk(self.positions.nest.body)):
            vm.order_stores()
        variables.add("phase", self.threads)
        variables.load(address, "sync")
        vm.add_constant(address, ARRIVALS)
        vm.constant(number, 1)
        vm.fetch_add(number, address)
        vm.add_constant(number, 1)
        variables.load(phase, "phase")
        vm.branch("ne", number, phase, wait)
        vm.publish(address, ENDED - ARRIVALS, phase)
        vm.jump(done)
        asm.bind(wait)
        variables.load(address, "sync")
        variables.load(phase, "phase")
        vm.constant(self.positions.other, SPINS)
        asm.bind(look)
        vm.observe(number, address, ENDED)
        vm.branch("ge", number, phase, done)
        vm.pause()
        vm.add_constant(self.positions.other, -1)
        vm.branch("gt", self.positions.other, 0, look)
        vm.call_register(variables.read("others"))
        vm.jump(wait)
        asm.bind(done)
