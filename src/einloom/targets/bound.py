"""`bound_of`: what no program can beat on one core of a machine, from the rates that are recorded of it.

Nothing is measured here: where nobody recorded rates there is no bound. A core may do up to a fifth more than recorded:
so much counts as noise when it is measured again.
"""

from __future__ import annotations

from einloom.frozen import frozen
from einloom.ir.operation import Operand, Operation
from einloom.machine import Machine

__all__ = ["Bound", "bound_of"]


@frozen
class Bound:
    """A least time in seconds, and what it follows from: so much `work` at `rate` a second."""

    reason: str
    work: int
    rate: float
    unit: str

    @property
    def seconds(self) -> float:
        """The least time."""
        return self.work / self.rate

    def __str__(self) -> str:
        return f"{self.seconds * 1e3:.3g} ms, by its {self.reason} at {self.rate / 1e9:.3g} {self.unit}"


def bound_of(operation: Operation, machine: Machine) -> Bound | None:
    """Return the least time of an operation on one core; None where no rates of the machine are recorded.

    Tensors that the caches may hold together are read from there: only what cannot be there counts as traffic.
    """
    rates = machine.rates
    if rates is None:
        return None
    peak = {"float32": rates.float32, "float64": rates.float64}.get(operation.output.dtype.real.name)
    found = [Bound("arithmetic", operation.flops, peak, "GFLOP/s")] if peak and operation.flops else []
    if operation.bytes > 2 * (machine.l1d + machine.l2 + machine.l3):
        reads = sum(_bytes(operation, operand) for operand in operation.inputs)
        found.append(Bound("reads", reads, rates.memory, "GB/s"))
        found.append(Bound("writes", _bytes(operation, operation.output), rates.stream, "GB/s"))
    return max(found, key=lambda bound: bound.seconds, default=None)


def _bytes(operation: Operation, operand: Operand) -> int:
    return operation.elements(operand) * operand.dtype.size
