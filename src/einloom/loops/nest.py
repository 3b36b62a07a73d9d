"""`LoopNest`: a loop string applied to the specifications of its loops and a number of threads. Nothing is open.

>>> from einloom.ir.loop_text import parse_loop_string
>>> specs = (LoopSpec(0, 8, 2), LoopSpec(0, 10, 1, (4,)))
>>> print(LoopNest.of(parse_loop_string("bAB"), specs, threads=2))
#pragma omp parallel
for b0 = 0 to 10 with step 4
  #pragma omp for collapse(2) nowait
  for a0 = 0 to 8 with step 2
    for b1 = b0 to min(b0 + 4, 10) with step 1
      // Logical indices to use for the computation are a0, b1
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from einloom.config import thread_count
from einloom.errors import ScheduleError
from einloom.frozen import frozen
from einloom.ir.blocks import cut
from einloom.ir.loop_string import LETTERS, Level, LoopString
from einloom.ir.sharing import Clause, Grid, Ways
from einloom.loops.spec import LoopSpec

__all__ = ["LETTERS", "LoopNest", "NestLoop", "ends_of", "start_of"]


@frozen
class NestLoop:
    """One loop of a nest.

    Attributes:
        letter: of the logical loop.
        depth: how many loops of the same letter enclose it.
        step: distance of two iterations.
        lengths: how many indices it may cover, the most first; none where the logical loop is empty.
        collapsed: whether it is (part of) the parallel loop.
        ways: the dimension of the grid that shares it.
        barrier: whether threads wait for each other behind it.
    """

    letter: str
    depth: int
    step: int
    lengths: tuple[int, ...]
    collapsed: bool
    ways: Ways | None
    barrier: bool

    @property
    def name(self) -> str:
        """The loop's index, `b1`."""
        return f"{self.letter}{self.depth}"

    @property
    def trips(self) -> int:
        """Iterations over the most indices that it covers."""
        return -(-max(self.lengths, default=0) // self.step)


@frozen
class LoopNest:
    """Loops from the outside in, the logical loops a, b, c, …, and who runs them."""

    string: LoopString
    specs: tuple[LoopSpec, ...]
    loops: tuple[NestLoop, ...]
    threads: int

    @staticmethod
    def of(string: LoopString, specs: Sequence[LoopSpec], threads: int | None = None, cores: int = 1) -> LoopNest:
        """Apply a string.

        Args:
            string: what to do with the loops.
            specs: the loops a, b, c, …; a literal of the string may stand for what is missing.
            threads: how many logical threads; None: as many as the grid has, else the settings'.
            cores: how many threads if nothing says so.

        Raises:
            ScheduleError: a loop that the string does not name, a letter without a loop, more levels than block sizes,
                `threads` that is not the grid's, or a barrier that not every thread comes by as often.
            ArgumentError: `threads` is no count of threads.
        """
        full, loops = _applied(string, _specs(specs))
        nest = LoopNest(string, full, loops, _threads(string, threads, cores))
        _check_barriers(nest)
        return nest

    @property
    def clause(self) -> Clause:
        """How the iterations of the parallel loop are handed out."""
        return self.string.clause or Clause()

    @property
    def grid(self) -> Grid | None:
        """The grid of threads, if there is one."""
        return self.string.grid

    @property
    def group(self) -> tuple[NestLoop, ...]:
        """The loops that are the parallel loop; none where a grid shares them, or nothing is parallel."""
        return tuple(self.loops[place] for place in self.string.group)

    @property
    def innermost(self) -> tuple[NestLoop, ...]:
        """The innermost loop of each letter, a, b, c, …: their indices are what a body gets."""
        last = {loop.letter: loop for loop in self.loops}
        return tuple(last[letter] for letter in sorted(last))

    def level(self, letter: str) -> NestLoop:
        """Return the level of a logical loop that is parallel, the outermost one if none is.

        Raises:
            ScheduleError: no loop has this letter.
        """
        levels = [loop for loop in self.loops if loop.letter == letter]
        if not levels:
            raise ScheduleError(
                f"there is no loop {letter!r:.20}\n  The loops are {' '.join(LETTERS[: len(self.specs)])}."
            )
        return next((loop for loop in levels if loop.collapsed or loop.ways), levels[0])

    def iteration_length(self, letter: str, index: int) -> int:
        """Return how many indices the iteration of a logical loop at an index has: its step, or what is left."""
        spec = self.specs[LETTERS.index(letter)]
        start, end = spec.start, spec.bound
        for loop in self.loops:
            if loop.letter == letter:
                start += (index - start) // loop.step * loop.step
                end = min(start + loop.step, end)
        return end - start

    def __str__(self) -> str:
        return "\n".join(_lines(self))


def _specs(specs: Sequence[object]) -> tuple[LoopSpec, ...]:
    try:
        given = tuple(specs)
    except TypeError:
        given = (None,)
    found = tuple(each for each in given if isinstance(each, LoopSpec))
    if len(found) < len(given):
        raise ScheduleError(f"the loops are {specs!r:.80}\n  Give a list of LoopSpec(start, bound, step, sizes).")
    return found


@lru_cache(1024)
def _applied(string: LoopString, specs: tuple[LoopSpec, ...]) -> tuple[tuple[LoopSpec, ...], tuple[NestLoop, ...]]:
    full = _with_literals(string, specs)
    return full, tuple(_loops(string, full))


def _with_literals(string: LoopString, specs: Sequence[LoopSpec]) -> tuple[LoopSpec, ...]:
    """The specifications of all loops, after what the string says."""
    if len(specs) > len(LETTERS):
        raise ScheduleError(f"{len(specs)} loops\n  Letters go from a to z: at most 26.")
    found = dict(zip(LETTERS, specs))
    for place, level in enumerate(string.levels):
        if level.literal is not None:
            found[level.letter] = _with_literal(string, place, level, found.get(level.letter))
    names = "".join(sorted(found))
    for place, level in enumerate(string.levels):
        if level.letter not in found:
            raise string.error(place, f"there is no loop {level.letter}", f"The loops are {' '.join(names) or 'none'}.")
    missing = [letter for letter in LETTERS[: max(map(LETTERS.index, names)) + 1] if letter not in string.letters]
    if missing:
        problem = f"the loop string does not name loop {missing[0]}"
        raise string.error(len(string.levels), problem, "Name every loop.")
    return tuple(found[letter] for letter in names)


def _with_literal(string: LoopString, place: int, level: Level, given: LoopSpec | None) -> LoopSpec:
    literal = level.literal
    assert literal is not None
    values = [
        number if number is not None else default
        for number, default in zip(
            (literal.start, literal.bound, literal.step),
            (given.start, given.bound, given.step) if given else (None, None, None),
        )
    ]
    try:
        start, bound, step = (value for value in values if value is not None)
    except ValueError:
        advice = f"Say all of start, bound and step, or pass a LoopSpec for {level.letter}."
        raise string.error(place, f"the literal of loop {level.letter} leaves something open", advice) from None
    try:
        return LoopSpec(start, bound, step, literal.sizes or (given.block_sizes if given else ()))
    except ScheduleError as error:
        problem, _, advice = str(error).partition("\n  ")
        raise string.error(place, f"the literal of loop {level.letter}: {problem}", advice) from error


def _loops(string: LoopString, specs: tuple[LoopSpec, ...]) -> Iterator[NestLoop]:
    by_letter = dict(zip(LETTERS, specs))
    depths = dict.fromkeys(by_letter, 0)
    lengths: dict[str, tuple[int, ...]] = {
        letter: (spec.extent,) if spec.extent else () for letter, spec in by_letter.items()
    }
    group = string.group
    for place, level in enumerate(string.levels):
        letter, depth = level.letter, depths[level.letter]
        spec, count = by_letter[letter], string.letters.count(letter)
        if depth < count - 1 and depth >= len(spec.block_sizes):
            raise string.error(
                place,
                f"loop {letter} has {count} levels, but {len(spec.block_sizes)} block sizes",
                f"Give LoopSpec {letter} {count - 1} block sizes, or name the loop less often.",
            )
        step = spec.block_sizes[depth] if depth < count - 1 else spec.step
        yield NestLoop(letter, depth, step, lengths[letter], place in group, level.ways, level.barrier)
        depths[letter] += 1
        lengths[letter] = cut(lengths[letter], step)


def _threads(string: LoopString, threads: int | None, cores: int) -> int:
    if threads is not None:
        thread_count(threads, cores=cores)
    grid = string.grid
    if grid is not None:
        if threads not in (None, grid.threads):
            place = next(place for place, level in enumerate(string.levels) if level.ways)
            problem = f"threads={threads}, but the grid has {grid.threads}"
            raise string.error(place, problem, "Leave threads out, or make them agree.")
        return grid.threads
    return thread_count(threads, cores=cores) if string.is_parallel else 1


def _check_barriers(nest: LoopNest) -> None:
    """Every thread comes by a barrier equally often: what encloses it runs alike in all teams of the grid."""
    for place, loop in enumerate(nest.loops):
        around = nest.loops[:place]
        if not loop.barrier or not any(outer.ways for outer in around):
            continue
        for outer in around:
            uneven = outer.ways is not None and outer.trips % outer.ways.count
            if uneven or len(outer.lengths) > 1:
                raise nest.string.error(
                    place,
                    f"a barrier inside loop {outer.name}, which does not run alike in all teams of the grid",
                    "Threads would wait for ever. Put it further out, or make block sizes and ways divide.",
                )


def _lines(nest: LoopNest) -> Iterator[str]:
    if nest.string.is_parallel:
        yield "#pragma omp parallel"
    for place, loop in enumerate(nest.loops):
        indent = "  " * place
        if loop.ways is not None:
            yield f"{indent}# Parallelize {loop.ways.count}-ways loop {loop.name}"
        if nest.group and loop == nest.group[0]:
            collapse = f"collapse({len(nest.group)}) " if len(nest.group) > 1 else ""
            clause = f"{nest.string.clause} " if nest.string.clause else ""
            yield f"{indent}#pragma omp for {collapse}{clause}nowait"
        yield f"{indent}for {loop.name} = {start_of(nest, loop)} to {_end(nest, loop)} with step {loop.step}"
    indices = ", ".join(loop.name for loop in nest.innermost)
    yield f"{'  ' * len(nest.loops)}// Logical indices to use for the computation are {indices}"
    for place in reversed(range(len(nest.loops))):
        if nest.loops[place].barrier:
            group = nest.string.group
            yield f"{'  ' * (group.start if place in group else place)}#pragma omp barrier"


def start_of(nest: LoopNest, loop: NestLoop) -> str:
    """Return where a loop begins: a number, or the index of the block around it."""
    return f"{loop.letter}{loop.depth - 1}" if loop.depth else str(nest.specs[LETTERS.index(loop.letter)].start)


def _end(nest: LoopNest, loop: NestLoop) -> str:
    ends = ends_of(nest, loop)
    return ends[0] if len(ends) == 1 else f"min({', '.join(ends)})"


def ends_of(nest: LoopNest, loop: NestLoop) -> list[str]:
    """Return where a loop ends, at the least of these.

    Behind the block around it, and where that may be short, where what encloses it ends.
    """
    if not loop.depth:
        return [str(nest.specs[LETTERS.index(loop.letter)].bound)]
    outer = next(each for each in nest.loops if each.letter == loop.letter and each.depth == loop.depth - 1)
    whole = f"{outer.name} + {outer.step}"
    return [whole] if loop.lengths == (outer.step,) else [whole, *ends_of(nest, outer)]
