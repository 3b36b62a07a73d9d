"""`SpaceError`: what is wrong with a space definition, where, with the line and a caret under the place.

It is not raised for a dead end of a search: that is `einloom.errors.DeadEnd`.
"""

from __future__ import annotations

from einloom.csp.language.syntax import Span
from einloom.errors import ArgumentError, EinloomError

__all__ = ["SpaceError", "UnknownChoice"]


class SpaceError(EinloomError, ValueError):
    """A space definition or an instance of it is not legal. Mend the marked place.

    Attributes:
        line: line of the place in its file, from 1; 0 if the definition was written in Python.
        column: column of the place, from 1; 0 if the definition was written in Python.
        file: name of the file or of the text.
        reason: the message without the place.
    """

    def __init__(self, reason: str, span: Span | None = None, text: str = "") -> None:
        self.reason = reason
        self.line = span.line if span else 0
        self.column = span.column if span else 0
        self.file = span.file if span else ""
        super().__init__(_message(reason, span, text))


class UnknownChoice(ArgumentError, KeyError):
    """No choice, counter or object of that name in this problem. The message lists near names."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


def _message(reason: str, span: Span | None, text: str) -> str:
    if span is None or span.line == 0:
        return reason
    place = f"{span.file or 'space'}:{span.line}:{span.column}: {reason}"
    lines = text.splitlines()
    if not 0 < span.line <= len(lines):
        return place
    line = lines[span.line - 1]
    width = max(1, min(span.length, len(line) - span.column + 1))
    padding = "".join("\t" if character == "\t" else " " for character in line[: span.column - 1])
    return f"{place}\n  {line}\n  {padding}{'^' * width}"
