"""Expert leaves of a GPU's space: sketches of people who know GPUs, and propagation fills in the rest.

What a sketch leaves open random descents close. Leaves are ranked by how long they are expected to take, or by their
work where a processor emulates the device; the first one is taken without a search.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from random import Random

from einloom import csp
from einloom.errors import DeadEnd, EinloomError
from einloom.ir.operation import Operation
from einloom.space.candidate import Candidate, Space
from einloom.space.device import GpuDevice
from einloom.space.kernels import Kernel, kernel
from einloom.space.on_gpu.fragments import fitted, thread_registers
from einloom.space.on_gpu.operations import fragment_kernel, kernel_of
from einloom.space.on_gpu.sketches import Decisions, Sketcher
from einloom.space.on_gpu.work import emulated_work, expected_seconds

__all__ = ["best_expert", "expert_leaf", "expert_leaves", "naive_leaf", "spaces_of"]

DESCENTS = 2
"""Random descents below each sketch."""


def expert_leaf(space: Space, seed: int = 0) -> Candidate:
    """Return the expert leaf that is ranked first.

    Raises:
        DeadEnd: no implementation fits the device.
    """
    return _ranked(space, seed, cut=True)[0][1]


def expert_leaves(space: Space, seed: int = 0) -> Iterator[Candidate]:
    """Yield the leaves of all sketches, as they are ranked: the first is taken without a search.

    Raises:
        DeadEnd: no implementation fits the device.
    """
    yield from (leaf for _, leaf in _ranked(space, seed, cut=False))


def _ranked(space: Space, seed: int, cut: bool) -> list[tuple[float, Candidate]]:
    """Return leaves of all sketches with their ranks, the best first.

    Args:
        space: where they lie.
        seed: of the descents.
        cut: whether to leave out sketches whose leaves can only be worse than one that was found.

    Raises:
        DeadEnd: no implementation fits the device.
    """
    found: dict[bytes, tuple[float, Candidate]] = {}
    sketcher = Sketcher(space.backbone, space.device, space.kernel.grain is not None)
    state = space.problem.state()
    _sketch(state, sketcher.structure())
    for stage in (True, False):
        state.push()
        _sketch(state, sketcher.loads(stage))
        for sizes in sketcher.sizes():
            state.push()
            _sketch(state, sizes)
            best = min((rank for rank, _ in found.values()), default=inf)
            if not cut or _floor(space, state) < best:
                found |= {leaf.inner.snapshot(): (rank, leaf) for rank, leaf in _leaves(space, state, seed)}
            state.pop()
        state.pop()
    if not found:
        raise DeadEnd(f"no implementation of {space.name} was found on {space.device.name}\n  Search for one.")
    return sorted(found.values(), key=lambda each: each[0])


NAIVE = {1: 256, 2: 16}
"""Threads of a naive kernel's block along each axis of the output that has tiles, by how many those are."""


def spaces_of(operation: Operation, device: GpuDevice) -> tuple[Space, ...]:
    """Return the spaces that hold an operation's kernels on a device: with tensor cores first, where both allow them.

    Raises:
        UnsupportedTarget: the operation has no scalar instructions.
    """
    made = fragment_kernel(operation) if device.tensor_cores else None
    of_fragments = () if made is None else (Space(made, fitted(device, made)),)
    return (*of_fragments, Space(kernel_of(operation), device))


def best_expert(spaces: Sequence[Space]) -> Candidate:
    """Return the expert leaf of several spaces of one kernel that is ranked first; the first ones are the likelier.

    Raises:
        DeadEnd: no implementation fits the device.
    """
    best: tuple[float, Candidate] | None = None
    for space in spaces:
        if best is None or _floor(space, space.problem.state()) < best[0]:
            found = _ranked(space, 0, cut=True)[0]
            best = found if best is None or found[0] < best[0] else best
    assert best is not None
    return best[1]


def naive_leaf(made: Kernel, device: GpuDevice) -> Candidate:
    """Return what people write first: a thread for each element of the output, which runs through all that is summed.

    Args:
        made: the kernel; its tiles do not matter.
        device: where it is to run.

    Raises:
        DeadEnd: no such implementation fits the device.
    """
    backbone = made.backbone
    parallel = [axis for axis in backbone.axes if backbone.dimension[f"{axis.name}.0"].parallel]
    tiled = [axis.name for axis in parallel if axis.tiles]
    threads = NAIVE[min(max(len(tiled), 1), 2)]
    options = {name: value for name, value in made.options if name not in ("tiles", "tails")}
    options["tiles"] = {axis.name: (threads,) if axis.name in tiled else () for axis in backbone.axes}
    space = Space(kernel(backbone.name, **options), device)
    sketch: Decisions = {f"size({name}.1)": threads for name in tiled}
    sketch |= {f"dim_kind({axis.name}.0)": "BLOCK" for axis in parallel}
    sketch |= {f"dim_kind({name}.1)": "THREAD" for name in tiled}
    sketch |= {name: "FUSED" for name in space.root.open if name.startswith("dim_mapping(")}
    state = space.problem.state()
    _sketch(state, sketch)
    return Candidate(space, csp.Domains(space.problem, state.snapshot(), ())).complete()


def _leaves(space: Space, state: csp.State, seed: int) -> Iterator[tuple[float, Candidate]]:
    """Yield leaves below a state, with their ranks."""
    for descent in range(DESCENTS):
        state.push()
        if csp.complete(state, Random(seed + descent), space.slots()):
            leaf = Candidate(space, csp.Domains(space.problem, state.snapshot(), ()))
            yield _rank(space, state), leaf
        state.pop()


def _floor(space: Space, state: csp.State) -> float:
    """Return what no leaf below a state is ranked before."""
    device = space.device
    return 0.0 if device.emulated or device.rates is None else space.model.bound(state).seconds


def _rank(space: Space, state: csp.State) -> float:
    """Return what leaves are ordered by, the best first; of a device without rates all are alike."""
    device = space.device
    if device.emulated:
        return emulated_work(space.launch(space.decided(state)))
    if device.rates is None:
        return 0.0
    registers = thread_registers(device.rates, space.kernel.grain)
    return expected_seconds(space.launch(space.decided(state)), space.model.bound(state), device.rates, registers)


def _sketch(state: csp.State, sketch: Decisions) -> None:
    """Restrict a state to as much of a sketch as is possible together, in its order."""
    for name, value in sketch.items():
        if state.tables.names.find(name) is None:  # The kernel has no such decision.
            continue
        state.push()
        try:
            possible = state.restrict_name(name, value)
        except EinloomError:  # It never had the value.
            possible = False
        if possible:
            state.drop()
        else:
            state.pop()
