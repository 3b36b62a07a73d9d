"""From a tensor operation to a kernel: loads, products, sums and touches at the grain of scalar instructions.

>>> from einloom.space.on_cpu.given import operation_of_equation
>>> kernel_of(operation_of_equation("mk,kn->mn", [(8, 4), (4, 6)], "float32")).backbone.name
'contraction'
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from einloom.errors import UnsupportedTarget
from einloom.ir.gpu.fragments import MMA
from einloom.ir.interpret import interpret
from einloom.ir.memory import Memory
from einloom.ir.numbers import wide_type
from einloom.ir.operation import Axis, DimType, Operand, Operation, Primitive, Touch, touch_text
from einloom.passes.fuse import JOINT, fuse
from einloom.space.backbone import Region, TiledAxis
from einloom.space.builder import Builder, NestBuilder, Value
from einloom.space.kernels import Grain, Kernel
from einloom.space.tilings import tile_sizes

__all__ = ["fragment_kernel", "kernel_of", "tiled_axes"]

Array = np.ndarray[Any, Any]

BLOCK, ALONE, SUMMED = (32, 8), (256, 8), (32,)
"""The largest tiles of an axis that blocks of threads share with another one, or alone, and of one that is summed."""

BEFORE = "before"
"""The array that holds what the output held, where sums are added to it: another one, so that no thread reads what
others write."""

UNARY: dict[Primitive, Callable[[NestBuilder, Value], Value]] = {
    Primitive.IDENTITY: lambda nest, x: nest.apply("move", x),
    Primitive.RELU: lambda nest, x: nest.apply("max", x, 0.0),
    Primitive.NEGATE: lambda nest, x: nest.apply("mul", x, -1.0),
    Primitive.SQUARE: lambda nest, x: nest.apply("mul", x, x),
    Primitive.RECIPROCAL: lambda nest, x: nest.apply("div", 1.0, x),
    Primitive.INCREMENT: lambda nest, x: nest.apply("add", x, 1.0),
    Primitive.DECREMENT: lambda nest, x: nest.apply("sub", x, 1.0),
}
BINARY = {
    Primitive.ADD: "add",
    Primitive.SUB: "sub",
    Primitive.MUL: "mul",
    Primitive.DIV: "div",
    Primitive.MIN: "min",
    Primitive.MAX: "max",
}


def kernel_of(operation: Operation) -> Kernel:
    """Return the kernel of a tensor operation: axes that lie like one are one, and the longest get tiles.

    Raises:
        UnsupportedTarget: a primitive has no scalar instructions here, or operands have several types.
    """
    return _Writer(fuse(operation), {}).kernel()


def fragment_kernel(operation: Operation) -> Kernel | None:
    """Return the kernel of a contraction for tensor cores, whose elements are fragments.

    None: it is no contraction of 16-bit floats, or no axis of some kind is a multiple of a fragment's. Factors of
    float32 are left alone: tensor cores would round them.
    """
    fused = fuse(operation)
    if not fused.main.is_contraction or len({operand.dtype for operand in fused.operands}) > 1:
        return None
    for shape, product in MMA.items():
        if fused.output.dtype.size == 2 and fused.output.dtype.name in product.types:
            for letters in ("ab", "ba"):
                axes = _fragment_axes(fused, shape, letters)
                if axes is not None:
                    return _of_fragments(fused, shape, letters, axes)
    return None


def _fragment_axes(operation: Operation, shape: str, letters: str) -> dict[str, Axis] | None:
    """Return the axes that fragments are cut from, the longest that are multiples, as m, n and k of the product.

    Args:
        operation: the contraction.
        shape: of the product.
        letters: which matrices the inputs are: the first one's axes are the product's rows if it is `a`.
    """
    product = MMA[shape]
    first, second = (DimType.M, DimType.N) if letters == "ab" else (DimType.N, DimType.M)
    wanted = (("m", first, product.m), ("n", second, product.n), ("k", DimType.K, product.k))
    found: dict[str, Axis] = {}
    for name, role, unit in wanted:
        fitting = [a for a in operation.axes if a.role is role and a.extent and a.extent % unit == 0]
        if not fitting:
            return None
        found[name] = max(fitting, key=lambda axis: axis.extent)
    return found


MATRICES = {"a": "mk", "b": "kn", "c": "mn"}
"""The axes of the rows and columns of a product's matrices."""


def _of_fragments(operation: Operation, shape: str, letters: str, axes: Mapping[str, Axis]) -> Kernel:
    """Return the kernel over fragments along some axes."""
    product, plain = MMA[shape], kernel_of(operation)
    units = {axes["m"].name: product.m, axes["n"].name: product.n, axes["k"].name: product.k}
    made = _Writer(operation, units).kernel()
    operands = {each.name: each for each in operation.operands} | {BEFORE: operation.output}
    inputs = dict(zip((each.name for each in operation.inputs), letters))
    matrix = {region.name: inputs.get(region.name, "c") for region in plain.backbone.regions}

    def strides(name: str) -> tuple[int, int]:
        row, column = (_stride(operation, operands[name], axes[each]) for each in MATRICES[matrix[name]])
        return row, column

    grain = Grain(
        shape,
        plain,
        tuple(matrix.items()),
        tuple((name, strides(name)) for name in matrix),
        tuple((region.name, plain.backbone.extent(region)) for region in plain.backbone.regions),
    )
    return replace(made, options=(*made.options, ("mma", shape)), grain=grain)


def tiled_axes(operation: Operation) -> tuple[str, ...]:
    """Return the axes whose iterations a block of threads shares: for each operand the one that is contiguous in it.

    Where none is, the longest takes its place. They are named as the kernel's axes are.
    """
    found: dict[str, None] = {}
    for operand in (operation.output, *operation.inputs):
        axes = [axis for axis in operation.axes if _stride(operation, operand, axis) and axis.role is not DimType.K]
        if axes:
            best = min(axes, key=lambda axis: (abs(_stride(operation, operand, axis)), -axis.extent))
            found[_name(best)] = None
    for role in (DimType.M, DimType.N):
        axes = [axis for axis in operation.axes if axis.role is role]
        if axes and not any(_name(axis) in found for axis in axes):
            found[_name(max(axes, key=lambda axis: axis.extent))] = None
    return tuple(found)[:2]


class _Writer:
    """Writes the kernel of an operation; `units` says how many elements one of the kernel's is, along some axes."""

    def __init__(self, operation: Operation, units: Mapping[str, int]) -> None:
        held = {operand.dtype.accumulate for operand in operation.operands}
        if len(held) > 1:
            raise UnsupportedTarget(
                f"operands of {', '.join(sorted(each.name for each in held))} in one operation on a GPU\n"
                "  Convert them to one type."
            )
        self.operation, self.units = operation, units
        self.builder = Builder("contraction" if len(operation.inputs) > 1 else "reduction", operation.output.dtype)
        tiled, summed = tiled_axes(operation), _summed(operation)
        # Sums of nothing are zeros: nothing runs along their axes, and nothing is read.
        self.axes = {axis.name: self._axis(axis, tiled, summed) for axis in operation.axes if axis.extent}
        kept = tuple(self.axes[axis.name] for axis in operation.axes if axis.role is not DimType.K)
        self.kept = kept or (self.builder.axis("one", 1),)

    def _axis(self, axis: Axis, tiled: tuple[str, ...], summed: str | None) -> TiledAxis:
        maxima = SUMMED if axis.name == summed else ()
        if _name(axis) in tiled:
            maxima = BLOCK if len(tiled) > 1 or self.units else ALONE
        extent = axis.extent // self.units.get(axis.name, 1)
        whole = False if self.units else None  # Fragments have no part that could stick out.
        return self.builder.axis(_name(axis), extent, *tile_sizes(extent, maxima, whole))

    def kernel(self) -> Kernel:
        """Return the whole kernel."""
        operation = self.operation
        is_empty = len(self.axes) < len(operation.axes)
        value = self._zero() if is_empty else self._computed([self._load(each) for each in operation.inputs])
        if self.sums and operation.first_touch.primitive is not Primitive.ZERO:
            before = self._load(replace(operation.output, name=BEFORE))
            before = self._touched("first", before, operation.first_touch)
            value = self.builder.nest("added", *self.kept).apply("add", value, before)
        for position, touch in enumerate(operation.last_touches):
            value = self._touched(f"touch{position}", value, touch)
        self.builder.store(self._region(operation.output, self.builder.output), value)
        return Kernel(self.builder.backbone(), _meaning(operation), (("operation", _text(operation)),))

    @property
    def sums(self) -> bool:
        """Whether something is summed, if only one element."""
        return self.operation.main.is_contraction

    def _load(self, operand: Operand) -> Value:
        return self.builder.load(self._region(operand, self.builder.input))

    def _region(self, operand: Operand, add: Callable[..., Region]) -> Region:
        """Add an array: the output over all axes that it has, others over those that move them."""
        is_output = operand.strides == self.operation.output.strides
        found = [
            (self.axes[axis.name], stride * self.units.get(axis.name, 1))
            for axis, stride in zip(self.operation.axes, operand.strides)
            if stride or (is_output and axis.role is not DimType.K)
        ]
        axes, strides = zip(*(found or [(self.kept[0], 0)]))
        return add(operand.name, *axes, strides=strides, dtype=operand.dtype)

    def _computed(self, values: list[Value]) -> Value:
        """Add the products, and their sum where there is one."""
        main = self.builder.nest("main", *dict.fromkeys((*self.kept, *self.axes.values())))
        if self.sums:
            return main.reduce("mad" if len(values) == 2 else "add", *values, start=self._zero())
        if len(values) == 2:
            return main.apply(BINARY[self.operation.main], *values)
        if self.operation.main not in UNARY:
            raise UnsupportedTarget(
                f"{self.operation.main} has no scalar instructions for GPUs\n  Compute it with NumPy."
            )
        return UNARY[self.operation.main](main, values[0])

    def _zero(self) -> Value:
        """Add what sums begin with."""
        return self.builder.nest("init", *self.kept).apply("move", 0.0)

    def _touched(self, name: str, value: Value, touch: Touch) -> Value:
        """Add what becomes of a value."""
        nest = self.builder.nest(name, *self.kept)
        if touch.does_nothing:
            return value
        if touch.primitive in BINARY and touch.operand is not None:
            return nest.apply(BINARY[touch.primitive], value, self._load(self.operation.operands[touch.operand]))
        if touch.primitive in UNARY and touch.operand is None:
            return UNARY[touch.primitive](nest, value)
        raise UnsupportedTarget(
            f"{touch.primitive} of sums has no scalar instructions for GPUs\n  Apply it afterwards."
        )


def _name(axis: Axis) -> str:
    """Return the name of an axis without the sign that joins fused ones."""
    return axis.name.replace(JOINT, "_")


def _summed(operation: Operation) -> str | None:
    """Return the summed axis that gets tiles: the longest."""
    summed = [axis for axis in operation.axes if axis.role is DimType.K]
    return max(summed, key=lambda axis: axis.extent).name if summed else None


def _stride(operation: Operation, operand: Operand, axis: Axis) -> int:
    return operand.strides[operation.names.index(axis.name)]


def _text(operation: Operation) -> str:
    """Return what decides the kernel of an operation, in a line: leaves are kept under it, with their types."""
    axes = " ".join(f"{axis.name}:{axis.extent}{axis.role}" for axis in operation.axes)
    operands = "; ".join(
        f"{each.name} {each.dtype} {' '.join(map(str, each.strides))}".rstrip() for each in operation.operands
    )
    names = [operand.name for operand in operation.operands]
    touches = " ".join(touch_text(touch, names) for touch in (operation.first_touch, *operation.last_touches))
    return f"{operation.main} over {axes}; {operands}; {touches}"


def _meaning(operation: Operation) -> Callable[[Mapping[str, Any]], dict[str, Array]]:
    """Return what the kernel computes, from arrays over the axes that move them: what the interpreter says."""
    kept = [axis.extent for axis in operation.axes if axis.role is not DimType.K]

    def of(values: Mapping[str, Any]) -> dict[str, Array]:
        dense = replace(operation, operands=tuple(_dense(operation, each) for each in operation.operands))
        result = np.array(values.get(BEFORE, np.zeros(kept, wide_type(operation.output.dtype)))).reshape(-1)
        given = [np.ascontiguousarray(values[each.name]).reshape(-1) for each in operation.operands[:-1]]
        interpret(dense, [*map(Memory, given), Memory(result)])
        return {operation.output.name: result.reshape(kept or 1)}

    return of


def _dense(operation: Operation, operand: Operand) -> Operand:
    """Return an operand whose elements follow each other in the order of the operation's axes."""
    strides, stride = list[int](), 1
    for axis, old in reversed(list(zip(operation.axes, operand.strides))):
        moves = old != 0 or (operand is operation.output and axis.role is not DimType.K)
        strides.append(stride if moves else 0)
        stride *= axis.extent if moves else 1
    return replace(operand, strides=tuple(reversed(strides)))
