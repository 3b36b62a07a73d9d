"""The driver of the passes: from an operation to a schedule that runs well, in a few milliseconds."""

from __future__ import annotations

from collections.abc import Iterator

from einloom.ir.operation import Operation
from einloom.ir.schedule import Schedule
from einloom.machine import Machine
from einloom.passes.block_elementwise import BLOCK_ELEMENT_WISE
from einloom.passes.contraction.choose import CHOOSE_CONTRACTION
from einloom.passes.dimensions.fuse import FUSE_DIMENSIONS
from einloom.passes.dimensions.identify import IDENTIFY_BY_STRIDES
from einloom.passes.dimensions.share import SHARE_DIMENSIONS
from einloom.passes.dimensions.split import SPLIT_DIMENSIONS
from einloom.passes.fuse import FUSE
from einloom.passes.identify import IDENTIFY
from einloom.passes.pack_once import PACK_ONCE
from einloom.passes.parallelise import PARALLELISE
from einloom.passes.read_in_order import READ_IN_ORDER
from einloom.passes.space_filling_curve import SPACE_FILLING_CURVE
from einloom.passes.split import SPLIT
from einloom.passes.values import DEFAULTS, UNDECIDED, Context, Options, Pass, Rules, State

__all__ = ["PIPELINES", "explain_passes", "optimize_operation"]

PIPELINES: dict[Rules, tuple[Pass, ...]] = {
    Rules.CACHES: (
        FUSE,
        IDENTIFY,
        READ_IN_ORDER,
        CHOOSE_CONTRACTION,
        BLOCK_ELEMENT_WISE,
        PARALLELISE,
        SPLIT,
        SPACE_FILLING_CURVE,
        PACK_ONCE,
    ),
    Rules.SEED: (FUSE_DIMENSIONS, SPLIT_DIMENSIONS, IDENTIFY_BY_STRIDES, SHARE_DIMENSIONS, SPACE_FILLING_CURVE),
}
"""The passes of each set of rules, in order."""


def optimize_operation(
    operation: Operation, machine: Machine, options: Options = DEFAULTS, given: Schedule = UNDECIDED
) -> State:
    """Return the operation as the passes leave it (axes fused), and a schedule for it.

    Args:
        operation: what is computed.
        machine: the target.
        options: what the caller asks for.
        given: a schedule that the operation came with; the plain rules start from its loops, the others decide anew.
    """
    started = operation, given if options.rules is Rules.SEED else UNDECIDED
    *_, (_, _, optimised) = _steps(started, Context(machine, options))
    return optimised


def explain_passes(operation: Operation, machine: Machine, options: Options = DEFAULTS) -> str:
    """Return what each pass did to the operation and why; a choice lists what it chose from, a line each."""
    context = Context(machine, options)
    steps = _steps((operation, UNDECIDED), context)
    return "\n".join(f"{each.name:24}{each.explain(before, after, context)}" for each, before, after in steps)


def _steps(state: State, context: Context) -> Iterator[tuple[Pass, State, State]]:
    """Run the passes; yield each with what it got and what it made of it."""
    for each in PIPELINES[context.options.rules]:
        before, state = state, each.apply(*state, context)
        yield each, before, state
