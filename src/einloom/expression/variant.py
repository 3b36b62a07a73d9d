"""`Variant`: an expression planned and compiled for certain strides and a number of threads; `Recipe` makes them."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path as File
from typing import Any

import numpy as np

from einloom.arrays.library import Array
from einloom.arrays.region import reach_of
from einloom.errors import ScheduleError, UnsupportedTarget
from einloom.expression.fallback import compute_with_numpy
from einloom.expression.programs import decided, program_of
from einloom.ir.interpret import Memory, interpret
from einloom.ir.numbers import elements_of
from einloom.ir.operation import Operation
from einloom.ir.schedule import Schedule
from einloom.jit.arrays import array_address
from einloom.jit.host import host
from einloom.machine import Machine
from einloom.plan.arena import Arena
from einloom.plan.carriers import widened
from einloom.plan.paths import Path
from einloom.plan.problem import Problem
from einloom.plan.steps import Plan, Step, plan_problem
from einloom.targets.executable import Executable, scratch

__all__ = ["CompiledStep", "Recipe", "Strides", "Variant"]

Strides = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CompiledStep:
    """A step, how many threads it was compiled for and, unless it is interpreted, its executable.

    Where there is no code for the type of its elements, NumPy computes it. Its schedule, if it was given or recorded:
    else the passes decided.
    """

    step: Step
    threads: int = 1
    executable: Executable | None = None
    by_numpy: bool = False
    schedule: Schedule | str | None = None

    def compute(self, operands: Sequence[Array]) -> None:
        """Compute without an executable on these operands, the output last, whose strides are the step's."""
        operation = self.step.operation
        if operands[-1].size and self.by_numpy:
            compute_with_numpy(operation, operands)
        elif operands[-1].size:
            units = [elements_of(operand.dtype).name for operand in operation.operands]
            interpret(operation, [_memory_of(operand, unit) for operand, unit in zip(operands, units)])


@dataclass(frozen=True, slots=True)
class Variant:
    """Steps, compiled; the last one writes the result.

    Attributes:
        steps: in order.
        arena: where the results of the others lie, behind what kernels need of the scratch.
        constants: tensors that follow the operands.
    """

    steps: tuple[CompiledStep, ...]
    arena: Arena
    constants: tuple[Array, ...]

    @property
    def kernel_scratch(self) -> int:
        """Scratch in bytes that kernels need: steps follow each other, so it is shared."""
        needs = [step.executable.scratch_bytes(step.threads) for step in self.steps if step.executable]
        return max(needs, default=0)

    @property
    def scratch_bytes(self) -> int:
        """Scratch that a call needs, in bytes: that of the kernels, then the arena."""
        return self.kernel_scratch + self.arena.size

    def run(self, operands: Sequence[Array], result: Array) -> None:
        """Compute into `result`; arrays have the strides that the variant is for, whatever NumPy says of them."""
        if any(step.executable is None for step in self.steps):
            self._compute(operands, result)
            return
        begin = self.kernel_scratch
        with scratch(self.scratch_bytes) as place:
            tensors = [array_address(array) for array in (*operands, *self.constants)]
            tensors += [place + begin + offset for offset in self.arena.places]
            written = [*tensors[len(operands) + len(self.constants) :], array_address(result)]
            for compiled, output in zip(self.steps, written):
                assert compiled.executable is not None
                inputs = [tensors[i] for i in compiled.step.inputs]
                compiled.executable.run([*inputs, output], compiled.threads, place)

    def _compute(self, operands: Sequence[Array], result: Array) -> None:
        tensors = [*operands, *self.constants]
        for compiled in self.steps:
            last = compiled is self.steps[-1]
            whole = compiled.by_numpy or result.dtype.kind == "c"  # Steps on complex numbers are on their parts.
            dtype = result.dtype if whole else elements_of(compiled.step.operation.output.dtype)
            output = result if last else np.empty(math.prod(compiled.step.shape), dtype)
            compiled.compute([*(tensors[i] for i in compiled.step.inputs), output])
            tensors.append(output)


@dataclass(frozen=True, slots=True)
class Recipe:
    """How an expression's variants are made: all that does not depend on strides and threads.

    Attributes:
        problem: what is asked for; its strides are those that were compiled first.
        path: which tensors are contracted together.
        parts: how many elements of the problem's type make one of the operands'.
        schedule: for the only step, instead of the heuristic one; a text is a loop string.
        target: `"cpu"`, `"interpreter"` or a `Machine`.
        by_numpy: whether there is no code for the type of the elements.
        records: the file of the schedules that problems were tuned to; None: none.
        constants: factors of the sums and of the output, an array each.
    """

    problem: Problem
    path: Path
    parts: int
    schedule: Schedule | str | None
    target: str | Machine
    by_numpy: bool = False
    records: File | None = None
    constants: tuple[Array, ...] = ()

    @property
    def is_interpreted(self) -> bool:
        """Whether no code is generated: on the interpreter, and for types that there is none for."""
        return self.target == "interpreter" or self.by_numpy

    def plan(self, strides: tuple[Strides, ...], output_strides: Strides | None = None) -> Plan:
        """Return the steps for operands and an output (None: C-contiguous) of these strides in elements."""
        problem = replace(self.problem, strides=strides)
        return widened(plan_problem(problem, output_strides, self.path), self.parts)

    def compile(self, strides: tuple[Strides, ...], output_strides: Strides | None, threads: int) -> Variant:
        """Return the variant for these strides and so many threads.

        Raises:
            ScheduleError: the given schedule does not fit.
        """
        plan = self.plan(strides, output_strides)
        if self.schedule is not None and len(plan.steps) != 1:
            text = self.problem.equation.text
            raise ScheduleError(f"a schedule is for a single operation; {text} takes {len(plan.steps)}")
        return Variant(tuple(self._compile_step(step, threads) for step in plan.steps), plan.arena, self.constants)

    def _compile_step(self, step: Step, threads: int) -> CompiledStep:
        if self.is_interpreted:
            return CompiledStep(step, by_numpy=self.by_numpy)
        schedule = self.schedule or self._recorded(step.operation, threads)
        program = program_of(step.operation, schedule, self.machine(), threads)
        return CompiledStep(step, threads, program, schedule=schedule)

    def _recorded(self, operation: Operation, threads: int) -> Schedule | None:
        """Return the schedule that an operation was tuned to on this host."""
        if self.records is None or isinstance(self.target, Machine):
            return None
        from einloom.search.problems import recorded_schedule  # Late: mostly there are no records.

        return recorded_schedule(operation, self.machine(), threads, self.records)

    def decided(self, compiled: CompiledStep) -> tuple[Operation, Schedule] | None:
        """Return a step's operation with its axes fused, and its schedule; None where there is no code."""
        if compiled.executable is None:
            return None
        return decided(compiled.step.operation, compiled.schedule, self.machine(), compiled.threads)

    def _host(self) -> Machine:
        """The host; with matrix tiles, which have to be asked for, where types are narrow enough for them."""
        narrow = any(self.problem.operand_type(i).group > 1 for i in range(len(self.problem.shapes)))
        if not narrow:
            return host()
        from einloom.jit.tiles import host_with_tiles  # Late: its self-test needs an assembler.

        return host_with_tiles()

    def machine(self) -> Machine:
        """Return the machine that code is generated for.

        Raises:
            UnsupportedTarget: there is no such target, or no code for it.
        """
        machine = self.target if isinstance(self.target, Machine) else self._host()
        if isinstance(self.target, str) and self.target not in ("cpu", "interpreter"):
            raise UnsupportedTarget(f"target {self.target!r}\n  Targets: 'cpu', 'interpreter' or a Machine.")
        if not machine.has_vectors:
            raise UnsupportedTarget(
                f"{machine.name} has neither AVX2 with FMA, AVX-512 nor Neon\n  {self.problem.equation.text}\n"
                '  Use target="interpreter".'
            )
        return machine


def _memory_of(array: Array, unit: str) -> Memory:
    """Return the bytes that the array reaches as elements of type `unit`, with the position of its first element."""
    if array.size == 0:
        return Memory(np.empty(0, unit))
    low, high = reach_of(array.shape, array.strides, array.itemsize)
    buffer: Any = (ctypes.c_char * (high - low)).from_address(array_address(array) + low)
    return Memory(np.frombuffer(buffer, unit), -low // np.dtype(unit).itemsize)
