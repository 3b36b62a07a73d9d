"""Families of schedules for contractions: each function proposes a few; the cheapest of all is taken.

A family is a function from a `Setting` to proposals. A new one gets a function and a place in `FAMILIES` or
`FOLLOWERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from einloom.ir.operation import DimType
from einloom.ir.schedule import OUTPUT, Digit, Schedule, ScheduledLoop, ScheduledPack
from einloom.passes.contraction.along_inputs import (
    schedules_along_inputs,
    schedules_of_far_input,
    schedules_of_packed_input,
    schedules_where_it_lies,
)
from einloom.passes.contraction.blocking import Blocking
from einloom.passes.contraction.large_input import vectorise_large_input
from einloom.passes.contraction.plan import PRODUCTS, SUMS, Plan
from einloom.passes.contraction.proposals import Proposal
from einloom.passes.contraction.setting import Setting
from einloom.passes.identify import prims_of_one_product, prims_with_batch_as_columns, vector_operand
from einloom.passes.model.sizes import equal_part

__all__ = [
    "FAMILIES",
    "FOLLOWERS",
    "NOTHING_PACKED",
    "Family",
    "far_input",
    "large_input",
    "nothing_packed",
    "packed_input",
    "products",
    "rows_in_order",
    "vector_block",
    "where_it_lies",
]

SHORT_SUM = 4
"""Products up to which sums are so short that the output takes longer than all else."""

FEW_PRODUCTS = 24
"""Products up to which sums are so short that the order of the output may decide."""

PIECE_SUM = 2
"""Products up to which pieces of rows are staged (measured: of four, ordinary stores take as long)."""

FEW_COLUMNS = 32
"""Columns up to which a product may be bound by reading the vector operand (measured: twice as many gain on AVX-512 and
lose on AVX2, where rows of the output come back too often)."""

GATHERED = 8
"""Columns up to which gathering in place may be the best where packing is not."""

STRAIGHT_PARTS = 8
"""Into how many parts a block of k is cut where kernels read straight copies (measured: up to 12 % faster)."""

Family = Callable[[Setting], Iterator[Plan | Proposal]]

NOTHING_PACKED = Plan("in place", packs_vector=False, packs_element=False)
"""Nothing is packed: kernels read every input where it lies, and gather vectors that do not lie there."""


def nothing_packed(setting: Setting) -> Iterator[Plan]:
    """Nothing is packed, where kernels need not gather much."""
    if not (setting.options.packing and setting.gathers_much):
        yield NOTHING_PACKED


def in_place(setting: Setting) -> Iterator[Plan]:
    """The same where kernels gather for a few columns at most."""
    if not setting.gathers or setting.columns <= GATHERED:
        yield from nothing_packed(setting)


def gathered(setting: Setting) -> Iterator[Plan]:
    """The same where they gather for more."""
    if setting.gathers and setting.columns > GATHERED:
        yield from nothing_packed(setting)


def rows_in_order(setting: Setting) -> Iterator[Plan]:
    """Nothing is packed, and rows of vectors that are used a few times are read as a whole, some of them at once."""
    if not setting.gathers and (setting.columns <= FEW_COLUMNS or setting.adds_to_near_output):
        yield Plan("rows in order", packs_vector=False, packs_element=False, few_steps=True)


def parts_in_order(setting: Setting) -> Iterator[Plan]:
    """Nothing is packed, and of two summed axes kernels take one: they add its products to a staged block in L1.

    Where they take both, rows of both are read anew for each panel of columns. To an output that is not staged they
    would add as often, wherever its lines begin.
    """
    if setting.prims.batch is not None and setting.exceeds_cache and not setting.gathers_much:
        yield Plan("parts in order", packs_vector=False, packs_element=False, batch_outside=True, staging=SUMS)


def panels_in_order(setting: Setting) -> Iterator[Plan]:
    """Nothing is packed, and a panel of the element operand at a time writes a few whole rows of the output.

    A kernel that takes all of that operand goes down all rows, a tile wide, and comes back to lines of the output that
    have left L1 meanwhile.
    """
    if setting.prims.n is not None and not setting.gathers and setting.summed <= SHORT_SUM:
        yield Plan("panels in order", packs_vector=False, packs_element=False, panels=True)


def pieces_in_order(setting: Setting) -> Iterator[Proposal]:
    """As panels in order, a piece of one row at a time, which L1 holds: it leaves scratch past the caches.

    before: i,j->ij                          (i 4000, j 4000, row-major)
    after:  seq i:1 seq j:2000 prim m=j n=i pack out@2 j
    """
    operation, prims, m = setting.operation, setting.prims, setting.prims.m
    if m is None or setting.gathers or setting.summed > PIECE_SUM or not setting.exceeds_cache:
        return
    if not setting.sums_at_once:
        return
    if not setting.options.packing or setting.options.max_kernel_size or not operation.first_touch.initialises:
        return
    beside = 3 * (1 + setting.summed) * operation.accumulate.size  # L1 holds pieces of the inputs as well.
    piece = equal_part(operation.axis(m).extent, max(setting.machine.l1d // beside, 1))
    others = [axis for axis in operation.axes if axis.role is not DimType.K and axis.name != m]
    loops = [ScheduledLoop(axis.name, 1) for axis in operation.outermost_first(operation.output, others)]
    loops.append(ScheduledLoop(m, piece))
    yield Proposal("pieces in order", Schedule(tuple(loops), prims, (ScheduledPack(OUTPUT, len(loops), (Digit(m),)),)))


def vector_block(setting: Setting) -> Iterator[Plan]:
    """A block of the vector operand in L2 streams past panels of the other, where they lie, in L1."""
    yield Plan("vector block, element in place", packs_element=False)


def both_packed(setting: Setting) -> Iterator[Plan]:
    """The same past packed panels. Where there are several blocks, each would pack the other operand again."""
    if setting.keeps_vector and not setting.keeps_element:
        yield Plan("vector block")


def element_once(setting: Setting) -> Iterator[Plan]:
    """The element operand is packed once for each block of k; blocks of the vector operand pass beside it."""
    if not setting.keeps_element:
        yield Plan("element once", element_first=True, panels=True)


def written_in_order(setting: Setting) -> Iterator[Plan]:
    """Inputs are packed once as a whole, but elements that L1 keeps; tiles follow each other as in a large output.

    Processors fetch and write back what lies in order beside arithmetic. Long sums would want blocks of the inputs.
    """
    is_short = setting.sums_at_once and setting.summed <= setting.blocking.targets.k
    if is_short and setting.exceeds_cache and setting.has_room_for_inputs:
        yield Plan("written in order", packs_element=not setting.keeps_element, panels=True, in_order=True)


def straight_copies(setting: Setting) -> Iterator[Plan]:
    """Tiles take whole rows of the vector operand, and both operands are copied as they lie: no panels are cut.

    Kernels then use a part of every line that they read of the other one, so L1 holds less of the sum. The products of
    a batch are small enough for that: their blocks stay in L2.
    """
    columns, element = setting.prims.n, setting.blocking.b
    if columns is None or element is None or not setting.blocking.common or setting.keeps_element:
        return
    if setting.operation.stride(element.operand, columns) == 1:
        yield Plan("straight copies", element_first=True, k_parts=STRAIGHT_PARTS, whole_rows=True)


def five_loops(setting: Setting) -> Iterator[Plan]:
    """GotoBLAS: a block of the element operand in L2, a panel of the vector operand in L1, all of its block in L3.

    Where L1 keeps all of the element operand nothing streams past; the order in which a short sum is written may count.
    Short sums into an output that no cache holds are written in a better order by others.
    """
    is_short = setting.summed < 2 * setting.blocking.targets.k_inside
    if setting.summed <= FEW_PRODUCTS if setting.keeps_element else not (is_short and setting.is_output_far):
        yield Plan("five loops", vector_inside=True, panels=True)


def large_input(setting: Setting) -> Iterator[Proposal]:
    """An input many times as large as the output is read in its own order: vectors along its contiguous axis."""
    schedule = vectorise_large_input(setting.operation, setting.machine)
    if schedule is not None:
        yield Proposal("large input in order", schedule)


def one_by_one(setting: Setting) -> Iterator[Proposal]:
    """Where the output's innermost axis counts products (a batch), each is computed on its own; copies turn them.

    Vectors along such an axis want it innermost in both inputs as well: else every copy of them is a transposition.
    Where nothing is packed, some rows of vectors at a time are added to the block of all products as well.
    """
    operation, options = setting.operation, setting.options
    for prims in prims_of_one_product(operation) if options.packing else ():
        blocking = Blocking(operation, prims, setting.machine, options.max_kernel_size)
        alone = replace(setting, prims=prims, blocking=blocking)
        yield from products(alone, alone.gathers)
        few = Plan("one by one", packs_vector=False, packs_element=False, staging=PRODUCTS, few_steps=True)
        if not alone.gathers and (schedule := blocking.schedule(few)) is not None:
            yield Proposal(few.family, schedule)


def products(setting: Setting, packs_vector: bool, long_runs: bool = False) -> Iterator[Proposal]:
    """What computes each product of a batch on its own, where the primitive takes the axes of one."""
    for packs_element in (False, True):
        plan = Plan("one by one", packs_vector, packs_element, staging=PRODUCTS, long_runs=long_runs)
        schedule = setting.blocking.schedule(plan)
        if schedule is not None:
            yield Proposal(plan.family, schedule)


def along_an_input(setting: Setting) -> Iterator[Proposal]:
    """Where the output's innermost axis is short, vectors run along an axis of an input; copies turn the output."""
    if setting.options.packing and setting.operation.first_touch.initialises:
        yield from _along(schedules_along_inputs, setting)


def far_input(setting: Setting) -> Iterator[Proposal]:
    """The vector operand is read as it lies, vectors along its innermost axis; copies turn the output."""
    return _along(schedules_of_far_input, setting)


def where_it_lies(setting: Setting) -> Iterator[Proposal]:
    """The same of an input of any size."""
    return _along(schedules_where_it_lies, setting)


def packed_input(setting: Setting) -> Iterator[Proposal]:
    """The vector operand is packed, vectors along an axis that is not the output's innermost."""
    return _along(schedules_of_packed_input, setting)


def _along(schedules: Callable[..., Iterable[Schedule]], setting: Setting) -> Iterator[Proposal]:
    most = setting.options.max_kernel_size
    for schedule in schedules(setting.operation, setting.prims, setting.machine, most):
        yield Proposal("along an input", schedule)


def batch_as_columns(setting: Setting) -> Iterator[Proposal]:
    """Where lines of the output hold vectors of several products, a tile has a column of each: they become one run."""
    prims = prims_with_batch_as_columns(setting.operation, setting.prims) if setting.options.packing else None
    if prims is None:
        return
    blocking = Blocking(setting.operation, prims, setting.machine, setting.options.max_kernel_size)
    plan = Plan("batch as columns", packs_element=False)
    for each in (plan._replace(packs_vector=False), plan, plan._replace(vector_inside=True)):
        schedule = None if setting.gathers and not each.packs_vector else blocking.schedule(each)
        if schedule is not None:
            yield Proposal(each.family, schedule)


def several_products(setting: Setting) -> Iterator[Plan]:
    """Where an input's innermost axis counts products, copies read lines of it: packed blocks hold several products."""
    operation = setting.operation
    innermost = [operation.contiguous_axis(operand) for operand in operation.inputs]
    if any(axis and axis.role is DimType.C and axis.name not in setting.prims.names for axis in innermost):
        yield Plan("several products", packs_element=False, several=True)
        yield Plan("several products", several=True)


def batch_inside(setting: Setting) -> Iterator[Plan]:
    """Where vectors are contiguous along the primitive's batch, that is its k: kernels and copies read runs."""
    operation, prims = setting.operation, setting.prims
    innermost = operation.contiguous_axis(operation.inputs[vector_operand(operation, prims)])
    if innermost is None or innermost.name != prims.batch:
        return
    yield Plan("batch inside", packs_vector=False, packs_element=False, batch_inside=True)
    if not setting.keeps_element:
        yield Plan("batch inside", element_first=True, panels=True, batch_inside=True)


FAMILIES: tuple[Family, ...] = (
    in_place,
    rows_in_order,
    panels_in_order,
    pieces_in_order,
    vector_block,
    element_once,
    written_in_order,
    straight_copies,
    large_input,
    one_by_one,
    along_an_input,
    batch_as_columns,
    several_products,
    batch_inside,
)
"""Families, the plainest first: of equally cheap proposals the first one is taken."""

FOLLOWERS: tuple[tuple[str, Family], ...] = (
    ("in place", parts_in_order),
    ("vector block, element in place", gathered),
    ("element once", both_packed),
    ("element once", five_loops),
)
"""Further families, each with the one that shows whether it is worth trying: what they have in common with it decides.
"""
