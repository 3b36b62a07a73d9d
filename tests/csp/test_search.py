"""Searches: leaves found in spite of dead ends; probing takes away what propagation refutes and nothing else."""

from __future__ import annotations

from random import Random

from einloom.csp import Instance, Problem, complete, descend, parse_space, probe, solutions

COLOURS = """set Nodes: end
choice enum colour($n in Nodes): value A: value B: value C: end
require forall $a in Nodes: forall $b in Nodes: "not near($a, $b)" || colour($a) != colour($b)
"""


def graph(count: int, edges: set[tuple[int, int]]) -> Problem:
    """Colour a graph with three colours."""
    instance = Instance(parse_space(COLOURS), {"near": lambda a, b: (a, b) in edges or (b, a) in edges})
    for node in range(count):
        instance.add("Nodes", node, name=f"n{node}")
    return instance.freeze()


def random_graph(seed: int, count: int, edges: int) -> Problem:
    random = Random(seed)
    pairs = [(a, b) for a in range(count) for b in range(a)]
    return graph(count, set(random.sample(pairs, edges)))


def test_completing_finds_a_leaf_wherever_there_is_one() -> None:
    dead = found = 0
    for seed in range(60):
        problem = random_graph(seed, 14, 26)
        state = problem.state()
        start = state.snapshot()
        if next(solutions(problem), None) is None:
            assert not complete(state, Random(seed), seconds=0.02) and state.snapshot() == start
            continue
        dead += sum(not descend(problem.state(), Random(each)) for each in range(4))
        path: list[tuple[int, int]] = []
        assert complete(state, Random(seed), path=path, seconds=60) and state.is_leaf
        again = problem.state()
        assert all(again.restrict(slot, mask) for slot, mask in path) and again.snapshot() == state.snapshot()
        found += 1
    assert found > 30 and dead > 10, "these graphs are too easy"


def test_probing_takes_away_refuted_values_and_no_leaf() -> None:
    pruned = 0
    for seed in range(40):
        problem = random_graph(seed, 8, 14)
        state = problem.state()
        leaves = {tuple(leaf.domains) for leaf in solutions(problem)}
        slots = problem.exposed
        state.restrict(slots[0], 0b001)
        state.restrict(slots[1], 0b010 if state.domains[slots[1]] & 0b010 else 0b111)
        before = list(state.domains)
        below = [leaf for leaf in leaves if all(a & b == b for a, b in zip(before, leaf))]
        alive = probe(state)
        assert alive or not below
        if not alive:
            continue
        assert all(a & b == b for leaf in below for a, b in zip(state.domains, leaf)), "a leaf was lost"
        pruned += state.domains != before
        for slot in state.open():
            for bit in range(3):
                if state.domains[slot] >> bit & 1:
                    state.push()
                    assert state.restrict(slot, 1 << bit), "a value that propagation refutes is left"
                    state.pop()
    assert pruned > 5


def test_probing_proves_a_dead_end() -> None:
    """Four nodes that are all near each other: with one colour given, every second one fails."""
    problem = graph(4, {(a, b) for a in range(4) for b in range(a)})
    state = problem.state()
    assert state.restrict_name("colour(n0)", "A") and len(state.open()) == 3
    start = state.snapshot()
    assert not complete(state, Random(0), probing=True) and state.snapshot() == start
    assert not probe(state)
