"""The programs of operations, each made once: steps that differ in nothing but the names of their axes share one."""

from __future__ import annotations

import platform
from dataclasses import replace
from importlib import import_module

from einloom.ir.bind import bind
from einloom.ir.operation import Operation
from einloom.ir.schedule import Schedule
from einloom.machine import Machine
from einloom.once import OnceTable
from einloom.passes.fuse import fuse_as_named
from einloom.passes.pipeline import optimize_operation
from einloom.passes.values import Options, State
from einloom.plan.equation import label_symbols
from einloom.targets.executable import Executable
from einloom.targets.image import image_of

if platform.machine() == "x86_64":  # With the import of einloom, and not within the first compilation.
    for name in ("targets.cpu", "asm.x86.assembler", "kernels.verbs.avx512", "kernels.verbs.narrow_x86"):
        import_module(f"einloom.{name}")

__all__ = ["decided", "forget_programs", "program_of"]

PROGRAMS = 1024
"""Programs that are remembered, whoever uses them."""

_programs: OnceTable[Executable] = OnceTable(PROGRAMS)


def program_of(operation: Operation, schedule: Schedule | None, machine: Machine, threads: int) -> Executable:
    """Return the program of an operation for up to `threads` threads.

    Args:
        operation: what is computed.
        schedule: how; None: as the passes decide.
        machine: the target.
        threads: how many threads may share the work.

    Raises:
        ScheduleError: the given schedule does not fit.
    """
    if schedule is None:
        operation = _with_plain_names(operation)

    def compiled() -> Executable:
        return Executable(image_of(bind(*decided(operation, schedule, machine, threads)), machine))

    return _programs.get((operation, schedule, machine, threads), compiled)


def decided(operation: Operation, schedule: Schedule | None, machine: Machine, threads: int) -> State:
    """Return the operation with its axes fused, and the schedule that its program follows."""
    if schedule is not None:
        return fuse_as_named(operation, schedule), schedule
    return optimize_operation(operation, machine, Options(threads))


def forget_programs() -> None:
    """Forget every program; those in use stay with their users."""
    _programs.clear()


def _with_plain_names(operation: Operation) -> Operation:
    """Name the axes by their positions. The passes look at names for nothing but to tell axes apart."""
    symbols = label_symbols(len(operation.axes))
    axes = tuple(replace(axis, name=symbol) for axis, symbol in zip(operation.axes, symbols))
    return replace(operation, axes=axes)
