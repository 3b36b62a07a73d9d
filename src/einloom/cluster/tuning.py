"""`tune` on a cluster: a search on every host that has the same processor, whose records come back as they arrive.

Hosts search with seeds of their own, one at a time each, so that no measurement disturbs another one; what a host has
measured is in the client's file at once. A search whose worker dies goes on, on its host or another one, from what was
recorded: only the evaluation that it was at is lost.
"""

# pyright: standard
# Dask's types are unknown where it is not installed.

from __future__ import annotations

import tempfile
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import distributed  # pyright: ignore[reportMissingImports]

from einloom.cluster.on_dask import RESOURCE, current_client, on_workers, prepare_workers
from einloom.cluster.peers import this_peer
from einloom.cluster.progress import shown_slices
from einloom.config import current_settings
from einloom.errors import ArgumentError, DeviceError
from einloom.jit.host import host
from einloom.search.records import Record, Records, chosen_file, records_at
from einloom.tuning import tune as tune_here

__all__ = ["tune_on_workers"]


@dataclass(frozen=True)
class _Search:
    """One host's search: the arguments of `einloom.tune`, its seed, and the topic of its records."""

    what: str
    shapes: tuple[Any, ...]
    evaluations: int
    options: dict[str, Any]
    topic: str
    seed: int

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
            tune_here(self.what, *self.shapes, budget=left, seed=self.seed, records=file, progress=send, **self.options)
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
    hosts = _hosts(client)
    file = chosen_file(current_settings().records if records is None else records)
    into = None if file is None else records_at(file)
    prepare_workers(client)
    topic, counts, found = f"einloom-{uuid.uuid4().hex}", Counter[str](), list[Record]()
    share = -(-budget // len(hosts))
    searches = {
        name: _Search(equation, tuple(shapes), share, options, topic, seed + number)
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
            _finish(client, searches)
        finally:
            client.unsubscribe_topic(topic)
    confirmed = [record for record in found if record.confirmed]
    best = min(confirmed, key=lambda record: record.seconds, default=None)
    if best is not None and into is not None and len(confirmed) > 1:
        into.append([best])  # The last one of a problem counts.
    return best, dict(counts), file


def _finish(client: Any, searches: dict[str, _Search]) -> None:
    futures = [
        client.submit(
            _Search.run,
            search,
            key=f"tune {search.what.replace('->', '→')}-{uuid.uuid4().hex}",
            workers=[name],
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


def _hosts(client: Any) -> list[str]:
    """Return the hosts of workers with the processor that most of them have, one name for each.

    Raises:
        ArgumentError: there is no worker.
    """
    processors = on_workers(client, _processor)
    if not processors:
        raise ArgumentError(f"the cluster has no worker\n  Start some: {client}")
    told = client.scheduler_info(n_workers=-1)["workers"]
    (most, _), *_ = Counter(processors.values()).most_common(1)
    return sorted({told[address]["host"] for address, found in processors.items() if found == most and address in told})
