"""`Operation`: what is computed, as a frozen value. Not how: loops and blocks are a `Schedule`'s.

An operation walks a set of named axes. Every operand has one stride per axis, in elements; 0 where the operand does not
depend on the axis. The output comes last. A matrix product C[m,n] += sum_k A[m,k] B[k,n] of column-major matrices:

>>> from einloom.dtypes import FLOAT32
>>> axes = (Axis("m", 4, DimType.M), Axis("n", 3, DimType.N), Axis("k", 2, DimType.K))
>>> op = Operation(axes, (Operand("in0", FLOAT32, (1, 0, 4)), Operand("in1", FLOAT32, (0, 2, 1)),
...                       Operand("out", FLOAT32, (1, 4, 0))), Primitive.GEMM)
>>> op.flops
48
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from enum import StrEnum

from einloom.dtypes import FLOAT32, INT32, DType, Kind, promoted
from einloom.errors import ScheduleError, ShapeError, StrideError
from einloom.frozen import frozen
from einloom.ir import meanings
from einloom.once import cached_property

__all__ = ["NO_TOUCH", "Axis", "DimType", "Operand", "Operation", "Primitive", "Touch", "reach", "touch_text"]

MAX_POINTS = 2**62
"""Largest size of an iteration space or a tensor's reach that 64-bit address arithmetic can hold safely."""


class DimType(StrEnum):
    """The role of an axis: which operands may depend on it (see the table in docs/explanation/architecture.md)."""

    C = "c"
    M = "m"
    N = "n"
    K = "k"


class Primitive(StrEnum):
    """What the blocks of an operation are computed with."""

    NONE = "none"
    ZERO = "zero"
    IDENTITY = "identity"
    RELU = "relu"
    LEAKY_RELU = "leaky_relu"
    ELU = "elu"
    NEGATE = "negate"
    ABS = "abs"
    SQUARE = "square"
    SQRT = "sqrt"
    RECIPROCAL = "reciprocal"
    RSQRT = "rsqrt"
    INCREMENT = "increment"
    DECREMENT = "decrement"
    EXP = "exp"
    LOG = "log"
    TANH = "tanh"
    SIGMOID = "sigmoid"
    ERF = "erf"
    GELU = "gelu"
    GELU_TANH = "gelu_tanh"
    SILU = "silu"
    SIGN = "sign"
    SUM = "sum"
    GEMM = "gemm"
    BRGEMM = "brgemm"
    ADD = "add"
    SUB = "sub"
    MUL = "mul"
    DIV = "div"
    MIN = "min"
    MAX = "max"
    GT = "gt"
    GE = "ge"
    LT = "lt"
    LE = "le"
    EQ = "eq"
    NE = "ne"

    @property
    def inputs(self) -> int:
        """How many input operands the primitive reads."""
        if self in _CONTRACTIONS or self in _ELEMENT_WISE:
            return 2
        return 0 if self in (Primitive.NONE, Primitive.ZERO) else 1

    @property
    def is_contraction(self) -> bool:
        """Whether the primitive adds to its output: sums over `k` axes are allowed."""
        return self in _CONTRACTIONS or self is Primitive.SUM

    @property
    def is_binary(self) -> bool:
        """Whether the primitive is element-wise on two inputs."""
        return self in _ELEMENT_WISE

    @property
    def is_unary(self) -> bool:
        """Whether the primitive is element-wise on one input, or none; `einloom.ir.meanings` says what it computes."""
        return self in _UNARY


_CONTRACTIONS = frozenset({Primitive.GEMM, Primitive.BRGEMM})
_ELEMENT_WISE = frozenset(primitive for primitive in Primitive if primitive.value in meanings.BINARY)
_UNARY = frozenset(primitive for primitive in Primitive if primitive.value in meanings.UNARY)


@frozen
class Axis:
    """A named dimension of the iteration space."""

    name: str
    extent: int
    role: DimType


@frozen
class Operand:
    """A tensor that an operation reads or writes: one stride per axis of the operation, in elements.

    Of a complex factor the conjugates may be taken instead.
    """

    name: str
    dtype: DType
    strides: tuple[int, ...]
    conjugated: bool = False


@frozen
class Touch:
    """A primitive on a block of the output before its first contribution or after its last, while it is in cache.

    Attributes:
        primitive: unary: output := f(output); with an operand output := f(operand), a bias for example. Binary:
            output := f(output, operand). `none` does nothing.
        operand: position of the operand beside the output.
        writes: whether the operand is written instead: operand := f(output), a mask for example.
    """

    primitive: Primitive
    operand: int | None = None
    writes: bool = False

    @property
    def does_nothing(self) -> bool:
        """Whether the output stays as it is."""
        return self.primitive is Primitive.NONE or self == Touch(Primitive.IDENTITY)

    @property
    def initialises(self) -> bool:
        """Whether the output is written without being read."""
        reads = self.primitive is Primitive.ZERO or (self.operand is not None and self.primitive.is_unary)
        return reads and not self.writes


NO_TOUCH = Touch(Primitive.NONE)


@frozen(slots=False)
class Operation:
    """What is computed: axes, operands and primitives.

    Attributes:
        axes: the iteration space.
        operands: what the main primitive reads, then what touches read or write, the output last.
        main: the primitive of the blocks.
        first_touch: runs on an output block before its first contribution.
        last_touches: run on it after its last contribution, one after the other.

    Raises:
        ScheduleError: the number of operands does not fit the main primitive, or a touch is not one.
        ShapeError: a negative extent, or an iteration space of more than 2**62 points.
        StrideError: a stride contradicts the role of its axis, or the output overlaps itself trivially.
    """

    axes: tuple[Axis, ...]
    operands: tuple[Operand, ...]
    main: Primitive
    first_touch: Touch = NO_TOUCH
    last_touches: tuple[Touch, ...] = ()

    def __post_init__(self) -> None:
        _check_primitives(self)
        _check_extents(self)
        for position in range(len(self.operands)):
            _check_strides(self, position)

    @cached_property
    def inputs(self) -> tuple[Operand, ...]:
        """The operands that the main primitive reads."""
        return self.operands[: self.main.inputs]

    @property
    def extras(self) -> tuple[Operand, ...]:
        """The operands of touches."""
        return self.operands[self.main.inputs : -1]

    @property
    def touches(self) -> tuple[Touch, ...]:
        """The first touch and the last ones."""
        return (self.first_touch, *self.last_touches)

    @property
    def written(self) -> tuple[int, ...]:
        """Positions of the operands that are written."""
        masks = [touch.operand for touch in self.touches if touch.writes and touch.operand is not None]
        return (*masks, len(self.operands) - 1)

    @property
    def output(self) -> Operand:
        """The operand that is written."""
        return self.operands[-1]

    @cached_property
    def accumulate(self) -> DType:
        """The type that is computed in: that which sums of what the operands promote to are kept in.

        Integers that are copied to float32 are rounded as they are loaded, sums of integers as they are finished.
        """
        types = [operand.dtype for operand in (*self.inputs, self.output)]
        if self.rounds_sums:
            return INT32
        return FLOAT32 if types == [INT32, FLOAT32] else promoted(*types).accumulate

    @cached_property
    def rounds_sums(self) -> bool:
        """Whether sums are int32, and stand so in the place of an output of float32 until they are finished."""
        inputs = [operand.dtype for operand in self.inputs]
        if not self.main.is_contraction or not all(dtype.is_integer for dtype in inputs):
            return False
        return self.output.dtype == FLOAT32 and promoted(*inputs, INT32) == INT32

    @property
    def narrows(self) -> bool:
        """Whether what is stored in the output is narrower than what is computed."""
        return self.output.dtype != self.accumulate and not self.rounds_sums

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the axes, in order."""
        return tuple(axis.name for axis in self.axes)

    def axis(self, name: str) -> Axis:
        """Return the axis called `name`."""
        return self.axes[self.names.index(name)]

    def stride(self, operand: Operand, name: str) -> int:
        """Return the stride of `operand` along the axis `name`, in elements."""
        return operand.strides[self.names.index(name)]

    def strides(self, operand: Operand) -> dict[str, int]:
        """Return the strides of `operand` by axis name, in elements."""
        return dict(zip(self.names, operand.strides))

    def distance(self, operand: Operand, axis: Axis) -> tuple[bool, int, int]:
        """Sort key: how far apart neighbours along `axis` lie in `operand`; what it does not depend on comes last."""
        stride = self.stride(operand, axis.name)
        return stride == 0, abs(stride), -axis.extent

    def outermost_first(self, operand: Operand, axes: Iterable[Axis]) -> list[Axis]:
        """Return axes in the order in which `operand` has them in memory, the largest stride first."""
        strides = self.strides(operand)
        return sorted(axes, key=lambda axis: -abs(strides[axis.name]))

    def contiguous_axis(self, operand: Operand) -> Axis | None:
        """Return the axis along which neighbours of `operand` are neighbours in memory, in either direction."""
        along = zip(self.axes, operand.strides)
        return next((axis for axis, stride in along if stride in (1, -1) and axis.extent > 1), None)

    def elements(self, operand: Operand) -> int:
        """Return how many elements of `operand` the operation reaches."""
        return math.prod([axis.extent for axis, stride in zip(self.axes, operand.strides) if stride])

    @cached_property
    def points(self) -> int:
        """Size of the iteration space."""
        return math.prod(axis.extent for axis in self.axes)

    @property
    def flops(self) -> int:
        """Arithmetic of the main primitive: two for a multiplication and addition, one for any other operation.

        Of complex numbers that are eight.
        """
        if self.main in _CONTRACTIONS:
            return (8 if self.multiplies_pairs else 2) * self.points
        return 0 if self.main in (Primitive.ZERO, Primitive.IDENTITY) else self.points

    @property
    def multiplies_pairs(self) -> bool:
        """Whether it is a contraction of complex numbers, which are pairs of reals."""
        return self.main in _CONTRACTIONS and self.output.dtype.kind is Kind.COMPLEX

    @property
    def bytes(self) -> int:
        """Least traffic in bytes: every element that is reached, read or written once."""
        total = 0
        for operand in self.operands:
            extents = (axis.extent for axis, stride in zip(self.axes, operand.strides) if stride)
            total += math.prod(extents) * operand.dtype.size
        return total

    def __str__(self) -> str:
        """Return the text form, which `einloom.ir.text.parse_operation` reads."""
        names = [operand.name for operand in self.operands]
        last = ",".join(touch_text(touch, names) for touch in self.last_touches) or "none"
        lines = [f"{self.main} first={touch_text(self.first_touch, names)} last={last}"]
        lines += [f"axis {axis.name} {axis.extent} {axis.role}" for axis in self.axes]
        for operand in self.operands:
            strides = "".join(f" {name}={stride}" for name, stride in self.strides(operand).items() if stride)
            lines.append(f"{operand.name} {'conj ' if operand.conjugated else ''}{operand.dtype}{strides}")
        return "\n".join(lines)


def touch_text(touch: Touch, names: Sequence[str]) -> str:
    """Return the text of a touch of an operation whose operands have these names."""
    beside = "" if touch.operand is None else f"{'>' if touch.writes else ':'}{names[touch.operand]}"
    return f"{touch.primitive}{beside}"


def reach(operation: Operation, operand: Operand) -> tuple[int, int] | None:
    """Return the lowest and highest element offset that the operation touches, or None if it touches nothing."""
    low = high = 0
    for axis, stride in zip(operation.axes, operand.strides):
        if axis.extent == 0:
            reduced_only = operand not in operation.inputs and axis.role is DimType.K
            if reduced_only:
                continue
            return None
        offset = (axis.extent - 1) * stride
        if offset < 0:
            low += offset
        else:
            high += offset
    return low, high


def _check_primitives(operation: Operation) -> None:
    main = operation.main
    if main is Primitive.NONE:
        raise ScheduleError(f"main primitive {main} computes nothing\n  Use identity, relu, gemm, brgemm, add, …")
    if len(operation.operands) <= main.inputs:
        given = len(operation.operands) - 1
        raise ScheduleError(f"main primitive {main} reads {main.inputs} operands, {given} are given")
    reduced = [axis.name for axis in operation.axes if axis.role is DimType.K]
    if reduced and not main.is_contraction:
        raise ScheduleError(f"main primitive {main} does not reduce, but dimension {reduced[0]} has role k")
    _check_touch("first", operation.first_touch)
    for touch in operation.last_touches:
        _check_touch("last", touch)
    used = sorted(touch.operand for touch in operation.touches if touch.operand is not None)
    if used != list(range(main.inputs, len(operation.operands) - 1)):
        names = ", ".join(operand.name for operand in operation.extras) or "none"
        raise ScheduleError(
            f"touches use the operands {used}; those beside the inputs and the output are: {names}\n"
            "  Each belongs to one touch."
        )


def _check_touch(which: str, touch: Touch) -> None:
    primitive = touch.primitive
    if touch.operand is None:
        fits, wanted = (
            primitive is Primitive.NONE or primitive.is_unary,
            "a unary operator, or a binary one and an extra",
        )
    elif touch.writes:
        fits, wanted = primitive.is_unary and which == "last", "a unary operator as a last touch"
    else:
        fits, wanted = primitive.is_unary or primitive.is_binary, "a unary or a binary operator"
    if not fits:
        raise ScheduleError(f"{which} touch {primitive} is not supported there\n  It takes {wanted}.")


def _check_extents(operation: Operation) -> None:
    if len(set(operation.names)) != len(operation.axes):
        raise ShapeError(f"two axes have the same name: {' '.join(operation.names)}")
    for axis in operation.axes:
        if axis.extent < 0:
            raise ShapeError(f"axis {axis.name} has the negative extent {axis.extent}")
    if math.prod(max(axis.extent, 1) for axis in operation.axes) > MAX_POINTS:
        extents = " ".join(f"{axis.name}={axis.extent}" for axis in operation.axes)
        raise ShapeError(f"the iteration space has more than 2**62 points: {extents}")


def _check_strides(operation: Operation, position: int) -> None:
    operand = operation.operands[position]
    if len(operand.strides) != len(operation.axes):
        raise StrideError(
            f"operand {operand.name} has {len(operand.strides)} strides for {len(operation.axes)} axes\n"
            "  Give one stride per axis, 0 where the operand does not depend on it.",
        )
    span = reach(operation, operand)
    is_output = span is not None and position in operation.written
    excluded = _excluded_roles(operation.main, position)
    for axis, stride in zip(operation.axes, operand.strides):
        if stride != 0:
            if axis.role in excluded:
                raise StrideError(
                    f"dimension {axis.name} has role {axis.role}, on which {operand.name} does not depend, "
                    f"but its stride there is {stride}\n  Set the stride to 0, or change the role.",
                )
        elif is_output and axis.role is not DimType.K and axis.extent > 1:
            raise StrideError(
                f"dimension {axis.name} (role {axis.role}, extent {axis.extent}) has stride 0 in "
                f"{'the output' if operand is operation.output else operand.name}\n"
                "  Every element would be written more than once. Make it a k dimension, or give it a stride.",
            )
    farthest = max(map(abs, operand.strides), default=0)
    if max(farthest, span[1] - span[0] if span else 0) > MAX_POINTS // operand.dtype.size:
        raise StrideError(f"operand {operand.name} reaches further than 64-bit addresses go")


def _excluded_roles(main: Primitive, position: int) -> tuple[DimType, ...]:
    """Return the roles of axes on which the operand in a position may not depend."""
    if position >= main.inputs:
        return (DimType.K,)
    return (DimType.M if position else DimType.N,) if main in _CONTRACTIONS else ()
