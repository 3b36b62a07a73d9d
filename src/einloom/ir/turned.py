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

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from einloom.errors import ScheduleError
from einloom.ir.copies import Level, copy_loops, copy_runs, indices, levels_of
from einloom.ir.fused import FusedView
from einloom.ir.layout import PackedLayout
from einloom.ir.nest import Access, Block, Call, Guard, Iteration, Loop, Node, Pack, Turned
from einloom.ir.operation import NO_TOUCH, Axis, DimType, Operand, Operation, Primitive, Touch
from einloom.ir.schedule import OUTPUT, Digit, ExecType, Fused, Prims, Schedule, ScheduledLoop, ScheduledPack

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


Matrix = tuple[Turned, Turned, Turned, Turned]

_RE, _IM, _MINUS_RE, _MINUS_IM = Turned(0), Turned(1), Turned(0, True), Turned(1, True)
_MATRICES: dict[tuple[bool, bool], Matrix] = {
    (False, False): (_RE, _IM, _MINUS_IM, _RE),
    (True, False): (_RE, _MINUS_IM, _IM, _RE),
    (False, True): (_RE, _IM, _IM, _MINUS_RE),
    (True, True): (_RE, _MINUS_IM, _MINUS_IM, _MINUS_RE),
}
"""[term][part], by whether the operand that is turned, and the other one, are conjugated."""


@dataclass(frozen=True, slots=True)
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
        cut = [replace(loop, step=loop.step * self._unit(loop.axis)) for loop in self.schedule.loops]
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
        digits = [replace(d, step=d.step * self._unit(d.axis)) if d.step != 1 else d for d in pack.layout]
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
        levels, parts = self._levels(pack, own.name, lengths)
        matrix = _MATRICES[own.conjugated, other.conjugated]
        return _Copy(
            own, scratch, levels, parts, matrix, {level.axis: self._unit(level.axis) for level in levels}
        ).node()

    def _levels(
        self, pack: ScheduledPack, operand: str, lengths: Mapping[str, tuple[int, ...]]
    ) -> tuple[list[Level], dict[str, int]]:
        """The levels of the copy in complex elements, but strides in reals, and how far parts and terms lie apart."""
        digits: list[Digit] = []
        for digit in self._layout(pack):
            digits.append(replace(digit, step=max(digit.step // self._unit(digit.axis), 1)))
            if digit.step == 1 and digit.axis in (self.part, self.term):
                digits.append(Digit(PART if digit.axis == self.part else TERM))
        known = {**lengths, PART: (2,), TERM: (2,)}
        spans = {name: each[0] for name, each in known.items() if any(digit.axis == name for digit in digits)}
        strides = {name: 2 * stride for name, stride in self.view.strides[operand].items()} | {PART: 0, TERM: 0}
        tensor_parts = {
            axis: tuple(replace(part, stride=2 * part.stride) for part in parts)
            for axis, parts in self.view.parts[operand].items()
        }
        layout = PackedLayout.of(tuple(digits), spans, operand)
        levels = levels_of(layout, known, strides, tensor_parts)
        apart = {level.axis: level.inside for level in levels if level.axis in (PART, TERM)}
        return [level for level in levels if level.axis not in apart], apart


def _with_parts(digits: list[Digit], names: list[str], axis: str | None, parts: str, place: int) -> list[Digit]:
    """Digits with those of parts: outermost, or inside an axis, which then has a digit even if it has one index."""
    if axis is None:
        return [Digit(parts), *digits]
    return digits if axis in names else [*digits[:place], Digit(axis), *digits[place:]]


@dataclass(frozen=True, slots=True)
class _Copy:
    """The copy of one pack: loops around blocks, which are written part by part."""

    operand: Operand
    scratch: str
    levels: Sequence[Level]
    apart: Mapping[str, int]
    matrix: Matrix
    units: Mapping[str, int]
    """How many indices of an axis of the nest an element stands for."""

    def node(self) -> Pack:
        runs = copy_runs(self.levels)
        kernel = tuple(level for run in runs for level in run)
        body = tuple(self._pieces(runs))
        for index in copy_loops(self.levels, kernel):
            level = self.levels[index]
            moves = ((self.operand.name, level.outside), (self.scratch, level.inside))
            name = f"{self.operand.name}.{level.axis}.{index}"
            unit = self.units[level.axis]
            shorter = tuple(unit * each for each in level.shorter)
            body = (Loop(name, level.axis, ExecType.SEQ, unit * level.step, unit * level.span, shorter, moves, body),)
        return Pack(self.scratch, self.operand.name, body)

    def _pieces(self, runs: Sequence[tuple[int, ...]]) -> Iterable[Node]:
        """Rows of matrices where both parts lie side by side; else single parts."""
        if self.apart[PART] == 1:
            for term in (0, 1):
                first, second = self.matrix[2 * term : 2 * term + 2]
                call = replace(self._call(runs, Primitive.IDENTITY), pair=(first, second))
                yield self._moved(f"{term}", 0, term * self.apart[TERM], call)
            return
        for number, turned in enumerate(self.matrix):
            term, part = divmod(number, 2)
            call = self._call(runs, Primitive.NEGATE if turned.negative else Primitive.IDENTITY)
            yield self._moved(f"{term}{part}", turned.part, term * self.apart[TERM] + part * self.apart[PART], call)

    def _call(self, runs: Sequence[tuple[int, ...]], primitive: Primitive) -> Call:
        blocks = tuple(self._block(run) for run in runs) + (Block(None, 1),) * (2 - len(runs))
        first = [self.levels[run[0]] for run in runs]
        pad = (0,) * (2 - len(runs))
        outside = Access(self.operand.name, (*(level.outside for level in first), *pad))
        inside = Access(self.scratch, (*(level.inside for level in first), *pad))
        return Call(primitive, blocks, (outside, inside))

    def _block(self, run: tuple[int, ...]) -> Block:
        *inner, outermost = run
        level = self.levels[outermost]
        unit = self.units[level.axis]
        shorter = tuple(unit * each for each in level.shorter)
        return Block(level.axis, unit * level.span, shorter, indices(self.levels, inner), per=unit)

    def _moved(self, which: str, outside: int, inside: int, call: Call) -> Node:
        """Return a call so many elements behind the buffers' positions: the second turn of a loop of two."""
        if not (outside or inside):
            return call
        name = f"{self.operand.name}.{TERM}.{which}"
        moves = ((self.operand.name, outside), (self.scratch, inside))
        return Loop(name, TERM, ExecType.SEQ, 1, 2, (), moves, (Guard(Iteration.LAST, (name,), (call,)),))
