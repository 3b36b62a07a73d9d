"""The programs of operations, each made once: steps that differ in nothing but the names of their axes share one."""

from __future__ import annotations

import os
from contextlib import suppress
from importlib import import_module

from einloom.errors import UnsupportedTarget
from einloom.ir.interchange import axes_by_letter
from einloom.ir.loop_text import parse_loop_string
from einloom.ir.operation import Operation
from einloom.ir.schedule import Schedule
from einloom.jit.code_store import code_store
from einloom.jit.host import host
from einloom.machine import Machine
from einloom.once import OnceTable
from einloom.plan.names import with_plain_names, without_names
from einloom.targets.executable import Executable, release_scratch
from einloom.targets.image import Image, image_of
from einloom.targets.stored import image_key, remembered_image

__all__ = ["decided", "forget_programs", "prepare", "program_of"]

PROGRAMS = 1024
"""Programs that are remembered, whoever uses them."""

_COMPILER = ("ir.bind", "passes.pipeline", "targets.cpu")
"""What a program that was stored does not need."""

_programs: OnceTable[Executable] = OnceTable(PROGRAMS)


def program_of(
    operation: Operation,
    schedule: Schedule | str | None,
    machine: Machine,
    threads: int,
    held: tuple[int, ...] = (),
    copied: int | None = None,
) -> Executable:
    """Return the program of an operation for up to `threads` threads.

    Args:
        operation: what is computed.
        schedule: how, or a loop string; None: as the passes decide.
        machine: the target.
        threads: how many threads may share the work.
        held: positions of inputs that stay the same: the program takes those that its image names as packed blocks.
        copied: one of these: then the program is the copy, which writes the blocks in the place of the output.

    Raises:
        ScheduleError: the given schedule does not fit.
    """
    asked = without_names(operation) if schedule is None else operation  # Schedules name axes.

    def key() -> str:
        return image_key(asked, "" if schedule is None else str(schedule), machine, threads, held, copied)

    def compiled() -> Executable:
        return Executable(remembered_image(key, len(operation.operands), machine, made))

    def made() -> Image:
        from einloom.ir.bind import bind
        from einloom.ir.held import packs_apart

        plain = with_plain_names(operation) if schedule is None else operation
        rest, copies = packs_apart(bind(*decided(plain, schedule, machine, threads, held)), held)
        return image_of(rest if copied is None else copies[copied], machine)

    return _programs.get((asked, schedule, machine, threads, held, copied), compiled)


def decided(
    operation: Operation,
    schedule: Schedule | str | None,
    machine: Machine,
    threads: int,
    held: tuple[int, ...] = (),
) -> tuple[Operation, Schedule]:
    """Return the operation with its axes fused, and the schedule that its program follows."""
    from einloom.passes.fuse import fuse_as_named
    from einloom.passes.pack_once import pack_once
    from einloom.passes.pipeline import optimize_operation
    from einloom.passes.values import Options

    if isinstance(schedule, str):
        sizes = _sizes(operation, schedule, machine, threads)
        team = None if parse_loop_string(schedule).grid else threads
        schedule = Schedule.from_loop_string(operation, schedule, sizes, threads=team)
    if schedule is not None:
        operation = fuse_as_named(operation, schedule)
        return operation, pack_once(operation, schedule, held)
    return optimize_operation(operation, machine, Options(threads, held=held))


def prepare() -> None:
    """Do what else the first contraction would wait for.

    That is to look at this machine and, where nothing is stored yet, to import what compiles for it.
    """
    with suppress(UnsupportedTarget):  # Who computes is told.
        machine, store = host(), code_store()
        if machine.has_vectors and (store is None or not os.path.isdir(store.folder)):
            _import_compiler(machine)


def _import_compiler(machine: Machine) -> None:
    for name in _COMPILER:
        import_module(f"einloom.{name}")
    from einloom.asm import Assembler
    from einloom.kernels.select import machine_for

    machine_for(Assembler.plain(machine.isa), machine)  # which has the instructions and verbs of this machine ready


def _sizes(operation: Operation, text: str, machine: Machine, threads: int) -> dict[str, tuple[int, ...]]:
    """The steps of loops where a loop string leaves them out: those of the passes, else one block of the whole axis.

    Where a string has more loops over an axis, their blocks grow by the prime factors of the number of inner ones.
    """
    from einloom.passes.pipeline import optimize_operation
    from einloom.passes.values import Options

    _, schedule = optimize_operation(operation, machine, Options(threads))
    letters, sizes = parse_loop_string(text).letters, dict[str, tuple[int, ...]]()
    for letter, name in axes_by_letter(operation.names).items():
        extent = max(operation.axis(name).extent, 1)
        steps = tuple(loop.step for loop in schedule.loops if loop.axis == name) or (extent,)
        while len(steps) < letters.count(letter):
            steps = (steps[0] * _least_factor(-(-extent // steps[0])), *steps)
        sizes[name] = steps
    return sizes


def _least_factor(number: int) -> int:
    return next((factor for factor in range(2, number) if number % factor == 0), max(number, 1))


def forget_programs() -> None:
    """Forget every program, and give scratch back; what is in use stays with its users."""
    _programs.clear()
    release_scratch()
