"""`Measurement`: evaluates schedules in a process apart, which may crash or hang; and measures the best ones again."""

from __future__ import annotations

import base64
import math
import statistics
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import inf
from typing import Any, Protocol, Self

from einloom import csp
from einloom.errors import DeviceError, InternalError, ShapeError
from einloom.ir.operation import Operation
from einloom.ir.schedule import Schedule
from einloom.search.process import Process
from einloom.search.search import Outcome

__all__ = [
    "LEAST_ROUNDS",
    "LEAST_WAIT",
    "Compiler",
    "Measurement",
    "ScheduleSpace",
    "Timing",
    "interval",
    "is_faster",
    "median",
    "remeasured",
    "search_end",
]

CODE = "from einloom.search.worker import serve\nserve()\n"

HOPELESS = 3.0
"""How many times the best time a first call may take to be repeated."""

DRIFT = 20
"""After so many evaluations the best schedule is measured again, which tells whether the machine has changed."""

LEAST_WAIT = 1.0
"""Seconds that the last candidates of a search may take beyond its end, within those of the budget."""

LAST_SHARE = 0.2
"""Of the seconds of a budget, what comparing the finalists may take, beside a fresh process for it."""

START_UP = 120.0
"""Seconds that a process may take to start, and to compute what the result should be."""


class ScheduleSpace(Protocol):
    """A space whose leaves are schedules."""

    def schedule(self, state: csp.State) -> Schedule:
        """Return the schedule of a state that has nothing open."""
        ...


class Compiler(Protocol):
    """Compiles candidates somewhere else than where they are measured."""

    def ahead(self, operation: Operation, schedule: str) -> None:
        """Begin to compile what may be measured soon."""
        ...

    def image(self, operation: Operation, schedule: str) -> bytes | None:
        """Return a program's image as bytes; None: it is to be compiled where it is measured."""
        ...


class Timing(ABC):
    """An evaluator of leaves, as texts that a process apart understands. Use it in a `with` block, or `close` it.

    Args:
        code: what the process runs.
        what: what its requests call a text.
        threads: how many may share the work.
        seconds: how long a good candidate is timed.
        timeout: seconds that compiling and running a candidate may take beside its timed calls.

    Attributes:
        drift: the times of the best leaf so far at each time that it was measured again.
        is_checked: whether a process has compared the leaf that is known to be right with the interpreter.
        huge_pages: whether arrays of the next process may lie on huge pages, if the system has any left.
        end: by the monotonic clock, when every candidate has had its time.
    """

    def __init__(self, code: str, what: str, threads: int, seconds: float, timeout: float) -> None:
        self.code, self.what = code, what
        self.threads, self.seconds, self.timeout = threads, seconds, timeout
        self.drift: list[float] = []
        self.is_checked = False
        self.huge_pages = True
        self.end = inf
        self._process: Process | None = None
        self._best: tuple[float, str] = inf, ""
        self._count = 0

    @abstractmethod
    def text(self, state: csp.State) -> str:
        """Return the text of the leaf that a state is at."""

    @abstractmethod
    def prepared(self) -> dict[str, Any]:
        """Return what the process is told first: the problem, and a leaf that is known to be right."""

    def evaluate(self, state: csp.State, best: float) -> Outcome:
        """Return what came of the leaf that a state is at."""
        text = self.text(state)
        outcome = self.time(text, best)
        if outcome.status == "ok" and outcome.seconds < self._best[0]:
            self._best = outcome.seconds, text
        self._count += 1
        if self._count % DRIFT == 0 and self._best[1] and outcome.status != "late":
            self.drift.append(self.time(self._best[1], inf).seconds)
        return outcome

    def time(self, text: str, best: float = inf) -> Outcome:
        """Return what came of a text; one whose first call is hopelessly slower than `best` is called once."""
        limit = whole = self.timeout + (0 if best == inf else 10 * best)
        try:
            given: dict[str, Any] = {self.what: text, "seconds": self.seconds, "hopeless": min(HOPELESS * best, 1e9)}
            worker, compiled = self._worker(), self.compiled(text)
            limit = min(whole, max(self.end - time.monotonic(), 0.0))
            answer = worker.ask("evaluate", limit, **given, **compiled)
        except DeviceError as error:
            self.close()
            if "took longer" not in str(error):
                return Outcome("crash", note=str(error))
            return Outcome("timeout" if limit == whole else "late", note=str(error))
        seconds = answer.get("seconds", inf)
        return Outcome(answer["status"], seconds, answer.get("note", ""), code=answer.get("code", ""))

    def compiled(self, text: str) -> dict[str, Any]:
        """Return what the process is told of a text that was compiled elsewhere; nothing: it compiles it."""
        return {}

    def start(self) -> float:
        """Start the process, and return how many seconds that took."""
        began = time.monotonic()
        self._worker()
        return time.monotonic() - began

    def restart(self) -> float:
        """Start a fresh process, and return how many seconds that took; if it fails, `time` tries again."""
        self.close()
        began = time.monotonic()
        try:
            self._worker()
        except DeviceError:
            self.close()
        return time.monotonic() - began

    def _worker(self) -> Process:
        """Return the process, a new one if the last one has died."""
        if self._process is None:
            variables = {"EINLOOM_RECORDS": "off"} | ({} if self.huge_pages else SMALL_PAGES)
            self._process = Process("the process of candidates", self.code, self.threads, variables)
            self._process.start_up(START_UP)
            told = self.prepared()
            answer = self._process.ask("prepare", START_UP, **told)
            if answer["status"] != "ok":
                self.close()
                note = str(answer.get("note"))
                if note.startswith(MemoryError.__name__):
                    raise ShapeError(
                        f"the operands and what they are compared with find no memory: {note}\n  Give smaller sizes."
                    )
                raise InternalError("\n".join([note, *map(str, told.values())]))
            self.is_checked = True
        return self._process

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.close()
            self._process = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class Measurement(Timing):
    """An evaluator of schedules; `Timing` says what the last three arguments are.

    Args:
        operation: what is computed.
        space: whose leaves are evaluated.
        heuristic: a schedule that is known to be right; what it computes is compared with the interpreter.
        compiler: what compiles candidates; None: the process that measures them.
    """

    def __init__(
        self,
        operation: Operation,
        space: ScheduleSpace,
        heuristic: Schedule,
        threads: int = 1,
        seconds: float = 0.02,
        timeout: float = 10.0,
        compiler: Compiler | None = None,
    ) -> None:
        super().__init__(CODE, "schedule", threads, seconds, timeout)
        self.operation, self.space, self.heuristic, self.compiler = operation, space, heuristic, compiler

    def propose(self, state: csp.State) -> None:
        """Hear that the leaf which a state is at may be evaluated soon."""
        if self.compiler is not None:
            self.compiler.ahead(self.operation, self.text(state))

    def compiled(self, text: str) -> dict[str, Any]:
        """Return the image that the compiler made, if there is one."""
        image = None if self.compiler is None else self.compiler.image(self.operation, text)
        return {} if image is None else {"image": base64.b64encode(image).decode()}

    def text(self, state: csp.State) -> str:
        """Return the schedule of a leaf."""
        return str(self.space.schedule(state))

    def prepared(self) -> dict[str, Any]:
        """Return the operation and the heuristic's schedule, which is compared with the interpreter once."""
        told = {"operation": str(self.operation), "threads": self.threads, "schedule": str(self.heuristic)}
        return {**told, "checked": self.is_checked}


LEAST_ROUNDS = 3
"""Rounds that are measured however long they take."""

ROUNDS_OF_A_PROCESS = 3
"""Rounds after which the next ones run in a fresh process: where its memory lies favours one schedule or another in all
of its rounds, which are as good as one. Of nine rounds `is_faster` forgives one, and so no process."""

SMALL_PAGES = {"NUMPY_MADVISE_HUGEPAGE": "0"}
"""What makes NumPy ask for no huge pages. Whether a caller's arrays lie on them is chance, and decides between
schedules that read rows which lie apart, up to 1.7 times as fast there: what is faster has to be so on either kind."""

OUTSIDE = 0.025
"""Probability that a median lies below an interval, and that it lies above it."""

LEAST_GAIN = 1.01
"""How many times as fast as the heuristic's a schedule must be to take its place: less is noise."""


def search_end(end: float, seconds: float, start: float, began: float, turn: float = 0.0) -> float:
    """Return when a search ends whose budget ends at a time: what compares the finalists has its share, and a process.

    Half of what is left is the search's all the same, so that a short budget evaluates something.

    >>> search_end(end=160.0, seconds=60.0, start=1.0, began=102.0), search_end(103.0, 3.0, 1.0, 101.5)
    (147.0, 102.25)

    Args:
        end: of the budget, by the monotonic clock.
        seconds: of the budget.
        start: seconds that a process takes to start.
        began: when the search began.
        turn: seconds that a finalist takes in a round.
    """
    share = max(LAST_SHARE * seconds, 2 * LEAST_ROUNDS * turn)
    return max(end - share - start, min((began + end) / 2, end))


def remeasured(
    measurement: Timing,
    schedules: Sequence[str],
    rounds: int,
    seconds: float = math.inf,
    least: int = LEAST_ROUNDS,
) -> list[list[float]]:
    """Return the times of some schedules in rounds, in each of which every schedule has its turn.

    A fresh process times the first `ROUNDS_OF_A_PROCESS` of them, another one the next ones, every second one on small
    pages; a single schedule is compared with nothing, and needs none. A schedule that fails has no times. But for the
    `least` ones no round begins that would end after `seconds`, and what has taken so long beside the start of a
    process ends: a round that is not whole does not count, and of fewer than the `least` ones nothing does.
    """
    began = last = time.monotonic()
    first = longest = 0.0
    times: list[list[float]] = [[] for _ in schedules]
    failed: set[int] = set()
    measurement.end = began + seconds
    for turn in range(rounds if seconds > 0 else 0):
        now = time.monotonic()
        begins = turn % ROUNDS_OF_A_PROCESS == 0 and len(schedules) > 1
        if turn == 1:
            first = now - last  # a process started, too
        elif (turn - 1) % ROUNDS_OF_A_PROCESS:
            longest = max(longest, now - last)
        last = now
        if turn >= least and now + (max(first, longest) if begins else longest) > began + seconds:
            break
        if begins:
            measurement.huge_pages = turn // ROUNDS_OF_A_PROCESS % 2 == 0
            measurement.end = began + seconds + measurement.restart()
        for place in range(len(schedules)):
            each = (place + turn) % len(schedules)
            if each in failed:
                continue
            outcome = measurement.time(schedules[each])
            if outcome.status == "late":
                return [of[:turn] if turn >= least else [] for of in times]
            if outcome.status == "ok":
                times[each].append(outcome.seconds)
            else:
                failed.add(each)
                times[each].clear()
    return times


def interval(times: Sequence[float]) -> tuple[float, float]:
    """Return an interval that holds the median with 95 % probability or more: by ranks, which assume nothing.

    Fewer than six times cannot say that much: of them it is the least and the greatest.

    >>> interval([3.0, 1.0, 2.0, 5.0, 4.0, 6.0])
    (1.0, 6.0)
    >>> interval([float(time) for time in range(1, 10)])
    (2.0, 8.0)
    """
    ordered, below = sorted(times), 0
    outside = ways = 1  # of 2^n equally likely ways to lie beside the median: those with so few times below it
    while True:
        ways = ways * (len(ordered) - below) // (below + 1)
        outside += ways
        if outside > OUTSIDE * 2 ** len(ordered):
            return ordered[below], ordered[-1 - below]
        below += 1


def is_faster(times: Sequence[float], before: Sequence[float]) -> bool:
    """Whether something is surely faster than something else that was timed in the same rounds.

    Of the gains of the rounds, the median must be more than noise, and the interval that holds it must lie above 1.

    >>> is_faster([0.9, 0.8, 0.9], [1.0, 1.0, 1.0]), is_faster([0.9, 0.8, 1.1], [1.0, 1.0, 1.0])
    (True, False)
    """
    gains = [slow / fast for fast, slow in zip(times, before)]
    return bool(gains) and interval(gains)[0] > 1 and median(gains) >= LEAST_GAIN


def median(times: Sequence[float]) -> float:
    """Return the median, inf of nothing."""
    return statistics.median(times) if times else inf
