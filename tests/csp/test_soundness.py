"""No value of a true solution is ever removed, and every leaf is a solution (A3), against two independent oracles."""

from __future__ import annotations

from random import Random

import pytest

from einloom.csp import Instance, State, parse_space, solutions
from einloom.csp.language.syntax import Constant, Host, Is
from einloom.errors import DeadEnd
from tests.csp.oracle import Oracle, World
from tests.csp.spaces import Sample, sample

SEEDS = range(170)


def leaf(problem, state: State):
    """Return the awake extensions and the assignment of a leaf, as the oracle writes them."""
    keys = [each.key for i, each in enumerate(problem.members.extensions) if state.alive >> i & 1]
    assignment = {}
    for slot in problem.exposed:
        if not problem.layout.need_of[slot] & state.asleep:
            variable = problem.describe(slot)
            (value,) = problem.layout.domain_of[slot].select(state.domains[slot])
            assignment[variable.choice, variable.objects] = value
    return frozenset(keys), tuple(sorted(assignment.items()))


def partial_candidates(sampled: Sample, random: Random, count: int):
    """Yield random partial candidates: the decisions and the state after them, None at a dead end."""
    for _ in range(count):
        state, decisions = sampled.problem.state(), []
        for _ in range(random.randint(1, 5)):
            slots = state.open()
            if not slots:
                break
            slot = random.choice(slots)
            mask = random.randint(1, state.domains[slot]) & state.domains[slot]
            if not mask:
                continue
            decisions.append((slot, mask))
            if not state.restrict(slot, mask):
                yield decisions, None
                break
        else:
            yield decisions, state


def masks(problem, assignment: dict) -> dict[int, int]:
    found = {}
    for (choice, objects), value in assignment.items():
        slot, _ = problem.layout.find(choice, tuple(problem.members.by_name[name] for name in objects))
        found[slot] = 1 << problem.layout.domain_of[slot].values.index(value)
    return found


def test_brute_force():
    candidates = removed = dead = 0
    for seed in SEEDS:
        sampled = sample(seed)
        if sampled is None:
            continue
        problem, oracle = sampled.problem, sampled.oracle
        found = oracle.solutions()
        try:
            leaves = [leaf(problem, state) for state in solutions(problem)]
        except DeadEnd:
            assert not found, sampled.text
            continue
        assert len(leaves) == len(set(leaves))
        assert set(leaves) == {(alive, tuple(sorted(each.items()))) for alive, each in found}, sampled.text
        true = [(alive, masks(problem, assignment)) for alive, assignment in found]
        for decisions, state in partial_candidates(sampled, Random(seed), 5):
            candidates += 1
            below = [
                (alive, each)
                for alive, each in true
                if all(slot not in each or each[slot] & mask for slot, mask in decisions)
            ]
            if state is None:
                assert not any(all(slot in each for slot, _ in decisions) for _, each in below), sampled.text
                dead += 1
                continue
            for alive, each in below:
                if all(slot in each for slot, _ in decisions):
                    keys = {problem.members.extensions[i].key for i in range(8) if state.alive >> i & 1}
                    assert keys <= alive
                    assert all(state.domains[slot] & mask for slot, mask in each.items()), sampled.text
            removed += sum((full & ~now).bit_count() for full, now in zip(problem.layout.full, state.domains))
    assert candidates >= 300 and removed > candidates and dead > 0


STRUCTURE = """set Statements: end
set Insts subsetof Statements: end
set Dims subsetof Statements: disjoint: Insts end
choice enum order($a in Statements, $b in Statements):
  antisymmetric: BEFORE -> AFTER  INNER -> OUTER
  value BEFORE: value AFTER: value INNER: value OUTER: value MERGED:
end
choice enum kind($d in Dims):
  value LOOP:
  value UNROLL: requires forall $o in Dims: order($d, $o) is not OUTER || kind($o) is UNROLL | VECTOR
  value VECTOR: requires forall $s in Statements: order($d, $s) is not OUTER || "$s in vectors"
  value THREAD:
end
require forall $a in Statements: forall $b in Statements: forall $c in Statements:
  order($a, $c) is BEFORE || order($a, $b) is not BEFORE || order($b, $c) is not BEFORE
  order($a, $c) is INNER || order($a, $b) is not INNER || order($b, $c) is not INNER
  order($a, $c) is BEFORE || order($a, $b) is not BEFORE || order($b, $c) is not OUTER
  order($a, $b) is not OUTER || order($c, $b) is not OUTER || order($a, $c) is INNER | OUTER | MERGED
  order($a, $c) is not MERGED || order($a, $b) is not BEFORE || order($c, $b) is BEFORE
  order($a, $c) is not MERGED || order($a, $b) is not OUTER || order($c, $b) is OUTER
require forall $i in Insts: forall $s in Statements: order($i, $s) is INNER | BEFORE | AFTER
require forall $a in Dims: forall $b in Dims:
  order($a, $b) is not MERGED || kind($a) is not THREAD || kind($b) is THREAD
  order($a, $b) is not MERGED || kind($a) is not LOOP || kind($b) is LOOP
require forall $o in Dims: forall $m in Dims: forall $i in Dims:
  order($o, $m) is not OUTER || order($m, $i) is not OUTER || kind($o) is not THREAD || kind($i) is not THREAD
    || kind($m) is THREAD
require forall $a in Insts: forall $b in Insts: "not before($a, $b)" || order($a, $b) is BEFORE
require forall $i in Insts: forall $d in Dims: "not owns($i, $d)" || order($d, $i) is OUTER
"""


class Sat:
    """The constraints of a space as a CP-SAT model: one boolean for each value, one clause for each tuple."""

    def __init__(self, oracle: Oracle) -> None:
        self.model = pytest.importorskip("ortools.sat.python.cp_model")
        self.oracle = oracle
        self.base = self.model.CpModel()
        self.booleans = {}
        for variable in oracle.variables(frozenset()):
            for value in oracle.values(variable):
                self.booleans[variable, value] = self.base.new_bool_var(f"{variable} {value}")
            self.base.add_exactly_one(self.booleans[variable, value] for value in oracle.values(variable))
        for _, binding, clause, owner in oracle.grounded(frozenset()):
            literals = []
            for condition in clause:
                literals += self._literals(condition, binding)
            if owner is not None:
                literals += [~each for each in self._values(owner[0], owner[1], owner[2])]
            self.base.add_bool_or(literals)

    def _values(self, name, objects, wanted):
        order, definition = self.oracle.order, self.oracle.choices[name]
        if definition.symmetry and order.index(objects[0]) > order.index(objects[1]):
            pairs = dict(definition.mapping) | {b: a for a, b in definition.mapping}
            return self._values(name, objects[::-1], [pairs.get(value, value) for value in wanted])
        return [self.booleans[(name, objects), value] for value in wanted]

    def _literals(self, condition, binding):
        if isinstance(condition, (Constant, Host)):
            return [1] if self.oracle.holds(condition, binding, {}, frozenset()) else []
        assert isinstance(condition, Is)
        objects = tuple(binding[each] for each in condition.choice.arguments)
        name = condition.choice.name
        every = [value.name for value in self.oracle.choices[name].values]
        wanted = [value for value in every if (value in condition.values) != condition.negated]
        return self._values(name, objects, wanted)

    def has_solution(self, decisions) -> bool:
        """Whether a solution agrees with decisions `(choice, objects, values)`."""
        model = self.base.clone()
        for name, objects, wanted in decisions:
            model.add_bool_or(self._values(name, objects, wanted))
        solver = self.model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.catch_sigint_signal = False  # It would leave this process without Python's handler.
        return solver.solve(model) == self.model.OPTIMAL


def test_cp_sat_on_a_space_that_is_too_large_for_brute_force():
    insts, dims = ["load", "mad", "store"], ["i", "j", "k"]
    owned = {("load", "i"), ("mad", "j"), ("store", "k")}
    host = {
        "vectors": {"load", "mad"},
        "before": lambda a, b: insts.index(a) < insts.index(b),
        "owns": lambda i, d: (i, d) in owned,
    }
    space = parse_space(STRUCTURE)
    instance = Instance(space, host)
    members = {("Insts", ()): insts, ("Dims", ()): dims}
    for (name, _), items in members.items():
        for each in items:
            instance.add(name, each)
    problem = instance.freeze()
    sat = Sat(Oracle(space.definition, World(members, {}, host)))
    random, asked, dead = Random(1), 0, 0
    for _ in range(40):
        state, decisions = problem.state(), []
        while state.open() and len(decisions) < 6:
            slot = random.choice(state.open())
            mask = random.choice([1 << i for i in range(5) if state.domains[slot] >> i & 1])
            variable = problem.describe(slot)
            decisions.append((variable.choice, variable.objects, problem.layout.domain_of[slot].select(mask)))
            if not state.restrict(slot, mask):
                assert not sat.has_solution(decisions)
                dead += 1
                break
        else:
            for slot in random.sample(problem.exposed, 4):
                variable, domain = problem.describe(slot), problem.layout.domain_of[slot]
                for value in domain.select(domain.full & ~state.domains[slot]):
                    assert not sat.has_solution([*decisions, (variable.choice, variable.objects, [value])])
                    asked += 1
    assert asked > 100
