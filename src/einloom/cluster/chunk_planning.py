"""Plan of a contraction of chunked arrays: which bytes are rechunked, what tasks read, how long they compute."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import product
from operator import index
from typing import Any

from einloom.api import compile as compile_here
from einloom.cluster.predicted import Network, Plan, PlanRow
from einloom.errors import ShapeError
from einloom.expression.expression import Expression
from einloom.expression.predicted import predicted_seconds
from einloom.expression.types import numpy_type
from einloom.frozen import frozen
from einloom.plan.chunks import Aligned, Chunks, ChunkStep, aligned, chunk_steps, products_of_task
from einloom.plan.paths import contraction_path
from einloom.plan.problem import make_problem

__all__ = ["chunk_plan"]


@frozen
class _Step:
    """What one step of the path takes.

    Attributes:
        seconds: of computing, all tasks together.
        tasks: how many there are.
        flops: of all tasks.
        rechunked: bytes that come into another chunk than before.
        read: bytes that tasks read.
        operands: bytes of the operands, each counted once.
        memory: bytes of the largest task.
        result: bytes of the result.
    """

    seconds: float
    tasks: int
    flops: int
    rechunked: int
    read: int
    operands: int
    memory: int
    result: int


def chunk_plan(
    equation: str,
    shapes: Sequence[tuple[int, ...]],
    chunks: Sequence[Sequence[Chunks] | None],
    counts: Sequence[int],
    optimize: Any,
    dtype: object,
    network: Network,
    task: float,
) -> Plan:
    """Return the plan of a contraction of arrays in these chunks; None: an array is one chunk.

    Raises:
        ShapeError: chunks do not add up to a shape.
    """
    name, stands_for = numpy_type(dtype)
    problem, itemsize = make_problem(equation, shapes, [None] * len(shapes), name), stands_for.itemsize
    if len(chunks) != len(shapes):
        raise ShapeError(f"chunks of {len(chunks)} operands, and there are {len(shapes)}\n  Give None for one without.")
    waiting = [_checked(number, *each) for number, each in enumerate(zip(shapes, chunks, strict=True))]
    stored = itemsize * sum(map(math.prod, shapes))
    steps = list[_Step]()
    for each in chunk_steps(problem, contraction_path(problem, optimize)):
        chosen = [waiting[position] for position in each.entry]
        waiting = [own for position, own in enumerate(waiting) if position not in each.entry]
        shared = aligned(each.terms, chosen, [itemsize] * len(chosen))
        steps.append(_step(each, shared, chosen, dtype, itemsize))
        waiting.append(tuple(shared.of_label[x] for x in each.result))
    one = _row(steps, stored, 1, network, task, 1.0).seconds
    rows = tuple(_row(steps, stored, count, network, task, one) for count in counts)
    tasks, rechunked = sum(step.tasks for step in steps), sum(step.rechunked for step in steps)
    return Plan(equation, sum(step.flops for step in steps), "in chunks", tasks, rows, rechunked)


def _checked(number: int, shape: tuple[int, ...], chunks: Sequence[Chunks] | None) -> tuple[Chunks, ...]:
    if chunks is None:
        return tuple((extent,) for extent in shape)
    try:
        own = tuple(tuple(map(index, each)) for each in chunks)
    except TypeError:
        own = ()
    if tuple(map(sum, own)) != shape:
        raise ShapeError(
            f"chunks of operand {number} are {chunks!r:.80}, and its shape is {shape}\n  Pass those of the array."
        )
    return own


def _step(step: ChunkStep, shared: Aligned, own: Sequence[Sequence[Chunks]], dtype: object, itemsize: int) -> _Step:
    chunks = [shared.of_operand(term, each) for term, each in zip(step.terms, own)]
    text = f"{','.join(step.terms)}->{step.result}"
    seconds, flops, read = 0.0, 0, 0
    labels = list(dict.fromkeys("".join(step.terms)))
    for lengths in product(*(Counter(shared.of_label[x]).items() for x in labels)):
        sizes = {label: length for label, (length, _) in zip(labels, lengths)}
        count = math.prod(number for _, number in lengths)
        shapes = [_shape(term, each, sizes) for term, each in zip(step.terms, chunks)]
        f: Expression = compile_here(text, *shapes, dtype=dtype)
        seconds += count * predicted_seconds(f.recipe)
        flops += count * f.flops
        read += count * itemsize * sum(map(math.prod, shapes))
    places = math.prod(len(shared.of_label[x]) for x in step.result)
    products = math.prod(len(shared.of_label[x]) for x in labels) // places
    together = min(products_of_task(chunks, [itemsize] * len(chunks)), products)
    largest = together * sum(math.prod(map(max, each)) for each in chunks)
    largest += math.prod(max(shared.of_label[x]) for x in step.result)
    result = math.prod(sum(shared.of_label[x]) for x in step.result)
    tasks = places * -(-products // together)
    operands = sum(math.prod(map(sum, each)) for each in chunks) * itemsize
    return _Step(seconds, tasks, flops, sum(shared.moved), read, operands, largest * itemsize, result * itemsize)


def _shape(term: str, chunks: Sequence[Chunks], sizes: dict[str, int]) -> tuple[int, ...]:
    """Return the shape of a chunk; that of an axis that is broadcast stays."""
    return tuple(1 if own == (1,) else sizes[label] for label, own in zip(term, chunks))


def _row(steps: Sequence[_Step], stored: int, workers: int, network: Network, task: float, one: float) -> PlanRow:
    """Chunks are spread over workers, each of which gets a chunk that it reads once."""
    seconds = computing = 0.0
    traffic = memory = 0
    for step in steps:
        busy = min(workers, step.tasks)
        own = step.seconds * -(-step.tasks // busy) / step.tasks
        moved = (step.rechunked + min(step.read, busy * step.operands)) * (busy - 1) // busy
        sending = moved / (network.bandwidth * busy) + network.latency * (busy > 1) * step.tasks / busy
        seconds += max(own, task * step.tasks) + sending
        stored += step.result
        memory = max(memory, step.memory + stored // busy)
        computing, traffic = computing + own, traffic + moved
    return PlanRow(workers, seconds, computing, memory, traffic, one / (seconds * workers))
