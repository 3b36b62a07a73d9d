"""`TensorOperation`: a configuration, compiled; and `optimize`, which improves one. Both are public."""

from __future__ import annotations

import html

import numpy as np

from einloom.config import thread_count
from einloom.errors import DTypeError, OverlapError, ScheduleError, StrideError, UnsupportedTarget
from einloom.ir.bind import bind
from einloom.ir.configuration import TensorOperationConfig
from einloom.ir.operation import Operand, Operation, reach
from einloom.jit.host import host
from einloom.passes.pipeline import optimize_operation
from einloom.passes.values import Options, Rules
from einloom.plan.arrays import Array, byte_span
from einloom.targets.executable import Executable
from einloom.targets.show import nest_text

__all__ = ["TensorOperation", "optimize"]


class TensorOperation:
    """A tensor operation, ready to execute.

    Args:
        config: what and how.
        threads: how many threads share the `shared` dimensions; None for the settings' at each call.

    Raises:
        ScheduleError, StrideError: the configuration is illegal; the message names the dimension.
        UnsupportedTarget: this host has no vector ISA that kernels are written for.

    Attributes:
        config: as given.
        nest: the decided loop nest.
    """

    def __init__(self, config: TensorOperationConfig, threads: int | None = None) -> None:
        self.config = config
        self.nest = bind(config.operation, config.schedule)
        self._threads = threads
        self._machine = host()
        self._executable = Executable(self.nest, self._machine)

    def execute(self, in0: Array | None, in1: Array | None, out: Array, **extras: Array) -> Array:
        """Compute; returns `out`.

        Args:
            in0, in1: arrays whose first element is index 0 of every axis; `in1` (and `in0` for zero) None where the
                main primitive has no such input. Their shapes do not matter, the configuration's strides do.
            out: takes the result.
            extras: an array for each of the configuration's extras, by name; a mask is written.

        Raises:
            DTypeError: an argument is no array of the configuration's type, or one is missing.
            StrideError: an element that is reached lies outside its buffer, is not aligned, or what is to be written is
                read-only.
            OverlapError: what is written shares bytes with another operand. Nothing has been written in any of these
                cases.
        """
        operation = self.nest.operation
        given = {"in0": in0, "in1": in1, "out": out} | extras
        arrays = [_checked(operation, operand, given.get(operand.name)) for operand in operation.operands]
        for name in ("in0", "in1")[len(operation.inputs) :]:
            if given[name] is not None:
                raise DTypeError(f"{operation.main} reads {len(operation.inputs)} operands; {name} must be None")
        if unknown := set(extras) - {operand.name for operand in operation.extras}:
            names = ", ".join(operand.name for operand in operation.extras) or "none"
            raise DTypeError(f"no extra is called {', '.join(sorted(unknown))}\n  The configuration's extras: {names}")
        for position in operation.written:
            if not arrays[position].flags.writeable:
                raise StrideError(f"{operation.operands[position].name} is read-only\n  Pass a writable array.")
        spans = [_span(operation, o, a) for o, a in zip(operation.operands, arrays)]
        _check_overlap(operation, spans)
        self._executable(tuple(a.__array_interface__["data"][0] for a in arrays), self._thread_count())
        return out

    def _thread_count(self) -> int:
        return thread_count(self._threads, cores=self._machine.cores)

    def show(self, what: str = "nest") -> str:
        """Return the costs, the schedule and the loop nest (`"nest"`) or the machine code (`"asm"`) as text.

        Raises:
            ScheduleError: another word.
        """
        if what == "nest":
            return nest_text(self.nest.operation, self.config.schedule, self._executable)
        if what == "asm":
            return self._executable.kernel.listing()
        raise ScheduleError(f"show({what!r})\n  Show 'nest' or 'asm'.")

    def __repr__(self) -> str:
        operation, code = self.nest.operation, self._executable.kernel.code
        axes = " ".join(f"{axis.name}={axis.extent}" for axis in operation.axes)
        return (
            f"TensorOperation({operation.main} {self.config.dtype} {axes}, {self._machine.vector}, {len(code)} bytes)"
        )

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self))}\n\n{html.escape(self.show())}</pre>"


def optimize(
    config: TensorOperationConfig,
    *,
    max_kernel_size: int | None = None,
    min_kernel_size: int | None = None,
    thread_target: int | None = None,
    packing: bool | None = None,
    sfc: bool | None = None,
    rules: str = "caches",
) -> TensorOperationConfig:
    """Return a configuration of the same operation with a schedule that runs well here; it always sets up.

    Args:
        config: any exec types (all `seq` included); only what is computed counts, with the seed's rules also which
            dimensions are shared and in which order they stand.
        max_kernel_size: most indices of an axis that one call of a primitive takes; None: what suits the caches.
        min_kernel_size: axes of at least this many indices are not fused with others; None: whatever can fuse does.
        thread_target: how many threads to share the work among; the settings' if None. With the seed's rules: most
            iterations that several shared dimensions may have together.
        packing: whether inputs may be copied into scratch block by block; None: where it pays.
        sfc: whether blocks of the output follow a space-filling curve; None: no.
        rules: `"caches"`, or `"seed"` for the plain passes of seed document 000, section 5.5, to the letter: dimensions
            below `min_kernel_size` are fused, those above `max_kernel_size` split into two that the size divides and
            that both have `min_kernel_size` indices, the primitive is identified by unit and smallest strides, and
            sequential dimensions become shared up to `thread_target` iterations. Nothing is packed.

    Raises:
        ScheduleError: an option that is not of its kind, or a kernel size below 1.
    """
    for name, size in (("max_kernel_size", max_kernel_size), ("min_kernel_size", min_kernel_size)):
        if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size < 1):
            raise ScheduleError(f"{name} is {size!r}; it is a number of indices, at least 1, or None")
    for name, choice in (("packing", packing), ("sfc", sfc)):
        if choice not in (None, True, False):
            raise ScheduleError(f"{name} is {choice!r}; it is True, False or None")
    if rules not in tuple(Rules):
        raise ScheduleError(f"rules is {rules!r}; it is one of {', '.join(Rules)}")
    machine = host()
    if machine.vector == "none":
        raise UnsupportedTarget(f"{machine.name} has neither AVX2 with FMA, AVX-512 nor Neon")
    options = Options(
        threads=thread_count(thread_target, cores=machine.cores),
        packing=packing is not False,
        max_kernel_size=max_kernel_size,
        min_kernel_size=min_kernel_size,
        sfc=bool(sfc),
        rules=Rules(rules),
    )
    operation, schedule = optimize_operation(config.operation, machine, options, config.schedule)
    return TensorOperationConfig.from_schedule(operation, schedule)


def _checked(operation: Operation, operand: Operand, array: Array | None) -> Array:
    name = operand.name
    if array is None:
        raise DTypeError(f"{name} is None, but {operation.main} needs it")
    if not isinstance(array, np.ndarray) or array.dtype != np.dtype(operand.dtype.name):
        kind = getattr(array, "dtype", type(array).__name__)
        raise DTypeError(f"{name} has type {kind}, the configuration says {operand.dtype}\n  Convert the array.")
    if array.__array_interface__["data"][0] % operand.dtype.size:
        raise StrideError(
            f"{name} does not begin at a multiple of {operand.dtype.size} bytes\n  Pass an aligned array."
        )
    return array


def _span(operation: Operation, operand: Operand, array: Array) -> tuple[int, int]:
    """The addresses that the operation reaches: the first byte, and the first behind the last."""
    reached = reach(operation, operand)
    if reached is None:
        return 0, 0
    size = operand.dtype.size
    start = array.__array_interface__["data"][0]
    low, high = start + reached[0] * size, start + (reached[1] + 1) * size
    first, end = byte_span(array)
    if low < first or high > end:
        raise StrideError(
            f"{operand.name}: the operation reaches elements {reached[0]} to {reached[1]}, "
            f"the array holds {(first - start) // size} to {(end - start) // size - 1}\n"
            "  Pass a larger array, or mend sizes and strides."
        )
    return low, high


def _check_overlap(operation: Operation, spans: list[tuple[int, int]]) -> None:
    for position in operation.written:
        low, high = spans[position]
        written = operation.operands[position]
        for other, (operand, (other_low, other_high)) in enumerate(zip(operation.operands, spans)):
            if other == position or not (low < other_high and other_low < high):
                continue
            same = (low, high) == (other_low, other_high) and operand.strides == written.strides
            reads_first = other < len(operation.inputs) and not operation.main.is_contraction
            if not (same and reads_first and written is operation.output):
                raise OverlapError(
                    f"{written.name} shares memory with {operand.name}\n  Pass arrays that do not overlap."
                )
