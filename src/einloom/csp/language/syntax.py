"""The syntax tree of the space language: what a `.space` file, or `Definition` in Python, says. No meaning yet.

Positions (`Span`) take no part in comparisons, so a printed and parsed tree equals the tree it came from.

>>> Is(ChoiceRef("order", ("a", "b")), ("BEFORE",)).negated
False
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

from einloom.frozen import frozen

__all__ = [
    "AliasDef",
    "ChoiceRef",
    "Compare",
    "Condition",
    "Constant",
    "CounterDef",
    "EnumDef",
    "Host",
    "IntegerDef",
    "Is",
    "Parameter",
    "QuotientDef",
    "Require",
    "SetDef",
    "SetRef",
    "Span",
    "Statement",
    "SyntaxTree",
    "TriggerDef",
    "ValueDef",
]


@frozen
class Span:
    """A place in a source text: line and column count from 1, `length` in characters."""

    line: int = 0
    column: int = 0
    length: int = 1
    file: str = ""


NOWHERE = Span()


@frozen
class Host:
    """A quoted expression of the host language, or a Python callable of the quantified objects it names.

    Attributes:
        text: the expression with `$x` for quantified objects; a description when `function` is given.
        function: a callable whose parameters are named like the quantified variables; None for text.
    """

    text: str
    function: Callable[..., Any] | None = None
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@frozen
class SetRef:
    """A set, applied to the variables that a parametric set needs: `TilingDims($logical)`."""

    name: str
    arguments: tuple[str, ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@frozen
class Parameter:
    """`$variable in Set`: a parameter of a definition, or a universal quantifier."""

    variable: str
    set: SetRef
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@frozen
class ChoiceRef:
    """A choice or counter applied to variables: `order($a, $b)`."""

    name: str
    arguments: tuple[str, ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@frozen
class Is:
    """`choice(..) is [not] V1 | V2`: restricts an enumeration to values or aliases."""

    choice: ChoiceRef
    values: tuple[str, ...]
    negated: bool = False
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    value_spans: tuple[Span, ...] = field(default=(), compare=False, repr=False)


@frozen
class Compare:
    """`choice(..) OP choice(..)` or `choice(..) OP "code"`, with OP one of `== != < <= > >=`."""

    left: ChoiceRef
    operator: str
    right: ChoiceRef | Host
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@frozen
class Constant:
    """`true` or `false` as a condition."""

    value: bool
    span: Span = field(default=NOWHERE, compare=False, repr=False)


Condition = Is | Compare | Constant | Host


@frozen
class Require:
    """`require forall ..: condition || condition`: a conjunction of clauses, each a disjunction of conditions."""

    quantifiers: tuple[Parameter, ...]
    clauses: tuple[tuple[Condition, ...], ...]
    name: str = ""
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@frozen
class SetDef:
    """`set NAME($p in Parent) subsetof Super: disjoint: Other  key = "..."  end`."""

    name: str
    parameters: tuple[Parameter, ...] = ()
    superset: SetRef | None = None
    disjoint: tuple[SetRef, ...] = ()
    keys: tuple[tuple[str, Host], ...] = ()
    documentation: str = field(default="", compare=False)
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@frozen
class ValueDef:
    """One value of an enumeration, with the constraints it brings."""

    name: str
    requirements: tuple[Require, ...] = ()
    documentation: str = field(default="", compare=False)
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@frozen
class AliasDef:
    """`alias NAME = V1 | V2:`: a name for several values, with the constraints that each of them brings."""

    name: str
    values: tuple[str, ...]
    requirements: tuple[Require, ...] = ()
    documentation: str = field(default="", compare=False)
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    value_spans: tuple[Span, ...] = field(default=(), compare=False, repr=False)


@frozen
class EnumDef:
    """`choice enum NAME(..): [symmetric | antisymmetric: A -> B] value .. alias .. end`.

    Attributes:
        symmetry: None, `"symmetric"` or `"antisymmetric"`; it exchanges the last two parameters.
        mapping: the pairs of an antisymmetric choice; values that no pair names are their own inverse.
    """

    name: str
    parameters: tuple[Parameter, ...]
    values: tuple[ValueDef, ...]
    aliases: tuple[AliasDef, ...] = ()
    symmetry: str | None = None
    mapping: tuple[tuple[str, str], ...] = ()
    documentation: str = field(default="", compare=False)
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    symmetry_span: Span = field(default=NOWHERE, compare=False, repr=False)
    mapping_spans: tuple[tuple[Span, Span], ...] = field(default=(), compare=False, repr=False)


@frozen
class IntegerDef:
    """`choice integer NAME(..): "universe" end`: a positive integer out of a universe that the instance gives."""

    name: str
    parameters: tuple[Parameter, ...]
    universe: Host
    documentation: str = field(default="", compare=False)
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@frozen
class CounterDef:
    """`choice [half] [internal] counter NAME(..): forall ..: sum INCREMENT when: conditions end`."""

    name: str
    parameters: tuple[Parameter, ...]
    operation: str
    increment: Host | ChoiceRef
    quantifiers: tuple[Parameter, ...] = ()
    conditions: tuple[Condition, ...] = ()
    base: Host | None = None
    half: bool = False
    internal: bool = False
    documentation: str = field(default="", compare=False)
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@frozen
class QuotientDef:
    """`quotient NAME(..) of $item in Set: repr = conditions / equivalence is VALUES end`."""

    name: str
    parameters: tuple[Parameter, ...]
    item: Parameter
    representative: str
    conditions: tuple[Condition, ...]
    equivalence: str
    equivalence_values: tuple[str, ...]
    keys: tuple[tuple[str, Host], ...] = ()
    documentation: str = field(default="", compare=False)
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    representative_span: Span = field(default=NOWHERE, compare=False, repr=False)
    equivalence_span: Span = field(default=NOWHERE, compare=False, repr=False)
    equivalence_value_spans: tuple[Span, ...] = field(default=(), compare=False, repr=False)


@frozen
class TriggerDef:
    """`trigger forall ..: "callback" when condition && condition`."""

    quantifiers: tuple[Parameter, ...]
    callback: Host
    conditions: tuple[Condition, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


Statement = SetDef | EnumDef | IntegerDef | CounterDef | QuotientDef | Require | TriggerDef


@frozen
class SyntaxTree:
    """A whole space: its statements in order of appearance.

    Attributes:
        texts: the source text of each file, for the caret of an error message.
    """

    statements: tuple[Statement, ...]
    name: str = field(default="space", compare=False)
    texts: tuple[tuple[str, str], ...] = field(default=(), compare=False, repr=False)
