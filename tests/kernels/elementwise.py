"""Cases of unary and binary kernels and the check of one: NumPy's results, NaN, infinities and zeros included."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from einloom.kernels import Binary, Unary, signature
from tests.kernels.products import Matrix, compile_kernel

REFERENCE: dict[str, Callable[..., Any]] = {
    "identity": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "min": np.minimum,
    "max": np.maximum,
}
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, 3.0, -2.5)


@dataclass(frozen=True)
class ElementCase:
    """A kernel and a call of it.

    Attributes:
        spec: with every stride known.
        open: whether strides other than 0 and 1 are arguments of the kernel.
        vector: the vector ISA.
        at_end: whether operands end or begin at an unmapped page.
    """

    spec: Unary | Binary
    open: bool
    vector: str
    at_end: bool

    @property
    def opened(self) -> dict[str, tuple[int | None, ...]]:
        """Strides as the kernel is compiled for them."""
        sizes = (self.spec.m, self.spec.n)
        return {
            field.name: tuple(
                None if self.open and stride not in (0, 1) and size > 1 else stride
                for stride, size in zip(getattr(self.spec, field.name), sizes)
            )
            for field in fields(self.spec)
            if field.name in ("a", "b", "c")
        }


def check_elements(case: ElementCase) -> str | None:
    """Run a case; return what is wrong with the result, or None."""
    spec = case.spec
    sizes, dtype = (spec.m, spec.n), spec.dtype.name
    names = [name for name in "abc" if hasattr(spec, name)]
    matrices = {
        name: Matrix(sizes, getattr(spec, name), dtype, case.at_end, seed, place_specials)
        for seed, name in enumerate(names)
    }
    output = matrices[names[-1]]
    inputs = [matrices[name].view.copy() for name in names[:-1]]
    expected = output.memory.values.copy()
    with np.errstate(all="ignore"):
        result = np.zeros(sizes, dtype) if spec.op == "zero" else REFERENCE[spec.op](*inputs)
    kernel_spec = replace(spec, **case.opened)
    values: dict[str, Any] = {name: matrix.address for name, matrix in matrices.items()}
    for name, strides in case.opened.items():
        axes = [axis for axis, stride in enumerate(strides) if stride is None]
        for axis in axes:
            values[f"ld_{name}" if len(axes) == 1 else f"{name}_{'mn'[axis]}"] = getattr(spec, name)[axis]
    compile_kernel(kernel_spec, case.vector).call(*(values[name] for name in signature(kernel_spec)))
    complaint = None
    if not np.array_equal(output.view, result.astype(dtype), equal_nan=True):
        complaint = f"wrong result\n{output.view}\n{result}"
    output.view[...] = 0
    before = np.lib.stride_tricks.as_strided(expected[output.first :], sizes, output.view.strides)
    before[...] = 0
    if not complaint and not np.array_equal(output.memory.values.view(np.uint32), expected.view(np.uint32)):
        complaint = "wrote between the elements of the output"
    for matrix in matrices.values():
        matrix.close()
    return complaint


def place_specials(view: Any, generator: np.random.Generator) -> None:
    """Fill with normal numbers, every fifth of them special."""
    view[...] = generator.normal(size=view.shape)
    special = generator.random(view.shape) < 0.2
    view[special] = generator.choice(np.array(SPECIAL, view.dtype), int(special.sum()))
