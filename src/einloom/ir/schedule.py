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

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from einloom.dtypes import DType
from einloom.errors import ScheduleError

__all__ = [
    "OUTPUT",
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


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class ScheduledLoop:
    """A loop over the axis `axis`; one iteration covers `step` indices."""

    axis: str
    step: int
    kind: ExecType = ExecType.SEQ


@dataclass(frozen=True, slots=True)
class Digit:
    """One level of a packed layout: index `(i % previous step of the axis) // step`, outermost first."""

    axis: str
    step: int = 1


@dataclass(frozen=True, slots=True)
class ScheduledPack:
    """Copy the block of an input that the loops from `loop` on read into scratch.

    The copy is made once per iteration of the loops outside. A packed output is staged: its block is computed in
    scratch and copied out at the end of each iteration, in whole cache lines that pass the caches.

    Attributes:
        operand: position of the input operand; `OUTPUT` for the output.
        loop: how many loops enclose the copy.
        layout: the digits of the packed block, outermost first; the last one is contiguous.
        grouped: the type of the packed elements, of which neighbours along the primitive's k lie side by side, as many
            as fill 4 bytes: then digits of that axis count groups. None: elements lie alone, in the type computed in.
    """

    operand: int
    loop: int
    layout: tuple[Digit, ...]
    grouped: DType | None = None

    @property
    def group(self) -> int:
        """How many neighbours along k lie side by side."""
        return 1 if self.grouped is None else self.grouped.group


@dataclass(frozen=True, slots=True)
class Prims:
    """Names of the axes that the primitive takes. `m` is the axis along which kernels vectorise."""

    m: str | None = None
    n: str | None = None
    k: str | None = None
    batch: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The axes that are taken, in the order m n k batch."""
        return tuple(name for name in (self.m, self.n, self.k, self.batch) if name is not None)


@dataclass(frozen=True, slots=True)
class Schedule:
    """Loops (outermost first), what the primitive takes, packs, and axes that are walked as one.

    Raises:
        ScheduleError: a step below 1, `prim` among the loops, a shared loop inside a sequential one, an axis that the
            primitive takes twice, or more than 256 loops or digits of a layout.
    """

    loops: tuple[ScheduledLoop, ...]
    prims: Prims
    packs: tuple[ScheduledPack, ...] = ()
    fused: tuple[Fused, ...] = ()

    def __post_init__(self) -> None:
        _check_kinds(self)
        _check_loops(self.loops)
        names = self.prims.names
        if len(set(names)) != len(names):
            raise ScheduleError(f"the primitive takes a dimension twice: {' '.join(names)}")
        for pack in self.packs:
            _check_pack(pack, len(self.loops))

    @property
    def shared(self) -> tuple[ScheduledLoop, ...]:
        """The loops whose iterations are shared among threads."""
        return tuple(loop for loop in self.loops if loop.kind is ExecType.SHARED)

    def __str__(self) -> str:
        """Return the text form, which `einloom.ir.text.parse_schedule` reads."""
        parts = [f"fuse {fused.name}={'*'.join(fused.parts)}" for fused in self.fused]
        parts += [f"{loop.kind} {loop.axis}:{loop.step}" for loop in self.loops]
        prims = self.prims
        taken = (("m", prims.m), ("n", prims.n), ("k", prims.k), ("batch", prims.batch))
        parts.append(" ".join(["prim", *(f"{role}={name}" for role, name in taken if name is not None)]))
        for pack in self.packs:
            digits = "".join(f" {d.axis}:{d.step}" if d.step != 1 else f" {d.axis}" for d in pack.layout)
            kind = "" if pack.grouped is None else f":{pack.grouped}"
            parts.append(f"pack {operand_name(pack.operand)}@{pack.loop}{kind}{digits}")
        return " ".join(parts)


def operand_name(position: int) -> str:
    """Return what texts call the operand of a pack."""
    return "out" if position == OUTPUT else f"in{position}"


def _check_kinds(schedule: Schedule) -> None:
    """A schedule that a person puts together may hold anything."""
    parts: tuple[tuple[str, Any, type], ...] = (
        ("loops", schedule.loops, ScheduledLoop),
        ("packs", schedule.packs, ScheduledPack),
        ("fused", schedule.fused, Fused),
    )
    for name, entries, kind in parts:
        if not _is_a(tuple, entries) or not all(_is_a(kind, entry) for entry in entries):
            raise ScheduleError(f"{name} is {entries!r:.80}; it is a tuple of {kind.__name__}")
    if not _is_a(Prims, schedule.prims):
        raise ScheduleError(f"prims is {schedule.prims!r:.80}; it is a Prims")


def _is_a(kind: type, value: object) -> bool:
    return isinstance(value, kind)


def _check_loops(loops: tuple[ScheduledLoop, ...]) -> None:
    if len(loops) > MOST_LOOPS:
        raise ScheduleError(f"the schedule has {len(loops):,} loops; at most {MOST_LOOPS} go")
    sequential = None
    for loop in loops:
        if loop.step < 1:
            raise ScheduleError(f"the loop over {loop.axis} has step {loop.step}; a step is at least 1")
        if loop.kind is ExecType.PRIM:
            raise ScheduleError(f"dimension {loop.axis} is prim outside the primitive; prim dimensions come last")
        if loop.kind is ExecType.SHARED and sequential:
            raise ScheduleError(
                f"dimension {loop.axis} is shared inside the sequential dimension {sequential}\n"
                "  Shared dimensions come first.",
            )
        if loop.kind is not ExecType.SHARED:
            sequential = sequential or loop.axis


def _check_pack(pack: ScheduledPack, loops: int) -> None:
    name = operand_name(pack.operand)
    if not 0 <= pack.loop <= loops:
        raise ScheduleError(f"a pack of {name} at loop {pack.loop} of {loops} loops")
    if len(pack.layout) > MOST_DIGITS:
        raise ScheduleError(f"the pack of {name} has {len(pack.layout):,} digits; at most {MOST_DIGITS} go")
    for digit in pack.layout:
        if digit.step < 1:
            raise ScheduleError(f"pack of {name}: the digit {digit.axis} has step {digit.step}; a step is at least 1")
