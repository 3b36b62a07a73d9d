"""`Extra`: an operand of a touch as configurations name it, and how words and extras become touches and back.

The first touch takes the extra with role `first`: with `identity` (or `copy`) it is a bias. The words of the last touch
run one after the other; each binary one takes the next extra with role `last`. An extra with role `mask` takes 1 where
relu, as the last word, let a value through, and 0 elsewhere.

>>> bias = Extra("bias", ExtraRole.FIRST, "float32", (1, 0, 0))
>>> extras = (bias, Extra("residual", ExtraRole.LAST, "float32", (1, 64, 0)))
>>> [(touch.primitive.value, touch.operand) for touch in last_touches(("add", "relu"), extras, inputs=2)]
[('add', 3), ('relu', None)]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from einloom.dtypes import data_type
from einloom.errors import DTypeError, ScheduleError
from einloom.ir.fields import entries_of, whole_numbers
from einloom.ir.operation import Operand, Operation, Primitive, Touch

__all__ = ["Extra", "ExtraRole", "checked_extras", "extras_of", "first_touch", "last_touches", "words_of"]

TAKEN = ("in0", "in1", "out")


class ExtraRole(StrEnum):
    """Which touch reads an extra, or that one writes it."""

    FIRST = "first"
    LAST = "last"
    MASK = "mask"


class Extra(NamedTuple):
    """An operand beside the inputs and the output.

    Attributes:
        name: keyword of `execute`.
        role: `first`, `last` or `mask`.
        dtype: the configuration's.
        strides: one a dimension, in elements; 0 broadcasts, and on contracted dimensions.
    """

    name: str
    role: ExtraRole
    dtype: str
    strides: tuple[int, ...]


def checked_extras(entries: Any, dtype: str, dimensions: int) -> tuple[Extra, ...]:
    """Return extras from tuples, lists or mappings with the keys of `Extra`.

    Raises:
        ScheduleError: a malformed entry, an unknown role, a name that is taken, or a wrong number of strides.
        DTypeError: another type than the configuration's.
    """
    extras: list[Extra] = []
    for entry in entries_of(entries, "extras"):
        extra = _normalised(entry)
        if extra.name in (*TAKEN, *(other.name for other in extras)) or not extra.name.isidentifier():
            raise ScheduleError(f"{extra.name!r} cannot name an extra\n  Names are identifiers, each used once.")
        if extra.dtype != dtype:
            raise DTypeError(
                f"extra {extra.name} has type {extra.dtype}; extras have the configuration's type, {dtype}"
            )
        if len(extra.strides) != dimensions:
            raise ScheduleError(f"extra {extra.name} has {len(extra.strides)} strides for {dimensions} dimensions")
        extras.append(extra)
    return tuple(extras)


def _normalised(entry: Any) -> Extra:
    try:
        extra = Extra(**entry) if isinstance(entry, Mapping) else Extra(*entry)
    except TypeError:
        raise ScheduleError(f"extras: {entry!r:.80} is not (name, role, dtype, strides)") from None
    if not _are_words(extra.name, extra.role):
        raise ScheduleError(f"extras: {entry!r:.80}: name and role are words")
    if extra.role not in set(ExtraRole):
        raise ScheduleError(f"extra {extra.name} has the role {extra.role!r}; there are {', '.join(ExtraRole)}")
    strides = whole_numbers(extra.strides, f"strides of the extra {extra.name}")
    return extra._replace(role=ExtraRole(extra.role), strides=strides, dtype=data_type(extra.dtype).name)


def _are_words(*values: object) -> bool:
    return all(isinstance(value, str) for value in values)


def first_touch(word: str, extras: Sequence[Extra], inputs: int) -> Touch:
    """Return the first touch of a word and the extra that it takes, if there is one.

    Raises:
        ScheduleError: more than one extra, one that the word does not read, or a binary word without one.
    """
    positions = [inputs + index for index, extra in enumerate(extras) if extra.role is ExtraRole.FIRST]
    primitive = Primitive(word)
    if len(positions) > 1:
        raise ScheduleError(f"{len(positions)} extras have the role first; prim_first_touch takes one")
    if positions and primitive in (Primitive.NONE, Primitive.ZERO):
        name = extras[positions[0] - inputs].name
        raise ScheduleError(f"prim_first_touch {word} does not read the extra {name}\n  Use identity for a bias.")
    if primitive.is_binary and not positions:
        raise ScheduleError(f"prim_first_touch {word} reads an extra with role first; there is none")
    return Touch(primitive, positions[0]) if positions else Touch(primitive)


def last_touches(words: Sequence[str], extras: Sequence[Extra], inputs: int) -> tuple[Touch, ...]:
    """Return the last touches of words and the extras that they take.

    Raises:
        ScheduleError: extras and binary words differ in number, or a mask without relu as the last word.
    """
    positions = [inputs + index for index, extra in enumerate(extras) if extra.role is ExtraRole.LAST]
    primitives = [Primitive(word) for word in words if word != Primitive.NONE]
    binary = sum(primitive.is_binary for primitive in primitives)
    if binary != len(positions):
        raise ScheduleError(
            f"prim_last_touch {' '.join(words)} reads {binary} extras; {len(positions)} have the role last"
        )
    queue = iter(positions)
    touches = [Touch(primitive, next(queue)) if primitive.is_binary else Touch(primitive) for primitive in primitives]
    masks = [inputs + index for index, extra in enumerate(extras) if extra.role is ExtraRole.MASK]
    if masks and (len(masks) > 1 or not primitives or primitives[-1] is not Primitive.RELU):
        raise ScheduleError("a mask belongs to relu as the last word of prim_last_touch, and there is one at most")
    # What relu let through is positive, and the rest is 0: the sign is the mask.
    return (*touches, *(Touch(Primitive.SIGN, position, writes=True) for position in masks))


def extras_of(operation: Operation) -> list[tuple[Operand, ExtraRole]]:
    """Return the operands of touches with their roles, in the order in which the words of a configuration take them."""
    last = [touch for touch in operation.last_touches if touch.operand is not None]
    found = [(operation.first_touch, ExtraRole.FIRST)] if operation.first_touch.operand is not None else []
    found += [(touch, ExtraRole.MASK if touch.writes else ExtraRole.LAST) for touch in last]
    return [(operation.operands[touch.operand], role) for touch, role in found if touch.operand is not None]


def words_of(operation: Operation) -> tuple[str, tuple[str, ...]]:
    """Return the words of the first and the last touches."""
    last = tuple(touch.primitive.value for touch in operation.last_touches if not touch.writes)
    return operation.first_touch.primitive.value, last
