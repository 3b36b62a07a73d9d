"""`predicted_times`: about how long leaves take, by the heuristic's cost model: it ranks what a strategy proposes."""

from __future__ import annotations

from collections.abc import Callable

from einloom import csp
from einloom.passes.model.cost import CostModel
from einloom.space.on_cpu.space import CpuSpace

__all__ = ["predicted_times"]


def predicted_times(space: CpuSpace) -> Callable[[csp.State], float] | None:
    """Return what says about how many seconds a leaf takes; None where the cost model knows nothing."""
    if not space.operation.main.is_contraction:
        return None
    costs = CostModel(space.operation, space.machine)
    return lambda state: costs.cost(space.schedule(state), space.threads).seconds
