"""Every construct of the language: it parses, prints back to itself, compiles and does what it says."""

from __future__ import annotations

import pytest

from einloom.csp import Extension, Instance, SpaceError, UnknownChoice, load_space, parse_space, show, solutions
from einloom.csp.language.parser import parse
from einloom.errors import DeadEnd

SPACES = {
    "empty": "",
    "comment": "// nothing\n",
    "set": "set A: end",
    "set keys": 'set A: type = "str" iterator = "names" name = "$item" end',
    "keys of other implementations": (
        'set A: item_type = "str" id_type = "int" item_getter = "$id" id_getter = "$item" iterator = "names"\n'
        'var_prefix = "a" new_objs = "x" from_superset = "$item" add_to_set = "y" end'
    ),
    "reverse": 'set A: end set B($a in A): reverse forall $b in A = "x" end',
    "subset": "set A: end set B subsetof A: end",
    "disjoint": "set A: end set B subsetof A: end set C subsetof A: disjoint: B end",
    "parametric set": "set A: end set B($a in A): end",
    "parametric subset": "set A: end set B($a in A) subsetof A: end set C($a in A) subsetof B($a): end",
    "enumeration": "set A: end choice enum f($a in A): value X: value Y: end",
    "define": 'set A: end define enum f($a in A): value X: end define integer n($a in A): "[1]" end',
    "nullary choice": "choice enum mode(): value FAST: value SMALL: end",
    "documentation": "/// A set.\nset A: end\n/// A choice.\nchoice enum f($a in A):\n/// A value.\nvalue X: end",
    "symmetric": "set A: end choice enum f($a in A, $b in A): symmetric value X: value Y: end",
    "antisymmetric": "set A: end choice enum f($a in A, $b in A): antisymmetric: X -> Y value X: value Y: value Z: end",
    "antisymmetric last": "set A: end choice enum f($a in A, $b in A): value X: value Y: antisymmetric: X -> Y end",
    "relation with context": (
        "set R: end set D($r in R): end\n"
        "choice enum f($r in R, $a in D($r), $b in D($r)): antisymmetric: X -> Y value X: value Y: end"
    ),
    "alias": "set A: end choice enum f($a in A): value X: value Y: value Z: alias W = X | Y: end",
    "value requires": 'set A: end choice enum f($a in A): value X: requires "$a.ok" value Y: end',
    "value requires for all": (
        'set A: end choice enum f($a in A): value X: requires forall $b in A: f($b) is X\nrequires "$a" value Y: end'
    ),
    "alias requires": 'set A: end choice enum f($a in A): value X: value Y: alias Z = X: requires "$a.ok" end',
    "integer": 'set A: end choice integer n($a in A): "$a.sizes" end',
    "require": "set A: end choice enum f($a in A): value X: end require forall $a in A: f($a) is X",
    "conjunction of lines": (
        "set A: end choice enum f($a in A): value X: value Y: end\n"
        "require forall $a in A: forall $b in A:\n"
        '  f($a) is X || f($b) is Y\n  f($a) == f($b) || "$a.x"\n  true || false'
    ),
    "comparisons": (
        'set A: end choice integer n($a in A): "[1]" end\n'
        'require forall $a in A: forall $b in A: n($a) <= n($b) || n($a) != n($b) || n($a) >= "limit" || n($b) < 3'
    ),
    "sum": 'set A: end choice integer n($a in A): "[1]" end choice counter c(): forall $a in A: sum n($a) end',
    "product with base": 'set A: end choice counter c(): base "2" forall $a in A: mul "$a.size" end',
    "half internal counter": (
        'set A: end choice half internal counter c($a in A): forall $b in A: sum "1" when: true end'
    ),
    "counter of a counter": (
        'set A: end choice counter c($a in A): sum "1" end choice counter d(): forall $a in A: sum c($a) end\n'
        "require d() <= 3 require forall $a in A: c($a) == 1"
    ),
    "counter conditions in lines": (
        "set A: end choice enum f($a in A): value X: value Y: end\n"
        'choice counter c(): forall $a in A: sum "1" when:\n  f($a) is X\n  "$a.ok"\nend'
    ),
    "quotient": (
        "set A: end choice enum f($a in A): value X: value Y: end\n"
        "choice enum e($a in A, $b in A): symmetric value S: value D: end\n"
        'quotient Q of $a in A: mark = f($a) is X && "$a" / e is S end\n'
        "require forall $q in Q: f($q) is X require forall $a in A: mark($a) is TRUE || f($a) is Y"
    ),
    "parametric quotient without in": (
        "set A: end choice enum e($a in A, $b in A): symmetric value S: value D: end\n"
        'quotient Q($x in A) of $a A: mark = e($a, $x) is S / e is S iterator = "unused" end'
    ),
    "trigger": (
        "set A: end choice enum f($a in A): value X: value Y: end\n"
        'trigger forall $a in A: "lower($a)" when f($a) is X && "$a" && f($a) is not Y'
    ),
    "escaped quotes": 'set A: end choice enum f($a in A): value X: end require forall $a in A: "$a == \\"x\\""',
}


@pytest.mark.parametrize("name", SPACES)
def test_construct_compiles_and_prints_back_to_itself(name):
    text = SPACES[name]
    space = parse_space(text, name)
    printed = show(space.definition)
    assert parse(printed) == space.definition
    compile(space.source, name, "exec")


def test_compiled_spaces_are_cached_by_content():
    assert parse_space("set A: end", "one") is parse_space("set A: end", "one")
    assert parse_space("set A: end", "one") is not parse_space("set B: end", "one")


def build(text, host=None, /, **members):
    instance = Instance(parse_space(text), host)
    for set_name, names in members.items():
        for name in names:
            instance.add(set_name, name)
    return instance.freeze()


def test_include_reads_the_file_beside_it(tmp_path):
    (tmp_path / "sets.space").write_text("set A: end")
    path = tmp_path / "main.space"
    path.write_text('include "sets.space"\nchoice enum f($a in A): value X: value Y: end')
    instance = Instance(load_space(path))
    instance.add("A", "a")
    assert instance.freeze().root.open == {"f(a)": ("X", "Y")}


def test_one_variable_for_each_tuple_of_distinct_objects():
    text = """set A: end set B subsetof A: end
    choice enum one($a in A): value X: value Y: end
    choice enum two($a in A, $b in A): value X: value Y: end
    choice enum sym($a in A, $b in A): symmetric value X: value Y: end
    choice enum anti($a in A, $b in A): antisymmetric: X -> Y value X: value Y: end
    choice enum mixed($a in A, $b in B): value X: value Y: end
    choice enum three($a in A, $b in A, $c in A): value X: value Y: end"""
    problem = build(text, A=["a", "b", "c"], B=["d", "e"])
    count = {name: sum(v.choice == name for v in problem.variables) for name in problem.layout.choices}
    assert count == {"one": 5, "two": 5 * 4, "sym": 10, "anti": 10, "mixed": 4 * 2, "three": 5 * 4 * 3}


def test_choices_without_objects():
    text = "choice enum mode(): value FAST: value SMALL: end choice enum level(): value LOW: value HIGH: end\n"
    problem = build(text + "require mode() is FAST || level() is LOW")
    assert problem.root.restrict("mode()", "SMALL").domain("level()") == ("LOW",)


def test_antisymmetric_choices_read_from_both_sides():
    text = """set A: end choice enum f($a in A, $b in A):
      antisymmetric: L -> R  value L: value R: value S: alias LS = L | S: end"""
    root = build(text, A=["a", "b"]).root
    assert root.restrict("f(b, a)", "L") == root.restrict("f(a, b)", "R")
    assert root.restrict("f(b,a)", "LS").domain("f(a, b)") == ("R", "S")
    assert root.restrict("f(b, a)", "LS").domain("f(b, a)") == ("L", "S")


def test_aliases_and_complements():
    root = build("set A: end choice enum f($a in A): value X: value Y: value Z: alias XY = X | Y: end", A=["a"]).root
    assert root.restrict("f(a)", "XY").domain("f(a)") == ("X", "Y")
    assert root.restrict("f(a)", ["Y", "Z"]).restrict("f(a)", "XY").domain("f(a)") == ("Y",)


def test_values_and_aliases_bring_their_constraints():
    text = """set A: end
    choice enum f($a in A):
      value X: requires "$a != 'a'"
      value Y: requires forall $b in A: f($b) is not X
      value Z:
      alias XY = X | Y: requires forall $b in A: f($b) is not Z
    end"""
    root = build(text, A=["a", "b", "c"]).root
    assert root.domain("f(a)") == ("Y", "Z")
    chosen = root.restrict("f(b)", "Y")
    assert chosen.domain("f(a)") == ("Y",) and chosen.domain("f(c)") == ("Y",)
    with pytest.raises(DeadEnd):
        root.restrict("f(b)", "X")


def test_integer_universes_belong_to_objects():
    text = (
        'set A: end choice integer n($a in A): "sizes[$a]" end require forall $a in A: forall $b in A: n($a) == n($b)'
    )
    root = build(text, {"sizes": {"a": [8, 2, 4], "b": range(3, 9)}}, A=["a", "b"]).root
    assert root.domain("n(a)") == (4, 8) and root.domain("n(b)") == (4, 8)
    assert root.restrict("n(a)", 4).domain("n(b)") == (4,)


@pytest.mark.parametrize(
    "operator, left", [("<", (1, 2)), ("<=", (1, 2, 4)), (">", ()), (">=", (4,)), ("!=", (1, 2)), ("==", (4,))]
)
def test_integers_compare_with_integers_and_with_code(operator, left):
    text = f"""set A: end set B: end
    choice integer n($a in A): "[1, 2, 4]" end choice integer m($b in B): "[4]" end
    require forall $a in A: forall $b in B: n($a) {operator} m($b)"""
    host = text.replace("n($a) " + operator + " m($b)", f'n($a) {operator} "limit"')
    for each in (text, host):
        problem = build(each, {"limit": 4}, A=["a"], B=["b"])
        if left:
            assert problem.root.domain("n(a)") == left
        else:
            with pytest.raises(DeadEnd):
                _ = problem.root


def test_guards_switch_constraints_off_for_some_objects():
    text = 'set A: end choice enum f($a in A): value X: value Y: end require forall $a in A: "$a in free" || f($a) is X'
    root = build(text, {"free": {"b"}}, A=["a", "b"]).root
    assert root.domain("f(a)") == ("X",) and root.domain("f(b)") == ("X", "Y")


def test_a_guard_that_fails_alone_leaves_nothing():
    problem = build('set A: end require forall $a in A: "$a.isdigit()"', A=["7", "x"])
    with pytest.raises(DeadEnd):
        _ = problem.root


def test_two_object_constraints_hold_on_small_sets():
    text = """set A: end choice enum f($a in A): value X: value Y: end
    require forall $a in A: forall $b in A: f($a) != f($b)"""
    assert sum(1 for _ in solutions(build(text, A=["a"]))) == 2
    assert sum(1 for _ in solutions(build(text, A=["a", "b"]))) == 2


def test_constraints_on_the_same_objects_are_merged():
    """With one of A, B on the left: both clauses alone leave A, B, C; together only B and C."""
    text = """set S: end set T: end
    choice enum f($s in S): value A: value B: value C: end
    choice enum g($t in T): value A: value B: value C: end
    require forall $s in S: forall $t in T:
      f($s) is not A || g($t) is B | C
      f($s) is not B || g($t) is B | C"""
    root = build(text, S=["s"], T=["t"]).root
    assert root.restrict("f(s)", ["A", "B"]).domain("g(t)") == ("B", "C")


def test_constraints_stay_inside_their_sets():
    text = """set A: end set B subsetof A: end set Owned($a in A) subsetof A: end
    choice enum f($a in A): value X: value Y: end
    require forall $b in B: f($b) is X
    require forall $a in A: forall $o in Owned($a): f($a) is X || f($o) is Y"""
    instance = Instance(parse_space(text))
    for name in ("a", "o", "free"):
        instance.add("A", name)
    instance.add("B", "b")
    instance.add("Owned", "o", of=("a",))
    root = instance.freeze().root
    assert root.domain("f(b)") == ("X",) and root.domain("f(free)") == ("X", "Y")
    assert root.restrict("f(a)", "Y").domain("f(o)") == ("Y",)
    assert root.restrict("f(free)", "Y").domain("f(o)") == ("X", "Y")


def test_iterators_getters_filters_names_and_types():
    text = """set All: iterator = "numbers" item_getter = "box($id)" name = "'n' + str($item[0])" type = "tuple" end
    set Even subsetof All: from_superset = "$item[0] % 2 == 0" end
    set Below($x in All) subsetof All: iterator = "[box(i) for i in range(1, $x[0])]" end
    choice enum f($x in All, $y in Below($x)): value X: value Y: end
    choice enum g($x in Even): value X: value Y: end"""
    problem = build(text, {"numbers": [1, 2, 3], "box": lambda i: (i,), "tuple": tuple})
    assert [v.name for v in problem.variables] == ["f(n2, n1)", "f(n3, n1)", "f(n3, n2)", "g(n2)"]


def test_prefixed_names():
    text = 'set A: var_prefix = "a" iterator = "[object(), object()]" end choice enum f($a in A): value X: value Y: end'
    problem = build(
        text.replace("object()", "box(0)", 1).replace("object()", "box(1)"), {"box": lambda i: frozenset([i])}
    )
    assert [v.name for v in problem.variables] == ["f(a0)", "f(a1)"]


FREEZING = {
    "host name": ('set A: end require forall $a in A: "missing"', "does not give"),
    "host failure": ('set A: end require forall $a in A: "$a.nothing"', "AttributeError"),
    "universe": ('set A: end choice integer n($a in A): "[]" end', "universe of n must be positive integers"),
    "universe of zero": ('set A: end choice integer n($a in A): "[0, 1]" end', "positive"),
    "universe of names": ("set A: end choice integer n($a in A): \"['x']\" end", "positive"),
    "increment": ('set A: end choice counter c(): forall $a in A: sum "-1" end', "whole number"),
    "factor": ('set A: end choice counter c(): forall $a in A: mul "0" end', "at least 1"),
    "iterator": ('set B: iterator = "7" end set A: end', "iterator of B gave 7"),
    "disjoint": ('set A: end set B subsetof A: disjoint: A end set D: iterator = "[]" end', "disjoint"),
    "callback": (
        'set A: end choice enum f($a in A): value X: end trigger forall $a in A: "7" when f($a) is X',
        "gives a Extension or None",
    ),
}


@pytest.mark.parametrize("case", FREEZING)
def test_errors_while_freezing_say_where(case):
    text, reason = FREEZING[case]
    instance = Instance(parse_space(text, "frozen.space"))
    instance.add("A", "a")
    if case == "disjoint":
        instance.add("B", "b")
    with pytest.raises(SpaceError) as caught:
        _ = instance.freeze().root
    assert reason in str(caught.value)


def test_errors_of_instances():
    space = parse_space("set A: end set B($a in A): end choice enum f($a in A): value X: value Y: end")
    instance = Instance(space)
    instance.add("C", "c")
    with pytest.raises(SpaceError, match="no set 'C' to add to; there are A, B"):
        instance.freeze()
    instance = Instance(space)
    instance.add("B", "b")
    with pytest.raises(SpaceError, match=r"give them as of=\(..\)"):
        instance.freeze()
    instance = Instance(space)
    instance.add("B", "b", of=("a",))
    with pytest.raises(SpaceError, match="in no set yet"):
        instance.freeze()
    instance = Instance(space)
    instance.add("A", "a")
    instance.add("A", 1, name="a")
    with pytest.raises(SpaceError, match="two objects are called 'a'"):
        instance.freeze()
    instance = Instance(space)
    instance.add("A", "a, b")
    with pytest.raises(SpaceError, match="must not be empty, nor contain"):
        instance.freeze()


def test_triggers_that_never_end_are_refused():
    text = (
        'set A: end choice enum f($a in A): value X: value Y: end trigger forall $a in A: "lower($a)" when f($a) is X'
    )

    def lower(a):
        extension = Extension(f"after {a}")
        extension.add("A", a + 1, name=f"a{a + 1}")
        return extension

    instance = Instance(parse_space(text), {"lower": lower})
    instance.add("A", 0, name="a0")
    with pytest.raises(SpaceError, match="do their objects fire them again"):
        instance.freeze()


def test_unknown_names_list_near_ones():
    root = build("set A: end choice enum kind($a in A): value X: value Y: end", A=["first"]).root
    with pytest.raises(UnknownChoice, match=r"kind\(first\)"):
        root.domain("kind(frist)")
    with pytest.raises(UnknownChoice, match="no value 'Z'; it has X, Y"):
        root.restrict("kind(first)", "Z")
    with pytest.raises(UnknownChoice, match="no choice 'kind'"):
        root.domain("kind")
