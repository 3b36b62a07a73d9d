"""What a primitive reaches of its arguments: regions of memory, from arrays and strides. It computes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from einloom.arrays.check import check_alignment, check_dtype, check_reach, check_writable
from einloom.arrays.library import Imported, region_of
from einloom.arrays.region import Region
from einloom.dtypes import MOVED
from einloom.errors import DTypeError, ShapeError, StrideError
from einloom.frozen import frozen
from einloom.kernels.specs import BatchBy, Brgemm, Reduce, Spec, Stride, Unary, run_time_strides

__all__ = ["Arguments", "Parameter", "parameters_of", "regions_of"]

Arguments = Mapping[str, Imported | int | None]
"""What a primitive is called with, by name: arrays, numbers, or nothing."""


@frozen
class Parameter:
    """One parameter of a primitive that points to memory.

    Attributes:
        name: of the argument that it takes.
        dtype: NumPy's name of its type.
        sizes: extents of the axes that it depends on.
        strides: one for each, in elements, or the name of the argument that holds it.
        written: whether it is the output.
        listed: whether an array lists the matrices of a batch.
        count: how many it lists.
        offsets: the argument that holds them as offsets in elements; empty: the operand itself holds their addresses.
    """

    name: str
    dtype: str
    sizes: tuple[int, ...]
    strides: tuple[int | str, ...]
    written: bool
    listed: bool = False
    count: int = 0
    offsets: str = ""


def parameters_of(spec: Spec) -> tuple[Parameter, ...]:
    """Return the parameters of a spec, the output last."""
    sizes = (spec.m, spec.n, spec.k, spec.batch) if isinstance(spec, Brgemm) else (spec.m, spec.n)
    names = [name for name in ("a", "b", "c", "d") if getattr(spec, name, None) is not None]
    if isinstance(spec, Unary) and spec.op == "zero":
        names = ["b"]
    found: list[Parameter] = []
    for name in names:
        strides = _named(name, getattr(spec, name))
        if isinstance(spec, Reduce) and name == "b":
            found.append(Parameter(name, spec.types[name].name, (getattr(spec, spec.kept),), (1,), True))
            continue
        axes = [axis for axis, stride in enumerate(strides) if stride != 0]
        parameter = Parameter(
            name,
            spec.types[name].name,
            tuple(sizes[axis] for axis in axes),
            tuple(strides[axis] for axis in axes),
            name == names[-1],
        )
        if isinstance(spec, Brgemm) and spec.batch_by is not BatchBy.STRIDE and name != "c":
            offsets = f"offsets_{name}" if spec.batch_by is BatchBy.OFFSETS else ""
            parameter = replace(parameter, listed=True, count=spec.batch, offsets=offsets)
        found.append(parameter)
    return tuple(found)


def _named(operand: str, strides: tuple[Stride, ...]) -> list[int | str]:
    names: dict[int, str] = {axis: name for name, axis in run_time_strides(operand, strides)}
    if len(strides) == 4 and strides[3] is None:
        names[3] = f"br_stride_{operand}"
    return [names[axis] if stride is None else stride for axis, stride in enumerate(strides)]


def regions_of(parameter: Parameter, arguments: Arguments) -> list[Region]:
    """Return what an operand reaches at a call: a region for each matrix of a listed batch, one otherwise.

    Matrices of which only addresses are known are left out.

    Raises:
        DTypeError, ShapeError, StrideError: see `PrimitiveKernel`.
    """
    given = arguments[parameter.name]
    if given is None:
        raise DTypeError(f"{parameter.name} is None\n  Pass an array or an address.")
    if parameter.listed and not parameter.offsets:
        if isinstance(given, Imported):
            _check_list(parameter.name, given.array, parameter.count)
        return []
    strides = tuple(_stride(stride, arguments) for stride in parameter.strides)
    if isinstance(given, Imported):
        _check_type(parameter, given)
    if 0 not in parameter.sizes:
        _check_leading(parameter, strides)
    offsets = _offsets(parameter, arguments)
    return [] if isinstance(given, int) else _regions_of_array(parameter, given, strides, offsets)


def _regions_of_array(
    parameter: Parameter, given: Imported, strides: tuple[int, ...], offsets: list[int]
) -> list[Region]:
    size = given.array.itemsize
    region = region_of(
        parameter.name, given, parameter.sizes, tuple(stride * size for stride in strides), parameter.written
    )
    check_alignment(region)
    regions = [region.shifted(offset * size) for offset in offsets]
    for each in regions:
        check_reach(each)
    return regions


def _stride(stride: int | str, arguments: Arguments) -> int:
    if isinstance(stride, int):
        return stride
    value = arguments[stride]
    if isinstance(value, int):
        return value
    kind = "None" if value is None else "an array"
    raise DTypeError(f"{stride} is {kind}\n  Pass an integer, in elements.")


def _offsets(parameter: Parameter, arguments: Arguments) -> list[int]:
    """Return the offsets of a listed batch in elements; the list of an address is taken as it is."""
    if not parameter.offsets:
        return [0]
    given = arguments[parameter.offsets]
    if given is None:
        raise DTypeError(f"{parameter.offsets} is None\n  Pass an array of 64-bit integers, or its address.")
    if isinstance(given, int):
        return [0]
    _check_list(parameter.offsets, given.array, parameter.count)
    return [int(offset) for offset in given.array[: parameter.count]]


def _check_list(name: str, array: np.ndarray[Any, Any], count: int) -> None:
    if array.dtype not in (np.dtype(np.int64), np.dtype(np.uint64)):
        raise DTypeError(f"{name} has type {array.dtype}\n  Pass an array of 64-bit integers, one for each matrix.")
    if array.ndim != 1 or array.size < count or not array.flags.c_contiguous:
        raise ShapeError(f"{name} has shape {array.shape}\n  Pass a contiguous array of {count} integers.")
    check_alignment(region_of(name, Imported(array, str(array.dtype))))


def _check_type(parameter: Parameter, given: Imported) -> None:
    same_bytes = parameter.dtype in MOVED and given.array.dtype.itemsize == MOVED[parameter.dtype].size
    if not same_bytes:
        check_dtype(parameter.name, given.dtype, parameter.dtype)
    if parameter.written:
        check_writable(parameter.name, given.array.flags.writeable)


def _check_leading(parameter: Parameter, strides: tuple[int, ...]) -> None:
    """A leading dimension is no shorter than what lies contiguous, unless there is only one row or column."""
    contiguous = next((extent for extent, stride in zip(parameter.sizes, parameter.strides) if stride == 1), 1)
    for extent, stride, name in zip(parameter.sizes, strides, parameter.strides):
        if isinstance(name, str) and name.startswith("ld_") and extent > 1 and stride < contiguous:
            raise StrideError(
                f"{name} is {stride}, but {contiguous} elements of {parameter.name} lie side by side\n"
                f"  Pass a leading dimension of {contiguous} or more."
            )
