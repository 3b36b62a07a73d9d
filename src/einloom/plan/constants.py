"""`fold_constants`: a contraction some of whose operands stay the same, without what depends on these alone.

A *fold* is a part of the tree whose operands are all constants, as large as it can be: it is contracted once. What is
left is a contraction of the other operands, in their order, and the results of the folds behind them.

>>> folding = fold_constants(((1, 2), (0, 1), (0, 1)), 4, {1, 2})
>>> folding.folds, folding.path
([Fold(operands=(1, 2), path=((0, 1),))], ((0, 1), (0, 1)))
"""

from __future__ import annotations

from collections.abc import Sequence

from einloom.frozen import frozen
from einloom.plan.paths import Path

__all__ = ["Fold", "Folding", "fold_constants"]


@frozen
class Fold:
    """Operands that are contracted once, by number, and the path for them."""

    operands: tuple[int, ...]
    path: Path


@frozen
class Folding:
    """What is contracted once, and the path for the other operands followed by the results of the folds."""

    folds: list[Fold]
    path: Path


@frozen
class _Node:
    """An inner node of a tree: tensors, of which the operands come first in their numbering, that give another one."""

    parts: tuple[int, ...]
    made: int


def fold_constants(path: Path, count: int, constants: set[int]) -> Folding:
    """Return what can be contracted once of `count` operands along a path; the result itself never is."""
    nodes = _nodes_of(path, count)
    fixed = set(constants)
    for node in nodes[:-1]:
        fixed |= {node.made} if fixed.issuperset(node.parts) else set[int]()
    others = [node for node in nodes if node.made not in fixed]
    largest = [part for node in others for part in node.parts if part in fixed]
    folds = [_fold_of(tensor, nodes, count) for tensor in largest]
    given = [number for number in range(count) if number not in constants]
    return Folding(folds, _path_of(others, [*given, *largest]))


def _nodes_of(path: Path, count: int) -> list[_Node]:
    left, nodes = list(range(count)), list[_Node]()
    for made, group in enumerate(path, count):
        nodes.append(_Node(tuple(left[place] for place in group), made))
        left = [number for place, number in enumerate(left) if place not in group] + [made]
    return nodes


def _fold_of(tensor: int, nodes: Sequence[_Node], count: int) -> Fold:
    below, own = {tensor}, list[_Node]()
    for node in reversed(nodes):
        if node.made in below:
            below |= set(node.parts)
            own.insert(0, node)
    operands = sorted(number for number in below if number < count)
    return Fold(tuple(operands), _path_of(own, operands))


def _path_of(nodes: Sequence[_Node], tensors: Sequence[int]) -> Path:
    """Return the path through these nodes, from these tensors on."""
    left, path = list(tensors), list[tuple[int, ...]]()
    for node in nodes:
        path.append(tuple(left.index(part) for part in node.parts))
        left = [number for number in left if number not in node.parts] + [node.made]
    return tuple(path) or ((0,),)
