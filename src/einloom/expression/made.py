"""`make_expression`: a compiled expression for the target that is asked for, a processor's or a GPU's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from einloom.errors import DeviceError
from einloom.expression.expression import Expression
from einloom.expression.options import DEFAULTS, GPU_TARGETS, Options

__all__ = ["Compiled", "device_operands", "make_expression", "on_device"]


def on_device(things: Sequence[Any], options: Options) -> bool:
    """Whether one of the operands lies on a device, where a GPU is to compute."""
    if options.target not in GPU_TARGETS:
        return False
    from einloom.arrays.device import home_of  # Late, as below.

    return any(home_of(each) is not None for each in things)


class Compiled(Protocol):
    """What expressions of all targets have in common."""

    equation: str
    output_shape: tuple[int, ...]

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy type of the result."""
        ...

    def __call__(self, *operands: Any, out: Any = None) -> Any:
        """Compute."""
        ...


def device_operands(things: Sequence[Any]) -> tuple[str, list[tuple[int, ...]]]:
    """Return the type of operands that lie on a device, and their shapes.

    Raises:
        DeviceError: they lie in several places, or in main memory.
    """
    from einloom.expression.on_gpu.expression import described, shared_home  # Late, as below.

    home = shared_home(things)
    if home is None:
        raise DeviceError("out lies on a device, the operands in main memory\n  Copy them there.")
    return described(things, home)


def make_expression(
    equation: str,
    shapes: Sequence[tuple[int, ...]],
    dtype: object,
    strides: Sequence[tuple[int, ...] | None] | None = None,
    options: Options = DEFAULTS,
    types: Sequence[str] | None = None,
    in_place: bool = False,
) -> Compiled:
    """Return the expression; its arguments are those of `Expression`, and whether operands lie on a device."""
    if options.target in GPU_TARGETS:
        from einloom.expression.on_gpu.expression import (
            GpuExpression,  # Late: it takes spaces and their constraint engine.
        )

        return GpuExpression(equation, shapes, dtype, options, in_place)
    return Expression(equation, shapes, dtype, strides, options, types)
