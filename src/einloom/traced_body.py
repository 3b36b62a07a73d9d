"""`TracedBody`: a function of symbolic indices and tensors, compiled with its loops to one native function."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from einloom.arrays.check import check_alignment, check_disjoint, check_itself, check_writable
from einloom.arrays.library import Array, incoming, is_array
from einloom.arrays.region import Region
from einloom.dtypes import DType, data_type
from einloom.errors import DTypeError, ScheduleError, StrideError
from einloom.ir.nest import Nest
from einloom.jit.arrays import array_address
from einloom.jit.host import host
from einloom.loops.nest import LETTERS, LoopNest
from einloom.loops.trace.compile import Compiled, compile_body
from einloom.once import OnceTable
from einloom.targets.team_executable import TeamExecutable

__all__ = ["TracedBody"]

CACHED = 64
"""Kinds of arguments for which a body keeps its code."""

Key = tuple[tuple[tuple[int, ...], tuple[int, ...], str], ...]


class TracedBody:
    """A body that was handed to `ThreadedLoop.body`; call it with its tensors by keyword.

    Args:
        nest: the loops around it.
        function: takes one index for each loop, then tensors.

    Raises:
        ScheduleError: it takes fewer arguments than there are loops, or others than plain ones.
    """

    def __init__(self, nest: LoopNest, function: Callable[..., Any]) -> None:
        self.loops = nest
        self.function = function
        kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        parameters = list(inspect.signature(function).parameters.values())
        count = len(nest.specs)
        if len(parameters) < count or any(parameter.kind not in kinds for parameter in parameters):
            raise ScheduleError(
                f"{function.__name__} has {len(parameters)} parameters, not {count} indices and then tensors\n"
                f"  Write def {function.__name__}({', '.join(LETTERS[:count])}, A, …)."
            )
        self.names = tuple(parameter.name for parameter in parameters[count:])
        self._table: OnceTable[_Executable] = OnceTable(CACHED)

    def __call__(self, **tensors: Array) -> None:
        """Run the loops.

        Args:
            tensors: arrays by the names that the body gives them. Those that it writes are written in place.

        Raises:
            ScheduleError: a tensor is missing or unknown; or the body cannot be traced, or has a race.
            DTypeError, ShapeError, StrideError, OverlapError: a tensor that does not fit; nothing has been written.
        """
        arrays = self._arrays(tensors)
        self._compiled(arrays).run(arrays)

    def show(self, what: str = "nest", **tensors: Array) -> str:
        """Return the nest (`"nest"`) or the machine code (`"asm"`) for such tensors as text."""
        if what not in ("nest", "asm"):
            raise ScheduleError(f"show({what!r})\n  Show 'nest' or 'asm'.")
        built = self._compiled(self._arrays(tensors))
        return built.text if what == "nest" else built.executable.kernel.listing()

    def nest(self, **tensors: Array) -> Nest:
        """Return the nest for such tensors."""
        return self._compiled(self._arrays(tensors)).executable.nest

    def _arrays(self, tensors: dict[str, Array]) -> list[Array]:
        if tensors.keys() != set(self.names):
            missing = ", ".join(sorted(set(self.names) - tensors.keys())) or "none"
            unknown = ", ".join(sorted(tensors.keys() - set(self.names))) or "none"
            raise ScheduleError(
                f"{self.function.__name__}: missing tensors: {missing}; unknown ones: {unknown}\n"
                f"  Pass {', '.join(f'{name}=…' for name in self.names)}."
            )
        return [_checked(name, tensors[name]) for name in self.names]

    def _compiled(self, arrays: list[Array]) -> _Executable:
        key = tuple((array.shape, array.strides, array.dtype.name) for array in arrays)
        return self._table.get(key, lambda: self._build(key))

    def _build(self, key: Key) -> _Executable:
        arguments: dict[str, tuple[tuple[int, ...], tuple[int, ...], DType]] = {}
        for name, (shape, strides, dtype) in zip(self.names, key):
            size = np.dtype(dtype).itemsize
            arguments[name] = shape, tuple(stride // size for stride in strides), data_type(dtype)
        return _Executable(compile_body(self.loops, self.function, arguments), self.names, key)

    def __repr__(self) -> str:
        return f"TracedBody({self.function.__name__}({', '.join(self.names)}), {str(self.loops.string)!r})"


class _Executable:
    """A compiled body for arguments of one kind."""

    def __init__(self, compiled: Compiled, names: tuple[str, ...], key: Key) -> None:
        self.text = str(compiled)
        self._written = compiled.written
        self._names = names
        for name, (shape, strides, dtype) in zip(names, key):
            if name in self._written:
                size = np.dtype(dtype).itemsize
                check_itself(Region(name, 0, shape, strides, size, dtype))
        self.executable = TeamExecutable(compiled.nest, host())

    def run(self, arrays: list[Array]) -> None:
        regions = [self._region(name, array) for name, array in zip(self._names, arrays)]
        for region in regions:
            check_alignment(region)
        check_disjoint(regions)
        self.executable([region.address for region in regions])

    def _region(self, name: str, array: Array) -> Region:
        written = name in self._written
        if written:
            check_writable(name, array.flags.writeable)
        address, size = array_address(array), array.itemsize
        region = Region(name, address, array.shape, array.strides, size, array.dtype.name, written)
        return Region(name, address, array.shape, array.strides, size, array.dtype.name, written, buffer=region.span)


def _checked(name: str, thing: object) -> Array:
    if not is_array(thing):
        raise DTypeError(f"{name} is a {type(thing).__name__}\n  Pass an array.")
    array = incoming(thing, name).array
    data_type(array.dtype)
    if any(stride % array.itemsize for stride in array.strides):
        raise StrideError(f"{name} has byte strides {array.strides}, no multiples of {array.itemsize}\n  Pass a copy.")
    return array
