"""Where the threads of a block must wait for each other: the fewest barriers between what shares an array.

A barrier stands before a node that reads what was written, or overwrites what was read, since the last barrier; and at
the end of a loop whose next iteration would do so. What lies before a barrier and what lies behind it never conflict
again, so no barrier follows another one without need.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import replace

from einloom.frozen import frozen
from einloom.ir.nest import Loop, Node, walk
from einloom.ir.statement import Barrier, LoopKind, Place, Statement

__all__ = ["with_barriers"]


def with_barriers(nodes: tuple[Node, ...], shared: Set[str]) -> tuple[Node, ...]:
    """Return the nodes with the barriers that the arrays called `shared` need; none where one thread does everything.

    thread i: t[i] = a[i]                      thread i: t[i] = a[i]
    thread j: b[j] = t[9 - j]         ->       barrier
                                               thread j: b[j] = t[9 - j]
    """
    if not any(isinstance(node, Loop) and node.kind is LoopKind.THREAD for node in walk(nodes)):
        return nodes
    return _fenced(nodes, shared)[0]


@frozen
class _Traffic:
    """The arrays that some nodes read and write."""

    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()

    def __or__(self, other: _Traffic) -> _Traffic:
        return _Traffic(self.reads | other.reads, self.writes | other.writes)

    def conflicts(self, later: _Traffic) -> bool:
        """Whether threads that are here and threads that are there already must be kept apart."""
        return bool(self.writes & later.reads or self.reads & later.writes)


@frozen
class _Ends:
    """What some nodes do before their first barrier and after their last one; all of it, twice, where there is none."""

    first: _Traffic = _Traffic()
    last: _Traffic = _Traffic()
    has_barrier: bool = False

    def then(self, following: _Ends) -> _Ends:
        """Return the ends of these nodes followed by others."""
        first = self.first if self.has_barrier else self.first | following.first
        last = following.last if following.has_barrier else self.last | following.last
        return _Ends(first, last, self.has_barrier or following.has_barrier)


_BARRIER = _Ends(has_barrier=True)


def _fenced(nodes: Iterable[Node], shared: Set[str]) -> tuple[tuple[Node, ...], _Ends]:
    found: list[Node] = []
    ends = _Ends()
    for node in nodes:
        fenced, inside = _loop(node, shared) if isinstance(node, Loop) else (node, _touched(node, shared))
        if ends.last.conflicts(inside.first):
            found.append(Barrier())
            ends = ends.then(_BARRIER)
        found.append(fenced)
        ends = ends.then(inside)
    return tuple(found), ends


def _loop(loop: Loop, shared: Set[str]) -> tuple[Loop, _Ends]:
    body, ends = _fenced(loop.body, shared)
    repeats = loop.kind in (LoopKind.LOOP, LoopKind.UNROLL) and loop.trips > 1
    if repeats and ends.last.conflicts(ends.first):
        body, ends = (*body, Barrier()), ends.then(_BARRIER)
    return replace(loop, body=body), ends


def _touched(node: Node, shared: Set[str]) -> _Ends:
    assert isinstance(node, Statement)
    reads = frozenset(each.buffer for each in _places(node.inputs) if each.buffer in shared)
    writes = frozenset({node.output.buffer} & shared)
    return _Ends(_Traffic(reads, writes), _Traffic(reads, writes))


def _places(inputs: Iterable[Place | float]) -> Iterator[Place]:
    return (each for each in inputs if isinstance(each, Place))
