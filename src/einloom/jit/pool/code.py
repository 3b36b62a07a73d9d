"""`pool_of`: the code of the pool.

>>> asm = pool_of("x86_64", Addresses(memory=4096, syscall=16, create=24, mask=32, core=40))
>>> "worker:" in asm.listing()
True
"""

from __future__ import annotations

from einloom.asm import Assembler
from einloom.jit.pool.caller import Caller
from einloom.jit.pool.layout import DOOR, Addresses
from einloom.jit.pool.worker import Worker
from einloom.jit.poolcode import pool_code

__all__ = ["pool_of"]


def pool_of(isa: str, addresses: Addresses) -> Assembler:
    """Return the code of a pool.

    Raises:
        UnsupportedTarget: there is none for this ISA.
    """
    code = pool_code(isa)
    worker = Worker(isa, code, addresses)
    caller = Caller(isa, code, addresses, worker.grow)
    doors = [code.asm.forward(name) for name in ("launch", "launch_together")]
    for door in doors:
        code.asm.align(DOOR)
        code.jump(door)
    for door, together in zip(doors, (False, True)):
        code.asm.bind(door)
        caller.launch(together)
    worker.work_for_ever()
    worker.make_workers()
    return code.asm
