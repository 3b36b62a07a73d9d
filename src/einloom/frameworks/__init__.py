"""Other frameworks' arrays: gradients, transformations and compilation of einsums in PyTorch and JAX; Dask's chunks.

Nothing here imports a framework unless an operand is one of its arrays.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from einloom.frameworks.call import Framework

__all__ = ["framework_of"]


def framework_of(operands: Sequence[Any]) -> Framework | None:
    """Return what computes on these operands if one of them is an array of a framework, else None.

    `torch.compile` reads this function, so it looks nothing up but modules.
    """
    torch, jax, dask = sys.modules.get("torch"), sys.modules.get("jax"), sys.modules.get("dask.array")
    if dask is not None:
        for operand in operands:
            if isinstance(operand, dask.Array):
                from einloom.frameworks import on_dask

                return on_dask
    if torch is not None:
        for operand in operands:
            if isinstance(operand, torch.Tensor):
                from einloom.frameworks import on_torch

                return on_torch
    if jax is not None:
        for operand in operands:
            if isinstance(operand, jax.Array):
                from einloom.frameworks import on_jax

                return on_jax
    return None
