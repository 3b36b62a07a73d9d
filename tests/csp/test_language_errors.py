"""Every error of the language, at its exact place. `@` marks where the error must point; it is removed first."""

from __future__ import annotations

import pytest

from einloom.csp import SpaceError, load_space, parse_space
from einloom.errors import EinloomError

SETS = """set A: end
set B subsetof A: end
set C: end
set Owned($a in A) subsetof C: end
"""
CHOICES = (
    SETS
    + """choice enum kind($a in A): value X: value Y: value Z: alias XY = X | Y: end
choice enum other($a in A): value P: value Q: end
choice enum pair($a in A, $b in A): antisymmetric: L -> R value L: value R: value S: end
choice integer n($a in A): "[1, 2]" end
choice integer m($b in B): "[1, 2]" end
choice counter total(): forall $a in A: sum n($a) end
choice half counter some(): forall $a in A: sum "1" when: kind($a) is X end
quotient Q of $a in A: marked = kind($a) is X / pair is S end
"""
)

LEXICAL = {
    "character": ("set A@%: end", "unexpected character"),
    "unclosed quote": ('choice integer n(): @"[1]\nend', "not closed on its line"),
    "elided": ("set A:\n  @...\nend", "left out"),
    "lone ampersand": (CHOICES + 'trigger "x" when kind($a) @& true', "unexpected character"),
}

GRAMMAR = {
    "statement": ("@sett A: end", "expected set, choice"),
    "end of text": ("set A:@", "expected a key"),
    "missing colon": ("set A @end", "expected ':'"),
    "keyword as a name": ("set @value: end", "is a word of the language"),
    "set variable": ("set A(@a in B): end", "expected a variable"),
    "key twice": ('set A:\n  iterator = "x"\n  @iterator = "y"\nend', "given twice"),
    "key value": ("set A: iterator = @x end", "expected quoted text"),
    "kind of choice": ("choice @set f(): end", "expected enum, integer or counter"),
    "half enum": ("choice half @enum f(): value X: end", "expected 'counter'"),
    "enum body": ("choice enum f():\n  @X:\nend", "expected value, alias"),
    "symmetric twice": (SETS + "choice enum f($a in A, $b in A): symmetric @symmetric value X: end", "already is"),
    "mapping arrow": (SETS + "choice enum f($a in A, $b in A): antisymmetric: L @R value L: end", "expected '->'"),
    "universe": ("choice integer n(): @[1, 2] end", "unexpected character"),
    "universe as number": ("choice integer n(): @3 end", "expected the universe"),
    "counter operation": (SETS + "choice counter c(): forall $a in A: @max n($a) end", "expected forall, sum or mul"),
    "counter increment": (SETS + "choice counter c(): forall $a in A: sum @$a end", "expected an increment"),
    "condition": (CHOICES + "require forall $a in A: kind($a) is X || @end", "expected a condition"),
    "comparison": (CHOICES + "require forall $a in A: kind($a) @X", "expected 'is'"),
    "right side": (CHOICES + "require forall $a in A: n($a) <= @is", "expected a choice"),
    "quotient condition": (CHOICES + "quotient R of $a in A: rep = @/ pair is S end", "expected a condition"),
    "quotient equivalence": (CHOICES + "quotient R of $a in A: rep = kind($a) is X / pair@($a) is S end", "alone"),
    "quotient divided": (CHOICES + "quotient R of $a in A: rep = kind($a) is X @end", "expected '/'"),
    "trigger callback": (CHOICES + "trigger forall $a in A: @kind($a) is X", "expected the callback"),
    "trigger condition": (CHOICES + 'trigger forall $a in A: "f($a)" @kind($a) is X', "expected 'when'"),
    "include without a file": ('include @"other.space"', "no file here"),
}

NAMES = {
    "set twice": ("set A: end\nset @A: end", "set 'A' is defined twice (first on line 1)"),
    "choice twice": (CHOICES + "choice enum @kind($a in A): value X: end", "choice 'kind' is defined twice"),
    "quotient as a set": (CHOICES + "set @Q: end", "set 'Q' is defined twice"),
    "mark as a choice": (CHOICES + "choice enum @marked($a in A): value X: end", "defined twice"),
    "value twice": (SETS + "choice enum f($a in A): value X: value @X: end", "value 'X' of f is defined twice"),
    "alias as a value": (SETS + "choice enum f($a in A): value X: alias @X = X: end", "defined twice"),
    "no values": (SETS + "choice enum @f($a in A): end", "has no values"),
    "missing set": (SETS + "choice enum f($a in @Aa): value X: end", "there is no set 'Aa'"),
    "missing superset": ("set A subsetof @B: end", "there is no set 'B'"),
    "missing disjoint set": ("set A: disjoint: @B end", "there is no set 'B'"),
    "near set": (SETS + "require forall $x in @Ownd: true", "did you mean Owned"),
    "set arity": (SETS + "require forall $x in @Owned: true", "Owned takes 1 argument, not 0"),
    "set arguments": (SETS + "require forall $a in A: forall $c in @A($a): true", "A takes 0 arguments, not 1"),
    "set owner": (SETS + "require forall $c in C: forall $x in @Owned($c): true", "'$c' is in C"),
    "set variable": (SETS + "require forall $x in @Owned($y): true", "there is no variable '$y'"),
    "set key": ('set A: itemtype = @"x" end', "there is no key of a set 'itemtype'"),
    "subset of a quotient": (CHOICES + "set D subsetof @Q: end", "cannot be a subset of a quotient"),
    "choice on a quotient": (CHOICES + "choice enum f($q in @Q): value X: end", "use the set that it divides"),
    "missing choice": (CHOICES + "require forall $a in A: @kinds($a) is X", "there is no choice 'kinds'"),
    "choice arity": (CHOICES + "require forall $a in A: @pair($a) is S", "pair takes 2 arguments, not 1"),
    "choice argument": (CHOICES + "require forall $a in A: @m($a) <= 2", "m takes an object of B; '$a' is in A"),
    "same object twice": (CHOICES + "require forall $a in A: @pair($a, $a) is S", "takes distinct objects"),
    "unknown value": (CHOICES + "require forall $a in A: kind($a) is X | @W", "there is no value of kind 'W'"),
    "unknown value in an alias": (SETS + "choice enum f($a in A): value X: alias Y = X | @W: end", "'W'"),
    "undefined variable": (CHOICES + "require forall $a in A: @kind($b) is X", "there is no variable '$b'"),
    "variable twice": (CHOICES + "require forall $a in A: forall @$a in A: true", "already there"),
    "undefined quoted variable": (CHOICES + 'require forall $a in A: "$a.x and @$b.y" || kind($a) is X', "'$b'"),
    "quoted syntax": (CHOICES + 'require forall $a in A: "$a @+" || kind($a) is X', "not a Python expression"),
    "quoted statement": (CHOICES + 'require forall $a in A: "@import os"', "not a Python expression"),
    "quoted builtin": (CHOICES + 'require forall $a in A: @"open($a)"', "may not use the builtin 'open'"),
    "quoted dunder": (CHOICES + 'require forall $a in A: @"$a.__class__"', "may not use '__class__'"),
    "quotient choice": (CHOICES + "quotient R of $a in A: rep = true / @pairs is S end", "there is no choice 'pairs'"),
}

TYPES = {
    "antisymmetric with one parameter": (
        SETS + "choice enum f($a in A): @antisymmetric: L -> R value L: value R: end",
        "needs two parameters",
    ),
    "symmetric with many values": (
        SETS + f"choice enum f($a in A, $b in A): @symmetric {' '.join(f'value V{i}:' for i in range(13))} end",
        "takes at most 12 values",
    ),
    "symmetric over two sets": (
        SETS + "choice enum f($a in A, $b in B): @symmetric value X: end",
        "parameters are of different sets",
    ),
    "mapping to no value": (
        SETS + "choice enum f($a in A, $b in A): antisymmetric: L -> @M value L: value R: end",
        "there is no value of f 'M'",
    ),
    "value mapped twice": (
        SETS + "choice enum f($a in A, $b in A): antisymmetric: L -> R @L -> S value L: value R: value S: end",
        "value L is mapped twice",
    ),
    "value mapped to itself": (
        SETS + "choice enum f($a in A, $b in A): antisymmetric: L -> @L value L: value R: end",
        "value L is mapped twice",
    ),
    "is on an integer": (CHOICES + "require forall $a in A: @n($a) is X", "n is an integer choice"),
    "is on a counter": (CHOICES + "require @total() is X", "total is a counter"),
    "enumeration and code": (CHOICES + 'require forall $a in A: kind($a) @== "1"', "kind is an enumeration"),
    "enumeration order": (CHOICES + "require forall $a in A: forall $b in A: kind($a) @< kind($b)", "have no order"),
    "different values": (CHOICES + "require forall $a in A: kind($a) @== other($a)", "have different values"),
    "enumeration and integer": (CHOICES + "require forall $a in A: kind($a) @== n($a)", "cannot compare"),
    "two counters": (CHOICES + "require total() @<= some()", "cannot compare a counter with a counter"),
    "half counter from below": (CHOICES + "require some() @>= 1", "half counter"),
    "half counter equals a choice": (CHOICES + "require forall $a in A: n($a) @== some()", "half counter"),
    "counter not equal": (CHOICES + "require total() @!= 1", "not with !="),
    "counter of an enumeration": (
        CHOICES + "choice counter c(): forall $a in A: sum @kind($a) end",
        "kind is an enumeration",
    ),
    "counter of a half counter": (CHOICES + "choice counter c(): sum @some() end", "must be one too"),
    "counter of itself": ("choice counter c(): sum @c() end", "counts itself"),
    "counter in a conjunction": (
        CHOICES + 'choice counter c(): forall $a in A: sum "1" when: @total() <= 3 end',
        "cannot stand in a conjunction",
    ),
    "quotient by an asymmetric choice": (
        CHOICES + "quotient R of $a in A: rep = true / @kind is X end",
        "not a symmetric or antisymmetric choice",
    ),
    "quotient by one side": (
        CHOICES + "quotient R of $a in A: rep = true / @pair is L end",
        "the same from both sides",
    ),
    "quotient over another set": (
        CHOICES + "quotient R of $c in C: rep = true / @pair is S end",
        "compares objects of A, not of C",
    ),
    "quotient condition on a number": (
        CHOICES + "quotient R of $a in A: rep = n($a) @<= 1 / pair is S end",
        "'is' conditions",
    ),
}

ALL = {
    **LEXICAL,
    **GRAMMAR,
    **{f"name: {k}": v for k, v in NAMES.items()},
    **{f"type: {k}": v for k, v in TYPES.items()},
}


@pytest.mark.parametrize("case", ALL)
def test_error_points_at_its_place(case):
    marked, reason = ALL[case]
    before = marked[: marked.index("@")]
    text = marked.replace("@", "")
    with pytest.raises(SpaceError) as caught:
        parse_space(text, "test.space")
    error = caught.value
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    assert reason in error.reason
    assert (error.line, error.column) == (line, column), str(error)
    shown = str(error).splitlines()
    assert shown[0].startswith(f"test.space:{line}:{column}: ")
    assert shown[2].index("^") == column + 1
    assert isinstance(error, EinloomError) and isinstance(error, ValueError)


def test_errors_in_included_files_name_the_file(tmp_path):
    (tmp_path / "inner.space").write_text("set A: end\nset A: end\n")
    (tmp_path / "outer.space").write_text('include "inner.space"\n')
    with pytest.raises(SpaceError, match=r"inner.space:2:5: set 'A' is defined twice"):
        load_space(tmp_path / "outer.space")


def test_include_that_is_missing_or_endless(tmp_path):
    path = tmp_path / "outer.space"
    path.write_text('set A: end\ninclude "gone.space"\n')
    with pytest.raises(SpaceError, match=r"outer\.space:2:9: there is no file gone\.space"):
        load_space(path)
    path.write_text('include "outer.space"\n')
    with pytest.raises(SpaceError, match=r"outer\.space:1:9: .* includes itself"):
        load_space(path)


def test_the_caret_is_as_long_as_the_word():
    with pytest.raises(SpaceError) as caught:
        parse_space("set A: end\nchoice enum f($a in Missing): value X: end")
    assert str(caught.value).splitlines()[1:] == [
        "  choice enum f($a in Missing): value X: end",
        "                      ^^^^^^^",
    ]
