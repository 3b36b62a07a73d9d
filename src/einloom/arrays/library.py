"""How arrays come in and go out: NumPy's and their subclasses, other libraries' through DLPack, whatever is array-like.

>>> incoming([[1, 2], [3, 4]], "operand 0").array.shape
(2, 2)
"""

from __future__ import annotations

import sys
from functools import lru_cache
from numbers import Number
from typing import Any, Protocol, runtime_checkable

import numpy as np

from einloom.arrays.dlpack import Exporter, Imported, Relabelled, imported
from einloom.arrays.region import Region, reach_of
from einloom.dtypes import BFLOAT16
from einloom.errors import DTypeError, ShapeError
from einloom.jit.arrays import array_address

__all__ = [
    "Array",
    "Imported",
    "array_of",
    "element_strides",
    "incoming",
    "is_array",
    "is_numpys",
    "label_of",
    "outgoing",
    "region_of",
]

Array = np.ndarray[Any, Any]


@runtime_checkable
class OfNamespace(Protocol):
    """An array whose functions the array API standard names."""

    def __array_namespace__(self) -> Any:
        """Return the module that holds them."""
        ...


@runtime_checkable
class Library(Protocol):
    """A module that makes arrays of its own of others' memory."""

    def from_dlpack(self, array: Any, /) -> Any:
        """Return an array of the same memory."""
        ...


def is_array(thing: object) -> bool:
    """Return whether a thing is an array of some library, and no number, list or address."""
    return isinstance(thing, np.ndarray | Imported) or _is_foreign(type(thing))


@lru_cache(maxsize=1024)
def is_numpys(kind: type) -> bool:
    """Return whether NumPy makes arrays of a class's things by itself: its own, nested sequences and numbers."""
    return kind in (list, tuple, bool, int, float, complex) or issubclass(kind, (np.ndarray, np.generic))


def incoming(thing: Any, name: str) -> Imported:
    """Return an operand's memory as a plain NumPy array, without a copy of what is an array already.

    Subclasses of NumPy's arrays become plain arrays of the same memory.

    Raises:
        DTypeError: a masked array, whose mask would be lost; memory that its library does not give away; a type whose
            elements are not in their array.
        ShapeError: nested lists of unequal length.
    """
    if type(thing) is np.ndarray:
        return Imported(thing, label_of(thing.dtype))
    if type(thing) is Imported:
        return thing
    if isinstance(thing, np.ma.MaskedArray):
        raise DTypeError(f"{name} is a masked array, and its mask would be lost\n  Pass {name}.filled(…).")
    if _is_foreign(type(thing)):
        return imported(thing, name)
    if type(thing).__module__.startswith("pyopencl"):
        raise DTypeError(
            f"{name} lies on a device of OpenCL\n  Compute where it lies, target='opencl', or pass its get()."
        )
    try:
        array = np.asarray(thing)
    except ValueError as error:
        raise ShapeError(f"{name} is no array: {error}\n  Pass rows of one length.") from error
    except Exception as error:  # of whatever class another library's __array__ raises
        raise DTypeError(f"{name} is no array: {error}\n  Pass an array.") from error
    if array.dtype.hasobject and not array.ndim and not isinstance(thing, Number):
        raise DTypeError(f"{name} is a {type(thing).__name__}, no array and no number\n  Pass an array.")
    return Imported(array, label_of(array.dtype))


def array_of(thing: Any, name: str, where: str = "") -> Imported:
    """Return the memory of what must be an array already, such as an output; `where` is quoted in the message.

    Raises:
        DTypeError: it is none, or as for `incoming`.
    """
    if not is_array(thing):
        place = f"\n  {where}" if where else ""
        raise DTypeError(f"{name} is a {type(thing).__name__}, not an array{place}\n  Pass an array.")
    return incoming(thing, name)


def outgoing(result: Any, dtype: str, pattern: Any) -> Any:
    """Return a fresh result in the library that `pattern`, the first operand, came from; NumPy's if that takes none."""
    if type(pattern) is np.ndarray or not _is_foreign(type(pattern)):
        return result
    array = np.asarray(result)
    if isinstance(pattern, OfNamespace):
        library = pattern.__array_namespace__()
    else:
        library = sys.modules.get(type(pattern).__module__.partition(".")[0])
    if not isinstance(library, Library):
        return result
    return library.from_dlpack(Relabelled(array.view(np.uint16)) if dtype == BFLOAT16.name else array)


def region_of(
    name: str,
    given: Imported,
    extents: tuple[int, ...] | None = None,
    strides: tuple[int, ...] | None = None,
    written: bool = False,
) -> Region:
    """Return the region of an array: its own elements, or those of these extents and strides in bytes from its first.

    The buffer is what the array itself reaches.
    """
    array = given.array
    address, size = array_address(array), array.itemsize
    low, high = reach_of(array.shape, array.strides, size)
    buffer = address + low, address + high
    if extents is None or strides is None:
        return Region(name, address, array.shape, array.strides, size, given.dtype, written, buffer)
    return Region(name, address, extents, strides, size, given.dtype, written, buffer)


def element_strides(array: Array) -> tuple[int, ...] | None:
    """Return the strides in elements, or None if some stride is no whole number of elements.

    Axes of extent 1 get stride 0: theirs is never used, and NumPy leaves any number there.
    """
    size = max(array.itemsize, 1)
    strides: list[int] = []
    for extent, stride in zip(array.shape, array.strides):
        steps, rest = divmod(stride, size)
        if rest and extent > 1:
            return None
        strides.append(steps if extent > 1 else 0)
    return tuple(strides)


@lru_cache(maxsize=1024)
def label_of(dtype: np.dtype[Any]) -> str:
    """The name of a type, with its byte order where that is not the machine's.

    Raises:
        DTypeError: NumPy's texts of any length, whose letters lie outside their array.
    """
    if dtype.kind == "T":
        raise DTypeError(f"no code for elements of type {dtype}\n  Convert the array: astype('U').")
    return str(dtype)


@lru_cache(maxsize=1024)
def _is_foreign(kind: type) -> bool:
    """Whether things of a class are arrays of another library; remembered, for asking a protocol takes long."""
    return issubclass(kind, Exporter) and not issubclass(kind, (np.ndarray, np.generic))
