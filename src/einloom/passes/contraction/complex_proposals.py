"""Proposals for contractions of complex numbers.

What was found for reals comes back as proposals for complex numbers, with vectors packed in the form 1e (`pairs`).
Others read complex elements where they lie, in short runs or along a sum, or turn the output or the smaller input.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from einloom.ir.operation import DimType, Operation
from einloom.ir.schedule import Schedule
from einloom.passes.contraction.along_inputs import is_short
from einloom.passes.contraction.along_sums import AlongSum
from einloom.passes.contraction.families import (
    Family,
    far_input,
    large_input,
    nothing_packed,
    packed_input,
    products,
    rows_in_order,
    vector_block,
    where_it_lies,
)
from einloom.passes.contraction.large_input import prims_of_large_input
from einloom.passes.contraction.pairs import Reals
from einloom.passes.contraction.proposals import NOTHING, Costed, Proposal, distinct, is_little, proposals_of, uncosted
from einloom.passes.contraction.setting import Setting
from einloom.passes.contraction.short_runs import ShortRuns
from einloom.passes.identify import LARGER, prims_along, prims_of_one_product, vector_operand
from einloom.passes.model.cost import Cost, CostModel
from einloom.passes.parallelise import parallelise
from einloom.passes.values import Context

__all__ = ["proposals_beside_reals", "proposals_from_reals", "proposals_of_little"]

IN_PLACE = 1.05
"""How much longer sums of complex products take where one operand is not packed at all: between other packed blocks,
its rows are too short to be fetched ahead (measured: 1.05 to 1.1 on AVX-512)."""


def proposals_from_reals(reals: Reals, found: Iterable[Costed], context: Context) -> list[Costed]:
    """Return what was found for reals as proposals for complex numbers: vectors are always packed."""
    restored = [each for each in (_restored(reals, _with_short_runs(reals, other)) for other in found) if each]
    unlimited = replace(context, options=replace(context.options, max_kernel_size=None))  # Kernels are split later.
    setting = Setting.of(*reals.undecided, unlimited)
    alone = proposals_of(setting, vector_block(setting))
    return restored or [each for each in (_restored(reals, other) for other in uncosted(alone)) if each is not None]


def _with_short_runs(reals: Reals, found: Costed) -> Costed:
    """Return a proposal with what it takes longer where kernels read the operand in place that is not turned."""
    if any(pack.operand == 1 - reals.vector for pack in found.proposal.schedule.packs):
        return found
    return found._replace(cost=found.cost._replace(arithmetic=IN_PLACE * found.cost.arithmetic))


def proposals_beside_reals(operation: Operation, schedule: Schedule, context: Context) -> list[Costed]:
    """Return the proposals for complex numbers that are none for reals."""
    return [
        *_where_they_lie(operation, schedule, context, (nothing_packed, rows_in_order)),
        *_in_short_runs(operation, context),
        *_along_sum(operation, context),
        *_large_input(operation, context),
        *_as_inputs_lie(operation, context),
        *_smaller_turned(operation, schedule, context),
        *_one_by_one(operation, context),
    ]


def proposals_of_little(operation: Operation, schedule: Schedule, context: Context) -> list[Costed]:
    """Return the same of little work, of which the first is taken: nothing is packed."""
    axes = AlongSum.of(operation, context.machine)
    return [
        *_where_they_lie(operation, schedule, context, (nothing_packed,)),
        *_in_short_runs(operation, context),
        *(_along_sum(operation, context) if axes is not None and axes.has_few_rows else ()),
    ]


def _where_they_lie(
    operation: Operation, schedule: Schedule, context: Context, families: Sequence[Family]
) -> Iterator[Costed]:
    """Yield what multiplies complex numbers without packs."""
    reals = Reals.where_they_lie(operation, schedule.prims)
    if reals is None:
        return
    setting = Setting.of(*reals.undecided, context)
    model = CostModel(reals.operation, context.machine, asks_in_place=False, may_leave=False)
    small = is_little(operation)
    for proposal in distinct(proposals_of(setting, (each for family in families for each in family(setting)))):
        cost = NOTHING if small else _shared_cost(model, proposal.schedule, context)
        restored = _restored(reals, Costed(proposal, cost))
        if restored is not None:
            yield restored


def _in_short_runs(operation: Operation, context: Context) -> Iterator[Costed]:
    """Yield what multiplies complex numbers without packs where vectors hold several short runs."""
    runs = ShortRuns.of(operation, context.machine)
    if runs is None or context.options.max_kernel_size is not None:
        return
    schedule, small = runs.schedule(context.machine), is_little(operation)
    threads = context.options.threads
    cost = NOTHING if small else runs.cost(parallelise(operation, schedule, threads), context.machine, threads)
    yield Costed(Proposal(runs.family, schedule), cost)


def _along_sum(operation: Operation, context: Context) -> Iterator[Costed]:
    """Yield what multiplies rows of complex elements that both inputs have along a summed axis."""
    axes = AlongSum.of(operation, context.machine)
    if axes is None or context.options.max_kernel_size is not None:
        return
    small, threads = is_little(operation), context.options.threads
    for schedule in dict.fromkeys(axes.schedules(context.machine)):
        cost = NOTHING if small else axes.cost(parallelise(operation, schedule, threads), context.machine, threads)
        yield Costed(Proposal("along a sum", schedule), cost)


def _large_input(operation: Operation, context: Context) -> Iterator[Costed]:
    """Yield what reads complex elements of a large input in its own order, along which vectors of pairs run."""
    prims = prims_of_large_input(operation)
    if prims is not None:
        reals = Reals.of(operation, prims, staged=True)
        yield from _restored_all(reals, large_input(Setting.of(*reals.undecided, context)), context)


def _as_inputs_lie(operation: Operation, context: Context) -> Iterator[Costed]:
    """Yield what reads complex elements of an input where they lie, and turns the output instead.

    The input comes from memory, or vectors along the output would be parts of cache lines.
    """
    innermost = operation.contiguous_axis(operation.output)
    turns = innermost is not None and innermost.role is not DimType.C and is_short(operation, innermost)
    for operand in operation.inputs if operation.first_touch.initialises and context.options.packing else ():
        m = operation.contiguous_axis(operand)
        if m is None or m.role not in (DimType.M, DimType.N):
            continue
        reals = Reals.where_they_lie(operation, prims_along(operation, m), staged=True)
        if reals is not None:
            family = where_it_lies if turns and m is not innermost else far_input
            yield from _restored_all(reals, family(Setting.of(*reals.undecided, context)), context)


def _smaller_turned(operation: Operation, schedule: Schedule, context: Context) -> Iterator[Costed]:
    """Yield what packs the smaller input in the form 1e, which writes four reals an element, and turns the output."""
    vector = vector_operand(operation, schedule.prims)
    if len(operation.inputs) != 2 or not operation.first_touch.initialises or not context.options.packing:
        return
    inputs = operation.inputs[vector], operation.inputs[1 - vector]
    large, small, turned = map(operation.elements, (*inputs, operation.output))
    own = [axis for axis in operation.axes if axis.role is (DimType.M if vector else DimType.N)]
    if own and large > LARGER * small and large >= turned:
        m = min(own, key=lambda axis: operation.distance(inputs[1], axis))
        reals = Reals.of(operation, prims_along(operation, m), staged=True)
        yield from _restored_all(reals, packed_input(Setting.of(*reals.undecided, context)), context)


def _one_by_one(operation: Operation, context: Context) -> Iterator[Costed]:
    """Yield what computes each product of a batch on its own, with packs or where elements lie."""
    for prims in prims_of_one_product(operation) if context.options.packing else ():
        for reals in (Reals.of(operation, prims, staged=True), Reals.where_they_lie(operation, prims, staged=True)):
            if reals is not None:
                setting = Setting.of(*reals.undecided, context)
                proposed = (products(setting, reals.packs, long_runs) for long_runs in (False, True))
                yield from _restored_all(reals, chain.from_iterable(proposed), context)


def _restored_all(reals: Reals, proposals: Iterable[Proposal], context: Context) -> Iterator[Costed]:
    model = CostModel(reals.operation, context.machine, asks_in_place=reals.packs, may_leave=False)
    for proposal in distinct(proposals):
        restored = _restored(reals, Costed(proposal, _shared_cost(model, proposal.schedule, context)))
        if restored is not None:
            yield restored


def _shared_cost(model: CostModel, schedule: Schedule, context: Context) -> Cost:
    threads = context.options.threads
    return model.cost(parallelise(model.operation, schedule, threads), threads)


def _restored(reals: Reals, found: Costed) -> Costed | None:
    schedule = reals.restored(found.proposal.schedule)
    return None if schedule is None else found._replace(proposal=Proposal(found.proposal.family, schedule))
