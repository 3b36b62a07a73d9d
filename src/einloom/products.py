"""`tensordot`, `matmul`, `transpose` and `array`, as NumPy has them: what other libraries look for in a module.

>>> import numpy as np
>>> tensordot(np.ones((2, 3, 4)), np.ones((4, 3, 5)), axes=([1, 2], [1, 0])).shape
(2, 5)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from operator import index
from typing import Any, Protocol, runtime_checkable

import numpy as np

from einloom.api import einsum
from einloom.arrays.library import is_array
from einloom.errors import ArgumentError, ShapeError
from einloom.frameworks import framework_of
from einloom.plan.equation import label_symbols

__all__ = ["array", "matmul", "tensordot", "transpose"]

Axes = int | Sequence[int] | Sequence[Sequence[int]]


@runtime_checkable
class Permutable(Protocol):
    """An array whose library calls transposition so: torch."""

    def permute(self, dims: Sequence[int]) -> Any:
        """Return a view with the axes in this order."""
        ...


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """Sum products over axes of two arrays, as `numpy.tensordot`.

    Args:
        a: an array.
        b: another one.
        axes: how many of the last axes of `a` meet the first ones of `b`; or the axes of `a`, and those of `b`.

    Returns:
        A fresh array with the other axes of `a`, then those of `b`.

    Raises:
        ArgumentError: no such axes.
        ShapeError: axes that meet differ in extent.
    """
    shapes = _shape(a), _shape(b)
    try:
        pairs = _pairs(axes, len(shapes[0]), len(shapes[1]))
    except (TypeError, ValueError, IndexError):
        raise _no_axes(f"tensordot(axes={axes!r:.80})", *shapes) from None
    for i, j in pairs:
        if shapes[0][i] != shapes[1][j]:
            raise ShapeError(
                f"tensordot: axis {i} of a meets axis {j} of b and differs from it in extent\n"
                f"  shapes {shapes[0]} and {shapes[1]}\n  Give axes that have the same extent."
            )
    return einsum(_tensordot_equation(len(shapes[0]), len(shapes[1]), pairs), a, b)


def matmul(a: Any, b: Any) -> Any:
    """Multiply matrices, or stacks of them, as `numpy.matmul`: a vector is a row on the left, a column on the right.

    >>> matmul(np.ones((7, 2, 3)), np.ones(3)).shape
    (7, 2)

    Raises:
        ShapeError: a number, or matrices that do not fit.
    """
    left, right = _shape(a), _shape(b)
    if not left or not right or left[-1] != right[-2:][0]:
        raise ShapeError(
            f"matmul: shapes {left} and {right}\n"
            "  The last axis of the first meets the last but one, or the only one, of the second."
        )
    row, column = "...ij" if len(left) > 1 else "j", "...jk" if len(right) > 1 else "j"
    ends = "i" * (len(left) > 1) + "k" * (len(right) > 1)
    dots = "..." * (max(len(left), len(right)) > 1)
    return einsum(f"{row},{column}->{dots}{ends}", a, b)


def transpose(a: Any, axes: Sequence[int] | None = None) -> Any:
    """Return the array with its axes in another order, the reverse if None: a view, as `numpy.transpose`.

    Arrays of libraries that offer no such view are copied.

    Raises:
        ArgumentError: not every axis once.
    """
    rank = len(_shape(a))
    try:
        order = tuple(reversed(range(rank))) if axes is None else tuple(_axis(axis, rank) for axis in axes)
    except (TypeError, IndexError):
        order = None
    if order is None or sorted(order) != list(range(rank)):
        raise _no_axes(f"transpose(axes={axes!r:.80})", _shape(a))
    if type(a) is np.ndarray:  # Before what takes microseconds to ask.
        return a.transpose(order)
    if isinstance(a, Permutable):
        return a.permute(order)
    symbols = label_symbols(rank)
    return einsum("".join(symbols) + "->" + "".join(symbols[i] for i in order), a)


def array(a: Any) -> Any:
    """Return what `einsum` takes as it is, and anything else as an array of NumPy.

    cotengra asks for it where a network is a single tensor: there is nothing to contract.

    >>> array([[1, 2], [3, 4]]).shape
    (2, 2)
    """
    return a if is_array(a) else np.asarray(a)


def _shape(a: Any) -> tuple[int, ...]:
    return tuple(a.shape) if framework_of((a,)) is not None or hasattr(a, "shape") else np.shape(a)


def _pairs(axes: Any, left: int, right: int) -> tuple[tuple[int, int], ...]:
    """Return the axes that meet, of `a` and of `b`, counted from 0."""
    if _is_listed(axes):
        first, second = map(_listed, axes)
    else:
        count = max(index(axes), 0)  # NumPy takes less than none as none.
        first, second = list(range(left - count, left)), list(range(count))
        if count > min(left, right):
            raise IndexError
    pairs = tuple((_axis(i, left), _axis(j, right)) for i, j in zip(first, second, strict=True))
    if any(len(set(side)) != len(pairs) for side in zip(*pairs)):
        raise ValueError
    return pairs


def _is_listed(axes: Any) -> bool:
    return isinstance(axes, Sequence) or (isinstance(axes, np.ndarray) and axes.ndim > 0)


def _listed(axes: Any) -> list[Any]:
    return list(axes) if _is_listed(axes) else [axes]


def _axis(axis: Any, rank: int) -> int:
    return range(rank)[index(axis)]


def _no_axes(what: str, *shapes: tuple[int, ...]) -> ArgumentError:
    return ArgumentError(f"{what}: no such axes, or one twice\n  shapes {' and '.join(map(str, shapes))}")


@lru_cache(maxsize=1024)
def _tensordot_equation(left: int, right: int, pairs: tuple[tuple[int, int], ...]) -> str:
    symbols = label_symbols(left + right)
    first, second = symbols[:left], symbols[left:]
    for i, j in pairs:
        second[j] = first[i]
    summed = {first[i] for i, _ in pairs}
    output = [label for label in (*first, *second) if label not in summed]
    return f"{''.join(first)},{''.join(second)}->{''.join(output)}"
