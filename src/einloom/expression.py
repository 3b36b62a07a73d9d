"""`Expression`: a compiled einsum. It plans and compiles for the strides that it meets and remembers each."""

from __future__ import annotations

import html
import math
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from einloom.config import thread_count
from einloom.dtypes import DTYPES
from einloom.errors import DTypeError, EquationError, ScheduleError, ShapeError, UnsupportedTarget
from einloom.ir.bind import bind
from einloom.ir.interpret import interpret
from einloom.ir.schedule import Schedule
from einloom.ir.text import parse_schedule
from einloom.jit.arrays import array_address
from einloom.jit.host import host
from einloom.machine import Machine
from einloom.passes.fuse import fuse_as_named
from einloom.passes.parallelise import LEAST_WORK
from einloom.passes.pipeline import explain_passes, optimize_operation
from einloom.passes.values import Options
from einloom.plan.arrays import Array, byte_reach, check_output, element_strides, memory_of
from einloom.plan.carriers import carrier, refuse_arithmetic, widened
from einloom.plan.paths import contraction_path
from einloom.plan.problem import Problem, contiguous_strides, make_problem
from einloom.plan.steps import Plan, Step, plan_problem
from einloom.targets.executable import Executable
from einloom.targets.show import nest_text

__all__ = ["Expression"]

VARIANTS = 64
"""Compiled variants (sets of strides) that one expression remembers."""

ROUTES = 256
"""Calls (shapes and strides of the arguments) for which an expression remembers that they were checked."""


@dataclass(frozen=True, slots=True)
class _CompiledStep:
    """A step, how many threads it was compiled for and, unless it is interpreted, its schedule and executable."""

    step: Step
    threads: int = 1
    schedule: Schedule | None = None
    executable: Executable | None = None


@dataclass(frozen=True, slots=True)
class _Route:
    """What a call with arguments that were checked before does.

    Attributes:
        steps: what to run.
        single: the only step's executable, if there is one step and it is not interpreted.
        spans: for each argument, the bytes that it reaches, relative to its first element.
    """

    steps: list[_CompiledStep]
    single: Executable | None
    spans: list[tuple[int, int]]


class Expression:
    """A compiled expression: call it with operands of the shapes that it was compiled for.

    Thread-safe. It pickles as the problem and compiles again when loaded.

    Args:
        equation: the text.
        shapes: of the operands.
        dtype: type that is computed in.
        strides: of the operands in elements, None for C-contiguous.
        optimize: what `opt_einsum` takes, for three and more operands.
        schedule: a schedule or its text for a single contraction, instead of the heuristic one.
        threads: how many threads, None for the settings at each call.
        target: `"cpu"`, `"interpreter"` or a `Machine`.

    Attributes:
        equation, shapes: as above.
        dtype: NumPy type of operands and result.
        output_shape: shape of the result.
    """

    def __init__(
        self,
        equation: str,
        shapes: Sequence[tuple[int, ...]],
        dtype: object,
        strides: Sequence[tuple[int, ...] | None] | None = None,
        optimize: Any = "auto",
        schedule: Schedule | str | None = None,
        threads: int | None = None,
        target: str | Machine = "cpu",
    ) -> None:
        given = list(strides or [None] * len(shapes))
        self.dtype: np.dtype[Any] = np.dtype(dtype)  # type: ignore[call-overload]
        carried, self._parts = carrier(self.dtype)
        self._problem = make_problem(equation, shapes, given, carried)
        if self.dtype.name not in DTYPES:
            refuse_arithmetic(self._problem.equation, self.dtype)
        self._arguments = (equation, tuple(shapes), dtype, strides, optimize, schedule, threads, target)
        self._schedule = parse_schedule(schedule) if isinstance(schedule, str) else schedule
        self._threads = threads
        thread_count(threads, cores=1)  # Refuses what is no number of threads.
        self._target = target
        self._lock = threading.Lock()
        self._variants: OrderedDict[tuple[Any, ...], list[_CompiledStep]] = OrderedDict()
        self._routes: dict[tuple[Any, ...], _Route] = {}
        self.equation = self._problem.equation.text
        self.shapes = self._problem.shapes
        self.output_shape = self._problem.output_shape
        path = contraction_path(self._problem, optimize)
        self._plan = widened(plan_problem(self._problem, None, path), self._parts)
        self._is_small = max(self._plan.flops, self._plan.bytes) < 2 * LEAST_WORK
        if target != "interpreter":
            self._machine()
            self._compiled(self._problem.strides, None, self._thread_count())

    # ---- calling -----------------------------------------------------------------------------------------------

    def __call__(self, *operands: Any, out: Array | None = None) -> Any:
        """Compute. Returns a fresh C-contiguous array (a scalar for no axes), or `out` itself.

        Raises:
            ShapeError, DTypeError, StrideError, OverlapError: an argument does not fit; nothing has been written.
        """
        threads = self._thread_count()
        key = self._key(operands, out, threads)
        route = self._routes.get(key) if key is not None else None
        arrays: Sequence[Array] = operands
        if route is None:
            arrays, route = self._checked_route(operands, out, threads)
            if key is not None:
                self._routes[key] = route
        result = np.empty(self.output_shape, self.dtype) if out is None else out
        addresses = [array_address(array) for array in (*arrays, result)]
        if out is not None and (not out.flags.writeable or _may_overlap(addresses, route.spans)):
            check_output(out, self.output_shape, self.dtype, arrays, self.equation)
        if route.single is not None:
            route.single(addresses, threads)
        else:
            self._run(route.steps, list(arrays), result, threads)
        return result[()] if out is None and not self.output_shape else result

    def _key(self, operands: Sequence[Any], out: Any, threads: int) -> tuple[Any, ...] | None:
        """What decides about the code to run; None if the operands have to be checked and converted first."""
        key: list[Any] = [threads, out is None]
        for array in operands if out is None else (*operands, out):
            if type(array) is not np.ndarray or array.dtype is not self.dtype:
                return None
            key.append(array.shape)
            key.append(array.strides)
        return tuple(key)

    def _checked_route(self, operands: Sequence[Any], out: Any, threads: int) -> tuple[list[Array], _Route]:
        arrays = self._checked_operands(operands)
        if out is not None:
            check_output(out, self.output_shape, self.dtype, arrays, self.equation)
        steps = self._compiled(tuple(_strides(a) for a in arrays), None if out is None else _strides(out), threads)
        single = steps[0].executable if len(steps) == 1 else None
        if len(self._routes) >= ROUTES:
            self._routes.clear()
        reached = [byte_reach(array) for array in (arrays if out is None else [*arrays, out])]
        return arrays, _Route(steps, single, reached)

    def _checked_operands(self, operands: Sequence[Any]) -> list[Array]:
        if len(operands) != len(self.shapes):
            raise EquationError(f"{len(operands)} operands for {len(self.shapes)} subscripts\n  {self.equation}")
        arrays = []
        for position, (operand, shape) in enumerate(zip(operands, self.shapes)):
            array = operand if isinstance(operand, np.ndarray) else np.asarray(operand)
            if array.shape != shape:
                raise ShapeError(
                    f"operand {position} has shape {array.shape}, the expression was compiled for {shape}\n"
                    f"  {self.equation}\n  Compile another expression for this shape."
                )
            if array.dtype != self.dtype:
                if array.dtype.kind != "f" or array.dtype.itemsize > 8 or self.dtype.name not in DTYPES:
                    raise DTypeError(
                        f"operand {position} has type {array.dtype}, the expression computes in {self.dtype}\n"
                        f"  {self.equation}\n  Convert it: operand.astype({self.dtype.name!r})."
                    )
                array = array.astype(self.dtype)
            elif element_strides(array) is None:
                array = array.copy()
            arrays.append(array)
        return arrays

    def _run(self, steps: list[_CompiledStep], arrays: list[Array], result: Array, threads: int) -> None:
        tensors = list(arrays)
        for index, compiled in enumerate(steps):
            last = index == len(steps) - 1
            output = result if last else np.empty(math.prod(compiled.step.shape), self.dtype)
            operands = (*(tensors[i] for i in compiled.step.inputs), output)
            if compiled.executable is None:
                if output.size:
                    unit = compiled.step.operation.output.dtype.name
                    interpret(compiled.step.operation, [memory_of(operand, unit) for operand in operands])
            else:
                compiled.executable([array_address(operand) for operand in operands], threads)
            tensors.append(output)

    # ---- compiling -----------------------------------------------------------------------------------------------

    def _machine(self) -> Machine:
        machine = self._target if isinstance(self._target, Machine) else host()
        if isinstance(self._target, str) and self._target not in ("cpu", "interpreter"):
            raise UnsupportedTarget(f"target {self._target!r}\n  Targets: 'cpu', 'interpreter' or a Machine.")
        if machine.vector == "none":
            raise UnsupportedTarget(
                f"{machine.name} has neither AVX2 with FMA, AVX-512 nor Neon\n  {self._problem.equation.text}\n"
                '  Use target="interpreter".'
            )
        return machine

    def _thread_count(self) -> int:
        return 1 if self._is_small else thread_count(self._threads, cores=host().cores)

    def _compiled(
        self, strides: tuple[tuple[int, ...], ...], out_strides: tuple[int, ...] | None, threads: int
    ) -> list[_CompiledStep]:
        if out_strides == contiguous_strides(self.output_shape):
            out_strides = None
        key = (strides, out_strides, threads)
        with self._lock:
            steps = self._variants.get(key)
            if steps is None:
                steps = self._variants[key] = self._compile(strides, out_strides, threads)
                if len(self._variants) > VARIANTS:
                    self._variants.popitem(last=False)
            else:
                self._variants.move_to_end(key)
            return steps

    def _compile(
        self, strides: tuple[tuple[int, ...], ...], out_strides: tuple[int, ...] | None, threads: int
    ) -> list[_CompiledStep]:
        problem = Problem(self._problem.equation, self.shapes, strides, self._problem.sizes, self._problem.dtype)
        plan = widened(plan_problem(problem, out_strides, self._plan.path), self._parts)
        if self._schedule is not None and len(plan.steps) != 1:
            raise ScheduleError(f"a schedule is for a single operation; {self.equation} takes {len(plan.steps)}")
        return [self._compile_step(step, threads) for step in plan.steps]

    def _compile_step(self, step: Step, threads: int) -> _CompiledStep:
        if self._target == "interpreter":
            return _CompiledStep(step)
        machine = self._machine()
        if self._schedule is not None:
            operation, schedule = fuse_as_named(step.operation, self._schedule), self._schedule
        else:
            operation, schedule = optimize_operation(step.operation, machine, Options(threads))
        return _CompiledStep(step, threads, schedule, Executable(bind(operation, schedule), machine))

    # ---- looking -------------------------------------------------------------------------------------------------

    @property
    def path(self) -> tuple[tuple[int, ...], ...]:
        """The contraction path, as `opt_einsum` writes it."""
        return self._plan.path

    @property
    def flops(self) -> int:
        """Arithmetic of one call."""
        return self._plan.flops

    @property
    def bytes(self) -> int:
        """Least traffic of one call, in bytes: every tensor read or written once."""
        return self._plan.bytes

    @property
    def scratch_bytes(self) -> int:
        """Scratch that each thread needs beyond operands and intermediate tensors, in bytes."""
        return max((step.executable.program.scratch_bytes for step in self._last() if step.executable), default=0)

    @property
    def code(self) -> bytes:
        """The machine code of all steps, one behind the other; empty on the interpreter."""
        return b"".join(step.executable.kernel.code for step in self._last() if step.executable)

    @property
    def schedule(self) -> Schedule | None:
        """How the operation is computed: what `schedule=` takes for the same equation. None for several steps."""
        steps = self._last()
        return steps[0].schedule if len(steps) == 1 else None

    @property
    def isa(self) -> str:
        """The vector ISA that the code is for: `"avx512"`, `"avx2"`, `"neon"`; `"none"` on the interpreter."""
        return "none" if self._target == "interpreter" else self._machine().vector

    def show(self, what: str = "nest") -> str:
        """Return the expression as text, step by step.

        Args:
            what: `"tree"`, the steps; `"passes"`, what each pass of the optimiser did and why; `"nest"`, the operation,
                its costs, schedule and loop nest; `"asm"`, the code.
        """
        texts = {"passes": self._passes_text, "nest": _nest_text, "asm": _asm_text}
        if what == "tree":
            return "\n".join(_headings(self._plan))
        if what not in texts:
            raise ScheduleError(f"show({what!r})\n  Show 'tree', 'passes', 'nest' or 'asm'.")
        steps = zip(_headings(self._plan), self._last())
        return "\n\n".join(f"{heading}\n\n{texts[what](compiled)}" for heading, compiled in steps)

    def _passes_text(self, compiled: _CompiledStep) -> str:
        if compiled.executable is None:
            return "no pass: the interpreter computes the operation as it is"
        if self._schedule is not None:
            return f"no pass: the schedule was given, {self._schedule}"
        machine = compiled.executable.program.machine
        return explain_passes(compiled.step.operation, machine, Options(compiled.threads))

    def _last(self) -> list[_CompiledStep]:
        if not self._variants:
            return [_CompiledStep(step) for step in self._plan.steps]
        return next(reversed(self._variants.values()))

    def __repr__(self) -> str:
        shapes = " ".join("x".join(map(str, shape)) or "scalar" for shape in self.shapes)
        result = "x".join(map(str, self.output_shape)) or "scalar"
        target = self._target if isinstance(self._target, str) else self._target.vector
        return f"Expression({self.equation!r}, {self.dtype}, {shapes} -> {result}, {self.flops:,} flop, {target})"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self))}\n\n{html.escape(self.show())}</pre>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Expression, self._arguments


def _may_overlap(addresses: Sequence[int], spans: Sequence[tuple[int, int]]) -> bool:
    """Whether the bytes between the ends of the output, the last argument, lie among those of another."""
    *inputs, output = addresses
    low, high = output + spans[-1][0], output + spans[-1][1]
    for start, (first, end) in zip(inputs, spans):  # noqa: SIM110 (this is on the path of every call)
        if start + first < high and low < start + end:
            return True
    return False


def _strides(array: Array) -> tuple[int, ...]:
    strides = element_strides(array)
    assert strides is not None  # operands and outputs were checked
    return strides


def _nest_text(compiled: _CompiledStep) -> str:
    if compiled.executable is None or compiled.schedule is None:
        return str(compiled.step.operation)
    operation = compiled.executable.nest.operation
    return f"{operation}\n\n{nest_text(operation, compiled.schedule, compiled.executable)}"


def _asm_text(compiled: _CompiledStep) -> str:
    return compiled.executable.kernel.listing() if compiled.executable else str(compiled.step.operation)


def _headings(plan: Plan) -> list[str]:
    """A line a step: the tensor that it makes, of which others. The operands are the first tensors."""
    operands = 1 + max((i for step in plan.steps for i in step.inputs), default=0)
    first = operands - len(plan.steps) + 1 if len(plan.steps) > 1 else operands
    return [
        f"t{number} {step.shape} = {step.operation.main} {' '.join(f't{i}' for i in step.inputs)}, "
        f"{step.operation.flops:,} flop"
        for number, step in enumerate(plan.steps, first)
    ]
