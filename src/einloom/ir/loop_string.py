"""`LoopString`: the text that chooses order, blocking and parallelisation of loops, as a value.

    string  := level { level } [ '@' 'schedule(' policy [ ',' chunk ] ')' ]
    level   := letter [ '{' ('R' | 'C' | 'L') ':' ways '}' ] [ literal ] [ '|' ]
    literal := '[' start ',' bound ',' step ',' '(' sizes ')' ']'
    policy  := 'static' | 'dynamic' | 'guided'

The n-th time that a letter stands there is the n-th level of blocks of its loop. An upper-case letter is a parallel
loop; several of them, side by side, are one parallel loop over all their iterations (collapse); with braces each is
shared by a dimension of a grid of threads. Brackets say what the loop is, instead of its `LoopSpec`, or some of it:
an empty place keeps the `LoopSpec`'s. A bar is a barrier behind the loop.

>>> from einloom.ir.loop_text import parse_loop_string
>>> string = parse_loop_string("bC{R:16}a[0,64,2,()]bcb|")
>>> string.levels[1]
Level(letter='c', parallel=True, ways=Ways(dimension=<Dimension.ROWS: 'R'>, count=16), literal=None, barrier=False)
>>> str(string)
'bC{R:16}a[0,64,2,()]bcb|'
"""

from __future__ import annotations

from einloom.errors import ScheduleError
from einloom.frozen import frozen
from einloom.ir.sharing import Clause, Dimension, Grid, Ways

__all__ = ["LETTERS", "MOST_THREADS", "Level", "Literal", "LoopString", "caret_error"]

LETTERS = "abcdefghijklmnopqrstuvwxyz"

MOST_LEVELS = 256
MOST_THREADS = 4096


@frozen
class Literal:
    """What a string itself says about a loop; None, and no sizes, leave it to the `LoopSpec`."""

    start: int | None = None
    bound: int | None = None
    step: int | None = None
    sizes: tuple[int, ...] = ()

    def __str__(self) -> str:
        numbers = ("" if number is None else str(number) for number in (self.start, self.bound, self.step))
        return f"[{','.join(numbers)},({','.join(map(str, self.sizes))})]"


@frozen
class Level:
    """One letter of a string, with what follows it.

    Attributes:
        letter: of the logical loop, in lower case.
        parallel: whether the string has it in upper case.
        ways: the dimension of the grid that shares the loop, if there is a grid.
        literal: what the string says about the loop.
        barrier: whether threads wait for each other behind the loop.
    """

    letter: str
    parallel: bool = False
    ways: Ways | None = None
    literal: Literal | None = None
    barrier: bool = False

    def __str__(self) -> str:
        letter = self.letter.upper() if self.parallel else self.letter
        return f"{letter}{self.ways or ''}{self.literal or ''}{'|' if self.barrier else ''}"


@frozen
class LoopString:
    """A legal loop string: levels outermost first, and the clause of its parallel loop.

    Raises:
        ScheduleError: no level, or more than 256; two parallel loops without a grid, a grid that only some of them
            name or one of whose dimensions stands twice, more than 4096 threads; two literals for a loop; a barrier
            that some threads would not come by; or a clause without the parallel loop that it is for. A caret marks
            the place.
    """

    levels: tuple[Level, ...]
    clause: Clause | None = None

    def __post_init__(self) -> None:
        if not self.levels:
            raise caret_error(str(self), 0, "the loop string names no loop", "Name each loop with a letter: 'bca'.")
        if len(self.levels) > MOST_LEVELS:
            raise self.error(MOST_LEVELS, f"{len(self.levels):,} letters", f"At most {MOST_LEVELS} go.")
        _check_ways(self)
        _check_literals(self)
        _check_groups(self)
        _check_clause(self)

    def __str__(self) -> str:
        """Return the text, which `parse_loop_string` reads."""
        clause = "" if self.clause is None else f"@{self.clause}"
        return "".join(map(str, self.levels)) + clause

    @property
    def letters(self) -> str:
        """The letters of all levels in lower case, outermost first."""
        return "".join(level.letter for level in self.levels)

    @property
    def group(self) -> range:
        """Positions of the levels that are one parallel loop; empty with a grid, or where nothing is parallel."""
        parallel = [place for place, level in enumerate(self.levels) if level.parallel and level.ways is None]
        return range(parallel[0], parallel[-1] + 1) if parallel else range(0)

    @property
    def grid(self) -> Grid | None:
        """The grid of threads, if there is one."""
        ways = tuple(level.ways for level in self.levels if level.ways is not None)
        return Grid.of(ways) if ways else None

    @property
    def is_parallel(self) -> bool:
        """Whether a letter stands in upper case."""
        return any(level.parallel for level in self.levels)

    def error(self, place: int, problem: str, advice: str) -> ScheduleError:
        """Return an error that marks the level at `place`."""
        start = sum(len(str(level)) for level in self.levels[:place])
        return caret_error(str(self), start, problem, advice)


def caret_error(text: str, place: int, problem: str, advice: str) -> ScheduleError:
    """Return an error whose caret stands below `text[place]`."""
    begin = max(place - 80, 0)
    return ScheduleError(f"{problem}\n  {text[begin : begin + 160]}\n  {' ' * (place - begin)}^\n  {advice}")


def _check_ways(string: LoopString) -> None:
    taken, threads = set[Dimension](), 1
    for place, level in enumerate(string.levels):
        ways = level.ways
        if ways is None:
            continue
        if not level.parallel:
            raise string.error(
                place, f"loop {level.letter} has {ways}, but is not parallel", f"Write {level.letter.upper()}{ways}."
            )
        if not 1 <= ways.count <= MOST_THREADS:
            raise string.error(place, f"a loop is shared {ways.count} ways", f"Give 1 to {MOST_THREADS} ways.")
        if ways.dimension in taken:
            raise string.error(
                place,
                f"two loops are shared by the dimension {ways.dimension} of the grid",
                "Take R, C and L once each.",
            )
        taken.add(ways.dimension)
        threads *= ways.count
        if threads > MOST_THREADS:
            raise string.error(place, f"a grid of {threads:,} threads", f"At most {MOST_THREADS} go.")


def _check_literals(string: LoopString) -> None:
    seen = set[str]()
    for place, level in enumerate(string.levels):
        if level.literal is None:
            continue
        if level.letter in seen:
            raise string.error(
                place, f"loop {level.letter} has two literals", "Say where it begins and ends at one of its letters."
            )
        seen.add(level.letter)


def _check_groups(string: LoopString) -> None:
    group, levels = string.group, string.levels
    for place, level in enumerate(levels):
        if level.parallel and level.ways is None and string.grid is not None:
            raise string.error(
                place,
                f"loop {level.letter} is parallel without a dimension of the grid that shares others",
                "Give all parallel loops one of {R:n}, {C:n}, {L:n}, or none.",
            )
        if place in group and not level.parallel:
            raise string.error(
                next(other for other in group if other > place and levels[other].parallel),
                "a second parallel loop inside the first",
                "Put upper-case letters side by side, or share them by a grid: {R:n}, {C:n}, {L:n}.",
            )
        if level.barrier and group and place >= group.start and place != group[-1]:
            where = "inside a parallel loop" if place > group[-1] else "between loops that are collapsed into one"
            raise string.error(
                place, f"a barrier {where}", "Not every thread comes by here. Put it behind the parallel loop."
            )


def _check_clause(string: LoopString) -> None:
    clause = string.clause
    if clause is None:
        return
    place = len(str(string)) - len(str(clause)) - 1
    if clause.chunk is not None and clause.chunk < 1:
        raise caret_error(str(string), place, f"pieces of {clause.chunk} iterations", "Give 1 or more.")
    if not string.group:
        why = "threads of a grid have their iterations already" if string.grid else "no loop is parallel"
        raise caret_error(str(string), place, f"a clause, but {why}", "Leave it out, or write a letter in upper case.")
