"""Primitives as callable kernels: BRGEMM, element-wise operations and reductions on matrices of fixed size.

Matrices are column-major unless said: element (i, j) of A lies at `a + i + j * ld_a`. Sizes, strides and leading
dimensions are in elements.

>>> import numpy as np
>>> multiply = brgemm(m=2, n=2, k=3, dtype="float32")
>>> a, b, c = np.ones(6, np.float32), np.ones(6, np.float32), np.zeros(4, np.float32)
>>> multiply(a, b, c, 2, 3, 2)
>>> c.tolist()
[3.0, 3.0, 3.0, 3.0]
"""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np

from einloom.dtypes import MOVED, DType, Kind, data_type, promoted
from einloom.errors import ArgumentError, DTypeError, ShapeError, UnsupportedTarget
from einloom.kernels.specs import BatchBy, Binary, Brgemm, Reduce, Stride, Ternary, Unary
from einloom.primitives.callables import PrimitiveKernel

__all__ = ["PrimitiveKernel", "binary", "brgemm", "reduce", "ternary", "unary"]

MOST_INDICES = 2**40
"""Largest size: element offsets of matrices stay far below 64 bits."""

LAYOUTS = ("col", "row")
BATCHES = {"stride": ("br_stride_a", "br_stride_b"), "offsets": ("offsets_a", "offsets_b"), "addresses": ()}
BROADCASTS: dict[str, tuple[Stride, Stride]] = {"none": (1, None), "row": (0, None), "col": (1, 0), "scalar": (0, 0)}
"""Strides along (m, n) of a second operand that is a whole matrix, one row, one column, or one number."""


def brgemm(
    *,
    m: int,
    n: int,
    k: int,
    batch_size: int = 1,
    dtype: object = "float32",
    a: str = "col",
    b: str = "col",
    c: str = "col",
    alpha: float = 1,
    beta: int = 1,
    batch: str = "stride",
    isa: str | None = None,
) -> PrimitiveKernel:
    """Compile C := beta C + alpha sum_i A_i B_i for A (m, k), B (k, n), C (m, n).

    Call it with `(a, b, c, ld_a, ld_b, ld_c, br_stride_a, br_stride_b)`; a batch of one may leave out the last two.
    With `batch="offsets"` the last two are arrays of 64-bit offsets in elements, one for each matrix; with
    `"addresses"` they are left out, and `a` and `b` are arrays of addresses.

    Args:
        m, n, k, batch_size: sizes, 0 and more.
        dtype: a type, a pair (inputs, output) or a triple (a, b, c): `"int8"` wraps, `("int8", "int32")` does not. It
            computes in what they promote to; where a kernel cannot read or write one of them there, it says so.
        a, b, c: layouts, `"col"` or `"row"`.
        alpha: factor of the sum; of sums of integers a whole number, of truth values whether it is 0.
        beta: 1 adds to C, 0 overwrites it.
        batch: how the matrices of the batch are found: `"stride"`, `"offsets"` or `"addresses"`.
        isa: `"avx512"`, `"avx2"`, `"neon"`; None for the host's best.

    Raises:
        ShapeError, DTypeError: a size or type that does not exist.
        ArgumentError: `alpha` is no number that the type has, `beta` neither 0 nor 1, or a layout or batch does not
            exist; the message says which do.
        UnsupportedTarget: an ISA that does not exist, or types that no kernel of it multiplies.
    """
    _check_choice("batch", batch, tuple(BATCHES))
    along_batch = 0 if batch_size == 1 or batch != "stride" else None
    first, second, output = _matrix("a", a), _matrix("b", b), _matrix("c", c)
    registers, memory = _three_types(dtype)
    spec = Brgemm(
        registers,
        _size("m", m),
        _size("n", n),
        _size("k", k),
        _size("batch_size", batch_size),
        a=(first[0], 0, first[1], along_batch),
        b=(0, second[1], second[0], along_batch),
        c=output,
        alpha=_factor(alpha, registers),
        beta=_beta(beta),
        batch_by=BatchBy(batch),
        memory=memory,
    )
    return PrimitiveKernel(spec, ("a", "b", "c", "ld_a", "ld_b", "ld_c", *BATCHES[batch]), isa)


def unary(
    op: str,
    *,
    m: int,
    n: int,
    dtype: object = "float32",
    b: str = "col",
    alpha: float | None = None,
    isa: str | None = None,
) -> PrimitiveKernel:
    """Compile B := op(A) for matrices (m, n), A column-major; a row-major B (`b="row"`) transposes.

    Call it with `(a, b, ld_a, ld_b)`; `zero` reads no A, its `a` is None and its `ld_a` 0. A may be B itself.

    Args:
        op: an operator of the page of primitives: `"relu"`, `"exp"`, `"gelu"`, …
        m, n: sizes, 0 and more.
        dtype: a type, or a pair (in, out), computed in the wider one; `identity` of `"uint8"` or `"uint16"` takes
            elements of any type of 1 or 2 bytes.
        b: layout of B, `"col"` or `"row"`.
        alpha: the parameter of `leaky_relu` (0.01 unless said) or `elu` (1).
        isa: `"avx512"`, `"avx2"`, `"neon"`; None for the host's best.

    Raises:
        ShapeError, DTypeError: a size or type that does not exist.
        ArgumentError: `alpha` is no number, or an operator or layout does not exist; the message says which do.
        UnsupportedTarget: an ISA that does not exist, or an operator that is not there for the type or has no `alpha`.
    """
    moved = MOVED.get(str(dtype)) if op == "identity" else None
    source, output = (moved, moved) if moved else _types(dtype)
    strides = {"a": (0, 0) if op == "zero" else (1, None), "b": _matrix("b", b)}
    number = None if alpha is None else _number("alpha", alpha)
    spec = Unary(_operator(op), source, _size("m", m), _size("n", n), **strides, alpha=number, output=output)  # type: ignore[arg-type]
    return PrimitiveKernel(spec, ("a", "b", "ld_a", "ld_b"), isa)


def binary(
    op: str,
    *,
    m: int,
    n: int,
    dtype: object = "float32",
    broadcast: str = "none",
    isa: str | None = None,
) -> PrimitiveKernel:
    """Compile C := op(A, B) for column-major matrices (m, n); `muladd` computes C := C + A B.

    Call it with `(a, b, c, ld_a, ld_b, ld_c)`. With `broadcast` B is one `"row"` (n elements, ld_b apart), one `"col"`
    (m elements) or a `"scalar"`; the last two do not use `ld_b`. A or B may be C itself. Comparisons (`gt`, `ge`, `lt`,
    `le`, `eq`, `ne`) write 1 where they hold and 0 elsewhere.

    Args:
        op: an operator of the page of primitives: `"add"`, `"max"`, `"gt"`, …
        m, n: sizes, 0 and more.
        dtype: a type, a pair (in, out) or a triple (a, b, c), computed in the type that they promote to.
        broadcast: `"none"`, `"row"`, `"col"` or `"scalar"`.
        isa: `"avx512"`, `"avx2"`, `"neon"`; None for the host's best.

    Raises:
        ShapeError, DTypeError: a size or type that does not exist.
        ArgumentError: an operator or broadcast that does not exist; the message says which do.
        UnsupportedTarget: an ISA that does not exist, or an operator that is not there for the type.
    """
    _check_choice("broadcast", broadcast, tuple(BROADCASTS))
    registers, memory = _three_types(dtype)
    spec = Binary(_operator(op), registers, _size("m", m), _size("n", n), b=BROADCASTS[broadcast], memory=memory)
    return PrimitiveKernel(spec, ("a", "b", "c", "ld_a", "ld_b", "ld_c"), isa)


def ternary(
    op: str,
    *,
    m: int,
    n: int,
    dtype: object = "float32",
    isa: str | None = None,
) -> PrimitiveKernel:
    """Compile D := op(A, B, C) for column-major matrices (m, n).

    Call it with `(a, b, c, d, ld_a, ld_b, ld_c, ld_d)`. `muladd` is D := A B + C, rounded once; `select` is D := B
    where A is not 0, else C, as `numpy.where(a, b, c)`. A, B or C may be D itself.

    Args:
        op: `"muladd"` or `"select"`.
        m, n: sizes, 0 and more.
        dtype: the type of all elements: one of 4 or 8 bytes.
        isa: `"avx512"`, `"avx2"`, `"neon"`; None for the host's best.

    Raises:
        ShapeError, DTypeError: a size or type that does not exist.
        ArgumentError: an operator that does not exist; the message says which do.
        UnsupportedTarget: an ISA that does not exist, or a type that there are no such operators of.
    """
    spec = Ternary(_operator(op), _wide_type(dtype), _size("m", m), _size("n", n))
    return PrimitiveKernel(spec, ("a", "b", "c", "d", "ld_a", "ld_b", "ld_c", "ld_d"), isa)


def reduce(
    op: str,
    *,
    m: int,
    n: int,
    axis: str,
    dtype: object = "float32",
    isa: str | None = None,
) -> PrimitiveKernel:
    """Compile b := op over one axis of a column-major matrix A (m, n).

    Call it with `(a, b, ld_a)`. `axis="n"` combines the columns and leaves m results, `axis="m"` the rows and leaves n;
    the results lie side by side.

    Args:
        op: `"sum"`, `"max"`, `"min"`, `"prod"` or `"sum_of_squares"`. A NaN makes its result NaN. Over nothing sums are
            0 and products 1.
        m, n: sizes, 0 and more.
        axis: the axis that disappears, `"m"` or `"n"`.
        dtype: the type of A's elements and of the results.
        isa: `"avx512"`, `"avx2"`, `"neon"`; None for the host's best.

    Raises:
        ShapeError, DTypeError: a size or type that does not exist, or the greatest or least of nothing.
        ArgumentError: an operator or axis that does not exist; the message says which do.
        UnsupportedTarget: an ISA that does not exist, or an operator that is not there for the type.
    """
    _check_choice("axis", axis, ("m", "n"))
    spec = Reduce(_operator(op), data_type(dtype), _size("m", m), _size("n", n), axis)
    return PrimitiveKernel(spec, ("a", "b", "ld_a"), isa)


def _types(dtype: object) -> tuple[DType, DType]:
    """Return the types of input and output."""
    if isinstance(dtype, tuple | list):
        if len(dtype) != 2:
            raise DTypeError(f"dtype has {len(dtype)} entries\n  Give one type, or a pair (in, out).")
        return data_type(dtype[0]), data_type(dtype[1])
    return data_type(dtype), data_type(dtype)


def _three_types(dtype: object) -> tuple[DType, tuple[DType, ...]]:
    """Return the type that is computed in and those of both inputs and the output, of one type, a pair or a triple."""
    given = tuple(dtype) if isinstance(dtype, tuple | list) else (dtype,)
    if not 1 <= len(given) <= 3:
        raise DTypeError(f"dtype has {len(given)} entries\n  Give one type, a pair (in, out) or a triple (a, b, c).")
    types = tuple(map(data_type, given))
    memory = (types[0], types[-2] if len(types) == 3 else types[0], types[-1])
    return promoted(*memory).accumulate, memory


def _wide_type(dtype: object) -> DType:
    """Return a type whose elements are those of registers."""
    found = data_type(dtype)
    if found.accumulate != found:
        raise UnsupportedTarget(f"no ternary operators of {found}\n  Use {found.accumulate}.")
    return found


def _operator(op: object) -> str:
    if isinstance(op, str):
        return op
    raise ArgumentError(f"op is {op!r:.80}\n  Pass the name of an operator: see the page of primitives.")


def _size(name: str, value: object) -> int:
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and 0 <= int(value) <= MOST_INDICES:
        return int(value)
    raise ShapeError(f"{name} is {value!r:.80}\n  A size is a whole number from 0 to 2**40.")


def _number(name: str, value: object) -> float:
    if isinstance(value, Real | np.bool_):
        return float(value)
    raise ArgumentError(f"{name} is a {type(value).__name__}\n  Pass a number.")


def _factor(value: object, computed: DType) -> float:
    """Return `alpha` as the type that is computed in has it: integers whole, truth values 0 or 1."""
    factor = _number("alpha", value)
    if computed.kind is Kind.BOOL:
        return float(factor != 0)
    if not computed.is_integer:
        return factor
    if factor.is_integer():
        return int(value) if isinstance(value, Integral) else int(factor)
    raise ArgumentError(f"alpha is {value!r:.80}, a factor of sums in {computed}\n  Pass a whole number.")


def _beta(value: object) -> int:
    if isinstance(value, Real | np.bool_) and value in (0, 1):
        return 1 if value else 0
    raise ArgumentError(f"beta is {value!r:.80}\n  It is 0 (overwrite C) or 1 (add to C).")


def _matrix(name: str, layout: str) -> tuple[Stride, Stride]:
    """Return the strides along rows and columns."""
    _check_choice(f"layout {name}", layout, LAYOUTS)
    return (1, None) if layout == "col" else (None, 1)


def _check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in choices:
        raise ArgumentError(f"{name}={value!r:.80} does not exist\n  There are {', '.join(map(repr, choices))}.")
