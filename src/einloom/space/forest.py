"""The loops of an implementation, from its orders: exactly one forest, or an error that says where they clash.

Statements become intervals: dimensions hold what is nested inside them, instructions are points. The forest is built
from nesting and sequence, and then every pair is compared with what the assignment says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from functools import lru_cache
from itertools import combinations

from einloom.errors import ScheduleError
from einloom.frozen import frozen
from einloom.space.assignment import Assignment

__all__ = ["Forest", "FusedLoop", "forest"]


@frozen
class FusedLoop:
    """A loop: the dimensions it fuses (the first one names it) and what stands inside, in order."""

    dimensions: tuple[str, ...]
    body: tuple[FusedLoop | str, ...]

    @property
    def name(self) -> str:
        """The name of the loop: that of its shortest-named dimension."""
        return min(self.dimensions, key=lambda name: (len(name), name))


@frozen(slots=False)
class Forest:
    """The loops and instructions of an implementation, in order."""

    roots: tuple[FusedLoop | str, ...]

    def outside(self) -> dict[str, tuple[FusedLoop, ...]]:
        """Return the loops around each statement, outermost first; a dimension's own loop is not among them."""
        found: dict[str, tuple[FusedLoop, ...]] = {}
        for node, loops in _walk(self.roots, ()):
            for name in node.dimensions if isinstance(node, FusedLoop) else (node,):
                found[name] = loops
        return found


@lru_cache(maxsize=1)
def forest(assignment: Assignment) -> Forest:
    """Return the one forest that the orders of an assignment describe.

    Raises:
        ScheduleError: they describe none: some pair of statements would have to stand otherwise.
    """
    names = (*assignment.dimensions, *assignment.instructions)
    inside = {a: assignment.inside(a).intersection(names) for a in names}
    built = Forest(_siblings(assignment, names, inside))
    intervals = dict(_intervals(built.roots, iter(range(4 * len(names)))))
    for a, b in combinations(names, 2):
        stands = _relation(intervals[a], intervals[b])
        if stands != assignment.order(a, b):
            raise ScheduleError(f"order({a}, {b}) is {assignment.order(a, b)}, but the other orders make it {stands}")
    return built


def _siblings(
    assignment: Assignment, names: tuple[str, ...], inside: Mapping[str, Set[str]]
) -> tuple[FusedLoop | str, ...]:
    """Return the forest of some statements: the outermost ones in sequence, each with what is nested inside."""
    hidden = {name for outer in names for name in inside[outer]}
    outer = [name for name in names if name not in hidden]
    if not outer and names:
        raise ScheduleError(f"statements are nested inside each other in a circle: {', '.join(names)}")
    groups: list[tuple[str, ...]] = []
    for name in outer:
        if not any(name in group for group in groups):
            groups.append(tuple(b for b in outer if b == name or assignment.order(name, b) == "MERGED"))
    groups.sort(key=lambda group: sum(assignment.order(each, group[0]) == "BEFORE" for each in {*outer} - {*group}))
    return tuple(_node(assignment, group, names, inside) for group in groups)


def _node(
    assignment: Assignment, group: tuple[str, ...], names: tuple[str, ...], inside: Mapping[str, Set[str]]
) -> FusedLoop | str:
    points = [name for name in group if name in assignment.instructions]
    nested = inside[group[0]]
    if points and (len(group) > 1 or nested):
        raise ScheduleError(f"the instruction {points[0]} is treated as a loop")
    if points:
        return points[0]
    return FusedLoop(group, _siblings(assignment, tuple(name for name in names if name in nested), inside))


def _intervals(nodes: tuple[FusedLoop | str, ...], clock: Iterator[int]) -> Iterator[tuple[str, tuple[int, int]]]:
    for node in nodes:
        start = next(clock)
        if isinstance(node, FusedLoop):
            yield from _intervals(node.body, clock)
        end = next(clock)
        for name in node.dimensions if isinstance(node, FusedLoop) else (node,):
            yield name, (start, end)


def _relation(a: tuple[int, int], b: tuple[int, int]) -> str:
    if a == b:
        return "MERGED"
    if a[1] < b[0]:
        return "BEFORE"
    if b[1] < a[0]:
        return "AFTER"
    return "OUTER" if a[0] < b[0] else "INNER"


def _walk(
    nodes: tuple[FusedLoop | str, ...], loops: tuple[FusedLoop, ...]
) -> Iterator[tuple[FusedLoop | str, tuple[FusedLoop, ...]]]:
    for node in nodes:
        yield node, loops
        if isinstance(node, FusedLoop):
            yield from _walk(node.body, (*loops, node))
