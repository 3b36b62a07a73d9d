"""What a primitive reaches of its arguments, and every check of them: type, place, overlap. It computes nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from einloom.dtypes import MOVED
from einloom.errors import DTypeError, OverlapError, ShapeError, StrideError
from einloom.kernels.specs import Brgemm, Reduce, Spec, Stride, Unary, run_time_strides
from einloom.plan.arrays import byte_span

__all__ = ["Access", "Place", "accesses_of", "check_access", "check_overlaps"]

SOLVER_WORK: Any = 100_000


@dataclass(frozen=True, slots=True)
class Access:
    """One operand of a primitive.

    Attributes:
        name: its argument.
        dtype: NumPy's name of its type.
        sizes: extents of the axes that it depends on.
        strides: one for each, in elements, or the name of the argument that holds it.
        written: whether it is the output.
        count: how many matrices of a batch an array lists, where there is one.
        offsets: the argument that holds them as offsets in elements; empty: the operand itself holds their addresses.
    """

    name: str
    dtype: str
    sizes: tuple[int, ...]
    strides: tuple[int | str, ...]
    written: bool
    count: int = 0
    offsets: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """An operand at a call: where it begins, the bytes that are reached, and the strides in bytes.

    `shifts` are the bytes by which the matrices of a listed batch lie apart from the beginning.
    """

    name: str
    address: int
    low: int
    high: int
    strides: tuple[int, ...]
    is_array: bool
    shifts: tuple[int, ...] = (0,)


def accesses_of(spec: Spec) -> tuple[Access, ...]:
    """Return the operands of a spec, the output last."""
    sizes = (spec.m, spec.n, spec.k, spec.batch) if isinstance(spec, Brgemm) else (spec.m, spec.n)
    names = [name for name in ("a", "b", "c", "d") if getattr(spec, name, None) is not None]
    if isinstance(spec, Unary) and spec.op == "zero":
        names = ["b"]
    found = []
    for name in names:
        strides = _named(name, getattr(spec, name))
        if isinstance(spec, Reduce) and name == "b":
            found.append(Access(name, spec.dtype.name, (getattr(spec, spec.kept),), (1,), True))
            continue
        axes = [axis for axis, stride in enumerate(strides) if stride != 0]
        access = Access(
            name,
            (spec.output if isinstance(spec, Unary) and spec.output and name == "b" else spec.dtype).name,
            tuple(sizes[axis] for axis in axes),
            tuple(strides[axis] for axis in axes),
            name == names[-1],
        )
        if isinstance(spec, Brgemm) and spec.batch_by != "stride" and name != "c":
            offsets = f"offsets_{name}" if spec.batch_by == "offsets" else ""
            access = replace(access, count=spec.batch, offsets=offsets)
        found.append(access)
    return tuple(found)


def _named(operand: str, strides: tuple[Stride, ...]) -> list[int | str]:
    names: dict[int, str] = {axis: name for name, axis in run_time_strides(operand, strides)}
    if len(strides) == 4 and strides[3] is None:
        names[3] = f"br_stride_{operand}"
    return [names[axis] if stride is None else stride for axis, stride in enumerate(strides)]


def check_access(access: Access, values: dict[str, Any]) -> Place:
    """Return where an operand lies at a call with these arguments; no bytes of it if some extent is 0.

    Raises:
        DTypeError, StrideError: see `PrimitiveKernel`.
    """
    value = values[access.name]
    if access.count and not access.offsets:
        return _check_addresses(access, value)
    strides = tuple(values[s] if isinstance(s, str) else s for s in access.strides)
    if isinstance(value, np.ndarray):
        _check_array(access, value)
    for stride, name in zip(strides, access.strides):
        if isinstance(name, str) and not isinstance(stride, int):
            raise DTypeError(f"{name} is an array\n  Pass an integer, in elements.")
    if 0 in access.sizes:
        return Place(access.name, _address(value), 0, 0, strides, False)
    _check_leading(access, strides)
    size = np.dtype(access.dtype).itemsize
    ends = [(extent - 1) * stride for extent, stride in zip(access.sizes, strides)]
    offsets = _checked_offsets(access, values)
    low = sum(min(end, 0) for end in ends) + min(offsets)
    high = sum(max(end, 0) for end in ends) + max(offsets)
    address = _address(value)
    place = Place(
        access.name,
        address,
        address + low * size,
        address + (high + 1) * size,
        tuple(stride * size for stride in strides),
        isinstance(value, np.ndarray),
        tuple(offset * size for offset in offsets),
    )
    if isinstance(value, np.ndarray):
        _check_reach(place, value, low, high)
    return place


def _checked_offsets(access: Access, values: dict[str, Any]) -> list[int]:
    """Return the offsets of a listed batch in elements; the list of an address is taken as it is."""
    offsets = values[access.offsets] if access.offsets else 0
    if not isinstance(offsets, np.ndarray):
        return [0]
    _check_list(access.offsets, offsets, access.count)
    return [int(offset) for offset in offsets[: access.count]] or [0]


def _check_addresses(access: Access, value: Any) -> Place:
    if isinstance(value, np.ndarray):
        _check_list(access.name, value, access.count)
    return Place(access.name, _address(value), 0, 0, (), False)


def _check_list(name: str, array: np.ndarray[Any, Any], count: int) -> None:
    if array.dtype not in (np.dtype(np.int64), np.dtype(np.uint64)):
        raise DTypeError(f"{name} has type {array.dtype}\n  Pass an array of 64-bit integers, one for each matrix.")
    if array.ndim != 1 or array.size < count or not array.flags.c_contiguous:
        raise ShapeError(f"{name} has shape {array.shape}\n  Pass a contiguous array of {count} integers.")


def _address(value: Any) -> int:
    return value.__array_interface__["data"][0] if isinstance(value, np.ndarray) else value


def _check_array(access: Access, array: np.ndarray[Any, Any]) -> None:
    same_bytes = access.dtype in MOVED and array.dtype.itemsize == MOVED[access.dtype].size
    if array.dtype != np.dtype(access.dtype) and not same_bytes:
        raise DTypeError(f"{access.name} has type {array.dtype}, the kernel takes {access.dtype}\n  Convert the array.")
    if access.written and not array.flags.writeable:
        raise StrideError(f"{access.name} is read-only\n  Pass a writable array.")
    if _address(array) % array.itemsize:
        raise StrideError(f"{access.name} does not begin at a multiple of {array.itemsize} bytes\n  Pass a copy.")


def _check_leading(access: Access, strides: tuple[int, ...]) -> None:
    """A leading dimension is no shorter than what lies contiguous, unless there is only one row or column."""
    contiguous = next((extent for extent, stride in zip(access.sizes, access.strides) if stride == 1), 1)
    for extent, stride, name in zip(access.sizes, strides, access.strides):
        if isinstance(name, str) and name.startswith("ld_") and extent > 1 and stride < contiguous:
            raise StrideError(
                f"{name} is {stride}, but {contiguous} elements of {access.name} lie side by side\n"
                f"  Pass a leading dimension of {contiguous} or more."
            )


def _check_reach(place: Place, array: np.ndarray[Any, Any], low: int, high: int) -> None:
    first, end = byte_span(array)
    if place.low < first or place.high > end:
        size = array.itemsize
        raise StrideError(
            f"{place.name}: the kernel reaches elements {low} to {high}, the array holds "
            f"{(first - place.address) // size} to {(end - place.address) // size - 1}\n"
            "  Pass a larger array, or mend sizes and strides."
        )


def check_overlaps(accesses: tuple[Access, ...], places: list[Place], in_place: bool) -> None:
    """Refuse an output array that shares bytes with an input array; exact, unless that takes too long to find out.

    With `in_place` an input may be the output itself, element for element.

    Raises:
        OverlapError: they overlap.
    """
    output, written = places[-1], accesses[-1]
    if not output.is_array:
        return
    for access, place in zip(accesses[:-1], places[:-1]):
        if not place.is_array or place.high <= output.low or output.high <= place.low:
            continue
        same = place.shifts == (0,) and _elements(access, place) == _elements(written, output)
        if not (in_place and same) and _share(access, place, written, output):
            raise OverlapError(
                f"{written.name} shares memory with {access.name}\n  Pass arrays whose elements do not overlap."
            )


def _elements(access: Access, place: Place) -> tuple[object, ...]:
    """Return what two operands have in common if they are the same elements in the same order."""
    strides = [stride for stride, extent in zip(place.strides, access.sizes) if extent > 1]
    return place.address, access.dtype, access.sizes, strides


def _share(first: Access, place: Place, second: Access, other: Place) -> bool:
    try:
        return any(
            np.shares_memory(_view(first, place, shift), _view(second, other, 0), max_work=SOLVER_WORK)
            for shift in place.shifts
        )
    except np.exceptions.TooHardError:
        return True


def _view(access: Access, place: Place, shift: int) -> np.ndarray[Any, Any]:
    """Return an array that has the operand's addresses; it is never read."""
    interface = {
        "version": 3,
        "data": (place.address + shift, True),
        "shape": access.sizes,
        "strides": place.strides,
        "typestr": np.dtype(access.dtype).str,
    }
    return np.asarray(type("View", (), {"__array_interface__": interface})())
