"""Cases of BRGEMM kernels and the check of one: exact arithmetic on small integers, so that equality is equality."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any

import numpy as np

from einloom.asm import Assembler
from einloom.jit import Kernel, host
from einloom.kernels import Brgemm, machine_for, signature
from einloom.kernels.emit import emit_kernel
from einloom.kernels.specs import BatchBy, Spec
from einloom.machine import Machine
from tests.kernels.guarded import GuardedArray

LARGEST = 3
"""Elements are whole numbers up to this: all sums of the cases are exact in float32."""


SPARSE = 1 << 22
"""Operands that reach further are left to the kernel as they are mapped: most of their pages never exist."""


@dataclass(frozen=True)
class ProductCase:
    """A kernel and a call of it.

    Attributes:
        spec: with every stride known.
        open: names of the strides (`"a2"` is A's along k) that the kernel takes as arguments.
        flag: beta at the call, where the kernel takes it as an argument; else None.
        vector: the vector ISA.
        at_end: whether operands end or begin at an unmapped page.
    """

    spec: Brgemm
    open: frozenset[str]
    flag: int | None
    vector: str
    at_end: bool

    @property
    def kernel_spec(self) -> Brgemm:
        """The spec that is compiled."""
        opened = {
            field.name: tuple(None if f"{field.name}{i}" in self.open else stride for i, stride in enumerate(strides))
            for field in fields(self.spec)
            if field.name in ("a", "b", "c") and (strides := getattr(self.spec, field.name)) is not None
        }
        return replace(self.spec, **opened, beta=None if self.flag is not None else self.spec.beta)


@cache
def machine(vector: str) -> Machine:
    """Return this host restricted to a vector ISA."""
    return host().with_vector(vector)


def compile_kernel(spec: Spec, vector: str) -> Kernel:
    """Return the kernel of a spec."""
    asm = Assembler(machine(vector).isa)
    emit_kernel(machine_for(asm, machine(vector)), spec)
    return Kernel(asm)


def place_integers(view: Any, generator: np.random.Generator) -> None:
    """Fill with small whole numbers."""
    view[...] = generator.integers(-LARGEST, LARGEST + 1, view.shape)


class Matrix:
    """An operand in guarded memory: `view` has its shape and strides; everything between its elements is poison."""

    def __init__(
        self,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        dtype: str,
        at_end: bool,
        seed: int,
        fill: Callable[[Any, np.random.Generator], None] = place_integers,
    ) -> None:
        ends = [(extent - 1) * stride for extent, stride in zip(shape, strides)]
        low, high = (sum(min(e, 0) for e in ends), sum(max(e, 0) for e in ends)) if 0 not in shape else (0, -1)
        self.memory = GuardedArray(high - low + 1, dtype, at_end)
        self.is_sparse = high - low > SPARSE
        if not self.is_sparse:
            self.memory.poison()
        item = np.dtype(dtype).itemsize
        self.address = self.memory.values.ctypes.data - low * item
        byte_strides = tuple(stride * item for stride in strides)
        self.first = -low
        self.view: Any = np.lib.stride_tricks.as_strided(self.memory.values[-low:], shape, byte_strides)
        if self.view.size:
            fill(self.view, np.random.default_rng(seed))

    def close(self) -> None:
        """Unmap its memory."""
        del self.view
        self.memory.close()


def check_product(case: ProductCase) -> str | None:
    """Run a case; return what is wrong with the result, or None."""
    spec = case.spec
    sizes, dtype = (spec.m, spec.n, spec.k, spec.batch), spec.dtype.name
    a = Matrix(sizes, _known(spec.a), dtype, case.at_end, 1)
    b = Matrix(sizes, _known(spec.b), dtype, case.at_end, 2) if spec.b is not None else None
    c = Matrix(sizes[:2], _known(spec.c), dtype, case.at_end, 3)
    beta = case.flag if case.flag is not None else spec.beta
    if 0 in sizes:  # NumPy's own einsum reads an element of arrays that have none.
        total = np.zeros(sizes[:2])
    else:
        total = a.view.sum((2, 3)) if b is None else np.einsum("mnkb,mnkb->mn", a.view, b.view)
    expected = None if c.is_sparse else c.memory.values.copy()
    before = c.view.copy()
    if beta == 0 and c.view.size:
        c.view[...] = np.nan  # Must not be read.
    values: dict[str, Any] = {"a": a.address, "b": b.address if b else 0, "c": c.address, "beta": case.flag}
    values |= _open_strides(case) | _lists(case, values)
    compile_kernel(case.kernel_spec, case.vector).call(*(values[name] for name in signature(case.kernel_spec)))
    wanted = spec.alpha * total + (before if beta else 0)
    complaint = None
    if not np.array_equal(c.view, wanted.astype(dtype)):
        complaint = f"wrong result: {np.argwhere(c.view != wanted)[:5].tolist()}\n{c.view}\n{wanted}"
    c.view[...] = before
    if not complaint and expected is not None:
        same = np.array_equal(c.memory.values.view(np.uint32), expected.view(np.uint32))
        complaint = None if same else "wrote between the elements of C"
    for matrix in filter(None, (a, b, c)):
        matrix.close()
    return complaint


def _lists(case: ProductCase, values: dict[str, Any]) -> dict[str, Any]:
    """Return the arrays of offsets or addresses of the batch's matrices, which lie as the strides say."""
    spec, size = case.spec, case.spec.dtype.size
    if spec.batch_by is BatchBy.STRIDE:
        return {}
    lists: dict[str, Any] = {}
    for name in "ab" if spec.b is not None else "a":
        offsets = np.arange(spec.batch, dtype=np.int64) * getattr(spec, name)[3]
        if spec.batch_by is BatchBy.OFFSETS:
            lists[f"offsets_{name}"] = offsets
        else:
            lists[name] = values[name] + offsets * size
    return lists


def _known(strides: tuple[int | None, ...] | None) -> tuple[int, ...]:
    assert strides is not None
    return tuple(stride for stride in strides if stride is not None)


def _open_strides(case: ProductCase) -> dict[str, Any]:
    """Return the strides that are arguments under their names in the signature."""
    values: dict[str, Any] = {}
    for operand in "abc":
        strides = getattr(case.spec, operand)
        if strides is None:
            continue
        axes = [axis for axis in range(min(len(strides), 3)) if f"{operand}{axis}" in case.open]
        for axis in axes:
            values[f"ld_{operand}" if len(axes) == 1 else f"{operand}_{'mnk'[axis]}"] = strides[axis]
        if f"{operand}3" in case.open:
            values[f"br_stride_{operand}"] = strides[3]
    return values
