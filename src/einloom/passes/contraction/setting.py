"""`Setting`: what families of schedules ask about a contraction before they propose anything.

It is the operation, the machine and the options, with answers that are derived from them: whether kernels would have to
gather, what L1 keeps, what exceeds L2.
"""

from __future__ import annotations

import math

from einloom.frozen import frozen
from einloom.ir.operation import DimType, Operand, Operation
from einloom.ir.schedule import Prims, Schedule
from einloom.machine import Machine
from einloom.passes.contraction.blocking import Blocking
from einloom.passes.identify import vector_operand
from einloom.passes.model.tiles import SCRATCH_LIMIT
from einloom.passes.values import Context, Options

__all__ = ["Setting"]

GATHERS = 1024
"""Lanes times columns up to which kernels may gather vectors in place: for each column they take a load a lane."""

OUTPUT_NEAR = 2
"""The part of L1 that the output may fill where blocks of k add to all of it, one in so many.

Measured with it, against rows in order up to 32 columns alone: 29 long sums into such an output ran 1.11 times as fast
in the mean on AVX2, 1.05 times on AVX-512 (0.87 to 1.73).
"""

KEPT = 4
"""The part of L2 that blocks of the vector operand leave to all else."""

FAR = 16
"""How many times L2 the output is from which on no cache keeps much of it."""


@frozen
class Setting:
    """What families propose schedules for.

    Attributes:
        operation: its axes fused.
        prims: the axes that kernels take, vectors along what is contiguous in the output.
        machine: the target.
        options: what the caller asks for.
        blocking: makes schedules of plans.
        of_pairs: whether the operation stands for one of complex numbers, to which only some schedules can be restored:
            what is mostly better than others may be none of them.
    """

    operation: Operation
    prims: Prims
    machine: Machine
    options: Options
    blocking: Blocking
    of_pairs: bool = False

    @staticmethod
    def of(operation: Operation, schedule: Schedule, context: Context, of_pairs: bool = False) -> Setting:
        """Return what families ask of an operation and the schedule so far: the axes that its primitive takes."""
        blocking = Blocking(operation, schedule.prims, context.machine, context.options.max_kernel_size)
        return Setting(operation, schedule.prims, context.machine, context.options, blocking, of_pairs)

    @property
    def gathers(self) -> bool:
        """Whether kernels would have to gather the vector operand where it lies."""
        m = self.prims.m
        operand = self.operation.inputs[vector_operand(self.operation, self.prims)]
        return m is not None and self.operation.stride(operand, m) not in (0, 1)

    @property
    def columns(self) -> int:
        """How many columns all vectors meet."""
        return 1 if self.blocking.b is None else self.blocking.b.elements

    @property
    def keeps_element(self) -> bool:
        """Whether L1 keeps all of the element operand: no copy of it would be any closer."""
        element = self.blocking.b
        return element is None or self.operation.elements(element.operand) <= self.blocking.targets.small

    @property
    def gathers_much(self) -> bool:
        """Whether gathering would take longer than any copy: vectors that L1 cannot keep meet many columns."""
        is_far = self._bytes(self.blocking.a.operand) > self.machine.l1d
        return is_far and self.gathers and self.columns * self.blocking.targets.lanes > GATHERS

    @property
    def keeps_vector(self) -> bool:
        """Whether a block holds all of the vector operand, beside which panels of the other one are packed once.

        With several blocks it is better to pack the other one first, if that can be restored.
        """
        return self.of_pairs or KEPT * self._bytes(self.blocking.a.operand) <= self.machine.l2

    @property
    def has_room_for_inputs(self) -> bool:
        """Whether scratch has room for all inputs as a whole."""
        return sum(self._bytes(operand) for operand in self.operation.inputs) <= SCRATCH_LIMIT

    @property
    def summed(self) -> int:
        """Products that are added up, as far as kernels take them together."""
        taken = (self.prims.k, self.prims.batch)
        return math.prod(self.operation.axis(name).extent for name in taken if name is not None)

    @property
    def sums_at_once(self) -> bool:
        """Whether kernels take every axis that is summed: nothing is added to what they have written."""
        return self.summed == math.prod([axis.extent for axis in self.operation.axes if axis.role is DimType.K])

    @property
    def exceeds_cache(self) -> bool:
        """Whether the output is larger than the second-level cache."""
        return self._bytes(self.operation.output) > self.machine.l2

    @property
    def is_output_far(self) -> bool:
        """Whether caches keep little of the output."""
        return not self.of_pairs and self._bytes(self.operation.output) > FAR * self.machine.l2

    @property
    def adds_to_near_output(self) -> bool:
        """Whether L1 keeps what one product of a batch writes beside what kernels read: adding to it costs little."""
        written = math.prod(axis.extent for axis in self.operation.axes if axis.role in (DimType.M, DimType.N))
        return OUTPUT_NEAR * written * self.operation.output.dtype.size <= self.machine.l1d

    def _bytes(self, operand: Operand) -> int:
        return self.operation.elements(operand) * operand.dtype.size
