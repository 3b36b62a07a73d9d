"""Barriers: enough of them that no two threads race, and none that could be left out; one writer for each element."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from einloom.ir.nest import Loop, Node, walk
from einloom.ir.statement import Barrier, LoopKind, Place, Statement
from einloom.space import gpu
from einloom.space.assignment import Assignment
from einloom.space.barriers import with_barriers
from einloom.space.candidate import Space
from einloom.space.checker import violations
from einloom.space.decode import decode
from tests.space.chain import chain
from tests.space.implementations import Meaning
from tests.space.test_leaves import SPACES, random_leaves

STAGED = ("matmul", "mv", "batch_matmul", "matmul with tails")


def events(nodes: tuple[Node, ...], shared: set[str]) -> Iterator[tuple[str, str]]:
    """Yield what a block of threads does, in order: ("barrier", ""), ("read", array), ("write", array).

    Three iterations of a loop show all that any number of them does: what one does to the next, and to the last.
    """
    for node in nodes:
        if isinstance(node, Barrier):
            yield "barrier", ""
        elif isinstance(node, Loop):
            repeats = min(node.trips, 3) if node.kind in (LoopKind.LOOP, LoopKind.UNROLL) else 1
            for _ in range(repeats):
                yield from events(node.body, shared)
        elif isinstance(node, Statement):
            yield from (("read", p.buffer) for p in node.inputs if isinstance(p, Place) and p.buffer in shared)
            if node.output.buffer in shared:
                yield "write", node.output.buffer


def races(nodes: tuple[Node, ...], shared: set[str]) -> bool:
    """Whether some array is read and written between two barriers."""
    since: set[tuple[str, str]] = set()
    for event in events(nodes, shared):
        since = set() if event[0] == "barrier" else {*since, event}
        other = "write" if event[0] == "read" else "read"
        if (other, event[1]) in since:
            return True
    return False


def without_each_barrier(nodes: tuple[Node, ...]) -> Iterator[tuple[Node, ...]]:
    """Yield the nodes without their first barrier, without their second one, and so on."""
    for position, node in enumerate(nodes):
        before, after = nodes[:position], nodes[position + 1 :]
        if isinstance(node, Barrier):
            yield (*before, *after)
        elif isinstance(node, Loop):
            yield from ((*before, replace(node, body=body), *after) for body in without_each_barrier(node.body))


@pytest.mark.parametrize("name", STAGED)
def test_barriers_are_enough_and_none_is_idle(name):
    space, found = SPACES[name], 0
    for leaf in random_leaves(space, 60, seed=5):
        nest, shared = decode(leaf), {temporary.region.name for temporary in leaf.temporaries}
        if any(isinstance(node, Loop) and node.kind is LoopKind.THREAD for node in walk(nest.body)):
            assert not races(nest.body, shared), nest
            fewer = list(without_each_barrier(nest.body))
            assert all(races(nodes, shared) for nodes in fewer), nest
            found += len(fewer)
    assert found > 10


def load(register: str, array: str) -> Statement:
    return Statement("load", Place(register), (Place(array, (("i", 1),)),))


def store(array: str, register: str) -> Statement:
    return Statement("store", Place(array, (("i", 1),)), (Place(register),))


def loop(name: str, kind: LoopKind, trips: int, *body: Node) -> Loop:
    return Loop(name, name, kind, 1, trips, trips, (), body)


def text(*nodes: Node) -> str:
    """Return nodes with their barriers for the array t, as text."""

    def line(node: Node) -> str:
        if isinstance(node, Loop):
            return f"{node.name}({' '.join(map(line, node.body))})"
        return "|" if isinstance(node, Barrier) else str(node).split(" ")[0].partition("[")[0]

    return " ".join(map(line, with_barriers(nodes, {"t"})))


WRITE, READ = loop("i", LoopKind.THREAD, 4, store("t", "r")), loop("i", LoopKind.THREAD, 4, load("r", "t"))


def test_before_and_after():
    assert text(WRITE, READ) == "i(t) | i(r)"
    assert text(loop("k", LoopKind.LOOP, 2, WRITE, READ)) == "k(i(t) | i(r) |)"
    assert text(loop("k", LoopKind.LOOP, 1, WRITE, READ)) == "k(i(t) | i(r))"
    assert text(loop("j", LoopKind.LOOP, 2, loop("k", LoopKind.LOOP, 2, WRITE, READ))) == "j(k(i(t) | i(r) |))"
    assert text(loop("k", LoopKind.LOOP, 2, WRITE, READ), WRITE) == "k(i(t) | i(r) |) i(t)"
    assert text(loop("b", LoopKind.BLOCK, 2, WRITE, READ)) == "b(i(t) | i(r))"
    assert text(READ, READ) == "i(r) i(r)"
    assert text(store("t", "r"), load("r", "t")) == "t r"


def written_by_several(leaf: Assignment) -> list[str]:
    """Return the stores to temporaries inside a thread loop that walks none of their dimensions."""
    nest = decode(leaf)
    stores = {temporary.store.name: temporary.store for temporary in leaf.temporaries}
    found = []
    for loop_ in (node for node in walk(nest.body) if isinstance(node, Loop) and node.kind is LoopKind.THREAD):
        inside = [node for node in walk(loop_.body) if isinstance(node, Statement)]
        for name, each in stores.items():
            for statement in inside:
                repeats = not any(d == loop_.name or leaf.order(d, loop_.name) == "MERGED" for d in each.dimensions)
                if statement.output.buffer == each.address.region and repeats:
                    assert (((loop_.name, 1),), 1) in statement.within, statement
                    found.append(name)
    return found


def test_one_thread_writes_each_element_of_a_temporary():
    space = SPACES["matmul"]
    assert sum(len(written_by_several(leaf)) for leaf in random_leaves(space, 400, seed=6)) > 5


def chain_space() -> Space:
    return chain(4, 4, 4, 4, {"m": (2,), "n": (2,)})


def test_a_product_of_three_has_leaves_that_store_the_first_one():
    """(A B) E: the first product is stored, or computed anew along the last axis; both mean A B E."""
    space, stored = chain_space(), 0
    meaning = Meaning(space.kernel)
    for leaf in random_leaves(space, 60, seed=7):
        assert violations(leaf, space.device) == ()
        assert meaning.is_that_of(decode(leaf))
        stored += any(temporary.source == "first" for temporary in leaf.temporaries)
    assert 5 < stored < 60


def test_results_that_no_reader_uses_twice_stay_in_registers():
    assert [each.source for each in gpu("matmul", m=4, n=4, k=4).backbone.temporaries] == ["load_a", "load_b"]
    assert [each.source for each in chain_space().backbone.temporaries] == ["load_a", "load_b", "first", "load_e"]
