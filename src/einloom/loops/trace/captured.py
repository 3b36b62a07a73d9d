"""What a body sees besides its arguments: values of the functions around it, and of its module.

>>> step = 4
>>> def body(a, X): return X[a : a + step]
>>> captured_values(body)
(4,)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

__all__ = ["captured_arrays", "captured_values", "trace_key"]

_NESTED = (tuple,)
_UNSET = object()
_FIXED = (int, float, str, bytes, type(None))
_LIBRARIES = ("einloom", "numpy", "math")
"""Whose modules stay as they are: a user's may hold sizes, which change."""


def captured_values(function: Callable[..., Any]) -> tuple[Any, ...]:
    """Return the values that a function finds outside itself when it runs, as far as its code names them."""
    closure = [_content(cell) for cell in function.__closure__ or ()]
    names = dict.fromkeys(_names(function.__code__))
    return (*closure, *(function.__globals__[name] for name in names if name in function.__globals__))


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # A function around is yet to set the variable.
        return _UNSET


def captured_arrays(function: Callable[..., Any]) -> list[np.ndarray]:
    """Return the arrays that a function could write: in collections, in attributes that its code names, in functions.

    Those that own their memory come first: their views can be made writable only after them. Left out are arrays that
    could not be made writable again once they are read-only, as those in PyTorch's memory.
    """
    found: list[np.ndarray] = []
    names = frozenset(_names(function.__code__))
    waiting, seen = _inside(function, names), set[int]()
    while waiting:
        value = waiting.pop()
        if id(value) not in seen:
            seen.add(id(value))
            if _is(value, np.ndarray):
                found.append(value)
            else:
                waiting += _inside(value, names)
    writable = (array for array in found if array.flags.writeable and _may_turn_writable(array))
    return sorted(writable, key=lambda array: array.base is not None)


def _may_turn_writable(array: Any) -> bool:
    """Whether NumPy lets a read-only view of the array's memory be made writable."""
    while _is(array.base, np.ndarray):
        array = array.base
    if array.base is None:
        return array.flags.writeable
    try:
        return not memoryview(array.base).readonly
    except TypeError:  # It gives no buffer away.
        return False


def _inside(value: Any, names: frozenset[str]) -> list[Any]:
    """What a function with such names can reach by one step from a value."""
    if _is(value, MethodType):
        return [value.__self__, value.__func__]
    if _is(value, FunctionType):
        return [] if _is_library(value.__module__ or "") else list(captured_values(value))
    if _is(value, list, tuple):
        return list(value)
    if _is(value, dict):
        return list(value.values())
    attributes = _attributes(value)
    return [attributes[name] for name in names & attributes.keys()]


def _attributes(value: object) -> Mapping[str, Any]:
    try:
        return vars(value)
    except TypeError:  # A number, a text, or another thing without attributes of its own.
        return {}


def _is(value: object, *kinds: type) -> bool:
    return isinstance(value, kinds)  # What is known of the elements is Any, not unknown.


def trace_key(function: Callable[..., Any]) -> Hashable | None:
    """Return what two functions have in common if tracing them records the same; None where that cannot be said.

    It can be if nothing that they see may change: numbers, texts, tuples of those, modules that hold functions alone,
    and functions and types of such modules.
    """
    if not isinstance(function, FunctionType):
        return None  # A method sees its object.
    seen = (function.__defaults__, tuple(sorted((function.__kwdefaults__ or {}).items())), captured_values(function))
    return (function.__code__, _typed(seen)) if _is_fixed(seen) else None


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _is_fixed(value: Any) -> bool:
    if isinstance(value, ModuleType):
        return _is_library(value.__name__)
    if isinstance(value, FunctionType | type):
        return _is_library(value.__module__ or "")
    return all(map(_is_fixed, value)) if type(value) in _NESTED else isinstance(value, _FIXED)


def _is_library(module: str) -> bool:
    return module.partition(".")[0] in _LIBRARIES


def _typed(value: Any) -> Hashable:
    """The value with its type: 1, 1.0 and True are equal."""
    return tuple(map(_typed, value)) if type(value) in _NESTED else (type(value).__name__, value)
