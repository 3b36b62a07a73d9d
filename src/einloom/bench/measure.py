"""`measure_case`: run a case with einloom and its peers in turns, each in a process of its own. It prints nothing.

row = measure_case(Case.contraction("ab,bc->ac", {"a": 8, "b": 8, "c": 8}), [], Options(runs=2), host())
row.ours.median, row.share
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from einloom.bench.cases import Case, Ceiling
from einloom.bench.contestant import contestant_process
from einloom.bench.peers.contestants import EINLOOM, Contestant, Variant, isa_environment, variants_of
from einloom.errors import DeviceError
from einloom.frozen import frozen
from einloom.machine import Machine

__all__ = ["Figures", "Options", "Row", "measure_case"]

CEILING_SECONDS = 0.01
"""How long the machine's peak is measured before and after each of einloom's turns."""


@frozen
class Options:
    """How to measure.

    Attributes:
        threads: how many each contestant may use.
        runs: rounds, in each of which every contestant has its turn.
        seconds: how long a turn takes at least.
        target: einloom's target, `"cpu"` or `"interpreter"`.
        vector: the vector ISA that every contestant is put on; None leaves each its own choice.
        timeout: seconds after which a contestant that prepares or measures is given up.
    """

    threads: int = 1
    runs: int = 5
    seconds: float = 0.05
    target: str = "cpu"
    vector: str | None = None
    timeout: float = 180.0


@frozen
class Figures:
    """What was seen of one contestant, at one setting, on one case.

    Attributes:
        contestant, variant: who, and at which setting.
        seconds: for each round, the fastest time of the work once.
        compile_seconds: from the description to something callable, in a fresh process.
        right, elements, error: whether the result is right, on how many elements, its largest error as a share of the
            tolerance.
        note: what a reader should know.
        problem: why there are no figures, or "".
        version: of the contestant.
        import_seconds: how long `import einloom` took in the process, after NumPy's import.
    """

    contestant: str
    variant: str
    seconds: tuple[float, ...] = ()
    compile_seconds: float | None = None
    right: bool = True
    elements: int = 0
    error: float = 0.0
    note: str = ""
    problem: str = ""
    version: str = ""
    import_seconds: float = 0.0

    @property
    def usable(self) -> bool:
        """Whether there are figures, of a right result."""
        return bool(self.seconds) and self.right and not self.problem

    @property
    def median(self) -> float:
        """Median over the rounds, in seconds."""
        return statistics.median(self.seconds)


@frozen
class Row:
    """One case: einloom's figures, and all settings of all peers.

    Attributes:
        ceilings: what the machine reached just before and just after each of einloom's turns, for each of the case's
            `ceilings`: flop a second of generated multiply-adds on one thread, times the threads; bytes a second of a
            plain copy, or of reading, on all threads.
    """

    case: Case
    ours: Figures
    peers: tuple[Figures, ...]
    ceilings: Mapping[Ceiling, tuple[float, ...]]

    def best(self, contestant: str) -> Figures:
        """Return the figures of a peer at the setting that is best for it."""
        mine = [figures for figures in self.peers if figures.contestant == contestant]
        return min((f for f in mine if f.usable), key=lambda f: f.median, default=mine[0])

    def ratio(self, contestant: str) -> float | None:
        """Return how many times as fast as the peer einloom is: the median of the rounds' ratios."""
        theirs = self.best(contestant)
        if not (self.ours.usable and theirs.usable):
            return None
        return statistics.median(t / o for t, o in zip(theirs.seconds, self.ours.seconds))

    @property
    def share(self) -> float | None:
        """The share of the case's `ceiling` that einloom reaches."""
        return self._share_of(self.case.ceiling)

    @property
    def bound_share(self) -> float | None:
        """The share of the case's own bound: of that ceiling which leaves least to gain.

        That is the peak where arithmetic takes longer than to move every tensor once, else the copy or the reading.
        """
        return max(filter(None, map(self._share_of, self.case.ceilings)), default=None)

    @property
    def ceiling(self) -> float:
        """The best that the machine reached under the case's `ceiling`, 0 where it was not measured."""
        return self.rate_of(self.case.ceiling)

    def rate_of(self, ceiling: Ceiling) -> float:
        """Return the best that the machine reached: flop or bytes a second; 0 where it was not measured."""
        return max(self.ceilings.get(ceiling, ()), default=0.0)

    def _share_of(self, ceiling: Ceiling) -> float | None:
        rate = self.rate_of(ceiling)
        return self.case.amount_under(ceiling) / self.ours.median / rate if self.ours.usable and rate else None


def measure_case(
    case: Case,
    peers: Sequence[Contestant],
    options: Options,
    machine: Machine,
    tell: Callable[[str], object] = lambda phase: None,
) -> Row:
    """Run one case with einloom and peers: start all, prepare and check one after the other, then take turns.

    `tell` is called with what begins: a few words for whoever waits.
    """
    with ExitStack() as stack:
        clients = [_Client(EINLOOM.name, Variant("default"), options)]
        clients += [_Client(peer.name, variant, options) for peer in peers for variant in variants_of(peer, machine)]
        for client in clients:
            stack.enter_context(client.process)
        tell(f"{len(clients)} processes start" if len(clients) > 1 else "a process starts")
        for client in clients:
            client.start_up()
        for client in clients:
            tell(f"{client.figures.contestant} computes and is checked")
            client.prepare(case)
        ceilings = _take_turns(clients, case, tell)
        ours, *others = [client.figures for client in clients]
        return Row(case, ours, tuple(others), ceilings)


def _take_turns(clients: list[_Client], case: Case, tell: Callable[[str], object]) -> dict[Ceiling, tuple[float, ...]]:
    ours = clients[0]
    seen: dict[Ceiling, list[float]] = {ceiling: [] for ceiling in case.ceilings}

    def look() -> None:
        for ceiling, rates in seen.items():
            rates.append(ours.rate_of(ceiling))

    for turn in range(ours.options.runs):
        tell(f"round {turn + 1} of {ours.options.runs}")
        first = turn % len(clients)
        for client in clients[first:] + clients[:first]:
            if client is ours:
                look()
            client.measure()
            if client is ours:
                look()
    return {ceiling: tuple(filter(None, rates)) for ceiling, rates in seen.items()}


class _Client:
    """A contestant's process and what has been seen of it; a failure ends its part, not the measurement."""

    def __init__(self, contestant: str, variant: Variant, options: Options) -> None:
        self.options = options
        environment = {**isa_environment(options.vector), **variant.environment}
        self.process = contestant_process(contestant, options.threads, environment)
        self.figures = Figures(contestant, variant.name)

    def start_up(self) -> None:
        try:
            hello = self.process.start_up(self.options.timeout)
        except DeviceError as error:
            self._see(problem=str(error))
        else:
            self._see(version=hello["version"], import_seconds=hello["import_seconds"])

    def prepare(self, case: Case) -> None:
        answer = self._ask("prepare", case=case.to_json(), threads=self.options.threads, target=self.options.target)
        self._see(**answer)

    def measure(self) -> None:
        if self.figures.right:
            answer = self._ask("measure", seconds=self.options.seconds)
            if answer:
                self._see(seconds=(*self.figures.seconds, answer["seconds"]))

    def rate_of(self, ceiling: Ceiling) -> float:
        """Return what the machine can do at best, 0 where it cannot be measured: that is no failure of the client."""
        before = self.figures
        answer = self._ask(ceiling, seconds=CEILING_SECONDS)
        if not answer:
            self.figures = before
        return answer.get("rate", 0.0)

    def _ask(self, do: str, **request: Any) -> dict[str, Any]:
        """Return the answer, {} after a failure."""
        if self.figures.problem:
            return {}
        try:
            answer = self.process.ask(do, self.options.timeout, **request)
        except DeviceError as error:
            answer = {"problem": str(error)}
        if "problem" in answer:
            self._see(problem=answer["problem"])
            return {}
        return answer

    def _see(self, **seen: Any) -> None:
        self.figures = replace(self.figures, **seen)
