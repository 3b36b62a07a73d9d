"""Who imports whom in `einloom`, read from the sources: imports inside functions count, those of types alone do not."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

import einloom

__all__ = ["ROOT", "Graph", "circles", "import_graph", "modules", "part_graph"]

ROOT = Path(einloom.__file__).parent
Graph: TypeAlias = Mapping[str, set[str]]


def modules(root: Path = ROOT) -> dict[str, Path]:
    """Return the file of every module under a package's folder, by the module's whole name."""
    return {_name(path, root): path for path in sorted(root.rglob("*.py"))}


def import_graph(root: Path = ROOT) -> Graph:
    """Return for every module the modules of the same package that it imports when it runs, wherever it does so."""
    known = modules(root)
    return {name: set(_imports(path, known)) - {name} for name, path in known.items()}


def part_graph(graph: Graph, package: str) -> dict[str, set[str]]:
    """Return for every file and folder directly in a package those beside it that it imports."""
    found: dict[str, set[str]] = {}
    for module, others in graph.items():
        here = part_of(module, package)
        if here is not None:
            there = {part_of(other, package) for other in others} - {None, here}
            found.setdefault(here, set()).update(filter(None, there))
    return found


def part_of(module: str, package: str) -> str | None:
    """Return the name directly below `package` that a module lies under, None where it lies elsewhere."""
    if module == package:
        return "__init__"
    return module.removeprefix(f"{package}.").partition(".")[0] if module.startswith(f"{package}.") else None


def circles(graph: Graph) -> list[list[str]]:
    """Return the groups of nodes that reach each other, sorted."""
    reached = {node: _reachable(graph, node) for node in graph}
    groups = {frozenset(other for other in reached[node] if node in reached[other]) for node in graph}
    return sorted(sorted(group) for group in groups if group)


def _reachable(graph: Graph, start: str) -> set[str]:
    """Return what `start` imports, directly or not: itself only if it lies in a circle."""
    seen: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            waiting += graph[node]
    return seen


def _name(path: Path, root: Path) -> str:
    parts = path.relative_to(root.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(path: Path, known: Mapping[str, Path]) -> Iterator[str]:
    for node in _running(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield from {whole if whole in known else node.module} & known.keys()
        elif isinstance(node, ast.Import):
            yield from {alias.name for alias in node.names} & known.keys()


def _running(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a tree that run: all but the bodies of `if TYPE_CHECKING`."""
    for node in ast.iter_child_nodes(tree):
        types_only = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        if not types_only:
            yield node
        yield from _running(ast.Module(node.orelse, []) if types_only else node)
