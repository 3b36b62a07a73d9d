"""`Variant`: an expression planned and compiled for certain strides and a number of threads; it runs on arrays."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from itertools import accumulate

import numpy as np

from einloom.arrays.library import Array
from einloom.expression.fallback import compute_with_numpy
from einloom.frozen import frozen
from einloom.ir.numbers import elements_of
from einloom.ir.schedule import Schedule
from einloom.jit.arrays import array_address
from einloom.jit.calls import Calls, calls_address, ranges_of
from einloom.jit.threads import run_team
from einloom.once import cached_property
from einloom.plan.arena import LINE, Arena, whole_lines
from einloom.plan.steps import Step
from einloom.targets.by_table import Table
from einloom.targets.executable import Executable, scratch

__all__ = ["CompiledStep", "Variant"]

WORD = 8


@frozen
class CompiledStep:
    """A step, how many threads it was compiled for and, unless it is interpreted, its executable.

    Where there is no code for the type of its elements, NumPy computes it. Its schedule, if it was given or recorded:
    else the passes decided. Its table, if it is tiny: then the executable is that of all tables. `held` are the inputs
    that stay the same, by position; `copies` those that the executable takes as packed blocks, with the bytes of these
    and what packs them.
    """

    step: Step
    threads: int = 1
    executable: Executable | None = None
    by_numpy: bool = False
    schedule: Schedule | str | None = None
    table: Table | None = None
    held: tuple[int, ...] = ()
    copies: tuple[tuple[int, int, Executable], ...] = ()

    @property
    def fixed_word(self) -> int | None:
        """What the executable is given for the address of its scratch, where that is the same in all calls."""
        if self.table is not None:
            return array_address(self.table)
        return None if self.executable and self.executable.image.scratch_bytes else 0

    def run(self, addresses: Sequence[int], place: int) -> None:
        """Run the executable on operands, the output last, with scratch from `place` on."""
        assert self.executable is not None
        word = self.fixed_word
        self.executable.run(addresses, self.threads, place if word is None else word)

    def compute(self, operands: Sequence[Array]) -> None:
        """Compute without an executable on these operands, the output last, whose strides are the step's."""
        operation = self.step.operation
        if operands[-1].size and self.by_numpy:
            compute_with_numpy(operation, operands)
        elif operands[-1].size:
            # Late: who runs code needs no interpreter.
            from einloom.expression.interpreted import interpret_arrays

            interpret_arrays(operation, operands)


@frozen(slots=False)
class Variant:
    """Steps, compiled; the last one writes the result.

    Attributes:
        steps: in order.
        arena: where the results of the others lie, behind what kernels need of the scratch.
        constants: tensors that follow the operands.
        lanes: how many of the first steps are whose; see `Plan`.
        held: operands that stay the same, by number.
    """

    steps: tuple[CompiledStep, ...]
    arena: Arena
    constants: tuple[Array, ...]
    lanes: tuple[int, ...] = ()
    held: Mapping[int, Array] = field(default_factory=dict[int, Array])

    @cached_property
    def panels(self) -> dict[int, Array]:
        """What steps read in the place of operands that stay the same, by number: their blocks, packed once."""
        return {
            compiled.step.inputs[place]: _packed(self.held[compiled.step.inputs[place]], place, size, copy)
            for compiled in self.steps
            for place, size, copy in compiled.copies
        }

    @property
    def kernel_scratch(self) -> int:
        """Scratch in bytes that kernels need: steps follow each other, so it is shared; but lanes do not."""
        *_, lanes_end = self.lane_scratch
        return max(lanes_end, _most_scratch(self.together))

    @property
    def lane_scratch(self) -> list[int]:
        """How far into the scratch that of each lane begins, in bytes; and where that of the last one ends."""
        return [*accumulate((whole_lines(_most_scratch(lane)) for lane in self.apart), initial=0)]

    @property
    def apart(self) -> list[Sequence[CompiledStep]]:
        """The steps of every lane."""
        return [self.steps[end - count : end] for end, count in zip(accumulate(self.lanes), self.lanes)]

    @property
    def together(self) -> Sequence[CompiledStep]:
        """The steps behind the lanes."""
        return self.steps[sum(self.lanes) :]

    @cached_property
    def lane_calls(self) -> LaneCalls:
        """The calls of the lanes; for this host."""
        return LaneCalls(self.apart)

    @property
    def scratch_bytes(self) -> int:
        """Scratch that a call needs, in bytes: that of the kernels, then the arena."""
        return self.kernel_scratch + self.arena.size

    def run(self, operands: Sequence[Array], result: Array) -> None:
        """Compute into `result`; arrays have the strides that the variant is for, whatever NumPy says of them."""
        if any(step.executable is None for step in self.steps):
            self._compute(operands, result)
            return
        begin = self.kernel_scratch
        with scratch(self.scratch_bytes) as place:
            tensors = [array_address(array) for array in (*operands, *self.constants)]
            for number, array in self.panels.items():
                tensors[number] = array_address(array)
            tensors += [place + begin + offset for offset in self.arena.places]
            tensors.append(array_address(result))
            written = tensors[len(operands) + len(self.constants) :]
            blocks = [[*(tensors[i] for i in step.step.inputs), output] for step, output in zip(self.steps, written)]
            first = sum(self.lanes)
            if first:
                self.lane_calls.run(blocks[:first], [place + offset for offset in self.lane_scratch])
            for compiled, addresses in zip(self.together, blocks[first:]):
                compiled.run(addresses, place)

    def _compute(self, operands: Sequence[Array], result: Array) -> None:
        tensors = [*operands, *self.constants]
        held = len(tensors) + len(self.steps) - 1
        for compiled in self.steps:
            last = compiled is self.steps[-1]
            whole = compiled.by_numpy or result.dtype.kind == "c"  # Steps on complex numbers are on their parts.
            dtype = result.dtype if whole else elements_of(compiled.step.operation.output.dtype)
            output = result if last else np.empty(math.prod(compiled.step.shape), dtype)
            compiled.compute([*(result if i == held else tensors[i] for i in compiled.step.inputs), output])
            tensors.append(output)


class LaneCalls:
    """The calls of lanes as a table, for a team each of whose threads makes those of a lane.

    What a call gives the team is one block: the address of the table's ranges, then the words of every step.
    """

    def __init__(self, apart: Sequence[Sequence[CompiledStep]]) -> None:
        self._apart = apart
        self._tables: list[Calls] = []
        place = WORD
        for lane in apart:
            rows: list[tuple[int, int]] = []
            for step in lane:
                assert step.executable is not None
                rows.append((step.executable.address, place))
                place += WORD * (len(step.step.inputs) + 2)
            self._tables.append(np.array(rows, np.int64))
        self._ranges = ranges_of(self._tables)

    @property
    def first_word(self) -> int:
        """The first word of a block."""
        return array_address(self._ranges)

    def run(self, addresses: Sequence[Sequence[int]], places: Sequence[int]) -> None:
        """Make the calls.

        Args:
            addresses: of what each step reads and writes.
            places: where the scratch of each lane begins.
        """
        words, own = [self.first_word], iter(addresses)
        for lane, place in zip(self._apart, places):
            for step in lane:
                word = step.fixed_word
                words += [*next(own), place if word is None else word]
        run_team(calls_address(), (ctypes.c_int64 * len(words))(*words), len(self._apart))


def _packed(array: Array, place: int, size: int, copy: Executable) -> Array:
    """Return the blocks of an array of `size` bytes that a copy makes of it, the input at a place, from a line on."""
    memory = np.empty(size + LINE, np.uint8)
    first = -array_address(memory) % LINE
    blocks = memory[first : first + size]
    addresses = [0] * copy.image.operands
    addresses[place], addresses[-1] = array_address(array), array_address(blocks)
    copy(addresses, 1)
    return blocks


def _most_scratch(steps: Sequence[CompiledStep]) -> int:
    return max((step.executable.scratch_bytes(step.threads) for step in steps if step.executable), default=0)
