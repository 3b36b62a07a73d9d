"""Decisions commute: the set of decisions, not their order, determines the candidate (A5, A6)."""

from __future__ import annotations

from random import Random

from einloom.csp import Extension, Instance, State, parse_space
from einloom.errors import DeadEnd
from tests.csp.spaces import sample
from tests.csp.test_soundness import STRUCTURE

PERMUTATIONS = 5


def image(state: State):
    """Return everything that a state holds, byte for byte."""
    names = tuple(state.tables.layout.name(slot) for slot in state.open())
    return tuple(state.domains), tuple(state.rows), tuple(state.numbers), state.snapshot(), names


def walk(state: State, random: Random, stop: float) -> tuple[list[tuple[int, int]], bool]:
    """Take random decisions; return them, and whether a candidate is left."""
    decisions = []
    while True:
        slots = state.open()
        if not slots or random.random() < stop:
            return decisions, True
        slot = random.choice(slots)
        mask = random.randint(1, state.domains[slot]) & state.domains[slot]
        if mask in (0, state.domains[slot]):
            mask = state.domains[slot] & -state.domains[slot]
        before = list(state.domains)
        decisions.append((slot, mask))
        if not state.restrict(slot, mask):
            return decisions, False
        assert all(new & ~old == 0 for old, new in zip(before, state.domains)), "domains only shrink"


def check_permutations(problem, decisions, alive, expected, random: Random) -> None:
    state = problem.state()
    root = image(state)
    for _ in range(PERMUTATIONS):
        random.shuffle(decisions)
        state.push()
        assert all(state.restrict(slot, mask) for slot, mask in decisions) == alive
        if alive:
            assert image(state) == expected
            moment, trail = state.moment(), list(state.trail)
        state.pop()
        assert image(state) == root, "undo restores byte for byte"
        if alive:
            here = state.moment()
            state.become(moment)
            assert (image(state), state.trail) == (expected, trail)
            state.become(here)
            assert image(state) == root


def test_random_spaces():
    walks = woke = elected = dead = 0
    for seed in range(480):
        sampled = sample(seed, triggers=True if seed % 2 else None)
        if sampled is None:
            continue
        problem, random = sampled.problem, Random(seed)
        try:
            problem.state()
        except DeadEnd:
            continue
        marks = problem.layout.choices["marked"].slots.values() if "marked" in problem.layout.choices else ()
        for _ in range(3):
            state = problem.state()
            decisions, alive = walk(state, random, 0.15)
            check_permutations(problem, decisions, alive, image(state) if alive else None, random)
            walks += 1
            woke += alive and state.alive > 0
            elected += alive and any(state.domains[slot] == 2 for slot in marks)
            dead += not alive
    assert walks >= 500 and woke >= 50 and elected >= 50 and dead >= 5


LOWERED = (
    STRUCTURE
    + """
set Temps: end
choice enum place($t in Temps): value FAST: value SLOW: end
quotient Outer($i in Insts) of $d in Dims:
  is_outer = order($d, $i) is OUTER / order is MERGED
end
choice half counter threads(): forall $d in Dims: sum "1" when: kind($d) is THREAD end
require threads() <= "2"
choice counter fast(): forall $t in Temps: sum "1" when: place($t) is FAST end
require fast() <= "1"
trigger forall $a in Dims: forall $b in Dims: "lower($a, $b)" when order($a, $b) is BEFORE && kind($a) is not UNROLL
"""
)


def lowered_problem():
    """Return a problem whose triggers add an array with a loop that stores and a loop that loads, two for one pair."""
    insts, dims, pairs = ["x", "y", "z"], ["i", "j", "k"], [("i", "j"), ("j", "k")]
    owned = {("x", "i"), ("y", "j"), ("z", "k")}

    def lower(a, b):
        if (a, b) not in pairs:
            return None
        low = Extension(f"{a}{b}")
        low.add("Temps", f"t{a}{b}")
        low.add("Insts", f"s{a}{b}")
        low.add("Dims", f"d{a}{b}")
        owned.add((f"s{a}{b}", f"d{a}{b}"))
        return low

    host = {
        "vectors": {"x"},
        "before": lambda a, b: insts.index(a) < insts.index(b) if a in insts and b in insts else False,
        "owns": lambda i, d: (i, d) in owned,
        "lower": lower,
    }
    instance = Instance(parse_space(LOWERED), host)
    for name, items in (("Insts", insts), ("Dims", dims)):
        for each in items:
            instance.add(name, each)
    return instance.freeze()


def test_walks_that_lower_structures():
    problem = lowered_problem()
    assert set(problem.extensions) == {"ij", "jk"}
    woke = both = dead = 0
    for seed in range(300):
        random = Random(seed)
        state = problem.state()
        decisions, alive = walk(state, random, 0.05)
        check_permutations(problem, decisions, alive, image(state) if alive else None, random)
        woke += alive and state.alive > 0
        both += alive and state.alive == 3
        dead += not alive
    assert woke > 60 and both > 10 and dead


def test_names_and_numbers_of_lowered_objects_do_not_depend_on_the_order():
    one, other = lowered_problem(), lowered_problem()
    first = one.root.restrict("order(i, j)", "BEFORE").restrict("kind(i)", "LOOP").restrict("order(j, k)", "BEFORE")
    second = other.root.restrict("order(j, k)", "BEFORE").restrict("order(i, j)", "BEFORE").restrict("kind(i)", "LOOP")
    assert first.alive == second.alive == ("ij",)
    assert first.snapshot() == second.snapshot()
    assert first.objects("Dims") == second.objects("Dims") == ("i", "j", "k", "dij")
    assert [v.name for v in one.variables] == [v.name for v in other.variables]


def test_decisions_on_objects_that_sleep_are_kept_until_they_wake():
    root = lowered_problem().root
    early = root.restrict("kind(dij)", "THREAD").restrict("order(i, j)", "BEFORE").restrict("kind(i)", "LOOP")
    late = root.restrict("order(i, j)", "BEFORE").restrict("kind(i)", "LOOP").restrict("kind(dij)", "THREAD")
    assert early == late and "kind(dij)" not in root.open


def test_snapshots_restore_everything():
    problem = lowered_problem()
    for seed in range(60):
        state = problem.state()
        _, alive = walk(state, Random(seed), 0.05)
        if alive:
            other = problem.state()
            other.load(state.snapshot())
            assert image(other) == image(state)
            packed = problem.state()
            packed.unpack(state.pack())
            assert image(packed) == image(state)
            saved = other.save()
            for slot in other.open()[:2]:
                other.restrict(slot, other.domains[slot] & -other.domains[slot])
            other.restore(saved)
            assert image(other) == image(state)
    assert len(problem.state().snapshot()) < 8192
