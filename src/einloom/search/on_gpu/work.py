"""What a kernel is run on to see that it is right: its arguments, and what its outputs have to be.

Arguments are small whole numbers, so that sums are exact in every type, and outputs begin as what no kernel computes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from einloom.dtypes import DType
from einloom.ir.gpu.launch import Launch
from einloom.ir.interpret import interpret
from einloom.ir.memory import Memory
from einloom.ir.numbers import elements_of, narrowed, wide_type, widened
from einloom.ir.operation import Operation
from einloom.once import cached_property
from einloom.search.worker import checked_blocks, written_places
from einloom.space.backbone import Region
from einloom.space.kernels import Kernel
from einloom.space.on_gpu.operations import kernel_of

__all__ = ["KernelWork", "OperationWork", "Work", "arguments_of"]

Array = np.ndarray[Any, Any]

LARGEST = 2
"""Elements are whole numbers up to this, either sign."""


class Work(ABC):
    """The arguments of a kernel.

    Args:
        kernel: whose.

    Attributes:
        given: inputs, outputs as they are before, and numbers (arrays of one element), by name.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel, self.backbone = kernel.plain, kernel.plain.backbone
        random = np.random.default_rng(2026)
        self.given: dict[str, Array] = {}
        for region in self.backbone.regions:
            dtype, size = self.backbone.type_of(region), self.backbone.extent(region)
            values = random.integers(-LARGEST, LARGEST + 1, size).astype(wide_type(dtype))
            self.given[region.name] = _poison(size, dtype) if region.role == "output" else narrowed(values, dtype)
        for number, name in enumerate(self.backbone.parameters):
            self.given[name] = np.full(1, number + 2).astype(elements_of(self.backbone.dtype.accumulate))

    @property
    def outputs(self) -> list[str]:
        """The names of the arrays that the kernel writes."""
        return [region.name for region in self.backbone.regions if region.role == "output"]

    def view(self, region: Region, array: Array) -> Array:
        """Return an array over its axes."""
        sizes = [self.backbone.axis[axis].size for axis in region.axes]
        first = array[self.backbone.origin(region) :]
        return as_strided(first, sizes, [array.itemsize * stride for stride in region.strides])

    @abstractmethod
    def expected(self, found: Mapping[str, Array]) -> Mapping[str, Array] | None:
        """Return what outputs have to be; None if what a first kernel has found is something else."""


class KernelWork(Work):
    """The arguments of a named kernel, whose meaning is a line of NumPy."""

    def expected(self, found: Mapping[str, Array]) -> Mapping[str, Array] | None:
        """Return what the kernel means."""
        return self.meant

    @cached_property
    def meant(self) -> dict[str, Array]:
        """The outputs by the kernel's meaning; what no element of them is stays as it was."""
        values: dict[str, Any] = {name: self.given[name][0] for name in self.backbone.parameters}
        for region in self.backbone.regions:
            wide = widened(self.given[region.name], self.backbone.type_of(region))
            values[region.name] = self.view(region, wide)
        result: dict[str, Array] = {}
        for name, value in self.kernel.meaning(values).items():
            region = self.backbone.region[name]
            result[name] = self.given[name].copy()
            place = self.view(region, result[name])
            place[...] = narrowed(np.reshape(value, place.shape), self.backbone.type_of(region))
        return result


class OperationWork(Work):
    """The arguments of a tensor operation, of whose result the interpreter computes blocks."""

    def __init__(self, operation: Operation) -> None:
        super().__init__(kernel_of(operation))
        self.operation = operation

    def expected(self, found: Mapping[str, Array]) -> Mapping[str, Array] | None:
        """Return the first kernel's result, if the interpreter computes the same in some blocks, or in all."""
        name, before = self.operation.output.name, self.given.get("before")
        start = self.given[name] if before is None else before
        origins = [self.backbone.origin(self.backbone.region[each.name]) for each in self.operation.operands]
        arrays = [self.given[each.name] for each in self.operation.operands]
        for block, places in checked_blocks(self.operation):
            written = start.copy()
            memories = [Memory(a, origin + place) for a, origin, place in zip(arrays, origins, places)]
            interpret(block, [*memories[:-1], Memory(written, memories[-1].origin)])
            mark = written_places(block, written.size, memories[-1].origin)
            if not np.array_equal(written[mark], found[name][mark]):
                return None
        return found


def _poison(size: int, dtype: DType) -> Array:
    return narrowed(np.full(size, 77).astype(wide_type(dtype)), dtype)


def arguments_of(launch: Launch, arrays: Mapping[str, object], work: Work) -> list[object]:
    """Return what a launch is given, in order: arrays of the device by name, and numbers."""
    return [arrays[each.name] if each.name in arrays else work.given[each.name][0] for each in launch.arguments]
