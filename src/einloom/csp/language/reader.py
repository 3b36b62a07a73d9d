"""`Reader`: a cursor over tokens, with the parts of the grammar that several statements share."""

from __future__ import annotations

from typing import NoReturn

from einloom.csp.language.lexer import Token, tokens
from einloom.csp.language.source import SpaceError
from einloom.csp.language.syntax import (
    ChoiceRef,
    Compare,
    Condition,
    Constant,
    Host,
    Is,
    Parameter,
    Require,
    SetRef,
    Span,
)

__all__ = ["Reader"]

OPERATORS = ("==", "!=", "<=", ">=", "<", ">")


class Reader:
    """A cursor over the tokens of one text; each method takes what it is named after."""

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = name
        self.tokens = tokens(text, name)
        self.position = 0

    @property
    def documentation(self) -> str:
        """Take the documentation that stands here."""
        lines: list[str] = []
        while self.tokens[self.position].kind == "documentation":
            lines.append(self.tokens[self.position].text)
            self.position += 1
        return "\n".join(lines)

    @property
    def token(self) -> Token:
        """The next token that is not documentation."""
        while self.tokens[self.position].kind == "documentation":
            self.position += 1
        return self.tokens[self.position]

    def fail(self, reason: str, span: Span | None = None) -> NoReturn:
        """Raise a `SpaceError` at a place, by default the next token's."""
        raise SpaceError(reason, span or self.token.span, self.text)

    def expected(self, what: str) -> NoReturn:
        """Raise a `SpaceError` that says what should stand here."""
        token = self.token
        found = {"end": "the end of the text", "quoted": f'"{token.text}"', "variable": f"'${token.text}'"}
        self.fail(f"expected {what}, found {found.get(token.kind, repr(token.text))}")

    def sees(self, *words: str) -> bool:
        """Whether the next token is one of these keywords or symbols."""
        token = self.token
        return token.kind in ("keyword", "symbol") and token.text in words

    def accept(self, word: str) -> bool:
        """Take a keyword or symbol if it is next."""
        if not self.sees(word):
            return False
        self.position += 1
        return True

    def expect(self, word: str) -> Token:
        """Take a keyword or symbol, which must be next."""
        if not self.sees(word):
            self.expected(repr(word))
        self.position += 1
        return self.tokens[self.position - 1]

    def take(self, kind: str, what: str) -> Token:
        """Take a token of a kind, which must be next."""
        if self.token.kind != kind:
            self.expected(what)
        self.position += 1
        return self.tokens[self.position - 1]

    def name_token(self, what: str) -> Token:
        """Take a name; a keyword in its place gets a message of its own."""
        if self.token.kind == "keyword":
            self.fail(f"{self.token.text!r} is a word of the language: choose another name for {what}")
        return self.take("name", what)

    def key_token(self) -> Token:
        """Take the name of a key, which may also be a keyword."""
        return self.take("keyword" if self.token.kind == "keyword" else "name", "a key")

    def host(self, what: str) -> Host:
        """Take quoted text."""
        token = self.take("quoted", what)
        return Host(token.text, None, token.span)

    def variables(self) -> tuple[str, ...]:
        """Take `($a, $b)`, possibly empty."""
        self.expect("(")
        names: list[str] = []
        while not self.accept(")"):
            if names:
                self.expect(",")
            names.append(self.take("variable", "a variable like '$x'").text)
        return tuple(names)

    def set_reference(self) -> SetRef:
        """Take `Set` or `Set($x)`."""
        token = self.name_token("a set")
        return SetRef(token.text, self.variables() if self.sees("(") else (), token.span)

    def parameter(self) -> Parameter:
        """Take `$x in Set`; the paper's listings also leave `in` out."""
        token = self.take("variable", "a variable like '$x'")
        self.accept("in")
        return Parameter(token.text, self.set_reference(), token.span)

    def parameters(self) -> tuple[Parameter, ...]:
        """Take `($a in A, $b in B)`, possibly empty."""
        self.expect("(")
        found: list[Parameter] = []
        while not self.accept(")"):
            if found:
                self.expect(",")
            found.append(self.parameter())
        return tuple(found)

    def quantifiers(self) -> tuple[Parameter, ...]:
        """Take `forall $a in A: forall $b in B:`, possibly empty."""
        found: list[Parameter] = []
        while self.accept("forall"):
            found.append(self.parameter())
            self.expect(":")
        return tuple(found)

    def choice_reference(self) -> ChoiceRef:
        """Take `choice($a, $b)`."""
        token = self.name_token("a choice")
        return ChoiceRef(token.text, self.variables(), token.span)

    def values(self) -> tuple[tuple[str, ...], tuple[Span, ...]]:
        """Take `V1 | V2`: the names and their places."""
        found = [self.name_token("a value")]
        while self.accept("|"):
            found.append(self.name_token("a value"))
        return tuple(token.text for token in found), tuple(token.span for token in found)

    def at_condition(self) -> bool:
        """Whether a condition starts here."""
        return self.token.kind in ("quoted", "name") or self.sees("true", "false")

    def condition(self) -> Condition:
        """Take one condition."""
        token = self.token
        if self.accept("true") or self.accept("false"):
            return Constant(token.text == "true", token.span)
        if token.kind == "quoted":
            return self.host("a condition")
        if token.kind != "name":
            self.expected("a condition")
        left = self.choice_reference()
        if self.accept("is"):
            negated = self.accept("not")
            names, spans = self.values()
            return Is(left, names, negated, token.span, spans)
        operator = self.token
        if not self.sees(*OPERATORS):
            self.expected("'is' or a comparison")
        self.position += 1
        return Compare(left, operator.text, self._right_side(), operator.span)

    def _right_side(self) -> ChoiceRef | Host:
        token = self.token
        if token.kind == "number":
            self.position += 1
            return Host(token.text, None, token.span)
        if token.kind == "quoted":
            return self.host("a value")
        if token.kind != "name":
            self.expected("a choice, a number or quoted text")
        return self.choice_reference()

    def clauses(self) -> tuple[tuple[Condition, ...], ...]:
        """Take one or more disjunctions; each new one starts where a condition can start."""
        found = [self._clause()]
        while self.at_condition():
            found.append(self._clause())
        return tuple(found)

    def _clause(self) -> tuple[Condition, ...]:
        found = [self.condition()]
        while self.accept("||"):
            found.append(self.condition())
        return tuple(found)

    def conjunction(self) -> tuple[Condition, ...]:
        """Take conditions joined by `&&` or by standing one after the other."""
        found = [self.condition()]
        while self.accept("&&") or self.at_condition():
            found.append(self.condition())
        return tuple(found)

    def require(self, span: Span) -> Require:
        """Take what follows `require` or `requires`."""
        quantifiers = self.quantifiers()
        return Require(quantifiers, self.clauses(), "", span)
