"""Units of a contraction dealt over the ranks of an MPI communicator, and the tree of their sums across ranks.

A rank computes neighbouring units. Sums that lie below one node of the tree are its own; above, the rank of the right
half sends to the rank of the left one. Before ranks exchange anything they agree that nobody has failed.
"""

# pyright: standard
# mpi4py's types are unknown where it is not installed.

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from einloom.arrays.library import Array
from einloom.cluster.peers import check_peers, this_peer
from einloom.cluster.progress import shown_slices
from einloom.cluster.run import Event
from einloom.cluster.shared import Shared, UnitTask
from einloom.cluster.watch import WATCHED, watched
from einloom.config import thread_count
from einloom.errors import ArgumentError, DeviceError, EinloomError, ShapeError
from einloom.expression.units import UnitProgram, added
from einloom.jit.host import host
from einloom.plan.units import Unit

__all__ = ["agreed", "compute_on_ranks"]

Value = TypeVar("Value")


def agreed(comm: Any, work: Callable[[], Value], what: str, told: Callable[[], str] = str) -> Value:
    """Return what this rank's work gives, if that of no rank fails; every rank calls this.

    Args:
        comm: the communicator.
        work: touches no other rank.
        what: is done, for the message.
        told: what can be said in addition, when a rank failed.

    Raises:
        EinloomError: what this rank failed with; DeviceError, naming the ranks, where others did.
    """
    own: EinloomError | None = None
    value: Any = None
    try:
        value = work()
    except EinloomError as error:
        own = error
    except Exception as error:
        own = DeviceError(f"{type(error).__name__}: {error}")
        own.__cause__ = error
    failed = {rank: text for rank, text in enumerate(comm.allgather(None if own is None else str(own))) if text}
    if own is not None:
        raise own
    if failed:
        lines = "\n".join(f"  rank {rank}: {text}" for rank, text in list(failed.items())[:8])
        raise DeviceError(f"{len(failed)} of {comm.size} ranks failed to {what}\n{lines}{told()}")
    return value


def compute_on_ranks(shared: Shared, comm: Any) -> tuple[Array, list[Event]]:
    """Return the result, and who did what; every rank calls this with the same operands, and gets the same.

    Raises:
        UnsupportedTarget: a rank would compute other bits.
        ShapeError: operands differ between ranks.
        DeviceError: a rank failed; the message names it, and what is kept.
    """
    check_peers({f"rank {i}": peer for i, peer in enumerate(comm.allgather(this_peer()))}, comm.bcast(this_peer()))
    agreed(comm, lambda: (shared.operands, shared.described), "read the operands")
    _check_operands(shared, comm)
    # One rank plans: strategies for paths may draw.
    program: UnitProgram | None = comm.bcast(shared.program)
    if program is None:
        return np.asarray(agreed(comm, lambda: shared.expression(*shared.given), "compute")), []
    task = agreed(comm, lambda: shared.task(program), "open the checkpoint")
    _check_same(comm, task.checkpoint, "keeps units elsewhere, or in others' sizes,", "Pass one folder that all reach.")
    ranks = _Ranks(task, comm)
    with _watched(task, comm):
        agreed(comm, lambda: ranks.compute(shared.operands, shared.progress), "compute", lambda: _resumable(task))
        ranks.join()
        result = ranks.result()
    return result, [event for events in comm.allgather(ranks.events) for event in events]


def _watched(task: UnitTask, comm: Any) -> AbstractContextManager[None]:
    """Return what names a rank that dies, where there is something to lose."""
    program, kept = task.program, task.checkpoint
    units = len(program.work.units)
    if kept is None and program.seconds * len(program.work.slicing) < WATCHED * comm.size:
        return nullcontext()
    return watched(comm, f"einsum {program.recipe.problem.equation.text}", kept, units)


def _check_same(comm: Any, own: object, what: str, advice: str) -> None:
    first = comm.bcast(own)
    differ = [rank for rank, same in enumerate(comm.allgather(own == first)) if not same]
    if differ:
        raise ArgumentError(f"rank {differ[0]} {what} than rank 0\n  rank 0: {first}\n  here: {own}\n  {advice}")


def _check_operands(shared: Shared, comm: Any) -> None:
    problem = shared.expression.recipe.problem
    own = shared.expression.equation, shared.described
    first = comm.bcast(own)
    differ = [rank for rank, same in enumerate(comm.allgather(own == first)) if not same]
    if differ:
        raise ShapeError(
            f"operands of rank{'s' * (len(differ) > 1)} {', '.join(map(str, differ[:8]))} differ from those of rank 0\n"
            f"  rank 0: {first[0]} {first[1]}\n  here: {own[0]} {own[1]}\n"
            "  Give every rank the same operands, or say with distribution= which blocks they are."
        )
    computed = shared.expression.label, problem.types, problem.finish
    _check_same(comm, computed, "computes something else", "Pass the same dtype= and conj= on every rank.")


def _resumable(task: UnitTask) -> str:
    if task.checkpoint is None:
        return "\n  Pass checkpoint= to keep what is finished."
    return f"\n  {task.checkpoint.resumable(len(task.program.work.units))}"


@dataclass
class _Ranks:
    """The ranks' shares, and what this rank has.

    A rank's share are neighbouring slices; where units are kept, it is made of whole units.

    Attributes:
        task: what computes units.
        comm: the communicator.
        events: what this rank did.
    """

    task: UnitTask
    comm: Any
    events: list[Event] = field(default_factory=list)
    _sums: dict[Unit, Array] = field(default_factory=dict)

    def owner(self, number: int) -> int:
        """Return the rank that computes a slice."""
        work = self.task.program.work
        if self.task.checkpoint is not None:
            place, leaf = divmod(number, work.slicing.leaves)
            number = place * work.slicing.leaves + leaf // work.grain * work.grain
        return number * self.comm.size // len(work.slicing)

    def owners(self, node: Unit) -> tuple[int, int]:
        """Return the ranks that compute the first and the last slice below a node."""
        return self.owner(node.start), self.owner(node.stop - 1)

    def share(self) -> Iterator[Unit]:
        """Yield the largest nodes of which all slices are this rank's; of units that are kept, each by itself."""
        slicing = self.task.program.work.slicing
        for place in range(slicing.places):
            yield from self._share_below(Unit(place * slicing.leaves, slicing.leaves))

    def _share_below(self, node: Unit) -> Iterator[Unit]:
        first, last = self.owners(node)
        most = node.count if self.task.checkpoint is None else self.task.program.work.grain
        if first == last == self.comm.rank and node.count <= most:
            yield node
        elif first <= self.comm.rank <= last:
            for half in node.halves:
                yield from self._share_below(half)

    def compute(self, operands: list[Array], progress: bool) -> None:
        """Compute this rank's share, and add it up as far as that goes without others."""
        threads, who = thread_count(cores=host().cores), f"rank {self.comm.rank}"
        own = list(self.share())
        total = sum(unit.count for unit in own)
        with shown_slices(progress and self.comm.rank == 0, total, f"rank 0 of {self.comm.size}") as advance:
            for unit in own:
                self._sums[unit], event = self.task.compute(unit, operands, threads, who)
                self.events.append(event)
                self._add_up(unit)
                advance(unit.count)

    def _add_up(self, unit: Unit) -> None:
        """Add a unit to its left neighbours as far as they are below one node."""
        for node in reversed(self._parents(unit)):
            left, right = node.halves
            if left not in self._sums or right not in self._sums:
                break
            self._sums[node] = added(self._sums.pop(left), self._sums.pop(right))

    def _parents(self, unit: Unit) -> list[Unit]:
        """Return the nodes above a unit, the root of its place first."""
        node, found = self._whole(self.task.program.work.place(unit)), list[Unit]()
        while node.count > unit.count:
            found.append(node)
            left, right = node.halves
            node = left if unit.start < right.start else right
        return found

    def _whole(self, place: int) -> Unit:
        leaves = self.task.program.work.slicing.leaves
        return Unit(place * leaves, leaves)

    def join(self) -> None:
        """Add up across ranks, and make parts of the result: the rank of a place's first slice has it in the end."""
        sends: list[Any] = []
        computed = {event.what.split()[-1] for event in self.events}
        for place in range(self.task.program.work.slicing.places):
            whole = self._whole(place)
            self._join(whole, sends)
            if self.owner(whole.start) == self.comm.rank and str(whole) not in computed:
                self._sums[whole] = self.task.program.finished(place, self._sums[whole])
        for request in sends:
            request.Wait()

    def _join(self, node: Unit, sends: list[Any]) -> None:
        """Add up what is below a node; all ranks walk in the same order."""
        first, last = self.owners(node)
        rank = self.comm.rank
        if first == last or not first <= rank <= last:
            return
        left, right = node.halves
        self._join(left, sends)
        self._join(right, sends)
        giver, taker = self.owner(right.start), first
        if giver == rank != taker:
            sends.append(self.comm.Isend(self._sums[right], dest=taker))
        if taker == rank:
            own = self._sums.pop(left)
            other = self._sums.pop(right) if giver == rank else np.empty_like(own)
            if giver != rank:
                self.comm.Recv(other, source=giver)
            self._sums[node] = added(own, other)

    def result(self) -> Array:
        """Return the result, of which every rank gets the others' parts."""
        program = self.task.program
        result = np.empty(program.output_shape, program.dtype)
        by_rank: dict[int, list[int]] = {}
        for place in range(program.work.slicing.places):
            by_rank.setdefault(self.owner(self._whole(place).start), []).append(place)
        for rank, places in by_rank.items():
            flat = np.empty(sum(int(np.prod(program.shape(place))) for place in places), program.dtype)
            parts = np.split(flat, np.cumsum([int(np.prod(program.shape(place))) for place in places])[:-1])
            if rank == self.comm.rank:
                for place, part in zip(places, parts):
                    part[:] = self._sums[self._whole(place)].reshape(-1)
            self.comm.Bcast(flat.view(np.uint8), root=rank)
            for place, part in zip(places, parts):
                result[program.part(place)] = part.reshape(program.shape(place))
        return result
