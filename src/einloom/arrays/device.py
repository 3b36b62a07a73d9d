"""Arrays that lie in a device's memory already: `pyopencl.array.Array`, and those of CUDA by DLPack (CuPy, torch).

Nothing is imported for it: an array of a library is there only where the library is.

>>> home_of([1.0, 2.0]) is None
True
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

from einloom.arrays.check import check_alignment, check_disjoint
from einloom.arrays.dlpack import Exporter, device_memory
from einloom.arrays.library import OfNamespace
from einloom.arrays.region import Region, reach_of
from einloom.errors import DeviceError, DTypeError, StrideError
from einloom.frozen import frozen

__all__ = ["DeviceArray", "Home", "check_apart", "device_array", "fresh_like", "home_of"]

CUDA = (2, 13)
"""DLPack's numbers for memory that kernels of CUDA reach: kDLCUDA, kDLCUDAManaged."""


@frozen
class Home:
    """Where arrays lie: the kind of driver, and of CUDA the device's number, of OpenCL the context."""

    kind: str
    place: Hashable


@frozen(eq=False)
class DeviceArray:
    """An array in a device's memory.

    Attributes:
        home: where.
        memory: what kernels are given: a buffer of OpenCL, or CUDA's address of the first element.
        region: its elements; addresses count from the beginning of `memory` in OpenCL, and are CUDA's there.
        queue: OpenCL's, on which others use it.
        thing: the library's array.
        keeper: what keeps the memory alive beside it.
    """

    home: Home
    memory: Any
    region: Region
    queue: Any
    thing: Any
    keeper: Any = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        return tuple(self.region.extents)

    @property
    def strides(self) -> tuple[int, ...]:
        """In elements; 0 along axes of extent 1."""
        pairs = zip(self.region.extents, self.region.strides)
        return tuple(stride // self.region.size if extent > 1 else 0 for extent, stride in pairs)


@runtime_checkable
class Resizable(Protocol):
    """torch's tensors, whose own method makes fresh ones like them."""

    def new_empty(self, size: Sequence[int]) -> Any:
        """Return a fresh tensor of the same type on the same device."""
        ...


@runtime_checkable
class Located(Protocol):
    """What tells DLPack where it lies."""

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return the kind of the device and its number."""
        ...


def home_of(thing: object) -> Home | None:
    """Return where an array lies; None if it is none, or lies in main memory."""
    opencl: Any = sys.modules.get("pyopencl.array")
    if opencl is not None and isinstance(thing, opencl.Array):
        found: Any = thing
        return Home("opencl", found.context)
    if not isinstance(thing, Located):
        return None
    try:
        kind, number = map(int, thing.__dlpack_device__())
    except Exception as error:  # of the other library, of whatever class
        name = type(thing).__name__
        raise DTypeError(f"a {name} does not tell where it lies: {error}\n  Pass an array of NumPy's.") from error
    return Home("cuda", number) if kind in CUDA else None


def device_array(thing: Any, home: Home, name: str, stream: int = 0, written: bool = False) -> DeviceArray:
    """Return an array of a device in place.

    Args:
        thing: the library's array.
        home: where it has to lie.
        name: what messages call it.
        stream: CUDA's handle of the stream that will use it, which its library lets wait for what it has started.
        written: whether it takes a result.

    Raises:
        DeviceError: it lies elsewhere, or its library does not give its memory away.
        DTypeError: it has elements of a type that no array has here.
        StrideError: its elements do not lie at multiples of their size, or not in their buffer, or that was made
            for reading or writing alone.
    """
    found = home_of(thing)
    if found != home:
        lies = "main memory" if found is None else f"another {found.kind} device or context"
        raise DeviceError(f"{name} lies in {lies}, the other arrays on one {home.kind} device\n  Copy it there.")
    array = _of_opencl(thing, home, name, written) if home.kind == "opencl" else _of_cuda(thing, home, name, stream)
    array = replace(array, region=replace(array.region, written=written))
    check_alignment(array.region)
    return array


def _of_opencl(thing: Any, home: Home, name: str, written: bool) -> DeviceArray:
    cl: Any = sys.modules["pyopencl"]
    memory: Any = thing.base_data
    offset, size = thing.offset, thing.dtype.itemsize
    if not isinstance(memory, cl.MemoryObjectHolder):
        if thing.size:
            kind = type(memory).__name__
            raise DeviceError(f"{name} lies in a {kind}, no buffer of OpenCL\n  Allocate it without SVM.")
        region = Region(name, 0, tuple(thing.shape), tuple(thing.strides), size, str(thing.dtype))
        return DeviceArray(home, None, region, thing.queue, thing)  # It has no element, and no buffer.
    _check_inside(thing, memory.get_info(cl.mem_info.SIZE), name)
    refused, lacks = (cl.mem_flags.READ_ONLY, "write") if written else (cl.mem_flags.WRITE_ONLY, "read")
    if memory.get_info(cl.mem_info.FLAGS) & refused:
        raise StrideError(f"{name} lies in a buffer that kernels must not {lacks}\n  Allocate it with READ_WRITE.")
    parent = memory.get_info(cl.mem_info.ASSOCIATED_MEMOBJECT)
    if parent is not None:  # A part of a buffer: whether two overlap is seen in the whole alone.
        memory, offset = parent, offset + memory.get_info(cl.mem_info.OFFSET)
    buffer = 0, memory.get_info(cl.mem_info.SIZE)
    region = Region(name, offset, tuple(thing.shape), tuple(thing.strides), size, str(thing.dtype), False, buffer)
    return DeviceArray(home, memory, region, thing.queue, thing)


def _check_inside(thing: Any, size: int, name: str) -> None:
    """Refuse an array that reaches beyond its buffer: pyopencl makes any that is asked for."""
    low, high = reach_of(tuple(thing.shape), tuple(thing.strides), thing.dtype.itemsize)
    if high > low and not 0 <= thing.offset + low <= thing.offset + high <= size:
        raise StrideError(
            f"{name} reaches from byte {thing.offset + low} to {thing.offset + high} of a buffer of {size}\n"
            "  Pass an array that lies in its buffer."
        )


def _of_cuda(thing: Exporter, home: Home, name: str, stream: int) -> DeviceArray:
    found = device_memory(thing, name, stream)
    low, high = reach_of(found.shape, found.strides, found.size)
    buffer = found.address + low, found.address + high
    region = Region(name, found.address, found.shape, found.strides, found.size, found.dtype, False, buffer)
    return DeviceArray(home, found.address, region, None, thing, found.capsule)


def check_apart(inputs: Sequence[DeviceArray], out: DeviceArray, where: str) -> None:
    """Refuse an output that shares bytes with an operand.

    Raises:
        OverlapError: it does.
    """
    beside = [each.region for each in inputs if out.home.kind == "cuda" or each.memory == out.memory]
    check_disjoint([*beside, out.region], where=where)


def fresh_like(pattern: Any, shape: tuple[int, ...]) -> Any:
    """Return a fresh C-contiguous array of the library, the device and the type of another one.

    Raises:
        DeviceError: its library has no room, or says not how arrays are made.
    """
    try:
        opencl: Any = sys.modules.get("pyopencl.array")
        if opencl is not None and isinstance(pattern, opencl.Array):
            like: Any = pattern
            return opencl.Array(like.queue or like.context, shape, like.dtype, allocator=like.allocator)
        if isinstance(pattern, Resizable):
            return pattern.new_empty(shape)
        array: Any = pattern
        if isinstance(pattern, OfNamespace):
            return pattern.__array_namespace__().empty(shape, dtype=array.dtype, device=array.device)
        library = importlib.import_module(type(array).__module__.partition(".")[0])
        return library.empty(shape, dtype=array.dtype)
    except Exception as error:  # of the other library, of whatever class
        raise DeviceError(f"{type(pattern).__name__} makes no array of shape {shape}: {error}\n  Pass out=.") from error
