"""`tune`: find a faster schedule for a contraction on this machine, and use it from then on. It is public."""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from pathlib import Path
from typing import Any, overload

from einloom.api import clear_cache
from einloom.arrays.library import incoming
from einloom.body_tuning import BodyRun, TunedLoop, tune_body
from einloom.config import LEAST_WORK, current_settings, thread_count
from einloom.errors import ArgumentError, DeviceError, DTypeError, ScheduleError, UnsupportedTarget
from einloom.expression.on_gpu.steps import forget_steps
from einloom.expression.options import GPU_TARGETS
from einloom.expression.types import computed_type, numpy_type, operand_types
from einloom.ir.configuration import TensorOperationConfig
from einloom.ir.operation import Operation
from einloom.jit.gpu.devices import open_gpu
from einloom.jit.gpu.driver import GpuDriver
from einloom.plan.names import with_plain_names
from einloom.search.limits import limits_beside, measured_limits, raised_limits
from einloom.search.measure import Compiler
from einloom.search.on_gpu.result import TunedKernel
from einloom.search.on_gpu.tune import KernelProblem, tune_kernel
from einloom.search.problems import host_of
from einloom.search.progress import shown
from einloom.search.records import chosen_file
from einloom.search.result import Tuned
from einloom.search.search import Budget, SearchRun
from einloom.search.strategies import check_strategy
from einloom.search.tune import tune_operation
from einloom.space.backbone import Backbone
from einloom.space.candidate import Space
from einloom.space.kernels import Kernel
from einloom.space.on_cpu.given import operation_of_equation
from einloom.space.on_gpu.experts import best_expert, spaces_of
from einloom.space.on_gpu.fragments import fitted
from einloom.space.on_gpu.operations import kernel_of
from einloom.targets.gpu.device import device_of
from einloom.traced_body import TracedBody

__all__ = ["kernel_problem", "operation_of", "tune", "tune_on_cpu", "tune_on_gpu"]


@overload
def tune(  # pyright: ignore[reportOverlappingOverload]  # A body's base class is made at run time, of no known type.
    what: TracedBody,
    /,
    *tensors: Any,
    budget: Budget | int = ...,
    strategy: str | None = ...,
    seed: int = ...,
    progress: bool | Callable[[BodyRun], None] = ...,
) -> TunedLoop: ...


@overload
def tune(
    what: str | TensorOperationConfig,
    /,
    *shapes_or_arrays: Any,
    budget: Budget | int = ...,
    strategy: str | None = ...,
    seed: int = ...,
    records: Any = ...,
    threads: int | None = ...,
    dtype: object = ...,
    log: str | Path | None = ...,
    progress: bool | Callable[[SearchRun], None] = ...,
    target: str = ...,
) -> Tuned | TunedKernel: ...


def tune(
    what: str | TensorOperationConfig | TracedBody,
    /,
    *shapes_or_arrays: Any,
    budget: Budget | int = 200,
    strategy: str | None = None,
    seed: int = 0,
    records: Any = None,
    threads: int | None = None,
    dtype: object = None,
    log: str | Path | None = None,
    progress: bool | Callable[[Any], None] = False,
    target: str = "cpu",
) -> Tuned | TunedKernel | TunedLoop:
    """Search for a schedule that is faster here than the heuristic's; `einsum` and `compile` use it from then on.

    Candidates run in a process of their own; what they compute is compared with the interpreter. Ctrl-C ends the
    search with the best so far.

    Args:
        what: an equation that takes one operation, or a configuration; or a traced body, for which a search finds a
            loop string. Then candidates run in this process, and have to write the same bits as the body does.
        shapes_or_arrays: of an equation: one an operand; shapes are C-contiguous. Of a body: its tensors, in the order
            of their names; copies of them are written.
        budget: when to end: a number of evaluations, or a `Budget`.
        strategy: `"tag"`, `"uct"`, `"local"`, `"random"`, `"weighted_random"`, `"round_robin"`, `"bound_first"` or
            `"exhaustive"`; `"tag"` if None. Of a body: `"local"`, the default, or `"random"`.
        seed: of everything that is drawn.
        records: where results are kept and looked up: None for the settings', False for nowhere, or a path.
        threads: how many threads; the settings' if None.
        dtype: type to compute in; float64 for shapes, the arrays' common type, if None.
        log: a file for what the search does, compressed; `einloom replay FILE` lets it search so again.
        progress: whether to show how far the search is; or what to call after every evaluation.
        target: `"cpu"`, or a GPU: `"opencl"`, `"cuda"`, `"gpu"`, where leaves of its space are measured.

    Returns:
        What was found: `best.schedule`, `best.time`, `speedup`, `history`, `gap`, `table()`, `plot()`, `explain()`; of
        a body `best.string`, and `body`, the one to call.

    Raises:
        EquationError, ShapeError, DTypeError, ArgumentError: an argument is none.
        ScheduleError: the equation takes several operations, or there is nothing to compute.
        UnsupportedTarget: this host has no vector ISA that kernels are written for.
    """
    budget, seed = _budget(budget), _seed(seed)
    if not isinstance(progress, bool) and not callable(progress):
        raise ArgumentError(
            f"progress is {progress!r:.80}\n  Give True, False, or what to call after every evaluation."
        )
    if isinstance(what, TracedBody):
        if records or target != "cpu" or not (threads is dtype is log is None):
            raise ArgumentError(
                "records=, threads=, dtype=, log= and target= are for operations\n  Leave them out: the loops say them."
            )
        with shown(progress) as seen:
            return tune_body(what, shapes_or_arrays, budget, "local" if strategy is None else strategy, seed, seen)
    strategy = "tag" if strategy is None else check_strategy(strategy)
    if target != "cpu" and target not in GPU_TARGETS:
        known = ", ".join(map(repr, ("cpu", *GPU_TARGETS)))
        raise UnsupportedTarget(f"target {target!r:.80}\n  Targets of tune are {known}.")
    operation = _operation(what, shapes_or_arrays, dtype)
    if target != "cpu":
        if log is not None or threads is not None:
            raise UnsupportedTarget("log= and threads= are for processors\n  Leave them out.")
        return tune_on_gpu(operation, target, budget, strategy, seed, records, progress)
    return tune_on_cpu(operation, budget, strategy, seed, records, threads, log, progress)


def tune_on_cpu(
    operation: Operation,
    budget: Budget | int,
    strategy: str,
    seed: int,
    records: Any,
    threads: int | None,
    log: str | Path | None,
    progress: bool | Callable[[SearchRun], None],
    compiler: Compiler | None = None,
) -> Tuned:
    """Search for a faster schedule of an operation, as `tune`; a compiler makes candidates for this host elsewhere."""
    budget = _budget(budget)
    end, machine = budget.end(), host_of(operation)
    if not machine.has_vectors:
        raise UnsupportedTarget(f"{machine.name} has neither AVX2 with FMA and F16C, AVX-512 nor Neon")
    given = thread_count(threads, cores=machine.cores)
    is_small = max(operation.flops, operation.bytes) < 2 * LEAST_WORK
    file = chosen_file(current_settings().records if records is None else records)
    beside = None if file is None else limits_beside(file)
    from einloom import __version__

    with shown(progress) as seen:
        tuned = tune_operation(
            operation,
            machine,
            budget,
            threads=1 if is_small else given,
            strategy=strategy,
            seed=seed,
            file=file,
            version=__version__,
            limits=raised_limits(beside, machine, measured_limits(machine)),
            log=_path(log),
            progress=seen,
            compiler=compiler,
            end=end,
        )
    if tuned.limits is not None:
        raised_limits(beside, machine, tuned.limits)
    clear_cache()  # What was compiled before would be used on and on.
    return tuned


def tune_on_gpu(
    what: Operation | Kernel,
    target: str,
    budget: Budget | int,
    strategy: str = "tag",
    seed: int = 0,
    records: Any = None,
    progress: bool | Callable[[SearchRun], None] = False,
) -> TunedKernel:
    """Search for a faster kernel on a GPU, of an operation or one of the named kernels; as `tune` otherwise.

    Raises:
        DeviceError: there is no such device.
        UnsupportedTarget: the operation has no scalar instructions.
    """
    budget = _budget(budget)
    end, driver = budget.end(), open_gpu(target)
    file = chosen_file(current_settings().records if records is None else records)
    from einloom import __version__

    with shown(progress) as seen:
        tuned = tune_kernel(
            kernel_problem(what, driver),
            budget,
            strategy=strategy,
            seed=_seed(seed),
            file=file,
            version=__version__,
            progress=seen,
            end=end,
        )
    forget_steps()
    clear_cache()
    return tuned


def kernel_problem(what: Operation | Kernel, driver: GpuDriver) -> KernelProblem:
    """Return the space of an operation or a named kernel on a device, and how a process makes it again.

    Raises:
        DeviceError: its arrays are larger than the device's memory.
        ScheduleError: an axis has no indices: there is nothing to decide.
    """
    if isinstance(what, Operation) and any(axis.extent == 0 for axis in what.axes):
        raise ScheduleError("nothing is computed, so nothing can be tuned\n  Give extents of at least 1.")
    _check_room(what.backbone if isinstance(what, Kernel) else kernel_of(what).backbone, driver)
    if isinstance(what, Kernel):
        told: dict[str, Any] = {"kernel": what.backbone.name, "options": dict(what.options)}
        space = Space(what, fitted(device_of(driver.limits, [what.backbone.dtype]), what))
    else:
        plain = with_plain_names(what)
        told = {"operation": str(plain)}
        space = best_expert(spaces_of(plain, device_of(driver.limits, [each.dtype for each in plain.operands]))).space
    return KernelProblem(space, told, driver.kind, driver.identity)


def _check_room(backbone: Backbone, driver: GpuDriver) -> None:
    needed = sum(backbone.type_of(each).size * backbone.extent(each) for each in backbone.regions)
    limits = driver.limits
    if needed > limits.memory_bytes:
        raise DeviceError(
            f"the arrays of {backbone.name} take {needed / 1e9:.4g} GB, "
            f"{limits.name} has {limits.memory_bytes / 1e9:.4g}\n  Give smaller sizes."
        )


def _operation(what: str | TensorOperationConfig, shapes_or_arrays: tuple[Any, ...], dtype: object) -> Operation:
    if not isinstance(what, TensorOperationConfig):
        return operation_of(what, shapes_or_arrays, dtype)
    if shapes_or_arrays or dtype is not None:
        raise ArgumentError(
            "shapes, arrays and dtype= are for equations\n  Leave them out: the configuration says them."
        )
    return what.operation


def _budget(given: Any) -> Budget:
    """The budget that an argument means: a number of evaluations, or one."""
    if isinstance(given, Budget):
        return given
    try:
        return Budget(evaluations=index(given))
    except TypeError:
        raise ArgumentError(f"budget is {given!r:.80}\n  Give a number of evaluations, or a Budget.") from None


def _path(given: Any) -> Path | None:
    try:
        return None if given is None else Path(given)
    except TypeError:
        raise ArgumentError(f"log is {given!r:.80}\n  Give the path of a file, or None.") from None


def _seed(given: Any) -> int:
    try:
        return index(given)
    except TypeError:
        raise ArgumentError(f"seed is {given!r:.80}\n  Give a whole number.") from None


def operation_of(equation: object, given: tuple[Any, ...], dtype: object) -> Operation:
    """Return the one operation of an equation over shapes or arrays, as `einsum` would run it.

    Raises:
        DTypeError: it multiplies complex numbers. Their kernels take loops in, so that they store and are called less
            often than bounds reckon, which would cut good schedules and raise this machine's limits for nothing.
    """
    if not isinstance(equation, str):
        return operation_of_equation(equation, given, dtype)
    arrays = [incoming(each, f"operand {n}") for n, each in enumerate(given) if hasattr(each, "shape")]
    computed = computed_type(equation, arrays, dtype)
    types = operand_types(arrays, computed) if len(arrays) == len(given) else ()
    operation = operation_of_equation(equation, given, numpy_type(computed)[0], types)
    if operation.multiplies_pairs:
        raise DTypeError(
            f"{equation} multiplies {operation.output.dtype}, and tuning of that is missing\n"
            "  Compute with the heuristic's schedule, or give compile one of el.space.cpu."
        )
    return operation
