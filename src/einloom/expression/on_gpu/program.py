"""`GpuProgram`: the steps of an einsum on one device, for operands of certain strides, and how they run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from einloom.expression.on_gpu.steps import GpuStep, compiled_step
from einloom.frozen import frozen
from einloom.ir.operation import Operand, Operation, Primitive, reach
from einloom.jit.gpu.driver import GpuDriver
from einloom.once import cached_property
from einloom.plan.paths import Path
from einloom.plan.problem import Problem
from einloom.plan.steps import Plan, Step, plan_problem
from einloom.space.on_gpu.operations import BEFORE

__all__ = ["GpuProgram", "Lying"]

VECTOR_BYTES = 16
"""Arrays that begin at multiples of so many bytes may be read by vectors."""


@frozen
class Lying:
    """Where an array lies.

    Attributes:
        memory: a buffer of the device, or an address.
        start: bytes from there to the element with all indices 0.
        address: what tells whether that element is aligned.
    """

    memory: Any
    start: int = 0
    address: int = 0


class GpuProgram:
    """The steps of a problem on a device.

    Args:
        driver: the device.
        problem: what is computed, with the strides of its operands.
        output: strides of the result; None: C-contiguous.
        path: the order of contractions.
    """

    def __init__(self, driver: GpuDriver, problem: Problem, output: tuple[int, ...] | None, path: Path) -> None:
        self.driver = driver
        self.plan: Plan = plan_problem(problem, output, path)
        # A result without elements takes no kernel.
        self._steps = self.plan.steps if all(problem.output_shape) else ()
        self._tensors = len(problem.shapes) + len(problem.finish.constants)
        self._last_use = {number: place for place, step in enumerate(self._steps) for number in step.inputs}

    @cached_property
    def steps(self) -> list[GpuStep]:
        """The kernels for arrays that begin where their memory does."""
        return [compiled_step(self.driver, step.operation) for step in self._steps]

    @property
    def reads_output(self) -> bool:
        """Whether the result depends on what the output holds."""
        return self._accumulates or self._held in self._last_use

    @property
    def _accumulates(self) -> bool:
        """Whether the last step adds to what the output holds."""
        last = self.plan.steps[-1].operation
        return last.main.is_contraction and last.first_touch.primitive is not Primitive.ZERO

    @property
    def _held(self) -> int:
        """What the output holds, as steps that read it call it: the number that the result has at last."""
        return self._tensors + len(self._steps) - 1

    def run(self, tensors: list[Lying], result: Lying, after: Sequence[object] = ()) -> list[object]:
        """Start all steps; return their runs.

        Args:
            tensors: the operands, then the constants of the finish.
            result: takes the result.
            after: events that the first step waits for.

        Raises:
            DeviceError: the device has no memory left, or refuses.
        """
        left: dict[int, Lying] = dict(enumerate(tensors))
        if self._held in self._last_use:
            left[self._held] = self._copy(self.plan.steps[-1].operation, result)
        runs = list[object]()
        for place, step in enumerate(self._steps):
            is_last = place == len(self._steps) - 1
            target = result if is_last else Lying(self.driver.allocate(step.bytes))
            runs.append(self._start(place, step, [left[number] for number in step.inputs], target, after))
            left[len(tensors) + place] = target
            after = ()
            for number in step.inputs:
                if self._last_use[number] == place:
                    left.pop(number, None)  # Its memory goes back to the pool: what is started later may use it.
        return runs

    def _start(self, place: int, step: Step, inputs: Sequence[Lying], target: Lying, after: Sequence[object]) -> object:
        operation = step.operation
        lying = dict(zip((each.name for each in operation.operands), (*inputs, target)))
        if self._accumulates and place == len(self._steps) - 1:
            lying[BEFORE] = self._copy(operation, target)
        aligned = all(each.address % VECTOR_BYTES == 0 for each in lying.values())
        passed = {name: self._argument(operation, name, each) for name, each in lying.items()}
        shifts = {name: shift for name, (_, shift) in passed.items() if shift}
        in_front = not shifts and aligned
        compiled = self.steps[place] if in_front else compiled_step(self.driver, operation, tuple(shifts), aligned)
        return compiled.start({name: argument for name, (argument, _) in passed.items()}, shifts, after)

    def _argument(self, operation: Operation, name: str, lying: Lying) -> tuple[object, int]:
        """Return what the kernel is given for an array, and how many elements of it lie before the array's lowest."""
        operand = _operand(operation, name)
        low, size = _lowest(operation, operand), operand.dtype.size
        argument, rest = self.driver.at(lying.memory, lying.start + low * size)
        return argument, rest // size

    def _copy(self, operation: Operation, target: Lying) -> Lying:
        """Return a copy of what the output holds: threads read it while others write."""
        low, high = reach(operation, operation.output) or (0, 0)
        size = operation.output.dtype.size
        memory = self.driver.copy(target.memory, target.start + low * size, (high - low + 1) * size)
        return Lying(memory, -low * size)


def _operand(operation: Operation, name: str) -> Operand:
    return next((each for each in operation.operands if each.name == name), operation.output)


def _lowest(operation: Operation, operand: Operand) -> int:
    """Return the lowest element that an operation reaches, counted from the one with all indices 0."""
    found = reach(operation, operand)
    return 0 if found is None else found[0]
