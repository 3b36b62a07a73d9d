"""`CurveLowering`: the code that places blocks along a space-filling curve, from a table of its cells.

The table is constant data of the program: a row a cell, an index a loop. It knows no kernels; `calls` does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from einloom.ir.curve import curve
from einloom.ir.nest import Loop, Node
from einloom.targets.loops import Body
from einloom.targets.positions import Positions, Register

__all__ = ["CurveLowering", "curve_variables"]


def curve_variables(loop: Loop, positions: Sequence[str]) -> list[str]:
    """Return the variables of a curve that begins with `loop`: the cell, and where the walk along it began."""
    return [f"cell {loop.name}", *(f"{name} before {loop.name}" for name in positions)]


class CurveLowering:
    """Code for loops along curves; `body` emits what is inside."""

    def __init__(self, positions: Positions, body: Body) -> None:
        self.positions = positions
        self._body = body

    def place(self, loops: Sequence[Loop], cell: Register) -> None:
        """Move to the curve's cell number `cell`, whose indices a table has; `cell` is overwritten."""
        vm = self.positions.vm
        row, offset = vm.arguments[1], vm.arguments[5]
        cells = curve(tuple(loop.trips for loop in loops))
        table = self.positions.asm.data(np.array(cells, np.int64).tobytes(), align=8)
        vm.address_of(row, table)
        vm.multiply_constant(offset, cell, 8 * len(loops))
        vm.add(row, offset)
        for position, loop in enumerate(loops):
            vm.load(cell, row, 8 * position)
            self.positions.move_by(loop, cell)

    def emit(self, loops: Sequence[Loop], body: tuple[Node, ...]) -> None:
        """Walk a curve inside other loops: every cell is placed from where the walk began."""
        positions, variables, first = self.positions, self.positions.variables, loops[0].name
        cell = positions.vm.arguments[4]
        for name in positions.names:
            variables.copy(f"{name} before {first}", name)
        variables.set(f"cell {first}", 0)
        top, following = positions.asm.label(), positions.asm.forward("next")
        variables.load(cell, f"cell {first}")
        self.place(loops, cell)
        positions.skip_outside(loops, following)
        self._body(body)
        positions.asm.bind(following)
        for name in positions.names:
            variables.copy(name, f"{name} before {first}")
        variables.add(f"cell {first}", 1)
        positions.branch("lt", f"cell {first}", math.prod(loop.trips for loop in loops), top)
