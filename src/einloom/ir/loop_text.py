"""`parse_loop_string`: from the text to the value; every refusal marks the place."""

from __future__ import annotations

import re
from functools import lru_cache

from einloom.errors import ScheduleError
from einloom.ir.loop_string import Level, Literal, LoopString, caret_error
from einloom.ir.sharing import Clause, Dimension, Policy, Ways

__all__ = ["parse_clause", "parse_loop_string"]

_NUMBER = re.compile(r"-?[0-9]{1,18}", re.ASCII)
_SPACE = re.compile(r" *")


def parse_loop_string(text: object) -> LoopString:
    """Return the loop string of a text: `parse_loop_string(str(x)) == x`.

    Raises:
        ScheduleError: it is not legal; a caret marks the place.
    """
    if not isinstance(text, str):
        raise ScheduleError(f"the loop string is {text!r:.80}\n  Give a text such as 'bcaBCb'.")
    return _parsed(text)


def parse_clause(text: str) -> Clause:
    """Return the clause of a text: `parse_clause(str(x)) == x`.

    Raises:
        ScheduleError: it is none; a caret marks the place.
    """
    return _Reader(text).whole_clause()


@lru_cache(1024)
def _parsed(text: str) -> LoopString:
    return _Reader(text).string()


class _Reader:
    """A text and how much of it was read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0

    def string(self) -> LoopString:
        levels = list[Level]()
        while self.place < len(self.text) and self.text[self.place] != "@":
            levels.append(self._level())
        clause = self._clause() if self._takes("@") else None
        if self.place < len(self.text):
            raise self._error("the loop string ends with its clause", "Leave out what follows.")
        return LoopString(tuple(levels), clause)

    def whole_clause(self) -> Clause:
        """Return the clause that is all the text."""
        clause = self._clause()
        if self.place < len(self.text):
            raise self._error("the text ends with the clause", "Leave out what follows.")
        return clause

    def _level(self) -> Level:
        letter = self.text[self.place]
        if not (letter.isascii() and letter.isalpha()):
            raise self._error(
                f"{letter!r} is no loop",
                "Loops are letters a to z, upper case for parallel ones; | is a barrier behind a loop.",
            )
        self.place += 1
        ways = self._ways() if self._takes("{") else None
        literal = self._literal() if self._takes("[") else None
        return Level(letter.lower(), letter.isupper(), ways, literal, self._takes("|"))

    def _ways(self) -> Ways:
        advice = "Write {R:n}, {C:n} or {L:n}: rows, columns or layers of a grid of threads."
        name = self.text[self.place : self.place + 1]
        if name not in tuple(Dimension):
            raise self._error(f"{name!r} is no dimension of a grid of threads", advice)
        self.place += 1
        self._expect(":", advice)
        count = self._number(advice)
        self._expect("}", advice)
        return Ways(Dimension(name), count)

    def _literal(self) -> Literal:
        advice = "Write [start,bound,step,(sizes)]; an empty place leaves it to the LoopSpec."
        start, bound, step = (self._optional_number(advice) for _ in range(3))
        self._expect("(", advice)
        sizes: list[int] = []
        while not self._takes(")"):
            if sizes:
                self._expect(",", advice)
            sizes.append(self._number(advice))
        self._expect("]", advice)
        return Literal(start, bound, step, tuple(sizes))

    def _clause(self) -> Clause:
        advice = "Write @schedule(static), @schedule(dynamic,n) or @schedule(guided,n)."
        self._expect("schedule(", advice)
        policy = next((policy for policy in Policy if self._takes(policy)), None)
        if policy is None:
            raise self._error("no such schedule", advice)
        self._skip_spaces()
        chunk = None
        if self._takes(","):
            self._skip_spaces()
            chunk = self._number(advice)
            self._skip_spaces()
        self._expect(")", advice)
        return Clause(policy, chunk)

    def _number(self, advice: str) -> int:
        match = _NUMBER.match(self.text, self.place)
        if match is None or _NUMBER.match(self.text, match.end()):
            raise self._error("a number of at most 18 digits is expected", advice)
        self.place = match.end()
        return int(match.group())

    def _optional_number(self, advice: str) -> int | None:
        number = None if self._sees(",") else self._number(advice)
        self._expect(",", advice)
        return number

    def _sees(self, word: str) -> bool:
        return self.text.startswith(word, self.place)

    def _takes(self, word: str) -> bool:
        found = self._sees(word)
        self.place += len(word) * found
        return found

    def _expect(self, word: str, advice: str) -> None:
        if not self._takes(word):
            raise self._error(f"{word!r} is expected", advice)

    def _skip_spaces(self) -> None:
        match = _SPACE.match(self.text, self.place)
        self.place = match.end() if match else self.place

    def _error(self, problem: str, advice: str) -> ScheduleError:
        return caret_error(self.text, self.place, problem, advice)
