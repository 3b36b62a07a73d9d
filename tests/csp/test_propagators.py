"""Every propagator alone reaches the strongest consistency on its own constraint (A2).

Each test states one constraint, draws random domains, and compares what propagation leaves with the union of all
solutions inside the domains, found by brute force.
"""

from __future__ import annotations

import itertools
from random import Random

import pytest

from einloom.csp import Instance, Problem, parse_space
from einloom.csp.compile.algebra import consistent_triples
from tests.csp.oracle import Oracle, World


def build(text: str, members: dict, host: dict | None = None) -> tuple[Problem, Oracle]:
    space = parse_space(text)
    instance = Instance(space, host)
    for (set_name, owners), names in members.items():
        for name in names:
            instance.add(set_name, name, of=owners)
    return instance.freeze(), Oracle(space.definition, World(members, {}, host or {}))


def strongest(problem: Problem, solutions: list[dict], domains: list[int]) -> list[int] | None:
    """Return the union of the solutions inside some domains, by slot; None if there is none."""
    union = [0] * len(domains)
    found = False
    for solution in solutions:
        masks = {}
        for (choice, objects), value in solution.items():
            numbers = tuple(problem.members.by_name[name] for name in objects)
            slot, _ = problem.layout.find(choice, numbers)
            masks[slot] = 1 << problem.layout.domain_of[slot].values.index(value)
        if all(domains[slot] & mask for slot, mask in masks.items()):
            found = True
            for slot, mask in masks.items():
                union[slot] |= mask
    return union if found else None


def check(text: str, members: dict, seed: int, rounds: int = 60, host: dict | None = None) -> None:
    """Compare propagation with brute force on random domains of all exposed slots."""
    problem, oracle = build(text, members, host)
    solutions = [assignment for _, assignment in oracle.solutions()]
    random, exposed = Random(seed), problem.exposed
    narrowed = 0
    for _ in range(rounds):
        state = problem.state()
        wanted = list(state.domains)
        alive = True
        for slot in random.sample(exposed, random.randint(0, len(exposed))):
            full = problem.layout.full[slot]
            mask = random.randint(1, full)
            wanted[slot] &= mask
            alive = alive and wanted[slot] != 0 and state.restrict(slot, mask)
        best = strongest(problem, solutions, wanted)
        assert alive == (best is not None)
        if best is not None:
            assert [state.domains[slot] for slot in exposed] == [best[slot] for slot in exposed], text
            narrowed += state.domains != wanted
    assert narrowed, "this constraint never narrowed anything: the test shows nothing"


ENUMS = """set A: end set B: end
choice enum f($a in A): value F0: value F1: value F2: end
choice enum g($b in B): value G0: value G1: value G2: value G3: end
choice enum h($b in B): value F0: value F1: value F2: end
choice integer n($a in A): "[1, 2, 4, 6]" end
choice integer m($b in B): "[2, 3, 4]" end
choice enum e($a in A, $b in B): value E0: value E1: end
"""

TABLES = [
    "f($a) is F0 | F1 || g($b) is G2",
    "f($a) == h($b)",
    "f($a) != h($b)",
    "n($a) < m($b)",
    "n($a) == m($b)",
    "n($a) >= m($b) || f($a) is F0",
    "n($a) != m($b) || g($b) is not G1 | G2",
    'n($a) <= "2" || e($a, $b) is E1 || f($a) is F2',
    "f($a) is not F0 || g($b) is G0 | G1  f($a) is not F1 || g($b) is G1 | G2  f($a) is F0 | F1 || e($a, $b) is E0",
    "f($a) is F0 || h($b) == f($a) || e($a, $b) is E0  n($a) > m($b) || e($a, $b) is E1",
    "f($a) is F0 || g($b) is G1 || h($b) is F2 || e($a, $b) is E0",
]


@pytest.mark.parametrize("clauses", TABLES)
def test_truth_tables(clauses):
    text = f"{ENUMS}require forall $a in A: forall $b in B: {clauses}"
    check(text, {("A", ()): ["a"], ("B", ()): ["b"]}, seed=1)


def test_truth_tables_of_both_directions():
    text = """set A: end
    choice enum f($a in A): value X: value Y: value Z: end
    choice enum r($a in A, $b in A): antisymmetric: L -> R value L: value R: value S: end
    require forall $a in A: forall $b in A: r($a, $b) is not L || f($a) is X | Y
      r($a, $b) is not S || f($a) == f($b)"""
    check(text, {("A", ()): ["a", "b"]}, seed=2)


@pytest.mark.parametrize("seed", range(12))
def test_relations(seed):
    """Random clauses over three objects, compiled to a composition table; on one triple it decides alone."""
    random = Random(seed)
    values = ["L", "R", "S", "T"]
    clauses = []
    for _ in range(random.choice([1, 2, 3])):
        parts = []
        for pair in random.sample(["$a, $b", "$b, $c", "$a, $c"], 3):
            chosen = random.sample(values, random.choice([1, 2, 3]))
            parts.append(f"r({pair}) is {random.choice(['', 'not '])}{' | '.join(chosen)}")
        if random.random() < 0.3:
            parts.append("r($a, $b) == r($b, $c)")
        clauses.append(" || ".join(parts))
    text = f"""set A: end
    choice enum r($a in A, $b in A): antisymmetric: L -> R value L: value R: value S: value T: end
    require forall $a in A: forall $b in A: forall $c in A: {"  ".join(clauses)}"""
    space = parse_space(text)
    assert len(space.relations) == 1 and not space.clauses
    problem, oracle = build(text, {("A", ()): ["a", "b", "c"]})
    solutions = [assignment for _, assignment in oracle.solutions()]
    for _ in range(60):
        state = problem.state()
        wanted, alive = list(state.domains), True
        for slot in range(3):
            mask = random.randint(1, 15)
            wanted[slot] &= mask
            alive = alive and wanted[slot] != 0 and state.restrict(slot, mask)
        best = strongest(problem, solutions, wanted)
        assert alive == (best is not None)
        assert best is None or state.domains == best


ORDER = """set S: end
choice enum order($a in S, $b in S):
  antisymmetric: BEFORE -> AFTER  INNER -> OUTER
  value BEFORE: value AFTER: value INNER: value OUTER: value MERGED:
  alias NESTED = INNER | OUTER:
  alias ORDERED = BEFORE | AFTER:
end
require forall $a in S: forall $b in S: forall $c in S:
  order($a, $c) is BEFORE || order($a, $b) is not BEFORE || order($b, $c) is not BEFORE
  order($a, $c) is INNER || order($a, $b) is not INNER || order($b, $c) is not INNER
  order($a, $c) == order($a, $b) || order($a, $b) is not ORDERED || order($b, $c) is not OUTER
  order($a, $b) is not OUTER || order($c, $b) is not OUTER || order($a, $c) is NESTED | MERGED
  order($a, $c) is not MERGED || order($c, $b) == order($a, $b)
"""


def test_order_has_43_consistent_triples():
    space = parse_space(ORDER)
    (relation,) = space.relations
    assert relation.triples == 43
    plain = [(r, s, t) for r, s, t in itertools.product(range(5), repeat=3) if relation.composition[r][s] >> t & 1]
    assert len(plain) == 43 and not space.clauses


def test_order_on_one_triple():
    check(ORDER, {("S", ()): ["a", "b", "c"]}, seed=3, rounds=150)


def test_relations_split_by_context():
    text = """set R: end set D($r in R): end
    choice enum lay($r in R, $a in D($r), $b in D($r)): antisymmetric: IN -> OUT value IN: value OUT: end
    require forall $r in R: forall $a in D($r): forall $b in D($r): forall $c in D($r):
      lay($r, $a, $c) is IN || lay($r, $a, $b) is not IN || lay($r, $b, $c) is not IN"""
    members = {("R", ()): ["r", "s"], ("D", ("r",)): ["x", "y", "z"], ("D", ("s",)): ["x", "y", "z"]}
    assert len(parse_space(text).relations) == 1
    check(text, members, seed=4)


LINES = """set A: end set B: end
choice enum k($a in A): value X: value Y: value Z: end
choice enum r($a in A, $b in A): antisymmetric: L -> R value L: value R: value S: end
choice enum s($a in A, $b in B): value P: value Q: end
"""


@pytest.mark.parametrize(
    "clause, third",
    [
        ("forall $c in A: r($a, $b) is not L || r($b, $c) is not L || k($c) is X", ["a", "b", "c"]),
        ("forall $c in A: k($a) is X || k($b) is Y || k($c) is Z || r($a, $c) is S", ["a", "b", "c"]),
        ("forall $d in B: r($a, $b) is L | R || s($a, $d) is P || s($b, $d) is Q", ["d"]),
    ],
)
def test_lines(clause, third):
    """A clause for all triples is many constraints: on each, when all literals but one fail, the last one must hold."""
    text = f"{LINES}require forall $a in A: forall $b in A: {clause}"
    problem, _ = build(text, {("A", ()): ["a", "b", "c"], ("B", ()): ["d"]})
    assert len(problem.tables.lines) == 1, "this clause should be propagated by lines"
    random, decided = Random(5), 0
    for _ in range(200):
        pair = random.sample(["a", "b", "c"], 2)
        objects = [*pair, random.choice([each for each in third if each not in pair])]
        numbers = [problem.members.by_name[name] for name in objects]
        parts = []
        for literal in problem.space.clauses[0].literals:
            slot, flipped = problem.layout.find(literal.choice, tuple(numbers[i] for i in literal.arguments))
            converse = problem.layout.domain_of[slot].converse
            parts.append((slot, converse[literal.mask] if flipped and converse else literal.mask))
        random.shuffle(parts)
        slot, mask = parts.pop()
        state = problem.state()
        if all(state.restrict(other, problem.layout.full[other] & ~barred) for other, barred in parts):
            assert state.domains[slot] & ~mask == 0
            decided += 1
    assert decided > 50


COUNTED = """set A: end
choice enum f($a in A): value ON: value OFF: value AUTO: end
choice integer n($a in A): "sizes[$a]" end
"""
SIZES = {"sizes": {"a": [1, 2, 4], "b": [2, 3], "c": [1, 3, 5]}}


@pytest.mark.parametrize(
    "counter, limit",
    [
        ('forall $a in A: sum "2" when: f($a) is ON', 'total() <= "3"'),
        ('forall $a in A: sum "2" when: f($a) is ON', 'total() >= "4"'),
        ('forall $a in A: sum "2" when: f($a) is ON', 'total() == "2"'),
        ('forall $a in A: sum "max(sizes[$a]) - 1" when: f($a) is not OFF', 'total() <= "3"'),
        ("forall $a in A: sum n($a)", 'total() <= "5"'),
        ("forall $a in A: sum n($a)", 'total() == "7"'),
        ("forall $a in A: sum n($a) when: f($a) is ON", 'total() < "5"'),
        ("forall $a in A: mul n($a)", 'total() <= "6"'),
        ("forall $a in A: mul n($a)", 'total() == "12"'),
        ("forall $a in A: mul n($a)", 'total() >= "30"'),
        ('base "3" forall $a in A: mul n($a) when: f($a) is ON | AUTO', 'total() <= "12"'),
        ("forall $a in A: mul n($a) when: f($a) is ON", 'total() > "10"'),
    ],
)
@pytest.mark.parametrize("half", [False, True])
def test_counters(counter, limit, half):
    if (half and ">" in limit) or (half and "==" in limit):
        limit = limit.replace(">=", "<=").replace("==", "<=").replace(">", "<=")
    text = f"{COUNTED}choice {'half ' if half else ''}counter total(): {counter} end require {limit}"
    check(text, {("A", ()): ["a", "b", "c"]}, seed=6, host=SIZES)


def test_counter_against_an_integer_choice():
    """The tiling constraint: a product of sizes equals a choice among products."""
    text = """set L: end set D: end
    choice integer tiling($l in L): "[4, 6, 8, 16]" end
    choice integer n($d in D): "sizes[$d]" end
    choice counter product($l in L): forall $d in D: mul n($d) end
    require forall $l in L: tiling($l) == product($l)"""
    host = {"sizes": {"x": [1, 2, 4], "y": [2, 3, 4]}}
    check(text, {("L", ()): ["l"], ("D", ()): ["x", "y"]}, seed=7, host=host)


def test_counters_of_counters():
    text = f"""{COUNTED}set Top: end
    choice counter inner($a in A): sum n($a) when: f($a) is ON end
    choice counter outer($t in Top): forall $a in A: sum inner($a) end
    require forall $t in Top: outer($t) <= "2" """
    check(text, {("A", ()): ["a", "b"], ("Top", ()): ["t"]}, seed=8, host=SIZES)


def test_disjunctions_with_counters():
    text = f"""{COUNTED}choice counter total(): forall $a in A: sum "2" when: f($a) is ON end
    choice enum mode(): value FREE: value TIGHT: end
    require mode() is FREE || total() <= "2" """
    check(text, {("A", ()): ["a", "b", "c"]}, seed=9, host=SIZES)


def test_wide_disjunctions():
    """More rows than a truth table holds."""
    names = [f"c{i}" for i in range(7)]
    text = "set A: end\n" + "".join(
        f"choice enum {name}($a in A): value V0: value V1: value V2: value V3: end\n" for name in names
    )
    text += "require forall $a in A: " + " || ".join(f"{name}($a) is V{i % 4}" for i, name in enumerate(names))
    problem, _ = build(text, {("A", ()): ["a"]})
    random = Random(10)
    for _ in range(50):
        state = problem.state()
        last = random.randrange(7)
        for i in range(7):
            if i != last:
                assert state.restrict(i, 15 & ~(1 << i % 4))
        assert state.domains[last] == 1 << last % 4


QUOTIENT = """set A: end
choice enum k($a in A): value X: value Y: end
choice enum e($a in A, $b in A): symmetric value SAME: value OTHER: end
quotient Q of $a in A: mark = k($a) is X / e is SAME end
"""


def test_quotients_alone():
    """On two objects the three marks, conditions and the equivalence are one constraint each."""
    problem, oracle = build(QUOTIENT, {("A", ()): ["a", "b"]})
    marks = [problem.layout.choices["mark"].slots[(i,)] for i in range(2)]
    slots = [*problem.exposed, *marks]
    solutions = []
    for _, assignment in oracle.solutions():
        whole = dict(assignment)
        for name in ("a", "b"):
            whole["mark", (name,)] = "TRUE" if oracle.mark("mark", (name,), assignment, frozenset()) else "FALSE"
        solutions.append(whole)
    for masks in itertools.product(range(1, 4), repeat=len(slots)):
        state = problem.state()
        wanted = list(state.domains)
        alive = True
        for slot, mask in zip(slots, masks):
            wanted[slot] &= mask
            alive = alive and wanted[slot] != 0 and state.restrict(slot, mask)
        best = strongest(problem, solutions, wanted)
        if best is None:
            continue
        assert alive
        assert all(state.domains[slot] & best[slot] == best[slot] for slot in slots)
        lone = [slot for slot in slots if slot in (marks[0], problem.exposed[0])]
        assert all(state.domains[slot] == best[slot] for slot in lone)


def test_the_composition_table_agrees_with_brute_force():
    space = parse_space(ORDER)
    row = next(each for each in space.enums if each.name == "order")
    _, oracle = build(ORDER, {("S", ()): ["a", "b", "c"]})
    names = row.values
    by_force = {
        tuple(names.index(assignment["order", pair]) for pair in (("a", "b"), ("b", "c"), ("a", "c")))
        for _, assignment in oracle.solutions()
    }
    table = space.relations[0].composition
    ours = {(r, s, t) for r in range(5) for s in range(5) for t in range(5) if table[r][s] >> t & 1}
    assert ours == by_force
    assert consistent_triples(row, ()) == list(itertools.product(range(5), repeat=3))
