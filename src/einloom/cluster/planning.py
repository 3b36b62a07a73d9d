"""`plan`: how long a contraction would take on so many workers, before there are any.

Computing is predicted by the cost model that schedules are chosen by, sending by bandwidth and latency. Workers get
operands along a tree, compute units, and send sums along the tree of sums.

>>> print(plan("ab,bc,cd->ad", [(2048, 2048)] * 3, workers=(1, 64), memory=2**30).table())    # doctest: +SKIP
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from numbers import Real
from operator import index
from typing import Any

from einloom.api import compile as compile_here
from einloom.cluster.chunk_planning import chunk_plan
from einloom.cluster.distribution import Distribution
from einloom.cluster.grid_planning import grid_plan
from einloom.cluster.predicted import Network, Plan, PlanRow
from einloom.errors import ArgumentError, ShapeError
from einloom.expression.expression import Expression
from einloom.expression.predicted import predicted_seconds
from einloom.expression.units import UnitProgram, unit_program
from einloom.plan.chunks import Chunks
from einloom.plan.slices import Slicing

__all__ = ["plan"]

WORKERS = tuple(2**i for i in range(13))
BANDWIDTH = 1.25e9
LATENCY = 5e-5
TASK = 2e-3
"""Seconds of the scheduler for one task: Dask's; ranks of MPI hand out nothing."""


def plan(
    equation: str,
    shapes: Sequence[Sequence[int]],
    *,
    workers: int | Sequence[int] = WORKERS,
    memory: int | None = None,
    bandwidth: float = BANDWIDTH,
    latency: float = LATENCY,
    memory_limit: float | str | None = None,
    optimize: Any = "auto",
    dtype: object = "float64",
    distribution: Distribution | None = None,
    chunks: Sequence[Sequence[Chunks] | None] | None = None,
) -> Plan:
    """Predict time, memory, traffic and efficiency of a contraction on workers like this processor's cores.

    Args:
        equation: as for `einloom.einsum`.
        shapes: of the operands.
        workers: how many, of one core each; or several numbers of them.
        memory: bytes that a worker has: the contraction is cut until it fits.
        bandwidth: of a worker's network, in bytes a second.
        latency: of a message, in seconds.
        memory_limit: most elements of an intermediate tensor, instead of `memory`.
        optimize: what `opt_einsum` takes.
        dtype: type to compute in.
        distribution: of a product over a grid of ranks: the plan is for its number of ranks.
        chunks: of operands that are arrays of Dask, their `chunks`; None for one that is not in chunks.

    Raises:
        ArgumentError: operands and result alone exceed the memory, or a number makes no sense.
        EquationError, ShapeError: the equation or chunks do not fit the shapes.
    """
    if not (_is_number(bandwidth) and bandwidth > 0 and _is_number(latency) and 0 <= latency < math.inf):
        raise ArgumentError(f"{bandwidth=!r:.80}, {latency=!r:.80}\n  Give bytes a second above 0, and seconds from 0.")
    if memory is not None and not (_is_number(memory) and 0 < memory < math.inf):
        raise ArgumentError(f"{memory=!r:.80}\n  Give the bytes that a worker has, 4 * 2**30 say.")
    network, counts, given = Network(float(bandwidth), float(latency)), _counts(workers), _shapes(shapes)
    if distribution is not None:
        if not isinstance(distribution, Distribution):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(f"distribution={distribution!r:.80}\n  Make one, el.cluster.Distribution(…).")
        whole = distribution.equation, tuple(distribution.first), tuple(distribution.second)
        if (equation, *given) != whole:
            raise ArgumentError(f"distribution= is of {whole}, not of {equation} {given}\n  Pass the same ones.")
        return grid_plan(distribution, dtype, network)
    if chunks is not None:
        return chunk_plan(equation, given, chunks, counts, optimize, dtype, network, TASK)
    options: dict[str, Any] = {"optimize": optimize, "dtype": dtype}
    expression, program = _fitting(equation, given, memory, memory_limit, options)
    if program is None:
        seconds = predicted_seconds(expression.recipe)
        rows = tuple(PlanRow(n, seconds, seconds, expression.bytes, 0, 1 / n) for n in counts)
        return Plan(expression.equation, expression.flops, "too small to be cut", 1, rows)
    one = _row(program, 1, 1.0, network).seconds
    rows = tuple(_row(program, count, one, network) for count in counts)
    slicing = program.work.slicing
    return Plan(expression.equation, _flops(program), _cuts(slicing), len(slicing), rows)


def _is_number(value: object) -> bool:
    return isinstance(value, Real)


def _counts(workers: int | Sequence[int]) -> tuple[int, ...]:
    try:
        counts = tuple(map(index, workers)) if isinstance(workers, Iterable) else (index(workers),)
    except TypeError:
        counts = ()
    if not counts or min(counts) < 1:
        raise ArgumentError(f"{workers=!r:.80}\n  Give a number of workers from 1 on, or several of them.")
    return counts


def _shapes(shapes: Any) -> list[tuple[int, ...]]:
    try:
        return [tuple(shape) for shape in shapes]
    except TypeError:
        raise ShapeError(f"{shapes=!r:.80}\n  Give the shape of every operand, a tuple of integers.") from None


def _fitting(
    equation: str, shapes: Sequence[tuple[int, ...]], memory: int | None, limit: Any, options: dict[str, Any]
) -> tuple[Expression, UnitProgram | None]:
    """Return the contraction, cut until a worker's memory holds it."""
    while True:
        expression: Expression = compile_here(equation, *shapes, memory_limit=limit, **options)
        program = unit_program(expression)
        need = expression.bytes if program is None else program.bytes
        if memory is None or need <= memory:
            return expression, program
        if limit == 1 or isinstance(limit, str):
            raise ArgumentError(
                f"{equation} needs {need:,} bytes a worker, however it is cut: operands, and parts of the result\n"
                "  Give workers more memory, or distribute it over a grid: el.cluster.Distribution."
            )
        start = max(int(memory) // expression.dtype.itemsize, 1)
        limit = start if limit is None else max(int(limit) // 2, 1)


def _row(program: UnitProgram, workers: int, one: float, network: Network) -> PlanRow:
    work = program.work
    tasks = work.tasks.total()
    busy = min(workers, tasks)
    computing = program.seconds * _slices_of_largest(work.tasks, -(-tasks // busy))
    operands, part = program.operand_bytes, program.part_bytes
    scattered = math.ceil(math.log2(busy)) * network.seconds(operands) if busy > 1 else 0.0
    apart = min(-(-work.slicing.leaves // work.grain), busy)
    summed = math.ceil(math.log2(apart)) * network.seconds(part) if apart > 1 else 0.0
    gathered = work.slicing.places * network.seconds(part) if busy > 1 else 0.0
    seconds = scattered + max(computing, TASK * tasks if busy > 1 else 0.0) + summed + gathered
    traffic = 0 if busy == 1 else busy * operands + apart * work.slicing.places * part
    return PlanRow(workers, seconds, computing, program.bytes, traffic, one / (seconds * workers))


def _slices_of_largest(tasks: Counter[int], most: int) -> int:
    """Return how many slices so many tasks have together: the largest ones."""
    slices = 0
    for size in sorted(tasks, reverse=True):
        taken = min(tasks[size], most)
        slices, most = slices + size * taken, most - taken
    return slices


def _flops(program: UnitProgram) -> int:
    return sum(count * made.flops for made, count in program.recipe.plans())


def _cuts(slicing: Slicing) -> str:
    return ", ".join(f"{cut.label} into {cut.count:,}" for cut in slicing.cuts)
