"""`run_calls`: many calls of generated functions from a table, shared among the threads of a team, in one call.

The functions have the signature of a team's work, `void work(void *block, int64 thread, int64 threads)`; each is called
as the only thread's. A share makes its calls in their order, and none waits for those of another. A table says where
blocks are from the place on where its own is, so that it can be made before anybody knows that place.

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
from einloom.jit.linked import linked_code
from einloom.jit.threads import run_team
from einloom.once import once

if TYPE_CHECKING:
    from einloom.asm import Assembler

__all__ = ["Calls", "Ranges", "calling_code", "calls_address", "ranges_of", "run_calls"]

Calls = np.ndarray[tuple[int, int], np.dtype[np.int64]]
"""Rows of two words: the address of a function, and how far its block lies behind that of the whole."""

Ranges = np.ndarray[tuple[int, int], np.dtype[np.int64]]
"""Rows of two words: where the calls of a share begin, and where they end."""


def run_calls(shares: Sequence[Calls]) -> None:
    """Make the calls of every share, C-contiguous tables, on a team of at most so many threads.

    Their blocks lie where the tables say, from address 0 on.
    """
    ranges = ranges_of(shares)
    block = np.array([array_address(ranges)], np.int64)
    place = array_address(block)
    for table in shares:
        table[:, 1] -= place
    run_team(calls_address(), place, len(shares))


def ranges_of(shares: Sequence[Calls]) -> Ranges:
    """Return where the calls of the shares, C-contiguous tables, begin and end."""
    places = [array_address(table) for table in shares]
    return np.array([(place, place + table.nbytes) for place, table in zip(places, shares)], np.int64)


def calls_address() -> int:
    """Return the address of `void work(block, int64 thread, int64 threads)`, which makes the calls of one share.

    The first word of the block is the address of the shares' ranges.
    """
    return _kernel().address


@once
def _kernel() -> Kernel:
    isa = host().isa
    code = linked_code(f"calls {isa}", (), lambda _: calling_code(isa).bytes())
    return Kernel(code, isa, name="calls from a table")


def calling_code(isa: str) -> Assembler:
    """Return the code of `calls_address`."""
    from einloom.asm import Assembler  # Late: most expressions are not cut.

    emitters: dict[str, Any] = {"x86_64": _emit_x86, "aarch64": _emit_aarch64}
    if isa not in emitters:
        raise UnsupportedTarget(f"there are thread teams for {', '.join(emitters)}, not for {isa}")
    asm = Assembler(isa)
    emitters[isa](asm)
    return asm


def _emit_x86(asm: Any) -> None:
    row, end, block, done = asm.rbx, asm.r12, asm.r13, asm.forward("done")
    for register in (row, end, block):
        asm.push(register)
    asm.mov(block, asm.rdi)
    asm.mov(asm.rax, asm.mem(block))
    asm.add(asm.rsi, asm.rsi)
    asm.mov(row, asm.mem(asm.rax, 0, asm.rsi, 8))
    asm.mov(end, asm.mem(asm.rax, 8, asm.rsi, 8))
    top = asm.label("top")
    asm.cmp(row, end)
    asm.jge(done)
    asm.mov(asm.rdi, asm.mem(row, 8))
    asm.add(asm.rdi, block)
    asm.xor(asm.esi, asm.esi)
    asm.mov(asm.edx, 1)
    asm.call(asm.mem(row))
    asm.add(row, 16)
    asm.jmp(top)
    asm.bind(done)
    for register in (block, end, row):
        asm.pop(register)
    asm.ret()


def _emit_aarch64(asm: Any) -> None:
    x, sp = asm.x, asm.sp
    row, end, block, done = x[19], x[20], x[21], asm.forward("done")
    asm.stp(x[29], x[30], asm.mem(sp, -48).pre)
    asm.stp(row, end, asm.mem(sp, 16))
    asm.str(block, asm.mem(sp, 32))
    asm.mov(block, x[0])
    asm.ldr(x[0], asm.mem(block))
    asm.lsl(x[1], x[1], 4)
    asm.add(x[0], x[0], x[1])
    asm.ldp(row, end, asm.mem(x[0]))
    top = asm.label("top")
    asm.cmp(row, end)
    asm.b("hs", done)
    asm.ldp(x[16], x[0], asm.mem(row).post(16))
    asm.add(x[0], x[0], block)
    asm.mov(x[1], 0)
    asm.mov(x[2], 1)
    asm.blr(x[16])
    asm.b(top)
    asm.bind(done)
    asm.ldp(row, end, asm.mem(sp, 16))
    asm.ldr(block, asm.mem(sp, 32))
    asm.ldp(x[29], x[30], asm.mem(sp).post(48))
    asm.ret()
