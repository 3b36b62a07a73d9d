"""`CurveLowering`: the part of lowering that places blocks along a space-filling curve, from a table of its cells.

The table is constant data of the program: a row a cell, an index a loop. It knows no kernels; `targets/cpu.py` does.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from einloom.asm import Assembler, Label
from einloom.ir.curve import curve
from einloom.ir.nest import Loop, Nest, Node
from einloom.kernels.select import AnyMachine
from einloom.kernels.verbs.frame import Frame
from einloom.kernels.verbs.scalar import Condition

__all__ = ["CurveLowering", "Register"]

Register: TypeAlias = Any
"""A general register of whichever ISA."""


class CurveLowering(ABC):
    """Code for loops along curves; the rest of the lowering is the subclass's."""

    nest: Nest
    asm: Assembler
    vm: AnyMachine
    variables: Frame[Any, Any]
    short: set[str]

    @abstractmethod
    def _place_index(self, loop: Loop, index: Register) -> None: ...

    @abstractmethod
    def _skip_outside(self, loops: Sequence[Loop], following: Label) -> None: ...

    @abstractmethod
    def _nodes(self, nodes: Iterable[Node]) -> None: ...

    @abstractmethod
    def _branch(self, condition: Condition, name: str, other: str | int, label: Label) -> None: ...

    def _curve_names(self, loop: Loop) -> list[str]:
        return [f"cell {loop.name}", *(f"{name} before {loop.name}" for name in self._positions())]

    def _positions(self) -> list[str]:
        """Return the variables that say where an iteration is: positions in buffers, and what is left of each axis."""
        return [f"at {b.name}" for b in self.nest.buffers] + [f"left {axis}" for axis in sorted(self.short)]

    def _place_on_curve(self, loops: Sequence[Loop], cell: Register) -> None:
        """Read the indices of the curve's cell number `cell` from a table; `cell` is overwritten."""
        vm, row = self.vm, self.vm.arguments[1]
        cells = curve(tuple(loop.trips for loop in loops))
        table = self.asm.data(np.array(cells, np.int64).tobytes(), align=8)
        vm.address_of(row, table)
        vm.multiply_constant(vm.arguments[5], cell, 8 * len(loops))
        vm.add(row, vm.arguments[5])
        for position, loop in enumerate(loops):
            vm.load(cell, row, 8 * position)
            self._place_index(loop, cell)

    def _curve(self, loops: Sequence[Loop], body: tuple[Node, ...]) -> None:
        """Walk a curve inside other loops: every cell is placed from where the walk began."""
        variables, first = self.variables, loops[0].name
        for name in self._positions():
            variables.copy(f"{name} before {first}", name)
        variables.set(f"cell {first}", 0)
        top, following = self.asm.label(), self.asm.forward("next")
        variables.load(self.vm.arguments[4], f"cell {first}")
        self._place_on_curve(loops, self.vm.arguments[4])
        self._skip_outside(loops, following)
        self._nodes(body)
        self.asm.bind(following)
        for name in self._positions():
            variables.copy(name, f"{name} before {first}")
        variables.add(f"cell {first}", 1)
        self._branch("lt", f"cell {first}", math.prod(loop.trips for loop in loops), top)
