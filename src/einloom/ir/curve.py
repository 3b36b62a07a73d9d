"""Space-filling curves over boxes of any extents: every cell once, and neighbours on the curve are close in space.

Two dimensions follow a generalised Hilbert curve: the rectangle is cut in two or three parts, each of which is walked
the same way, until it is one cell wide. More dimensions run as counters around the last two, there and back.
Consecutive cells differ by one step in one dimension, or, where parity forbids it, by a diagonal one.

>>> curve((2, 2))
((0, 0), (0, 1), (1, 1), (1, 0))
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

__all__ = ["LONGEST_CURVE", "curve"]

LONGEST_CURVE = 2**14
"""Most cells of a curve that a program holds as a table (256 KiB for two dimensions)."""

Cell = tuple[int, ...]
Vector = tuple[int, int]


@lru_cache(maxsize=64)
def curve(extents: tuple[int, ...]) -> tuple[Cell, ...]:
    """Return the cells of the box in the order of the curve; the first one is the origin."""
    if 0 in extents:
        return ()
    rows, *inner = extents
    if not inner:
        return tuple((index,) for index in range(rows))
    if len(inner) > 1:
        cells = curve(tuple(inner))
        return tuple((i, *cell) for i in range(rows) for cell in (cells if i % 2 == 0 else cells[::-1]))
    columns = inner[0]
    along, across = ((0, columns), (rows, 0)) if columns >= rows else ((rows, 0), (0, columns))
    return tuple(_walk((0, 0), along, across))


def _walk(start: Vector, along: Vector, across: Vector) -> Iterator[Cell]:
    """Yield the cells of the rectangle spanned by two axis-parallel vectors, entering and leaving along the first."""
    length, width = abs(sum(along)), abs(sum(across))
    if width == 1 or length == 1:
        step = _unit(along if width == 1 else across)
        yield from (_moved(start, step, count) for count in range(max(length, width)))
        return
    half, aside = _half(along), _half(across)
    if 2 * length > 3 * width:  # Long: two halves, one behind the other; the first of even length.
        if abs(sum(half)) % 2 and length > 2:
            half = _moved(half, _unit(along))
        yield from _walk(start, half, across)
        yield from _walk(_moved(start, half), _difference(along, half), across)
        return
    if abs(sum(aside)) % 2 and width > 2:
        aside = _moved(aside, _unit(across))
    yield from _walk(start, aside, half)  # Up one side, over the top, down the other.
    yield from _walk(_moved(start, aside), along, _difference(across, aside))
    end = _moved(_moved(_moved(start, along), _unit(along), -1), _moved(aside, _unit(across), -1))
    yield from _walk(end, _opposite(aside), _opposite(_difference(along, half)))


def _unit(vector: Vector) -> Vector:
    return (vector[0] > 0) - (vector[0] < 0), (vector[1] > 0) - (vector[1] < 0)


def _half(vector: Vector) -> Vector:
    unit, length = _unit(vector), abs(sum(vector)) // 2
    return unit[0] * length, unit[1] * length


def _moved(start: Vector, step: Vector, count: int = 1) -> Vector:
    return start[0] + count * step[0], start[1] + count * step[1]


def _difference(a: Vector, b: Vector) -> Vector:
    return a[0] - b[0], a[1] - b[1]


def _opposite(vector: Vector) -> Vector:
    return -vector[0], -vector[1]
