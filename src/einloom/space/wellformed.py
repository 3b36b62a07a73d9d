"""Is a backbone well formed? What a builder's `backbone()` refuses, each with the reason and what to do."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator

from einloom.errors import ScheduleError
from einloom.ir.statement import SCALARS
from einloom.space.backbone import Backbone, Instruction, Parameter, Reduction

__all__ = ["check_backbone"]


def check_backbone(backbone: Backbone) -> None:
    """Refuse a backbone that means nothing.

    Raises:
        ScheduleError: two things share a name, an operator is unknown or takes another number of values, a value is
            read before it is defined, two reductions share a start, or nothing is stored.
    """
    for complaint in _complaints(backbone):
        raise ScheduleError(f"backbone {backbone.name}: {complaint}")


def _complaints(backbone: Backbone) -> Iterator[str]:
    yield from _names(backbone)
    yield from _definitions(backbone)
    yield from _starts(backbone)
    for each in backbone.instructions:
        yield from _operator(each)
    if not any(each.operator == "store" for each in backbone.instructions):
        yield "nothing is stored\n  End with `store(output, value)`."


def _names(backbone: Backbone) -> Iterator[str]:
    groups = (backbone.axes, backbone.dimensions, backbone.instructions, backbone.regions)
    names = [each.name for group in groups for each in group]
    for name, count in Counter((*names, *backbone.parameters)).items():
        if count > 1:
            yield f"{count} things are called {name!r}\n  Axes, arrays, instructions: one name each."


def _definitions(backbone: Backbone) -> Iterator[str]:
    defined: set[str] = set()
    for each in backbone.instructions:
        for result in each.results:
            if result.instruction not in defined:
                yield f"{each.name} reads {result.instruction}, which is not defined before it"
        for given in each.inputs:
            if isinstance(given, Parameter) and given.name not in backbone.parameters:
                yield f"{each.name} reads the parameter {given.name}, which is not declared\n  Use `parameter(name)`."
        defined.add(each.name)


def _starts(backbone: Backbone) -> Iterator[str]:
    """Yield starts that are anything else too: a reduction overwrites the register of its start."""
    readers = Counter(result.instruction for each in backbone.instructions for result in each.results)
    for each in backbone.instructions:
        for given in each.inputs:
            if isinstance(given, Reduction) and readers[given.start.instruction] > 1:
                yield f"{given.start.instruction} starts {each.name} and is read elsewhere\n  Give each its own start."


def _operator(instruction: Instruction) -> Iterator[str]:
    operator, count = instruction.operator, len(instruction.inputs)
    if operator not in SCALARS:
        yield f"{instruction.name} has the unknown operator {operator!r}\n  known: {', '.join(SCALARS)}"
    elif operator != "load" and count != (wanted := len(inspect.signature(SCALARS[operator]).parameters)):
        yield f"{instruction.name} gives {operator} {count} values, which takes {wanted}"
