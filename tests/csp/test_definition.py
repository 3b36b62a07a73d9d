"""The Python API builds the same trees as the language, and takes callables where the language takes quoted text."""

from __future__ import annotations

import pytest

from einloom.csp import Definition, Extension, Instance, SpaceError, parse_space
from einloom.csp.language.parser import parse

TEXT = """
set Statements: end
set Insts subsetof Statements: end
set Dims subsetof Statements: disjoint: Insts end
set Inner($dim in Dims) subsetof Dims: iterator = "inner($dim)" end
choice enum order($lhs in Statements, $rhs in Statements):
  antisymmetric: BEFORE -> AFTER INNER -> OUTER
  value BEFORE: value AFTER: value INNER: value OUTER: value MERGED:
  alias NESTED = INNER | OUTER:
end
choice enum kind($dim in Dims): value LOOP: value VECTOR: end
choice integer size($dim in Dims): "sizes[$dim]" end
choice half counter vectors(): base "1" forall $dim in Dims: sum size($dim) when: kind($dim) is VECTOR && "$dim" end
quotient Nest($inst in Insts) of $dim in Dims: nested = order($dim, $inst) is OUTER / order is MERGED end
require forall $a in Dims: forall $b in Inner($a):
  order($a, $b) is not NESTED || kind($a) == kind($b) || "$a < $b"
  size($a) <= size($b)
require vectors() <= "8"
trigger forall $a in Dims: forall $b in Dims: "lower($a, $b)" when order($a, $b) is BEFORE
"""


def definition() -> Definition:
    d = Definition("python")
    d.set("Statements")
    d.set("Insts", subset_of="Statements")
    d.set("Dims", subset_of="Statements", disjoint=["Insts"])
    d.set("Inner", {"dim": "Dims"}, subset_of="Dims", iterator="inner($dim)")
    values = ["BEFORE", "AFTER", "INNER", "OUTER", "MERGED"]
    pair = {"lhs": "Statements", "rhs": "Statements"}
    inverse = {"BEFORE": "AFTER", "INNER": "OUTER"}
    order = d.enum("order", pair, values, antisymmetric=inverse, aliases={"NESTED": ["INNER", "OUTER"]})
    kind = d.enum("kind", {"dim": "Dims"}, ["LOOP", "VECTOR"])
    size = d.integer("size", {"dim": "Dims"}, "sizes[$dim]")
    when = [kind("dim").is_("VECTOR"), d.host("$dim")]
    vectors = d.counter("vectors", {}, "sum", size("dim"), over={"dim": "Dims"}, when=when, base=1, half=True)
    outer = [order("dim", "inst").is_("OUTER")]
    d.quotient("Nest", {"inst": "Insts"}, ("dim", "Dims"), "nested", when=outer, equivalent=("order", ["MERGED"]))
    d.require(
        {"a": "Dims", "b": "Inner(a)"},
        order("a", "b").is_not("NESTED") | (kind("a") == kind("b")) | d.host("$a < $b"),
        size("a") <= size("b"),
    )
    d.require({}, vectors() <= 8)
    d.trigger({"a": "Dims", "b": "Dims"}, "lower($a, $b)", when=[order("a", "b").is_("BEFORE")])
    return d


def test_python_and_text_say_the_same():
    assert definition().tree == parse(TEXT)
    assert parse(definition().text()) == parse(TEXT)
    ours, theirs = definition().compile(), parse_space(TEXT)
    for section in ("enums", "integers", "relations"):
        assert getattr(ours, section) == getattr(theirs, section)


def test_every_operator_makes_a_comparison():
    d = Definition()
    d.set("A")
    n = d.integer("n", {"a": "A"}, "[1]")
    made = [n("a") == 1, n("a") != 1, n("a") < 1, n("a") <= 1, n("a") > 1, n("a") >= n("a")]
    assert [clause.conditions[0].operator for clause in made] == ["==", "!=", "<", "<=", ">", ">="]


def test_callables_see_the_objects_of_their_parameters():
    d = Definition("callables")
    d.set("A", iterator=lambda: ["x", "yy"], name=lambda item: f"<{item}>")
    f = d.enum("f", {"a": "A"}, ["SHORT", "LONG"])
    n = d.integer("n", {"a": "A"}, lambda a: range(1, 2 + len(a)))
    d.require({"a": "A"}, d.host(lambda a: len(a) == 1) | f("a").is_("LONG"))
    total = d.counter("total", {}, "mul", n("a"), over={"a": "A"}, when=[d.host(lambda a: len(a) > 1)])
    d.require({}, total() <= (lambda: 2), name="the limit")

    def lower(a):
        low = Extension(f"more {a}")
        low.add("B", a + "+", name=a + "+")
        return low

    d.set("B")
    d.enum("g", {"b": "B"}, ["P", "Q"])
    d.trigger({"a": "A"}, lower, when=[f("a").is_("SHORT")])
    problem = Instance(d.compile()).freeze()
    root = problem.root
    assert root.domain("f(<yy>)") == ("LONG",) and root.domain("n(<yy>)") == (1, 2)
    assert root.why("n(<yy>)", 3).constraint == 'total() <= "<lambda>"  [the limit]'
    assert root.restrict("f(<x>)", "SHORT").open["g(x+)"] == ("P", "Q")


@pytest.mark.parametrize(
    "mistake, reason",
    [
        (lambda d: d.require({"a": "A"}, d.host(lambda b: b)), "no variable '\\$b'"),
        (lambda d: d.require({"a": "Missing"}, d.host("True")), "no set 'Missing'"),
        (lambda d: d.enum("f", {"a": "A"}, []), "has no values"),
        (lambda d: d.require({"a": "A("}, d.host("True")), "is no set"),
        (lambda d: d.trigger({}, "x", when=[d.host("1") | d.host("2")]), "single conditions"),
        (lambda d: d.integer("n", {"a": "A"}, 1.5), "host code is text"),
    ],
)
def test_mistakes(mistake, reason):
    d = Definition()
    d.set("A")
    with pytest.raises(SpaceError, match=reason):
        mistake(d)
        d.compile()
