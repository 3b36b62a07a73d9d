"""`tune` and what it returns: a search for a faster schedule on every host of a cluster. It is public."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from einloom.frozen import frozen
from einloom.search.records import Record

__all__ = ["ClusterTuned", "tune"]


@frozen(slots=False)
class ClusterTuned:
    """What a search on several hosts found.

    Attributes:
        best: the record of the fastest schedule, measured again in turns with the heuristic's; None: nothing was.
        evaluations: how many there were on each host.
        file: where records lie; None: nowhere.
    """

    best: Record | None
    evaluations: dict[str, int]
    file: Path | None

    @property
    def speedup(self) -> float:
        """How many times as fast as the heuristic's schedule the best one is."""
        return self.best.heuristic / self.best.seconds if self.best and self.best.seconds else 1.0


def tune(
    equation: str,
    *shapes: Any,
    client: Any = None,
    budget: int = 200,
    strategy: str = "tag",
    seed: int = 0,
    records: Any = None,
    threads: int | None = None,
    dtype: object = None,
    progress: bool = False,
) -> ClusterTuned:
    """Search for a faster schedule on every host of a Dask cluster that has the processor most of them have.

    Records come back as they arrive. The client's `einsum` uses the best schedule where it has that processor, too;
    elsewhere merge the file with `einloom records merge`.

    Args:
        equation: one that takes one operation.
        shapes: one an operand.
        client: of Dask; the current one if None.
        budget: evaluations, all hosts together.
        strategy: as for `einloom.tune`.
        seed: of the first host; every other one has the next.
        records: where results are kept: None for the settings', False for nowhere, or a path.
        threads: how many threads a measurement takes; the workers' settings if None.
        dtype: type to compute in; float64 if None.
        progress: whether to show how far it is.

    Raises:
        ArgumentError: there is no client or no worker.
        DeviceError: workers died again and again.
    """
    from einloom.cluster.tuning import tune_on_workers  # Late: with Dask.

    options = {"strategy": strategy, "threads": threads, "dtype": dtype}
    best, evaluations, file = tune_on_workers(equation, shapes, client, budget, seed, records, progress, options)
    return ClusterTuned(best, evaluations, file)
