"""`Figure`: a number with the numbers it was made of, so that a bound can be read and made again.

>>> work = Figure.product("cycles", [Figure("instructions", 4096.0), Figure("cycles each", 0.25)])
>>> print(work)
cycles = 1024
  instructions = 4096
  x cycles each = 0.25
>>> work.recomputed() == work.value
True
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from einloom.frozen import frozen

__all__ = ["Figure"]

_SIGNS = {"sum": "+ ", "product": "x ", "largest": "| ", "": ""}


@frozen
class Figure:
    """A named number.

    Attributes:
        name: what it is.
        value: how much, in the unit that its name or its top says.
        rule: how the parts make the value: `"sum"`, `"product"`, `"largest"`, or `""` for a number read as it is.
        parts: what it was made of.
    """

    name: str
    value: float
    rule: str = ""
    parts: tuple[Figure, ...] = ()

    @staticmethod
    def sum(name: str, parts: Sequence[Figure]) -> Figure:
        """Return the sum of some figures."""
        return Figure(name, sum(each.value for each in parts), "sum", tuple(parts))

    @staticmethod
    def product(name: str, parts: Sequence[Figure]) -> Figure:
        """Return the product of some figures."""
        return Figure(name, prod(each.value for each in parts), "product", tuple(parts))

    @staticmethod
    def largest(name: str, parts: Sequence[Figure]) -> Figure:
        """Return the largest of some figures, 0 if there is none; the largest comes first."""
        ordered = sorted(parts, key=lambda each: -each.value)
        return Figure(name, ordered[0].value if ordered else 0.0, "largest", tuple(ordered))

    def recomputed(self) -> float:
        """Return the value that the numbers at the ends of the tree give."""
        below = [each.recomputed() for each in self.parts]
        match self.rule:
            case "sum":
                return sum(below)
            case "product":
                return prod(below)
            case "largest":
                return max(below, default=0.0)
            case _:
                return self.value

    def __str__(self) -> str:
        return "\n".join(self._lines(0, ""))

    def _lines(self, depth: int, sign: str) -> list[str]:
        found = [f"{'  ' * depth}{sign}{self.name} = {self.value:.4g}"]
        for position, part in enumerate(self.parts):
            found += part._lines(depth + 1, _SIGNS[self.rule] if position else "")
        return found
