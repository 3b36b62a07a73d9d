"""Between schedules and decisions: a leaf is a schedule, and a schedule a set of decisions that leads to one leaf."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TypeVar

from einloom.errors import ScheduleError
from einloom.ir.schedule import Digit, ExecType, Prims, Schedule, ScheduledLoop, ScheduledPack, operand_name
from einloom.space.on_cpu.backbone import LEVELS, CpuBackbone, DigitOf, LoopLevel, Packed
from einloom.space.on_cpu.teams import Value, loop_in_team, team_decisions, team_of

__all__ = ["decisions_of", "schedule_of"]


def schedule_of(backbone: CpuBackbone, leaf: Mapping[str, Value]) -> Schedule:
    """Return the schedule of a leaf, given by the values of its decisions."""
    loops = [loop for loop in backbone.loops if leaf[f"kind({loop.name})"] != "ABSENT"]
    loops = _ordered(loops, "order", leaf)
    packs = [packed for packed in backbone.packs if leaf[f"pack({packed.name})"] == "PACKED"]
    fused = tuple(a.fused for a in backbone.axes if a.fused is not None and leaf[f"walked({a.name})"] == "YES")
    return Schedule(
        scheduled := tuple(loop_in_team(loop, _scheduled_loop(loop, leaf), leaf) for loop in loops),
        _prims(backbone, leaf),
        tuple(_scheduled_pack(backbone, each, loops, leaf) for each in _ordered(packs, "scratch", leaf)),
        fused,
        team_of(scheduled, leaf),
    )


def _scheduled_loop(loop: LoopLevel, leaf: Mapping[str, Value]) -> ScheduledLoop:
    kind = ExecType(str(leaf[f"kind({loop.name})"]).lower())
    return ScheduledLoop(loop.axis.name, int(leaf[f"step({loop.name})"]), kind)


def _prims(backbone: CpuBackbone, leaf: Mapping[str, Value]) -> Prims:
    taken = {str(leaf[f"role({axis.name})"]).lower(): axis.name for axis in backbone.axes}
    taken.pop("none", None)
    return Prims(**taken)


def _scheduled_pack(
    backbone: CpuBackbone, packed: Packed, loops: list[LoopLevel], leaf: Mapping[str, Value]
) -> ScheduledPack:
    around = sum(leaf[f"around({packed.name}, {loop.name})"] == "AROUND" for loop in loops)
    digits = [digit for side in backbone.sides_of(packed) for digit in backbone.digits_of(side)]
    present = [digit for digit in digits if leaf[f"digit({digit.name})"] == "PRESENT"]
    layout = _ordered(present, "layout", leaf, packed.name)
    manner = next(each for each in backbone.manners if leaf[f"manner({each.name})"] == "YES")
    forms = {operand: (grouped, turned) for operand, grouped, turned in manner.packs}
    laid = tuple(_digit(digit, loops, around, leaf) for digit in layout)
    return ScheduledPack(packed.operand, around, laid, *forms.get(packed.operand, (None, False)))


def _digit(digit: DigitOf, loops: list[LoopLevel], around: int, leaf: Mapping[str, Value]) -> Digit:
    """A panel is as wide as a step of the outermost loop over its axis within the copy."""
    axis = digit.side.axis
    if not digit.panel:
        return Digit(axis.name)
    within = next(loop for loop in loops[around:] if loop.axis is axis)
    return Digit(axis.name, int(leaf[f"step({within.name})"]))


Ordered = TypeVar("Ordered", LoopLevel, Packed, DigitOf)


def _ordered(objects: Sequence[Ordered], choice: str, leaf: Mapping[str, Value], context: str = "") -> list[Ordered]:
    """Sort objects by a total order among the decisions: by how many others stand before each."""
    start = f"{choice}({context}, " if context else f"{choice}("

    def stands_before(a: Ordered, b: Ordered) -> bool:
        if a.number > b.number:
            return not stands_before(b, a)
        return leaf[f"{start}{a.name}, {b.name})"] in ("OUTER", "BEFORE")

    return sorted(objects, key=lambda b: sum(a is not b and stands_before(a, b) for a in objects))


def decisions_of(backbone: CpuBackbone, schedule: Schedule) -> dict[str, Value]:
    """Return decisions that lead to the leaf of a schedule, and to no other.

    Raises:
        ScheduleError: the space has no word for something that the schedule says.
    """
    return _Decisions(backbone, schedule).all()


class _Decisions:
    """Working state: what names of the schedule stand for."""

    def __init__(self, backbone: CpuBackbone, schedule: Schedule) -> None:
        self.backbone, self.schedule = backbone, schedule
        self.axes = {axis.name: axis for axis in backbone.axes}
        self.found: dict[str, Value] = {}
        taken = [*(loop.axis for loop in schedule.loops), *schedule.prims.names]
        for name in taken:
            if name not in self.axes:
                raise ScheduleError(f"the schedule names the axis {name}; the space has {' '.join(self.axes)}")

    def all(self) -> dict[str, Value]:
        walked = {each.name for each in self.schedule.fused}
        for axis in self.backbone.axes:
            if axis.fused is not None:
                self.found[f"walked({axis.name})"] = "YES" if axis.name in walked else "NO"
        self._manner()
        self._roles()
        self._loops()
        for packed in self.backbone.packs:
            given = next((pack for pack in self.schedule.packs if pack.operand == packed.operand), None)
            self.found[f"pack({packed.name})"] = "NONE" if given is None else "PACKED"
            if given is not None:
                self._pack(packed, given)
        self._check_packs()
        self.found |= team_decisions(self.backbone, self.schedule, self.loops)
        return self.found

    def _manner(self) -> None:
        chosen = next((each for each in self.backbone.manners if each.is_of(self.schedule)), None)
        if chosen is None:
            raise ScheduleError("the schedule packs elements in groups or as matrices, as no known schedule does")
        for each in self.backbone.manners:
            self.found[f"manner({each.name})"] = "YES" if each is chosen else "NO"

    def _roles(self) -> None:
        prims = self.schedule.prims
        roles = {prims.m: "M", prims.n: "N", prims.k: "K", prims.batch: "BATCH"}
        for axis in self.backbone.axes:
            self.found[f"role({axis.name})"] = roles.get(axis.name, "NONE")

    def _loops(self) -> None:
        self.loops: list[LoopLevel] = []
        count = dict.fromkeys(self.axes, 0)
        for loop in self.schedule.loops:
            axis, level = self.axes[loop.axis], count[loop.axis]
            if level == LEVELS:
                raise ScheduleError(
                    f"the schedule has {level + 1} loops over {axis.name}; the space has {LEVELS} levels"
                )
            count[loop.axis] += 1
            self.loops.append(self.backbone.loops_of(axis)[level])
            self.found[f"kind({self.loops[-1].name})"] = loop.kind.name
            self.found[f"step({self.loops[-1].name})"] = loop.step
        for axis in self.backbone.axes:
            for loop in self.backbone.loops_of(axis)[count[axis.name] :]:
                self.found[f"kind({loop.name})"] = "ABSENT"
        for outer, inner in pairwise(self.loops):
            self.found[f"order({outer.name}, {inner.name})"] = "OUTER"

    def _pack(self, packed: Packed, given: ScheduledPack) -> None:
        for depth, loop in enumerate(self.loops):
            self.found[f"around({packed.name}, {loop.name})"] = "AROUND" if depth < given.loop else "WITHIN"
        sides = {side.axis.name: side for side in self.backbone.sides_of(packed)}
        present: list[DigitOf] = []
        for place, digit in enumerate(given.layout):
            panel = any(later.axis == digit.axis for later in given.layout[place + 1 :])
            if digit.axis not in sides:
                raise ScheduleError(f"pack of {packed.name}: it does not depend on the axis {digit.axis}")
            present.append(self.backbone.digits_of(sides[digit.axis])[0 if panel else 1])
            self._check_digit(given, digit, panel)
        if len(set(present)) < len(present):
            raise ScheduleError(f"pack of {packed.name}: the space has at most one panel of an axis in a layout")
        for side in sides.values():
            for digit in self.backbone.digits_of(side):
                self.found[f"digit({digit.name})"] = "PRESENT" if digit in present else "ABSENT"
        for outer, inner in pairwise(present):
            self.found[f"layout({packed.name}, {outer.name}, {inner.name})"] = "OUTER"

    def _check_digit(self, given: ScheduledPack, digit: Digit, panel: bool) -> None:
        """A panel is as wide as a step of the outermost loop over its axis within the copy."""
        within = (loop.step for loop in self.schedule.loops[given.loop :] if loop.axis == digit.axis)
        width = next(within, None) if panel else 1
        if digit.step != width:
            raise ScheduleError(
                f"the pack of {operand_name(given.operand)} has the digit {digit.axis}:{digit.step}; "
                f"in the space a panel is as wide as the outermost loop within the copy steps ({width})"
            )

    def _check_packs(self) -> None:
        packed = {each.operand: each for each in self.backbone.packs}
        for pack in self.schedule.packs:
            if pack.operand not in packed:
                raise ScheduleError(f"{operand_name(pack.operand)} is packed, which this operation does not allow")
        for first, second in pairwise(self.schedule.packs):
            self.found[f"scratch({packed[first.operand].name}, {packed[second.operand].name})"] = "BEFORE"
