"""The statements of the space language, one function each, over a `Reader`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from einloom.csp.language.reader import Reader
from einloom.csp.language.syntax import (
    AliasDef,
    ChoiceRef,
    CounterDef,
    EnumDef,
    Host,
    IntegerDef,
    QuotientDef,
    Require,
    SetDef,
    SetRef,
    Span,
    Statement,
    TriggerDef,
    ValueDef,
)

__all__ = ["Includer", "read_statements"]

Includer = Callable[[str, Span, str], tuple[Statement, ...]]


def read_statements(reader: Reader, includer: Includer | None) -> Iterator[Statement]:
    """Yield the statements of a text, with those of included files in their place."""
    while True:
        documentation = reader.documentation
        token = reader.token
        if token.kind == "end":
            return
        reader.position += 1
        if token.text == "include":
            path = reader.take("quoted", "a quoted path")
            if includer is None:
                reader.fail("there is no file here that an include could be relative to", path.span)
            yield from includer(path.text, path.span, reader.text)
        elif token.text in ("choice", "define"):
            yield _choice(reader, documentation)
        elif token.kind == "keyword" and token.text in _STATEMENTS:
            yield _STATEMENTS[token.text](reader, documentation, token.span)
        else:
            reader.position -= 1
            reader.expected("set, choice, quotient, require, trigger or include")


def _set(reader: Reader, documentation: str, span: Span) -> SetDef:
    token = reader.name_token("a set")
    parameters = reader.parameters() if reader.sees("(") else ()
    superset = reader.set_reference() if reader.accept("subsetof") else None
    reader.expect(":")
    disjoint: list[SetRef] = []
    if reader.accept("disjoint"):
        reader.expect(":")
        disjoint.append(reader.set_reference())
        while reader.accept(","):
            disjoint.append(reader.set_reference())
    keys = _keys(reader)
    return SetDef(token.text, parameters, superset, tuple(disjoint), keys, documentation, token.span)


def _keys(reader: Reader) -> tuple[tuple[str, Host], ...]:
    """Take `key = "code"` lines up to and including `end`."""
    found: list[tuple[str, Host]] = []
    while not reader.accept("end"):
        token = reader.key_token()
        if token.text == "reverse" and reader.accept("forall"):
            reader.parameter()
        if any(name == token.text for name, _ in found):
            reader.fail(f"key {token.text!r} is given twice", token.span)
        reader.expect("=")
        host = reader.host("quoted text")
        found.append((token.text, Host(host.text, None, host.span)))
    return tuple(found)


def _choice(reader: Reader, documentation: str) -> Statement:
    half = internal = False
    while reader.sees("half", "internal"):
        half |= reader.accept("half")
        internal |= reader.accept("internal")
    if reader.accept("counter"):
        return _counter(reader, documentation, half, internal)
    if half or internal:
        reader.expected("'counter'")
    if reader.accept("enum"):
        return _enum(reader, documentation)
    if reader.accept("integer"):
        return _integer(reader, documentation)
    reader.expected("enum, integer or counter")


def _enum(reader: Reader, documentation: str) -> EnumDef:
    token = reader.name_token("a choice")
    parameters = reader.parameters()
    reader.expect(":")
    values: list[ValueDef] = []
    aliases: list[AliasDef] = []
    symmetry, symmetry_span = None, token.span
    pairs: list[tuple[str, str]] = []
    spans: list[tuple[Span, Span]] = []
    while True:
        said = reader.documentation
        here = reader.token
        if reader.accept("end"):
            break
        if reader.accept("value"):
            values.append(_value(reader, said))
        elif reader.accept("alias"):
            aliases.append(_alias(reader, said))
        elif reader.sees("symmetric", "antisymmetric"):
            if symmetry is not None:
                reader.fail(f"{token.text} already is {symmetry}")
            reader.position += 1
            symmetry, symmetry_span = here.text, here.span
            if symmetry == "antisymmetric":
                _mapping(reader, pairs, spans)
        else:
            reader.expected("value, alias, symmetric, antisymmetric or end")
    return EnumDef(
        token.text,
        parameters,
        tuple(values),
        tuple(aliases),
        symmetry,
        tuple(pairs),
        documentation,
        token.span,
        symmetry_span,
        tuple(spans),
    )


def _mapping(reader: Reader, pairs: list[tuple[str, str]], spans: list[tuple[Span, Span]]) -> None:
    reader.expect(":")
    while not pairs or reader.token.kind == "name":
        left = reader.name_token("a value")
        reader.expect("->")
        right = reader.name_token("a value")
        pairs.append((left.text, right.text))
        spans.append((left.span, right.span))


def _value(reader: Reader, documentation: str) -> ValueDef:
    token = reader.name_token("a value")
    reader.expect(":")
    return ValueDef(token.text, _requirements(reader), documentation, token.span)


def _alias(reader: Reader, documentation: str) -> AliasDef:
    token = reader.name_token("an alias")
    reader.expect("=")
    values, spans = reader.values()
    reader.expect(":")
    return AliasDef(token.text, values, _requirements(reader), documentation, token.span, spans)


def _requirements(reader: Reader) -> tuple[Require, ...]:
    found: list[Require] = []
    while reader.sees("requires"):
        span = reader.expect("requires").span
        found.append(reader.require(span))
    return tuple(found)


def _integer(reader: Reader, documentation: str) -> IntegerDef:
    token = reader.name_token("a choice")
    parameters = reader.parameters()
    reader.expect(":")
    universe = reader.host("the universe as quoted text")
    reader.expect("end")
    return IntegerDef(token.text, parameters, universe, documentation, token.span)


def _counter(reader: Reader, documentation: str, half: bool, internal: bool) -> CounterDef:
    token = reader.name_token("a counter")
    parameters = reader.parameters()
    reader.expect(":")
    base = reader.host("quoted text") if reader.accept("base") else None
    quantifiers = reader.quantifiers()
    if not reader.sees("sum", "mul"):
        reader.expected("forall, sum or mul")
    operation = "sum" if reader.accept("sum") else reader.expect("mul").text
    increment = _increment(reader)
    conditions = ()
    if reader.accept("when"):
        reader.accept(":")
        conditions = reader.conjunction() if reader.at_condition() else ()
    reader.expect("end")
    return CounterDef(
        token.text,
        parameters,
        operation,
        increment,
        quantifiers,
        conditions,
        base,
        half,
        internal,
        documentation,
        token.span,
    )


def _increment(reader: Reader) -> Host | ChoiceRef:
    token = reader.token
    if token.kind == "number":
        reader.position += 1
        return Host(token.text, None, token.span)
    if token.kind == "quoted":
        return reader.host("an increment")
    if token.kind != "name":
        reader.expected("an increment: a choice, a number or quoted text")
    return reader.choice_reference()


def _quotient(reader: Reader, documentation: str, span: Span) -> QuotientDef:
    token = reader.name_token("a quotient")
    parameters = reader.parameters() if reader.sees("(") else ()
    reader.expect("of")
    item = reader.parameter()
    reader.expect(":")
    representative = reader.name_token("the choice that marks representatives")
    reader.expect("=")
    conditions = reader.conjunction()
    reader.expect("/")
    equivalence = reader.name_token("a choice")
    if reader.sees("("):
        reader.fail(f"the equivalence is the choice alone: write '/ {equivalence.text} is ..'")
    reader.expect("is")
    values, spans = reader.values()
    keys = _keys(reader)
    return QuotientDef(
        token.text,
        parameters,
        item,
        representative.text,
        conditions,
        equivalence.text,
        values,
        keys,
        documentation,
        token.span,
        representative.span,
        equivalence.span,
        spans,
    )


def _require(reader: Reader, documentation: str, span: Span) -> Require:
    return reader.require(span)


def _trigger(reader: Reader, documentation: str, span: Span) -> TriggerDef:
    quantifiers = reader.quantifiers()
    callback = reader.host("the callback as quoted text")
    reader.expect("when")
    reader.accept(":")
    return TriggerDef(quantifiers, callback, reader.conjunction(), span)


_STATEMENTS = {"set": _set, "quotient": _quotient, "require": _require, "trigger": _trigger}
