"""`Program`: generated code with what is needed to run it and what is known about it. It has not been mapped yet."""

from __future__ import annotations

from dataclasses import field
from typing import NamedTuple

from einloom.asm import Assembler, Label
from einloom.frozen import frozen
from einloom.ir.nest import Node
from einloom.machine import Machine

__all__ = ["Place", "Program"]


class Place(NamedTuple):
    """Where in the records of an assembler the code of a node is; or the call of the kernel for blocks of these sizes.

    The code of a node inside lies between. A node whose code stands several times has as many places.
    """

    node: Node
    start: int
    end: int
    sizes: tuple[int, ...] | None = None


@frozen
class Program:
    """Machine code of one nest.

    The function at `entry` has the C signature `void f(int64 *arguments, int64 thread, int64 threads)`. `arguments`
    holds the address of index 0 of every operand, inputs first, then the address of the scratch of thread 0; thread `t`
    uses the `scratch_bytes` that begin `t * scratch_bytes` behind it.

    Attributes:
        assembler: holds the code; `bytes()`, `listing()`, `features` and `counts()` are its own.
        entry: where the function begins.
        machine: the target that the code was generated for.
        scratch_bytes: scratch of one thread, a multiple of 64.
        shared_trips: iterations that threads share; 1 if there is nothing to share.
    """

    assembler: Assembler = field(compare=False)
    entry: Label = field(compare=False)
    machine: Machine
    scratch_bytes: int
    shared_trips: int
