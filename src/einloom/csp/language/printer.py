"""`show`: a syntax tree as text in the space language. `parse(show(tree)) == tree` for trees without Python callables.

>>> from einloom.csp.language.parser import parse
>>> print(show(parse('require forall $a in A: kind($a) is not X || "$a.free"')))
require forall $a in A:
  kind($a) is not X || "$a.free"
"""

from __future__ import annotations

from collections.abc import Iterable

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
    Parameter,
    QuotientDef,
    Require,
    SetDef,
    SetRef,
    Statement,
    SyntaxTree,
    TriggerDef,
)

__all__ = ["show", "show_condition", "show_statement"]


def show(tree: SyntaxTree) -> str:
    """Return the text of a syntax tree."""
    return "\n\n".join(show_statement(statement) for statement in tree.statements)


def show_statement(statement: Statement) -> str:
    """Return the text of one statement."""
    match statement:
        case SetDef():
            return _set(statement)
        case EnumDef():
            return _enum(statement)
        case IntegerDef():
            head = f"choice integer {statement.name}{_parameters(statement.parameters)}:"
            return f"{head}\n  {_host(statement.universe)}\nend"
        case CounterDef():
            return _counter(statement)
        case QuotientDef():
            return _quotient(statement)
        case Require():
            return f"require {_requirement(statement, '')}"
        case TriggerDef():
            head = "".join(f"forall {_parameter(each)}:\n  " for each in statement.quantifiers)
            conditions = " && ".join(map(show_condition, statement.conditions))
            return f"trigger {head}{_host(statement.callback)} when {conditions}"


def show_condition(condition: Condition) -> str:
    """Return the text of one condition."""
    match condition:
        case Is():
            negation = "not " if condition.negated else ""
            return f"{_reference(condition.choice)} is {negation}{' | '.join(condition.values)}"
        case Compare():
            return f"{_reference(condition.left)} {condition.operator} {_operand(condition.right)}"
        case Constant():
            return "true" if condition.value else "false"
        case Host():
            return _host(condition)


def _host(host: Host) -> str:
    escaped = host.text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _operand(operand: ChoiceRef | Host) -> str:
    return _host(operand) if isinstance(operand, Host) else _reference(operand)


def _reference(reference: ChoiceRef | SetRef) -> str:
    return f"{reference.name}({', '.join(f'${name}' for name in reference.arguments)})"


def _set_reference(reference: SetRef) -> str:
    return _reference(reference) if reference.arguments else reference.name


def _parameter(parameter: Parameter) -> str:
    return f"${parameter.variable} in {_set_reference(parameter.set)}"


def _parameters(parameters: Iterable[Parameter]) -> str:
    return f"({', '.join(map(_parameter, parameters))})"


def _requirement(requirement: Require, indent: str) -> str:
    clauses = [" || ".join(map(show_condition, clause)) for clause in requirement.clauses]
    head = "".join(f"forall {_parameter(each)}:\n{indent}  " for each in requirement.quantifiers)
    return head + f"\n{indent}  ".join(clauses)


def _requirements(requirements: Iterable[Require]) -> str:
    return "".join(f"\n    requires {_requirement(each, '    ')}" for each in requirements)


def _keys(keys: Iterable[tuple[str, Host]]) -> str:
    return "".join(f"\n  {key} = {_host(host)}" for key, host in keys)


def _set(statement: SetDef) -> str:
    parameters = _parameters(statement.parameters) if statement.parameters else ""
    superset = f" subsetof {_set_reference(statement.superset)}" if statement.superset else ""
    disjoint = ", ".join(map(_set_reference, statement.disjoint))
    body = (f"\n  disjoint: {disjoint}" if disjoint else "") + _keys(statement.keys)
    return f"set {statement.name}{parameters}{superset}:{body}\nend"


def _enum(statement: EnumDef) -> str:
    lines = [f"choice enum {statement.name}{_parameters(statement.parameters)}:"]
    if statement.symmetry == "symmetric":
        lines.append("  symmetric")
    elif statement.symmetry:
        lines.append("  antisymmetric: " + " ".join(f"{left} -> {right}" for left, right in statement.mapping))
    lines += [f"  value {value.name}:{_requirements(value.requirements)}" for value in statement.values]
    for alias in statement.aliases:
        lines.append(f"  alias {alias.name} = {' | '.join(alias.values)}:{_requirements(alias.requirements)}")
    return "\n".join([*lines, "end"])


def _counter(statement: CounterDef) -> str:
    flags = ("half " if statement.half else "") + ("internal " if statement.internal else "")
    lines = [f"choice {flags}counter {statement.name}{_parameters(statement.parameters)}:"]
    if statement.base:
        lines.append(f"  base {_host(statement.base)}")
    lines += [f"  forall {_parameter(each)}:" for each in statement.quantifiers]
    when = f" when: {' && '.join(map(show_condition, statement.conditions))}" if statement.conditions else ""
    lines.append(f"    {statement.operation} {_operand(statement.increment)}{when}")
    return "\n".join([*lines, "end"])


def _quotient(statement: QuotientDef) -> str:
    parameters = _parameters(statement.parameters) if statement.parameters else ""
    conditions = " && ".join(map(show_condition, statement.conditions))
    equivalence = f"{statement.equivalence} is {' | '.join(statement.equivalence_values)}"
    head = f"quotient {statement.name}{parameters} of {_parameter(statement.item)}:"
    return f"{head}\n  {statement.representative} = {conditions} / {equivalence}{_keys(statement.keys)}\nend"
