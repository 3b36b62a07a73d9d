"""The rules for memory that generated code works on, with one error each, wherever arrays come in.

Every check is of `Region`s and takes no memory in proportion to them. `where` is what a message quotes as the place,
for example the equation.

>>> check_itself(Region("out", 0, (3, 4), (32, 8), 8, "float64"))
>>> check_itself(Region("out", 0, (3, 4), (8, 8), 8, "float64"))
Traceback (most recent call last):
einloom.errors.StrideError: elements of out share memory, extents (3, 4), strides (8, 8) bytes
  Pass an array whose elements all lie apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from einloom.arrays.region import Region
from einloom.errors import DTypeError, EinloomError, OverlapError, ShapeError, StrideError

__all__ = [
    "check_alignment",
    "check_disjoint",
    "check_dtype",
    "check_itself",
    "check_reach",
    "check_shape",
    "check_writable",
    "is_aligned",
]

SOLVER_WORK: Any = 100_000
"""Effort for an exact answer about overlap; beyond it the answer is that they overlap. NumPy's stub takes literals."""


def check_dtype(name: str, found: object, wanted: object, where: str = "", computes: bool = False) -> None:
    """Refuse elements of another type, byte order included; `computes` says that `dtype=` may choose the wanted one.

    Raises:
        DTypeError: it is another one.
    """
    if str(found) != str(wanted):
        other = f', or compute in its type: dtype="{found}"' if computes and _holds(str(found), str(wanted)) else ""
        raise _error(DTypeError, f"{name} has type {found}, not {wanted}", where, f"Convert the array{other}.")


def _holds(found: str, wanted: str) -> bool:
    """Whether a type of NumPy's own, in this machine's byte order, holds every value of another."""
    try:
        return found.isidentifier() and np.can_cast(wanted, found, "safe")
    except TypeError:  # One of the two is not NumPy's.
        return False


def check_shape(name: str, found: tuple[int, ...], wanted: tuple[int, ...], where: str = "") -> None:
    """Refuse an array of another shape.

    Raises:
        ShapeError: it has one.
    """
    if found != wanted:
        raise _error(ShapeError, f"{name} has shape {found}, not {wanted}", where, "Pass an array of this shape.")


def check_writable(name: str, writable: bool, where: str = "") -> None:
    """Refuse an array that is to be written and may not be.

    Raises:
        StrideError: it is read-only.
    """
    if not writable:
        raise _error(StrideError, f"{name} is read-only", where, "Pass a writable array.")


def is_aligned(region: Region, unit: int) -> bool:
    """Return whether every element lies at a multiple of `unit` bytes."""
    strides = [stride for extent, stride in zip(region.extents, region.strides) if extent > 1]
    return not any(number % unit for number in (region.address, *strides))


def check_alignment(region: Region, where: str = "") -> None:
    """Refuse elements that do not lie at multiples of their size.

    Raises:
        StrideError: they do not.
    """
    if region.buffer is not None and not region.is_empty and not is_aligned(region, region.size):
        text = f"{region.name} is not aligned: it does not lie at multiples of {region.size} bytes"
        raise _error(StrideError, text, where, "Pass an aligned array, or a copy.")


def check_reach(region: Region, where: str = "") -> None:
    """Refuse a region that leaves its buffer.

    Raises:
        StrideError: with the elements that are reached and those that are there.
    """
    if region.buffer is None or region.is_empty:
        return
    (low, high), (first, end) = region.span, region.buffer
    if low < first or high > end:
        size, start = region.size, region.address
        text = (
            f"{region.name}: elements {(low - start) // size} to {(high - start) // size - 1} are reached, "
            f"the array holds {(first - start) // size} to {(end - start) // size - 1}"
        )
        raise _error(StrideError, text, where, "Pass a larger array, or mend sizes and strides.")


def check_itself(region: Region, where: str = "") -> None:
    """Refuse a region to be written of which two elements share bytes.

    Raises:
        StrideError: they do, or finding out takes too long.
    """
    if _overlaps_itself(region):
        text = (
            f"elements of {region.name} share memory, extents {tuple(region.extents)}, "
            f"strides {tuple(region.strides)} bytes"
        )
        raise _error(StrideError, text, where, "Pass an array whose elements all lie apart.")


def check_disjoint(
    regions: Sequence[Region],
    may_coincide: Callable[[Region, Region], bool] = lambda written, other: False,
    where: str = "",
) -> None:
    """Refuse regions to be written that share bytes with another region.

    Args:
        regions: all of a call's; those whose buffer is not known are left out.
        may_coincide: whether the first one, which is written, may be the second, element for element; None: never.
        where: quoted.

    Raises:
        OverlapError: they share bytes, or finding out takes too long.
    """
    known = [region for region in regions if region.buffer is not None and not region.is_empty]
    for written in (region for region in known if region.written):
        for other in known:
            if other is written or not _share(written, other):
                continue
            if not (may_coincide is not None and may_coincide(written, other) and other.elements == written.elements):
                text = f"{written.name} shares memory with {other.name}"
                raise _error(OverlapError, text, where, "Pass arrays that do not overlap, or a copy.")


def _error(kind: type[EinloomError], text: str, where: str, advice: str) -> EinloomError:
    place = f"  {where}\n" if where else ""
    return kind(f"{text}\n{place}  {advice}")


def _overlaps_itself(region: Region) -> bool:
    """Whether two elements share bytes.

    Strides that each skip what lies inside them prove that none do, and so does a stride of 0 that some do. Otherwise:
    two elements differ in a first axis, and the one with the smaller index there may be taken for index 0. So for every
    axis the elements that are 0 along it are compared with those that are not, both without the axes before it.
    """
    if region.is_empty:
        return False
    axes = sorted((abs(stride), extent) for extent, stride in zip(region.extents, region.strides) if extent > 1)
    reach = region.size
    for stride, extent in axes:
        if stride < reach:
            break
        reach += stride * (extent - 1)
    else:
        return False
    if axes[0][0] == 0:
        return True
    axes.reverse()
    for position, (stride, extent) in enumerate(axes):
        inner = axes[position + 1 :]
        first = _lattice(0, inner, region.size)
        others = _lattice(stride, [(stride, extent - 1), *inner], region.size)
        if _lattices_meet(first, others):
            return True
    return False


def _share(first: Region, second: Region) -> bool:
    (low, high), (other_low, other_high) = first.span, second.span
    if high <= other_low or other_high <= low:
        return False
    start = min(low, other_low)
    return _lattices_meet(*(_lattice(r.span[0] - start, _axes(r), r.size) for r in (first, second)))


def _axes(region: Region) -> list[tuple[int, int]]:
    """Strides and extents of the axes along which elements differ, as counted from the lowest address."""
    pairs = zip(region.strides, region.extents)
    return [(abs(stride), extent) for stride, extent in pairs if extent > 1 and stride]


class _Lattice:
    """Addresses as an array of NumPy's that is never read: its solver compares two of them."""

    def __init__(self, start: int, axes: Sequence[tuple[int, int]], size: int) -> None:
        self.__array_interface__ = {
            "version": 3,
            "data": (_ORIGIN + start, True),
            "shape": tuple(extent for _, extent in axes),
            "strides": tuple(stride for stride, _ in axes),
            "typestr": f"|V{size}",
        }


_ORIGIN = 1 << 20


def _lattice(start: int, axes: Sequence[tuple[int, int]], size: int) -> np.ndarray[Any, Any]:
    return np.asarray(_Lattice(start, axes, size))


def _lattices_meet(first: np.ndarray[Any, Any], second: np.ndarray[Any, Any]) -> bool:
    try:
        return bool(np.shares_memory(first, second, max_work=SOLVER_WORK))
    except np.exceptions.TooHardError:
        return True
