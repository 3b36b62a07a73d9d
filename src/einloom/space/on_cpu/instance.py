"""From a backbone to a constraint problem: objects into the sets of `cpu.space`."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from pathlib import Path

from einloom import csp
from einloom.frozen import frozen
from einloom.space.on_cpu.backbone import CpuBackbone, Manner, Side, WalkedAxis

__all__ = ["cpu_problem", "cpu_space_text"]

_CPU_SPACE, _TEAMS = (Path(__file__).with_name(name) for name in ("cpu.space", "teams.space"))


@frozen
class Given:
    """An axis of the operation, beside the axes that may be walked for it."""

    axis: str

    @property
    def name(self) -> str:
        """What the engine calls it."""
        return f"given {self.axis}"


@frozen
class Misfit:
    """Two steps of which the smaller does not divide the larger."""

    larger: int
    smaller: int

    @property
    def name(self) -> str:
        """What the engine calls it."""
        return f"{self.smaller} in {self.larger}"


@frozen
class BlockCount:
    """How many blocks a step makes of an axis."""

    axis: str
    step: int
    blocks: int

    @property
    def name(self) -> str:
        """What the engine calls it."""
        return f"blocks {self.axis} {self.step}"


@frozen
class Number:
    """A step, by what it does to rows which lie apart or to groups along k."""

    value: int

    @property
    def name(self) -> str:
        """What the engine calls it."""
        return f"number {self.value}"


@frozen
class Cut:
    """What a loop cuts, by which step, and what comes of it: so many blocks, of which the last may be short."""

    axis: str
    whole: int
    step: int

    @property
    def name(self) -> str:
        """What the engine calls it."""
        return f"{self.axis} {self.whole} by {self.step}"

    @property
    def trips(self) -> int:
        """How many blocks there are."""
        return -(-self.whole // self.step)

    @property
    def short(self) -> bool:
        """Whether the last one is short."""
        return self.whole % self.step > 0


@frozen
class Share:
    """So many iterations, shared so many ways."""

    axis: str
    trips: int
    ways: int

    @property
    def name(self) -> str:
        """What the engine calls it."""
        return f"{self.axis} {self.trips} in {self.ways}"

    @property
    def even(self) -> bool:
        """Whether all get the same number."""
        return self.trips % self.ways == 0


@cache
def _cpu_space() -> csp.Space:
    return csp.load_space(_CPU_SPACE)


@cache
def cpu_space_text() -> str:
    """Return the text of the CPU space."""
    return "".join(path.read_text(encoding="utf-8") for path in (_CPU_SPACE, _TEAMS))


def cpu_problem(backbone: CpuBackbone) -> csp.Problem:
    """Return the constraint problem of all schedules of a backbone.

    Raises:
        DeadEnd: there is none.
    """
    instance = csp.Instance(_cpu_space(), host={"kernel": backbone})
    for axis in backbone.axes:
        _add_axis(instance, backbone, axis)
    for axis in backbone.operation.axes:
        given = Given(axis.name)
        instance.add("GivenAxes", given)
        for each in backbone.axes:
            if axis.name in _covered(backbone, each):
                instance.add("Covers", each, of=(given,))
    for packed in backbone.packs:
        instance.add("Packs", packed)
        for side in backbone.sides_of(packed):
            _add_side(instance, backbone, side)
    for manner in backbone.manners:
        _add_manner(instance, backbone, manner)
    if backbone.teams:
        _add_team(instance, backbone)
    return instance.freeze()


def _add_team(instance: csp.Instance, backbone: CpuBackbone) -> None:
    """Say that there may be a team, and what barriers in a grid depend on."""
    instance.add("Teams", "team")
    for axis in backbone.axes:
        loops = backbone.loops_of(axis)
        instance.add("TeamFirst", loops[0], of=(axis,))
        for loop, inner in pairwise(loops):
            instance.add("TeamNext", inner, of=(loop,))
        for loop in loops:
            instance.add("TeamLoopsOf", loop, of=(axis,))
            for outer in loops[: loop.level]:
                instance.add("Around", outer, of=(loop,))
        for whole, step in axis.cuts:
            instance.add("Cuts", Cut(axis.name, whole, step), of=(axis,))
        for trips in axis.trips:
            for ways in backbone.ways_of(loops[0]):
                instance.add("Shares", Share(axis.name, trips, ways), of=(axis,))


def _add_manner(instance: csp.Instance, backbone: CpuBackbone, manner: Manner) -> None:
    """Say what goes with elements that lie so: packs, what the primitive takes, whole groups along k."""
    instance.add("Manners", manner)
    packed = {operand for operand, _, _ in manner.packs}
    in_groups = {operand for operand, grouped, _ in manner.packs if grouped is not None}
    for each in backbone.packs:
        if manner.prims is not None and each.operand in packed:
            instance.add("PackedIn", each, of=(manner,))
        elif manner.prims is not None or manner.bare:
            instance.add("BareIn", each, of=(manner,))
    for side in backbone.sides:
        if side.row > 1 and side.packed.operand in in_groups:
            instance.add("RowsKept", side, of=(manner,))
    if manner.prims is None:
        return
    prims = manner.prims
    taken = {prims.m: "TakenAsM", prims.n: "TakenAsN", prims.k: "TakenAsK", prims.batch: "TakenAsBatch"}
    for axis in backbone.axes:
        instance.add(taken.get(axis.name, "Untaken"), axis, of=(manner,))
        if axis.name == prims.k and manner.group > 1:
            _add_groups(instance, backbone, manner, axis)


def _add_groups(instance: csp.Instance, backbone: CpuBackbone, manner: Manner, axis: WalkedAxis) -> None:
    instance.add("GroupedAxis", axis, of=(manner,))
    for step in axis.sizes:
        if step % manner.group:
            instance.add("BrokenGroups", Number(step), of=(manner,))
    for side in backbone.sides:
        if side.axis is axis:
            instance.add("Flat", backbone.digits_of(side)[0], of=(manner,))


def _covered(backbone: CpuBackbone, axis: WalkedAxis) -> set[str]:
    """The operation's axes that are walked with an axis: parts a and b may be an axis `a*b` of it already."""
    if axis.fused is None:
        return {axis.name}
    parts = set(axis.fused.parts)
    return {each.name for each in backbone.operation.axes if set(each.name.split("*")) <= parts}


def _add_axis(instance: csp.Instance, backbone: CpuBackbone, axis: WalkedAxis) -> None:
    instance.add("Axes", axis)
    loops = backbone.loops_of(axis)
    for loop in loops:
        instance.add("LoopsOf", loop, of=(axis,))
    instance.add("First", loops[0], of=(axis,))
    instance.add("Last", loops[-1], of=(axis,))
    for loop, inner in pairwise(loops):
        instance.add("Next", inner, of=(loop,))
    if not axis.reduced:
        for larger, smaller in axis.misfits:
            instance.add("Misfits", Misfit(larger, smaller), of=(axis,))
    if backbone.curves and not axis.reduced:
        for step in axis.sizes:
            instance.add("BlockCounts", BlockCount(axis.name, step, -(-axis.extent // step)), of=(axis,))


def _add_side(instance: csp.Instance, backbone: CpuBackbone, side: Side) -> None:
    instance.add("SidesOf", side, of=(side.packed,))
    instance.add("SideAxis", side.axis, of=(side,))
    panel, index = backbone.digits_of(side)
    instance.add("Panel", panel, of=(side,))
    instance.add("Index", index, of=(side,))
    for digit in (panel, index):
        instance.add("DigitsOf", digit, of=(side.packed,))
    if side.row > 1:
        instance.add("Apart", side, of=(side.packed,))
        instance.add("Rows", side)
        for step in side.axis.sizes:
            instance.add("Uneven" if step % side.row else "Even", Number(step), of=(side,))
