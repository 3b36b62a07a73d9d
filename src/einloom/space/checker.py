"""Is a full assignment a legal implementation? Decided from the loops it describes, without the constraint engine.

This module shares no code with `gpu.space` or `einloom.csp`: it builds the forest of loops and checks on it what the
paper and the device ask for. It covers control flow, sizes and communication; `checker_hardware` the device's limits.
"""

from __future__ import annotations

from collections.abc import Iterator

from einloom.errors import ScheduleError
from einloom.space.assignment import Assignment
from einloom.space.backbone import Instruction, Reduction, Result
from einloom.space.checker_hardware import hardware_violations
from einloom.space.device import GpuDevice
from einloom.space.forest import Forest, FusedLoop, forest

__all__ = ["violations"]


def violations(assignment: Assignment, device: GpuDevice) -> tuple[str, ...]:
    """Return what is illegal about a full assignment, one sentence each; empty for a legal one."""
    try:
        loops = forest(assignment)
        found = [
            *_nesting(assignment, loops),
            *_fusion(assignment, loops),
            *_dependences(assignment, loops),
            *_sizes(assignment),
            *_communication(assignment),
            *hardware_violations(assignment, loops, device),
        ]
    except ScheduleError as error:
        return (str(error),)
    return tuple(found)


def _nesting(assignment: Assignment, loops: Forest) -> Iterator[str]:
    around = loops.outside()
    for instruction in assignment.instructions.values():
        present = [name for loop in around[instruction.name] for name in loop.dimensions]
        for name in instruction.dimensions:
            if name not in present:
                yield f"{instruction.name} stands outside its dimension {name}"
        for loop in around[instruction.name]:
            own = [name for name in loop.dimensions if name in instruction.dimensions]
            if len(own) > 1:
                yield f"{instruction.name} has its dimensions {' and '.join(own)} fused into one loop"
            if instruction.pinned and not own and not _recomputes(assignment, loop, instruction, around):
                yield f"{instruction.name} is repeated by the foreign loop {loop.name}"


def _recomputes(
    assignment: Assignment, loop: FusedLoop, instruction: Instruction, around: dict[str, tuple[FusedLoop, ...]]
) -> bool:
    """Whether a loop repeats a whole reduction, from its start, along an axis that the reduction does not know."""
    backbone = assignment.backbone
    reduction = backbone.reduction_of.get(instruction.name)
    if reduction is None or assignment.dimensions[loop.name].axis in backbone.axes_of(reduction):
        return False
    both = [name for name, whole in backbone.reduction_of.items() if whole is reduction]
    return all(loop in around[name] for name in both)


def _fusion(assignment: Assignment, loops: Forest) -> Iterator[str]:
    for loop in _loops(loops.roots):
        dimensions = [assignment.dimensions[name] for name in loop.dimensions]
        if len({(d.axis, d.level) for d in dimensions}) > 1:
            yield f"loop {loop.name} fuses dimensions of different axes or levels"
        if len({assignment.kind(name) for name in loop.dimensions}) > 1:
            yield f"loop {loop.name} fuses dimensions of different kinds"
        if len({assignment.extent(name) for name in loop.dimensions}) > 1:
            yield f"loop {loop.name} fuses dimensions of different sizes"


def _dependences(assignment: Assignment, loops: Forest) -> Iterator[str]:
    place = {name: position for position, name in enumerate(_sequence(loops.roots))}
    around = loops.outside()
    for user in assignment.instructions.values():
        for result in user.results:
            producer = assignment.instructions[result.instruction]
            if place[producer.name] > place[user.name]:
                yield f"{user.name} reads {producer.name} before it is computed"
            yield from _between(assignment, result, user.name)
            for loop in around[user.name]:
                if any(name in producer.reduced for name in loop.dimensions):
                    yield f"{user.name} reads {producer.name} inside its reduction loop {loop.name}"
        for given in user.inputs:
            if isinstance(given, Reduction):
                for loop in around[given.start.instruction]:
                    if any(name in given.dimensions for name in loop.dimensions):
                        yield f"{given.start.instruction} restarts {user.name} inside its reduction loop {loop.name}"
    for temporary in assignment.temporaries:
        if place[temporary.store.name] > place[temporary.load.name]:
            yield f"{temporary.region.name} is read before it is written"
        for stored, loaded in temporary.pairs:
            if assignment.order(stored, loaded) not in ("BEFORE", "MERGED"):
                yield f"{loaded} reads {temporary.region.name} while {stored} still fills it"


def _between(assignment: Assignment, result: Result, user: str) -> Iterator[str]:
    for source, target in result.mapping:
        if assignment.order(source, target) not in ("BEFORE", "MERGED"):
            yield f"{user} reads {result.instruction} along {target}, which starts before {source} ends"


def _sizes(assignment: Assignment) -> Iterator[str]:
    sizes: dict[tuple[str, int], int] = {}
    for dimension in assignment.dimensions.values():
        if dimension.static:
            size = int(assignment.value("size", dimension.name))
            if size not in dimension.sizes:
                yield f"{dimension.name} cannot have size {size}"
            if sizes.setdefault((dimension.axis, dimension.level), size) != size:
                yield f"{dimension.name} has size {size}, another one than the same tile in another nest"
    for axis in assignment.backbone.axes:
        tiling = assignment.tiling(axis.name)
        tail = "PREDICATED" if axis.size % tiling else "EXACT"
        if assignment.value("tiling", axis.name) != tiling or tiling > axis.size:
            yield f"the tiles of {axis.name} cover {tiling} of {axis.size} elements"
        if assignment.value("tail", axis.name) != tail or (tail == "PREDICATED" and not axis.ragged):
            yield f"the tail of {axis.name} is {tail}"


def _communication(assignment: Assignment) -> Iterator[str]:
    stored = {t.source: t for t in assignment.temporaries}
    backbone = assignment.backbone
    originals = [each for name, each in backbone.instruction.items() if name in assignment.instructions]
    inputs = [(result, each.name) for each in originals for result in each.results]
    inputs += [(result, each.name) for each in assignment.instructions.values() for result in each.results]
    for result, user in inputs:
        for source, target in result.mapping:
            carried = _carrier(assignment, source, target)
            if assignment.value("dim_mapping", source, target) != carried:
                yield f"values flow from {source} to {target} through {carried}"
            if carried == "STORED" and not (result.storable and result.instruction in stored):
                yield f"no register carries {result.instruction} from {source} to {target}, where {user} reads it"


def _carrier(assignment: Assignment, source: str, target: str) -> str:
    """Return what carries values from one dimension's iterations to another's."""
    if assignment.order(source, target) == "MERGED":
        return "FUSED"
    kinds = {assignment.kind(source), assignment.kind(target)}
    if kinds <= {"UNROLL", "VECTOR"}:
        return "UNROLLED"
    if kinds == {"THREAD"} and assignment.value("thread_level", source, target) == "MAPPED":
        return "THREADS"
    return "STORED"


def _loops(nodes: tuple[FusedLoop | str, ...]) -> Iterator[FusedLoop]:
    for node in nodes:
        if isinstance(node, FusedLoop):
            yield node
            yield from _loops(node.body)


def _sequence(nodes: tuple[FusedLoop | str, ...]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, FusedLoop):
            yield from _sequence(node.body)
        else:
            yield node
