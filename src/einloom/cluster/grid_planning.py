"""Plan of a product over a grid of ranks: panels are multiplied while the next ones are on their way."""

from __future__ import annotations

import math

from einloom.api import compile as compile_here
from einloom.cluster.distribution import Distribution, Panel
from einloom.cluster.predicted import Network, Plan, PlanRow
from einloom.expression.expression import Expression
from einloom.expression.predicted import predicted_seconds
from einloom.frozen import frozen

__all__ = ["grid_plan"]


@frozen
class _Panel:
    """What a rank of a grid does with a panel.

    Attributes:
        computing: seconds.
        sending: seconds, while the panel before is multiplied.
        traffic: bytes that all ranks send.
        memory: bytes beside the blocks of the operands.
    """

    computing: float
    sending: float
    traffic: int
    memory: int


def grid_plan(distribution: Distribution, dtype: object, network: Network) -> Plan:
    """Return the plan of a product for its number of ranks."""
    rows, columns = distribution.grid
    panels = [_panel(distribution, panel, dtype, network) for panel in distribution.panels(0)]
    computing = sum(panel.computing for panel in panels)
    seconds = computing + max((panel.sending for panel in panels), default=0.0)
    traffic = sum(panel.traffic for panel in panels) * distribution.copies
    whole: Expression = compile_here(distribution.equation, distribution.first, distribution.second, dtype=dtype)
    blocks = whole.dtype.itemsize * sum(math.prod(_block(distribution, i)) for i in range(2))
    memory = blocks + max((panel.memory for panel in panels), default=0)
    efficiency = predicted_seconds(whole.recipe) / (seconds * distribution.ranks) if seconds else 1.0
    row = PlanRow(distribution.ranks, seconds, computing, memory, traffic, efficiency)
    cuts = f"{rows} x {columns} x {distribution.copies} ranks"
    return Plan(distribution.equation, whole.flops, cuts, len(panels), (row,))


def _panel(distribution: Distribution, panel: Panel, dtype: object, network: Network) -> _Panel:
    (rows, columns), (_, _, k) = distribution.grid, distribution.labels
    shapes = [
        tuple(panel.stop - panel.start if x == k else n for x, n in zip(term, _block(distribution, i)))
        for i, term in enumerate(distribution.terms[:2])
    ]
    f: Expression = compile_here(distribution.equation, *shapes, dtype=dtype, beta=1)
    first, second = (math.prod(shape) * f.dtype.itemsize for shape in shapes)
    moved = first * (columns > 1) + second * (rows > 1)
    traffic = first * (columns - 1) * rows + second * (rows - 1) * columns
    result = math.prod(f.output_shape) * f.dtype.itemsize
    sending = network.seconds(moved) if moved else 0.0
    return _Panel(predicted_seconds(f.recipe), sending, traffic, result + 2 * (first + second))


def _block(distribution: Distribution, operand: int) -> tuple[int, ...]:
    """Return the shape of a rank's block."""
    return tuple(part.stop - part.start for part in distribution.block(operand, 0))
