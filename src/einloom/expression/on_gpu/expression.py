"""`GpuExpression`: an einsum that runs on a GPU: the same problem, path and steps, and a kernel for each step.

Arrays of NumPy are copied in and out. Arrays that lie on a device are read where they lie, with the strides that they
have, and the result is one of the same library on the same device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from einloom.arrays.check import check_dtype, check_itself, check_shape
from einloom.arrays.device import DeviceArray, Home, check_apart, device_array, fresh_like, home_of
from einloom.arrays.library import outgoing
from einloom.config import thread_count
from einloom.dtypes import TYPES
from einloom.errors import ArgumentError, DeviceError, DTypeError, UnsupportedTarget
from einloom.expression.factors import factor_array
from einloom.expression.on_gpu.program import GpuProgram, Lying
from einloom.expression.on_gpu.steps import GpuStep
from einloom.expression.operands import Expected
from einloom.expression.options import Options
from einloom.expression.types import known_type, numpy_type
from einloom.ir.gpu.text import write_launch
from einloom.jit.gpu.devices import open_gpu, open_home
from einloom.jit.gpu.driver import GpuDriver
from einloom.once import OnceTable
from einloom.plan.cuts import limited_path
from einloom.plan.equation import caret_lines
from einloom.plan.paths import Path, is_unlimited
from einloom.plan.problem import Problem, contiguous_strides, make_problem
from einloom.targets.gpu.dialects import DIALECTS

__all__ = ["GpuExpression", "described", "shared_home"]

SHOWN: dict[str, Callable[[GpuStep], str]] = {
    "text": lambda step: step.text,
    "launch": lambda step: write_launch(step.launch),
    "nest": lambda step: step.leaf.show(),
    "bound": lambda step: str(step.leaf.bound()),
}
"""What `GpuExpression.show` shows of a step."""


def shared_home(things: Sequence[Any]) -> Home | None:
    """Return where arrays lie if one of them lies on a device.

    Raises:
        DeviceError: they lie in several places.
    """
    homes = [home_of(thing) for thing in things]
    first = next((home for home in homes if home is not None), None)
    for position, home in enumerate(homes):
        if first is not None and home != first:
            lies = "in main memory" if home is None else "on another device, or in another context of it"
            raise DeviceError(f"operand {position} lies {lies}\n  Copy all operands to one device.")
    return first


class GpuExpression:
    """A compiled expression on a GPU: call it with operands of the shapes that it was compiled for.

    Args:
        equation: the text.
        shapes: of the operands.
        dtype: type that is computed in.
        options: how it is to be computed; its target is a kind of driver, or `gpu` for either.
        in_place: whether operands lie on the device, so that kernels depend on their strides.

    Attributes:
        equation, shapes: as above.
        output_shape: shape of the result.

    Raises:
        DeviceError: there is no such device, or it does not compute in this type.
        DTypeError, UnsupportedTarget: GPUs have no code for the type, or for what is asked.
    """

    def __init__(
        self, equation: str, shapes: Sequence[tuple[int, ...]], dtype: object, options: Options, in_place: bool = False
    ) -> None:
        assert isinstance(options.target, str)
        _refuse(
            schedule=options.schedule, memory_limit=None if is_unlimited(options.memory_limit) else options.memory_limit
        )
        thread_count(options.threads, cores=1)  # Refuses what is no number of threads, as processors do.
        self._arguments = (equation, tuple(shapes), dtype, options)
        self._driver = open_gpu(options.target)
        self.target = self._driver.kind
        label, found = numpy_type(dtype)
        types = DIALECTS[self.target].types
        if label not in types:
            raise DTypeError(f"GPUs compute in {', '.join(types)}, not in {label}\n  Convert the operands.")
        self._label, self._options = label, options
        self._problem = make_problem(equation, shapes, [None] * len(shapes), TYPES[label], options.finish, ())
        self.equation, self.shapes = self._problem.equation.text, self._problem.shapes
        self.output_shape = self._problem.output_shape
        self._where = caret_lines(self.equation, ()).strip()
        labels, unit = (label,) * len(shapes), found.itemsize
        self._expected = Expected(
            self.shapes, self.output_shape, labels, label, found, unit, self._where, options.finish
        )
        if not in_place:
            self._check_room()
        self._path = _whole_path(self._problem, options.optimize)
        self._constants = [factor_array(each, label, found, self._where) for each in options.finish.constants]
        self._programs: OnceTable[GpuProgram] = OnceTable(64)
        self._program = self._program_of(self._driver, [contiguous_strides(shape) for shape in self.shapes])
        if not in_place:
            _ = self._program.steps  # A caller waits here for compilers, not at the first call.

    def _check_room(self) -> None:
        """Refuse arrays that the device cannot hold before they are copied: a broadcast one takes its whole size there.

        Raises:
            DeviceError: operands and result are larger than its memory.
        """
        limits, unit = self._driver.limits, self.dtype.itemsize
        needed = sum(prod(shape) for shape in (*self.shapes, self.output_shape)) * unit
        if needed > limits.memory_bytes:
            raise DeviceError(
                f"{self._where}\n  operands and result take {needed / 1e9:.4g} GB, "
                f"{limits.name} has {limits.memory_bytes / 1e9:.4g}\n"
                "  Contract them in parts, or with target='cpu', which copies no operand."
            )

    def _program_of(
        self, driver: GpuDriver, strides: Sequence[tuple[int, ...]], output: tuple[int, ...] | None = None
    ) -> GpuProgram:
        """Return the steps for operands, and an output, of some strides."""

        def made() -> GpuProgram:
            finish = self._options.finish
            problem = make_problem(self.equation, self.shapes, strides, TYPES[self._label], finish, ())
            return GpuProgram(driver, problem, output, self._path)

        return self._programs.get((driver, tuple(strides), output), made)

    def __call__(self, *operands: Any, out: Any = None) -> Any:
        """Compute.

        Args:
            operands: arrays of the compiled shapes: of NumPy, or all on one device.
            out: takes the result.

        Returns:
            A fresh C-contiguous array of the first operand's library, a scalar for no axes, or `out` itself.

        Raises:
            EquationError, ShapeError, DTypeError, StrideError, OverlapError: an argument does not fit; nothing has been
                written.
            DeviceError: the device has no memory left, or refuses; operands lie in several places.
        """
        home = shared_home(operands)
        if home is not None:
            return self._in_place(home, operands, out)
        if home_of(out) is not None:
            raise DeviceError("out lies on a device, the operands in main memory\n  Copy them there.")
        given = self._expected.operands(operands)
        arrays = [self._expected.readable(operand, position) for position, operand in enumerate(given)]
        output = self._expected.output(out, given, self._expected.result_type(given))
        self._copied([*arrays, *self._constants], output.written)
        if out is not None:
            output.finish()
            return out
        return outgoing(output.written if self.output_shape else output.written[()], self._expected.label, operands[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy type of operands and result; `uint16` for bfloat16 until `ml_dtypes` gives NumPy that type."""
        return known_type(self._label, self._expected.dtype)

    def seconds(self, *operands: Any) -> tuple[float, ...]:
        """Compute on NumPy arrays, and return how long the kernel of each step took on the device.

        Raises:
            EquationError, ShapeError, DTypeError, DeviceError: as for a call.
        """
        given = self._expected.operands(operands)
        arrays = [self._expected.readable(operand, position) for position, operand in enumerate(given)]
        runs = self._copied([*arrays, *self._constants], np.zeros(self.output_shape, self.dtype))
        return tuple(self._driver.seconds(run) for run in runs)

    def _copied(self, arrays: list[Any], written: Any) -> list[object]:
        """Compute on copies of NumPy's arrays, and copy the result back; return the runs of the steps."""
        driver, program = self._driver, self._program
        tensors = [Lying(driver.upload(np.ascontiguousarray(array))) for array in arrays]
        result = Lying(driver.allocate(max(written.nbytes, 1)))
        if program.reads_output:
            result = Lying(driver.upload(np.ascontiguousarray(written)))
        runs = program.run(tensors, result)
        found = np.empty(self.output_shape, written.dtype)
        driver.download(result.memory, found)
        np.copyto(written, found)
        return runs

    def _in_place(self, home: Home, operands: Sequence[Any], out: Any) -> Any:
        """Compute on arrays where they lie."""
        if home.kind != self.target:
            raise DeviceError(
                f"the operands lie on a device of {home.kind}, the expression was compiled for {self.target}\n"
                f"  Compile it with target={home.kind!r}."
            )
        driver = open_home(home.kind, home.place)
        given = [self._operand(thing, home, position, driver) for position, thing in enumerate(operands)]
        self._expected.check_shapes([each.shape for each in given])
        if out is None:
            self._options.finish.check_fresh(self._where)
        target = fresh_like(operands[0], self.output_shape) if out is None else out
        output = device_array(target, home, "out", driver.stream, written=True)
        check_dtype("out", output.region.dtype, self._label, self._where)
        check_shape("out", output.shape, self.output_shape, self._where)
        check_itself(output.region, self._where)
        check_apart(given, output, self._where)
        strides = None if output.strides == contiguous_strides(self.output_shape) else output.strides
        program = self._program_of(driver, [each.strides for each in given], strides)
        queues = list(dict.fromkeys(each.queue for each in (*given, output) if each.queue is not None))
        constants = [Lying(driver.upload(array)) for array in self._constants]
        runs = program.run([*map(_lying, given), *constants], _lying(output), driver.after(queues))
        if runs:
            driver.before(queues, runs[-1])
        return target

    def _operand(self, thing: Any, home: Home, position: int, driver: GpuDriver) -> DeviceArray:
        found = device_array(thing, home, f"operand {position}", driver.stream)
        check_dtype(found.region.name, found.region.dtype, self._label, self._where)
        if position in self._options.finish.conj and self.dtype.kind == "c":
            raise UnsupportedTarget("conj= of arrays on a device\n  Conjugate them there before.")
        return found

    # ---- looking -------------------------------------------------------------------------------------------------

    @property
    def flops(self) -> int:
        """Arithmetic of one call."""
        return self._program.plan.flops

    @property
    def bytes(self) -> int:
        """Least traffic of one call, in bytes: every tensor read or written once."""
        return self._program.plan.bytes

    @property
    def path(self) -> tuple[tuple[int, ...], ...]:
        """The contraction path, as `opt_einsum` writes it."""
        return self._program.plan.path

    def show(self, what: str = "text") -> str:
        """Return the expression as text, step by step.

        Args:
            what: `"text"`, the kernels; `"launch"`, what threads do; `"nest"`, the loops of the candidate; `"bound"`,
                the least time of the candidate and its reasons.
        """
        if what not in tuple(SHOWN):
            raise ArgumentError(f"there is no {what!r} to show of kernels on a GPU\n  There are {', '.join(SHOWN)}.")
        return "\n\n".join(SHOWN[what](step) for step in self._program.steps)

    def __repr__(self) -> str:
        shapes = " ".join("x".join(map(str, shape)) or "scalar" for shape in self.shapes)
        result = "x".join(map(str, self.output_shape)) or "scalar"
        return f"GpuExpression({self.equation!r}, {self._expected.label}, {shapes} -> {result}, {self.target})"

    def __reduce__(self) -> tuple[Any, ...]:
        return GpuExpression, self._arguments


def described(things: Sequence[Any], home: Home) -> tuple[str, list[tuple[int, ...]]]:
    """Return the type of the first of some arrays on a device, and the shapes of all.

    Raises:
        DeviceError: they lie in several places.
    """
    driver = open_home(home.kind, home.place)
    found = [device_array(each, home, f"operand {place}", driver.stream) for place, each in enumerate(things)]
    return found[0].region.dtype, [each.shape for each in found]


def _refuse(**options: object) -> None:
    """Refuse what GPUs do not take, instead of leaving it out."""
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise UnsupportedTarget(f"{given[0]}= is for processors\n  Leave it out, or compute with target='cpu'.")


def _whole_path(problem: Problem, optimize: Any) -> Path:
    """Return the order of contractions.

    Raises:
        UnsupportedTarget: `optimize` asks for slices, by a limit or by a tree that has them.
    """
    path, slicing = limited_path(problem, optimize, None)
    if slicing is not None:
        raise UnsupportedTarget(
            "optimize= cuts the contraction into slices, which is for processors\n"
            "  Pass a path or a tree without slices, or compute with target='cpu'."
        )
    return path


def _lying(array: DeviceArray) -> Lying:
    """Return where an array lies, in elements; it is known to lie at multiples of them."""
    return Lying(array.memory, array.region.address if array.home.kind == "opencl" else 0, array.region.address)
