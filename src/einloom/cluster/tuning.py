"""`tune` on a cluster: a search on every host that has the same processor, whose records come back as they arrive.

Hosts search with seeds of their own, one at a time each, so that no measurement disturbs another one; what a host has
measured is in the client's file at once. Workers of hosts that measure nothing, of whatever processor, compile what may
be measured next; where there are none, other workers of the same hosts do, while nothing is measured. A search whose
worker dies goes on, on its host or another one, from what was recorded: only the evaluation that it was at is lost.
"""

# pyright: standard
# Dask's types are unknown where it is not installed.

from __future__ import annotations

import tempfile
import uuid
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import distributed  # pyright: ignore[reportMissingImports]

from einloom.cluster.on_dask import RESOURCE, current_client, on_workers, prepare_workers
from einloom.cluster.peers import this_peer
from einloom.cluster.progress import shown_slices
from einloom.config import current_settings
from einloom.errors import ArgumentError, DeviceError, EinloomError
from einloom.frozen import frozen
from einloom.ir.operation import Operation
from einloom.ir.text import parse_operation
from einloom.jit.host import host
from einloom.machine import Machine
from einloom.search.claims import compiled_image
from einloom.search.records import Record, Records, chosen_file, records_at
from einloom.tuning import operation_of, tune_on_cpu

__all__ = ["tune_on_workers"]


LONGEST = 20.0
"""Seconds until a candidate that nobody has compiled is compiled where it is measured."""


@frozen(slots=False)
class _Compilers:
    """Workers that compile candidates, and whether they are on hosts that measure nothing."""

    workers: tuple[str, ...]
    apart: bool


class _Elsewhere:
    """Compiles candidates for this host on other workers.

    Args:
        client: of Dask.
        compilers: who compiles.
    """

    def __init__(self, client: Any, compilers: _Compilers) -> None:
        self.client, self.compilers = client, compilers
        self._begun: dict[str, Any] = {}

    def ahead(self, operation: Operation, schedule: str) -> None:
        """Begin to compile, where that disturbs no measurement."""
        if self.compilers.apart and schedule not in self._begun:
            self._begun[schedule] = self._submitted(operation, schedule)

    def image(self, operation: Operation, schedule: str) -> bytes | None:
        """Return the image; None where nobody could compile it: whoever measures it says why."""
        future = self._begun.pop(schedule, None) or self._submitted(operation, schedule)
        try:
            return future.result(timeout=LONGEST)
        except (EinloomError, distributed.KilledWorker, distributed.CancelledError, TimeoutError):
            return None

    def _submitted(self, operation: Operation, schedule: str) -> Any:
        workers = list(self.compilers.workers)
        key = f"compile-{uuid.uuid4().hex}"
        given = str(operation), schedule, host()
        return self.client.submit(_compiled, *given, key=key, workers=workers, allow_other_workers=True, pure=False)


def _compiled(operation: str, schedule: str, machine: Machine) -> bytes:
    return compiled_image(parse_operation(operation), schedule, machine).to_bytes()


@frozen(slots=False)
class _Search:
    """One host's search: the arguments of `einloom.tune`, its seed, the topic of its records, and who compiles."""

    what: str
    shapes: tuple[Any, ...]
    evaluations: int
    options: dict[str, Any]
    topic: str
    seed: int
    compilers: _Compilers

    def run(self) -> int:
        """Search on a worker; return how many evaluations this host has made."""
        worker: Any = distributed.get_worker()
        client: Any = distributed.get_client()
        known = [message for _, message in client.get_events(self.topic)]
        done = sum(seed == self.seed for seed, _ in known)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "records.jsonl")
            Records(file).append(filter(None, (Record.parse(line) for _, line in known)))
            sent = len(known)

            def send(run: Any = None) -> None:
                nonlocal sent
                lines = file.read_text().splitlines()
                for line in lines[sent:]:
                    worker.log_event(self.topic, [self.seed, line])
                sent = len(lines)

            left = max(self.evaluations - done, 1)
            operation = operation_of(self.what, self.shapes, self.options["dtype"])
            strategy, threads = self.options["strategy"], self.options["threads"]
            compiler = _Elsewhere(client, self.compilers) if self.compilers.workers else None
            tune_on_cpu(operation, left, strategy, self.seed, file, threads, None, send, compiler)
            send()
        return done + left


def tune_on_workers(
    equation: str,
    shapes: Sequence[Any],
    client: Any,
    budget: int,
    seed: int,
    records: Any,
    progress: bool,
    options: dict[str, Any],
) -> tuple[Record | None, dict[str, int], Path | None]:
    """Return the best record, evaluations by host, and the file of records; the arguments are those of `tune`."""
    client = current_client(client)
    hosts, compilers = _hosts(client)
    file = chosen_file(current_settings().records if records is None else records)
    into = None if file is None else records_at(file)
    prepare_workers(client)
    topic, counts, found = f"einloom-{uuid.uuid4().hex}", Counter[str](), list[Record]()
    share = -(-budget // len(hosts))
    searches = {
        name: _Search(equation, tuple(shapes), share, options, topic, seed + number, compilers)
        for number, name in enumerate(hosts)
    }
    by_seed = {search.seed: name for name, search in searches.items()}
    with shown_slices(progress, share * len(hosts), f"tuning {equation}") as advance:

        def arrived(event: Any) -> None:
            own, line = event[1]
            record = Record.parse(line)
            if record is not None:
                counts[by_seed[own]] += not record.confirmed
                found.append(record)
                advance(int(not record.confirmed))
                if into is not None:
                    into.append([record])

        client.subscribe_topic(topic, arrived)
        try:
            _finish(client, searches, hosts)
        finally:
            client.unsubscribe_topic(topic)
    confirmed = [record for record in found if record.confirmed]
    best = min(confirmed, key=lambda record: record.seconds, default=None)
    if best is not None and into is not None and len(confirmed) > 1:
        into.append([best])  # The last one of a problem counts.
    return best, dict(counts), file


def _finish(client: Any, searches: dict[str, _Search], hosts: dict[str, str]) -> None:
    futures = [
        client.submit(
            _Search.run,
            search,
            key=f"tune {search.what.replace('->', '→')}-{uuid.uuid4().hex}",
            workers=[hosts[name]],
            allow_other_workers=True,
            resources={RESOURCE: 1},
            pure=False,
        )
        for name, search in searches.items()
    ]
    try:
        client.gather(futures)
    except distributed.KilledWorker as error:
        raise DeviceError(
            f"tuning: {error}\n  What was measured is recorded: the same call goes on from there."
        ) from error


def _processor() -> tuple[str, ...]:
    """What records of a machine are found by, and einloom's version."""
    return host().name, host().vector, this_peer().version


def _hosts(client: Any) -> tuple[dict[str, str], _Compilers]:
    """Return a worker of every host with the processor that most of them have, and who compiles for them.

    Raises:
        ArgumentError: there is no worker.
    """
    processors = on_workers(client, _processor)
    if not processors:
        raise ArgumentError(f"the cluster has no worker\n  Start some: {client}")
    told = client.scheduler_info(n_workers=-1)["workers"]
    (most, _), *_ = Counter(processors.values()).most_common(1)
    there = {address: told[address]["host"] for address in processors if address in told}
    hosts = {there[address]: address for address in sorted(there, reverse=True) if processors[address] == most}
    able = [address for address in there if processors[address][-1] == most[-1] and address not in hosts.values()]
    apart = tuple(address for address in able if there[address] not in hosts)
    return hosts, _Compilers(apart or tuple(able), bool(apart))
