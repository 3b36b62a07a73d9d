"""`EventLog`: what a search did, an event a line, compressed; `replayed_log` lets the same search propose it again.

    {"event": "begin", "version": 1, "operation": "gemm …", "machine": {…}, "known": […], "seed": 0, …}
    {"event": "trial", "schedule": "seq …", "status": "ok", "seconds": 0.0012}
    {"event": "end", "why": "200 evaluations"}

Lines are gzip's, flushed one by one: what a killed process left can be read up to its last event.
"""

from __future__ import annotations

import gzip
import json
import logging
import zlib
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, astuple, dataclass, field
from math import inf
from pathlib import Path
from typing import Any

from einloom import csp
from einloom.config import MOST_THREADS
from einloom.errors import ArgumentError, EinloomError, ScheduleError, UnsupportedTarget
from einloom.frozen import frozen
from einloom.ir.text import parse_operation, parse_schedule
from einloom.machine import Machine, Rates
from einloom.search.ranking import predicted_times
from einloom.search.search import Budget, Outcome, SearchRun, run_search
from einloom.space.on_cpu.rates import CpuRates
from einloom.space.on_cpu.space import CpuSpace
from einloom.targets.overhead import Overhead

__all__ = ["EventLog", "SearchSetup", "opened_log", "read_log", "replayed_log"]

MOST = 2**48
"""Bytes of a cache that no machine has."""

_log = logging.getLogger("einloom")

VERSION = 1

GZIP = 16 + zlib.MAX_WBITS
"""How zlib is told to read gzip's format."""


@frozen(slots=False)
class SearchSetup:
    """All that a search follows from, beside the times that it measures.

    Attributes:
        space: where it searches.
        strategy, seed: how.
        starts: schedules that are evaluated first.
        known: schedules with their seconds that were measured before; None for those that failed.
        ranked: whether proposals are ranked by the cost model.
    """

    space: CpuSpace
    strategy: str
    seed: int
    starts: tuple[str, ...] = ()
    known: tuple[tuple[str, float | None], ...] = ()
    ranked: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the setup as a JSON object."""
        space = self.space
        machine = asdict(space.machine) | {"features": sorted(space.machine.features)}
        return {
            "operation": str(space.operation),
            "machine": machine,
            "rates": None if space.rates is None else asdict(space.rates),
            "schedules": [str(each) for each in space.known],
            "threads": space.threads,
            "curves": space.curves,
            "teams": space.teams,
            "order": list(space.order),
            "strategy": self.strategy,
            "seed": self.seed,
            "starts": list(self.starts),
            "known": [list(each) for each in self.known],
            "ranked": self.ranked,
        }

    @staticmethod
    def from_json(told: dict[str, Any]) -> SearchSetup:
        """Return the setup that a JSON object describes.

        Raises:
            ScheduleError: it describes none.
        """
        try:
            rates, machine = told["rates"], dict[str, Any](told["machine"])
            if type(told["threads"]) is not int or not 1 <= told["threads"] <= MOST_THREADS:
                raise ValueError(f"threads {told['threads']!r}")
            machine["features"] = frozenset[str](machine["features"])
            machine["rates"] = machine["rates"] and Rates(**machine["rates"])
            _check_machine(machine)
            space = CpuSpace(
                parse_operation(told["operation"]),
                Machine(**machine),
                tuple(parse_schedule(each) for each in told["schedules"]),
                told["threads"],
                told["curves"],
                told.get("teams", False),
                tuple(told["order"]),
                None if rates is None else CpuRates(**rates),
                Overhead,
            )
            known = tuple((str(text), seconds) for text, seconds in told["known"])
            wrong = [each for _, each in known if each is not None and not _is_time(each)]
            if wrong or type(told["seed"]) is not int:
                raise ValueError(f"known times {wrong[:1]}, seed {told['seed']!r}")
            texts = [told["strategy"], *told["starts"], *told["order"]]
            if not all(isinstance(each, str) for each in texts):
                raise ValueError(f"strategy, starts and order {texts!r:.80}")
            return SearchSetup(space, told["strategy"], told["seed"], tuple(told["starts"]), known, told["ranked"])
        except (KeyError, TypeError, ValueError, UnsupportedTarget) as error:
            raise ScheduleError(f"this is no beginning of a search: {error!r:.200}") from None


def _check_machine(told: dict[str, Any]) -> None:
    """Refuse a machine that no kernel is generated for."""
    sizes = [told["l1d"], told["l2"], told["l3"], told["cores"]]
    if any(type(size) is not int or not 0 <= size < MOST for size in sizes) or not told["l1d"] * told["l2"]:
        raise ValueError(f"l1d, l2, l3 and cores {sizes!r:.80}")
    rates = () if told["rates"] is None else astuple(told["rates"])
    if not all(map(_is_time, rates)):
        raise ValueError(f"rates {rates!r:.80}")
    machine = Machine(**told)
    if machine.vectors.isa not in (None, machine.isa) or not isinstance(told["name"], str):
        raise ValueError(f"a machine {machine.name!r:.40} with {machine.vector} of {machine.isa!r:.40}")


class EventLog:
    """A log that is being written. Close it.

    Args:
        file: is written anew.
        setup: of the search.

    Raises:
        ArgumentError: the file cannot be written.
    """

    def __init__(self, file: Path, setup: SearchSetup) -> None:
        self._stream: gzip.GzipFile | None = None
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._stream = gzip.open(file, "wb")  # noqa: SIM115 - lives as long as the search
            self._put({"event": "begin", "version": VERSION, **setup.to_json()})
        except (OSError, ValueError) as error:  # ValueError: no path has a zero byte
            self._leave()
            raise ArgumentError(f"the log cannot be written\n  {error}") from None

    def trial(self, schedule: str, outcome: Outcome) -> None:
        """Write that a schedule was evaluated."""
        told: dict[str, Any] = {"event": "trial", "schedule": schedule, "status": outcome.status}
        self._write(told | ({"seconds": outcome.seconds} if outcome.status == "ok" else {}))

    def close(self, why: str = "") -> None:
        """Write why the search has ended, and end the file."""
        self._write({"event": "end", "why": why})
        self._leave()

    def _write(self, event: dict[str, Any]) -> None:
        try:
            self._put(event)
        except OSError as error:
            _log.warning("the log of the search is not written from here on: %s", error)
            self._leave()

    def _put(self, event: dict[str, Any]) -> None:
        if self._stream is not None:
            self._stream.write(json.dumps(event).encode() + b"\n")
            self._stream.flush(zlib.Z_SYNC_FLUSH)

    def _leave(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            with suppress(OSError):  # What could not be written before cannot be now.
                stream.close()


@contextmanager
def opened_log(file: Path | None, setup: SearchSetup) -> Generator[EventLog | None]:
    """Give a log, or None where no file is named."""
    log = None if file is None else EventLog(file, setup)
    try:
        yield log
    finally:
        if log is not None:
            log.close()


def read_log(file: Path) -> tuple[SearchSetup, list[tuple[str, Outcome]]]:
    """Return the setup of a logged search and its trials: schedules and what came of them.

    Raises:
        ScheduleError: the file is no log.
        OSError: it cannot be read.
    """
    events = list(_events(file))
    if not events or (events[0].get("event"), events[0].get("version")) != ("begin", VERSION):
        raise ScheduleError(f"{file} is no log of a search\n  `einloom tune --log FILE` writes one.")
    trials = [_trial(each) for each in events if each.get("event") == "trial"]
    return SearchSetup.from_json(events[0]), trials


def _trial(event: dict[str, Any]) -> tuple[str, Outcome]:
    schedule, status, seconds = event.get("schedule"), event.get("status"), event.get("seconds", inf)
    is_right = isinstance(schedule, str) and isinstance(status, str) and _is_time(seconds) == (status == "ok")
    if not is_right:
        raise ScheduleError(f"this is no trial of a search: {json.dumps(event)[:200]}")
    return str(schedule), Outcome(str(status), seconds)


def _is_time(seconds: Any) -> bool:
    return type(seconds) in (int, float) and 0 < seconds < inf


def _events(file: Path) -> Generator[dict[str, Any]]:
    """Yield the events of a file, up to where it is cut off."""
    try:
        text = zlib.decompressobj(GZIP).decompress(file.read_bytes())
    except zlib.error:
        return
    for line in text.splitlines():
        if not line.startswith(b"{"):
            return
        try:
            event: dict[str, Any] = json.loads(line)
        except (ValueError, RecursionError):
            return
        yield event


@dataclass
class _Logged:
    """An evaluator that says what the log says, and refuses any other proposal."""

    space: CpuSpace
    trials: Sequence[tuple[str, Outcome]]
    count: int = field(default=0)

    def evaluate(self, state: csp.State, best: float) -> Outcome:
        """Return what came of the next trial."""
        schedule, outcome = self.trials[self.count]
        self.count += 1
        found = str(self.space.schedule(state))
        if found != schedule:
            raise ScheduleError(
                f"trial {self.count} is another one than the log's: the space or the strategy has changed since\n"
                f"  here: {found}\n  log:  {schedule}"
            )
        return outcome


def replayed_log(file: Path) -> SearchRun:
    """Search again with the times of a log, and without measuring; every proposal has to be the log's.

    Raises:
        ScheduleError: the file is no log, or a proposal is another one.
        OSError: it cannot be read.
    """
    setup, trials = read_log(file)
    space = setup.space
    try:
        starts = [space.leaf(parse_schedule(text)).inner for text in setup.starts]
        known = [
            (space.leaf(parse_schedule(text)).inner, inf if seconds is None else seconds)
            for text, seconds in setup.known
        ]
    except EinloomError as error:
        raise ScheduleError(f"{file}: a schedule that was known is no leaf any more\n  {error}") from None
    budget = Budget(evaluations=len(trials))
    predict = predicted_times(space) if setup.ranked else None
    evaluator = _Logged(space, trials)
    return run_search(space, evaluator, budget, setup.strategy, setup.seed, starts=starts, known=known, predict=predict)
