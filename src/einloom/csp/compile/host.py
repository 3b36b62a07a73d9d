"""Quoted host expressions: one Python expression each, compiled once. No statements, and no way to the interpreter.

`$x` becomes a parameter; every other free name is looked up in the instance's host names, except pure builtins.

>>> program("$a.size <= gpu.limit").text
'lambda host, a_: a_.size <= host.gpu.limit'
"""

from __future__ import annotations

import ast
import builtins
import re
from dataclasses import replace

from einloom.csp.language.source import SpaceError
from einloom.csp.language.syntax import Span
from einloom.frozen import frozen

__all__ = ["HostNames", "HostProgram", "program"]

_PURE = """abs all any bool dict divmod enumerate filter float frozenset hasattr int isinstance len list map max min
pow range reversed round set sorted str sum tuple zip"""
BUILTINS = frozenset(_PURE.split())

_VARIABLE = re.compile(r"\$([A-Za-z_]\w*)")


@frozen
class HostProgram:
    """A compiled expression.

    Attributes:
        text: Python source of a lambda of `host` and of the variables, each with a trailing underscore.
        variables: the quantified variables that it reads, in the order of its parameters.
        names: the host names that it reads.
    """

    text: str
    variables: tuple[str, ...]
    names: tuple[str, ...]


class HostNames:
    """The names that quoted expressions of one instance may use, as attributes."""

    def __init__(self, names: dict[str, object]) -> None:
        self.__dict__.update(names)

    def __getattr__(self, name: str) -> object:
        known = ", ".join(sorted(self.__dict__)) or "none"
        raise SpaceError(
            f"quoted text uses the host name {name!r}, which the instance does not give (it gives: {known})"
        )


def program(text: str, span: Span | None = None, source: str = "") -> HostProgram:
    """Return the compiled form of a quoted expression.

    Raises:
        SpaceError: it is not one Python expression, or it uses a name that starts with `__` or an impure builtin.
    """
    variables = tuple(dict.fromkeys(_VARIABLE.findall(text)))
    python = _VARIABLE.sub(lambda match: f"{match.group(1)}_", text)
    try:
        tree = ast.parse(python.strip(), mode="eval")
    except SyntaxError as error:
        raise SpaceError(f"not a Python expression: {error.msg}", _place(span, text, error), source) from None
    rename = _Rename({f"{name}_" for name in variables} | _bound(tree), span, source)
    body = ast.unparse(rename.visit(tree))
    parameters = ", ".join(["host", *(f"{name}_" for name in variables)])
    return HostProgram(f"lambda {parameters}: {body}", variables, tuple(sorted(rename.names)))


def _place(span: Span | None, text: str, error: SyntaxError) -> Span | None:
    """Return the place inside the quotes: `$x` and `x_` are equally long. Python gives offset 0 for the end."""
    if span is None or span.line == 0:
        return span
    leading = len(text) - len(text.lstrip())
    column = leading + error.offset - 1 if error.offset else len(text.rstrip()) - 1
    return replace(span, column=span.column + 1 + max(0, column), length=1)


def _bound(tree: ast.AST) -> set[str]:
    """Return the names that comprehensions and lambdas inside an expression bind."""
    found = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return found | {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}


class _Rename(ast.NodeTransformer):
    def __init__(self, local: set[str], span: Span | None, source: str) -> None:
        self.local = local
        self.span = span
        self.source = source
        self.names: set[str] = set()

    def visit_Name(self, node: ast.Name) -> ast.AST:
        self._refuse(node.id)
        if node.id in self.local or node.id in BUILTINS:
            return node
        if hasattr(builtins, node.id):
            raise SpaceError(f"quoted text may not use the builtin {node.id!r}", self.span, self.source)
        self.names.add(node.id)
        return ast.Attribute(ast.Name("host", ast.Load()), node.id, ast.Load())

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self._refuse(node.attr)
        return self.generic_visit(node)

    def _refuse(self, name: str) -> None:
        if name.startswith("__"):
            raise SpaceError(f"quoted text may not use {name!r}", self.span, self.source)
