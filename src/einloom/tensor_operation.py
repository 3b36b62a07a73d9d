"""`TensorOperation`: a configuration, compiled; and `optimize`, which improves one. Both are public."""

from __future__ import annotations

import html
from typing import Any

import numpy as np

from einloom.config import LEAST_WORK, current_settings, thread_count
from einloom.errors import ArgumentError, ScheduleError, UnsupportedTarget
from einloom.execution import Execution
from einloom.ir.bind import bind
from einloom.ir.configuration import TensorOperationConfig
from einloom.ir.operation import Operation
from einloom.jit.host import host
from einloom.machine import Machine
from einloom.passes.fuse import fuse_as_named
from einloom.passes.pipeline import optimize_operation
from einloom.passes.values import Options, Rules
from einloom.search.records import readable_file
from einloom.targets.executable import Executable
from einloom.targets.image import image_of
from einloom.targets.show import asm_text, nest_text

__all__ = ["TensorOperation", "optimize"]


class TensorOperation:
    """A tensor operation, ready to execute.

    Args:
        config: what and how.
        threads: how many threads share the `shared` dimensions; None for the settings' at each call.

    Raises:
        ArgumentError: it is no configuration, or `threads` is no number of threads.
        UnsupportedTarget: this host has no vector ISA that kernels are written for.

    Attributes:
        config: as given.
        nest: the decided loop nest.
    """

    def __init__(self, config: TensorOperationConfig, threads: int | None = None) -> None:
        self.config = _checked_config(config)
        self.nest = bind(config.operation, config.schedule)
        thread_count(threads, cores=1)  # Refuses what is no number of threads.
        self._threads = threads
        self._machine = host()
        self._executable = Executable(image_of(self.nest, self._machine))
        self._execution = Execution(self.nest.operation, self._executable, threads)
        if type(self).execute is TensorOperation.execute:
            # The instance's own comes before the method: a call through it enters generated code at once.
            self.__dict__["execute"] = self._execution

    def execute(self, in0: Any, in1: Any, out: Any, **extras: Any) -> Any:
        """Compute; returns `out`.

        Args:
            in0: array whose first element is index 0 of every axis; None for zero. Its shape does not matter, the
                configuration's strides do.
            in1: another one; None where the main primitive has no such input.
            out: takes the result.
            extras: an array for each of the configuration's extras, by name; a mask is written.

        Raises:
            DTypeError: an argument is no array of the configuration's type, or one is missing.
            StrideError: an element that is reached lies outside its buffer, is not aligned, or what is to be written is
                read-only.
            OverlapError: what is written shares bytes with another operand. Nothing has been written in any of these
                cases.
        """
        return self._execution(in0, in1, out, **extras)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.config, self._threads)

    def show(self, what: str = "nest") -> str:
        """Return the costs, the schedule and the loop nest (`"nest"`) or the machine code (`"asm"`) as text.

        Raises:
            ArgumentError: another word.
        """
        if what == "nest":
            return nest_text(self.nest.operation, self.config.schedule, self._machine)
        if what == "asm":
            return asm_text(self.nest.operation, self.config.schedule, self._machine)
        raise ArgumentError(f"show({what!r})\n  Show 'nest' or 'asm'.")

    def __repr__(self) -> str:
        operation, code = self.nest.operation, self._executable.image.code
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

    Without options about blocks that is the schedule which the operation was tuned to, if `einloom.tune` recorded one.

    Args:
        config: any exec types (all `seq` included); only what is computed counts, with the plain rules also which
            dimensions are shared and in which order they stand.
        max_kernel_size: most indices of an axis that one call of a primitive takes; None: what suits the caches.
        min_kernel_size: axes of at least this many indices are not fused with others; None: whatever can fuse does.
        thread_target: how many threads to share the work among; the settings' if None. With `rules="seed"`: most
            iterations that several shared dimensions may have together.
        packing: whether inputs may be copied into scratch block by block; None: where it pays.
        sfc: whether blocks of the output follow a space-filling curve; None: no.
        rules: `"caches"`, or `"seed"` for the plain rules, which know nothing of caches: dimensions below
            `min_kernel_size` are fused, those above `max_kernel_size` split into two that the size divides and that
            both have `min_kernel_size` indices, the primitive is identified by unit and smallest strides, and
            sequential dimensions become shared up to `thread_target` iterations. Nothing is packed.

    Raises:
        ArgumentError: no configuration, an option that is not of its kind, or a kernel size below 1.
    """
    _checked_config(config)
    for name, size in (("max_kernel_size", max_kernel_size), ("min_kernel_size", min_kernel_size)):
        if size is not None and not _is_positive(size):
            raise ArgumentError(f"{name} is {size!r}; it is a number of indices, at least 1, or None")
    for name, choice in (("packing", packing), ("sfc", sfc)):
        if not isinstance(choice, bool | None):
            raise ArgumentError(f"{name} is {choice!r}; it is True, False or None")
    if rules not in tuple(Rules):
        raise ArgumentError(f"rules is {rules!r}; it is one of {', '.join(Rules)}")
    machine = host()
    if not machine.has_vectors:
        raise UnsupportedTarget(f"{machine.name} has neither AVX2 with FMA and F16C, AVX-512 nor Neon")
    chosen = (max_kernel_size, min_kernel_size, packing, sfc)
    recorded = (
        _recorded(config.operation, machine, thread_target) if rules == "caches" and set(chosen) == {None} else None
    )
    if recorded is not None:
        return recorded
    options = Options(
        threads=thread_count(thread_target, cores=machine.cores),
        packing=packing is not False,
        max_kernel_size=max_kernel_size,
        min_kernel_size=min_kernel_size,
        sfc=bool(sfc),
        rules=Rules(rules),
        fuses=False,
    )
    operation, schedule = optimize_operation(config.operation, machine, options, config.schedule)
    return TensorOperationConfig.from_schedule(operation, schedule)


def _recorded(operation: Operation, machine: Machine, threads: int | None) -> TensorOperationConfig | None:
    """What an operation was tuned to here; None if it was not, or to what configurations have no word for."""
    file = readable_file(current_settings().records)
    if file is None:
        return None
    from einloom.search.problems import recorded_schedule  # Late: mostly there are no records.

    is_small = max(operation.flops, operation.bytes) < 2 * LEAST_WORK
    count = 1 if is_small else thread_count(threads, cores=machine.cores)
    schedule = recorded_schedule(operation, machine, count, file)
    try:
        fitting = None if schedule is None else (fuse_as_named(operation, schedule), schedule)
        return None if fitting is None else TensorOperationConfig.from_schedule(*fitting)
    except ScheduleError:
        return None


def _checked_config(config: object) -> TensorOperationConfig:
    if isinstance(config, TensorOperationConfig):
        return config
    raise ArgumentError(f"config is a {type(config).__name__}\n  Pass a TensorOperationConfig.")


def _is_positive(number: object) -> bool:
    return isinstance(number, int | np.integer) and not isinstance(number, bool) and int(number) >= 1
