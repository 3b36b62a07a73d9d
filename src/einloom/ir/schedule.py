"""`Schedule`: how an operation is computed, as a frozen value: loops, packs and the axes that the primitive takes.

Loops stand outermost first. A loop steps through what the enclosing loop of the same axis left of it (or through the
whole axis) in blocks of `step` indices; the last block may be short. What the innermost loop of an axis leaves is the
primitive's block, so an axis that the primitive does not take needs an innermost loop with step 1.

>>> loops = (ScheduledLoop("m", 32, ExecType.SHARED), ScheduledLoop("k", 8, ExecType.SEQ))
>>> schedule = Schedule(loops, Prims(m="m", n="n", k="k"))
>>> print(schedule)
shared m:32 seq k:8 prim m=m n=n k=k
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import combinations
from typing import Any, NamedTuple

from einloom.dtypes import DType
from einloom.errors import ScheduleError
from einloom.frozen import frozen
from einloom.ir.interchange import axes_by_letter, steps_of, string_of
from einloom.ir.loop_string import MOST_THREADS, Level, LoopString
from einloom.ir.loop_text import parse_loop_string
from einloom.ir.operation import DimType, Operation
from einloom.ir.sharing import Clause, Team, Ways

__all__ = [
    "OUTPUT",
    "TURNED",
    "Digit",
    "ExecType",
    "Fused",
    "Prims",
    "Schedule",
    "ScheduledLoop",
    "ScheduledPack",
    "operand_name",
]

OUTPUT = -1
"""The output as the operand of a pack."""

TURNED = "1e"
"""What texts call the form of a pack of complex elements that are turned into matrices, as its inventors do."""

MOST_LOOPS = 256
"""Most loops of a schedule: two operands of NumPy's 64 axes each need half as many."""

MOST_DIGITS = 256
"""Most digits of a packed layout."""


class ExecType(StrEnum):
    """How the iterations of a dimension run."""

    PRIM = "prim"
    SEQ = "seq"
    SHARED = "shared"
    SFC = "sfc"


PRIM, SEQ, SHARED, SFC = ExecType
"""The members as names of this module: Python 3.11 takes long to find one in its class."""


@frozen
class Fused:
    """Axes that the schedule walks as one, called `name`: index `(i * |b| + j) * |c| + k` of the parts a, b, c.

    The parts have one role. An operand in which they do not follow each other is packed, at or outside the outermost
    loop that cuts between indices of the first part: the copy walks the parts, and kernels see one long axis.

    >>> Fused("abc", ("a*b", "c"))
    Fused(name='abc', parts=('a', 'b', 'c'))
    """

    name: str
    parts: tuple[str, ...]

    def __post_init__(self) -> None:
        # Axes that the passes have joined are called by their parts, as in a*b.
        object.__setattr__(self, "parts", tuple(part for name in self.parts for part in name.split("*")))


class ScheduledLoop(NamedTuple):  # Choosing makes hundreds of them, and hashes all: faster than of dataclasses.
    """A loop over the axis `axis`; one iteration covers `step` indices.

    In a schedule with a team a dimension of the grid of threads may share it (`ways`), and threads may wait for each
    other behind it (`barrier`).
    """

    axis: str
    step: int
    kind: ExecType = SEQ
    ways: Ways | None = None
    barrier: bool = False

    @property
    def level(self) -> Level:
        """The loop as a level of a loop string, but for its letter and its steps."""
        return Level("a", self.kind is ExecType.SHARED, self.ways, None, self.barrier)

    def __str__(self) -> str:
        return f"{self.kind} {self.axis}:{self.step}{self.ways or ''}{'|' if self.barrier else ''}"


class Digit(NamedTuple):
    """One level of a packed layout: index `(i % previous step of the axis) // step`, outermost first."""

    axis: str
    step: int = 1


@frozen
class ScheduledPack:
    """Copy the block of an operand that the loops from `loop` on read into scratch.

    The copy is made once per iteration of the loops outside. A packed output is staged: its block is computed in
    scratch and copied out at the end of each iteration, in whole cache lines that pass the caches.

    Attributes:
        operand: position of an input, or of what a touch reads or writes; `OUTPUT` for the output. What a touch writes
            is staged like the output.
        loop: how many loops enclose the copy.
        layout: the digits of the packed block, outermost first; the last one is contiguous.
        grouped: the type of the packed elements, of which neighbours along the primitive's k lie side by side, as many
            as fill 4 bytes: then digits of that axis count groups. None: elements lie alone, in the type computed in.
        turned: whether complex elements lie as matrices of reals, in the form 1e (`einloom.ir.turned`).
    """

    operand: int
    loop: int
    layout: tuple[Digit, ...]
    grouped: DType | None = None
    turned: bool = False

    @property
    def group(self) -> int:
        """How many neighbours along k lie side by side."""
        return 1 if self.grouped is None else self.grouped.group


@frozen
class Prims:
    """Names of the axes that the primitive takes. `m` is the axis along which kernels vectorise."""

    m: str | None = None
    n: str | None = None
    k: str | None = None
    batch: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The axes that are taken, in the order m n k batch."""
        return tuple([name for name in (self.m, self.n, self.k, self.batch) if name is not None])


@frozen
class Schedule:
    """Loops (outermost first), what the primitive takes, packs, axes that are walked as one, and who runs the loops.

    With a team the schedule is for a fixed number of threads: shared loops may stand anywhere, as in a loop string, a
    clause says how their iterations are handed out, or a grid shares each of them, and threads may wait behind loops.

    >>> from einloom.ir.sharing import Policy
    >>> loops = (ScheduledLoop("k", 8), ScheduledLoop("m", 32, ExecType.SHARED))
    >>> print(Schedule(loops, Prims(m="m", n="n", k="k"), team=Team(4, clause=Clause(Policy.DYNAMIC, 1))))
    team 4 schedule(dynamic,1) seq k:8 shared m:32 prim m=m n=n k=k

    Raises:
        ScheduleError: a step below 1, `prim` among the loops, an axis that the primitive takes twice, or more than 256
            loops or digits of a layout; without a team a shared loop inside a sequential one; with one what
            `LoopString` refuses, curves, and packs between loops that are one parallel loop.
    """

    loops: tuple[ScheduledLoop, ...]
    prims: Prims
    packs: tuple[ScheduledPack, ...] = ()
    fused: tuple[Fused, ...] = ()
    team: Team | None = None

    def __post_init__(self) -> None:
        _check_kinds(self)
        if self.team is not None or not _are_plain(self.loops):
            _check_loops(self.loops)
            if self.team is None:
                _check_without_team(self.loops)
            else:
                _check_team(self, self.team)
        names = self.prims.names
        if len(set(names)) != len(names):
            raise ScheduleError(f"the primitive takes a dimension twice: {' '.join(names)}\n  Name each once.")
        for pack in self.packs:
            _check_pack(pack, len(self.loops))

    @property
    def shared(self) -> tuple[ScheduledLoop, ...]:
        """The loops whose iterations are shared among threads."""
        return tuple([loop for loop in self.loops if loop.kind is SHARED])

    @property
    def clause(self) -> Clause | None:
        """How a team shares its parallel loop, if that was said."""
        return None if self.team is None or self.team.clause == Clause() else self.team.clause

    def to_loop_string(self, operation: Operation | None = None) -> str:
        """Return the loops as a loop string: letters stand for the axes in the order of their names.

        Args:
            operation: whose axes they are; None: all that the schedule names. It need not name axes of extent 1.

        >>> loops = (ScheduledLoop("m", 32, ExecType.SHARED), ScheduledLoop("k", 8), ScheduledLoop("m", 4))
        >>> Schedule(loops, Prims(m="m", n="n", k="k")).to_loop_string()
        'B[,,4,(32)]a[,,8,()]b'

        `from_loop_string(operation, text, prims=…, threads=…)` gives the schedule back.

        Raises:
            ScheduleError: with all that the notation cannot say: packs, axes that are walked as one, curves.
        """
        unsaid = [f"pack {operand_name(pack.operand)}@{pack.loop}" for pack in self.packs]
        unsaid += [f"fuse {fused.name}={'*'.join(fused.parts)}" for fused in self.fused]
        unsaid += [f"sfc {loop.axis}:{loop.step}" for loop in self.loops if loop.kind is ExecType.SFC]
        unsaid += [] if self.loops else ["a primitive without loops"]
        if not unsaid:
            named = (*(loop.axis for loop in self.loops), *self.prims.names)
            names = named if operation is None else operation.names
            string = string_of([(loop.axis, loop.step, loop.level) for loop in self.loops], names, self.clause)
            if self.team == _team(string, self.loops, self.team and self.team.threads):
                return str(string)
            unsaid = [f"a team of {self.team} for loops that any number of threads share"]
        said = ", ".join(unsaid)
        raise ScheduleError(f"a loop string cannot say: {said}\n  {self}\n  Use the schedule's own text.")

    @staticmethod
    def from_loop_string(
        operation: Operation,
        text: str,
        block_sizes: Mapping[str, Sequence[int]] | None = None,
        prims: Prims | None = None,
        threads: int | None = None,
    ) -> Schedule:
        """Return the schedule that a loop string means for an operation.

        Args:
            operation: its axes are the loops a, b, c, … in the order of their names.
            text: the string. An axis that it does not name is the primitive's.
            block_sizes: by axis, sizes of blocks, outermost first, and as the last one the step of the innermost loop:
                an axis that stands there n times takes the first n - 1 and the last. Literals of the string go before.
            prims: the axes that the primitive takes; None: those of which a block has more than one index.
            threads: how many threads a team has that the string asks for, by a clause, a barrier or a parallel loop
                inside another one; None: as many as the grid, else 1.

        Raises:
            ScheduleError: a letter without an axis or a step, blocks that no primitive takes, or `threads` that are not
                as many as the grid's.
        """
        string = parse_loop_string(text)
        axes = axes_by_letter(operation.names)
        loops = [
            ScheduledLoop(
                axes[level.letter], step, ExecType.SHARED if level.parallel else ExecType.SEQ, level.ways, level.barrier
            )
            for level, step in zip(string.levels, steps_of(string, axes, block_sizes or {}))
        ]
        return Schedule(tuple(loops), prims or _prims(operation, loops), team=_team(string, loops, threads))

    def __str__(self) -> str:
        """Return the text form, which `einloom.ir.text.parse_schedule` reads."""
        parts = [f"fuse {fused.name}={'*'.join(fused.parts)}" for fused in self.fused]
        parts += [] if self.team is None else [f"team {self.team.threads}"]
        parts += [str(part) for part in (self.clause, *self.loops) if part is not None]
        prims = self.prims
        taken = (("m", prims.m), ("n", prims.n), ("k", prims.k), ("batch", prims.batch))
        parts.append(" ".join(["prim", *(f"{role}={name}" for role, name in taken if name is not None)]))
        for pack in self.packs:
            digits = "".join(f" {d.axis}:{d.step}" if d.step != 1 else f" {d.axis}" for d in pack.layout)
            kind = f":{TURNED}" if pack.turned else "" if pack.grouped is None else f":{pack.grouped}"
            parts.append(f"pack {operand_name(pack.operand)}@{pack.loop}{kind}{digits}")
        return " ".join(parts)


def operand_name(position: int) -> str:
    """Return what texts call the operand of a pack."""
    return "out" if position == OUTPUT else f"in{position}"


def _team(string: LoopString, loops: Sequence[ScheduledLoop], threads: int | None) -> Team | None:
    """The team that a string asks for; None where any number of threads may run it: parallel loops come first.

    Without a team the blocks of shared loops over one axis have to divide each other.
    """
    grid = string.grid
    if grid is not None and threads not in (None, grid.threads):
        raise ScheduleError(
            f"threads={threads}, but the grid of {string} has {grid.threads}\n  Leave threads out, or make them agree."
        )
    shares = string.clause not in (None, Clause()) or any(
        outer.axis == inner.axis and outer.step % inner.step
        for outer, inner in combinations([loop for loop in loops if loop.kind is ExecType.SHARED], 2)
    )
    if not (grid or shares or string.group.start or any(level.barrier for level in string.levels)):
        return None
    count = grid.threads if grid else threads or 1
    return Team(count if string.is_parallel else 1, grid, string.clause or Clause())


def _prims(operation: Operation, loops: Sequence[ScheduledLoop]) -> Prims:
    """The axes whose blocks have more than one index: m is the one that is nearest to contiguous in the output."""
    blocks = {axis.name: axis.extent for axis in operation.axes} | {loop.axis: loop.step for loop in loops}
    near = dict(zip((axis.name for axis in operation.axes), map(abs, operation.output.strides)))
    first = dict(zip((axis.name for axis in operation.axes), map(abs, operation.operands[0].strides)))
    taken = [axis for axis in operation.axes if blocks[axis.name] > 1]
    kept = sorted((axis.name for axis in taken if axis.role is not DimType.K), key=lambda name: near[name])
    summed = sorted((axis.name for axis in taken if axis.role is DimType.K), key=lambda name: first[name])
    if len(kept) > 2 or len(summed) > 2:
        raise ScheduleError(
            f"blocks of {' '.join(kept + summed)} have more than one index; a primitive takes two axes of the output "
            "and two that are summed over\n  Give loops over the others the step 1, or pass prims=."
        )
    m, n = (*kept, None, None)[:2]
    k, batch = (*summed, None, None)[:2]
    return Prims(m, n, k, batch)


def _check_kinds(schedule: Schedule) -> None:
    """A schedule that a person puts together may hold anything."""
    given: Any = schedule
    for name, kind in _KINDS:
        entries = getattr(given, name)
        if not _is_a(tuple, entries) or not {*map(type, entries)} <= {kind}:
            raise ScheduleError(f"{name} is {entries!r:.80}; it is a tuple of {kind.__name__}")
    if not _is_a(Prims, given.prims):
        raise ScheduleError(f"prims is {given.prims!r:.80}; it is a Prims")


_KINDS: tuple[tuple[str, type], ...] = (("loops", ScheduledLoop), ("packs", ScheduledPack), ("fused", Fused))


def _is_a(kind: type, value: object) -> bool:
    return isinstance(value, kind)


def _are_plain(loops: tuple[ScheduledLoop, ...]) -> bool:
    """Whether all loops are sequential ones of a thread, as choosing makes them by the hundred: nothing is wrong."""
    for _, step, kind, ways, barrier in loops:
        if kind is not SEQ or step < 1 or ways is not None or barrier:
            return False
    return len(loops) <= MOST_LOOPS


def _check_loops(loops: tuple[ScheduledLoop, ...]) -> None:
    if len(loops) > MOST_LOOPS:
        raise ScheduleError(f"the schedule has {len(loops):,} loops; at most {MOST_LOOPS} go\n  Leave some out.")
    for axis, step, kind, *_ in loops:
        if step < 1:
            raise ScheduleError(f"the loop over {axis} has step {step}\n  Give it a step of at least 1.")
        if kind is PRIM:
            raise ScheduleError(
                f"dimension {axis} is prim outside the primitive\n  Name prim dimensions behind all loops."
            )


def _check_without_team(loops: tuple[ScheduledLoop, ...]) -> None:
    sequential = None
    for loop in loops:
        axis, _, kind, ways, barrier = loop
        if ways is not None or barrier:
            raise ScheduleError(f"{loop} is for a team\n  Say how many threads there are: team 4 …")
        if kind is not SHARED:
            sequential = sequential or axis
        elif sequential:
            raise ScheduleError(
                f"dimension {axis} is shared inside the sequential dimension {sequential}\n"
                "  Shared dimensions come first, or there is a team of so many threads: team 4 …",
            )


def _check_team(schedule: Schedule, team: Team) -> None:
    if any(loop.kind is ExecType.SFC for loop in schedule.loops):
        raise ScheduleError(f"{schedule}\n  a team has no loops along curves: make them seq or shared")
    if not 1 <= team.threads <= MOST_THREADS:
        raise ScheduleError(f"a team of {team.threads} threads\n  Give 1 to {MOST_THREADS}.")
    if not schedule.loops:
        return
    loops = [(loop.axis, loop.step, loop.level) for loop in schedule.loops]
    string = string_of(loops, [loop.axis for loop in schedule.loops], schedule.clause)
    if team.grid != string.grid or (string.grid and string.grid.threads != team.threads):
        raise ScheduleError(f"{schedule}\n  the team is {team}, the loops share a grid {string.grid or 'of none'}")
    if team.threads > 1 and not string.is_parallel:
        raise ScheduleError(f"{schedule}\n  a team of {team.threads}, but no shared loop: all would compute the same")
    innermost = max((place for place, loop in enumerate(schedule.loops) if loop.kind is ExecType.SHARED), default=-1)
    for pack in schedule.packs:
        if pack.loop in string.group[1:] or (pack.operand == OUTPUT and pack.loop <= innermost):
            raise ScheduleError(
                f"{operand_name(pack.operand)} is packed at loop {pack.loop}; loops up to {innermost} are shared\n"
                "  Pack it inside all shared loops, or, an input, outside all of them."
            )


def _check_pack(pack: ScheduledPack, loops: int) -> None:
    if not 0 <= pack.loop <= loops:
        raise ScheduleError(
            f"a pack of {operand_name(pack.operand)} at loop {pack.loop} of {loops} loops\n"
            f"  Give 0 (outside all loops) to {loops} (inside all of them)."
        )
    layout = pack.layout
    if len(layout) > MOST_DIGITS:
        raise ScheduleError(
            f"the pack of {operand_name(pack.operand)} has {len(layout):,} digits; at most {MOST_DIGITS} go\n"
            "  Leave some out."
        )
    for axis, step in layout:
        if step < 1:
            raise ScheduleError(
                f"pack of {operand_name(pack.operand)}: the digit {axis} has step {step}\n"
                "  Give it a step of at least 1."
            )
