"""`TensorOperationConfig`: an (Operation, Schedule) pair written as flat lists.

The entries of the lists are dimensions, the outermost loop first and the `prim` ones last. Without `dim_axes` every
dimension is an axis of its own. Dimensions with the same entry in `dim_axes` tile one axis, the outer block first; then
`axis_sizes` may give true extents that the blocks do not divide: the last block is short.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any, NamedTuple

from einloom.dtypes import data_type
from einloom.errors import ArgumentError, ScheduleError, StrideError
from einloom.frozen import frozen
from einloom.ir.extras import Extra, checked_extras, extras_of, first_touch, last_touches, words_of
from einloom.ir.fields import PackEntry, axis_ids, choices, pack_entries, touch_words, whole_numbers
from einloom.ir.operation import Axis, DimType, Operand, Operation, Primitive
from einloom.ir.schedule import OUTPUT, Digit, ExecType, Prims, Schedule, ScheduledLoop, ScheduledPack
from einloom.once import cached_property

__all__ = ["TensorOperationConfig"]


@frozen(slots=False)
class TensorOperationConfig:
    """What a tensor operation computes and how, as lists with one entry a dimension. Compared by value.

    Attributes:
        dtype: `"float32"` or `"float64"`.
        prim_first_touch: run on an output block before its first contribution: `none`, `zero`, or a unary operator;
            with an extra of role `first`, `identity` or `copy` (a bias), another unary or a binary operator.
        prim_main: `gemm`, `brgemm`, `sum`, a unary operator (`identity`, `relu`, `exp`, …) or a binary one
            (`add`, `min`, `gt`, …): see the page of primitives.
        prim_last_touch: run on an output block after its last contribution: `none`, a unary operator, a binary one with
            an extra of role `last`, or several, one after the other.
        dim_types: role of each dimension: `c`, `m`, `n`, `k`.
        exec_types: `shared` (outermost), `seq`, `prim` (innermost).
        dim_sizes: trip counts; for `prim` dimensions, the primitive's sizes.
        strides_in0, strides_in1, strides_out: strides in elements; `strides_in1` is None for unary operations.
        dim_axes: the axis of each dimension, any names; None: every dimension is an axis.
        axis_sizes: true extent of each axis, in the order of first appearance; None: the products of the sizes.
        extras: operands of touches, as (name, role, dtype, strides): role `first`, `last` or `mask`; see `Extra`.
        packs: (input, number of enclosing loops, layout) with a layout of (axis, step) digits, outermost first.

    Raises:
        ScheduleError, StrideError, ShapeError, DTypeError: naming the dimension.
    """

    dtype: str
    prim_main: str
    dim_types: Sequence[str]
    exec_types: Sequence[str]
    dim_sizes: Sequence[int]
    strides_in0: Sequence[int]
    strides_in1: Sequence[int] | None
    strides_out: Sequence[int]
    prim_first_touch: str = "none"
    prim_last_touch: str | Sequence[str] = "none"
    dim_axes: Sequence[str | int] | None = None
    axis_sizes: Sequence[int] | None = None
    packs: Sequence[PackEntry] = ()
    extras: Sequence[Extra] = ()

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "dtype", data_type(self.dtype).name)
        put(self, "prim_main", choices(Primitive, (self.prim_main,), "prim_main")[0].value)
        put(self, "prim_first_touch", touch_words((self.prim_first_touch,), "prim_first_touch")[0])
        last = touch_words(self.prim_last_touch, "prim_last_touch")
        put(self, "prim_last_touch", last[0] if len(last) == 1 else last or "none")
        put(self, "dim_types", tuple(role.value for role in choices(DimType, self.dim_types, "dim_types")))
        put(self, "exec_types", tuple(kind.value for kind in choices(ExecType, self.exec_types, "exec_types")))
        for name in ("dim_sizes", "strides_in0", "strides_out"):
            put(self, name, whole_numbers(getattr(self, name), name))
        for name in ("strides_in1", "axis_sizes"):
            put(self, name, None if getattr(self, name) is None else whole_numbers(getattr(self, name), name))
        put(self, "dim_axes", None if self.dim_axes is None else axis_ids(self.dim_axes, "dim_axes"))
        put(self, "packs", pack_entries(self.packs))
        put(self, "extras", checked_extras(self.extras, self.dtype, len(self.dim_types)))
        self._check_lists()
        self._check_prims()
        assert self.operation and self.schedule  # Their own checks refuse what is left.

    # ---- checks -----------------------------------------------------------------------------------------------------

    def _check_lists(self) -> None:
        count = len(self.dim_types)
        for name in ("exec_types", "dim_sizes", "strides_in0", "strides_in1", "strides_out", "dim_axes"):
            value = getattr(self, name)
            if value is not None and len(value) != count:
                raise ScheduleError(f"{name} has {len(value)} entries, dim_types has {count}\n  Give one a dimension.")
        if self.strides_in1 is None and Primitive(self.prim_main).inputs == 2:
            raise ScheduleError(f"strides_in1 is None, but prim_main {self.prim_main} reads two operands")
        for i, size in enumerate(self.dim_sizes):
            if size < 0:
                raise ScheduleError(f"dimension {i} ({self.dim_types[i]}) has the negative size {size}")
        first = next((i for i, kind in enumerate(self.exec_types) if kind == ExecType.PRIM), count)
        for i in range(first, count):
            if self.exec_types[i] != ExecType.PRIM:
                raise ScheduleError(
                    f"dimension {i} is {self.exec_types[i]} inside the prim dimension {first}\n"
                    "  Prim dimensions are the innermost."
                )

    def _check_prims(self) -> None:
        """The number and the roles of the prim dimensions must fit the main primitive.

        There may be none at all: the primitive computes single elements until `einloom.optimize` identifies more.
        """
        main = Primitive(self.prim_main)
        roles = [DimType(r) for r, kind in zip(self.dim_types, self.exec_types) if kind == ExecType.PRIM]
        count = {role: roles.count(role) for role in DimType}
        kept = len(roles) - count[DimType.K]
        if main in (Primitive.GEMM, Primitive.BRGEMM):
            reduced = 2 if main is Primitive.BRGEMM else 1
            lacking = [r for r in (DimType.M, DimType.N) if r in self.dim_types and not count[r]]
            fits = count[DimType.K] == (reduced if DimType.K in self.dim_types else 0) and kept <= 2
            fits = not roles or (fits and not (lacking and not count[DimType.C]))
            wanted = f"one m, one n and {'two k' if reduced == 2 else 'one k'}"
        elif main is Primitive.SUM:
            fits, wanted = kept <= 2 and count[DimType.K] <= 2, "at most two c and two k"
        else:
            fits, wanted = kept <= 2 and not count[DimType.K], "at most two"
        if not fits:
            given = " ".join(roles) or "none"
            raise ScheduleError(f"prim_main {main} takes {wanted} prim dimensions; there are: {given}")

    # ---- what the lists say -----------------------------------------------------------------------------------------

    @property
    def _last_words(self) -> tuple[str, ...]:
        words = self.prim_last_touch
        return (words,) if isinstance(words, str) else tuple(words)

    @cached_property
    def _axis_of(self) -> tuple[str, ...]:
        """Name of the axis of each dimension."""
        ids = self.dim_axes if self.dim_axes is not None else range(len(self.dim_types))
        return tuple(i if isinstance(i, str) else f"{role}{i}" for i, role in zip(ids, self.dim_types))

    @cached_property
    def operation(self) -> Operation:
        """What is computed."""
        main = Primitive(self.prim_main)
        names = tuple(dict.fromkeys(self._axis_of))
        axes = tuple(self._axis(name, position) for position, name in enumerate(names))
        lists = {"in0": self.strides_in0, "in1": self.strides_in1, "out": self.strides_out}
        lists |= {extra.name: extra.strides for extra in self.extras}
        used = [*("in0", "in1")[: main.inputs], *(extra.name for extra in self.extras), "out"]
        operands = tuple(
            Operand(name, data_type(self.dtype), tuple(self._stride(lists[name] or (), name, axis) for axis in names))
            for name in used
        )
        first = first_touch(self.prim_first_touch, self.extras, main.inputs)
        return Operation(axes, operands, main, first, last_touches(self._last_words, self.extras, main.inputs))

    def _entries(self, axis: str) -> list[int]:
        return [i for i, name in enumerate(self._axis_of) if name == axis]

    def _axis(self, name: str, position: int) -> Axis:
        entries = self._entries(name)
        roles = {self.dim_types[i] for i in entries}
        if len(roles) > 1:
            raise ScheduleError(
                f"the dimensions of axis {name} have the roles {', '.join(sorted(roles))}; give them one"
            )
        blocks = math.prod(self.dim_sizes[i] for i in entries)
        extent = blocks if self.axis_sizes is None else self._true_extent(name, position, blocks)
        return Axis(name, extent, DimType(roles.pop()))

    def _true_extent(self, name: str, position: int, blocks: int) -> int:
        sizes = self.axis_sizes or ()
        if len(sizes) != len(set(self._axis_of)):
            raise ScheduleError(f"axis_sizes has {len(sizes)} entries for {len(set(self._axis_of))} axes")
        extent, inner = sizes[position], math.prod(self.dim_sizes[i] for i in self._entries(name)[1:])
        if extent < 0 or (not blocks - inner < extent <= blocks and (extent or blocks)):
            raise ScheduleError(
                f"axis {name} has the extent {extent}, but its blocks cover {blocks} indices in steps of {inner}\n"
                "  Only the last block may be short."
            )
        return extent

    def _stride(self, strides: Sequence[int], operand: str, axis: str) -> int:
        """The stride of single indices; those of outer blocks must be what follows from it."""
        *outer, innermost = self._entries(axis)
        step = self.dim_sizes[innermost]
        for i in reversed(outer):
            if strides[i] != strides[innermost] * step and self.dim_sizes[i] > 1:
                raise StrideError(
                    f"dimension {i} of strides_{operand} is {strides[i]}; blocks of {step} indices of axis {axis} "
                    f"lie {strides[innermost] * step} apart"
                )
            step *= self.dim_sizes[i]
        return strides[innermost]

    @cached_property
    def schedule(self) -> Schedule:
        """How it is computed."""
        loops: list[ScheduledLoop] = []
        for i, kind in enumerate(self.exec_types):
            if kind != ExecType.PRIM:
                inner = [j for j in self._entries(self._axis_of[i]) if j > i]
                step = math.prod(self.dim_sizes[j] for j in inner)
                loops.append(ScheduledLoop(self._axis_of[i], max(step, 1), ExecType(kind)))
        names = [axis for axis, kind in zip(self._axis_of, self.exec_types) if kind == ExecType.PRIM]
        packs = tuple(
            ScheduledPack(o, loop, tuple(Digit(a, step) for a, step in layout)) for o, loop, layout in self.packs
        )
        layout = next((pack.layout for pack in packs if pack.operand == OUTPUT), ())
        return Schedule(tuple(loops), primitive_axes(self.operation, names, layout), packs)

    @classmethod
    def from_schedule(cls, operation: Operation, schedule: Schedule) -> TensorOperationConfig:
        """Return the configuration that says the same.

        Raises:
            ScheduleError: the lists cannot say it.
        """
        return _written(operation, schedule)

    # ---- JSON -------------------------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """Return the configuration as a JSON object."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> TensorOperationConfig:
        """Return the configuration of a JSON object.

        Raises:
            ScheduleError: not an object, an unknown key, or a key that lacks.
            ArgumentError: no text.
        """
        values = _json_object(text)
        known = {field.name for field in fields(cls)}
        if unknown := set(values) - known:
            raise ScheduleError(
                f"not a configuration: unknown {', '.join(sorted(unknown))}\n  known keys: {', '.join(sorted(known))}"
            )
        try:
            return cls(**values)
        except TypeError as error:  # A key that lacks: everything else is checked by name.
            raise ScheduleError(f"not a configuration: {error}") from None


def _json_object(text: object) -> dict[str, Any]:
    if not isinstance(text, str):
        raise ArgumentError(f"text is a {type(text).__name__}; from_json takes the text of a JSON object")
    try:
        values: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ScheduleError(f"not a configuration: {error}") from None
    if not isinstance(values, dict):
        raise ScheduleError(f"not a configuration: {values!r:.80} is no object of JSON")
    return {**values}


def primitive_axes(operation: Operation, names: Sequence[str], layout: Sequence[Digit] = ()) -> Prims:
    """Return which of the axes that a primitive takes is its m, n, k and batch: contiguous ones are m.

    `layout` is that of a packed output, outermost digit first: a contraction writes there.
    """
    kept = [operation.axis(name) for name in names if operation.axis(name).role is not DimType.K]
    reduced = [name for name in names if operation.axis(name).role is DimType.K]
    contracts = operation.main.is_contraction or not operation.inputs
    reference = operation.output if contracts or operation.main.is_binary else operation.inputs[0]
    places = {digit.axis: -place for place, digit in enumerate(layout)} if reference is operation.output else {}
    kept.sort(key=lambda axis: (places.get(axis.name, 1), operation.distance(reference, axis)))
    m, n = [*(axis.name for axis in kept), None, None][:2]
    k, batch = [*reversed(reduced), None, None][:2]
    return Prims(m, n, k, batch)


class _Entry(NamedTuple):
    """What the lists say of one dimension: its axis, how it is executed, its trip count, and the indices of a step."""

    axis: str
    kind: ExecType
    size: int
    step: int


def _entries(operation: Operation, schedule: Schedule) -> list[_Entry]:
    """Return the dimensions of a schedule, from the outside in; axes that it does not name come first."""
    extents = {axis.name: axis.extent for axis in operation.axes}
    left = dict(extents)
    entries: list[_Entry] = []
    for loop in schedule.loops:
        step = min(loop.step, max(left[loop.axis], 1))
        if left[loop.axis] % step and left[loop.axis] < extents[loop.axis]:
            raise ScheduleError(
                f"a configuration cannot say that blocks of {left[loop.axis]} {loop.axis} are cut in steps of {step}"
            )
        entries.append(_Entry(loop.axis, loop.kind, -(-left[loop.axis] // step), step))
        left[loop.axis] = step
    prims = schedule.prims
    taken = (name for name in (prims.m, prims.n, prims.batch, prims.k) if name is not None)
    entries += [_Entry(name, ExecType.PRIM, left[name], 1) for name in taken]
    covered = {entry.axis for entry in entries}
    others = (axis for axis in operation.axes if axis.name not in covered)
    return [*(_Entry(axis.name, ExecType.SEQ, axis.extent, 1) for axis in others), *entries]


def _written(operation: Operation, schedule: Schedule) -> TensorOperationConfig:
    """Return the configuration that says an operation and its schedule in lists."""
    if schedule.fused:
        raise ScheduleError(
            f"a configuration cannot say that axes are fused\n  {schedule}\n  Keep the schedule as text."
        )
    if schedule.team is not None:
        raise ScheduleError(f"a configuration cannot say that there is a team of {schedule.team}\n  {schedule}")
    entries, prims = _entries(operation, schedule), schedule.prims

    def listed(operand: Operand) -> list[int]:
        strides = operation.strides(operand)
        return [strides[entry.axis] * entry.step for entry in entries]

    inputs = [listed(operand) for operand in operation.inputs]
    first, last = words_of(operation)
    config = TensorOperationConfig(
        dtype=operation.output.dtype.name,
        prim_main=_fitting_name(operation.main, prims),
        prim_first_touch=first,
        prim_last_touch=last,
        dim_types=[operation.axis(entry.axis).role for entry in entries],
        exec_types=[entry.kind for entry in entries],
        dim_sizes=[entry.size for entry in entries],
        strides_in0=inputs[0] if inputs else [0] * len(entries),
        strides_in1=inputs[1] if len(inputs) > 1 else None,
        strides_out=listed(operation.output),
        extras=[Extra(o.name, role, o.dtype.name, tuple(listed(o))) for o, role in extras_of(operation)],
        dim_axes=[entry.axis for entry in entries],
        axis_sizes=[operation.axis(name).extent for name in dict.fromkeys(entry.axis for entry in entries)],
        packs=[(p.operand, p.loop, tuple((d.axis, d.step) for d in p.layout)) for p in schedule.packs],
    )
    if config.schedule.prims != prims:
        raise ScheduleError(
            f"a configuration cannot say that the primitive takes {prims}; it says {config.schedule.prims}"
        )
    return config


def _fitting_name(main: Primitive, prims: Prims) -> Primitive:
    """A matrix product with a second reduced axis in the primitive is a brgemm, without one a gemm."""
    if main not in (Primitive.GEMM, Primitive.BRGEMM):
        return main
    return Primitive.BRGEMM if prims.batch is not None else Primitive.GEMM
