"""`Plan`: the few decisions by which schedules of a contraction differ; `blocking` derives loops, sizes and packs."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

__all__ = ["BLOCKS", "NONE", "PRODUCTS", "SUMS", "TILES", "Plan", "Staging"]


class Staging(StrEnum):
    """How much of the output is computed in scratch before it is copied out, past the caches.

    `PRODUCTS`: blocks of several products, where the output's innermost axis counts products (a batch): each is
    computed on its own, and the copy turns them. `SUMS`: blocks with vectors along an axis that is not the output's
    innermost; all parts of the sum are added to a block before the copy turns it.
    """

    NONE = "none"
    BLOCKS = "blocks"
    TILES = "tiles"
    PRODUCTS = "products"
    SUMS = "sums"


NONE, BLOCKS, TILES, PRODUCTS, SUMS = Staging
"""The members as names of this module: Python 3.11 takes long to find one in its class."""


class Plan(NamedTuple):  # Choosing makes dozens of them: faster than of dataclasses.
    """One way to nest and to pack a contraction.

    Attributes:
        family: what people call it.
        packs_vector, packs_element: whether blocks of the operand that kernels read as vectors, and of the one that
            they read element by element, are copied into scratch.
        element_first: whether blocks of the element operand stand outside: it is packed once for each block of k, and
            blocks of the vector operand pass beside it. Else the vector operand's stand outside.
        vector_inside: whether panels of the vector operand stay in L1 while a block of the other streams past from L2
            (GotoBLAS). Else panels of the element operand stay, and the vector operand's block streams past.
        staging: whether the output is computed in scratch.
        panels: whether a packed block of the element operand is cut into panels, where a straight copy would do, and
            whether kernels take one panel of it at a time where nothing is packed.
        k_parts: into how many parts a block of k is cut that would suit L1.
        long_runs: whether packed blocks reach over long runs of their tensor before anything else; a block of the
            output that is turned over long rows of an input that is read where it lies; and a block of products over
            many of them, since kernels see one at a time.
        several: whether packed blocks hold several products of a batch, where an input's contiguous axis counts them.
        batch_inside: whether what would be the primitive's batch is its k, and blocks hold it before the other.
        batch_outside: whether what would be the primitive's batch is a loop: kernels add one product at a time.
        few_steps: whether blocks of k are so short that processors follow all of their rows, where nothing is packed;
            for a block of the output that is turned, that the first translation buffer holds the pages of the rows.
        whole_rows: whether kernels take all of the vector axis, where its panels would be two.
        in_order: whether blocks hold all of the inputs, and tiles follow each other as they lie in the output.
    """

    family: str
    packs_vector: bool = True
    packs_element: bool = True
    element_first: bool = False
    vector_inside: bool = False
    staging: Staging = NONE
    panels: bool = False
    k_parts: int = 1
    long_runs: bool = False
    several: bool = False
    batch_inside: bool = False
    batch_outside: bool = False
    few_steps: bool = False
    whole_rows: bool = False
    in_order: bool = False

    @property
    def packs(self) -> bool:
        """Whether blocks of an input are copied into scratch."""
        return self.packs_vector or self.packs_element
