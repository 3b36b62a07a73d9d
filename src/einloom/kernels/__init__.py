"""Primitives as machine code: one generator a family, written once over an abstract machine. Runs nothing.

`emit_kernel(machine_for(asm, machine), spec)` emits the function that a spec describes. From the ground up: `verbs`
(what an ISA can do), `formula` (element-wise functions over verbs), `specs` (what kernels compute), `elementwise`,
`contraction`, and on top `select` and `emit`.
"""

from __future__ import annotations

from einloom.kernels.select import AnyMachine, machine_for
from einloom.kernels.specs import Binary, Brgemm, Interleave, Reduce, Spec, Stream, Ternary, Unary, signature

__all__ = [
    "AnyMachine",
    "Binary",
    "Brgemm",
    "Interleave",
    "Reduce",
    "Spec",
    "Stream",
    "Ternary",
    "Unary",
    "machine_for",
    "signature",
]
