"""The generator of copies of complex numbers: both parts as they are, or changed in place and sign (`PairCopy`)."""

from __future__ import annotations

from einloom.kernels.parts import parts
from einloom.kernels.specs import PairCopy, signature
from einloom.kernels.verbs.frame import leaf_frame
from einloom.kernels.verbs.scalar import A, R
from einloom.kernels.verbs.vector import KernelMachine, V

__all__ = ["emit_pair_copy"]

TOGETHER = 4
"""Registers that are copied by straight code."""


def emit_pair_copy(km: KernelMachine[R, V, A], spec: PairCopy) -> None:
    """Emit the function of a spec at the current position; its arguments are `signature(spec)`."""
    if spec.m == 0 or spec.n == 0:
        km.return_()
        return
    spec = spec if spec.a[0] == spec.b[0] == 1 or spec.a[1] != 1 or spec.b[1] != 1 else spec.exchanged
    vec, size = km.vectors(spec.dtype), 2 * spec.dtype.size
    each = vec.lanes // 2 if spec.a[0] == spec.b[0] == 1 else 1
    frame = leaf_frame(km, signature(spec), ["a", "b", "m"], ["n"])
    frame.enter()
    whole, tail = divmod(spec.m, each)
    runs = [(count, times, vec.mask(2 * each)) for count, times in parts(whole, TOGETHER)]
    runs += [(1, 1, vec.mask(2 * tail))] if tail else []
    *registers, signs, temporary = vec.working[: TOGETHER + 2]
    if spec.changes_signs:
        vec.load_signs(signs, *spec.negative)
    with frame.loop(spec.n, "n"):
        for count, times, mask in runs:
            with frame.loop(times, "m"):
                for register, (base, offset) in zip(
                    registers, frame.walk("a", size * each * spec.a[0], count, km.reach)
                ):
                    vec.load(register, km.place(base, offset), mask)
                    if spec.swapped:
                        vec.swap_neighbours(register, register)
                    if spec.changes_signs:
                        vec.bit_xor(register, register, signs)
                for register, (base, offset) in zip(
                    registers, frame.walk("b", size * each * spec.b[0], count, km.reach)
                ):
                    vec.store(km.place(base, offset), register, mask, temporary=temporary)
                frame.advance("a", size * each * spec.a[0], count)
                frame.advance("b", size * each * spec.b[0], count)
        frame.advance("a", size * (spec.a[1] - whole * each * spec.a[0] - (each * spec.a[0] if tail else 0)), 1)
        frame.advance("b", size * (spec.b[1] - whole * each * spec.b[0] - (each * spec.b[0] if tail else 0)), 1)
    vec.finish()
    frame.leave()
