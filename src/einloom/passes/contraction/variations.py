"""Variations of the cheapest plans so far, and the neighbours of one: what is proposed once families have been costed.

A variation is a function from a `Setting` and those plans to proposals. A new one gets a function and a place in
`VARIATIONS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from einloom.passes.contraction.fused_rows import fused_schedules, staged_schedules
from einloom.passes.contraction.plan import BLOCKS, NONE, SUMS, TILES, Plan
from einloom.passes.contraction.proposals import Proposal
from einloom.passes.contraction.setting import Setting

__all__ = ["VARIATIONS", "Variation", "neighbours"]

Variation = Callable[[Setting, Sequence[Plan]], Iterator[Plan | Proposal]]


def staged(setting: Setting, plans: Sequence[Plan]) -> Iterator[Plan | Proposal]:
    """Tiles of the output are computed in scratch and leave it in long runs past the caches; else blocks.

    A tile leaves while the next one is computed, a block does not (measured: of 1,677 contractions, none takes blocks
    where it may take tiles).
    """
    for packs_element in _packing_element(plans) if setting.exceeds_cache else ():
        tiles = Plan("staged tiles", packs_element=packs_element, staging=TILES)
        schedule = setting.blocking.schedule(tiles)
        if schedule is None:
            yield Plan("staged blocks", packs_element=packs_element, staging=BLOCKS)
        else:
            yield Proposal(tiles.family, schedule, tiles)
            if packs_element:  # Else long runs are the same schedule, or as good.
                yield tiles._replace(long_runs=True)


def fused_rows(setting: Setting, plans: Sequence[Plan]) -> Iterator[Proposal]:
    """Axes that are one run in the output, but not in an input, are one axis of the kernels: full tiles."""
    most, both = setting.options.max_kernel_size, Plan("vector block")
    for plan in dict.fromkeys([plan if plan.packs_vector and plan.packs_element else both for plan in plans]):
        for schedule in fused_schedules(setting.operation, setting.prims, setting.machine, plan, most):
            yield Proposal(f"{plan.family}, fused", schedule)


def staged_rows(setting: Setting, plans: Sequence[Plan]) -> Iterator[Proposal]:
    """Axes that lie apart in the output are one axis of the kernels, in a staged block: full tiles, for long sums."""
    is_long, packs = setting.summed > setting.blocking.targets.k, any(plan.packs_vector for plan in plans)
    if is_long and packs and setting.operation.first_touch.initialises:
        most = setting.options.max_kernel_size
        rows = [Plan("staged rows", packs_element=each, staging=SUMS) for each in _packing_element(plans)]
        for schedule in staged_schedules(setting.operation, setting.prims, setting.machine, rows, most):
            yield Proposal("staged rows", schedule)


def _packing_element(plans: Sequence[Plan]) -> Iterable[bool]:
    """Whether the element operand is packed, in one of the plans or in both ways."""
    return dict.fromkeys([plan.packs_element for plan in plans])


VARIATIONS: tuple[Variation, ...] = (staged, fused_rows, staged_rows)
"""All that is tried of the cheapest plans of any family."""


def neighbours(plan: Plan) -> Iterator[Plan]:
    """Yield the plans that differ from one by the size of a block.

    Staged tiles have been tried in long runs, and are as wide as the vector axis; staged blocks are computed as a
    whole; straight copies of an operand that is packed once gain nothing.
    """
    if plan.staging is NONE and plan.packs:
        yield plan._replace(long_runs=not plan.long_runs)
        if plan.packs_element and not plan.element_first:
            yield plan._replace(panels=not plan.panels)
        yield plan._replace(k_parts=2 * plan.k_parts)
    if plan.packs_vector and plan.staging is not TILES:
        yield plan._replace(whole_rows=not plan.whole_rows)
