"""`measure_loops`: the samples of `examples/` and what torch does for the same work, in turns, each in its own process.

torch takes plain matrices and images in every layout that it has; the best one counts. Its sparse rows are dense
products: it has no product with blocks of zeros that is faster.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from einloom.bench.cases import case_folder
from einloom.bench.worker import settle
from einloom.errors import ScheduleError
from einloom.frozen import frozen
from einloom.jit.timing import timed_calls
from einloom.search.process import Process, private_output, send

__all__ = ["LoopCase", "LoopRow", "load_loop_cases", "measure_loops", "sample_folder", "serve"]

_START = "from einloom.bench.loops import serve; serve({name!r})"
TIMEOUT = 180.0
PEAK_SECONDS = 0.01


@frozen
class LoopCase:
    """A sample, its arguments, and whether it computes in bfloat16."""

    name: str
    sample: str
    arguments: tuple[str, ...]
    narrow: bool


@frozen
class LoopRow:
    """What was seen: seconds of each round, by contestant; flop; the largest error; peak flop a second around turns."""

    case: LoopCase
    seconds: dict[str, list[float]]
    flops: float
    error: float
    peak: float
    problem: str = ""

    @property
    def rate(self) -> float:
        """Flop a second, the median of the rounds."""
        return self.flops / median(self.seconds["einloom"])

    @property
    def ratio(self) -> float | None:
        """How many times as fast as torch: the median of the rounds' ratios."""
        theirs = self.seconds.get("torch")
        return median(t / o for t, o in zip(theirs, self.seconds["einloom"])) if theirs else None


def sample_folder() -> Path:
    """Return the folder of the samples: beside this module in a wheel, `examples` in a checkout."""
    here = Path(__file__).resolve()
    packed, checkout = here.parent / "examples", here.parents[3] / "examples"
    return packed if packed.is_dir() else checkout


def load_loop_cases(substring: str = "") -> list[LoopCase]:
    """Return the cases whose names contain `substring`.

    Raises:
        ScheduleError: there is none.
    """
    entries = json.loads((case_folder() / "loops.json").read_text())["cases"]
    cases = [LoopCase(e["name"], e["sample"], tuple(e["arguments"]), e["narrow"]) for e in entries]
    chosen = [case for case in cases if substring in case.name]
    if not chosen:
        names = "\n  ".join(case.name for case in cases)
        raise ScheduleError(f"no case of loops contains {substring!r}\n  {names}")
    return chosen


def measure_loops(case: LoopCase, peers: list[str], threads: int, runs: int, seconds: float) -> LoopRow:
    """Measure a case: every contestant takes a turn of so many seconds in each of so many rounds."""
    row = LoopRow(case, {}, 0.0, 0.0, 0.0)
    environment = {"USE_BF16": str(int(case.narrow)), "EINLOOM_THREADS": str(threads)}
    with ExitStack() as stack:
        processes = {name: Process(name, _START.format(name=name), threads, environment) for name in peers}
        for name, process in processes.items():
            stack.enter_context(process).start_up(TIMEOUT)
            answer = process.ask("prepare", TIMEOUT, sample=case.sample, arguments=case.arguments, threads=threads)
            if problem := answer.get("problem", ""):
                return replace(row, problem=f"{name}: {problem}")
            if name == "einloom":
                row = replace(row, flops=answer["flops"], error=answer["error"])
            row.seconds[name] = []
        for _ in range(runs):
            for name, process in processes.items():
                answer = process.ask("measure", TIMEOUT, seconds=seconds)
                row.seconds[name].append(answer["seconds"])
                row = replace(row, peak=max(row.peak, answer["peak"]))
    return row


# ---- in the contestant's process ------------------------------------------------------------------------------------


def serve(contestant: str) -> None:
    """Answer requests, a JSON line each, until standard input ends."""
    answers = private_output()
    session = _Session(contestant)
    send(answers, {"contestant": contestant})
    for line in sys.stdin:
        send(answers, session.answer(json.loads(line)))


class _Session:
    """One case: prepared, then measured."""

    def __init__(self, contestant: str) -> None:
        self._contestant = contestant
        self._threads = 1
        self._ways: list[Callable[[], object]] = []

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        action = {"prepare": self._prepare, "measure": self._measure}
        try:
            return action[request.pop("do")](**request)
        except Exception as error:
            return {"problem": f"{type(error).__name__}: {error}"}

    def _prepare(self, sample: str, arguments: list[str], threads: int) -> dict[str, Any]:
        self._threads = threads
        if self._contestant == "einloom":
            sys.path.insert(0, str(sample_folder()))
            work = importlib.import_module(sample).build(*arguments)
            self._ways = [work.run]
            return {"flops": work.flops, "error": work.error}
        from einloom.bench.peers.torch_loops import ways_of

        self._ways = list(ways_of(sample, arguments, threads))
        return {}

    def _measure(self, seconds: float) -> dict[str, Any]:
        """The fastest of all calls, and what multiply-adds on registers reach before and after."""
        rates = list(self._peaks())
        least = min(min(timed_calls(way, seconds / len(self._ways))) for way in self._ways)
        rates += self._peaks()
        settle()
        return {"seconds": least, "peak": max(rates, default=0.0)}

    def _peaks(self) -> Iterator[float]:
        if self._contestant == "einloom":
            from einloom.jit.peak import peak_flops

            yield self._threads * peak_flops("float32", 1, PEAK_SECONDS)
