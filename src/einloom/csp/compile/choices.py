"""Rows of the definitions of choices: enumerations, integers, counters and quotients, with the errors they can hold."""

from __future__ import annotations

from collections.abc import Iterable

from einloom.csp.compile.conditions import Conditions
from einloom.csp.compile.names import Names, Scope
from einloom.csp.compile.rows import (
    BOOLEANS,
    FALSE,
    TRUE,
    CounterRow,
    EnumRow,
    HostCall,
    IntegerRow,
    Literal,
    QuotientRow,
    SetRow,
    ValueLiteral,
)
from einloom.csp.language.syntax import (
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
    Span,
)

__all__ = ["counter_row", "enum_row", "integer_row", "memberships", "place", "quotient_rows"]


MOST_SYMMETRIC = 12


def place(span: Span) -> str:
    """Return a place as text for messages."""
    return f"{span.file}:{span.line}:{span.column}" if span.line else "a definition in Python"


def enum_row(conditions: Conditions, statement: EnumDef) -> EnumRow:
    """Return the row of an enumeration."""
    scope = Scope(conditions.names, statement.parameters)
    _check_plain(conditions.names, statement.name, statement.parameters)
    _check_values(conditions.names, statement)
    names, masks = conditions.values(statement)
    converse = _converse(conditions.names, statement, names)
    return EnumRow(statement.name, scope.quantifiers(), names, masks, converse)


def _check_plain(names: Names, name: str, parameters: Iterable[Parameter]) -> None:
    for parameter in parameters:
        if isinstance(names.set(parameter.set), QuotientDef):
            reason = f"{name} cannot be defined on the quotient {parameter.set.name}: use the set that it divides"
            names.fail(reason, parameter.set.span)


def _check_values(names: Names, statement: EnumDef) -> None:
    known: set[str] = set()
    for value in statement.values:
        if value.name in known:
            names.fail(f"value {value.name!r} of {statement.name} is defined twice", value.span)
        known.add(value.name)
    if not known:
        names.fail(f"{statement.name} has no values", statement.span)
    for alias in statement.aliases:
        if alias.name in known:
            names.fail(f"value {alias.name!r} of {statement.name} is defined twice", alias.span)
        for i, value in enumerate(alias.values):
            if value not in known:
                span = alias.value_spans[i] if i < len(alias.value_spans) else alias.span
                names.unknown(f"value of {statement.name}", value, known, span)
        known.add(alias.name)


def _converse(names: Names, statement: EnumDef, values: tuple[str, ...]) -> tuple[int, ...] | None:
    if statement.symmetry is None:
        return None
    span = statement.symmetry_span
    if len(values) > MOST_SYMMETRIC:
        names.fail(f"{statement.name} is {statement.symmetry}, which takes at most {MOST_SYMMETRIC} values", span)
    if len(statement.parameters) < 2:
        names.fail(f"{statement.name} is {statement.symmetry}, which needs two parameters", span)
    left, right = (parameter.set for parameter in statement.parameters[-2:])
    if (left.name, left.arguments) != (right.name, right.arguments):
        reason = f"{statement.name} is {statement.symmetry}, but its last two parameters are of different sets"
        names.fail(reason, span)
    converse = list(range(len(values)))
    named: set[str] = set()
    for i, pair in enumerate(statement.mapping):
        spans = statement.mapping_spans[i] if i < len(statement.mapping_spans) else (span, span)
        for name, at in zip(pair, spans):
            if name not in values:
                names.unknown(f"value of {statement.name}", name, values, at)
            if name in named:
                names.fail(f"value {name} is mapped twice", at)
            named.add(name)
        a, b = values.index(pair[0]), values.index(pair[1])
        converse[a], converse[b] = b, a
    return tuple(converse)


def integer_row(conditions: Conditions, statement: IntegerDef) -> IntegerRow:
    """Return the row of an integer choice."""
    scope = Scope(conditions.names, statement.parameters)
    _check_plain(conditions.names, statement.name, statement.parameters)
    universe = conditions.call(statement.universe, scope)
    return IntegerRow(statement.name, scope.quantifiers(), universe)


def counter_row(conditions: Conditions, statement: CounterDef) -> CounterRow:
    """Return the row of a counter."""
    outer = Scope(conditions.names, statement.parameters)
    _check_plain(conditions.names, statement.name, statement.parameters)
    base = conditions.call(statement.base, outer) if statement.base else None
    scope = outer.extended(statement.quantifiers)
    increment = _increment(conditions, statement, scope)
    guards, literals = conditions.conjunction(statement.conditions, scope) or _never(conditions, scope)
    quantifiers = scope.quantifiers()
    count = len(statement.parameters)
    return CounterRow(
        statement.name,
        quantifiers[:count],
        statement.operation,
        statement.half,
        statement.internal,
        base,
        quantifiers[count:],
        increment,
        guards,
        (*literals, *memberships(scope, statement.quantifiers, TRUE)),
        place(statement.span),
    )


def _never(conditions: Conditions, scope: Scope) -> tuple[tuple[HostCall, ...], tuple[Literal, ...]]:
    """Return a conjunction that never holds."""
    return (conditions.call(Host("False"), scope),), ()


def _increment(conditions: Conditions, statement: CounterDef, scope: Scope) -> HostCall | tuple[str, tuple[int, ...]]:
    increment, names = statement.increment, conditions.names
    if isinstance(increment, Host):
        return conditions.call(increment, scope)
    definition = conditions.choice(increment, scope)
    if isinstance(definition, (EnumDef, QuotientDef)):
        reason = f"{increment.name} is an enumeration: only integer choices, counters and code can be counted"
        names.fail(reason, increment.span)
    if isinstance(definition, CounterDef):
        if definition.half and not statement.half:
            names.fail(f"{increment.name} is a half counter, so {statement.name} must be one too", increment.span)
        if statement.name in _counted(names, increment):
            names.fail(f"counter {statement.name} counts itself", increment.span)
    return increment.name, scope.positions(increment.arguments)


def _counted(names: Names, reference: ChoiceRef) -> set[str]:
    """Return the counters that a counter counts, itself included."""
    found: set[str] = set()
    name: str | None = reference.name
    while name is not None and name not in found:
        found.add(name)
        definition = names.choices.get(name)
        inner = definition.increment if isinstance(definition, CounterDef) else None
        name = inner.name if isinstance(inner, ChoiceRef) else None
    return found


def memberships(scope: Scope, parameters: Iterable[Parameter], mask: int) -> tuple[ValueLiteral, ...]:
    """Return a literal on the representative choice for each variable that ranges over a quotient."""
    found: list[ValueLiteral] = []
    for parameter in parameters:
        definition = scope.names.set(parameter.set)
        if isinstance(definition, QuotientDef):
            arguments = scope.positions((*parameter.set.arguments, parameter.variable))
            found.append(ValueLiteral(definition.representative, arguments, mask))
    return tuple(found)


def quotient_rows(conditions: Conditions, statement: QuotientDef) -> tuple[EnumRow, SetRow, QuotientRow]:
    """Return the hidden choice, the set and the rule of a quotient."""
    names = conditions.names
    outer = Scope(names, statement.parameters)
    _check_plain(names, statement.name, (*statement.parameters, statement.item))
    scope = outer.extended((statement.item,))
    for condition in statement.conditions:
        _check_quotient_condition(names, condition)
    guards, literals = conditions.conjunction(statement.conditions, scope) or _never(conditions, scope)
    mask = _equivalence(conditions, statement)
    *parameters, item = scope.quantifiers()
    masks = {"FALSE": FALSE, "TRUE": TRUE}
    at = place(statement.span)
    enum = EnumRow(statement.representative, (*parameters, item), BOOLEANS, masks, None, True)
    members = SetRow(
        statement.name, tuple(parameters), (item.set, item.owners), quotient=statement.representative, place=at
    )
    rule = QuotientRow(
        statement.name,
        tuple(parameters),
        item,
        statement.representative,
        guards,
        literals,
        statement.equivalence,
        mask,
        at,
    )
    return enum, members, rule


def _check_quotient_condition(names: Names, condition: Condition) -> None:
    if isinstance(condition, Compare):
        names.fail("the conditions of a quotient are 'is' conditions or quoted text", condition.span)
    if isinstance(condition, Is) and len(condition.choice.arguments) > 2:
        names.fail("a condition of a quotient mentions at most two objects", condition.span)


def _equivalence(conditions: Conditions, statement: QuotientDef) -> int:
    names, span, name = conditions.names, statement.equivalence_span, statement.equivalence
    if name not in names.choices:
        names.unknown("choice", name, names.choices, span)
    definition = names.choices[name]
    if not isinstance(definition, EnumDef) or definition.symmetry is None or len(definition.parameters) != 2:
        names.fail(f"{name} is not a symmetric or antisymmetric choice of two objects", span)
    scope = Scope(names, (*statement.parameters, statement.item))
    wanted = definition.parameters[0].set
    if not scope.conforms(statement.item.variable, (wanted.name, wanted.arguments)):
        names.fail(f"{name} compares objects of {wanted.name}, not of {statement.item.set.name}", span)
    mask = conditions.mask(definition, statement.equivalence_values, statement.equivalence_value_spans, name, span)
    values, _ = conditions.values(definition)
    converse = _converse(names, definition, values) or ()
    if any(mask >> i & 1 and not mask >> converse[i] & 1 for i in range(len(values))):
        names.fail("an equivalence must look the same from both sides", span)
    return mask
