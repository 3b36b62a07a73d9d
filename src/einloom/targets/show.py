"""Compiled operations as text: what is computed, what it costs, the schedule and the loop nest.

The text depends on the operation, the schedule and the machine that the code is for, on nothing else: compiled for
another machine or read on another one, it is the same.
"""

from __future__ import annotations

from einloom.errors import ScheduleError
from einloom.ir.bind import bind
from einloom.ir.held import packs_apart
from einloom.ir.operation import Operation
from einloom.ir.schedule import Schedule
from einloom.machine import Machine
from einloom.targets.bound import bound_of
from einloom.targets.cpu import lower_nest
from einloom.targets.program import Program

__all__ = ["asm_text", "nest_text"]


def asm_text(operation: Operation, schedule: Schedule, machine: Machine, held: tuple[int, ...] = ()) -> str:
    """Return the listing of the code, without that of copies of inputs which stay the same."""
    rest, _ = packs_apart(bind(operation, schedule), held)
    return lower_nest(rest, machine).assembler.listing()


def nest_text(operation: Operation, schedule: Schedule, machine: Machine, held: tuple[int, ...] = ()) -> str:
    """Return costs, schedule and nest; the schedule may be passed back as `schedule=`.

    Copies of `held` inputs, which stay the same, stand apart.
    """
    nest, copies = packs_apart(bind(operation, schedule), held)
    costs = _costs_text(operation, lower_nest(nest, machine))
    once = "".join(f"\n\nonce, before the first call:\n{copy}" for copy in copies.values())
    return f"{costs}\n\n{schedule}\n{_loop_string_text(operation, schedule)}\n\n{nest}{once}"


def _loop_string_text(operation: Operation, schedule: Schedule) -> str:
    """The schedule as a loop string, or what no loop string says of it."""
    try:
        return f"loop string: {schedule.to_loop_string(operation)}"
    except ScheduleError as error:
        return str(error).partition("\n")[0]


def _costs_text(operation: Operation, program: Program) -> str:
    """Return a line of arithmetic, least traffic, code and scratch; and one of the bound, if the machine's is known."""
    flops, traffic = operation.flops, operation.bytes
    ratio = f"{flops / max(traffic, 1):.1f} flop a byte" if flops else "nothing to compute"
    line = (
        f"{flops:,} flop, {traffic:,} bytes at least, {ratio}; "
        f"{program.assembler.size:,} bytes of {program.machine.vector} code, "
        f"{program.scratch_bytes:,} bytes of scratch a thread"
    )
    return "\n".join([line, *_bound_lines(operation, program.machine)])


def _bound_lines(operation: Operation, machine: Machine) -> list[str]:
    bound = bound_of(operation, machine)
    return [f"at least {bound} on one core of {machine.name}"] if bound else []
