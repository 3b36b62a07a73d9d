"""From a syntax tree to rows: every name resolved, every type checked. Reads definitions only, never an instance."""

from __future__ import annotations

from dataclasses import dataclass, field

from einloom.csp.compile.choices import counter_row, enum_row, integer_row, memberships, place, quotient_rows
from einloom.csp.compile.conditions import Conditions, HostRow
from einloom.csp.compile.names import Names, Scope
from einloom.csp.compile.rows import (
    FALSE,
    TRUE,
    ClauseRow,
    CounterRow,
    EnumRow,
    HostCall,
    IntegerRow,
    Literal,
    QuotientRow,
    SetRow,
    TriggerRow,
    ValueLiteral,
)
from einloom.csp.language.printer import show_condition, show_statement
from einloom.csp.language.syntax import (
    Compare,
    Condition,
    Constant,
    CounterDef,
    EnumDef,
    Host,
    IntegerDef,
    Is,
    QuotientDef,
    Require,
    SetDef,
    Span,
    SyntaxTree,
    TriggerDef,
)

__all__ = ["Tables", "check"]

USED_KEYS = frozenset({"type", "item_type", "iterator", "item_getter", "name", "from_superset", "var_prefix"})
IDLE_KEYS = frozenset({"id_type", "id_getter", "new_objs", "reverse", "add_to_set"})


@dataclass(slots=True)
class Tables:
    """The rows of a space, by kind, in order of appearance."""

    hosts: list[HostRow] = field(default_factory=list[HostRow])
    sets: list[SetRow] = field(default_factory=list[SetRow])
    enums: list[EnumRow] = field(default_factory=list[EnumRow])
    integers: list[IntegerRow] = field(default_factory=list[IntegerRow])
    counters: list[CounterRow] = field(default_factory=list[CounterRow])
    clauses: list[ClauseRow] = field(default_factory=list[ClauseRow])
    quotients: list[QuotientRow] = field(default_factory=list[QuotientRow])
    triggers: list[TriggerRow] = field(default_factory=list[TriggerRow])


def check(tree: SyntaxTree) -> Tables:
    """Return the rows of a syntax tree.

    Raises:
        SpaceError: a name or a type is wrong.
    """
    conditions = Conditions(Names(tree))
    tables = Tables(hosts=conditions.hosts)
    for statement in tree.statements:
        match statement:
            case SetDef():
                tables.sets.append(_set(conditions, statement))
            case EnumDef():
                _enum(conditions, statement, tables)
            case IntegerDef():
                tables.integers.append(integer_row(conditions, statement))
            case CounterDef():
                tables.counters.append(counter_row(conditions, statement))
            case QuotientDef():
                enum, members, rule = quotient_rows(conditions, statement)
                tables.enums.append(enum)
                tables.sets.append(members)
                tables.quotients.append(rule)
            case Require():
                tables.clauses += _clauses(conditions, statement, Scope(conditions.names))
            case TriggerDef():
                tables.triggers += _trigger(conditions, statement)
    return tables


def _set(conditions: Conditions, statement: SetDef) -> SetRow:
    names = conditions.names
    scope = Scope(names, statement.parameters)
    superset = None
    if statement.superset is not None:
        scope.check_set(statement.superset)
        if isinstance(names.set(statement.superset), QuotientDef):
            names.fail("a set cannot be a subset of a quotient", statement.superset.span)
        superset = statement.superset.name, scope.positions(statement.superset.arguments)
    for other in statement.disjoint:
        names.set(other)
    calls = {key: _key_call(conditions, statement, key, host) for key, host in statement.keys}
    texts = {key: host.text for key, host in statement.keys}
    return SetRow(
        statement.name,
        scope.quantifiers(),
        superset,
        tuple(other.name for other in statement.disjoint),
        calls.get("iterator"),
        calls.get("item_getter"),
        calls.get("name"),
        calls.get("from_superset"),
        texts.get("type", texts.get("item_type", "")),
        texts.get("var_prefix", ""),
        "",
        place(statement.span),
    )


def _key_call(conditions: Conditions, statement: SetDef, key: str, host: Host) -> HostCall | None:
    """Compile the expression of a key: it sees the set's parameters, and `$item` or `$id` as its last variable."""
    if key not in USED_KEYS | IDLE_KEYS:
        conditions.names.unknown("key of a set", key, USED_KEYS | IDLE_KEYS, host.span)
    last = {"iterator": None, "item_getter": "id", "name": "item", "from_superset": "item"}
    if key not in last:
        return None
    scope = Scope(conditions.names, statement.parameters)
    extra = last[key]
    if extra is not None:
        scope.sets[extra] = (statement.name, tuple(each.variable for each in statement.parameters))
    return conditions.call(host, scope)


def _enum(conditions: Conditions, statement: EnumDef, tables: Tables) -> None:
    row = enum_row(conditions, statement)
    tables.enums.append(row)
    full = (1 << len(row.values)) - 1
    arguments = tuple(range(len(statement.parameters)))
    call = f"{statement.name}({', '.join(f'${each.variable}' for each in statement.parameters)})"
    for value in (*statement.values, *statement.aliases):
        extra = ValueLiteral(statement.name, arguments, full & ~row.masks[value.name])
        for requirement in value.requirements:
            scope = Scope(conditions.names, statement.parameters)
            tables.clauses += _clauses(conditions, requirement, scope, extra, f"{call} is not {value.name} || ")


def _clauses(
    conditions: Conditions, statement: Require, outer: Scope, extra: ValueLiteral | None = None, prefix: str = ""
) -> list[ClauseRow]:
    scope = outer.extended(statement.quantifiers)
    quantifiers = scope.quantifiers()
    members = memberships(scope, statement.quantifiers, FALSE)
    found: list[ClauseRow] = []
    for clause in statement.clauses:
        split = conditions.disjunction(clause, scope)
        if split is None:
            continue
        guards, literals = split
        every: tuple[Literal, ...] = (*literals, *([extra] if extra else []), *members)
        text = prefix + " || ".join(map(show_condition, clause))
        at = statement.name or place(_clause_span(clause, statement.span))
        found.append(ClauseRow(text, quantifiers, guards, every, at))
    return found


def _clause_span(clause: tuple[Condition, ...], otherwise: Span) -> Span:
    match clause[0]:
        case Is(choice=reference) | Compare(left=reference):
            return reference.span
        case Host(span=span) | Constant(span=span):
            return span or otherwise


def _trigger(conditions: Conditions, statement: TriggerDef) -> list[TriggerRow]:
    scope = Scope(conditions.names, statement.quantifiers)
    callback = conditions.call(statement.callback, scope)
    split = conditions.conjunction(statement.conditions, scope)
    if split is None:
        return []
    guards, literals = split
    literals = (*literals, *memberships(scope, statement.quantifiers, TRUE))
    text = show_statement(statement).replace("\n  ", " ")
    return [TriggerRow(text, scope.quantifiers(), callback, guards, literals, place(statement.span))]
