"""From the text of a space to tokens. Comments (`//`) vanish; documentation (`///`) becomes a token of its own.

>>> [token.text for token in tokens('order($a) is not X // why')[:-1]]
['order', '(', 'a', ')', 'is', 'not', 'X']
"""

from __future__ import annotations

import re

from einloom.csp.language.source import SpaceError
from einloom.csp.language.syntax import Span
from einloom.frozen import frozen

__all__ = ["KEYWORDS", "Token", "tokens"]

_WORDS = """alias antisymmetric base choice counter define disjoint end enum false forall half in include integer
internal is mul not of quotient require requires reverse set subsetof sum symmetric trigger true value when"""
KEYWORDS = frozenset(_WORDS.split())

_PATTERN = re.compile(
    r"""(?P<space>[ \t\r]+)|(?P<line>\n)
    |(?P<documentation>///[^\n]*)|(?P<comment>//[^\n]*)
    |(?P<variable>\$[A-Za-z_]\w*)|(?P<name>[A-Za-z_]\w*)|(?P<number>\d+)
    |(?P<quoted>"(?:[^"\\\n]|\\.)*")
    |(?P<symbol>->|\|\||&&|==|!=|<=|>=|[:(),|/=<>])""",
    re.VERBOSE,
)


@frozen
class Token:
    """One word of the language.

    Attributes:
        kind: `name`, `keyword`, `variable`, `number`, `quoted`, `symbol`, `documentation` or `end`.
        text: the word; without the `$` of a variable, the quotes of quoted text, the slashes of documentation.
    """

    kind: str
    text: str
    span: Span


def tokens(text: str, file: str = "") -> list[Token]:
    """Return the tokens of a text, closed by one of kind `end`.

    Raises:
        SpaceError: a character that no word starts with, or quoted text that is not closed on its line.
    """
    found: list[Token] = []
    line, start, position = 1, 0, 0
    while position < len(text):
        match = _PATTERN.match(text, position)
        if match is None:
            raise SpaceError(_complaint(text, position), Span(line, position - start + 1, 1, file), text)
        kind, word = match.lastgroup or "", match.group()
        span = Span(line, position - start + 1, len(word), file)
        position = match.end()
        if kind == "line":
            line, start = line + 1, position
        elif kind not in ("space", "comment"):
            found.append(_token(kind, word, span))
    found.append(Token("end", "", Span(line, position - start + 1, 1, file)))
    return found


def _token(kind: str, word: str, span: Span) -> Token:
    if kind == "name":
        return Token("keyword" if word in KEYWORDS else "name", word, span)
    if kind == "variable":
        return Token(kind, word[1:], span)
    if kind == "quoted":
        return Token(kind, re.sub(r"\\(.)", r"\1", word[1:-1]), span)
    if kind == "documentation":
        return Token(kind, word[3:].strip(), span)
    return Token(kind, word, span)


def _complaint(text: str, position: int) -> str:
    character = text[position]
    if character == '"':
        return "quoted text is not closed on its line"
    if text.startswith("...", position):
        return "'...' stands for something left out: write it, or delete it"
    return f"unexpected character {character!r}"
