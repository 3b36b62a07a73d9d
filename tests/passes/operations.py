"""Operations and schedules as text: what the tests of passes compare."""

from __future__ import annotations

import math

from einloom.ir.operation import Operation
from einloom.ir.text import parse_operation

PRODUCT = parse_operation(
    """
    gemm first=zero last=none
    axis i 1600 m
    axis j 1600 n
    axis k 1600 k
    in0 float32 i=1600 k=1
    in1 float32 j=1 k=1600
    out float32 i=1600 j=1
    """
)


def contraction(axes: str, in0: str, in1: str, out: str, dtype: str = "float32") -> Operation:
    """Axes as `name extent role`, separated by commas; row-major operands as words of axes."""
    sizes = {name: int(extent) for name, extent, _ in (axis.split() for axis in axes.split(","))}

    def strides(word: str) -> str:
        products = [math.prod(sizes[name] for name in word[i + 1 :]) for i in range(len(word))]
        return " ".join(f"{name}={stride}" for name, stride in zip(word, products))

    lines = ["gemm first=zero last=none", *(f"axis {axis.strip()}" for axis in axes.split(","))]
    operands = zip(("in0", "in1", "out"), (in0, in1, out))
    return parse_operation("\n".join([*lines, *(f"{name} {dtype} {strides(word)}" for name, word in operands)]))
