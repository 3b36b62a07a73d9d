"""`loops_of_start`: where a body writes zeros right before it adds products to them, the products may start from zero.

A block that is not written before it is added to crosses the caches once less.
"""

from __future__ import annotations

from einloom.ir.operation import Primitive
from einloom.loops.nest import LETTERS, LoopNest
from einloom.loops.trace.index import Comparison
from einloom.loops.trace.recorder import Recorded, RecordedCall
from einloom.loops.trace.tensor import Tensor

__all__ = ["loops_of_start"]


def loops_of_start(
    zeros: RecordedCall | Recorded, products: RecordedCall | Recorded, nest: LoopNest
) -> tuple[str, ...] | None:
    """Return the loops in whose first iteration a product overwrites the block that zeros are written to before.

    before -> after:

        when a eq 0:                      brgemm A B C, from zero when a0 a1 first
          zero C
        brgemm A B C

    None: the two calls are no such pair, or the condition is more than that some sequential loops begin.
    """
    conditions: tuple[Comparison, ...] = ()
    if isinstance(zeros, Recorded):
        conditions = () if zeros.condition is None else zeros.condition.comparisons
        if len(zeros.nodes) != 1:
            return None
        zeros = zeros.nodes[0]
    if not isinstance(zeros, RecordedCall) or not isinstance(products, RecordedCall):
        return None
    is_pair = zeros.primitive is Primitive.ZERO and products.primitive.is_contraction
    if not is_pair or not _same_block(zeros.tensors[-1], products.tensors[-1]):
        return None
    letters = [_begins(each, nest) for each in conditions]
    loops = [loop for loop in nest.loops if loop.letter in letters]
    if None in letters or any(loop.collapsed or loop.ways for loop in loops):
        return None
    return tuple(loop.name for loop in loops)


def _same_block(one: Tensor, other: Tensor) -> bool:
    return one.base is other.base and (one.offset.key, one.shape, one.strides) == (
        other.offset.key,
        other.shape,
        other.strides,
    )


def _begins(comparison: Comparison, nest: LoopNest) -> str | None:
    """The letter of the loop that is at its start where a comparison holds; None: it says something else."""
    terms = list(comparison.index.terms.items())
    if comparison.relation != "eq" or comparison.modulus or len(terms) != 1 or terms[0][1] != 1:
        return None
    letter = terms[0][0]
    if letter not in LETTERS[: len(nest.specs)]:
        return None
    start = nest.specs[LETTERS.index(letter)].start
    return letter if comparison.bound - comparison.index.constant == start else None
