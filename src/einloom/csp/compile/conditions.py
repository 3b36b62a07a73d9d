"""From conditions to literals: types checked, values turned into masks, host expressions into calls."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from typing import Any

from einloom.csp.compile.host import program
from einloom.csp.compile.names import Names, Scope
from einloom.csp.compile.rows import (
    BOOLEANS,
    BoundLiteral,
    CounterLiteral,
    HostCall,
    Literal,
    PairLiteral,
    ValueLiteral,
)
from einloom.csp.language.syntax import (
    ChoiceRef,
    Compare,
    Condition,
    Constant,
    CounterDef,
    EnumDef,
    Host,
    IntegerDef,
    Is,
    QuotientDef,
    Span,
)
from einloom.frozen import frozen

__all__ = ["Conditions", "HostRow"]

SWAPPED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@frozen
class HostRow:
    """One host expression: the text of a lambda, or a callable, and where it stands."""

    text: str
    function: Any
    place: str


class Conditions:
    """Resolves conditions against names, and collects the host expressions on the way."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.hosts: list[HostRow] = []
        self._known: dict[object, int] = {}

    def call(self, host: Host, scope: Scope) -> HostCall:
        """Return a host expression applied to the variables that it reads."""
        if host.function is not None:
            wanted = tuple(inspect.signature(host.function).parameters)
            text, key = f"<{host.text}>", host.function
        else:
            compiled = program(host.text, host.span, self.names.texts.get(host.span.file, ""))
            wanted, text = compiled.variables, compiled.text
            key = text
        for variable in wanted:
            scope.check_variable(variable, _inside(host, variable))
        if key not in self._known:
            self._known[key] = len(self.hosts)
            self.hosts.append(HostRow(text, host.function, _place(host.span)))
        return HostCall(self._known[key], scope.positions(wanted))

    def choice(self, reference: ChoiceRef, scope: Scope) -> EnumDef | IntegerDef | CounterDef | QuotientDef:
        """Return the definition of a choice, its arguments checked."""
        if reference.name not in self.names.choices:
            self.names.unknown("choice", reference.name, self.names.choices, reference.span)
        definition = self.names.choices[reference.name]
        parameters = definition.parameters
        if isinstance(definition, QuotientDef):
            parameters = (*parameters, definition.item)
        scope.check_arguments(reference.name, parameters, reference.arguments, reference.span)
        return definition

    def disjunction(
        self, conditions: Iterable[Condition], scope: Scope
    ) -> tuple[tuple[HostCall, ...], tuple[Literal, ...]] | None:
        """Return the guards and literals of a clause; None if it always holds."""
        guards, literals, holds = self._split(conditions, scope, counters=True)
        return None if holds[0] else (guards, literals)

    def conjunction(
        self, conditions: Iterable[Condition], scope: Scope
    ) -> tuple[tuple[HostCall, ...], tuple[Literal, ...]] | None:
        """Return the guards and literals of a conjunction; None if it never holds."""
        guards, literals, holds = self._split(conditions, scope, counters=False)
        return None if holds[1] else (guards, literals)

    def _split(
        self, conditions: Iterable[Condition], scope: Scope, counters: bool
    ) -> tuple[tuple[HostCall, ...], tuple[Literal, ...], tuple[bool, bool]]:
        guards: list[HostCall] = []
        literals: list[Literal] = []
        constants: set[bool] = set()
        for condition in conditions:
            match condition:
                case Constant():
                    constants.add(condition.value)
                case Host():
                    guards.append(self.call(condition, scope))
                case Is():
                    literals.append(self._is(condition, scope))
                case Compare():
                    literals.append(self._compare(condition, scope, counters))
        return tuple(guards), tuple(literals), (True in constants, False in constants)

    def values(self, definition: EnumDef | QuotientDef) -> tuple[tuple[str, ...], dict[str, int]]:
        """Return the values of an enumeration, and the masks of its values and aliases."""
        if isinstance(definition, QuotientDef):
            return BOOLEANS, {name: 1 << i for i, name in enumerate(BOOLEANS)}
        names = tuple(value.name for value in definition.values)
        masks = {name: 1 << i for i, name in enumerate(names)}
        for alias in definition.aliases:
            masks[alias.name] = 0
            for name in alias.values:
                masks[alias.name] |= masks.get(name, 0)
        return names, masks

    def mask(
        self, definition: EnumDef | QuotientDef, names: Sequence[str], spans: Sequence[Span], label: str, span: Span
    ) -> int:
        """Return the mask of some values or aliases."""
        _, masks = self.values(definition)
        mask = 0
        for i, name in enumerate(names):
            if name not in masks:
                self.names.unknown(f"value of {label}", name, masks, spans[i] if i < len(spans) else span)
            mask |= masks[name]
        return mask

    def _is(self, condition: Is, scope: Scope) -> ValueLiteral:
        definition = self.choice(condition.choice, scope)
        name = condition.choice.name
        if not isinstance(definition, (EnumDef, QuotientDef)):
            self.names.fail(f"{name} is {_kind(definition)}: compare it with == or <=, not with 'is'", condition.span)
        mask = self.mask(definition, condition.values, condition.value_spans, name, condition.span)
        if condition.negated:
            mask ^= (1 << len(self.values(definition)[0])) - 1
        return ValueLiteral(name, scope.positions(condition.choice.arguments), mask)

    def _compare(self, condition: Compare, scope: Scope, counters: bool) -> Literal:
        left = self.choice(condition.left, scope)
        arguments = scope.positions(condition.left.arguments)
        if isinstance(left, CounterDef) and not counters:
            self.names.fail("a counter cannot stand in a conjunction of conditions", condition.left.span)
        if isinstance(condition.right, Host):
            if isinstance(left, (EnumDef, QuotientDef)):
                reason = f"{condition.left.name} is an enumeration: write 'is VALUE', it cannot be compared with code"
                self.names.fail(reason, condition.span)
            self._check_counter_operator(left, condition.operator, condition.span)
            call = self.call(condition.right, scope)
            return BoundLiteral(condition.left.name, arguments, condition.operator, call)
        right = self.choice(condition.right, scope)
        others = scope.positions(condition.right.arguments)
        if isinstance(right, CounterDef) and not counters:
            self.names.fail("a counter cannot stand in a conjunction of conditions", condition.right.span)
        if isinstance(left, IntegerDef) and isinstance(right, CounterDef):
            operator = SWAPPED[condition.operator]
            self._check_counter_operator(right, operator, condition.span)
            return CounterLiteral(condition.right.name, others, operator, condition.left.name, arguments)
        if isinstance(left, CounterDef) and isinstance(right, IntegerDef):
            self._check_counter_operator(left, condition.operator, condition.span)
            return CounterLiteral(condition.left.name, arguments, condition.operator, condition.right.name, others)
        self._check_pair(left, right, condition)
        return PairLiteral(condition.left.name, arguments, condition.operator, condition.right.name, others)

    def _check_counter_operator(self, definition: object, operator: str, span: Span) -> None:
        if not isinstance(definition, CounterDef):
            return
        if operator == "!=":
            self.names.fail("a counter is compared with == < <= > >=, not with !=", span)
        if definition.half and operator not in ("<", "<="):
            reason = f"{definition.name} is a half counter: only its minimum is known, so only < and <= apply"
            self.names.fail(reason, span)

    def _check_pair(self, left: object, right: object, condition: Compare) -> None:
        if isinstance(left, IntegerDef) and isinstance(right, IntegerDef):
            return
        if not isinstance(left, (EnumDef, QuotientDef)) or not isinstance(right, (EnumDef, QuotientDef)):
            self.names.fail(f"cannot compare {_kind(left)} with {_kind(right)}", condition.span)
        if condition.operator not in ("==", "!="):
            self.names.fail(f"enumerations have no order: {condition.operator} does not apply", condition.span)
        if self.values(left)[0] != self.values(right)[0]:
            assert isinstance(condition.right, ChoiceRef)
            names = f"{condition.left.name} and {condition.right.name}"
            self.names.fail(f"{names} have different values and cannot be compared", condition.span)


def _kind(definition: object) -> str:
    if isinstance(definition, CounterDef):
        return "a counter"
    return "an integer choice" if isinstance(definition, IntegerDef) else "an enumeration"


def _place(span: Span) -> str:
    return f"{span.file}:{span.line}:{span.column}" if span.line else "a definition in Python"


def _inside(host: Host, variable: str) -> Span:
    """Return the place of `$variable` inside quoted text."""
    offset = host.text.find(f"${variable}")
    if host.span.line == 0 or offset < 0:
        return host.span
    return Span(host.span.line, host.span.column + 1 + offset, len(variable) + 1, host.span.file)
