"""`el.space`: the spaces of implementations of a kernel on a GPU or of a tensor operation on a CPU, and candidates.

>>> import einloom.space as space
>>> candidate = space.gpu("axpy", n=64).root.restrict("dim_kind(n.1)", "THREAD")
>>> candidate.domain("thread_level(load_x.n.1, n.1)")
('MAPPED', 'INNER', 'OUTER', 'NOT_THREADS')
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from einloom.errors import ScheduleError
from einloom.ir.configuration import TensorOperationConfig
from einloom.ir.operation import Operation
from einloom.ir.schedule import Schedule
from einloom.machine import Machine
from einloom.space.builder import Builder
from einloom.space.candidate import Candidate, Space
from einloom.space.device import DEVICES, H100, H200, K4000, GpuDevice
from einloom.space.kernels import KERNELS, Kernel, kernel
from einloom.space.model import Bound, Figure, GpuModel
from einloom.space.on_cpu.given import space_of
from einloom.space.on_cpu.space import CpuCandidate, CpuSpace
from einloom.space.on_gpu.fragments import fitted
from einloom.space.rates import H100_RATES, H200_RATES, K4000_RATES, GpuRates
from einloom.space.sampling import Estimate, dead_end_ratio, estimate, nodes_at_depth

__all__ = [
    "DEVICES",
    "H100",
    "H100_RATES",
    "H200",
    "H200_RATES",
    "K4000",
    "K4000_RATES",
    "KERNELS",
    "Bound",
    "Builder",
    "Candidate",
    "CpuCandidate",
    "CpuSpace",
    "Estimate",
    "Figure",
    "GpuDevice",
    "GpuModel",
    "GpuRates",
    "Kernel",
    "Space",
    "cpu",
    "dead_end_ratio",
    "estimate",
    "gpu",
    "nodes_at_depth",
]


def gpu(name: str, /, *, device: GpuDevice | str = K4000, **options: Any) -> Space:
    """Return the space of GPU implementations of a kernel.

    Args:
        name: `axpy` (n), `mv` (m, n), `gesummv` (m, n), `matmul` (m, n, k), `batch_matmul` (b, m, n, k),
            `doitgen` (r, q, p, s) or `chain` (m, n, k, l: two products, the first one in tiles alone).
        device: the limits of the GPU, or a name of `DEVICES`; the paper's by default.
        options: the kernel's sizes, and for instance `tiles={"m": (32, 4)}` (largest tile sizes, outermost first),
            `tails=True` (tiles that do not divide); `transpose_a`, `transpose_b`, `stride_a`, `epilogue="relu"` of
            matmul; `shared_b` of batch_matmul; `mma="m16n8k16"` of both, for tensor cores; `dtype`, float32 if left
            out.

    Raises:
        ScheduleError: there is no such kernel, option or device.
        ShapeError: a size is no positive number.
        DeadEnd: no implementation fits the device.
    """
    found: Any = DEVICES.get(device) if isinstance(device, str) else device
    if not isinstance(found, GpuDevice):
        raise ScheduleError(
            f"there is no GPU called {device!r}\n  known: {', '.join(DEVICES)}, or a GpuDevice of yours"
        )
    made = kernel(name, **options)
    return Space(made, fitted(found, made))


def cpu(
    what: TensorOperationConfig | Operation | str,
    /,
    *shapes_or_arrays: Any,
    dtype: object = None,
    machine: Machine | None = None,
    threads: int = 1,
    known: Sequence[Schedule | str] = (),
    curves: bool = False,
    teams: bool = False,
) -> CpuSpace:
    """Return the space of all schedules of a tensor operation on a CPU; a leaf's `schedule` is one of them.

    >>> space = cpu("mk,kn->mn", (96, 80), (80, 112), dtype="float32")
    >>> candidate = space.root.apply({"role(n)": "M", "role(k)": "K", "pack(in1)": "PACKED"})
    >>> candidate.domain("kind(m.0)"), candidate.complete(seed=1).schedule.prims
    (('ABSENT', 'SEQ'), Prims(m='n', n='m', k='k', batch=None))

    Args:
        what: a configuration (its schedule is a leaf), an operation, or an equation.
        shapes_or_arrays: of an equation: one an operand; shapes are C-contiguous.
        dtype: of an equation; float64 for shapes, the arrays' common type, if None.
        machine: whose vectors and caches suggest the steps of loops, and whose rates bound times; the typical machine
            of this kind of processor if None.
        threads: how many may share loops.
        known: schedules, or their texts, that have to be leaves: the steps that they name join the space's.
        curves: whether blocks may follow a space-filling curve.
        teams: whether schedules may be for a fixed number of threads, as loop strings may be: shared loops anywhere,
            handed out in pieces or by a grid, and barriers.

    Raises:
        ScheduleError: the equation takes several operations, or there is nothing to compute.
        EquationError, ShapeError, DTypeError, ArgumentError: an argument is none.
    """
    return space_of(what, shapes_or_arrays, dtype, machine, threads, known, curves, teams)
