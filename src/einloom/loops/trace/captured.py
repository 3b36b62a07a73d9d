"""What a body sees besides its arguments: values of the functions around it, and of its module.

>>> step = 4
>>> def body(a, X): return X[a : a + step]
>>> captured_values(body)
(4,)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

__all__ = ["captured_values", "trace_key"]

_NESTED = (tuple,)
_FIXED = (int, float, str, bytes, type(None))
_LIBRARIES = ("einloom", "numpy", "math")
"""Whose modules stay as they are: a user's may hold sizes, which change."""


def captured_values(function: Callable[..., Any]) -> tuple[Any, ...]:
    """Return the values that a function finds outside itself when it runs, as far as its code names them."""
    closure = [cell.cell_contents for cell in function.__closure__ or ()]
    names = dict.fromkeys(_names(function.__code__))
    return (*closure, *(function.__globals__[name] for name in names if name in function.__globals__))


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
