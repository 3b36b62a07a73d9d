"""Kernels on small sizes, random leaves of their spaces, and operands for which every sum is exact."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from einloom.dtypes import TYPES
from einloom.ir.gpu.launch import Launch, Space
from einloom.ir.numbers import narrowed, wide_type
from einloom.space.candidate import Space as GpuSpace
from einloom.space.device import H200
from einloom.space.kernels import Kernel, kernel
from einloom.space.on_cpu.given import operation_of_equation
from einloom.space.on_gpu.operations import kernel_of
from tests.space.implementations import Meaning

KERNELS: dict[str, dict] = {
    "axpy": {"n": 96},
    "mv": {"m": 16, "n": 24},
    "gesummv": {"m": 8, "n": 16},
    "matmul": {"m": 16, "n": 16, "k": 8},
    "batch_matmul": {"b": 2, "m": 8, "n": 8, "k": 4},
    "doitgen": {"r": 2, "q": 8, "p": 8, "s": 8},
    "chain": {"m": 8, "n": 8, "k": 4, "l": 8, "epilogue": "relu"},
}
TAILS = {"m": 14, "n": 10, "k": 9, "tails": True, "tiles": {"m": (4, 2), "n": (4,), "k": (4,)}}

EQUATIONS = {
    "abc,cd->abd": [(3, 4, 8), (8, 5)],
    "abc->cab": [(4, 6, 5)],
    "ab,ab->": [(4, 6), (4, 6)],
    "ab->": [(3, 7)],
    "bij,bjk->bik": [(2, 4, 4), (2, 4, 4)],
    "ab,b->a": [(8, 12), (12,)],
    "a,b->ab": [(7,), (9,)],
    ",->": [(), ()],
    "ab,bc->ca": [(5, 13), (13, 3)],
    "aebf,dfce->abcd": [(2, 4, 3, 4), (3, 4, 2, 4)],
}
TYPES_OF_GPUS = ("float32", "float64", "float16", "bfloat16", "int32", "int64", "complex64", "complex128")


def named_kernels(dtype: str = "float32") -> Iterator[Kernel]:
    """Yield the paper's kernels, and a product with tails."""
    for name, options in KERNELS.items():
        yield kernel(name, dtype=dtype, **options)
    yield kernel("matmul", dtype=dtype, **TAILS)


def contractions() -> Iterator[Kernel]:
    """Yield kernels of tensor operations."""
    for equation, shapes in EQUATIONS.items():
        yield kernel_of(operation_of_equation(equation, shapes, "float32"))


def space_of(made: Kernel) -> GpuSpace:
    """Return the space of a kernel on a large GPU."""
    return GpuSpace(made, H200.of(made.backbone.dtype))


@dataclass
class Operands:
    """The arguments of a launch as arrays of one dimension, outputs poisoned."""

    meaning: Meaning
    launch: Launch

    def fresh(self) -> dict[str, np.ndarray]:
        """Return arrays of the launch's types; what a kernel does not write stays poison."""
        found: dict[str, np.ndarray] = {}
        for array in self.launch.arguments:
            values = self.meaning.buffers[array.name]
            if array.name in self.meaning.expected:
                values = np.full_like(values, 77)
            found[array.name] = narrowed(values.astype(wide_type(array.dtype)), array.dtype)
        return found

    def wrong(self, after: dict[str, np.ndarray]) -> list[str]:
        """Return the outputs that are not what the kernel means."""
        bad: list[str] = []
        for name, value in self.meaning.expected.items():
            expected = np.full_like(self.meaning.buffers[name], 77)
            self.meaning.view(name, expected)[...] = np.reshape(value, self.meaning.view(name, expected).shape)
            array = self.launch.array[name]
            if not np.array_equal(after[name], narrowed(expected.astype(wide_type(array.dtype)), array.dtype)):
                bad.append(name)
        return bad


def registers(launch: Launch) -> int:
    """Return how many 32-bit registers the private arrays of a thread take."""
    return sum(each.size * each.dtype.size // 4 for each in launch.arrays if each.space is Space.REGISTER)


assert set(TYPES_OF_GPUS) <= set(TYPES)
