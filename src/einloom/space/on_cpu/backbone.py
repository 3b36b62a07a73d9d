"""`CpuBackbone`: what a tensor operation can be decided about on a CPU: axes, levels of loops, packs and their digits.

Nothing here depends on a decision. Objects have the names that decisions use: loop `m.0` is the outermost one over
axis m, `in0.m` the side of operand in0 along it, `in0.m.panel` and `in0.m.index` its digits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field

from einloom.dtypes import DType
from einloom.errors import ScheduleError
from einloom.frozen import frozen
from einloom.ir.curve import LONGEST_CURVE
from einloom.ir.fused import FusedView, rows_of
from einloom.ir.operation import Axis, DimType, Operation
from einloom.ir.schedule import OUTPUT, TURNED, ExecType, Fused, Prims, Schedule, operand_name
from einloom.machine import Machine
from einloom.passes.model.tiles import SCRATCH_LIMIT, block_targets
from einloom.space.on_cpu.sizes import steps_of

__all__ = ["LEVELS", "CpuBackbone", "DigitOf", "LoopLevel", "Manner", "Packed", "Side", "WalkedAxis", "cpu_backbone"]

LEVELS = 3
"""Levels of loops over an axis, at most."""

CHUNKS = (1, 2, 4)
"""Iterations of a piece that threads take at once, beside those that known schedules name."""


@frozen
class WalkedAxis:
    """An axis that loops may walk; `fused` if it is several axes of the operation.

    Attributes:
        sizes: what loops over it may step by.
    """

    name: str
    extent: int
    role: DimType
    sizes: tuple[int, ...]
    fused: Fused | None = None

    @property
    def reduced(self) -> bool:
        """Whether it is summed over."""
        return self.role is DimType.K

    @property
    def cells(self) -> tuple[int, ...]:
        """How many blocks of it a curve may have."""
        return tuple(sorted({1, *(-(-self.extent // step) for step in self.sizes)}))

    @property
    def misfits(self) -> list[tuple[int, int]]:
        """Pairs of steps, the larger first, of which the smaller does not divide the larger."""
        sizes = self.sizes
        return [(p, q) for p in sizes for q in sizes if q < p < self.extent and p % q]

    @property
    def cuts(self) -> list[tuple[int, int]]:
        """Pairs of what a loop may cut and the step that it may cut it by."""
        return [(whole, step) for whole in self.sizes for step in self.sizes if step <= whole]

    @property
    def trips(self) -> tuple[int, ...]:
        """How many iterations a loop over it may have."""
        return tuple(sorted({-(-whole // step) for whole, step in self.cuts}))


@frozen
class LoopLevel:
    """A level of loops over an axis, 0 outermost; `number` counts all levels of all axes."""

    axis: WalkedAxis
    level: int
    number: int

    @property
    def name(self) -> str:
        """What decisions call it."""
        return f"{self.axis.name}.{self.level}"

    @property
    def reduced(self) -> bool:
        """Whether its axis is summed over."""
        return self.axis.reduced

    @property
    def steps(self) -> tuple[int, ...]:
        """How many indices an iteration may cover."""
        return self.axis.sizes


@frozen
class Packed:
    """An operand that may be copied into scratch: its position as schedules count, and how many elements fit.

    Attributes:
        staged: whether it is written, so that blocks of it are computed in scratch and copied out.
    """

    operand: int
    number: int
    most: int
    staged: bool

    @property
    def name(self) -> str:
        """What decisions call it."""
        return operand_name(self.operand)

    @property
    def is_output(self) -> bool:
        """Whether it is the output."""
        return self.operand == OUTPUT


@frozen
class Side:
    """An operand along an axis. Blocks are multiples of `row`: 1 where the operand has the axis in one piece."""

    packed: Packed
    axis: WalkedAxis
    row: int

    @property
    def name(self) -> str:
        """What decisions call it."""
        return f"{self.packed.name}.{self.axis.name}"


@frozen
class DigitOf:
    """A digit of a packed layout: panels along a side, or single indices."""

    side: Side
    panel: bool
    number: int

    @property
    def name(self) -> str:
        """What decisions call it."""
        return f"{self.side.name}.{'panel' if self.panel else 'index'}"


@frozen
class Manner:
    """How elements lie in packs: each for itself, or as a known schedule has them: in groups along k, or as matrices.

    Where elements do not lie by themselves, the packs and what the primitive takes are the known schedule's.

    Attributes:
        number: 0 for elements that lie by themselves.
        packs: position, type of groups and whether turned of each pack; () for number 0.
        prims: the known schedule's; None for number 0.
        bare: whether nothing is packed.
    """

    number: int
    packs: tuple[tuple[int, DType | None, bool], ...] = ()
    prims: Prims | None = None
    bare: bool = False

    @property
    def name(self) -> str:
        """What decisions call it."""
        forms = [f"{operand_name(o)} {TURNED if turned else grouped}" for o, grouped, turned in self.packs]
        return f"{' '.join(forms)} {self.number}" if forms else "single elements"

    @property
    def group(self) -> int:
        """How many neighbours along k lie side by side."""
        return max((grouped.group for _, grouped, _ in self.packs if grouped is not None), default=1)

    def is_of(self, schedule: Schedule) -> bool:
        """Whether a schedule has its elements so."""
        if self.prims is None:
            return not any(pack.grouped or pack.turned for pack in schedule.packs)
        return (forms_of(schedule), schedule.prims) == (self.packs, self.prims)


def forms_of(schedule: Schedule) -> tuple[tuple[int, DType | None, bool], ...]:
    """Return what a schedule says about the elements of its packs, by operand."""
    return tuple(sorted((p.operand, p.grouped, p.turned) for p in schedule.packs))


@frozen(slots=False)
class CpuBackbone:
    """What there is to decide about an operation.

    Attributes:
        operation: what is computed.
        axes: that loops may walk; the operation's own come first.
        loops, packs, sides, digits: the other objects, in the order of their numbers.
        manners: how elements may lie in packs.
        proper: whether every loop cuts what the one around it covers into several blocks.
        curves, shares: whether blocks may follow a space-filling curve, and loops be shared.
        threads: how many may share loops.
        teams: whether there are schedules for a fixed number of threads.
        team_sizes, chunks, ways: how many threads a team may have, iterations a piece, and ways a loop of a grid.
    """

    operation: Operation
    axes: tuple[WalkedAxis, ...]
    packs: tuple[Packed, ...]
    sides: tuple[Side, ...]
    proper: bool
    curves: bool
    shares: bool
    threads: int
    manners: tuple[Manner, ...]
    teams: bool = False
    team_sizes: tuple[int, ...] = (1,)
    chunks: tuple[int, ...] = (1,)
    ways: tuple[int, ...] = (1,)
    longest_curve: int = LONGEST_CURVE
    loops: tuple[LoopLevel, ...] = field(init=False)
    digits: tuple[DigitOf, ...] = field(init=False)

    def __post_init__(self) -> None:
        pairs = [(axis, level) for axis in self.axes for level in range(LEVELS)]
        loops = tuple(LoopLevel(axis, level, number) for number, (axis, level) in enumerate(pairs))
        digits = [(side, panel) for side in self.sides for panel in (True, False)]
        object.__setattr__(self, "loops", loops)
        object.__setattr__(self, "digits", tuple(DigitOf(*pair, number) for number, pair in enumerate(digits)))

    @property
    def stages(self) -> bool:
        """Whether the output may be computed in scratch."""
        return any(packed.is_output for packed in self.packs)

    def may_walk(self, axis: WalkedAxis) -> bool:
        """Whether the output has an axis in one piece, or may be staged: where rows lie apart it has to be."""
        return self.stages or _row(self.operation, self.operation.output.name, axis) == 1

    @property
    def rounds(self) -> bool:
        """Whether what is stored in the output is rounded."""
        return self.operation.narrows and bool(self.operation.output.dtype.epsilon)

    @property
    def finishes(self) -> bool:
        """Whether something reads sums again before they are rounded."""
        touched = any(not touch.does_nothing for touch in self.operation.last_touches)
        wraps = self.operation.output.dtype.is_integer and not self.operation.main.is_contraction
        return self.operation.narrows and touched and not wraps

    @property
    def most_threads(self) -> int:
        """How many threads work at the same time, at most."""
        return max(self.threads, *self.team_sizes)

    def ways_of(self, loop: LoopLevel) -> tuple[int, ...]:
        """Return how many ways a grid may share a loop."""
        return (1,) if loop.reduced else self.ways

    def trips_of(self, loop: LoopLevel) -> tuple[int, ...]:
        """Return how many iterations a loop may have."""
        return loop.axis.trips

    def loops_of(self, axis: WalkedAxis) -> tuple[LoopLevel, ...]:
        """Return the levels of loops over an axis, outermost first."""
        start = self.axes.index(axis) * LEVELS
        return self.loops[start : start + LEVELS]

    def sides_of(self, packed: Packed) -> tuple[Side, ...]:
        """Return an operand's sides."""
        return tuple(side for side in self.sides if side.packed is packed)

    def digits_of(self, side: Side) -> tuple[DigitOf, DigitOf]:
        """Return the digits of a side: panels, single indices."""
        start = 2 * self.sides.index(side)
        return self.digits[start], self.digits[start + 1]


def cpu_backbone(
    operation: Operation,
    machine: Machine,
    known: Sequence[Schedule] = (),
    *,
    threads: int = 1,
    curves: bool = False,
    teams: bool = False,
) -> CpuBackbone:
    """Return what can be decided about an operation.

    Args:
        operation: what is computed.
        machine: whose vectors and caches suggest steps.
        known: schedules that have to be leaves: their steps, fused axes and curves join what there is.
        threads: how many may share loops; with one, loops are shared only where a known schedule shares one.
        curves: whether blocks may follow a space-filling curve where no known schedule does.
        teams: whether schedules may be for a fixed number of threads where no known schedule is.

    Raises:
        ScheduleError: an axis has no indices: there is nothing to decide.
    """
    if any(axis.extent == 0 for axis in operation.axes):
        raise ScheduleError(f"nothing is computed, so nothing can be decided\n{operation}")
    groups = _groups(operation, known)
    axes = [*operation.axes, *(_fused_axis(operation, each) for each in groups)]
    m = max((axis.extent for axis in operation.axes if axis.role is not DimType.K), default=1)
    targets = block_targets(machine, operation.output.dtype, m)
    walked = [
        WalkedAxis(axis.name, axis.extent, axis.role, steps_of(axis, targets, _named(axis.name, known)), each)
        for axis, each in zip(axes, [*(None for _ in operation.axes), *groups])
    ]
    packs = _packs(operation)
    kinds = {loop.kind for schedule in known for loop in schedule.loops}
    extents = {axis.name: axis.extent for axis in walked}
    found = [each.team for each in known if each.team is not None]
    teams = teams or bool(found)
    return CpuBackbone(
        operation,
        tuple(walked),
        packs,
        _sides(operation, walked, packs),
        proper=all(_is_proper(schedule, extents) for schedule in known),
        curves=curves or ExecType.SFC in kinds,
        shares=threads > 1 or teams or ExecType.SHARED in kinds,
        threads=threads,
        manners=_manners(operation, known),
        teams=teams,
        team_sizes=_numbers((1, threads), (team.threads for team in found)),
        chunks=_numbers(CHUNKS, (team.clause.chunk or 1 for team in found)),
        ways=_numbers(_divisors(threads), (x.ways.count for each in known for x in each.loops if x.ways is not None)),
    )


def _numbers(usual: Iterable[int], named: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted({*usual, *named}))


def _divisors(number: int) -> list[int]:
    return [each for each in range(1, number + 1) if number % each == 0]


def _manners(operation: Operation, known: Iterable[Schedule]) -> tuple[Manner, ...]:
    """Elements by themselves, and what known schedules do: complex numbers are packed as matrices or not at all."""
    others = dict.fromkeys(
        (forms_of(each), each.prims) for each in known if any(pack.grouped or pack.turned for pack in each.packs)
    )
    found = (Manner(number, *each) for number, each in enumerate(others, 1))
    return (Manner(0, bare=operation.multiplies_pairs), *found)


def _groups(operation: Operation, known: Iterable[Schedule]) -> list[Fused]:
    return list(dict.fromkeys(each for schedule in known for each in schedule.fused))


def _fused_axis(operation: Operation, each: Fused) -> Axis:
    view = FusedView.of(operation, (each,))
    return next(axis for axis in view.axes if axis.name == each.name)


def _named(axis: str, known: Iterable[Schedule]) -> set[int]:
    """The steps of an axis in known schedules."""
    return {loop.step for schedule in known for loop in schedule.loops if loop.axis == axis}


def _packs(operation: Operation) -> tuple[Packed, ...]:
    size = operation.output.dtype.size
    stages = not operation.main.is_contraction or operation.first_touch.initialises
    positions = [*range(len(operation.operands) - 1), *([OUTPUT] if stages else [])]
    written = {OUTPUT, *operation.written}
    return tuple(
        Packed(position, number, SCRATCH_LIMIT // size, position in written)
        for number, position in enumerate(positions)
    )


def _sides(operation: Operation, axes: Sequence[WalkedAxis], packs: Sequence[Packed]) -> tuple[Side, ...]:
    sides: list[Side] = []
    for packed in packs:
        operand = operation.operands[packed.operand].name
        for axis in axes:
            if _view(operation, axis).depends(operand, axis.name):
                sides.append(Side(packed, axis, _row(operation, operand, axis)))
    return tuple(sides)


def _row(operation: Operation, operand: str, axis: WalkedAxis) -> int:
    """Indices of an axis in one row of an operand; 1 if the operand has the axis in one piece, or not at all."""
    return rows_of(_view(operation, axis).parts[operand].get(axis.name, ()))


def _view(operation: Operation, axis: WalkedAxis) -> FusedView:
    return FusedView.of(operation, () if axis.fused is None else (axis.fused,))


def _is_proper(schedule: Schedule, extents: dict[str, int]) -> bool:
    """Whether every loop has several iterations."""
    left = dict(extents)
    for loop in schedule.loops:
        if loop.step >= left.get(loop.axis, 0):
            return False
        left[loop.axis] = loop.step
    return True
