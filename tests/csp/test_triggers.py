"""Extensions: when they wake, what their objects meet then, and what waits for those that never come (A7)."""

from __future__ import annotations

import pytest

from einloom.csp import Extension, Instance, SpaceError, parse_space, solutions

SETS = """set A: end
set B: end
choice enum f($a in A): value X: value Y: end
choice enum h($a in A): value X: value Y: end
choice enum g($b in B): value P: value Q: end
"""


def problem(text, lower, names=("a",), host=None):
    """Freeze an instance over `A`; `lower` gives the set and name of what a trigger for an object brings, or None."""

    def extension(*objects):
        given = lower(*objects)
        if given is None:
            return None
        found = Extension(given[0])
        for set_name, name in given[1:]:
            found.add(set_name, name)
        return found

    instance = Instance(parse_space(SETS + text), {"lower": extension, **(host or {})})
    for name in names:
        instance.add("A", name)
    return instance.freeze()


ON_X = '\ntrigger forall $a in A: "lower($a)" when f($a) is X'


def test_a_extension_wakes_when_its_condition_is_entailed():
    frozen = problem(ON_X, lambda a: (f"of {a}", ("B", f"{a}.b")))
    assert list(frozen.root.open) == ["f(a)", "h(a)"]
    assert [v.extensions for v in frozen.variables] == [(), (), ("of a",)]
    assert frozen.root.restrict("f(a)", "Y").open == {"h(a)": ("X", "Y")}
    assert frozen.root.restrict("f(a)", "X").open == {"h(a)": ("X", "Y"), "g(a.b)": ("P", "Q")}
    assert sum(1 for _ in solutions(frozen)) == 2 * (1 + 2)


def test_all_conditions_are_needed():
    text = '\ntrigger forall $a in A: "lower($a)" when f($a) is X && h($a) is not X'
    root = problem(text, lambda a: (a, ("B", f"{a}.b"))).root
    assert root.restrict("f(a)", "X").alive == ()
    assert root.restrict("h(a)", "Y").restrict("f(a)", "X").alive == ("a",)


def test_guards_choose_the_tuples_that_can_fire():
    text = '\ntrigger forall $a in A: forall $c in A: "lower($a, $c)" when f($a) is X && "$a < $c"'
    frozen = problem(text, lambda a, c: (a + c, ("B", f"{a}{c}.b")), ("a", "b"))
    assert list(frozen.extensions) == ["ab"]


def test_two_triggers_of_one_key_share_a_extension():
    frozen = problem(ON_X, lambda a: ("shared", ("B", "b")), ("a", "c"))
    assert list(frozen.extensions) == ["shared"]
    one, other = frozen.root.restrict("f(a)", "X"), frozen.root.restrict("f(c)", "X")
    assert one.alive == other.alive == ("shared",)
    assert one.restrict("f(c)", "X") == other.restrict("f(a)", "X")


def test_extensions_of_two_keys_do_not_share_a_membership():
    with pytest.raises(SpaceError, match="two extensions put 'b' into B: give them one key"):
        problem(ON_X, lambda a: (a, ("B", "b")), ("a", "c"))


def test_objects_join_sets_that_they_were_not_in():
    text = "set C subsetof A: end choice enum extra($c in C): value U: value V: end" + ON_X
    frozen = problem(text, lambda a: (f"extra {a}", ("C", a)), ("a", "b"))
    assert frozen.objects("C") == ()
    candidate = frozen.root.restrict("f(b)", "X")
    assert candidate.objects("C") == ("b",) and "extra(b)" in candidate.open and "extra(a)" not in candidate.open


@pytest.mark.parametrize(
    "clause",
    [
        "f($a) is not X || g($b) is P",
        "f($a) is not X || h($a) is not Y || g($b) is P",
        'f($a) is not X || h($a) is not Y || g($b) is P || "$a == $b"',
    ],
)
def test_constraints_with_what_was_decided_before(clause):
    text = f"\nrequire forall $a in A: forall $b in B: {clause}" + ON_X
    root = problem(text, lambda a: (a, ("B", f"{a}.b")), ("a", "c")).root
    before = root.restrict("h(a)", "Y").restrict("f(a)", "X")
    after = root.restrict("f(a)", "X").restrict("h(a)", "Y")
    assert before.domain("g(a.b)") == ("P",) and before == after
    other = root.restrict("h(a)", "Y").restrict("h(c)", "Y").restrict("f(c)", "X").restrict("f(a)", "X")
    assert other.domain("g(a.b)") == other.domain("g(c.b)") == ("P",)


def test_wide_clauses_with_what_was_decided_before():
    text = """
    choice enum e($a in A): value X: value Y: end
    require forall $a in A: forall $b in B: f($a) is not X || h($a) is not Y || g($b) is P
    trigger forall $a in A: "lower($a)" when e($a) is X"""
    root = problem(text, lambda a: (a, ("B", f"{a}.b"))).root
    for _ in range(2):
        candidate = root.apply({"f(a)": "X", "h(a)": "Y"}).restrict("e(a)", "X")
        assert candidate.domain("g(a.b)") == ("P",)


def test_lines_with_what_was_decided_before():
    text = (
        "\nrequire forall $a in A: forall $c in A: forall $b in B: h($a) is not Y || h($c) is not Y || g($b) is P"
        + ON_X
    )
    frozen = problem(text, lambda a: (a, ("B", f"{a}.b")), ("a", "c"))
    assert len(frozen.tables.lines) == 1
    candidate = frozen.root.apply({"h(a)": "Y", "h(c)": "Y"}).restrict("f(a)", "X")
    assert candidate.domain("g(a.b)") == ("P",)
    assert candidate == frozen.root.restrict("f(a)", "X").apply({"h(c)": "Y", "h(a)": "Y"})


def test_tight_counters_meet_new_objects():
    text = """
    choice half counter used(): forall $b in B: sum "1" when: g($b) is P end
    require used() <= "1" """
    root = problem(text + ON_X, lambda a: (a, ("B", f"{a}.b")), ("a", "c")).root
    candidate = root.restrict("f(a)", "X").restrict("g(a.b)", "P").restrict("f(c)", "X")
    assert candidate.domain("g(c.b)") == ("Q",)


def test_sums_without_conditions_grow():
    text = '\nchoice counter used(): forall $b in B: sum "1" end require used() <= "1"' + ON_X
    root = problem(text, lambda a: (a, ("B", f"{a}.b")), ("a", "c", "d")).root
    assert root.domain("used()") == (0, 1)
    first = root.restrict("f(a)", "X")
    assert first.domain("used()") == (1, 1)
    assert root.restrict("f(a)", "Y").restrict("f(c)", "Y").restrict("f(d)", "Y").domain("used()") == (0, 0)


def test_objects_that_wake_fire_further_triggers_at_once():
    text = '\ntrigger forall $b in B: forall $a in A: "deeper($b, $a)" when h($a) is Y' + ON_X

    def deeper(b, a):
        if not b.startswith(a):
            return None
        extension = Extension(f"under {b}")
        extension.add("C", f"{b}.c")
        return extension

    text = "\nset C: end choice enum k($c in C): value U: value V: end" + text
    root = problem(text, lambda a: (f"of {a}", ("B", f"{a}.b")), ("a",), {"deeper": deeper}).root
    candidate = root.restrict("h(a)", "Y").restrict("f(a)", "X")
    assert candidate.alive == ("of a", "under a.b") and "k(a.b.c)" in candidate.open
    assert candidate == root.restrict("f(a)", "X").restrict("h(a)", "Y")
    assert root.restrict("f(a)", "Y").restrict("h(a)", "Y").alive == ()


QUOTIENT = """
choice enum same($a in A, $b in A): symmetric value YES: value NO: end
quotient Classes of $a in A: first = h($a) is X / same is YES end
choice half counter classes(): forall $a in Classes: sum "1" end
"""


def test_the_first_sure_member_is_elected():
    root = problem(QUOTIENT, lambda a: None, ("a", "b", "c")).root
    first = root.restrict("h(b)", "X")
    assert first.maybe("Classes") == ("a", "b", "c"), "a may still represent b"
    assert first.restrict("h(a)", "Y").objects("Classes") == ("b",)
    assert root.restrict("h(a)", "X").objects("Classes") == ("a",)


def test_members_that_differ_represent_themselves():
    root = problem(QUOTIENT, lambda a: None, ("a", "b")).root.apply({"h(a)": "X", "h(b)": "X"})
    assert root.restrict("same(b, a)", "NO").objects("Classes") == ("a", "b")
    assert root.restrict("same(b, a)", "YES").objects("Classes") == ("a",)


def test_marks_work_backwards():
    text = QUOTIENT + '\nrequire classes() <= "1" require forall $a in A: "$a != \'a\'" || first($a) is TRUE'
    root = problem(text, lambda a: None, ("a", "b")).root
    assert root.domain("h(a)") == ("X",), "a representative meets the conditions"
    assert root.restrict("h(b)", "X").domain("same(a, b)") == ("YES",), "no second class: b is like a"
    assert root.restrict("same(a, b)", "NO").domain("h(b)") == ("Y",)


def test_representatives_wait_for_objects_that_may_wake():
    """An object of an extension may be represented by one of an earlier one, until that cannot come any more."""
    root = problem(QUOTIENT + ON_X, lambda a: (a, ("A", f"{a}+")) if "+" not in a else None, ("a", "b")).root
    candidate = root.apply({"h(a)": "Y", "h(b)": "Y", "f(b)": "X"}).restrict("h(b+)", "X")
    assert candidate.maybe("Classes") == ("b+",)
    assert candidate.restrict("f(a)", "Y").objects("Classes") == ("b+",)
    woken = candidate.restrict("f(a)", "X").restrict("h(a+)", "X")
    assert woken.objects("Classes") == ("a+",)
    assert woken.restrict("same(a+, b+)", "YES").objects("Classes") == ("a+",)
