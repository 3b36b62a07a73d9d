"""`measure_strings`: what a loop string costs, from its text to the end of its first run, in a process of its own.

The body is the product of the samples on a few small blocks, so that running it takes no time. Beside it: the nest of
the same strings as C++ through a compiler (`einloom.bench.peers.cpp_loops`), without any body.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from einloom.frozen import frozen
from einloom.loops import tpp
from einloom.loops.blockings import blocked_specs
from einloom.loops.generate import LoopStrings
from einloom.loops.trace.recorder import when
from einloom.search.process import Process, private_output, send
from einloom.threaded_loop import ThreadedLoop

__all__ = ["StringCosts", "measure_strings", "serve"]

_START = "from einloom.bench.strings import serve; serve({compiler})"
BOUNDS = {"a": (4, 2), "b": (4, 1), "c": (4, 1)}
STRINGS, COMPILED, SEEN = 40, 5, 200


@frozen
class StringCosts:
    """Seconds: of the first string of a process, of another one, of one seen before; of a compiler, if there is one."""

    first: float
    new: float
    seen: float
    compiled: float | None

    def __str__(self) -> str:
        compiled = "" if self.compiled is None else f"; the nest as C++ and g++ {1e3 * self.compiled:.0f} ms"
        first, new, seen = 1e3 * self.first, 1e3 * self.new, 1e6 * self.seen
        return f"a string: new {new:.2f} ms, first of a process {first:.1f} ms, seen before {seen:.0f} us{compiled}"


def measure_strings(compiler: bool) -> StringCosts:
    """Measure in a new process; with `compiler`, beside g++ if it is there."""
    with Process("einloom", _START.format(compiler=compiler)) as process:
        return StringCosts(**process.start_up())


def serve(compiler: bool) -> None:
    """Measure, and send the seconds as a JSON line."""
    answers = private_output()
    strings = iter(LoopStrings("a_0_K,b_1_M,c_1_N")[:: LoopStrings("a_0_K,b_1_M,c_1_N").total // STRINGS])
    run = _runner()
    first = _seconds(run, next(strings))
    each = {string: _seconds(run, string) for string in strings}
    seen = min(_seconds(run, string) for string in list(each)[-1:] * SEEN)
    compiled = _compiled(islice(filter(_is_compiled, each), COMPILED)) if compiler else None
    send(answers, {"first": first, "new": median(each.values()), "seen": seen, "compiled": compiled})


def _runner() -> Callable[[str], None]:
    """Return what runs a string."""
    shapes = {"A": (4, 4, 8, 8), "B": (4, 4, 8, 8), "C": (4, 4, 8, 8)}
    arrays = {name: np.ones(shape, np.float32) for name, shape in shapes.items()}

    def body(a: Any, b: Any, c: Any, A: Any, B: Any, C: Any) -> None:
        with when(a == 0):
            tpp.zero(C[c, b])
        tpp.brgemm(A[b, a], B[c, a], C[c, b], batch=2)

    return lambda string: _loop(string).body(body)(**arrays)


def _seconds(run: Callable[[str], None], string: str) -> float:
    begin = time.perf_counter()
    run(string)
    return time.perf_counter() - begin


def _compiled(strings: Iterable[str]) -> float | None:
    from einloom.bench.peers.cpp_loops import Body, compiled_nest, has_compiler

    if not has_compiler():
        return None
    with tempfile.TemporaryDirectory() as folder:

        def run(string: str) -> None:
            compiled_nest(_loop(string).nest, Path(folder))(Body(_nothing))

        return median(_seconds(run, string) for string in strings)


def _nothing(thread: int, indices: object) -> None:
    """Be the body of a nest."""


def _loop(string: str) -> ThreadedLoop:
    return ThreadedLoop(blocked_specs(string, BOUNDS), string, threads=1)


def _is_compiled(string: str) -> bool:
    """Whether a compiler takes the string: it does not collapse blocks of a loop with those inside them."""
    group = _loop(string).nest.group
    return len({loop.letter for loop in group}) == len(group)
