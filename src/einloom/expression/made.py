"""`make_expression`: a compiled expression for the target that is asked for, a processor's or a GPU's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from einloom.expression.expression import Expression
from einloom.expression.options import DEFAULTS, GPU_TARGETS, Options

__all__ = ["Compiled", "make_expression"]


class Compiled(Protocol):
    """What expressions of all targets have in common."""

    equation: str
    dtype: np.dtype[Any]
    output_shape: tuple[int, ...]

    def __call__(self, *operands: Any, out: Any = None) -> Any:
        """Compute."""
        ...


def make_expression(
    equation: str,
    shapes: Sequence[tuple[int, ...]],
    dtype: object,
    strides: Sequence[tuple[int, ...] | None] | None = None,
    options: Options = DEFAULTS,
    types: Sequence[str] | None = None,
) -> Compiled:
    """Return the expression; its arguments are those of `Expression`."""
    if options.target in GPU_TARGETS and any(0 in shape for shape in shapes):
        options = replace(options, target="cpu")  # No device takes arrays of no bytes, and there is nothing to do.
    if options.target in GPU_TARGETS:
        from einloom.expression.on_gpu import GpuExpression  # Late: it takes spaces and their constraint engine.

        return GpuExpression(equation, shapes, dtype, options)
    return Expression(equation, shapes, dtype, strides, options, types)
