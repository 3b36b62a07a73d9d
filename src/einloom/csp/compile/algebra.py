"""Finds the clauses that make a choice a relation algebra, and turns them into a composition table.

Such clauses quantify over three distinct objects of one set, have no guard, and mention one symmetric or antisymmetric
choice only. Together they say which triples of values `f(a, b), f(b, c), f(a, c)` may stand side by side.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import permutations, product

from einloom.csp.compile.rows import ClauseRow, EnumRow, PairLiteral, Quantifier, RelationRow, ValueLiteral

__all__ = ["consistent_triples", "relation_function", "relation_rules", "split_relations"]


MOST_VALUES = 8


def split_relations(
    clauses: Sequence[ClauseRow], enums: Sequence[EnumRow]
) -> tuple[list[RelationRow], list[ClauseRow]]:
    """Return the relations that some clauses make, and the other clauses."""
    by_name = {row.name: row for row in enums}
    groups: dict[tuple[str, tuple[Quantifier, ...], Quantifier], list[ClauseRow]] = {}
    rest: list[ClauseRow] = []
    for clause in clauses:
        key = _relation_key(clause, by_name)
        if key is None:
            rest.append(clause)
        else:
            groups.setdefault(key, []).append(clause)
    relations = [_relation(by_name[key[0]], key, group) for key, group in groups.items()]
    return relations, rest


def _arguments(clause: ClauseRow) -> list[tuple[str, tuple[int, ...]]] | None:
    """Return the choices that a clause mentions with their arguments; None if it has another kind of literal."""
    found: list[tuple[str, tuple[int, ...]]] = []
    for literal in clause.literals:
        match literal:
            case ValueLiteral():
                found.append((literal.choice, literal.arguments))
            case PairLiteral() if literal.operator in ("==", "!="):
                found += [(literal.left, literal.left_arguments), (literal.right, literal.right_arguments)]
            case _:
                return None
    return found


def _relation_key(
    clause: ClauseRow, enums: dict[str, EnumRow]
) -> tuple[str, tuple[Quantifier, ...], Quantifier] | None:
    mentioned = _arguments(clause)
    count = len(clause.quantifiers)
    if clause.guards or not mentioned or count < 3:
        return None
    choice = mentioned[0][0]
    row = enums.get(choice)
    if row is None or row.converse is None or count != len(row.parameters) + 1 or len(row.values) > MOST_VALUES:
        return None
    context = tuple(range(count - 3))
    triple = set(range(count - 3, count))
    if any(name != choice or arguments[:-2] != context for name, arguments in mentioned):
        return None
    if set().union(*(arguments[-2:] for _, arguments in mentioned)) != triple:
        return None
    places = {(each.set, each.owners) for each in clause.quantifiers[-3:]}
    if len(places) != 1:
        return None
    (set_name, owners) = places.pop()
    contexts = tuple(Quantifier("", each.set, each.owners) for each in clause.quantifiers[:-3])
    return choice, contexts, Quantifier("", set_name, owners)


def _relation(
    row: EnumRow, key: tuple[str, tuple[Quantifier, ...], Quantifier], clauses: list[ClauseRow]
) -> RelationRow:
    size = len(row.values)
    composition = [[0] * size for _ in range(size)]
    for r, s, t in consistent_triples(row, clauses):
        composition[r][s] |= 1 << t
    texts = tuple(clause.text for clause in clauses)
    return RelationRow(key[0], key[1], key[2], tuple(map(tuple, composition)), texts, clauses[0].place)


def consistent_triples(row: EnumRow, clauses: Sequence[ClauseRow]) -> list[tuple[int, int, int]]:
    """Return the triples of values (a to b, b to c, a to c) that satisfy all clauses for all orders of a, b and c."""
    found: list[tuple[int, int, int]] = []
    size = len(row.values)
    for r, s, t in product(range(size), repeat=3):
        values = {(0, 1): r, (1, 2): s, (0, 2): t}
        values |= {(j, i): (row.converse or ())[value] for (i, j), value in values.items()}
        if all(_holds(clause, values, order) for clause in clauses for order in permutations(range(3))):
            found.append((r, s, t))
    return found


def _holds(clause: ClauseRow, values: dict[tuple[int, int], int], order: tuple[int, ...]) -> bool:
    first = len(clause.quantifiers) - 3

    def value(arguments: tuple[int, ...]) -> int:
        return values[order[arguments[-2] - first], order[arguments[-1] - first]]

    for literal in clause.literals:
        if isinstance(literal, ValueLiteral) and literal.mask >> value(literal.arguments) & 1:
            return True
        if isinstance(literal, PairLiteral):
            equal = value(literal.left_arguments) == value(literal.right_arguments)
            if equal == (literal.operator == "=="):
                return True
    return False


def relation_rules(row: RelationRow, mask: int) -> dict[tuple[int, ...], list[int]]:
    """Return what f(a, b) in `mask` restricts: for some values of f(b, c), those of f(a, c) that need one of them."""
    found: dict[tuple[int, ...], list[int]] = {}
    values = range(len(row.composition))
    for value in values:
        sources = [s for s in values if any(mask >> r & 1 and row.composition[r][s] >> value & 1 for r in values)]
        if len(sources) < len(values):
            found.setdefault(tuple(sources), []).append(value)
    return found


def relation_function(number: int, row: RelationRow) -> str:
    """Return the source of a function that binds the checks of a relation to the rows of a state, one for each mask.

    `check_m(a, b, others)` gives `(value bit, objects)` for what f(a, c) loses, for all c of `others`, when f(a, b)
    is in mask m. `v{i} + x` is the row of f(x, ..) for value i.
    """
    size = len(row.composition)
    starts = ", ".join(f"v{i}" for i in range(size))
    lines = [
        f"# {row.choice}: {len(row.texts)} clauses",
        f"def relation_{number}(rows, starts):",
        f"    {starts} = starts",
    ]
    names: list[str] = []
    for mask in range(1 << size):
        rules = relation_rules(row, mask) if mask else {}
        names.append(f"check_{mask}" if rules else "None")
        if rules:
            lines += ["", f"    def check_{mask}(a, b, others):", "        gone = []"]
            count = Counter(source for sources in rules for source in sources)
            shared = {source for source, times in count.items() if times > 1}
            lines += [f"        s{source} = rows[v{source} + b]" for source in sorted(shared)]
            lines += [
                f"        {line}" for sources, targets in rules.items() for line in _check(sources, targets, shared)
            ]
            lines.append("        return gone")
    return "\n".join([*lines, "", f"    return {', '.join(names)}"])


def _check(sources: tuple[int, ...], targets: list[int], shared: set[int]) -> list[str]:
    given = " | ".join(f"s{source}" if source in shared else f"rows[v{source} + b]" for source in sources)
    lines = [f"barred = others & ~({given})" if given else "barred = others", "if barred:"]
    for value in targets:
        lines += [
            f"    lost = rows[v{value} + a] & barred",
            "    if lost:",
            f"        gone.append(({1 << value}, lost))",
        ]
    return lines
