"""A kernel repeated inside one call: what benchmarks of kernels measure, free of the cost of calls from Python.

The function takes (address of a block of 64-bit arguments, number of repetitions) and calls the kernel with the same
arguments each time, as a loop nest would.
"""

from __future__ import annotations

from einloom.asm import Label
from einloom.kernels.emit import emit_kernel
from einloom.kernels.specs import Spec, signature
from einloom.kernels.verbs.scalar import A, R
from einloom.kernels.verbs.vector import KernelMachine, V

__all__ = ["emit_repeated"]


def emit_repeated(km: KernelMachine[R, V, A], spec: Spec) -> Label:
    """Emit a spec's kernel and the loop around it; return the loop's entry, a C function (block, repetitions)."""
    kernel = km.asm.label("kernel")
    emit_kernel(km, spec)
    km.asm.align(64)
    entry = km.asm.label("repeat")
    count = len(signature(spec))
    registers = km.arguments[:count]
    block, counter = km.saved[:2]
    km.prologue((block, counter), 8 * (count - len(registers)))
    km.move(block, km.arguments[0])
    km.move(counter, km.arguments[1])
    with km.loop(counter, counter):
        for index in range(len(registers), count):
            km.load(km.scratch[0], block, 8 * index)
            km.store_slot(8 * (index - len(registers)), km.scratch[0])
        for index, register in enumerate(registers):
            km.load(register, block, 8 * index)
        km.call(kernel)
    km.epilogue()
    return entry
