"""`plan`: how long a contraction would take on so many workers, before there are any.

Computing is predicted by the cost model that schedules are chosen by, sending by bandwidth and latency. Workers get
operands along a tree, compute units, and send sums along the tree of sums.

>>> print(plan("ab,bc,cd->ad", [(2048, 2048)] * 3, workers=(1, 64), memory=2**30).table())    # doctest: +SKIP
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from einloom.api import compile as compile_here
from einloom.cluster.distribution import Distribution
from einloom.errors import ArgumentError
from einloom.expression.expression import Expression
from einloom.expression.predicted import predicted_seconds
from einloom.expression.units import UnitProgram, unit_program
from einloom.plan.slices import Slicing

__all__ = ["Plan", "PlanRow", "plan"]

WORKERS = tuple(2**i for i in range(13))
BANDWIDTH = 1.25e9
LATENCY = 5e-5
TASK = 1e-3
"""Seconds of the scheduler for one unit: Dask's; ranks of MPI hand out nothing."""


@dataclass(frozen=True, slots=True)
class PlanRow:
    """What is predicted for a number of workers.

    Attributes:
        workers: how many, each with one core.
        seconds: that the contraction takes.
        computing: seconds of these in which the one with most to do computes.
        memory: bytes a worker.
        traffic: bytes over the network, all workers together.
        efficiency: the time of one worker against that of all together.
    """

    workers: int
    seconds: float
    computing: float
    memory: int
    traffic: int
    efficiency: float


@dataclass(frozen=True)
class Plan:
    """Predictions for several numbers of workers.

    Attributes:
        equation: what is computed.
        flops: its arithmetic.
        cuts: where it is cut, in words.
        slices: how many there are.
        rows: one for each number of workers.
    """

    equation: str
    flops: int
    cuts: str
    slices: int
    rows: tuple[PlanRow, ...]

    def table(self) -> str:
        """Return a line for every number of workers."""
        lines = [
            f"{self.equation}: {self.flops:,} flop, {self.slices:,} slices, {self.cuts}",
            f"{'workers':>8} {'seconds':>12} {'computing':>12} {'memory':>16} {'traffic':>18} {'efficiency':>11}",
        ]
        for row in self.rows:
            lines.append(
                f"{row.workers:>8,} {row.seconds:>12.4g} {row.computing:>12.4g} {row.memory:>16,} {row.traffic:>18,}"
                f" {row.efficiency:>11.1%}"
            )
        return "\n".join(lines)

    def plot(self, path: str | None = None) -> Any:
        """Return a figure of time and efficiency over the number of workers.

        Args:
            path: a file to write the figure to.

        Raises:
            UnsupportedTarget: matplotlib is not installed; `pip install 'einloom[plot]'`.
        """
        from einloom.cluster.drawing import draw_plan  # Late: with matplotlib.

        figure = draw_plan(self)
        if path is not None:
            figure.savefig(path)
        return figure

    def __repr__(self) -> str:
        return self.table()


def plan(
    equation: str,
    shapes: Sequence[Sequence[int]],
    *,
    workers: int | Sequence[int] = WORKERS,
    memory: int | None = None,
    bandwidth: float = BANDWIDTH,
    latency: float = LATENCY,
    memory_limit: int | str | None = None,
    optimize: Any = "auto",
    dtype: object = "float64",
    distribution: Distribution | None = None,
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

    Raises:
        ArgumentError: operands and result alone exceed the memory.
        EquationError, ShapeError: the equation does not fit the shapes.
    """
    network = _Network(float(bandwidth), float(latency))
    if distribution is not None:
        return _grid_plan(distribution, dtype, network)
    counts = (workers,) if isinstance(workers, int) else tuple(workers)
    given = [tuple(shape) for shape in shapes]
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


@dataclass(frozen=True, slots=True)
class _Network:
    bandwidth: float
    latency: float

    def seconds(self, size: float) -> float:
        """Return how long one message takes."""
        return self.latency + size / self.bandwidth


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
        start = max(memory // expression.dtype.itemsize, 1)
        limit = start if limit is None else max(int(limit) // 2, 1)


def _row(program: UnitProgram, workers: int, one: float, network: _Network) -> PlanRow:
    work = program.work
    busy = min(workers, len(work.units))
    most = -(-len(work.units) // busy)
    computing = sum(sorted((unit.count * program.seconds for unit in work.units), reverse=True)[:most])
    operands, part = program.operand_bytes, program.part_bytes
    scattered = math.ceil(math.log2(busy)) * network.seconds(operands) if busy > 1 else 0.0
    apart = min(len(work.units) // work.slicing.places, busy)
    summed = math.ceil(math.log2(apart)) * network.seconds(part) if apart > 1 else 0.0
    gathered = work.slicing.places * network.seconds(part) if busy > 1 else 0.0
    seconds = scattered + max(computing, TASK * len(work.units) if busy > 1 else 0.0) + summed + gathered
    traffic = 0 if busy == 1 else busy * operands + apart * work.slicing.places * part
    return PlanRow(workers, seconds, computing, program.bytes, traffic, one / (seconds * workers))


def _grid_plan(distribution: Distribution, dtype: object, network: _Network) -> Plan:
    """Return the plan of a product over a grid of ranks: panels are multiplied while the next ones are on their way."""
    rows, columns = distribution.grid
    blocks = [tuple(part.stop - part.start for part in distribution.block(i, 0)) for i in range(2)]
    terms = distribution.equation.partition("->")[0].split(",")
    panels, (_, _, k) = distribution.panels(0), distribution.labels
    computing = sending = memory = traffic = 0
    for panel in panels:
        shapes = [
            tuple(panel.stop - panel.start if x == k else n for x, n in zip(term, block))
            for term, block in zip(terms, blocks)
        ]
        f: Expression = compile_here(distribution.equation, *shapes, dtype=dtype, beta=1)
        sizes = [math.prod(shape) * f.dtype.itemsize for shape in shapes]
        moved = sizes[0] * (columns > 1) + sizes[1] * (rows > 1)
        one, sent = predicted_seconds(f.recipe), network.seconds(moved) if moved else 0.0
        computing += one
        sending = max(sending, sent)
        traffic += sizes[0] * (columns - 1) * rows + sizes[1] * (rows - 1) * columns
        result = math.prod(f.output_shape) * f.dtype.itemsize
        memory = max(memory, sum(math.prod(block) for block in blocks) * f.dtype.itemsize + result + 2 * sum(sizes))
    whole: Expression = compile_here(distribution.equation, distribution.first, distribution.second, dtype=dtype)
    alone, ranks = predicted_seconds(whole.recipe), distribution.ranks
    seconds = computing + sending
    row = PlanRow(ranks, seconds, computing, int(memory), int(traffic) * distribution.copies, alone / (seconds * ranks))
    return Plan(
        distribution.equation, whole.flops, f"{rows} x {columns} x {distribution.copies} ranks", len(panels), (row,)
    )


def _flops(program: UnitProgram) -> int:
    return sum(count * made.flops for made, count in program.recipe.plans())


def _cuts(slicing: Slicing) -> str:
    return ", ".join(f"{cut.label} into {cut.count:,}" for cut in slicing.cuts)
