"""Units of a contraction as tasks of Dask: scattered operands, units, the tree of their sums, parts of the result.

A worker computes one unit at a time on all of its threads, which are einloom's team meanwhile: the resource `einloom`,
of which every worker has 1, tells Dask. When a worker dies, Dask computes again what it held; where scattered operands
are lost with it, they are scattered again.
"""

# pyright: standard
# Dask's types are unknown where it is not installed.

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import distributed  # pyright: ignore[reportMissingImports]
import numpy as np
from distributed import KilledWorker, WorkerPlugin  # pyright: ignore[reportMissingImports]
from distributed.threadpoolexecutor import thread_state  # pyright: ignore[reportMissingImports]

from einloom.arrays.library import Array
from einloom.cluster.peers import check_peers, this_peer
from einloom.cluster.run import Event
from einloom.cluster.shared import Shared, UnitTask
from einloom.errors import ArgumentError, DeviceError
from einloom.expression.units import added
from einloom.frozen import frozen
from einloom.plan.units import Unit, Work, below, folded

__all__ = ["RESOURCE", "compute_on_workers", "current_client", "on_workers", "prepare_workers"]

Value = TypeVar("Value")

RESOURCE = "einloom"
SUMMANDS = 8
"""Nodes that a task adds up, a power of two: few tasks, and few results that wait."""

LARGE_TASKS = 4
"""Tasks a worker that the first three quarters of the slices make, of several units each; in the rest each is a task.

Fewer tasks cost Dask's processes less, and the small ones at the end let workers end together."""

RESULTS_BYTES = 2**24
"""Results of a task that is larger for the sake of fewer tasks, in bytes at most."""

TRIES = 20
ROUNDS = 16
"""How often operands are scattered again after all workers that had them died."""

Pieces = tuple[tuple[Array, ...], tuple[Event, ...]]
"""The results of units or of a sum of some, and who did what for them."""


def compute_on_workers(shared: Shared, client: Any) -> tuple[Array, list[Event]]:
    """Return the result, and who did what.

    Raises:
        ArgumentError: there is no client, or workers have too little memory.
        UnsupportedTarget: a worker would compute other bits.
        DeviceError: workers died again and again.
    """
    assert shared.program is not None
    client = current_client(client)
    task = shared.task(shared.program)
    once = {id(array): Operand(array) for array in shared.operands}
    operands = [once[id(array)] for array in shared.operands]
    check_peers(on_workers(client, this_peer), task.peer)
    _check_memory(client, task)
    prepare_workers(client)
    result = np.empty(task.program.output_shape, task.program.dtype)
    crowd = _units_of_large_tasks(client, task)
    missing, events = _grouped(task.program.work, crowd), list[Event]()
    with _shown(client, task, shared.progress) as topic:
        for _ in range(ROUNDS):
            sent = _scattered(client, operands), _scattered(client, [task])[0]
            submission = _Submission(client, task, *sent, topic, crowd)
            missing = submission.gather(missing, result, events)
            if not missing:
                return result, events
    raise DeviceError(f"{_where(task)}: all workers that had the operands died, {ROUNDS} times{_resumable(task)}")


def _units_of_large_tasks(client: Any, task: UnitTask) -> int:
    """Return how many units, or groups of places that are handed out together, a large task has: a power of two."""
    work, workers = task.program.work, len(client.scheduler_info(n_workers=-1)["workers"])
    tasks = work.tasks.total()
    room = RESULTS_BYTES // max(task.program.part_bytes * work.neighbours, 1)
    most = min(3 * tasks // (4 * LARGE_TASKS * max(workers, 1)), room if work.grain >= work.slicing.leaves else tasks)
    return 1 << max(most, 1).bit_length() - 1


def _grouped(work: Work, crowd: int) -> list[range]:
    """Return the places of tasks: whole ones that are among the first are joined."""
    together = list(work.together)
    if work.grain < work.slicing.leaves:
        return together
    large = 3 * len(together) // (4 * crowd) * crowd
    firsts = [range(together[i].start, together[i + crowd - 1].stop) for i in range(0, large, crowd)]
    return firsts + together[large:]


def current_client(client: Any) -> Any:
    """Return a client, or else the current one.

    Raises:
        ArgumentError: there is none, it is closed, or it is one of an event loop; or this is a task that holds one of
            its worker's threads, for which the tasks of its call would wait.
    """
    if client is None:
        client = _default_client()
    if not isinstance(client, distributed.Client):
        raise ArgumentError(f"client={client!r:.80} is no client of Dask\n  Make one, distributed.Client(…).")
    if client.asynchronous:
        raise ArgumentError("the client of Dask is asynchronous\n  Pass one that is not, from outside its event loop.")
    if client.status != "running":
        raise ArgumentError(f"the client of Dask is {client.status}\n  Make a new one, distributed.Client(…).")
    if vars(thread_state).get("proceed"):
        raise ArgumentError(
            "a task of Dask would wait for tasks of its own, on a thread that they may need\n"
            "  Let it leave the thread meanwhile: with distributed.worker_client() as client."
        )
    return client


def _default_client() -> Any:
    try:
        return distributed.default_client()
    except ValueError:
        raise ArgumentError(
            "there is no client of Dask\n  Make one, client = distributed.Client(…), or pass comm= for MPI."
        ) from None


def on_workers(client: Any, function: Callable[[], Any]) -> dict[str, Any]:
    """Return what a function gives on every worker, by address; those that die meanwhile are left out."""
    return client.run(function, on_error="ignore")


def prepare_workers(client: Any) -> None:
    """Let workers compute one unit at a time.

    Raises:
        DeviceError: they cannot be reached.
    """
    _until_answered(client, lambda: client.register_plugin(Team()))


def _until_answered(client: Any, ask: Callable[[], Value]) -> Value:
    """Return what workers answer; they are asked again where one has died of which the scheduler has not heard.

    Raises:
        TimeoutError: there is none.
        DeviceError: they cannot be reached.
    """
    for _ in range(TRIES):
        try:
            return ask()
        except TimeoutError:
            raise
        except OSError:
            time.sleep(0.2)
    raise DeviceError(f"workers die as soon as they are spoken to\n  Look at their logs: {client}")


class Team(WorkerPlugin):
    """Lets a worker compute one unit at a time; workers that come later get it, too."""

    name = RESOURCE
    idempotent = True

    async def setup(self, worker: Any) -> None:
        """Tell Dask that there is one team."""
        await worker.set_resources(**{RESOURCE: 1})


class Operand:
    """An operand as workers keep it: memory of its own, aligned as NumPy allocates it.

    What Dask has received may lie at any address, and code needs elements at multiples of their size.
    """

    def __init__(self, array: Array) -> None:
        self.array = array

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, (self.array,)

    def __sizeof__(self) -> int:
        return self.array.nbytes


def _arrived(array: Array) -> Operand:
    return Operand(array.copy())


@frozen(slots=False)
class _Submission:
    """The tasks of one attempt.

    Attributes:
        client: of Dask.
        task: what computes units.
        operands: scattered.
        scattered: the task, scattered.
        topic: where units are reported; empty: nowhere.
        crowd: how many units a large task has.
    """

    client: Any
    task: UnitTask
    operands: list[Any]
    scattered: Any
    topic: str
    crowd: int

    def gather(self, missing: Sequence[range], result: Array, events: list[Event]) -> list[range]:
        """Compute places into the result; return those that were lost with the operands."""
        name = f"{_where(self.task)}-{uuid.uuid4().hex}"
        futures = {self._places(places, name): places for places in missing}
        program, lost = self.task.program, list[range]()
        while futures:
            for future in distributed.as_completed(list(futures)):
                places = futures.pop(future)
                if future.status == "finished":
                    try:
                        parts, told = future.result()
                    except distributed.CancelledError:  # Its worker died before it was fetched, with an operand.
                        lost.append(places)
                        continue
                    for place, part in zip(places, parts):
                        result[program.part(place)] = part
                    events += told
                elif future.status == "error":
                    raise self._error(future)
                else:
                    lost.append(places)
                del future
        return lost

    def _error(self, future: Any) -> BaseException:
        error = future.exception()
        if isinstance(error, KilledWorker):
            return DeviceError(f"{_where(self.task)}: {error}{_resumable(self.task)}")
        return error

    def _places(self, places: range, name: str) -> Any:
        """Submit the tasks of places that are handed out together."""
        work = self.task.program.work
        units = [unit for place in places for unit in work.of_place(place)]
        return self._units(units, name) if all(map(work.is_whole, units)) else self._sum(places[0], name)

    def _units(self, nodes: Sequence[Unit], name: str) -> Any:
        key = (name, nodes[0].start, nodes[-1].stop)
        arguments = (self.scattered, nodes, self.topic, *self.operands)
        return self.client.submit(_compute, *arguments, key=key, resources={RESOURCE: 1}, pure=False)

    def _sum(self, place: int, name: str) -> Any:
        """Submit the tasks of a place of several units."""
        sums = self._node(self.task.program.work.whole(place), name)
        key = (f"finish {name}", place)
        return self.client.submit(_finish, self.scattered, place, sums, key=key, priority=1, pure=False)

    def _node(self, node: Unit, name: str) -> Any:
        """Submit the tasks of a node of a place; no future below is kept, so that Dask forgets what has been added."""
        work = self.task.program.work
        size = work.grain * (self.crowd if 4 * node.stop <= 3 * len(work.slicing) else 1)
        if node.count <= size:
            return self._units([node], name)
        while size * SUMMANDS < node.count:
            size *= SUMMANDS
        parts = [self._node(part, name) for part in below(node, size)]
        key = (f"add {name}", node.start, node.stop)
        return self.client.submit(_add, node, size, *parts, key=key, priority=1, pure=False)


def _compute(task: UnitTask, nodes: Sequence[Unit], topic: str, *operands: Operand) -> Pieces:
    """Compute nodes on a worker, unit by unit."""
    worker, events = distributed.get_worker(), list[Event]()
    arrays, threads = [operand.array for operand in operands], worker.state.nthreads

    def computed(unit: Unit) -> Array:
        result, event = task.compute(unit, arrays, threads, str(worker.name))
        events.append(event)
        if topic:
            worker.log_event(topic, unit.count)
        return result

    results = tuple(folded(node, task.program.work.grain, computed, added) for node in nodes)
    return results, tuple(events)


def _add(node: Unit, size: int, *parts: Pieces) -> Pieces:
    """Add up the nodes of at most `size` slices below one, along the tree."""
    results = (result for (result,), _ in parts)
    total = folded(node, size, lambda _: next(results), added)
    return (total,), tuple(event for _, events in parts for event in events)


def _finish(task: UnitTask, place: int, sums: Pieces) -> Pieces:
    (whole,), events = sums
    return (task.program.finished(place, whole),), events


def _scattered(client: Any, things: Sequence[Any]) -> list[Any]:
    """Return futures of things that all workers have; what is given twice is sent once."""
    once = {id(thing): thing for thing in things}
    values = list(once.values())
    try:
        try:  # Straight to the workers takes a seventh of the time.
            sent = client.scatter(values, broadcast=True, hash=False, direct=True)
        except OSError:
            sent = _until_answered(client, lambda: client.scatter(values, broadcast=True, hash=False))
        futures = dict(zip(once, sent))
    except TimeoutError as error:
        raise DeviceError(f"the cluster has no worker\n  Start some: {client}") from error
    return [futures[id(thing)] for thing in things]


def _check_memory(client: Any, task: UnitTask) -> None:
    need = task.program.bytes + RESULTS_BYTES
    for address, told in client.scheduler_info(n_workers=-1)["workers"].items():
        if 0 < (told["memory_limit"] or 0) < need:
            raise ArgumentError(
                f"{_where(task)} needs {need:,} bytes a worker, and {address} has {told['memory_limit']:,}\n"
                "  Pass a smaller memory_limit=, or give workers more memory."
            )


def _where(task: UnitTask) -> str:
    """The contraction as the dashboard shows it: without hyphens, where Dask ends a name."""
    return f"einsum {task.program.recipe.problem.equation.text.replace('->', '→')}"


def _resumable(task: UnitTask) -> str:
    if task.checkpoint is None:
        return "\n  Give workers more memory, or pass checkpoint= to keep what is finished."
    return f"\n  {task.checkpoint.resumable(len(task.program.work.units))}"


def _shown(client: Any, task: UnitTask, progress: bool) -> Any:
    from einloom.cluster.progress import shown_units

    return shown_units(client if progress else None, len(task.program.work.slicing), _where(task))
