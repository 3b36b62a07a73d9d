"""Candidates: immutable, read and restricted by name, equal by domains, able to say why a value is gone."""

from __future__ import annotations

from random import Random

import pytest

from einloom.csp import Instance, descend, parse_space
from einloom.errors import DeadEnd, ScheduleError
from tests.csp.test_commutation import lowered_problem

TEXT = """set Dims: end
choice enum kind($d in Dims): value LOOP: value UNROLL: value VECTOR: alias WRITTEN = UNROLL | VECTOR: end
choice integer size($d in Dims): "[2, 4, 8]" end
choice enum order($a in Dims, $b in Dims): antisymmetric: OUTER -> INNER value OUTER: value INNER: end
require forall $a in Dims: forall $b in Dims: kind($a) is not VECTOR || order($a, $b) is INNER
require forall $a in Dims: forall $b in Dims: forall $c in Dims:
  order($a, $c) is OUTER || order($a, $b) is not OUTER || order($b, $c) is not OUTER
choice counter copies(): forall $d in Dims: mul size($d) when: kind($d) is WRITTEN end
choice half counter vectors(): forall $d in Dims: sum "1" when: kind($d) is VECTOR end
require copies() <= "16"
"""


@pytest.fixture(scope="module")
def root():
    instance = Instance(parse_space(TEXT, "loops"))
    for name in ("i", "j", "k"):
        instance.add("Dims", name)
    return instance.freeze().root


def test_domains_and_open_decisions(root):
    assert root.domain("kind(i)") == ("LOOP", "UNROLL", "VECTOR")
    assert root.domain("size(j)") == (2, 4, 8)
    assert root.domain("copies()") == (1, 16) and root.domain("vectors()") == (0, None)
    assert set(root.open) == {f"{c}({d})" for c in ("kind", "size") for d in "ijk"} | {
        "order(i, j)",
        "order(i, k)",
        "order(j, k)",
    }
    assert repr(root) == "<candidate of loops: 9 open decisions, 0 taken>"


def test_restrict_returns_a_new_candidate(root):
    vector = root.restrict("kind(i)", "VECTOR")
    assert root.domain("kind(i)") == ("LOOP", "UNROLL", "VECTOR")
    assert vector.domain("kind(i)") == ("VECTOR",) and vector.domain("order(j, i)") == ("OUTER",)
    assert vector.domain("kind(j)") == ("LOOP", "UNROLL")
    assert vector.decisions == (("kind(i)", ("VECTOR",)),)


def test_candidates_are_equal_when_their_domains_are(root):
    one = root.restrict("kind(i)", "VECTOR").restrict("order(k, j)", "OUTER")
    other = root.restrict("order(j, k)", "INNER").restrict("kind(i)", "VECTOR")
    assert one == other and hash(one) == hash(other) and one != root
    assert root.problem.load(one.snapshot()) == one


def test_apply_takes_several_decisions(root):
    wanted = {"kind(i)": "VECTOR", "size(i)": 4, "order(k, j)": "OUTER", "kind(j)": ["LOOP", "UNROLL"]}
    assert root.apply(wanted) == root.apply(dict(reversed(wanted.items())))


def test_a_dead_end_names_the_constraint_and_the_decisions(root):
    vector = root.restrict("kind(i)", "VECTOR")
    with pytest.raises(DeadEnd) as caught:
        vector.restrict("order(i, j)", "OUTER")
    reason = caught.value.conflict
    assert isinstance(caught.value, ScheduleError)
    assert reason.constraint == "kind(i) is not VECTOR || order(i, j) is INNER  [loops:5:47]"
    assert reason.decisions == (("kind(i)", ("VECTOR",)),)
    assert str(caught.value).startswith("order(i, j) = OUTER leaves no implementation: kind(i) is not VECTOR")


def test_a_dead_end_found_by_propagation_tells_the_chain(root):
    chain = root.restrict("order(i, j)", "OUTER").restrict("order(j, k)", "OUTER")
    with pytest.raises(DeadEnd) as caught:
        chain.restrict("kind(i)", "VECTOR")
    names = {name for name, _ in caught.value.conflict.decisions}
    assert "kind(i)" in names or "order(i, j)" in names


def test_why_follows_the_chain_back_to_decisions(root):
    chain = root.restrict("size(k)", 8).restrict("order(i, j)", "OUTER").restrict("order(j, k)", "OUTER")
    reason = chain.why("kind(i)", "VECTOR")
    assert reason.constraint.startswith("kind(i) is not VECTOR || order(i, ")
    assert ("order(i, j)", ("OUTER",)) in reason.decisions and ("size(k)", (8,)) not in reason.decisions
    assert chain.why("order(k, i)", "OUTER").constraint.startswith("order among i, j, k")
    assert root.why("kind(i)", "VECTOR") is None


def test_why_names_limits_of_counters(root):
    unrolled = root.apply({"kind(i)": "UNROLL", "size(i)": 8, "kind(j)": "UNROLL"})
    assert unrolled.domain("size(j)") == (2,)
    reason = unrolled.why("size(j)", 8)
    assert reason.constraint == 'copies() <= "16"  [loops:10:9]'
    assert {name for name, _ in reason.decisions} == {"kind(i)", "size(i)", "kind(j)"}


def test_why_at_the_root():
    text = 'set A: end choice enum f($a in A): value X: value Y: end require forall $a in A: "$a == 1" || f($a) is X'
    instance = Instance(parse_space(text, "one"))
    instance.add("A", "a")
    reason = instance.freeze().root.why("f(a)", "Y")
    assert reason.decisions == () and reason.constraint == '"a == 1" || f(a) is X  [one:1:82]'


def test_why_of_lowered_objects_names_the_extension():
    root = lowered_problem().root
    awake = root.restrict("order(i, j)", "BEFORE").restrict("kind(i)", "LOOP")
    reason = awake.why("order(sij, dij)", "BEFORE")
    assert any("extension 'ij' wakes" in line for line in reason.chain)
    assert {name for name, _ in reason.decisions} == {"order(i, j)", "kind(i)"}


def test_every_removed_value_has_a_reason():
    """Whatever propagator removed it, the explanation mentions a constraint and only decisions that were taken."""
    problem = lowered_problem()
    for seed in range(6):
        random, candidate = Random(seed), problem.root
        for _ in range(4):
            if candidate.is_leaf:
                break
            name, values = random.choice(list(candidate.open.items()))
            try:
                candidate = candidate.restrict(name, random.choice(values))
            except DeadEnd as error:
                assert error.conflict.constraint
        taken = {problem.variable(name).slot for name, _ in candidate.decisions}
        for variable in random.sample(problem.variables, 12):
            for value in set(variable.values) - set(candidate.domain(variable.name)):
                reason = candidate.why(variable.name, value)
                assert reason.constraint
                assert {problem.variable(name).slot for name, _ in reason.decisions} <= taken


def test_counters_are_restricted_by_range(root):
    small = root.restrict_counter("copies()", high=4).apply({"kind(i)": "UNROLL", "kind(j)": "UNROLL"})
    assert small.domain("size(i)") == (2,) and small.domain("kind(k)") == ("LOOP",)
    other = root.apply({"kind(j)": "UNROLL", "kind(i)": "UNROLL"}).restrict_counter("copies()", high=4)
    assert small == other and root.problem.load(small.snapshot()).domain("copies()") == (4, 4)
    large = root.restrict_counter("copies()", low=16).restrict("kind(i)", "LOOP")
    assert large.domain("kind(j)") == ("UNROLL", "VECTOR") and large.domain("size(k)") == (2, 4, 8)
    one = root.restrict_counter("copies()", low=2, high=8).restrict_counter("copies()", high=12)
    other = root.restrict_counter("copies()", high=12).restrict_counter("copies()", low=2, high=8)
    assert one == other and one.domain("copies()") == (2, 8)
    with pytest.raises(DeadEnd) as caught:
        large.restrict_counter("copies()", high=8)
    assert caught.value.conflict is not None


def test_an_impossible_problem_is_a_dead_end_at_the_root():
    text = "set A: end choice enum f($a in A): value X: value Y: end require forall $a in A: f($a) is X  f($a) is Y"
    instance = Instance(parse_space(text))
    instance.add("A", "a")
    with pytest.raises(DeadEnd, match="the constraints leave no implementation"):
        instance.freeze().state()


def test_states_by_name(root):
    state = root.problem.state()
    state.push()
    assert state.restrict_name("kind(i)", "VECTOR") and state.domains[root.problem.variable("kind(j)").slot] == 3
    assert (state.low("copies()"), state.high("copies()"), state.high("vectors()")) == (2, 16, None)
    assert not state.restrict_name("order(i, j)", "OUTER") and state.failure is not None
    state.pop()
    assert state.snapshot() == root.snapshot() and not state.is_leaf
    assert descend(state, Random(0)) and state.is_leaf and state.next_open(root.problem.exposed) == -1


def test_snapshots_of_another_size_are_refused(root):
    with pytest.raises(ValueError, match="a snapshot of this problem has"):
        root.problem.load(root.snapshot()[:-1])
