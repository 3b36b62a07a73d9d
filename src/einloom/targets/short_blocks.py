"""Which blocks of a nest are shorter than the others: what has to be followed at run time. It emits nothing."""

from __future__ import annotations

from einloom.ir.nest import Call, Loop, Nest, walk

__all__ = ["axes_with_short_blocks", "is_cut_unevenly"]


def axes_with_short_blocks(nest: Nest) -> tuple[str, ...]:
    """Return the axes of which some loop or call covers fewer indices at the end, in the nest's order."""
    short: set[str] = set()
    for node in walk(nest.body):
        if isinstance(node, Call):
            short |= {block.axis for block in node.blocks if block.axis is not None and block.tails}
        elif isinstance(node, Loop) and (node.is_clipped or node.span % node.step):
            short.add(node.axis)
    return tuple(axis.name for axis in nest.axes if axis.name in short)


def is_cut_unevenly(loop: Loop) -> bool:
    """Return whether something inside cuts the loop's blocks in steps that do not divide them."""
    if loop.step == loop.span:
        return False  # What encloses it ends with the block already.
    for node in walk(loop.body):
        if isinstance(node, Loop) and node.axis == loop.axis and loop.step % node.step:
            return True
        if isinstance(node, Call) and any(b.axis == loop.axis and b.size and loop.step % b.size for b in node.blocks):
            return True
    return False
