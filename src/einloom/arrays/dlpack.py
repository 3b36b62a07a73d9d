"""DLPack: memory of other libraries as NumPy arrays without a copy, with types that NumPy lacks, and the way back.

Source: https://dmlc.github.io/dlpack/latest/c_api.html. NumPy's own reader knows neither bfloat16 nor writable memory
of older exporters, so the structure is read here. The capsule is never consumed: while it lives, so does the memory.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np

from einloom.errors import DTypeError
from einloom.frozen import frozen

__all__ = ["DeviceMemory", "Exporter", "Imported", "Relabelled", "device_memory", "imported"]

Array = np.ndarray[Any, Any]

_CPU = (1, 3)  # kDLCPU, kDLCUDAHost: both are ordinary memory
_KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}
_BFLOAT = 4
_READ_ONLY = 1


@runtime_checkable
class Exporter(Protocol):
    """What gives its memory away."""

    def __dlpack__(self, **options: Any) -> Any: ...


class _Device(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int32), ("id", ctypes.c_int32))


class _Type(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _Type),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


@frozen
class Imported:
    """Memory of another library.

    Attributes:
        array: the memory as a NumPy array; of unsigned integers of the same size where NumPy lacks the type.
        dtype: the name of the type of its elements.
    """

    array: Array
    dtype: str


@runtime_checkable
class Negatable(Protocol):
    """An array that may stand for the negative of what its memory holds: torch's imaginary part of a conjugate."""

    def is_neg(self) -> bool:
        """Return whether it does."""
        ...


class _Memory:
    """What NumPy makes an array of; the array keeps it, and it keeps the capsule."""

    def __init__(self, capsule: object, interface: dict[str, Any]) -> None:
        self._capsule = capsule
        self.__array_interface__ = interface


def imported(exporter: Exporter, name: str) -> Imported:
    """Return another library's memory; `name` is what messages call it.

    Raises:
        DTypeError: its library refuses, it has no memory, or none of this process, or NumPy has no room for its type.
    """
    capsule = _given_capsule(exporter, name)
    tensor, is_writable = _tensor_of(capsule, name)
    if is_writable is None:
        is_writable = _may_be_written(exporter)
    if tensor.device.type not in _CPU:
        raise DTypeError(
            f"{name} lies on device {tensor.device.type} of DLPack, not in main memory\n"
            "  Copy it there, or compute where it lies: target='cuda'."
        )
    typestr, dtype = _type_of(tensor.dtype, name)
    size = np.dtype(typestr).itemsize
    shape = tuple(tensor.shape[axis] for axis in range(tensor.ndim))
    if not tensor.data and 0 not in shape:
        raise DTypeError(f"{name} has a shape, but no memory\n  Pass an array that holds numbers.")
    strides = tuple(tensor.strides[axis] * size for axis in range(tensor.ndim)) if tensor.strides else None
    interface = {
        "version": 3,
        "data": ((tensor.data or 0) + tensor.byte_offset, not is_writable),
        "shape": shape,
        "strides": strides,
        "typestr": typestr,
    }
    return Imported(np.asarray(_Memory(capsule, interface)), dtype)


@frozen
class DeviceMemory:
    """Memory of a device, that no array of NumPy's can stand for: strides and size of an element are in bytes."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    size: int
    dtype: str
    capsule: object


def device_memory(exporter: Exporter, name: str, stream: int) -> DeviceMemory:
    """Return the memory of an array on a device; its library makes `stream` wait for what it has started.

    Raises:
        DTypeError: its library refuses, or nothing here has its type.
    """
    capsule = _given_capsule(exporter, name, stream=stream)
    tensor, _ = _tensor_of(capsule, name)
    typestr, dtype = _type_of(tensor.dtype, name)
    size = np.dtype(typestr).itemsize
    shape = tuple(tensor.shape[axis] for axis in range(tensor.ndim))
    steps = tensor.strides or _dense(shape)
    strides = tuple(steps[axis] * size for axis in range(tensor.ndim))
    return DeviceMemory((tensor.data or 0) + tensor.byte_offset, shape, strides, size, dtype, capsule)


def _dense(shape: tuple[int, ...]) -> list[int]:
    steps = [1] * len(shape)
    for axis in reversed(range(len(shape) - 1)):
        steps[axis] = steps[axis + 1] * shape[axis + 1]
    return steps


def _given_capsule(exporter: Exporter, name: str, **options: Any) -> object:
    if isinstance(exporter, Negatable) and exporter.is_neg():  # which DLPack does not say
        raise DTypeError(f"{name} is the negative of what its memory holds\n  Pass {name}.resolve_neg().")
    try:
        return _capsule(exporter, options)
    except Exception as error:  # of the other library, of whatever class
        raise DTypeError(f"{name}: its library does not give its memory away: {error}\n  Pass a copy of it.") from error


def _capsule(exporter: Exporter, options: dict[str, Any]) -> object:
    try:
        return exporter.__dlpack__(max_version=(1, 0), **options)
    except TypeError:  # an exporter from before version 1, whose memory may be written
        return exporter.__dlpack__(**options)


def _may_be_written(exporter: Exporter) -> bool:
    """Whether memory may be written of which a capsule from before version 1 does not tell, as JAX's: NumPy knows."""
    try:
        return np.asarray(exporter).flags.writeable
    except Exception:  # of the other library, of whatever class: a type that NumPy lacks, or no `__array__`
        return True


def _tensor_of(capsule: object, name: str) -> tuple[_Tensor, bool | None]:
    """Return the description inside a capsule, and whether the memory may be written; None: it does not say."""
    pointer: Callable[..., int] = ctypes.pythonapi.PyCapsule_GetPointer
    valid: Callable[..., int] = ctypes.pythonapi.PyCapsule_IsValid
    for function, result in ((pointer, ctypes.c_void_p), (valid, ctypes.c_int)):
        function.restype = result  # type: ignore[attr-defined]
        function.argtypes = [ctypes.py_object, ctypes.c_char_p]  # type: ignore[attr-defined]
    if valid(capsule, b"dltensor_versioned"):
        versioned = _Versioned.from_address(pointer(capsule, b"dltensor_versioned"))
        return versioned.tensor, not versioned.flags & _READ_ONLY
    if not valid(capsule, b"dltensor"):
        raise DTypeError(f"{name}: its library gives no capsule of DLPack that can be read\n  Pass a copy of it.")
    return _Tensor.from_address(pointer(capsule, b"dltensor")), None


def _type_of(found: _Type, name: str) -> tuple[str, str]:
    """Return NumPy's code of the type that stands for the elements, and the name of their own."""
    size, rest = divmod(found.bits, 8)
    if rest == 0 and found.lanes == 1:
        if found.code in _KINDS:
            typestr = f"{'|' if size == 1 else '='}{_KINDS[found.code]}{size}".replace("=", np.dtype("i4").str[0])
            try:
                return typestr, str(np.dtype(typestr))
            except TypeError:
                pass
        if found.code == _BFLOAT and size == 2:
            return np.dtype(np.uint16).str, "bfloat16"
    raise DTypeError(
        f"{name} has elements of {found.bits} bits, code {found.code} of DLPack, {found.lanes} lanes\n"
        "  Convert it to a type that NumPy or einloom knows."
    )


class Relabelled:
    """A NumPy array of `uint16` that goes out through DLPack as an array of `bfloat16`."""

    def __init__(self, array: Array) -> None:
        self._array = array

    def __dlpack__(self, **options: Any) -> object:
        capsule = self._array.__dlpack__(**options)
        tensor, _ = _tensor_of(capsule, "the array")
        tensor.dtype.code = _BFLOAT
        return capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()
