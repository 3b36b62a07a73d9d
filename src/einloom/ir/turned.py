"""Products of complex numbers as products of reals: schedules of complex operations, and the packs of the form 1e.

The parts of a complex element lie side by side, so a tensor of complex elements is one of reals with one more axis. A
product a b is the two parts of b times a matrix of the parts of a, two by two; a pack of the form 1e writes these
matrices (Van Zee, Inducing complex matrix multiplication via the 1m method, 2020). Its `part` is the part of the
result, its `term` the part of b that is multiplied:

    re im | -im  re     a b               re -im | im  re      conj(a) b
    re im |  im -re     a conj(b)         re -im | -im -re     conj(a b)

Conjugation is in the signs, and costs nothing. Infinite parts give what products and sums of the parts give.

Axes, steps and layouts of the schedule count complex elements. `Pairs` says what becomes of the parts:

    complex   seq m:24 seq k:100 prim m=m n=n k=k pack in0@2:1e k m
    real      fuse m=m*part fuse k=k*term seq m:48 seq k:200 prim m=m n=n k=k pack in0@2 k m
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from einloom.errors import ScheduleError
from einloom.frozen import frozen
from einloom.ir.copies import followed, levels_of
from einloom.ir.cut_rows import cut_rows
from einloom.ir.fused import FusedView
from einloom.ir.layout import PackedLayout
from einloom.ir.nest import Pack
from einloom.ir.operation import NO_TOUCH, Axis, DimType, Operand, Operation, Primitive, Touch
from einloom.ir.schedule import OUTPUT, Digit, Fused, Prims, Schedule, ScheduledLoop, ScheduledPack
from einloom.ir.turned_copy import TurnedCopy

__all__ = ["PART", "TERM", "Pairs", "check_touches"]

PART, TERM = "part", "term"
"""Names of the axes over the parts of the result and of the operand that is not turned: longer than any label."""


def check_touches(operation: Operation) -> None:
    """Refuse touches that compute with complex numbers.

    Raises:
        ScheduleError: there is one.
    """
    if {operation.first_touch, *operation.last_touches} - {Touch(Primitive.ZERO), NO_TOUCH}:
        raise ScheduleError("a touch computes with complex numbers\n  Start from zero, or from what the output holds.")


@frozen
class Pairs:
    """What a schedule of a complex operation makes of the pairs of reals that its elements are.

    Attributes:
        operation, schedule: on complex elements.
        view: the axes that the schedule walks.
        turned: position of the operand whose pack is of the form 1e.
        part: the axis whose indices the parts of the result follow, which vectors run along; None: an axis of its own.
        term: the same for the parts of the other operand, along the primitive's k.
    """

    operation: Operation
    schedule: Schedule
    view: FusedView
    turned: int
    part: str | None
    term: str | None

    @staticmethod
    def of(operation: Operation, schedule: Schedule) -> Pairs:
        """Return what a schedule makes of pairs.

        Raises:
            ScheduleError: no operand is packed in the form 1e, or both are; or there are touches that compute.
        """
        check_touches(operation)
        turned = [pack.operand for pack in schedule.packs if pack.turned]
        if len(turned) != 1 or turned[0] not in (0, 1):
            which = "the output is" if turned == [OUTPUT] else f"{len(turned)} operands are"
            raise ScheduleError(
                f"{which} packed in the form 1e; products of complex numbers need one factor in it\n"
                "  Pack the one that has the primitive's m: pack in0@…:1e …."
            )
        view = FusedView.of(operation, schedule.fused)
        pairs = Pairs(operation, schedule, view, turned[0], None, None)
        return replace(pairs, part=pairs._axis_of_part(), term=pairs._axis_of_term())

    # ---- where the parts go ----------------------------------------------------------------------------------------

    @property
    def _role(self) -> DimType:
        """The role of the axes that only the turned operand and the output have."""
        return DimType.N if self.turned else DimType.M

    def _is_packed(self, operand: int) -> bool:
        return any(pack.operand == operand for pack in self.schedule.packs)

    def _axis_of_part(self) -> str | None:
        """The primitive's m, if the parts lie between its indices in the output."""
        m = self.schedule.prims.m
        if m is None or all(axis.name != m or axis.role is not self._role for axis in self.view.axes):
            return None
        return m if self._is_packed(OUTPUT) or self.view.strides["out"].get(m) == 1 else None

    def _axis_of_term(self) -> str | None:
        """The primitive's k, if the parts of the operand that is not turned lie between its indices."""
        k, other = self.schedule.prims.k, 1 - self.turned
        follows = self._is_packed(other) or self.view.strides[f"in{other}"].get(k or "") == 1
        return k if follows else None

    # ---- the operation and the schedule on reals -------------------------------------------------------------------

    def real_operation(self) -> Operation:
        """Return the operation on reals; the turned operand lies as in memory but for the strides of parts."""
        axes = (*self.operation.axes, Axis(PART, 2, self._role), Axis(TERM, 2, DimType.K))
        ends = [(0, 1), (0, 1), (1, 0)]
        ends[self.turned] = (1, 1)
        operands = tuple(
            Operand(o.name, o.dtype.real, (*(2 * stride for stride in o.strides), *end))
            for o, end in zip(self.operation.operands, ends)
        )
        return replace(self.operation, axes=axes, operands=operands)

    def real_schedule(self) -> Schedule:
        """Return the schedule of the operation on reals: parts go along with axes, else they are axes of their own."""
        prims, loops = self._prims()
        taken = [ScheduledLoop(name, 1) for name in loops]
        cut = [loop._replace(step=loop.step * self._unit(loop.axis)) for loop in self.schedule.loops]
        packs = tuple(replace(pack, turned=False, layout=self._layout(pack)) for pack in self.schedule.packs)
        return replace(self.schedule, loops=(*cut, *taken), prims=prims, packs=packs, fused=self._fused())

    def _unit(self, axis: str) -> int:
        """How many reals an index of an axis stands for."""
        return 2 if axis in (self.part, self.term) else 1

    def _prims(self) -> tuple[Prims, list[str]]:
        """What the primitive takes, and the axes over parts that it does not."""
        prims = self.schedule.prims
        if self.part is None and prims.m is None:
            prims = replace(prims, m=PART)
        elif self.part is None and prims.n is None:
            prims = replace(prims, n=PART)
        if self.term is None and prims.k is None:
            prims = replace(prims, k=TERM)
        elif self.term is None and prims.batch is None:
            prims = replace(prims, batch=TERM)
        apart = ((self.part, PART), (self.term, TERM))
        return prims, [name for axis, name in apart if axis is None and name not in prims.names]

    def _fused(self) -> tuple[Fused, ...]:
        fused = {each.name: each.parts for each in self.schedule.fused}
        for axis, parts in ((self.part, PART), (self.term, TERM)):
            if axis is not None:
                fused[axis] = (*fused.get(axis, (axis,)), parts)
        return tuple(Fused(name, parts) for name, parts in fused.items())

    def _layout(self, pack: ScheduledPack) -> tuple[Digit, ...]:
        """The digits of a packed block of reals."""
        digits = [d._replace(step=d.step * self._unit(d.axis)) if d.step != 1 else d for d in pack.layout]
        names, operand = [digit.axis for digit in digits], pack.operand
        if operand != 1 - self.turned:
            digits = _with_parts(digits, names, self.part, PART, len(digits))
        if operand != OUTPUT:
            last = len(names) - 1 if names and names[-1] == self.part else len(names)
            digits = _with_parts(digits, names, self.term, TERM, last)
        return tuple(digits)

    # ---- the pack ---------------------------------------------------------------------------------------------------

    def in_elements(self, lengths: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
        """Return lengths of blocks in complex elements."""
        return {axis: tuple(each // self._unit(axis) for each in found) for axis, found in lengths.items()}

    def copy(self, lengths: Mapping[str, tuple[int, ...]], scratch: str) -> Pack:
        """Return the copy that turns elements into matrices.

        Args:
            lengths: how long the packed blocks of each axis are, in complex elements, the longest first.
            scratch: name of the packed block's buffer.
        """
        pack = next(pack for pack in self.schedule.packs if pack.turned)
        own, other = self.operation.operands[self.turned], self.operation.operands[1 - self.turned]
        digits, known = self._digits(pack, lengths)
        strides = {name: 2 * stride for name, stride in self.view.strides[own.name].items()} | {PART: 0, TERM: 0}
        parts = {
            axis: tuple(replace(part, stride=2 * part.stride) for part in found)
            for axis, found in self.view.parts[own.name].items()
        }
        spans = {name: each[0] for name, each in known.items() if any(digit.axis == name for digit in digits)}
        layout = PackedLayout.of(digits, spans, own.name)
        rows = cut_rows(layout, known, parts, own.name)
        levels = levels_of(layout.without(rows.axis) if rows else layout, known, strides, parts)
        apart = {level.axis: level.inside for level in levels if level.axis in (PART, TERM)}
        copy = TurnedCopy(own, other.conjugated, scratch, apart[PART], apart[TERM])
        levels = [replace(level, per=level.per * self._unit(level.axis)) for level in levels if level.axis not in apart]
        if rows is None:
            return copy.node(levels)
        return copy.node_of_cut_rows(replace(rows, per=self._unit(rows.axis)), levels, followed(lengths, parts))

    def _digits(
        self, pack: ScheduledPack, lengths: Mapping[str, tuple[int, ...]]
    ) -> tuple[tuple[Digit, ...], dict[str, tuple[int, ...]]]:
        """The digits of the packed block that count complex elements, parts and terms, and how long each axis is."""
        digits: list[Digit] = []
        for digit in self._layout(pack):
            digits.append(digit._replace(step=max(digit.step // self._unit(digit.axis), 1)))
            if digit.step == 1 and digit.axis in (self.part, self.term):
                digits.append(Digit(PART if digit.axis == self.part else TERM))
        return tuple(digits), {**lengths, PART: (2,), TERM: (2,)}


def _with_parts(digits: list[Digit], names: list[str], axis: str | None, parts: str, place: int) -> list[Digit]:
    """Digits with those of parts: outermost, or inside an axis, which then has a digit even if it has one index."""
    if axis is None:
        return [Digit(parts), *digits]
    return digits if axis in names else [*digits[:place], Digit(axis), *digits[place:]]
