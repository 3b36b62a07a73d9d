"""`Schedule`: how an operation is computed, as a frozen value: loops, packs and the axes that the primitive takes.

Loops stand outermost first. A loop steps through what the enclosing loop of the same axis left of it (or through the
whole axis) in blocks of `step` indices; the last block may be short. What the innermost loop of an axis leaves is the
primitive's block, so an axis that the primitive does not take needs an innermost loop with step 1.

>>> schedule = Schedule((Loop("m", 32, ExecType.SHARED), Loop("k", 8, ExecType.SEQ)), Prims(m="m", n="n", k="k"))
>>> print(schedule)
shared m:32 seq k:8 prim m=m n=n k=k
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from einloom.errors import ScheduleError

__all__ = ["OUTPUT", "Digit", "ExecType", "Fused", "Loop", "Pack", "Prims", "Schedule"]

OUTPUT = -1
"""The output as the operand of a pack."""


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
    """

    name: str
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Loop:
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
class Pack:
    """Copy the block of an input that the loops from `loop` on read into scratch.

    The copy is made once per iteration of the loops outside. A packed output is staged: its block is computed in
    scratch and copied out at the end of each iteration, in whole cache lines that pass the caches.

    Attributes:
        operand: position of the input operand; `OUTPUT` for the output.
        loop: how many loops enclose the copy.
        layout: the digits of the packed block, outermost first; the last one is contiguous.
    """

    operand: int
    loop: int
    layout: tuple[Digit, ...]


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
        ScheduleError: a step below 1, `prim` among the loops, a shared loop inside a sequential one, or an axis that
            the primitive takes twice.
    """

    loops: tuple[Loop, ...]
    prims: Prims
    packs: tuple[Pack, ...] = ()
    fused: tuple[Fused, ...] = ()

    def __post_init__(self) -> None:
        sequential = None
        for loop in self.loops:
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
        names = self.prims.names
        if len(set(names)) != len(names):
            raise ScheduleError(f"the primitive takes a dimension twice: {' '.join(names)}")
        for pack in self.packs:
            if not 0 <= pack.loop <= len(self.loops):
                raise ScheduleError(f"a pack of operand {pack.operand} at loop {pack.loop} of {len(self.loops)} loops")

    @property
    def shared(self) -> tuple[Loop, ...]:
        """The loops whose iterations are shared among threads."""
        return tuple(loop for loop in self.loops if loop.kind is ExecType.SHARED)

    def __str__(self) -> str:
        from einloom.ir.text import show_schedule

        return show_schedule(self)
