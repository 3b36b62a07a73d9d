"""`Entry`: what a generated entry from Python checks and does, as a value. `einloom.arrays.emit` writes it as code.

An entry is for one signature: arrays of exactly these types, extents and strides. What the rules of `check` say about
these was found out by Python when the signature came first; what depends on the arrays themselves (where they lie,
whether they may be written) the entry checks. Whatever is unexpected goes to the next entry, and at last to Python,
before anything has been written.

Functions and objects are addresses here, so an entry can be described, and its code made, on any machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeAlias

from einloom.frozen import frozen
from einloom.jit.entrycode import Number

__all__ = [
    "Apart",
    "Argument",
    "ArrayArgument",
    "Call",
    "Data",
    "Entry",
    "Fresh",
    "IntegerArgument",
    "NamedNone",
    "NoneArgument",
    "Scratch",
    "ThreadSettings",
    "moved",
]

Address: TypeAlias = int
"""Of an object or a function of this process; 0: of nothing."""


@frozen
class ArrayArgument:
    """An argument that is an array, no instance of a subclass.

    Attributes:
        array_type: address of the class of arrays.
        dtype: address of the object that is its type of elements.
        extents, strides: its own; strides in bytes, those of axes of extent 1 do not matter.
        alignment: what its address is a multiple of, a power of two.
        reach: the bytes that are read or written, relative to its first element: the first, and behind the last.
        written: whether it must be writable.
    """

    array_type: Address
    dtype: Address
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    alignment: int
    reach: tuple[int, int]
    written: bool = False


@frozen
class IntegerArgument:
    """An argument that is an int of a certain value: its type's address, and its bytes (see `integer_image`)."""

    int_type: Address
    image: tuple[int, int | None]


@frozen
class NoneArgument:
    """An argument that is None, whose address this is."""

    none: Address


@frozen
class NamedNone:
    """None by a name: the addresses of both."""

    name: Address
    none: NoneArgument


Argument: TypeAlias = ArrayArgument | IntegerArgument | NoneArgument


@frozen
class Data:
    """The address of the first element of an argument; of the fresh result for position -1."""

    position: int


@frozen
class Scratch:
    """The address so many bytes into the scratch."""

    offset: int


@frozen
class Call:
    """A function to call.

    Attributes:
        function: its address.
        values: `function(values…)`; or the words of the block if there are threads.
        threads: 0, or how many shares: `function(block, share, shares)` is called for each.
    """

    function: Address
    values: tuple[Data | Scratch | Number, ...]
    threads: int = 0


@frozen
class Fresh:
    """A result that is made: `make(*arguments)`; `index` takes the scalar out of an array without axes.

    Attributes:
        make: address of a callable.
        arguments: address of the tuple of its arguments.
        index: address of the empty tuple, or 0.
    """

    make: Address
    arguments: Address
    index: Address = 0


@frozen
class Apart:
    """Two arguments, by position, of which one is written: they must share no byte.

    Attributes:
        written, other: positions.
        unless_same: whether they may also begin at the same address, where their elements are the same ones.
    """

    written: int
    other: int
    unless_same: bool = False


@frozen
class ThreadSettings:
    """What the number of threads followed from when the entry was made.

    Attributes:
        variable: address of the context variable, and value: of the object that it must hold.
        limit: address of the word that holds the process's limit, and limited: what it must be.
    """

    variable: Address
    value: Address
    limit: Address
    limited: int


@frozen
class Entry:
    """What an entry expects and does.

    Attributes:
        arguments: in order, the positional ones first.
        calls: functions to call.
        result: what is returned: something fresh, the argument of this position, or the object at this address.
        keywords: addresses of the names by which the last arguments come, in order.
        may_be_none: what may also come by its name, where there are no `keywords`, if it is None.
        apart: pairs of arguments that must not overlap.
        launch: address of the function that starts a team; see `einloom.jit.threads`.
        settings: what must not have changed.
        scratch: address of the word that holds the address of the scratch, 0 while another call has it.
        releases_interpreter: whether other Python threads run meanwhile.
    """

    arguments: tuple[Argument, ...]
    calls: tuple[Call, ...]
    result: Fresh | Number | int
    keywords: tuple[Address, ...] = ()
    may_be_none: NamedNone | None = None
    apart: tuple[Apart, ...] = ()
    launch: Address = 0
    settings: ThreadSettings | None = None
    scratch: Address = 0
    releases_interpreter: bool = False


def moved(part: Any, to: Callable[[int], int]) -> Any:
    """Return an entry, or a part of one, with other addresses and numbers in their place; 0 stays."""
    if isinstance(part, Number):
        return Number(to(part.value) if part.value else 0)
    if not is_dataclass(part) or isinstance(part, type):
        return part
    return replace(
        part, **{field.name: _moved_field(getattr(part, field.name), field.type, to) for field in fields(part)}
    )


def _moved_field(value: Any, kind: Any, to: Callable[[int], int]) -> Any:
    if kind == "Address":
        return to(value) if value else 0
    if kind == "tuple[Address, ...]":
        return tuple(map(to, value))
    if str(kind).startswith("tuple["):
        return tuple(moved(each, to) for each in value)
    return moved(value, to)
