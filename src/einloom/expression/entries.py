"""From a call that Python has served to the entry that serves its like in machine code."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from einloom.arrays.entry import Apart, ArrayArgument, Call, Data, Entry, Fresh, NamedNone, Scratch
from einloom.arrays.fresh import LEAST, fresh
from einloom.arrays.library import Array, Imported, region_of
from einloom.arrays.signature import MOST_SCRATCH, array_argument, is_long, none_argument, thread_settings
from einloom.config import WatchedSettings
from einloom.expression.variant import CompiledStep, Variant
from einloom.jit.arrays import array_address
from einloom.jit.calls import calls_address
from einloom.jit.entrycode import Number
from einloom.jit.scratch import scratch_word
from einloom.jit.threads import launch_address

__all__ = ["describe_call"]

MOST_OPERANDS = 256


def describe_call(
    variant: Variant,
    operands: Sequence[Array],
    held: tuple[Sequence[Array], int],
    out: Array | None,
    shape: tuple[int, ...],
    unit: int,
    dtype: np.dtype[Any],
    watched: WatchedSettings | None,
) -> tuple[Entry, object] | None:
    """Return the entry for calls with arrays like these, and what it refers to; None if there can be none.

    Args:
        variant: what serves them.
        operands, out: plain arrays that code reads and writes in place.
        held: operands that no call brings, and in front of which of the others they stand.
        shape: of the result.
        unit: what their addresses are multiples of, in bytes, or of a smaller element.
        dtype: of the result.
        watched: what the number of threads followed from, if that may change.
    """
    given = [*operands] if out is None else [*operands, out]
    if len(given) > MOST_OPERANDS:
        return None
    size, begin = variant.scratch_bytes, variant.kernel_scratch
    places = [begin + place for place in variant.arena.places]
    if size > MOST_SCRATCH or any(_needs_python(step) for step in variant.steps):
        return None
    operations = [compiled.step.operation for compiled in variant.steps]
    flops, traffic = sum(o.flops for o in operations), sum(o.bytes for o in operations)
    name, index, arguments = sys.intern("out"), (), (shape, dtype)
    last = len(operands)
    make = fresh if math.prod(shape) * dtype.itemsize >= LEAST else np.empty  # which is faster
    entry = Entry(
        arguments=tuple(_argument(array, unit, array is out) for array in given),
        calls=tuple(_calls(variant, _sources(last, *held), places, written=-1 if out is None else last)),
        result=last if out is not None else Fresh(id(make), id(arguments), 0 if shape else id(index)),
        keywords=() if out is None else (id(name),),
        may_be_none=NamedNone(id(name), none_argument()) if out is None else None,
        apart=() if out is None else tuple(Apart(last, position) for position in range(last)),
        launch=launch_address(),
        settings=None if watched is None else thread_settings(watched),
        scratch=scratch_word(size) if size else 0,
        releases_interpreter=is_long(flops, traffic),
    )
    return entry, (variant, held, [array.dtype for array in given], name, index, arguments, watched)


def _needs_python(step: CompiledStep) -> bool:
    """Whether a step is interpreted, or its threads share what each call has to provide."""
    return step.executable is None or step.executable.image.has_sync


def _sources(operands: int, held: Sequence[Array], first: int) -> list[Data | Number]:
    given: list[Data | Number] = [Data(position) for position in range(operands)]
    return [*given[:first], *(Number(array_address(array)) for array in held), *given[first:]]


def _calls(variant: Variant, operands: Sequence[Data | Number], places: Sequence[int], written: int) -> list[Call]:
    sources: list[Data | Scratch | Number] = [*operands]
    for number, array in variant.panels.items():
        sources[number] = Number(array_address(array))
    sources += [Number(array_address(constant)) for constant in variant.constants]
    first = len(sources)
    sources += [Scratch(place) for place in places]
    sources.append(Data(written))

    def words(number: int, place: int) -> list[Data | Scratch | Number]:
        step = variant.steps[number]
        word = Scratch(place) if step.fixed_word is None else Number(step.fixed_word)
        return [*(sources[tensor] for tensor in step.step.inputs), sources[first + number], word]

    calls: list[Call] = []
    if variant.lanes:
        places = [place for place, count in zip(variant.lane_scratch, variant.lanes) for _ in range(count)]
        of_lanes = [word for number, place in enumerate(places) for word in words(number, place)]
        block = (Number(variant.lane_calls.first_word), *of_lanes)
        calls.append(Call(calls_address(), block, len(variant.lanes)))
    for number, compiled in enumerate(variant.together, sum(variant.lanes)):
        assert compiled.executable is not None
        shares = compiled.executable.shares(compiled.threads)
        calls.append(Call(compiled.executable.address, tuple(words(number, 0)), shares))
    return calls


def _argument(array: Array, unit: int, written: bool) -> ArrayArgument:
    return array_argument(array, region_of("", Imported(array, ""), written=written), min(unit, array.itemsize))
