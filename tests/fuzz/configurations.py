"""Random configurations as JSON, most of them damaged: an `EinloomError`, or the right result."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np

import einloom as el
from einloom.dtypes import FLOAT32, FLOAT64
from einloom.ir.operation import Operand, Operation, reach

from ..ir.strategies import random_operation, random_schedule
from .schedules import POINTS, run

WORDS = (
    "c",
    "m",
    "n",
    "k",
    "prim",
    "seq",
    "shared",
    "sfc",
    "zero",
    "none",
    "relu",
    "gemm",
    "brgemm",
    "add",
    "sum",
    "q",
)
NUMBERS = (0, 1, 2, 3, 4, 7, 16, -1, -8, 10**6, 2**31, 2**40, 2**62, 2**70, 1.5, True)
ODD: tuple[Any, ...] = (None, [], {}, "", "x", [1], {"a": 1}, [[]], 1e300)
MOST_ELEMENTS = 10**5


def check(seed: int) -> str:
    """Return what is wrong with this case, or nothing."""
    rng = random.Random(seed)
    operation = random_operation(rng, rng.choice((FLOAT32, FLOAT64)), points=POINTS)
    try:
        config = el.TensorOperationConfig.from_schedule(operation, random_schedule(rng, operation))
    except el.ScheduleError:
        return ""  # The lists cannot say it.
    values = json.loads(config.to_json())
    damaged = rng.random() < 0.8
    for _ in range(rng.choice((1, 1, 1, 2, 3)) if damaged else 0):
        _damage(rng, values)
    try:
        given = el.TensorOperationConfig.from_json(json.dumps(values))
        el.TensorOperation(given)
    except el.EinloomError as error:
        return "" if damaged else f"{config} is refused: {error}"
    if el.TensorOperationConfig.from_json(given.to_json()) != given:
        return f"{given} does not come back from JSON"
    return _result(given, rng)


def _result(config: el.TensorOperationConfig, rng: random.Random) -> str:
    operation = config.operation
    spans = [reach(operation, operand) or (0, 0) for operand in operation.operands]
    if operation.points > MOST_ELEMENTS or max(high - low for low, high in spans) > MOST_ELEMENTS:
        return ""  # Legal, and too large to run here.
    if any(_overlaps_itself(operation, operation.operands[position]) for position in operation.written):
        return ""  # Arrays with such strides are refused when they are passed.
    return run(operation, str(config.schedule), rng)


def _overlaps_itself(operation: Operation, operand: Operand) -> bool:
    """Whether two elements of an operand that is written lie in one place."""
    offsets = np.zeros(1, np.int64)
    for axis, stride in zip(operation.axes, operand.strides):
        if axis.role is not el.DimType.K:
            offsets = np.add.outer(offsets, np.arange(axis.extent) * stride).ravel()
    return len(np.unique(offsets)) < len(offsets)


def _damage(rng: random.Random, values: dict[str, Any]) -> None:
    key = rng.choice(list(values))
    kind = rng.randrange(5)
    if kind == 0 and not isinstance(values[key], list):
        values[key] = rng.choice((*WORDS, *NUMBERS, *ODD))
    elif kind == 1 and rng.random() < 0.2:
        del values[key]
    elif isinstance(values[key], list) and values[key]:
        _damage_list(rng, values[key])
    else:
        values[key] = rng.choice((*WORDS, *ODD))


def _damage_list(rng: random.Random, entries: list[Any]) -> None:
    place = rng.randrange(len(entries))
    if isinstance(entries[place], list) and entries[place] and rng.random() < 0.8:
        _damage_list(rng, entries[place])
        return
    kind = rng.randrange(5)
    if kind == 0:
        del entries[place]
    elif kind == 1:
        entries.insert(place, entries[rng.randrange(len(entries))])
    elif kind == 2:
        other = rng.randrange(len(entries))
        entries[place], entries[other] = entries[other], entries[place]
    elif isinstance(entries[place], str):
        entries[place] = rng.choice((*WORDS, *ODD[:5]))
    else:
        entries[place] = rng.choice((*NUMBERS, *NUMBERS, *ODD))
