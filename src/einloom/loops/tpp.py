"""`el.tpp`: the primitives that a traced body may call, on blocks of its tensors.

A block is read as its last axis the fastest: `C[c, b]` of shape (bn, bm) is a column-major matrix of bm rows and bn
columns. `brgemm(A, B, C)` adds A (k, m) times B (n, k) to C (n, m): in NumPy's words, `C += B @ A`.

Every unary operator of einloom is here by its name, `relu(x, out)` or in place `relu(x)`, and every binary one,
`add(x, y, out)`; an operand with fewer axes is repeated along the first ones. `Index` and `Tensor` are the types of a
body's arguments, for annotations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from einloom.dtypes import data_type
from einloom.errors import ShapeError
from einloom.ir.operation import Primitive
from einloom.loops.trace.index import Index, refusal, where
from einloom.loops.trace.recorder import Recorder, recorder
from einloom.loops.trace.tensor import Tensor

__all__ = ["Index", "Tensor", "binary", "brgemm", "copy", "gemm", "interleave", "scratch", "unary", "zero"]


def zero(out: Tensor) -> None:
    """Write zeros.

    Args:
        out: a block of up to 2 axes.
    """
    recording, blocks = _blocks(Primitive.ZERO, out)
    recording.call(Primitive.ZERO, blocks)


def copy(source: Tensor, out: Tensor) -> None:
    """Copy a block; one with its axes reversed (`.T`) is transposed.

    Args:
        source, out: blocks of up to 2 axes of the same shape.
    """
    unary("identity", source, out)


def unary(op: str, source: Tensor, out: Tensor | None = None) -> None:
    """Compute out := op(source), or source := op(source).

    Args:
        op: an operator of docs/reference/primitives.md.
        source, out: blocks of up to 2 axes of the same shape.

    Raises:
        ScheduleError: no such operator.
        ShapeError: the shapes differ.
    """
    primitive = _primitive(op, lambda each: each.is_unary and each is not Primitive.ZERO)
    recording, blocks = _blocks(primitive, source, source if out is None else out)
    _same_shape(op, *blocks)
    recording.call(primitive, blocks)


def binary(op: str, first: Tensor, second: Tensor, out: Tensor) -> None:
    """Compute out := op(first, second).

    Args:
        op: an operator of docs/reference/primitives.md that has two inputs.
        first, second, out: blocks of up to 2 axes; an input may lack the first one, or have 1 index there.

    Raises:
        ScheduleError: no such operator.
        ShapeError: an input's shape is none that can be repeated to that of the output.
    """
    primitive = _primitive(op, lambda each: each.is_binary)
    recording, blocks = _blocks(primitive, first, second, out)
    for each in blocks[:2]:
        _repeats(op, each, blocks[2])
    recording.call(primitive, blocks)


def interleave(source: Tensor, out: Tensor) -> None:
    """Copy a block (k, m) into groups of neighbours along k: out (k / g, m, g), as brgemm takes narrow elements.

    Args:
        source: a block of 2 axes; a last group that it ends inside of is filled up with zeros.
        out: a block of the same type whose last axis is contiguous; g elements fill 4 bytes.

    Raises:
        ShapeError: the shapes do not fit.
    """
    recording, blocks = _blocks(Primitive.IDENTITY, source, out)
    group = source.dtype.group
    wanted = (-(-source.shape[0] // group), source.shape[-1], group)
    if source.ndim != 2 or out.shape != wanted or out.dtype != source.dtype or out.strides[-1] != 1 or group == 1:
        problem = f"interleave of {source.dtype} {source.shape} into {out.dtype} {out.shape}"
        raise _shape_error(problem, f"Give the output the shape {wanted}, one type, and contiguous groups.")
    recording.call(Primitive.IDENTITY, blocks)


def gemm(a: Tensor, b: Tensor, c: Tensor) -> None:
    """Add a product: c (n, m) += b (n, k) times a (k, m), the shapes as NumPy has them."""
    brgemm(a, b, c)


def brgemm(a: Tensor | Sequence[Tensor], b: Tensor | Sequence[Tensor], c: Tensor, batch: int | None = None) -> None:
    """Add a sum of products: c (n, m) += sum_i b_i (n, k) times a_i (k, m).

    Args:
        a, b: blocks (k, m) and (n, k); with a first axis more, that is the batch. Or lists of blocks, as long as each
            other, whose subscripts differ by numbers: the products of all pairs are added. Narrow elements of a may
            come in groups of neighbours along k, (k / g, m, g), as `interleave` makes them.
        c: block (n, m).
        batch: how many pairs of blocks follow each other along the loop that is summed over: the one whose index is in
            the subscripts of a and b and not in those of c. It is the step of that loop, and where the loop ends, or a
            block of it, there are fewer.

    Raises:
        ShapeError: the shapes do not fit.
        ScheduleError: there is no such loop, or it has another step.
    """
    if isinstance(a, list | tuple) or isinstance(b, list | tuple):
        _brgemm_of_list(a, b, c, batch)
        return
    recording, blocks = _blocks(Primitive.BRGEMM, a, b, c)
    _check_product(*blocks)
    letter = None
    if batch is not None and batch != 1:
        letter = _summed_loop(*blocks)
        step = next(loop.step for loop in recording.nest.innermost if loop.letter == letter)
        if step != batch:
            raise refusal(f"batch={batch} along loop {letter}, whose step is {step},", f"Pass batch={step}.")
    recording.call(Primitive.BRGEMM, blocks, letter)


def _brgemm_of_list(a: Tensor | Sequence[Tensor], b: Tensor | Sequence[Tensor], c: Tensor, batch: int | None) -> None:
    if not isinstance(a, list | tuple) or not isinstance(b, list | tuple) or len(a) != len(b) or not a:
        raise refusal("brgemm of lists of unequal length", "Pass as many blocks a as b, at least one.")
    if batch is not None:
        raise refusal("brgemm of lists with batch=", "Leave batch out: the lists are the batch.")
    pairs = [block for pair in zip(a, b) for block in pair]
    recording, blocks = _blocks(Primitive.BRGEMM, *pairs, c)
    first, second, out = blocks[0], blocks[1], blocks[-1]
    for one, other in zip(blocks[:-1:2], blocks[1:-1:2]):
        _check_product(one, other, out)
        alike = one.base is first.base and other.base is second.base
        if other.ndim != 2 or not alike or one.strides != first.strides or other.strides != second.strides:
            raise refusal("brgemm of lists of different tensors", "Take all a, and all b, from one tensor each.")
    recording.call(Primitive.BRGEMM, blocks)


def scratch(shape: tuple[int, ...], dtype: object = "float32") -> Tensor:
    """Return a tensor that each thread has for itself; it holds anything at first."""
    return recorder("el.tpp.scratch").scratch(shape, data_type(dtype))


def __getattr__(name: str) -> Callable[..., None]:
    """Return the operator of that name."""
    primitive = next((each for each in Primitive if each.value == name), None)
    if primitive is not None and primitive.is_unary:
        return partial(unary, name)
    if primitive is not None and primitive.is_binary:
        return partial(binary, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _blocks(primitive: Primitive, *things: object) -> tuple[Recorder, list[Tensor]]:
    """Return the recorder of the body that runs, and its blocks."""
    recording = recorder(f"el.tpp.{primitive}")
    return recording, [recording.block(primitive, thing) for thing in things]


def _primitive(op: str, fits: Callable[[Primitive], bool]) -> Primitive:
    for primitive in Primitive:
        if primitive.value == op and fits(primitive):
            return primitive
    names = ", ".join(primitive for primitive in Primitive if fits(primitive))
    raise refusal(f"the operator {op!r}", f"There are {names}.")


def _same_shape(op: str, source: Tensor, out: Tensor) -> None:
    if source.shape != out.shape:
        raise _shape_error(f"{op} of shape {source.shape} into {out.shape}", "Give both blocks the same shape.")


def _repeats(op: str, each: Tensor, out: Tensor) -> None:
    padded = (1,) * (out.ndim - each.ndim) + each.shape
    if len(padded) != out.ndim or any(size not in (1, wanted) for size, wanted in zip(padded, out.shape)):
        raise _shape_error(f"{op} of shape {each.shape} into {out.shape}", "Repeat along the first axes only.")


def _check_product(a: Tensor, b: Tensor, c: Tensor) -> None:
    grouped = a.ndim - b.ndim
    if c.ndim != 2 or b.ndim not in (2, 3) or grouped not in (0, 1):
        raise _shape_error(
            f"brgemm of {a.ndim}, {b.ndim} and {c.ndim} axes", "Pass (k, m), (n, k) and (n, m), or batches."
        )
    *batch, k, m = a.shape[: a.ndim - grouped]
    if grouped:
        k *= a.shape[-1]
        _check_groups(a, b)
    n, other = b.shape[-2:]
    if (n, m) != c.shape or k != other or tuple(batch) != b.shape[:-2]:
        raise _shape_error(f"brgemm of {a.shape}, {b.shape} and {c.shape}", "Pass (k, m), (n, k) and (n, m).")


def _check_groups(a: Tensor, b: Tensor) -> None:
    """Groups are 4 bytes, and lie in both inputs as they are multiplied."""
    group = a.dtype.group
    apart = (*a.strides[:-1], *b.strides[:-1], *a.offset.terms.values(), *b.offset.terms.values())
    if group == 1 or a.shape[-1] != group or b.dtype.group != group:
        raise _shape_error(
            f"brgemm of groups {a.dtype} {a.shape}, {b.dtype}", "Groups of narrow elements fill 4 bytes."
        )
    if a.strides[-1] != 1 or b.strides[-1] != 1 or any(distance % group for distance in apart):
        raise _shape_error(
            f"brgemm of groups with strides {a.strides} and {b.strides}", "Let groups be contiguous, and k of b."
        )


def _summed_loop(a: Tensor, b: Tensor, c: Tensor) -> str:
    letters = sorted(each for each in (a.symbols & b.symbols) - c.symbols if len(each) == 1 and each.islower())
    if len(letters) != 1:
        raise refusal(
            f"a batch along {' or '.join(letters) or 'no loop'}",
            "Exactly one index stands in the subscripts of a and b, and not in those of c.",
        )
    if b.ndim == 3:
        raise refusal("a batch along a loop of blocks that have one themselves", "Leave batch out, or subscript a, b.")
    return letters[0]


def _shape_error(problem: str, advice: str) -> ShapeError:
    return ShapeError(f"{problem}\n  {where()}\n  {advice}")
