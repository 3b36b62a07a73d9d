"""The public functions on arrays: `einsum`, `compile`, `contract_path`. What they rest on lies in the floors below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import index
from typing import Any, TypedDict, Unpack

from numpy import ndarray

from einloom.arrays.library import Array, Imported, element_strides, incoming
from einloom.errors import EquationError, ScheduleError, ShapeError, UnsupportedTarget
from einloom.expression.constants import with_constants
from einloom.expression.conversion import conversion_of
from einloom.expression.made import device_operands, make_expression, on_device
from einloom.expression.options import GPU_TARGETS, Options
from einloom.expression.remembered import Request, evaluate, forget, key_of, listed_operands, remembered
from einloom.expression.types import computed_type, operand_types
from einloom.frameworks import framework_of
from einloom.ir.schedule import Schedule
from einloom.machine import Machine
from einloom.plan.equation import caret_lines, interleaved_equation
from einloom.plan.finish import finish_of
from einloom.plan.paths import described_path
from einloom.plan.problem import make_problem

__all__ = ["clear_cache", "compile", "contract_path", "einsum", "shape_of"]


TARGETS = "'cpu', 'interpreter', 'opencl', 'cuda', 'gpu'"


class EinsumOptions(TypedDict, total=False):
    """What `einsum` takes besides operands and `out`."""

    dtype: object
    casting: str
    order: str
    optimize: Any
    memory_limit: float | str | None
    alpha: complex
    beta: complex
    conj: Sequence[int]
    epilogue: str | Sequence[Any]
    threads: int | None
    target: str | Machine


_DEFAULTS: EinsumOptions = {
    "dtype": None,
    "casting": "safe",
    "order": "K",
    "optimize": "auto",
    "memory_limit": None,
    "alpha": 1,
    "beta": 0,
    "conj": (),
    "epilogue": (),
    "threads": None,
    "target": "cpu",
}


def einsum(equation: Any = "", *operands: Any, out: Array | None = None, **options: Unpack[EinsumOptions]) -> Any:
    """Evaluate an einsum with code that was compiled for these shapes and strides.

    >>> A, B = np.ones((2, 3), np.float32), np.ones((3, 4), np.float32)
    >>> einsum("ab,bc->ac", A, B).shape
    (2, 4)

    Args:
        equation: as for `numpy.einsum`; or the interleaved form `A, [0, 1], B, [1, 2], [0, 2]`. Operands may come as
            one list, as for `torch.einsum`.
        operands: arrays of any strides; arrays of other libraries come in through DLPack.
        out: takes the result and is returned; exact shape and type, and no byte shared with an operand.
        dtype: type to compute in; the operands' common type if None.
        casting: which conversions are allowed, as for `numpy.einsum`. `out` has the type that is computed in, unless
            this is `"same_kind"` or `"unsafe"`.
        order: how a fresh result lies: `"C"`, `"F"`, or `"A"` for what all operands are; `"K"` is `"C"`.
        optimize: what `opt_einsum` takes, or a tree of cotengra's, whose slices are kept, for three and more operands;
            `"auto"` if it is not given.
        memory_limit: most elements of an intermediate tensor, a float such as `1e6` rounded down, or `"max_input"`; any
            if None or -1. A contraction that needs larger ones is cut into slices.
        alpha: factor of the sums, 1 if it is not given; with 0 no operand is read.
        beta: `out := beta * out + alpha * einsum`, 0 if it is not given; with 0 what `out` holds is not read.
        conj: positions of operands that are conjugated.
        epilogue: operators on the finished result, in order: a word, or a word and the labels of an operand, which
            follows the others: `epilogue=(("add", "c"), "relu")`. One word may stand by itself: `epilogue="relu"`.
        threads: how many threads; the settings' if None.
        target: where to compute, as for `compile`.

    Returns:
        A fresh C-contiguous array of the first operand's library, a NumPy scalar for a result without axes, or `out`.

    Raises:
        EquationError, ShapeError, DTypeError, StrideError, OverlapError: nothing has been written.
    """
    if type(equation) is str and operands and (type(operands[0]) is ndarray or type(operands[-1]) is ndarray):
        # Most calls: what is added to them here is all that they cost.
        known = remembered(key_of(equation, options) if options else equation)
        if known is not None:
            return known(*operands) if out is None else known(*operands, out=out)
    return _evaluated(equation, operands, out, options)


def _evaluated(equation: Any, operands: Sequence[Any], out: Array | None, options: EinsumOptions) -> Any:
    text, given = _text_and_operands(equation, operands)
    request = _request(text, options) if options else Request(text)
    framework = framework_of(given)
    if framework is not None and not on_device(given, request.options):
        return framework.compute(request, given, out)
    return evaluate(request, given, out, key_of(text, options) if options else None)


def _request(text: str, options: EinsumOptions) -> Request:
    """Return what the keywords ask for."""
    if unknown := [name for name in options if name not in _DEFAULTS]:
        raise TypeError(f"einsum() got an unexpected keyword argument {unknown[0]!r}")
    asked: dict[str, Any] = {**_DEFAULTS, **options}
    if all(asked[name] is default for name, default in _DEFAULTS.items()):
        return Request(text)
    finish = finish_of(asked["alpha"], asked["beta"], asked["conj"], asked["epilogue"])
    how = Options(
        asked["optimize"], asked["memory_limit"], threads=asked["threads"], target=asked["target"], finish=finish
    )
    return Request(text, asked["dtype"], conversion_of(asked["casting"], asked["order"]), how)


def compile(
    equation: str,
    *shapes_or_arrays: Any,
    dtype: object = None,
    optimize: Any = "auto",
    memory_limit: float | str | None = None,
    schedule: Schedule | str | None = None,
    alpha: complex = 1,
    beta: complex = 0,
    conj: Sequence[int] = (),
    epilogue: str | Sequence[Any] = (),
    constants: Mapping[int, Any] | None = None,
    threads: int | None = None,
    target: str | Machine = "cpu",
) -> Any:
    """Compile an einsum for shapes (taken as C-contiguous) or for arrays (with their strides).

    >>> f = compile("abc,cd->abd", (8, 9, 10), (10, 11), dtype="float32")
    >>> f.output_shape
    (8, 9, 11)

    Args:
        equation: as for `numpy.einsum`.
        shapes_or_arrays: one an operand; those of the epilogue follow.
        dtype: type to compute in; float64 for shapes, the common type for arrays, if None.
        optimize: as for `einsum`.
        memory_limit: most elements of an intermediate tensor, a float such as `1e6` rounded down, or `"max_input"`; any
            if None or -1. A contraction that needs larger ones is cut into slices.
        schedule: a `Schedule`, its text or a loop string, instead of the heuristic one, for one or two operands. The
            loops a, b, c, … of a string such as `"bcaBCb"` are the labels in alphabetical order; steps that its
            literals do not say are those of the heuristic schedule.
        constants: arrays by the position of the operands that they are. They are copied, contracted with each other
            and packed into panels once (see `f.show("tree")`), and left out of the calls:
            `f = compile("ab,bc->ac", (2, 3), B, constants={1: B}); f(A)`.
        threads: how many threads; the settings' at each call if None.
        alpha: as for `einsum`, and so the next three.
        beta: factor of what `out` holds.
        conj: positions of operands that are conjugated.
        epilogue: operators on the finished result.
        target: `"cpu"`, `"interpreter"`, a `Machine`; or a GPU: `"opencl"`, `"cuda"`, or `"gpu"` for either.

    Raises:
        EquationError, ShapeError, DTypeError, ScheduleError, UnsupportedTarget: it cannot be compiled so.
    """
    _check_kinds(equation, schedule, target)
    if on_device(shapes_or_arrays, Options(target=target)):
        label, found = device_operands(shapes_or_arrays)
        shapes_or_arrays, dtype = tuple(found), label if dtype is None else dtype
    framework, items = framework_of(shapes_or_arrays), enumerate(shapes_or_arrays)
    if framework is not None:
        shapes_or_arrays = tuple(framework.memory(item, f"operand {position}") for position, item in items)
    shapes = [shape_of(item, position) for position, item in enumerate(shapes_or_arrays)]
    given = [
        incoming(item, f"operand {position}") if is_shaped(item) else None
        for position, item in enumerate(shapes_or_arrays)
    ]
    strides = [None if item is None else element_strides(item.array) for item in given]
    finish = finish_of(alpha, beta, conj, epilogue)
    own = given[: len(given) - len(finish.operands)] if finish.scales else given
    computed = computed_type(equation, [item for item in own if item is not None], dtype)
    options = Options(optimize, memory_limit, schedule, threads, target, finish)
    arrays = [item for item in given if item is not None]
    types = operand_types(arrays, computed) if len(arrays) == len(given) else None
    if constants and target in GPU_TARGETS:
        raise UnsupportedTarget("constants= is for processors\n  Leave it out, or compute with target='cpu'.")
    if constants:
        return with_constants(equation, shapes, computed, strides, constants, options, types)
    return make_expression(equation, shapes, computed, strides, options, types)


def contract_path(
    equation: Any, *operands_or_shapes: Any, optimize: Any = "auto", memory_limit: float | str | None = None
) -> tuple[list[Any], Any]:
    """Return the contraction path and its description, as `opt_einsum.contract_path` does.

    >>> contract_path("ab,bc,cd->ad", (2, 3), (3, 4), (4, 5))[0]
    [(0, 1), (0, 1)]

    Args:
        equation: as for `einsum`, also in the interleaved form.
        operands_or_shapes: arrays, or shapes as tuples.
        optimize, memory_limit: as for `einsum`.

    Raises:
        EquationError, ShapeError: there is no such contraction.
    """
    text, given = _text_and_operands(equation, operands_or_shapes)
    shapes = [shape_of(item, position) for position, item in enumerate(given)]
    return described_path(make_problem(text, shapes, [None] * len(shapes), "float64"), optimize, memory_limit)


def clear_cache() -> None:
    """Forget every expression that `einsum` compiled, and every kernel of `einloom.primitives`."""
    forget()
    from einloom.primitives.callables import KERNELS  # Late: most programs never need primitives.

    KERNELS.clear()


def _check_kinds(equation: object, schedule: object, target: object) -> None:
    if not isinstance(equation, str):
        raise EquationError(f"the equation is a {type(equation).__name__}; compile takes its text")
    if not isinstance(schedule, Schedule | str | None):
        raise ScheduleError(f"schedule is a {type(schedule).__name__}\n  Pass a Schedule, its text, or a loop string.")
    if not isinstance(target, Machine | str):
        raise UnsupportedTarget(f"target {target!r:.80}\n  Targets: {TARGETS} or a Machine.")


def _text_and_operands(equation: Any, operands: Sequence[Any]) -> tuple[str, Sequence[Any]]:
    """Return the equation's text and the operands of either form of call."""
    text, given = (equation, operands) if isinstance(equation, str) else interleaved_equation([equation, *operands])
    given = listed_operands(text, given)
    if not given and not text:
        raise EquationError("no equation and no operands\n  Pass both: einsum('ab,bc->ac', A, B).")
    if not given:
        raise EquationError(f"no operands for the equation\n{caret_lines(text, ())}\n  Pass one for each subscript.")
    return text, given


def is_shaped(item: Any) -> bool:
    """Return whether an operand is an array of any library: what has extents, and is not their tuple."""
    return hasattr(item, "shape") or isinstance(item, Imported)


def shape_of(item: Any, position: int) -> tuple[int, ...]:
    """Return the shape that an array has or a sequence of integers says.

    Raises:
        ShapeError: it is neither.
    """
    if isinstance(item, Imported):
        return item.array.shape
    try:
        return tuple(index(extent) for extent in (item.shape if hasattr(item, "shape") else item))
    except TypeError:
        raise ShapeError(
            f"operand {position} is {item!r:.80}\n  Give an array, or its shape as a tuple of integers."
        ) from None
