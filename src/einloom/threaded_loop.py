"""`ThreadedLoop`: loops that are declared once, and instantiated by a string at run time. It is public.

>>> loop = ThreadedLoop([LoopSpec(0, 2), LoopSpec(0, 4)], "aB", threads=2)
>>> loop.run(lambda a, b: print(loop.get_tid(), a, b))
0 0 0
0 0 1
0 1 0
0 1 1
1 0 2
1 0 3
1 1 2
1 1 3
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from einloom.errors import ScheduleError
from einloom.ir.loop_text import parse_loop_string
from einloom.ir.sharing import THREAD
from einloom.jit.host import host
from einloom.loops.nest import LoopNest
from einloom.loops.parallel import ParallelType, parallel_degree, parallel_index, parallel_type
from einloom.loops.plot import draw_owners
from einloom.loops.spec import LoopSpec
from einloom.loops.trace.index import Index, refusal
from einloom.loops.trace.recorder import current_recorder
from einloom.loops.walk import run_threads
from einloom.traced_body import TracedBody, traced_body

__all__ = ["LoopSpec", "ThreadedLoop"]


class ThreadedLoop:
    """Logical loops with one string that says their order, blocks and parallelisation.

    Args:
        specs: the loops a, b, c, …
        string: what to do with them; `docs/reference/loop-strings.md` has the grammar.
        threads: how many logical threads run a parallel loop, whatever the cores; None: as many as the grid of the
            string has, else the settings'.

    Raises:
        ScheduleError: the string is not legal for these loops; a caret marks the place.

    Attributes:
        nest: the string, applied; `str` prints it.
    """

    def __init__(self, specs: Sequence[LoopSpec], string: str, threads: int | None = None) -> None:
        self.nest = LoopNest.of(parse_loop_string(string), specs, threads, host().cores)
        self._running = _Running()

    def run(
        self,
        function: Callable[..., Any],
        init: Callable[[], Any] | None = None,
        term: Callable[[], Any] | None = None,
    ) -> None:
        """Call a Python function with the logical indices a, b, c, … of every iteration.

        Logical threads run in turn, each from one barrier to the next, always in the same order: what a parallel loop
        does can be followed and repeated. Dynamic and guided pieces go to them one after the other.

        Args:
            function: takes one index for each loop.
            init: called once for each thread, before its first iteration; the helpers work there.
            term: called once for each thread, behind its last iteration.
        """
        edges = {"init": init, "term": term}

        def visit(thread: int, indices: tuple[int, ...]) -> None:
            self._running.thread = thread
            function(*indices)

        def edge(thread: int, which: str) -> None:
            self._running.thread = thread
            if (called := edges[which]) is not None:
                called()

        before = self._running.thread
        try:
            run_threads(self.nest, visit, edge)
        finally:
            self._running.thread = before

    def body(self, function: Callable[..., Any]) -> TracedBody:
        """Compile a body: a decorator of a function of the indices a, b, c, … and of tensors.

        The function is called once for each kind of arguments, with symbolic indices and tensors; what it does with
        `el.tpp` and `el.when` becomes machine code. Call the result with the tensors by keyword.
        """
        return traced_body(self.nest, function)

    def get_tid(self) -> Any:
        """Return the number of the thread that runs the body, from 0; in a traced body an index.

        Raises:
            ScheduleError: no body of this loop is running, or traced.
        """
        if self._is_traced():
            return Index.symbol(THREAD) if self.nest.threads > 1 else 0
        if self._running.thread is None:
            raise ScheduleError("no thread runs a body here\n  Ask inside the function that run() calls.")
        return self._running.thread

    def get_loop_par_type(self, letter: str) -> ParallelType:
        """Return how a loop is parallel: 0 not, 1 collapsed, 2, 3, 4 by rows, columns, layers of the grid."""
        return parallel_type(self.nest, letter)

    def get_loop_parallel_degree(self, letter: str) -> int:
        """Return how many ways the grid shares a loop.

        Raises:
            ScheduleError: the string has no grid.
        """
        return parallel_degree(self.nest, letter)

    def get_tid_in_parallel_dim(self, letter: str) -> Any:
        """Return the thread's team in the dimension that shares a loop; its number for collapse; -1 if neither.

        In a traced body it is an index.
        """
        ways = self.nest.level(letter).ways
        if parallel_type(self.nest, letter) is ParallelType.NO_PARALLEL:
            return -1
        if self._is_traced():
            return self.get_tid() if ways is None else Index.symbol(str(ways.dimension))
        return parallel_index(self.nest, letter, self.get_tid())

    def _is_traced(self) -> bool:
        """Return whether a body of this loop is traced: not Python's of `run`, and not that of other loops."""
        current = current_recorder()
        if current is None or self._running.thread is not None:
            return False
        if current.nest != self.nest:
            raise refusal(f"the thread of another loop, {self!r},", "Ask the loop whose body this is.")
        return True

    def show(self) -> str:
        """Return the loop nest as text."""
        return str(self.nest)

    def plot(self, rows: str, columns: str, path: str | None = None) -> Any:
        """Draw which thread runs which iterations of two loops, and return the matplotlib figure.

        Args:
            rows: letter of a loop.
            columns: letter of another one.
            path: an image to write as well.

        Raises:
            ScheduleError: a letter that is no loop, or one letter twice.
            UnsupportedTarget: matplotlib is not installed.
        """
        return draw_owners(self.nest, rows, columns, path)

    def __reduce__(self) -> tuple[type[ThreadedLoop], tuple[object, ...]]:
        """Pickle the loop as what it was made of."""
        return ThreadedLoop, (self.nest.specs, str(self.nest.string), self.nest.threads)

    def __repr__(self) -> str:
        specs = ", ".join(f"{s.start}:{s.bound}:{s.step}" for s in self.nest.specs)
        return f"ThreadedLoop({str(self.nest.string)!r}, {specs}, {self.nest.threads} threads)"


class _Running(threading.local):
    """The logical thread whose body runs on this thread of Python."""

    thread: int | None = None
