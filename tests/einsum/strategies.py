"""Random einsums of one and two operands on views of any kind, drawn by hypothesis."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

SIZES = (0, 1, 1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 19, 23, 29, 31, 32, 33, 37, 40)
POINTS = 200_000


@dataclass(frozen=True)
class Case:
    """An einsum to try: the equation, its operands and how many products each result sums."""

    equation: str
    operands: tuple[np.ndarray[Any, Any], ...]
    summed: int


@st.composite
def cases(draw: st.DrawFn, operands: int = 2) -> Case:
    """Labels with sizes, which operand and whether the result has each, axis orders, types and views."""
    labels = "abcdefg"[: draw(st.integers(1, 7))]
    sizes: dict[str, int] = {}
    for label in labels:
        budget = POINTS // max(math.prod(sizes.values()), 1)
        sizes[label] = draw(st.sampled_from([size for size in SIZES if size <= budget]))
    owners = {label: draw(st.sets(st.integers(0, operands - 1), min_size=1)) for label in labels}
    subscripts = []
    for number in range(operands):
        own = [label for label in labels if number in owners[label]]
        if own and draw(st.integers(0, 9)) == 0:
            own.append(draw(st.sampled_from(own)))  # A diagonal.
        subscripts.append("".join(draw(st.permutations(own))))
    kept = [label for label in labels if draw(st.booleans())]
    output = "".join(draw(st.permutations(kept)))
    dtype = draw(st.sampled_from(["float32", "float64"]))
    arrays = tuple(draw(views([sizes[label] for label in term], dtype)) for term in subscripts)
    summed = math.prod(sizes[label] for label in labels if label not in kept)
    return Case(f"{','.join(subscripts)}->{output}", arrays, summed)


@st.composite
def views(draw: st.DrawFn, shape: list[int], dtype: str) -> np.ndarray[Any, Any]:
    """An array of the shape: contiguous, transposed, a slice of a larger one, reversed, or broadcast along an axis.

    What lies between its elements is NaN: who reads it is seen.
    """
    order = draw(st.permutations(range(len(shape))))
    steps = [draw(st.sampled_from([1, 1, 1, 2, 3, -1])) for _ in shape]
    broadcast = [draw(st.integers(0, 11)) == 0 for _ in shape]
    padding = [draw(st.sampled_from([0, 0, 1])) for _ in shape]
    stored = [
        1 if broadcast[axis] and shape[axis] else shape[axis] * abs(steps[axis]) + padding[axis]
        for axis in range(len(shape))
    ]
    generator = np.random.default_rng(draw(st.integers(0, 2**16)))
    array = np.full([stored[axis] for axis in order], np.nan, dtype).transpose(np.argsort(order))
    for axis, extent in enumerate(shape):
        if not (broadcast[axis] and extent):
            array = array[(slice(None),) * axis + (slice(None, None, steps[axis]),)]
            array = array[(slice(None),) * axis + (slice(0, extent),)]
    array[...] = generator.uniform(-1, 1, array.shape)
    return np.broadcast_to(array, shape) if any(broadcast) else array
