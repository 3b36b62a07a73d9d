"""From text to the syntax tree. It knows the grammar and nothing of what names mean (`compile/check` does).

>>> parse("set Dims: end").statements[0].name
'Dims'
"""

from __future__ import annotations

from einloom.csp.language.reader import Reader
from einloom.csp.language.statements import Includer, read_statements
from einloom.csp.language.syntax import SyntaxTree

__all__ = ["parse"]


def parse(text: str, name: str = "space", includer: Includer | None = None) -> SyntaxTree:
    """Return the syntax tree of a text.

    Args:
        includer: reads the file that an `include` names; takes the path, its place and the including text.

    Raises:
        SpaceError: the text does not follow the grammar.
    """
    return SyntaxTree(tuple(read_statements(Reader(text, name), includer)), name, ((name, text),))
