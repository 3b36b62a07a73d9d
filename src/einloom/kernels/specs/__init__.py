"""What a kernel computes: frozen descriptions, complete enough to be the key of a cache. They generate nothing.

Sizes and strides are in elements. A stride is an `int`, known when the code is made, or `None`: then it is an argument
of the generated function. 0 says that an operand does not depend on an axis; negative strides are legal. A matrix
product of column-major matrices with run-time leading dimensions, and the same with everything known:

>>> signature(Brgemm("float32", 64, 48, 64, a=(1, 0, None, 0), b=(0, None, 1, 0), c=(1, None)))
('a', 'b', 'c', 'ld_a', 'ld_b', 'ld_c')
>>> signature(Brgemm("float32", 64, 48, 64, a=(1, 0, 64, 0), b=(0, 64, 1, 0), c=(1, 64), beta=None))
('a', 'b', 'c', 'beta')
"""

from __future__ import annotations

from typing import TypeAlias, cast

from einloom.kernels.specs.copies import Interleave, LeaveBehind, PairCopy, Stream
from einloom.kernels.specs.elementwise import Binary, ElementWise, Reduce, Ternary, Unary
from einloom.kernels.specs.products import Ahead, BatchBy, Brgemm, Leaves, PairProduct
from einloom.kernels.specs.sized import GROUP_BYTES, NamedStride, Stride, Strides

__all__ = [
    "GROUP_BYTES",
    "Ahead",
    "BatchBy",
    "Binary",
    "Brgemm",
    "ElementWise",
    "Interleave",
    "LeaveBehind",
    "Leaves",
    "NamedStride",
    "PairCopy",
    "PairProduct",
    "Reduce",
    "Spec",
    "Stream",
    "Stride",
    "Ternary",
    "Unary",
    "named_strides",
    "run_time_strides",
    "signature",
]

Spec: TypeAlias = Brgemm | PairProduct | PairCopy | ElementWise | Reduce | Stream | Interleave | LeaveBehind


def signature(spec: Spec) -> tuple[str, ...]:
    """Return the names of the arguments of a spec's kernel, in order.

    Pointers come first. Then follow the strides that are `None`, first those of a, b and c inside a matrix, `ld_x`
    where it is an operand's only one, else `x_m`, `x_n`, `x_k`; then those from one matrix of the batch to the next, or
    the arrays of offsets; then `beta`; `ahead`, which points to how far a kernel is that asks for a block; at last
    `leaving`, which points to the lines of an earlier block that have not left yet.
    """
    strides = spec.strides
    pointers = ("a", "b", "c") if isinstance(spec, Brgemm) else tuple(strides)
    inner = tuple(name for operand, values in strides.items() for name, _ in run_time_strides(operand, values))
    batch = tuple(
        f"br_stride_{operand}" for operand, values in strides.items() if len(values) == 4 and values[3] is None
    )
    if isinstance(spec, Brgemm) and spec.batch_by is BatchBy.OFFSETS:
        batch = ("offsets_a", "offsets_b")[: 1 if spec.b is None else 2]
    flag = ("beta",) if isinstance(spec, Brgemm | PairProduct) and spec.beta is None else ()
    ahead = ("ahead",) if isinstance(spec, Brgemm) and spec.ahead else ()
    leaving = ("leaving",) if isinstance(spec, LeaveBehind) or (isinstance(spec, Brgemm) and spec.leaving) else ()
    return pointers + inner + batch + flag + ahead + leaving


def run_time_strides(operand: str, strides: Strides) -> list[tuple[str, int]]:
    """Return (argument's name, axis) of each run-time stride inside a matrix: axes 0 m, 1 n, 2 k."""
    if None not in strides:
        return []
    axes = [axis for axis, stride in enumerate(strides[:3]) if stride is None]
    if len(axes) == 1:
        return [(f"ld_{operand}", axes[0])]
    return [(f"{operand}_{'mnk'[axis]}", axis) for axis in axes]


def named_strides(operand: str, strides: Strides) -> tuple[NamedStride, ...]:
    """Return the strides along (m, n) or (m, n, k, batch), those at run time by the names of their arguments."""
    if None not in strides:
        return cast(tuple[int, ...], strides)
    names = {axis: name for name, axis in run_time_strides(operand, strides)} | {3: f"br_stride_{operand}"}
    return tuple(names[axis] if stride is None else stride for axis, stride in enumerate(strides))
