"""Every public name is documented: modules say what they are, and so does what they offer, down to the methods."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.architecture.imports import modules

Documented = ast.Module | ast.ClassDef | ast.FunctionDef


def undocumented(tree: ast.Module, documented: Callable[[str], bool] = lambda method: False) -> set[str]:
    """Return what has no docstring: the module, what is in its `__all__`, the public methods of classes there.

    `documented` says whether a method, as "Class.method", has its words from elsewhere.
    """
    found = set() if ast.get_docstring(tree) or not tree.body else {"the module"}
    offered = _offered(tree)
    public = ((name, node) for name, node in _definitions(tree) if name.partition(".")[0] in offered)
    return found | {name for name, node in public if not _says(node) and not documented(name)}


def _offered(tree: ast.Module) -> set[str]:
    """Return the names in `__all__`; without one, every name that does not begin with an underscore."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return set(ast.literal_eval(node.value))
    return {name for name, _ in _definitions(tree) if not name.startswith("_")}


def _definitions(tree: ast.Module) -> Iterator[tuple[str, Documented]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name, node
        if isinstance(node, ast.ClassDef):
            for member in node.body:
                if isinstance(member, ast.FunctionDef) and not member.name.startswith("_"):
                    yield f"{node.name}.{member.name}", member


def _says(node: Documented) -> bool:
    """Whether a definition has a docstring; setters and overloads are said by what stands beside them."""
    decorators = {ast.unparse(each).rpartition(".")[2] for each in getattr(node, "decorator_list", ())}
    return bool(ast.get_docstring(node)) or bool(decorators & {"setter", "overload", "override"})


def _inherits(name: str, module: str) -> bool:
    """Whether a method has its docstring from a base class, or from a protocol of its package."""
    owner, _, method = name.partition(".")
    inherited = getattr(getattr(importlib.import_module(module), owner), method, None)
    return bool(method) and (bool(inspect.getdoc(inherited)) or method in protocol_methods(modules()[module].parent))


@cache
def protocol_methods(folder: Path) -> set[str]:
    """Return the names of the documented methods of all protocols in a folder."""
    trees = [ast.parse(path.read_text()) for path in folder.glob("*.py")]
    protocols = [node for tree in trees for node in tree.body if isinstance(node, ast.ClassDef) and _is_protocol(node)]
    members = [member for node in protocols for member in node.body if isinstance(member, ast.FunctionDef)]
    return {member.name for member in members if _says(member)}


def _is_protocol(node: ast.ClassDef) -> bool:
    return any(ast.unparse(base).partition("[")[0] == "Protocol" for base in node.bases)


@pytest.mark.parametrize("name", modules())
def test_public_names_are_documented(name: str) -> None:
    tree = ast.parse(modules()[name].read_text())
    assert undocumented(tree, lambda method: _inherits(method, name)) == set()


def test_the_check_sees_what_is_not_documented() -> None:
    text = (
        '__all__ = ["A", "f"]\nclass A:\n    """A."""\n    def go(self): pass\n    def _no(self): pass\ndef f(): pass\n'
    )
    assert undocumented(ast.parse(text)) == {"the module", "A.go", "f"}
