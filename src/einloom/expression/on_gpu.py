"""`GpuExpression`: an einsum that runs on a GPU: the same problem, path and steps, and a kernel for each step.

The schedule of a step is a leaf of the GPU's space, the expert leaf with the least bound. Arrays of NumPy are copied in
and out.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from einloom.arrays.library import Array, outgoing
from einloom.dtypes import TYPES, DType
from einloom.errors import ArgumentError, DeviceError, DTypeError, UnsupportedTarget
from einloom.expression.operands import Expected
from einloom.expression.options import Options
from einloom.expression.types import numpy_type
from einloom.ir.gpu.launch import Launch
from einloom.ir.gpu.text import write_launch
from einloom.ir.numbers import narrowed
from einloom.ir.operation import Operation
from einloom.jit.gpu.devices import open_gpu
from einloom.jit.gpu.driver import GpuDriver, GpuKernel, GpuLimits
from einloom.once import OnceTable
from einloom.plan.equation import caret_lines
from einloom.plan.paths import contraction_path
from einloom.plan.problem import make_problem
from einloom.plan.steps import plan_problem
from einloom.space.candidate import Candidate, Space
from einloom.space.device import H200, GpuDevice
from einloom.space.on_gpu.experts import expert_leaf
from einloom.space.on_gpu.operations import BEFORE, kernel_of
from einloom.targets.gpu.dialects import DIALECTS
from einloom.targets.gpu.printer import print_launch

__all__ = ["GpuExpression", "GpuStep"]

_STEPS: OnceTable[GpuStep] = OnceTable(1024)
"""The compiled steps of all expressions, by device and operation."""


@dataclass(frozen=True, eq=False)
class GpuStep:
    """An operation as a kernel: the leaf that decides it, its launch, its text, and the compiled kernel."""

    operation: Operation
    leaf: Candidate
    launch: Launch
    text: str
    kernel: GpuKernel

    def start(self, arrays: dict[str, object]) -> object:
        """Run it on arrays of the device, by name."""
        grid, block = (tuple(level.extent for level in levels) for levels in (self.launch.grid, self.launch.block))
        return self.kernel.start(grid, block, [arrays[each.name] for each in self.launch.arguments])


SHOWN: dict[str, Callable[[GpuStep], str]] = {
    "text": lambda step: step.text,
    "launch": lambda step: write_launch(step.launch),
    "nest": lambda step: step.leaf.show(),
    "bound": lambda step: str(step.leaf.bound()),
}
"""What `GpuExpression.show` shows of a step."""


class GpuExpression:
    """A compiled expression on a GPU: call it with operands of the shapes that it was compiled for.

    Args:
        equation: the text.
        shapes: of the operands.
        dtype: type that is computed in.
        options: how it is to be computed; its target is a kind of driver, or `gpu` for either.

    Attributes:
        equation, shapes: as above.
        dtype: NumPy type of operands and result.
        output_shape: shape of the result.

    Raises:
        DeviceError: there is no such device, or it does not compute in this type.
        DTypeError, UnsupportedTarget: GPUs have no code for the type, or for what is asked.
    """

    def __init__(self, equation: str, shapes: Sequence[tuple[int, ...]], dtype: object, options: Options) -> None:
        assert isinstance(options.target, str)
        _refuse(schedule=options.schedule, memory_limit=options.memory_limit)
        self._arguments = (equation, tuple(shapes), dtype, options)
        self._driver = open_gpu(options.target)
        self.target = self._driver.kind
        label, self.dtype = numpy_type(dtype)
        types = DIALECTS[self.target].types
        if label not in types:
            raise DTypeError(f"GPUs compute in {', '.join(types)}, not in {label}\n  Convert the operands.")
        self._problem = make_problem(equation, shapes, [None] * len(shapes), TYPES[label], options.finish, ())
        self.equation, self.shapes = self._problem.equation.text, self._problem.shapes
        self.output_shape = self._problem.output_shape
        labels = (label,) * len(shapes)
        where = caret_lines(self.equation, ()).strip()
        unit = self.dtype.itemsize
        self._expected = Expected(
            self.shapes, self.output_shape, labels, label, self.dtype, unit, where, options.finish
        )
        path = contraction_path(self._problem, options.optimize, options.memory_limit)
        self._plan = plan_problem(self._problem, None, path)
        self._constants = [narrowed(np.full(1, factor), TYPES[label]) for factor in options.finish.constants]
        self._steps = [self._step(step.operation) for step in self._plan.steps]

    def _step(self, operation: Operation) -> GpuStep:
        return _STEPS.get((self._driver, operation), lambda: _compiled(operation, self._driver, self.target))

    def __call__(self, *operands: Any, out: Any = None) -> Any:
        """Compute.

        Args:
            operands: arrays of the compiled shapes.
            out: takes the result.

        Returns:
            A fresh C-contiguous array of the first operand's library, a scalar for no axes, or `out` itself.

        Raises:
            EquationError, ShapeError, DTypeError, StrideError, OverlapError: an argument does not fit; nothing has been
                written.
            DeviceError: the device has no memory left, or refuses.
        """
        given = self._expected.operands(operands)
        arrays = [self._expected.readable(operand, position) for position, operand in enumerate(given)]
        output = self._expected.output(out, given)
        self._compute([*arrays, *self._constants], output.written)
        if out is not None:
            output.finish()
            return out
        return outgoing(output.written if self.output_shape else output.written[()], self._expected.label, operands[0])

    def _compute(self, arrays: list[Array], written: Array) -> None:
        driver = self._driver
        tensors = [driver.upload(np.ascontiguousarray(array)) for array in arrays]
        reads_output = any(each.name == BEFORE for each in self._steps[-1].launch.arrays)
        before = driver.upload(np.ascontiguousarray(written)) if reads_output else None
        for step, compiled in zip(self._plan.steps, self._steps):
            operation = step.operation
            result = driver.allocate(step.bytes)
            names = [operand.name for operand in operation.operands[:-1]]
            given = dict(zip(names, (tensors[number] for number in step.inputs)))
            compiled.start({**given, BEFORE: before, operation.output.name: result})
            tensors.append(result)
        result = np.empty(self.output_shape, written.dtype)
        driver.download(tensors[-1], result)
        np.copyto(written, result)

    # ---- looking -------------------------------------------------------------------------------------------------

    @property
    def flops(self) -> int:
        """Arithmetic of one call."""
        return self._plan.flops

    @property
    def path(self) -> tuple[tuple[int, ...], ...]:
        """The contraction path, as `opt_einsum` writes it."""
        return self._plan.path

    def show(self, what: str = "text") -> str:
        """Return the expression as text, step by step.

        Args:
            what: `"text"`, the kernels; `"launch"`, what threads do; `"nest"`, the loops of the candidate; `"bound"`,
                the least time of the candidate and its reasons.
        """
        if what not in SHOWN:
            raise ArgumentError(f"there is no {what!r} to show of kernels on a GPU\n  There are {', '.join(SHOWN)}.")
        return "\n\n".join(SHOWN[what](step) for step in self._steps)

    def __repr__(self) -> str:
        shapes = " ".join("x".join(map(str, shape)) or "scalar" for shape in self.shapes)
        result = "x".join(map(str, self.output_shape)) or "scalar"
        return f"GpuExpression({self.equation!r}, {self._expected.label}, {shapes} -> {result}, {self.target})"

    def __reduce__(self) -> tuple[Any, ...]:
        return GpuExpression, self._arguments


def _refuse(**options: object) -> None:
    """Refuse what GPUs do not take, instead of leaving it out."""
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise UnsupportedTarget(f"{given[0]}= is for processors\n  Leave it out, or compute with target='cpu'.")


def _compiled(operation: Operation, driver: GpuDriver, kind: str) -> GpuStep:
    types = [operand.dtype for operand in operation.operands]
    if not driver.limits.computes_float64 and any(dtype.accumulate.name in NEEDS_FLOAT64 for dtype in types):
        raise DeviceError(f"{driver.limits.name} has no 64-bit floats\n  Compute in float32.")
    space = Space(kernel_of(operation), device_of(driver.limits, types))
    leaf = expert_leaf(space)
    launch = leaf.launch()
    text = print_launch(launch, DIALECTS[kind], _comment(leaf))
    return GpuStep(operation, leaf, launch, text, driver.build(text, launch.name))


TOLD = ("dim_kind", "size", "mem_space", "cache")
NEEDS_FLOAT64 = ("float64", "complex128")


def device_of(limits: GpuLimits, types: Sequence[DType]) -> GpuDevice:
    """Return what the space needs to know of a device; the rates that rank its leaves are an H200's."""
    device = GpuDevice(
        limits.name,
        max_threads=limits.threads,
        max_thread_extents=limits.extents,
        shared_bytes=limits.shared_bytes,
        rates=H200.rates,
    )
    return device.of(*types)


def _comment(leaf: Candidate) -> str:
    """Return what stands above a kernel: what it computes, its decisions about loops and memory, its bound."""
    told = {name: value for name, value in leaf.assignment.items() if name.split("(")[0] in TOLD}
    decisions = textwrap.fill(", ".join(f"{name} {value}" for name, value in sorted(told.items())), 110)
    return f"{leaf.space.name}\n{decisions}\non {leaf.space.device.name}: {leaf.bound()}"
