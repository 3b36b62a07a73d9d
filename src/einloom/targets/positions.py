"""`Positions`: where an iteration of a nest is, in every buffer and, for axes with short blocks, in what is left.

These are variables of the program, and this emits the code that moves them by iterations of one loop. The loops
themselves, which count and branch back, are in `loops`, `curves` and `shared`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from einloom.asm import Label
from einloom.ir.nest import Loop, Nest
from einloom.kernels.select import AnyMachine
from einloom.kernels.verbs.frame import Frame
from einloom.kernels.verbs.scalar import Condition
from einloom.targets.short_blocks import is_cut_unevenly

__all__ = ["Positions", "Register", "position_names"]

Register: TypeAlias = Any
"""A general register of whichever ISA."""


def position_names(nest: Nest, short: Sequence[str]) -> list[str]:
    """Return the variables that say where an iteration is; `short` are the axes with short blocks."""
    return [f"at {buffer.name}" for buffer in nest.buffers] + [f"left {axis}" for axis in short]


class Positions:
    """The variables of `position_names`, and two registers to compute with.

    Attributes:
        dtypes: of the elements of buffers, and of cursors into them.
        work, other: registers that hold nothing between two steps of the lowering.
    """

    def __init__(self, nest: Nest, vm: AnyMachine, variables: Frame[Any, Any], short: Sequence[str]) -> None:
        self.nest = nest
        self.vm = vm
        self.asm = vm.asm
        self.variables = variables
        self.short = short
        self.names = position_names(nest, short)
        self.work, self.other = vm.scratch[:2]
        self.dtypes = nest.dtypes
        self._elements = {name: dtype.size for name, dtype in self.dtypes.items()}

    def element(self, name: str) -> int:
        """Return what the position in a buffer moves by, in bytes, from one element to the next; 1 for a number."""
        return self._elements.get(name, 1)

    def start_axes(self) -> None:
        """Set what is left of each axis to all of it."""
        extents = {axis.name: axis.extent for axis in self.nest.axes}
        for axis in self.short:
            self.variables.set(f"left {axis}", extents[axis])

    def move(self, loop: Loop, iterations: int) -> None:
        """Move the positions in buffers by so many iterations of a loop."""
        for buffer, delta in loop.advances:
            if delta:
                self.variables.add(f"at {buffer}", iterations * delta * self.element(buffer))

    def move_by(self, loop: Loop, index: Register) -> None:
        """Move positions, and what is left of the axis, by `index` iterations."""
        product = self.vm.arguments[5]
        for buffer, delta in loop.advances:
            self.vm.multiply_constant(product, index, delta * self.element(buffer))
            self.variables.add(f"at {buffer}", product)
        if loop.axis in self.short:
            self.vm.multiply_constant(product, index, -loop.step)
            self.variables.add(f"left {loop.axis}", product)

    def rewind(self, loop: Loop, entry: str) -> None:
        """Move the positions in buffers back by what a loop went since so much was left of the axis as `entry` says."""
        rest, index, product = self.vm.arguments[3:6]
        self.variables.load(index, entry)
        self.variables.load(self.work, f"left {loop.axis}")
        self.vm.subtract(index, self.work)
        for buffer, delta in loop.advances:
            bytes_a_step = delta * self.element(buffer)
            if bytes_a_step % loop.step == 0:
                self.vm.multiply_constant(product, index, -bytes_a_step // loop.step)
            else:
                self.vm.divide_constant(product, rest, index, loop.step)
                self.vm.multiply_constant(product, product, -bytes_a_step)
            self.variables.add(f"at {buffer}", product)

    def end_with_the_block(self, loop: Loop) -> None:
        """Let what is left of the axis end with this iteration's block: loops inside cut it unevenly."""
        self.variables.load(self.work, f"left {loop.axis}")
        self.vm.constant(self.other, loop.step)
        self.vm.minimum(self.work, self.other)
        self.variables.write(f"left {loop.axis}", self.work)

    def skip_outside(self, loops: Sequence[Loop], following: Label) -> None:
        """Branch to `following` where an index lies beyond the end of an axis that several loops share."""
        for axis in {loop.axis for loop in loops if loop.is_clipped}:
            self.branch("le", f"left {axis}", 0, following)
        for loop in loops:
            if is_cut_unevenly(loop):
                self.end_with_the_block(loop)

    def skip_or_clip(self, loop: Loop, following: Label) -> None:
        """Branch to `following` if the index of one loop lies beyond the end of its axis."""
        if loop.is_clipped:
            self.branch("le", f"left {loop.axis}", 0, following)
        if is_cut_unevenly(loop):
            self.end_with_the_block(loop)

    def branch(self, condition: Condition, name: str, other: str | int, label: Label) -> None:
        """Branch if a variable compares so with a number or another variable."""
        if isinstance(other, int):
            self.variables.branch(condition, name, other, label)
            return
        register = self.variables.read(name, self.work)
        self.vm.branch(condition, register, self.variables.read(other, self.other), label)
