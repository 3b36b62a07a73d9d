"""What each name of a space means, and which object a variable may stand for. Raises the errors about names.

It resolves sets, choices and variables; `check` uses it to turn statements into rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

from einloom.csp.compile.rows import Quantifier
from einloom.csp.language.source import SpaceError
from einloom.csp.language.syntax import (
    CounterDef,
    EnumDef,
    IntegerDef,
    Parameter,
    QuotientDef,
    Require,
    SetDef,
    SetRef,
    Span,
    SyntaxTree,
    TriggerDef,
)

__all__ = ["Names", "Scope"]

SetLike = SetDef | QuotientDef
ChoiceLike = EnumDef | IntegerDef | CounterDef | QuotientDef


class Names:
    """The sets and choices that a syntax tree defines.

    Raises:
        SpaceError: a name is defined twice.
    """

    def __init__(self, tree: SyntaxTree) -> None:
        self.tree = tree
        self.texts = dict(tree.texts)
        self.sets: dict[str, SetLike] = {}
        self.choices: dict[str, ChoiceLike] = {}
        for statement in tree.statements:
            match statement:
                case SetDef():
                    self._define(self.sets, statement.name, statement, statement.span, "set")
                case QuotientDef():
                    self._define(self.sets, statement.name, statement, statement.span, "set")
                    span = statement.representative_span
                    self._define(self.choices, statement.representative, statement, span, "choice")
                case EnumDef() | IntegerDef() | CounterDef():
                    self._define(self.choices, statement.name, statement, statement.span, "choice")
                case Require() | TriggerDef():
                    pass

    def _define(self, table: dict[str, Any], name: str, statement: SetLike | ChoiceLike, span: Span, what: str) -> None:
        if name in table:
            first: Span = table[name].span
            where = f" (first on line {first.line})" if first.line else ""
            self.fail(f"{what} {name!r} is defined twice{where}", span)
        table[name] = statement

    def fail(self, reason: str, span: Span) -> NoReturn:
        """Raise a `SpaceError` at a place of one of the tree's files."""
        raise SpaceError(reason, span, self.texts.get(span.file, ""))

    def unknown(self, what: str, name: str, known: Iterable[str], span: Span) -> NoReturn:
        """Raise a `SpaceError` for a name that means nothing, with near names."""
        near = get_close_matches(name, list(known), 2, 0.6)
        hint = f" (did you mean {' or '.join(near)}?)" if near else ""
        self.fail(f"there is no {what} {name!r}{hint}", span)

    def set(self, reference: SetRef) -> SetLike:
        """Return the definition of a set."""
        if reference.name not in self.sets:
            self.unknown("set", reference.name, self.sets, reference.span)
        return self.sets[reference.name]

    def superset(self, name: str, owners: tuple[str, ...]) -> tuple[str, tuple[str, ...]] | None:
        """Return the set that contains `name(owners)`, with its owners; None at the top."""
        definition = self.sets[name]
        above = definition.item.set if isinstance(definition, QuotientDef) else definition.superset
        if above is None:
            return None
        given = {parameter.variable: owner for parameter, owner in zip(definition.parameters, owners)}
        return above.name, tuple(given.get(argument, argument) for argument in above.arguments)


class Scope:
    """The variables that a definition or a quantifier has introduced, in order, with their sets."""

    def __init__(self, names: Names, parameters: Sequence[Parameter] = ()) -> None:
        self.names = names
        self.sets: dict[str, tuple[str, tuple[str, ...]]] = {}
        for parameter in parameters:
            self.introduce(parameter)

    def extended(self, parameters: Sequence[Parameter]) -> Scope:
        """Return a scope with further variables."""
        scope = Scope(self.names)
        scope.sets = dict(self.sets)
        for parameter in parameters:
            scope.introduce(parameter)
        return scope

    def introduce(self, parameter: Parameter) -> None:
        """Add a variable.

        Raises:
            SpaceError: the name is taken, the set is missing, or it has another number of owners.
        """
        if parameter.variable in self.sets:
            self.names.fail(f"variable '${parameter.variable}' is already there", parameter.span)
        self.check_set(parameter.set)
        self.sets[parameter.variable] = (parameter.set.name, parameter.set.arguments)

    def check_set(self, reference: SetRef) -> None:
        """Check that a set exists and that its arguments are variables of the right sets."""
        definition = self.names.set(reference)
        self._arity(reference.name, len(definition.parameters), reference.arguments, reference.span)
        self.check_arguments(reference.name, definition.parameters, reference.arguments, reference.span)

    def _arity(self, name: str, wanted: int, arguments: Sequence[str], span: Span) -> None:
        if len(arguments) != wanted:
            plural = "" if wanted == 1 else "s"
            self.names.fail(f"{name} takes {wanted} argument{plural}, not {len(arguments)}", span)

    def check_arguments(self, name: str, parameters: Sequence[Parameter], given: Sequence[str], span: Span) -> None:
        """Check the arguments of a set or choice against its parameters."""
        self._arity(name, len(parameters), given, span)
        for variable in given:
            self.check_variable(variable, span)
        if len(set(given)) != len(given):
            self.names.fail(f"{name} takes distinct objects: one variable stands here twice", span)
        bound = {parameter.variable: variable for parameter, variable in zip(parameters, given)}
        for parameter, variable in zip(parameters, given):
            wanted = parameter.set.name, tuple(bound[each] for each in parameter.set.arguments)
            if not self.conforms(variable, wanted):
                have = _show(self.sets[variable])
                self.names.fail(f"{name} takes an object of {_show(wanted)}; '${variable}' is in {have}", span)

    def check_variable(self, variable: str, span: Span) -> None:
        """Check that a variable exists."""
        if variable not in self.sets:
            self.names.unknown("variable", f"${variable}", [f"${each}" for each in self.sets], span)

    def conforms(self, variable: str, wanted: tuple[str, tuple[str, ...]]) -> bool:
        """Whether a variable's set is `wanted` or lies inside it."""
        above: tuple[str, tuple[str, ...]] | None = self.sets[variable]
        while above is not None and above != wanted:
            above = self.names.superset(*above)
        return above is not None

    def positions(self, variables: Iterable[str]) -> tuple[int, ...]:
        """Return the numbers of variables in this scope."""
        order = list(self.sets)
        return tuple(order.index(variable) for variable in variables)

    def quantifiers(self) -> tuple[Quantifier, ...]:
        """Return the variables as quantifiers over plain sets: a quotient counts as the set that it divides."""
        found: list[Quantifier] = []
        for variable, place in self.sets.items():
            while isinstance(self.names.sets[place[0]], QuotientDef):
                place = self.names.superset(*place) or place
            found.append(Quantifier(variable, place[0], self.positions(place[1])))
        return tuple(found)


def _show(place: tuple[str, tuple[str, ...]]) -> str:
    name, owners = place
    return f"{name}({', '.join(f'${owner}' for owner in owners)})" if owners else name
