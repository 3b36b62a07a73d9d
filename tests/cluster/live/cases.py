"""Contractions whose results do not depend on who computes them, drawn from a seed."""

from __future__ import annotations

import random

import numpy as np

import einloom as el
from tests.einsum.networks import random_network

__all__ = ["NETWORK", "drawn", "network_operands"]

NETWORK = ("abcd,cdef,efgh,ghi->ai", (24, 8, 8, 16), (8, 16, 8, 24), (8, 24, 12, 8), (12, 8, 10))
"""An equation and the shapes of its operands: of some hundred slices under `LIMIT`."""

LIMIT = 64


def network_operands(seed: int = 1) -> list[np.ndarray]:
    """The operands of `NETWORK`: sums of them are rounded, so that another order shows."""
    numbers = np.random.default_rng(seed)
    return [numbers.standard_normal(shape) for shape in NETWORK[1:]]


def drawn(seed: int) -> tuple[el.cluster.Contraction, list[np.ndarray]]:
    """Return a random contraction, cut or not, and its operands: repeated ones, scalars, extents of 0 among them."""
    rng = random.Random(seed)
    equation, shapes = random_network(rng, most=5)
    if rng.random() < 0.1:
        equation, shapes = "ab,bc,ac->a", [(0, 3), (3, 2), (0, 2)]
    if rng.random() < 0.15:
        equation, shapes = "ab,bc,cd->ad", [(6, 6)] * 3
    numbers = np.random.default_rng(seed)
    dtype = rng.choice(["float64", "float32", "complex128", "int32"])
    operands = [numbers.integers(-3, 4, shape).astype(dtype) for shape in shapes]
    if equation == "ab,bc,cd->ad":
        operands = [operands[0]] * 3
    limit = rng.choice([1, 2, 5, None])
    return el.cluster.compile(equation, *operands, memory_limit=limit), operands
