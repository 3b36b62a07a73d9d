"""`Definition`: the constructs of the space language as Python calls; `compile` gives the same `Space` as a text would.

Host expressions are text, as in the language, or callables whose parameters are named like the quantified variables.

>>> d = Definition("two colours")
>>> d.set("Nodes")
>>> colour = d.enum("colour", {"node": "Nodes"}, ["RED", "BLUE"])
>>> d.require({"a": "Nodes", "b": "Nodes"}, (colour("a") != colour("b")) | d.host(lambda a, b: a[0] != b[0]))
>>> print(d.text())
set Nodes:
end
<BLANKLINE>
choice enum colour($node in Nodes):
  value RED:
  value BLUE:
end
<BLANKLINE>
require forall $a in Nodes:
  forall $b in Nodes:
  colour($a) != colour($b) || "<lambda>"
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from einloom.csp.compile.compiler import Space, compile_space
from einloom.csp.language.printer import show
from einloom.csp.language.source import SpaceError
from einloom.csp.language.syntax import (
    AliasDef,
    ChoiceRef,
    Compare,
    Condition,
    CounterDef,
    EnumDef,
    Host,
    IntegerDef,
    Is,
    Parameter,
    QuotientDef,
    Require,
    SetDef,
    SetRef,
    Statement,
    SyntaxTree,
    TriggerDef,
    ValueDef,
)
from einloom.frozen import frozen

__all__ = ["Applied", "Choice", "Clause", "Definition"]

Code = str | int | Callable[..., Any]


@frozen
class Clause:
    """A disjunction of conditions; `|` joins two."""

    conditions: tuple[Condition, ...]

    def __or__(self, other: Clause) -> Clause:
        return Clause((*self.conditions, *other.conditions))


class Applied:
    """A choice or counter applied to variables: compare it, or say which values it `is_`."""

    __slots__ = ("reference",)

    def __init__(self, reference: ChoiceRef) -> None:
        self.reference = reference

    def is_(self, *values: str) -> Clause:
        """Return the condition that the choice has one of some values."""
        return Clause((Is(self.reference, values),))

    def is_not(self, *values: str) -> Clause:
        """Return the condition that the choice has none of some values."""
        return Clause((Is(self.reference, values, True),))

    def _compare(self, operator: str, other: object) -> Clause:
        right = other.reference if isinstance(other, Applied) else _host(other)
        return Clause((Compare(self.reference, operator, right),))

    def __eq__(self, other: object) -> Clause:  # type: ignore[override]
        return self._compare("==", other)

    def __ne__(self, other: object) -> Clause:  # type: ignore[override]
        return self._compare("!=", other)

    def __lt__(self, other: object) -> Clause:
        return self._compare("<", other)

    def __le__(self, other: object) -> Clause:
        return self._compare("<=", other)

    def __gt__(self, other: object) -> Clause:
        return self._compare(">", other)

    def __ge__(self, other: object) -> Clause:
        return self._compare(">=", other)

    __hash__ = None  # type: ignore[assignment]


@frozen
class Choice:
    """A choice or counter by name; calling it with variables applies it."""

    name: str

    def __call__(self, *variables: str) -> Applied:
        return Applied(ChoiceRef(self.name, variables))


class Definition:
    """Collects the statements of a space.

    Args:
        name: what messages call it.
    """

    def __init__(self, name: str = "space") -> None:
        self.name = name
        self.statements: list[Statement] = []

    @property
    def tree(self) -> SyntaxTree:
        """The syntax tree so far."""
        return SyntaxTree(tuple(self.statements), self.name)

    def text(self) -> str:
        """Return the statements in the space language; callables appear by name only."""
        return show(self.tree)

    def compile(self) -> Space:
        """Return the compiled space.

        Raises:
            SpaceError: a name or a type is wrong.
        """
        return compile_space(self.tree)

    def set(
        self,
        name: str,
        parameters: Mapping[str, str] | None = None,
        /,
        *,
        subset_of: str | None = None,
        disjoint: Iterable[str] = (),
        **keys: Code,
    ) -> None:
        """Define a set; `keys` as in the language: `iterator`, `item_getter`, `from_superset`, `name`, `type`."""
        above = _set_reference(subset_of) if subset_of else None
        others = tuple(_set_reference(each) for each in disjoint)
        hosts = tuple((key, _host(code)) for key, code in keys.items())
        self.statements.append(SetDef(name, _parameters(parameters or {}), above, others, hosts))

    def enum(
        self,
        name: str,
        parameters: Mapping[str, str],
        values: Sequence[str],
        *,
        symmetric: bool = False,
        antisymmetric: Mapping[str, str] | None = None,
        aliases: Mapping[str, Sequence[str]] | None = None,
    ) -> Choice:
        """Define an enumeration; `antisymmetric` maps values to what they are from the other side."""
        symmetry = "symmetric" if symmetric else None if antisymmetric is None else "antisymmetric"
        known = tuple(AliasDef(alias, tuple(meant)) for alias, meant in (aliases or {}).items())
        mapping = tuple((antisymmetric or {}).items())
        given = tuple(ValueDef(value) for value in values)
        self.statements.append(EnumDef(name, _parameters(parameters), given, known, symmetry, mapping))
        return Choice(name)

    def integer(self, name: str, parameters: Mapping[str, str], universe: Code) -> Choice:
        """Define an integer choice; `universe` gives its positive values."""
        self.statements.append(IntegerDef(name, _parameters(parameters), _host(universe)))
        return Choice(name)

    def counter(
        self,
        name: str,
        parameters: Mapping[str, str],
        operation: str,
        increment: Applied | Code,
        *,
        over: Mapping[str, str] | None = None,
        when: Iterable[Clause] = (),
        base: Code | None = None,
        half: bool = False,
        internal: bool = False,
    ) -> Choice:
        """Define a counter: the `"sum"` or product (`"mul"`) of an increment over objects."""
        counted = increment.reference if isinstance(increment, Applied) else _host(increment)
        statement = CounterDef(
            name,
            _parameters(parameters),
            operation,
            counted,
            _parameters(over or {}),
            _conjunction(when),
            None if base is None else _host(base),
            half,
            internal,
        )
        self.statements.append(statement)
        return Choice(name)

    def quotient(
        self,
        name: str,
        parameters: Mapping[str, str],
        item: tuple[str, str],
        representative: str,
        *,
        when: Iterable[Clause],
        equivalent: tuple[str, Sequence[str]],
    ) -> Choice:
        """Define a quotient of the objects `item = (variable, set)`; returns the choice that marks representatives."""
        choice, values = equivalent
        (parameter,) = _parameters(dict([item]))
        conditions = _conjunction(when)
        statement = QuotientDef(
            name, _parameters(parameters), parameter, representative, conditions, choice, tuple(values)
        )
        self.statements.append(statement)
        return Choice(representative)

    def require(self, over: Mapping[str, str], *clauses: Clause, name: str = "") -> None:
        """Require clauses for all distinct objects; `name` replaces the place in messages."""
        conditions = tuple(clause.conditions for clause in clauses)
        self.statements.append(Require(_parameters(over), conditions, name))

    def trigger(self, over: Mapping[str, str], callback: Code, *, when: Iterable[Clause]) -> None:
        """Call back, while an instance is frozen, for the extension that wakes when the conditions are entailed."""
        self.statements.append(TriggerDef(_parameters(over), _host(callback), _conjunction(when)))

    @staticmethod
    def host(code: Code) -> Clause:
        """Return a host expression as a condition."""
        return Clause((_host(code),))


def _host(code: object) -> Host:
    if callable(code):
        return Host(getattr(code, "__name__", "a callable"), code)
    if isinstance(code, (str, int)):
        return Host(str(code))
    raise SpaceError(f"host code is text, a number or a callable, not {code!r}")


def _set_reference(text: str) -> SetRef:
    """Return the set of `"Set"` or `"Set(owner)"`."""
    match = re.fullmatch(r"\s*(\w+)\s*(?:\(\s*([\w\s,$]*)\))?\s*", text)
    if match is None:
        raise SpaceError(f"{text!r} is no set: write 'Set' or 'Set(variable)'")
    inside = [part.strip().lstrip("$") for part in (match.group(2) or "").split(",")]
    return SetRef(match.group(1), tuple(part for part in inside if part))


def _parameters(given: Mapping[str, str]) -> tuple[Parameter, ...]:
    return tuple(Parameter(variable, _set_reference(place)) for variable, place in given.items())


def _conjunction(clauses: Iterable[Clause]) -> tuple[Condition, ...]:
    found: list[Condition] = []
    for clause in clauses:
        if len(clause.conditions) != 1:
            raise SpaceError("'when' takes a list of single conditions, all of which must hold")
        found += clause.conditions
    return tuple(found)
