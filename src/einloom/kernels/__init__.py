"""Primitives as machine code: one generator a family, written once over an abstract machine. Runs nothing.

`emit_kernel(machine_for(asm, machine), spec)` emits the function that a spec describes.
"""

from __future__ import annotations

from einloom.kernels.specs import Binary, Brgemm, Reduce, Spec, Stream, Ternary, Unary, signature
from einloom.kernels.verbs.machine import KernelMachine, machine_for

__all__ = [
    "Binary",
    "Brgemm",
    "KernelMachine",
    "Reduce",
    "Spec",
    "Stream",
    "Ternary",
    "Unary",
    "machine_for",
    "signature",
]
