"""`run_calls`: many calls of generated functions from a table, shared among the threads of a team, in one call.

The functions have the signature of a team's work, `void work(void *block, int64 thread, int64 threads)`; each is called
as the only thread's. A share makes its calls in their order, and none waits for those of another.

It is pure up to `run_calls`: the code for either ISA can be made and checked anywhere.

>>> "top:" in calling_code("x86_64").listing()
True
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from einloom.errors import UnsupportedTarget
from einloom.jit.arrays import array_address
from einloom.jit.host import host
from einloom.jit.kernel import Kernel
from einloom.jit.threads import run_team
from einloom.once import once

if TYPE_CHECKING:
    from einloom.asm import Assembler

__all__ = ["Calls", "calling_code", "run_calls"]

Calls = np.ndarray[tuple[int, int], np.dtype[np.int64]]
"""Rows of two words: the address of a function, and that of its block."""


def run_calls(shares: Sequence[Calls]) -> None:
    """Make the calls of every share, C-contiguous tables, on a team of at most so many threads."""
    places = [array_address(table) for table in shares]
    ends = [place + table.nbytes for place, table in zip(places, shares)]
    ranges = np.array([*zip(places, ends)], np.int64)
    run_team(_kernel().address, array_address(ranges), len(shares))


@once
def _kernel() -> Kernel:
    return Kernel(calling_code(host().isa), name="calls from a table")


def calling_code(isa: str) -> Assembler:
    """Return code for `void work(ranges, int64 thread, int64 threads)`, which makes the calls of one share.

    `ranges` holds two words a share: where its table begins, and where it ends.
    """
    from einloom.asm import Assembler  # Late: most expressions are not cut.

    emitters: dict[str, Any] = {"x86_64": _emit_x86, "aarch64": _emit_aarch64}
    if isa not in emitters:
        raise UnsupportedTarget(f"there are thread teams for {', '.join(emitters)}, not for {isa}")
    asm = Assembler(isa)
    emitters[isa](asm)
    return asm


def _emit_x86(asm: Any) -> None:
    row, end, done = asm.rbx, asm.r12, asm.forward("done")
    for register in (row, end, asm.r13):  # The third keeps the stack aligned.
        asm.push(register)
    asm.add(asm.rsi, asm.rsi)
    asm.mov(row, asm.mem(asm.rdi, 0, asm.rsi, 8))
    asm.mov(end, asm.mem(asm.rdi, 8, asm.rsi, 8))
    top = asm.label("top")
    asm.cmp(row, end)
    asm.jge(done)
    asm.mov(asm.rdi, asm.mem(row, 8))
    asm.xor(asm.esi, asm.esi)
    asm.mov(asm.edx, 1)
    asm.call(asm.mem(row))
    asm.add(row, 16)
    asm.jmp(top)
    asm.bind(done)
    for register in (asm.r13, end, row):
        asm.pop(register)
    asm.ret()


def _emit_aarch64(asm: Any) -> None:
    x, sp = asm.x, asm.sp
    row, end, done = x[19], x[20], asm.forward("done")
    asm.stp(x[29], x[30], asm.mem(sp, -32).pre)
    asm.stp(row, end, asm.mem(sp, 16))
    asm.lsl(x[1], x[1], 4)
    asm.add(x[0], x[0], x[1])
    asm.ldp(row, end, asm.mem(x[0]))
    top = asm.label("top")
    asm.cmp(row, end)
    asm.b("hs", done)
    asm.ldp(x[16], x[0], asm.mem(row).post(16))
    asm.mov(x[1], 0)
    asm.mov(x[2], 1)
    asm.blr(x[16])
    asm.b(top)
    asm.bind(done)
    asm.ldp(row, end, asm.mem(sp, 16))
    asm.ldp(x[29], x[30], asm.mem(sp).post(32))
    asm.ret()
