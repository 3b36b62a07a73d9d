"""`SharedLowering`: the outermost loops as one range of iterations, of which each thread takes a contiguous share.

The program is called with the number of the thread and of all threads; it divides the range itself. How threads are
started and waited for is not in the program but in `einloom.jit.threads`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from einloom.asm import Label
from einloom.ir.nest import Loop, Nest, Node
from einloom.ir.schedule import ExecType
from einloom.targets.curves import CurveLowering
from einloom.targets.loops import Body
from einloom.targets.positions import Positions

__all__ = ["SharedLowering", "shared_variables"]


def shared_variables(nest: Nest) -> list[str]:
    """Return the variables of shared loops: this thread's range, and where buffers begin."""
    return ["iteration", "end", *(f"base {buffer.name}" for buffer in nest.buffers)]


class SharedLowering:
    """Code for the loops that threads share; `body` emits what is inside, `curves` places those along a curve."""

    def __init__(self, positions: Positions, curves: CurveLowering, body: Body) -> None:
        self.positions = positions
        self._curves = curves
        self._body = body

    def emit(self, loops: Sequence[Loop], body: tuple[Node, ...]) -> None:
        """Run this thread's contiguous share of the flattened shared iterations."""
        asm, variables = self.positions.asm, self.positions.variables
        self._take_share()
        top, following, done = asm.forward("shared"), asm.forward("next"), asm.forward("done")
        asm.bind(top)
        self.positions.branch("ge", "iteration", "end", done)
        self._place(loops, following)
        self._body(body)
        asm.bind(following)
        variables.add("iteration", 1)
        self.positions.vm.jump(top)
        asm.bind(done)

    def _take_share(self) -> None:
        """Set the first iteration of this thread, and the first of the next one."""
        vm, work = self.positions.vm, self.positions.work
        rest, quotient, thread, threads = (vm.arguments[i] for i in (0, 3, 4, 5))
        vm.move(thread, vm.arguments[1])  # Division may use the third argument's register.
        vm.move(threads, vm.arguments[2])
        for name in ("iteration", "end"):
            vm.multiply_constant(work, thread, self.positions.nest.shared_trips)
            vm.divide(quotient, rest, work, threads)
            self.positions.variables.write(name, quotient)
            vm.add_constant(thread, 1)

    def _place(self, loops: Sequence[Loop], following: Label) -> None:
        """Turn the flat iteration into one index a loop; set positions and what is left of each axis."""
        positions, vm, variables = self.positions, self.positions.vm, self.positions.variables
        rest, index = vm.arguments[3:5]
        variables.load(rest, "iteration")
        for buffer in positions.nest.buffers:
            variables.copy(f"at {buffer.name}", f"base {buffer.name}")
        positions.start_axes()
        along = [loop for loop in loops if loop.kind is ExecType.SFC]
        if along:
            vm.divide_constant(rest, index, rest, math.prod(loop.trips for loop in along))
            self._curves.place(along, index)
        for loop in reversed(loops[: len(loops) - len(along)]):
            vm.divide_constant(rest, index, rest, loop.trips)
            positions.move_by(loop, index)
        positions.skip_outside(loops, following)
