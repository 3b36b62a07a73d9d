"""`GpuStep`: an operation as a compiled kernel of a device, and what is kept of it in memory and on disk.

The leaf of the space that decides it is a record's, where the operation was tuned on this device, else the expert's.
What was compiled once is found on disk, as a launch and a program: then no space is made and no compiler called.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from einloom.config import current_settings
from einloom.errors import DeviceError, EinloomError
from einloom.frozen import frozen
from einloom.ir.gpu.launch import Launch
from einloom.ir.gpu.text import read_launch, write_launch
from einloom.ir.operation import Operation
from einloom.jit.code_store import code_store, package_stamp
from einloom.jit.gpu.driver import GpuDriver, GpuKernel
from einloom.once import OnceTable, cached_property
from einloom.plan.names import with_plain_names
from einloom.search.on_gpu.records import gpu_key, recorded_leaf
from einloom.search.records import readable_file
from einloom.space.candidate import Candidate, Space
from einloom.space.on_gpu.experts import best_expert, spaces_of
from einloom.targets.gpu.comment import comment_of
from einloom.targets.gpu.device import device_of
from einloom.targets.gpu.dialects import DIALECTS
from einloom.targets.gpu.emulated import fitted_launch
from einloom.targets.gpu.printer import print_launch
from einloom.targets.gpu.sizes import origin_values

__all__ = ["GpuStep", "compiled_step", "forget_steps", "loaded_kernel"]

NEEDS_FLOAT64 = ("float64", "complex128")

_STEPS: OnceTable[GpuStep] = OnceTable(1024)
"""The compiled steps of all expressions, by device, operation, and which arrays begin anywhere in their memory."""


@frozen(slots=False, eq=False)
class GpuStep:
    """An operation as a kernel.

    Attributes:
        space: of its implementations.
        decisions: of the leaf that was taken.
        launch: what threads do; text: the same as the device's compiler takes it.
        kernel: compiled.
        begins: arrays of which it is told where in their memory they begin.
    """

    space: Space
    decisions: Mapping[str, str | int]
    launch: Launch
    text: str
    kernel: GpuKernel
    begins: tuple[str, ...]

    def start(self, arguments: Mapping[str, object], shifts: Mapping[str, int], after: Sequence[object]) -> object:
        """Run it.

        Args:
            arguments: arrays and numbers by name.
            shifts: how many elements of its memory lie before those of an array of `begins`.
            after: events that it waits for.
        """
        launch = self.launch
        grid, block = (tuple(level.extent for level in levels) for levels in (launch.grid, launch.block))
        given = [arguments[each.name] for each in launch.arguments]
        return self.kernel.start(grid, block, [*given, *origin_values(launch, self.begins, shifts)], after)

    @cached_property
    def leaf(self) -> Candidate:
        """The leaf of the space."""
        return self.space.root.apply(self.decisions)


def compiled_step(
    driver: GpuDriver, operation: Operation, begins: tuple[str, ...] = (), aligned: bool = True
) -> GpuStep:
    """Return the step of an operation on a device, compiled on first use.

    Args:
        driver: the device.
        operation: what is computed.
        begins: arrays that begin anywhere in their memory.
        aligned: whether they all lie at multiples of what a vector load takes.

    Raises:
        DeviceError: the device does not compute in this type, or its compiler refuses the text.
        UnsupportedTarget: the operation has no scalar instructions.
    """
    plain = with_plain_names(operation)
    key = (driver, plain, begins, aligned, current_settings().records)
    return _STEPS.get(key, lambda: _compiled(driver, plain, begins, aligned))


def forget_steps() -> None:
    """Forget what was compiled in this process: records may say something else now."""
    _STEPS.clear()


def _compiled(driver: GpuDriver, operation: Operation, begins: tuple[str, ...], aligned: bool) -> GpuStep:
    types = [operand.dtype for operand in operation.operands]
    if not driver.limits.computes_float64 and any(dtype.accumulate.name in NEEDS_FLOAT64 for dtype in types):
        raise DeviceError(f"{driver.limits.name} has no 64-bit floats\n  Compute in float32.")
    spaces = spaces_of(operation, device_of(driver.limits, types, aligned))
    decided = _decided(spaces, driver, aligned)
    space = next(each for each in spaces if each.name == decided.name)
    launch = fitted_launch(decided.launch, driver.limits)
    begins = tuple(each.name for each in launch.arguments if each.name in begins)  # Sums of nothing read nothing.
    text = print_launch(launch, DIALECTS[driver.kind], decided.comment, begins=begins)
    return GpuStep(space, decided.decisions, launch, text, loaded_kernel(driver, text, launch.name), begins)


@frozen
class _Decided:
    """A leaf as it is kept on disk, with the name of its space."""

    name: str
    decisions: Mapping[str, str | int]
    launch: Launch
    comment: str

    @staticmethod
    def of(leaf: Candidate) -> _Decided:
        """Return what is kept of a leaf."""
        return _Decided(leaf.space.name, leaf.assignment, leaf.launch(), comment_of(leaf))

    def text(self) -> bytes:
        """Return it as bytes."""
        launch = write_launch(self.launch)
        told = {"name": self.name, "decisions": self.decisions, "launch": launch, "comment": self.comment}
        return json.dumps(told).encode()

    @staticmethod
    def parse(text: bytes) -> _Decided | None:
        """Return what bytes say; None if that is nothing."""
        try:
            found = json.loads(text)
            return _Decided(found["name"], found["decisions"], read_launch(found["launch"]), found["comment"])
        except (ValueError, KeyError, TypeError, EinloomError):
            return None


def _decided(spaces: Sequence[Space], driver: GpuDriver, aligned: bool) -> _Decided:
    """Return the record's leaf, or the expert's, which is looked for once on a machine.

    Records are of aligned arrays, and may decide on vectors.
    """
    file = readable_file(current_settings().records) if aligned else None
    for space in spaces:
        recorded = None if file is None else recorded_leaf(space, gpu_key(space.name, driver.identity), file)
        if recorded is not None:
            return _Decided.of(recorded)
    space = spaces[-1]
    store, key = code_store(), f"expert {package_stamp()} {driver.identity} {space.name} {space.device!r}"
    kept = store.read(key) if store else None
    found = _Decided.parse(kept) if kept else None
    if found is None:
        found = _Decided.of(best_expert(spaces))
        if store:
            store.write(key, found.text())
    return found


def loaded_kernel(driver: GpuDriver, text: str, name: str) -> GpuKernel:
    """Return the kernel of a text, from the program on disk if there is one that the driver takes.

    Raises:
        DeviceError: the device's compiler refuses the text.
    """
    store, key = code_store(), f"program {driver.identity} {text}"
    kept = store.read(key) if store else None
    if kept is not None:
        try:
            return driver.load(kept, name)
        except DeviceError:
            pass  # Another version of the driver made it.
    kernel = driver.build(text, name)
    if store and (program := kernel.program) is not None:
        store.write(key, program)
    return kernel
