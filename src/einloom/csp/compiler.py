"""From a syntax tree to a `Space`: checked, with its quoted expressions compiled, cached by content."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from einloom.csp.syntax import SyntaxTree

__all__ = ["Space", "load_space", "parse_space"]


@dataclass(frozen=True, slots=True)
class Space:
    """A checked and compiled space definition.

    Attributes:
        name: what messages call it.
        definition: the syntax tree.
        source: the readable Python tables that it was compiled to.
    """

    name: str
    definition: SyntaxTree
    source: str


def parse_space(text: str, name: str = "space") -> Space:
    """Return the space that a text in the space language defines.

    Raises:
        SpaceError: the text is not legal; line, column and a caret.
    """
    raise NotImplementedError


def load_space(path: str | Path) -> Space:
    """Return the space of a `.space` file; `include` is relative to it.

    Raises:
        SpaceError: the text is not legal.
        OSError: the file cannot be read.
    """
    raise NotImplementedError
