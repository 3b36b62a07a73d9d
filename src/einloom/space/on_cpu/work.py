"""What a schedule executes at least, counted on its code: how often each kernel is called, times what it executes.

It is looked at once everything is decided. Kernels are generated for it, and remembered by their specs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Protocol, TypeAlias

from einloom.errors import UnsupportedTarget
from einloom.frozen import frozen
from einloom.ir.nest import Call, Loop, Nest, Node, Pack, walk
from einloom.ir.schedule import ExecType
from einloom.kernels.specs import Brgemm, Spec
from einloom.kernels.specs.calls import is_far, kernel_spec
from einloom.kernels.work import Work, work_of
from einloom.machine import Machine

__all__ = ["WINDOW", "KernelsAlone", "Lowered", "Overhead", "Run", "executed", "spec_of"]

WINDOW = 1024
"""Instructions that a core of x86-64 has begun and not ended, at most (reorder buffers: Golden Cove 512, Zen 5 448);
it is said of no other kind of processor."""


class Overhead(Protocol):
    """What a nest's program executes between its kernels at least, each node without the nodes inside."""

    def call(self, call: Call, sizes: tuple[int, ...]) -> Work:
        """Return what a call of the kernel for such blocks executes around the kernel."""
        ...

    def loop(self, loop: Loop, turns: int) -> Work:
        """Return what a loop with so many turns executes."""
        ...

    def other(self, node: Node) -> Work:
        """Return what any other node executes."""
        ...


class KernelsAlone:
    """Leaves out what runs between kernels: nothing has to be generated for it but they."""

    def __init__(self, nest: Nest, machine: Machine) -> None: ...

    def call(self, call: Call, sizes: tuple[int, ...]) -> Work:
        """Return nothing."""
        return NO_WORK

    def loop(self, loop: Loop, turns: int) -> Work:
        """Return nothing."""
        return NO_WORK

    def other(self, node: Node) -> Work:
        """Return nothing."""
        return NO_WORK


@frozen
class Run:
    """What one run of a part of a nest executes, and how long it takes at least.

    Attributes:
        seconds: in which nothing but this runs: all of its parts one after the other, each by its scarcest resource.
    """

    work: Work
    seconds: float

    def then(self, other: Run, times: int = 1) -> Run:
        """Return this run and another one behind it, so many times."""
        return Run(self.work.plus(other.work, times), self.seconds + times * other.seconds)


def executed(
    nest: Nest, machine: Machine, rates: Mapping[str, float], overhead: Lowered, threads: int = 1, rests: bool = True
) -> Run | None:
    """Return what a nest executes at least, by all threads together; None where that is not known.

    Args:
        nest: what runs.
        machine: that its kernels are generated for.
        rates: instructions a second, by their kinds.
        overhead: what tells what runs between its kernels.
        threads: that may share it.
        rests: whether what is left of an axis behind whole blocks counts, for which there are kernels of its own.
    """
    if not machine.has_vectors or any(isinstance(node, Call) and node.group > 1 for node in walk(nest.body)):
        return None  # What becomes of groups depends on more than the call.
    try:
        counting = _Counting(nest, machine, rates, overhead(nest, machine), threads, rests)
        return counting.run(nest.body, {axis.name: axis.extent for axis in nest.axes})
    except UnsupportedTarget:
        return None


class _Counting:
    """Counts a nest: what runs, by how much is left of the axes. What touches do is left out."""

    def __init__(
        self, nest: Nest, machine: Machine, rates: Mapping[str, float], overhead: Overhead, threads: int, rests: bool
    ) -> None:
        self.nest, self.machine, self.overhead, self.rests = nest, machine, overhead, rests
        self.rates = [(Work._fields.index(kind), rate) for kind, rate in rates.items()]
        self.window = threads * WINDOW if machine.isa == "x86_64" else inf
        self._known: dict[tuple[int, tuple[int, ...]], Run] = {}

    def run(self, nodes: Sequence[Node], left: Mapping[str, int]) -> Run:
        """Return what nodes execute where so many indices are left of each axis."""
        key = id(nodes), tuple(left.values())
        if key not in self._known:
            self._known[key] = self._counted(nodes, left)
        return self._known[key]

    def _counted(self, nodes: Sequence[Node], left: Mapping[str, int]) -> Run:
        found = NOTHING
        for node in nodes:
            if isinstance(node, Loop):
                found = found.then(self._loop(node, left))
            elif isinstance(node, Call):
                found = found.then(self._call(node, left))
            else:
                found = found.then(Run(self.overhead.other(node), 0.0))
                if isinstance(node, Pack):
                    found = found.then(self.run(node.body, left))
        return self._alone(found)

    def _alone(self, run: Run) -> Run:
        """A run takes at least what its scarcest resource needs, but for what may still run when the next one begins.

        An instruction begins once all but the last `WINDOW` before it have ended; every thread has a window.
        """
        done = run.work
        seconds = max([(done[place] - self.window) / rate for place, rate in self.rates])
        return Run(run.work, max(run.seconds, seconds))

    def _loop(self, loop: Loop, left: Mapping[str, int]) -> Run:
        span = min(loop.span, left.get(loop.axis, loop.span))
        whole, rest = divmod(span, loop.step)
        turns, found = whole + (rest > 0), NOTHING
        if whole:
            found = found.then(self.run(loop.body, {**left, loop.axis: loop.step}), whole)
        if rest and (self.rests or not whole):
            found = found.then(self.run(loop.body, {**left, loop.axis: rest}))
        if loop.kind is ExecType.SEQ:
            found = found.then(Run(self.overhead.loop(loop, turns), 0.0))
        return self._alone(found)

    def _call(self, call: Call, left: Mapping[str, int]) -> Run:
        sizes = tuple(block.elements(min(block.size, left.get(block.axis or "", block.size))) for block in call.blocks)
        work = work_of(spec_of(self.nest, call, sizes, self.machine), self.machine)
        return self._alone(Run(work.plus(self.overhead.call(call, sizes)), 0.0))


NO_WORK = Work()
NOTHING = Run(NO_WORK, 0.0)

Lowered: TypeAlias = Callable[[Nest, Machine], Overhead]
"""Generates what runs between a nest's kernels; `space` is below the floor of code generators, so it is handed one."""


def spec_of(nest: Nest, call: Call, sizes: tuple[int, ...], machine: Machine) -> Spec:
    """Return the kernel of a call for blocks of these sizes."""
    dtypes = nest.dtypes
    types = tuple(access.dtype or dtypes[access.buffer] for access in call.accesses)
    beta = 1 if call.starts is None else None if call.starts else 0
    spec, _ = kernel_spec(call, sizes, types, beta)
    if isinstance(spec, Brgemm) and is_far(nest.operation, call.accesses[-1], machine):
        return replace(spec, far=True)
    return spec
