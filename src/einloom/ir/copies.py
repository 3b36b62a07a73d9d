"""How a packed block is copied: which of its digits the primitive takes, and in which order loops walk the others.

A digit of a packed layout is one level of the copy; along fused axes it is one for each part (`levels_of`).
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace

from einloom.errors import ScheduleError
from einloom.frozen import frozen
from einloom.ir.blocks import cut
from einloom.ir.fused import Part, rows_of
from einloom.ir.layout import PackedLayout
from einloom.ir.nest import Block, Loop, Node
from einloom.ir.schedule import ExecType

__all__ = [
    "Level",
    "block_of",
    "copy_loops",
    "copy_runs",
    "few_rows_at_once",
    "followed",
    "in_few",
    "indices",
    "levels_of",
]

ROWS = 8
"""Rows that are read with all their panels before the next ones are: as many streams as processors follow."""

SHORT_ROWS, LINE, WAY = 32, 64, 4096
"""More rows, where panels have less than a cache line of each (64 bytes): of eight such pieces a call copies too little
(measured: products with 8 or 16 columns, which are copies for the most part, take 0.76 to 0.97 of the time; panels of
96 and 192 bytes gain nothing). Not where more than eight would share a set of L1, of which each way has 4 KiB: they
would push out each other before the next panel comes."""


@frozen
class Level:
    """One level of a copy: indices of an axis in steps, each of which moves both places by so many elements.

    Attributes:
        axis: the axis that it walks; a part of fused axes where those are walked whole.
        step, span: indices in one step and in all of them.
        shorter: how many there are in short blocks.
        outside, inside: how far a step moves in the tensor and in scratch, in elements.
        per: how many indices of the nest's axis each of them stands for: rows of fused axes, both parts of a complex
            element.
    """

    axis: str
    step: int
    span: int
    shorter: tuple[int, ...]
    outside: int
    inside: int
    per: int = 1

    def block(self, unit: int = 1) -> Block:
        """Return the level as what a call covers, each index with so many elements behind it."""
        return Block(self.axis, self.per * self.span, self._short, unit, self.per)

    def loop(self, name: str, tensor: str, scratch: str, body: tuple[Node, ...]) -> Loop:
        """Return the level as a loop of a copy between two buffers."""
        moves, step, span = ((tensor, self.outside), (scratch, self.inside)), self.per * self.step, self.per * self.span
        return Loop(f"{tensor}.{self.axis}.{name}", self.axis, ExecType.SEQ, step, span, self._short, moves, body)

    @property
    def _short(self) -> tuple[int, ...]:
        return tuple(self.per * each for each in self.shorter)


def levels_of(
    layout: PackedLayout,
    lengths: Mapping[str, tuple[int, ...]],
    strides: Mapping[str, int],
    parts: Mapping[str, tuple[Part, ...]],
) -> list[Level]:
    """Return the levels of the copy between a packed block and a tensor, outermost in scratch first.

    Args:
        layout: of the packed block.
        lengths: how long the packed blocks of each axis are, the longest first.
        strides: of the tensor, in elements, along axes that are one there.
        parts: of the tensor, along the other axes.

    Raises:
        ScheduleError: a digit that cuts rows of fused axes.
    """
    levels: list[Level] = []
    left = dict(lengths)
    for digit, span, inside in zip(layout.digits, layout.spans, layout.strides):
        short = left[digit.axis][1:]
        left[digit.axis] = cut(left[digit.axis], digit.step)
        if digit.axis in parts:
            levels += _levels_of_parts(digit.axis, digit.step, span, short, parts[digit.axis], inside)
        else:
            outside = digit.step * strides[digit.axis]
            levels.append(Level(digit.axis, digit.step, span, short, outside, inside))
    return levels


def _levels_of_parts(
    axis: str, step: int, span: int, shorter: tuple[int, ...], parts: tuple[Part, ...], inside: int
) -> list[Level]:
    row = rows_of(parts)
    first, *others = parts
    if step % row == 0 and step > row:
        return [Level(axis, step, span, shorter, step // row * first.stride, inside)]
    if step not in (1, row) or span % row:
        raise ScheduleError(
            f"a packed panel of {step if step != 1 else span} {axis} cuts rows of {row} indices\n"
            f"  Take a multiple of {row}, or all of the block."
        )
    apart = inside * row // step
    if shorter:
        levels = [Level(axis, 1, span // row, tuple(n // row for n in shorter), first.stride, apart, row)]
    else:  # All blocks have as many rows: nobody has to follow how many are left.
        levels = [Level(first.name, 1, span // row, (), first.stride, apart)]
    if step == row:  # Panels of one row each, which the primitive takes as other indices.
        return levels
    for part in others:
        row //= part.extent
        levels.append(Level(part.name, 1, part.extent, (), part.stride, inside * row))
    return levels


def followed(axes: Iterable[str], parts: Mapping[str, tuple[Part, ...]]) -> set[str]:
    """Return the axes of a nest that no part is named like: what is left of them is followed at run time."""
    return set(axes) - {part.name for each in parts.values() for part in each}


def in_few(level: Level, axes: Container[str], most: int = ROWS) -> tuple[Level, Level] | None:
    """Return a level in steps of a few indices and those indices; None: they are few, or nobody follows the rest.

    What is left of an axis of a nest, one of `axes`, is followed at run time; of a part of fused axes it is not.
    """
    few, *shorter = cut((level.span, *level.shorter), most)
    if level.span <= most or (shorter and level.axis not in axes):
        return None
    outer = replace(level, step=few, outside=few * level.outside, inside=few * level.inside)
    return outer, replace(level, span=few, shorter=tuple(shorter))


def few_rows_at_once(levels: Sequence[Level], axes: Container[str], size: int) -> list[Level]:
    """Return the levels, rows that are cut into panels in two: a few of them are walked inside all of the panels.

    Panel after panel would come back to every row, which is a page each, for a few lines at a time. `size` is that of
    an element of the tensor in bytes.

    before: a:48 d a     loops a in panels, primitive d a
    after:               loops d in eights, a in panels, primitive d a
    """
    runs = copy_runs(levels)
    if len(runs) < 2 or len(runs[1]) != 1:
        return list(levels)
    (place,) = runs[1]
    rows, taken = levels[place], {i for run in runs for i in run}
    panels = [level for i, level in enumerate(levels) if i not in taken and level.span > level.step]
    is_short = levels[runs[0][0]].outside == 1 and indices(levels, runs[0]) * size < LINE
    apart = ROWS * (WAY // math.gcd(rows.outside * size, WAY))
    split = in_few(rows, axes, min(SHORT_ROWS, apart) if is_short else ROWS)
    if split is None or all(abs(level.outside) > abs(rows.outside) for level in panels):
        return list(levels)
    return [*levels[:place], *split, *levels[place + 1 :]]


def copy_runs(levels: Sequence[Level]) -> tuple[tuple[int, ...], ...]:
    """Return the (at most two) runs of levels that the copying primitive takes, the contiguous one first.

    A run is levels, innermost first, that follow each other in scratch as they do in the tensor: the primitive takes
    them as one. The second run is the one that lies closest together in the tensor, so that the primitive transposes in
    registers.
    """
    runs: list[list[int]] = []
    for i in reversed(range(len(levels))):
        if levels[i].step != 1 or levels[i].span == 1:
            continue
        run = next((run for run in runs if _follows(levels[i], levels[run[-1]])), None)
        if run is None:
            runs.append([i])
        else:
            run.append(i)
    others = sorted(runs[1:], key=lambda run: (abs(levels[run[0]].outside), -indices(levels, run)))
    return tuple(map(tuple, (*runs[:1], *others[:1])))


def _follows(outer: Level, inner: Level) -> bool:
    """Whether a step of the outer level leads, in scratch and in the tensor, behind all of the inner one."""
    same = outer.outside == inner.span * inner.outside and outer.inside == inner.span * inner.inside
    return not inner.shorter and same and outer.axis != inner.axis


def indices(levels: Sequence[Level], run: Iterable[int]) -> int:
    """Return how many indices the levels of a run have together."""
    return math.prod(levels[i].span for i in run)


def block_of(levels: Sequence[Level], run: Sequence[int]) -> Block:
    """Return the levels of a run, innermost first, as what a call covers."""
    *inner, outermost = run
    return levels[outermost].block(indices(levels, inner))


def copy_loops(levels: Sequence[Level], kernel: tuple[int, ...]) -> list[int]:
    """Return the levels outside `kernel` as loops, innermost first: small strides of the tensor inside.

    Of an axis that the tensor repeats, with strides of 0, the inner levels stay inside: they follow what is left of it.
    """
    rest = [i for i, level in enumerate(levels) if i not in kernel and level.span > level.step]
    return sorted(rest, key=lambda i: (abs(levels[i].outside), -i))
