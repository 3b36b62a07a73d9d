"""What is done to one vector of each input: the verbs of a formula, or nothing where elements are copied."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Generic, TypeVar

from einloom.kernels.formula.recipe import Recipe
from einloom.kernels.verbs.scalar import A, R
from einloom.kernels.verbs.vector import CopyVerbs, FormulaVerbs, V

__all__ = ["Application", "Copying", "Formulaic"]

P = TypeVar("P")
"""A place in memory."""

UNROLLED = ((3, 8), (6, 4), (12, 2))
"""Vectors that one iteration of the loop along m handles, by the most steps of the recipe; 1 for longer ones.

The processor overlaps vectors by itself; unrolling spares what a loop costs, which matters where little is computed.
"""

TEMPORARIES = 2
"""Registers at the end that loads and stores may need."""


class Application(ABC, Generic[V, P]):
    """An operation on vectors.

    Attributes:
        registers: those for inputs and intermediate results; constants and temporaries are behind them.
        temporaries: two registers for loads and stores.
        unrolled: vectors that one iteration should handle.
        direct: inputs that need not be in a register.
        steps: instructions that it takes.
    """

    registers: Sequence[V]
    temporaries: Sequence[V]
    unrolled: int
    direct: frozenset[int] = frozenset()
    steps: int = 0

    def prepare(self) -> None:
        """Emit what is done once, before the loops."""

    @abstractmethod
    def __call__(self, inputs: Sequence[V], free: Sequence[V], memory: Mapping[int, P] = MappingProxyType({})) -> V:
        """Emit the operation, inputs of `memory` being read from there; return the register of the result."""


class Copying(Application[V, A]):
    """The result is the input."""

    unrolled = UNROLLED[0][1]

    def __init__(self, vec: CopyVerbs[R, V, A]) -> None:
        self.registers, self.temporaries = vec.registers[:-TEMPORARIES], vec.registers[-TEMPORARIES:]

    def __call__(self, inputs: Sequence[V], free: Sequence[V], memory: Mapping[int, A] = MappingProxyType({})) -> V:
        return inputs[0]


class Formulaic(Application[V, A], Generic[R, V, A]):
    """A recipe with its constants in registers."""

    def __init__(self, vec: FormulaVerbs[R, V, A], recipe: Recipe) -> None:
        self.vec, self.recipe = vec, recipe
        self.temporaries = vec.working[-TEMPORARIES:]
        self.registers = vec.working[: len(vec.working) - TEMPORARIES - len(recipe.held)]
        self.direct, self.steps = recipe.direct, len(recipe.steps)
        self.unrolled = next((vectors for most, vectors in UNROLLED if self.steps <= most), 1)
        self._held: dict[int, V] = {}

    def prepare(self) -> None:
        """Load the constants."""
        self._held = self.recipe.hold(self.vec, self.vec.working[len(self.registers) : -TEMPORARIES])

    def __call__(self, inputs: Sequence[V], free: Sequence[V], memory: Mapping[int, A] = MappingProxyType({})) -> V:
        return self.recipe.emit(self.vec, inputs, free, self._held, memory)
