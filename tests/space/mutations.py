"""Neighbours of an implementation, made on its loops as plain data, without the engine.

Each mutation returns a full assignment that may be legal or not: the checker decides.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from einloom.space.assignment import Assignment
from einloom.space.backbone import Backbone
from einloom.space.forest import FusedLoop, forest
from tests.space.implementations import orders

Decisions = dict[str, str | int]
FLAGS = {
    "cache": ["L1", "L2", "READ_ONLY", "NONE"],
    "mem_space": ["GLOBAL", "SHARED"],
    "layout": ["OUTER", "INNER"],
}
Tree = list  # a loop is [names of its dimensions, [children]], an instruction a name


def tree_of(backbone: Backbone, decisions: Decisions) -> Tree:
    """Return the loops of an implementation as nested lists."""

    def plain(nodes):
        return [[list(n.dimensions), plain(n.body)] if isinstance(n, FusedLoop) else n for n in nodes]

    return plain(forest(Assignment(backbone, decisions)).roots)


def with_tree(backbone: Backbone, decisions: Decisions, tree: Tree) -> Decisions:
    """Return the assignment with its orders, and what follows from them, replaced by those of another tree."""
    found = {name: value for name, value in decisions.items() if not name.startswith("order(")}
    found |= orders([(tuple(n[0]), n[1]) if isinstance(n, list) else n for n in _tuples(tree)])
    return with_mappings(backbone, found)


def _tuples(tree: Tree) -> list:
    return [(tuple(node[0]), _tuples(node[1])) if isinstance(node, list) else node for node in tree]


def with_mappings(backbone: Backbone, decisions: Decisions) -> Decisions:
    """Return the assignment with the choices that follow from others brought up to date."""
    found = Assignment(backbone, decisions)
    changed = dict(decisions)
    for name in decisions:
        if name.startswith("dim_mapping("):
            source, target = name[len("dim_mapping(") : -1].split(", ")
            kinds = {found.kind(source), found.kind(target)}
            if found.order(source, target) == "MERGED":
                changed[name] = "FUSED"
            elif kinds <= {"UNROLL", "VECTOR"}:
                changed[name] = "UNROLLED"
            elif kinds == {"THREAD"} and found.value("thread_level", source, target) == "MAPPED":
                changed[name] = "THREADS"
            else:
                changed[name] = "STORED"
    return changed


def _bodies(tree: Tree) -> list[Tree]:
    return [tree, *(body for node in tree if isinstance(node, list) for body in _bodies(node[1]))]


def swap_siblings(backbone: Backbone, decisions: Decisions, random: Random) -> Decisions:
    """Exchange two neighbours of a body."""
    tree = tree_of(backbone, decisions)
    body = random.choice([body for body in _bodies(tree) if len(body) > 1] or [tree])
    if len(body) > 1:
        i = random.randrange(len(body) - 1)
        body[i], body[i + 1] = body[i + 1], body[i]
    return with_tree(backbone, decisions, tree)


def interchange(backbone: Backbone, decisions: Decisions, random: Random) -> Decisions:
    """Exchange two perfectly nested loops."""
    tree = tree_of(backbone, decisions)
    loops = [n for body in _bodies(tree) for n in body if isinstance(n, list)]
    perfect = [n for n in loops if len(n[1]) == 1 and isinstance(n[1][0], list)]
    if perfect:
        loop = random.choice(perfect)
        loop[0], loop[1][0][0] = loop[1][0][0], loop[0]
    return with_tree(backbone, decisions, tree)


def split(backbone: Backbone, decisions: Decisions, random: Random) -> Decisions:
    """Split a fused loop in two after one of its children."""
    tree = tree_of(backbone, decisions)
    places = [
        (body, i)
        for body in _bodies(tree)
        for i, n in enumerate(body)
        if isinstance(n, list) and len(n[0]) > 1 and len(n[1]) > 1
    ]
    if places:
        body, i = random.choice(places)
        names, children = body[i]
        cut = random.randrange(1, len(children))
        first = [names[:1], children[:cut]]
        body[i : i + 1] = [first, [names[1:], children[cut:]]]
    return with_tree(backbone, decisions, tree)


def fuse(backbone: Backbone, decisions: Decisions, random: Random) -> Decisions:
    """Fuse two neighbouring loops."""
    tree = tree_of(backbone, decisions)
    places = [
        (body, i)
        for body in _bodies(tree)
        for i in range(len(body) - 1)
        if isinstance(body[i], list) and isinstance(body[i + 1], list)
    ]
    if places:
        body, i = random.choice(places)
        (names, children), (others, more) = body[i], body[i + 1]
        body[i : i + 2] = [[names + others, children + more]]
    return with_tree(backbone, decisions, tree)


def move_into(backbone: Backbone, decisions: Decisions, random: Random) -> Decisions:
    """Move a statement into the loop behind it (loads and packs may gain loops)."""
    tree = tree_of(backbone, decisions)
    places = [(body, i) for body in _bodies(tree) for i in range(len(body) - 1) if isinstance(body[i + 1], list)]
    if places:
        body, i = random.choice(places)
        body[i + 1][1].insert(0, body[i])
        del body[i]
    return with_tree(backbone, decisions, tree)


def change_kind(backbone: Backbone, decisions: Decisions, random: Random) -> Decisions:
    """Run one loop in another way; threads get the level of the block's other threads, or a new outermost one."""
    tree = tree_of(backbone, decisions)
    loop = random.choice([n for body in _bodies(tree) for n in body if isinstance(n, list)])
    kind = random.choice(["LOOP", "UNROLL", "VECTOR", "BLOCK"])
    changed = dict(decisions)
    for name in loop[0]:
        changed[f"dim_kind({name})"] = kind
        for key in decisions:
            if key.startswith("thread_level(") and name in key[len("thread_level(") : -1].split(", "):
                changed[key] = "NOT_THREADS"
    return with_mappings(backbone, changed)


def change_flag(backbone: Backbone, decisions: Decisions, random: Random) -> Decisions:
    """Change a cache, a memory space, or the layout of a temporary array."""
    values = {
        "cache": ["L1", "L2", "READ_ONLY", "NONE"],
        "mem_space": ["GLOBAL", "SHARED"],
        "layout": ["OUTER", "INNER"],
    }
    name = random.choice([name for name in decisions if name.split("(")[0] in values])
    return dict(decisions) | {name: random.choice(values[name.split("(")[0]])}


def change_size(backbone: Backbone, decisions: Decisions, random: Random) -> Decisions:
    """Give one tile, in all nests, another size."""
    assignment = Assignment(backbone, decisions)
    tile = random.choice([d for d in backbone.dimensions if d.static])
    size = random.choice(tile.sizes)
    changed = dict(decisions)
    for d in assignment.dimensions.values():
        if (d.axis, d.level) == (tile.axis, tile.level):
            changed[f"size({d.name})"] = size
    tiling = Assignment(backbone, changed).tiling(tile.axis)
    changed[f"tiling({tile.axis})"] = tiling
    changed[f"tail({tile.axis})"] = "PREDICATED" if backbone.axis[tile.axis].size % tiling else "EXACT"
    return changed


MUTATIONS: tuple[Callable[[Backbone, Decisions, Random], Decisions], ...] = (
    swap_siblings,
    interchange,
    split,
    fuse,
    move_into,
    change_kind,
    change_flag,
    change_size,
)
