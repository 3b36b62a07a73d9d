"""`TracedBody`: a function of symbolic indices and tensors, compiled with its loops to one native function."""

from __future__ import annotations

import ctypes
import inspect
import sys
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

from einloom.arrays.chain import Chain
from einloom.arrays.check import check_alignment, check_disjoint, check_itself, check_writable
from einloom.arrays.entry import Apart, Call, Data, Entry, Scratch
from einloom.arrays.library import Imported, array_of, region_of
from einloom.arrays.region import Region
from einloom.arrays.signature import MOST_SCRATCH, array_argument, signature_of
from einloom.dtypes import DType, data_type
from einloom.errors import ScheduleError, StrideError
from einloom.ir import nest as ir
from einloom.ir.nest import Nest
from einloom.jit.entrycode import Number
from einloom.jit.host import host
from einloom.jit.native import Native
from einloom.jit.scratch import scratch_word
from einloom.jit.tiles import host_with_tiles
from einloom.loops.nest import LETTERS, LoopNest
from einloom.loops.trace.captured import trace_key
from einloom.loops.trace.compile import Compiled, compile_body
from einloom.machine import Machine
from einloom.once import OnceTable, once
from einloom.targets.cpu import lower_nest
from einloom.targets.executable import Executable, let_others_run
from einloom.targets.image import SYNC_BYTES, image_of

__all__ = ["TracedBody", "traced_body"]

CACHED = 64
"""Kinds of arguments for which a body keeps its code."""

BODIES = 256
"""Bodies that are handed out again for functions that record the same."""

CACHE_LINE = 64

_SUSPENDED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
"""Kinds of functions whose calls do nothing yet."""

Key = tuple[tuple[tuple[int, ...], tuple[int, ...], str], ...]


def traced_body(nest: LoopNest, function: Callable[..., Any]) -> TracedBody:
    """Return the body of a function in these loops: the one that is there, if its function records the same.

    Raises:
        ScheduleError: as `TracedBody`.
    """
    key = trace_key(function)
    return TracedBody(nest, function) if key is None else _bodies.get((key, nest), lambda: TracedBody(nest, function))


class TracedBody(Native):
    """A body that was handed to `ThreadedLoop.body`; call it with its tensors by keyword.

    Args:
        nest: the loops around it.
        function: takes one index for each loop, then tensors.

    Raises:
        ScheduleError: it is no Python function, or takes fewer arguments than there are loops, or others than plain
            ones.
    """

    def __init__(self, nest: LoopNest, function: Callable[..., Any]) -> None:
        if not isinstance(function, FunctionType | MethodType) or function.__code__.co_flags & _SUSPENDED:
            raise ScheduleError(f"the body is {function!r:.80}\n  Write a function: def body(a, …, A, …).")
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
        self._chain = Chain(self, TracedBody.__call__)

    def __call__(self, **tensors: Any) -> None:
        """Run the loops.

        Args:
            tensors: arrays by the names that the body gives them. Those that it writes are written in place.

        Raises:
            ScheduleError: a tensor is missing or unknown; or the body cannot be traced, or has a race.
            DTypeError, ShapeError, StrideError, OverlapError: a tensor that does not fit; nothing has been written.
        """
        given = self._imported(tensors)
        built = self._compiled(given)
        regions = built.regions(self.names, given)
        if all(found.array is tensors[name] for name, found in zip(self.names, given)):
            signature = (*tensors, *(signature_of(found.array) for found in given))
            self._chain.meet(self, signature, lambda: built.describe(tuple(tensors), self.names, given, regions))
        built.executable([region.address for region in regions], self.loops.threads)

    def show(self, what: str = "nest", **tensors: Any) -> str:
        """Return the nest (`"nest"`) or the machine code (`"asm"`) for such tensors as text."""
        if what not in ("nest", "asm"):
            raise ScheduleError(f"show({what!r})\n  Show 'nest' or 'asm'.")
        built = self._compiled(self._imported(tensors))
        return built.text if what == "nest" else lower_nest(built.nest, _machine(built.nest)).assembler.listing()

    def nest(self, **tensors: Any) -> Nest:
        """Return the nest for such tensors."""
        return self._compiled(self._imported(tensors)).nest

    def _imported(self, tensors: dict[str, Any]) -> list[Imported]:
        if tensors.keys() != set(self.names):
            missing = ", ".join(sorted(set(self.names) - tensors.keys())) or "none"
            unknown = ", ".join(sorted(tensors.keys() - set(self.names))) or "none"
            raise ScheduleError(
                f"{self.function.__name__}: missing tensors: {missing}; unknown ones: {unknown}\n"
                f"  Pass {', '.join(f'{name}=…' for name in self.names)}."
            )
        return [_checked(name, tensors[name]) for name in self.names]

    def _compiled(self, given: list[Imported]) -> _Executable:
        key = tuple((found.array.shape, found.array.strides, found.dtype) for found in given)
        return self._table.get(key, lambda: self._build(key))

    def _build(self, key: Key) -> _Executable:
        arguments: dict[str, tuple[tuple[int, ...], tuple[int, ...], DType]] = {}
        for name, (shape, strides, dtype) in zip(self.names, key):
            size = data_type(dtype).size
            arguments[name] = shape, tuple(stride // size for stride in strides), data_type(dtype)
        compiled = compile_body(self.loops, self.function, arguments)
        for name, (shape, strides, dtype) in zip(self.names, key):
            if name in compiled.written:
                check_itself(Region(name, 0, shape, strides, data_type(dtype).size, dtype))
        return _Executable(compiled)

    def __repr__(self) -> str:
        return f"TracedBody({self.function.__name__}({', '.join(self.names)}), {str(self.loops.string)!r})"


_bodies: OnceTable[TracedBody] = OnceTable(BODIES)


def _machine(nest: Nest) -> Machine:
    """The host, with its matrix tiles where a body multiplies groups: a process asks the system for them but once."""
    return host_with_tiles() if _multiplies_groups(nest) else host()


def _multiplies_groups(nest: Nest) -> bool:
    calls = (node for node in ir.walk(nest.body) if isinstance(node, ir.Call))
    return any(call.group > 1 and call.primitive.is_contraction for call in calls)


class _Executable:
    """A compiled body for arguments of one kind."""

    def __init__(self, compiled: Compiled) -> None:
        self.nest = compiled.nest
        self.text = str(compiled)
        self._written = compiled.written
        self.executable = Executable(image_of(compiled.nest, _machine(compiled.nest)))

    def regions(self, names: tuple[str, ...], given: list[Imported]) -> list[Region]:
        """Return what arguments reach, checked."""
        for name, found in zip(names, given):
            if name in self._written:
                check_writable(name, found.array.flags.writeable)
        regions = [region_of(name, found, written=name in self._written) for name, found in zip(names, given)]
        for region in regions:
            check_alignment(region)
        check_disjoint(regions)
        return regions

    def describe(
        self, order: tuple[str, ...], names: tuple[str, ...], given: list[Imported], regions: list[Region]
    ) -> tuple[Entry, object] | None:
        """Return the entry for calls with such arguments in this order, and what it refers to; None if none can be."""
        executable, image = self.executable, self.executable.image
        own = -(-executable.scratch_bytes(image.team) // CACHE_LINE) * CACHE_LINE
        size = own + SYNC_BYTES if image.has_sync else own
        if size > MOST_SCRATCH or any(found.array.size == 0 for found in given):
            return None
        places = {name: place for place, name in enumerate(order)}
        shared = (Scratch(own), Number(let_others_run())) if image.has_sync else ()
        words = (*(Data(places[name]) for name in names), Scratch(0) if size else Number(0), *shared)
        run = Call(executable.address, words, image.team)
        clear = Call(_fill_memory(), (Scratch(own), Number(0), Number(SYNC_BYTES)))
        arguments = [array_argument(found.array, r, found.array.itemsize) for found, r in zip(given, regions)]
        interned = [sys.intern(name) for name in order]
        entry = Entry(
            arguments=tuple(arguments[names.index(name)] for name in order),
            calls=(clear, run) if image.has_sync else (run,),
            result=Number(id(None)),
            keywords=tuple(map(id, interned)),
            apart=tuple(
                Apart(places[written.name], places[other.name])
                for written in regions
                for other in regions
                if written.written and other is not written
            ),
            launch=executable.launch,
            scratch=scratch_word(size) if size else 0,
            releases_interpreter=True,
        )
        return entry, (self, [found.array.dtype for found in given], interned)


@once
def _fill_memory() -> int:
    """The address of the C library's `memset`."""
    return ctypes.cast(ctypes.CDLL(None).memset, ctypes.c_void_p).value or 0


def _checked(name: str, thing: object) -> Imported:
    found = array_of(thing, name)
    data_type(found.dtype)
    array = found.array
    if any(stride % array.itemsize for stride, extent in zip(array.strides, array.shape) if extent > 1):
        raise StrideError(f"{name} has byte strides {array.strides}, no multiples of {array.itemsize}\n  Pass a copy.")
    return found
