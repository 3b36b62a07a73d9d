"""From a syntax tree to a `Space`: checked, its tables written as a readable Python module, cached by content.

It evaluates no quoted expression: that happens when an instance is frozen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, fields, is_dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from einloom.csp.compile import rows
from einloom.csp.compile.algebra import relation_function, split_relations
from einloom.csp.compile.check import Tables, check
from einloom.csp.compile.lines import line_clauses, line_function
from einloom.csp.compile.rows import (
    ClauseRow,
    CounterRow,
    EnumRow,
    IntegerRow,
    QuotientRow,
    RelationRow,
    SetRow,
    TriggerRow,
)
from einloom.csp.language.parser import parse
from einloom.csp.language.source import SpaceError
from einloom.csp.language.syntax import Span, Statement, SyntaxTree
from einloom.frozen import frozen

__all__ = ["Space", "compile_space", "load_space", "parse_space"]

_CACHE: dict[str, Space] = {}


@frozen
class Space:
    """A checked and compiled space definition.

    Attributes:
        name: what messages call it.
        definition: the syntax tree.
        source: the readable Python tables that it was compiled to.
        key: a digest of the content.
        hosts: the compiled quoted expressions; each takes the host names, then its variables.
        places: where each quoted expression stands.
        lines: the generated propagators of clauses over three objects, by clause number.
        checks: the generated propagators of relations.
    """

    name: str
    definition: SyntaxTree = field(repr=False)
    source: str = field(repr=False)
    key: str
    hosts: tuple[Callable[..., Any], ...] = field(repr=False)
    places: tuple[str, ...] = field(repr=False)
    sets: tuple[SetRow, ...] = field(repr=False)
    enums: tuple[EnumRow, ...] = field(repr=False)
    integers: tuple[IntegerRow, ...] = field(repr=False)
    counters: tuple[CounterRow, ...] = field(repr=False)
    relations: tuple[RelationRow, ...] = field(repr=False)
    clauses: tuple[ClauseRow, ...] = field(repr=False)
    quotients: tuple[QuotientRow, ...] = field(repr=False)
    triggers: tuple[TriggerRow, ...] = field(repr=False)
    lines: dict[int, Callable[..., Any]] = field(repr=False)
    checks: tuple[Callable[..., Any], ...] = field(repr=False)

    @property
    def choices(self) -> tuple[str, ...]:
        """The names of what may be decided, where there are objects for it."""
        return tuple(row.name for row in (*self.enums, *self.integers))


def parse_space(text: str, name: str = "space") -> Space:
    """Return the space that a text in the space language defines.

    Raises:
        SpaceError: the text is not legal; line, column and a caret.
    """
    key = sha256(f"{name}\n{text}".encode()).hexdigest()
    if key not in _CACHE:
        _CACHE[key] = compile_space(parse(text, name), key)
    return _CACHE[key]


def load_space(path: str | Path) -> Space:
    """Return the space of a `.space` file; `include` is relative to the file that says it.

    Raises:
        SpaceError: the text is not legal.
        OSError: the file cannot be read.
    """
    tree = _read(Path(path), ())
    content = "\n".join(f"{name}\n{text}" for name, text in tree.texts)
    key = sha256(content.encode()).hexdigest()
    if key not in _CACHE:
        _CACHE[key] = compile_space(tree, key)
    return _CACHE[key]


def _read(path: Path, above: tuple[Path, ...]) -> SyntaxTree:
    texts: list[tuple[str, str]] = []

    def include(name: str, span: Span, text: str) -> tuple[Statement, ...]:
        other = path.parent / name
        if other in (*above, path):
            raise SpaceError(f"{name} includes itself", span, text)
        try:
            tree = _read(other, (*above, path))
        except FileNotFoundError:
            raise SpaceError(f"there is no file {name}", span, text) from None
        texts.extend(tree.texts)
        return tree.statements

    text = path.read_text(encoding="utf-8")
    tree = parse(text, path.name, include)
    return SyntaxTree(tree.statements, path.stem, ((path.name, text), *texts))


def compile_space(tree: SyntaxTree, key: str = "") -> Space:
    """Return the space of a syntax tree.

    Raises:
        SpaceError: a name or a type is wrong.
    """
    tables = check(tree)
    relations, clauses = split_relations(tables.clauses, tables.enums)
    source = _module(tree.name, key, tables, relations, clauses)
    namespace: dict[str, Any] = {name: getattr(rows, name) for name in rows.__all__}
    namespace["FUNCTIONS"] = [host.function for host in tables.hosts]
    exec(compile(source, f"<space {tree.name}>", "exec"), namespace)
    return Space(
        tree.name,
        tree,
        source,
        key,
        hosts=namespace["HOSTS"],
        places=tuple(host.place for host in tables.hosts),
        lines={number: namespace[f"line_{number}"] for number in line_clauses(clauses)},
        checks=tuple(namespace[f"relation_{number}"] for number in range(len(relations))),
        **{name.lower(): namespace[name] for name in _SECTIONS},
    )


Row = SetRow | EnumRow | IntegerRow | CounterRow | RelationRow | ClauseRow | QuotientRow | TriggerRow

_SECTIONS = ("SETS", "ENUMS", "INTEGERS", "COUNTERS", "RELATIONS", "CLAUSES", "QUOTIENTS", "TRIGGERS")


def _row_text(value: tuple[Any, ...] | Row | dict[str, int] | str | int | None, indent: int) -> str:
    """Return a row as Python text without the fields that have their default, broken over lines where it is long."""
    if isinstance(value, tuple):
        parts = [_row_text(each, indent + 4) for each in value]
        brackets = "()"
        single = len(value) == 1
    elif is_dataclass(value):
        set_fields = [each for each in fields(value) if getattr(value, each.name) != each.default]
        parts = [f"{each.name}={_row_text(getattr(value, each.name), indent + 4)}" for each in set_fields]
        brackets, single = f"{type(value).__name__}()", False
    else:
        return repr(value)
    flat = f"{brackets[:-1]}{', '.join(parts)}{',' if single else ''})"
    if len(flat) + indent <= 110 and "\n" not in flat:
        return flat
    pad = " " * (indent + 4)
    return f"{brackets[:-1]}\n" + "".join(f"{pad}{part},\n" for part in parts) + " " * indent + ")"


def _module(name: str, key: str, tables: Tables, relations: list[RelationRow], clauses: list[ClauseRow]) -> str:
    """Return the text of the module: quoted expressions as functions, rows as literals."""
    lines = [f'"""The space {name}, compiled{f" from content {key[:12]}" if key else ""}."""', "", "HOSTS = ("]
    for i, host in enumerate(tables.hosts):
        if host.function is None:
            lines.append(f"    {host.text},  # {i}: {host.place}")
        else:
            lines.append(f"    (lambda host, *objects: FUNCTIONS[{i}](*objects)),  # {i}: {host.text}")
    lines.append(")")
    every = (
        tables.sets,
        tables.enums,
        tables.integers,
        tables.counters,
        relations,
        clauses,
        tables.quotients,
        tables.triggers,
    )
    for section, content in zip(_SECTIONS, every):
        lines += ["", f"{section} = (", *(f"    {_row_text(row, 4)}," for row in content), ")"]
    enums = {row.name: row for row in tables.enums}
    for number in line_clauses(clauses):
        lines += ["", "", line_function(number, clauses[number], enums)]
    for number, relation in enumerate(relations):
        lines += ["", "", relation_function(number, relation)]
    return "\n".join(lines) + "\n"
