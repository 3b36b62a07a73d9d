"""`Execution`: what runs a bound tensor operation on arrays: the checks of its arguments, and the call."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from einloom.arrays.chain import Chain
from einloom.arrays.check import (
    check_alignment,
    check_disjoint,
    check_dtype,
    check_itself,
    check_reach,
    check_writable,
)
from einloom.arrays.entry import Apart, Call, Data, Entry, Scratch
from einloom.arrays.library import Imported, array_of, region_of
from einloom.arrays.region import Region
from einloom.arrays.signature import MOST_SCRATCH, array_argument, is_long, none_argument, signature_of, thread_settings
from einloom.config import WatchedSettings, thread_count, watched_settings
from einloom.errors import DTypeError
from einloom.ir.operation import DimType, Operation
from einloom.jit.entrycode import Number
from einloom.jit.host import host
from einloom.jit.native import Native
from einloom.jit.scratch import scratch_word
from einloom.jit.threads import launch_address
from einloom.targets.executable import Executable

__all__ = ["Execution"]


class Execution(Native):
    """Runs an operation; the same arguments as `TensorOperation.execute`.

    Args:
        operation: what is computed.
        executable: its code.
        threads: how many share the work; None for the settings' at each call.

    Raises:
        StrideError: elements of what is written share memory.
    """

    def __init__(self, operation: Operation, executable: Executable, threads: int | None) -> None:
        self._operation = operation
        self._executable = executable
        self._threads = threads
        self._shapes = [_shape_of(operation, position) for position in range(len(operation.operands))]
        self._chain = Chain(self, Execution.__call__)
        for position in operation.written:
            operand = operation.operands[position]
            check_itself(Region(operand.name, 0, *self._shapes[position], operand.dtype.size, operand.dtype.name))

    def __call__(self, in0: Any, in1: Any, out: Any, **extras: Any) -> Any:
        """Check the arguments, compute, and return `out`."""
        operation = self._operation
        given = {"in0": in0, "in1": in1, "out": out} | extras
        self._check_names(given)
        operands = [self._operand(position, given) for position in range(len(operation.operands))]
        regions = [self._region(position, operand) for position, operand in enumerate(operands)]
        for region in regions:
            check_alignment(region)
            check_reach(region)
        check_disjoint(regions, self._may_coincide)
        threads = self._thread_count()
        if all(operand.array is given[o.name] for o, operand in zip(operation.operands, operands)):
            kinds = [None if thing is None else signature_of(thing) for thing in given.values()]
            watches = self._threads is None and self._executable.image.shared_trips > 1
            watched = watched_settings() if watches else None
            signature = (watched, *extras, *kinds)
            self._chain.meet(self, signature, lambda: self._describe(given, operands, regions, threads, watched))
        self._executable([region.address for region in regions], threads)
        return out

    def _check_names(self, given: dict[str, Any]) -> None:
        operation = self._operation
        for name in ("in0", "in1")[len(operation.inputs) :]:
            if given[name] is not None:
                raise DTypeError(f"{operation.main} reads {len(operation.inputs)} operands; {name} must be None")
        known = {"in0", "in1", "out"} | {operand.name for operand in operation.extras}
        if unknown := sorted(set(given) - known):
            names = ", ".join(operand.name for operand in operation.extras) or "none"
            raise DTypeError(f"no extra is called {', '.join(unknown)}\n  The configuration's extras: {names}")

    def _operand(self, position: int, given: dict[str, Any]) -> Imported:
        operand = self._operation.operands[position]
        thing = given.get(operand.name)
        if thing is None:
            raise DTypeError(f"{operand.name} is None, but {self._operation.main} needs it\n  Pass an array.")
        found = array_of(thing, operand.name)
        check_dtype(operand.name, found.dtype, operand.dtype.name)
        if position in self._operation.written:
            check_writable(operand.name, found.array.flags.writeable)
        return found

    def _region(self, position: int, operand: Imported) -> Region:
        extents, strides = self._shapes[position]
        name, written = self._operation.operands[position].name, position in self._operation.written
        return region_of(name, operand, extents, strides, written)

    def _may_coincide(self, written: Region, other: Region) -> bool:
        """Element-wise operations read an element before they write it."""
        operation = self._operation
        inputs = [operand.name for operand in operation.inputs]
        return not operation.main.is_contraction and written.name == operation.output.name and other.name in inputs

    def _thread_count(self) -> int:
        return thread_count(self._threads, cores=host().cores)

    def _describe(
        self,
        given: dict[str, Any],
        operands: Sequence[Imported],
        regions: Sequence[Region],
        threads: int,
        watched: WatchedSettings | None,
    ) -> tuple[Entry, object] | None:
        """Return the entry for calls with arrays like these, and what it refers to; None if there can be none."""
        operation, executable = self._operation, self._executable
        size = executable.scratch_bytes(threads)
        if size > MOST_SCRATCH or any(operand.array.size == 0 for operand in operands):
            return None
        places = {name: place for place, name in enumerate(given)}
        arguments: list[Any] = [none_argument()] * len(places)
        for operand, found, region in zip(operation.operands, operands, regions):
            arguments[places[operand.name]] = array_argument(found.array, region, operand.dtype.size)
        names = [sys.intern(name) for name in list(given)[3:]]
        values = [*(Data(places[operand.name]) for operand in operation.operands), Scratch(0) if size else Number(0)]
        entry = Entry(
            arguments=tuple(arguments),
            calls=(Call(executable.address, tuple(values), executable.shares(threads)),),
            result=places["out"],
            keywords=tuple(map(id, names)),
            apart=tuple(self._apart(regions, places)),
            launch=launch_address(),
            settings=None if watched is None else thread_settings(watched),
            scratch=scratch_word(size) if size else 0,
            releases_interpreter=is_long(operation.flops, operation.bytes),
        )
        return entry, (executable, [operand.array.dtype for operand in operands], names, watched)

    def _apart(self, regions: Sequence[Region], places: dict[str, int]) -> list[Apart]:
        pairs: list[Apart] = []
        for written in (region for region in regions if region.written):
            for other in (region for region in regions if region is not written):
                together = replace(other, address=written.address).elements == written.elements
                same = together and self._may_coincide(written, other)
                pairs.append(Apart(places[written.name], places[other.name], same))
        return pairs


def _shape_of(operation: Operation, position: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return extents and strides in bytes of the elements that an operand reaches.

    What is no input does not depend on reduced axes: it is reached even if there is nothing to sum.
    """
    operand = operation.operands[position]
    axes = [
        (axis.extent, stride * operand.dtype.size)
        for axis, stride in zip(operation.axes, operand.strides)
        if position < len(operation.inputs) or axis.role is not DimType.K
    ]
    return tuple(extent for extent, _ in axes), tuple(stride for _, stride in axes)
