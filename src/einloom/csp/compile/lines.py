"""Clauses over three objects, propagated a line at a time: two objects fixed, the third one everywhere at once.

`line_function` writes Python for one clause (it becomes part of `Space.source`): `along_i` propagates the line of
all objects for variable i, the two others fixed; `from_i` fixes variable i alone and goes through the lines that
can matter. The bits of a row say for which objects a literal may still hold. Where no literal is left the clause
fails; where one is left it is enforced. `propagators/line` binds them to the rows and slots of one state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from einloom.csp.compile.rows import ClauseRow, EnumRow, ValueLiteral

__all__ = ["line_clauses", "line_function"]


def line_clauses(clauses: Sequence[ClauseRow]) -> Iterator[int]:
    """Yield the numbers of the clauses that lines propagate.

    They quantify over three plain sets and mention all three objects, with values of choices of one or two objects
    only.
    """
    for number, clause in enumerate(clauses):
        literals = [literal for literal in clause.literals if isinstance(literal, ValueLiteral)]
        used = {position for literal in literals for position in literal.arguments}
        plain = all(not each.owners for each in clause.quantifiers) and len(literals) == len(clause.literals)
        small = all(1 <= len(literal.arguments) <= 2 for literal in literals)
        small = small and len({(each.choice, frozenset(each.arguments)) for each in literals}) == len(literals)
        if plain and small and used == {0, 1, 2} and len(clause.quantifiers) == 3:
            yield number


def line_function(number: int, clause: ClauseRow, enums: dict[str, EnumRow]) -> str:
    """Return the source of a function that binds the propagators of a clause to the lists of a state."""
    writer = _Writer(clause, enums)
    head = [f"# {clause.text}", f"def line_{number}(line, store):"]
    head += [f"    {line}" for line in writer.prologue()]
    body = [f"    {line}" for free in range(3) for line in ["", *writer.along(free)]]
    body += [f"    {line}" for start in range(3) for line in ["", *writer.starting(start)]]
    return "\n".join([*head, *body, "", "    return along_0, along_1, along_2, from_0, from_1, from_2"])


class _Writer:
    """Writes the functions of one clause. Literal k has slots `s{k}`; variable i is called `v{i}`."""

    def __init__(self, clause: ClauseRow, enums: dict[str, EnumRow]) -> None:
        self.literals: list[ValueLiteral] = [each for each in clause.literals if isinstance(each, ValueLiteral)]
        self.enums = enums

    def _converse(self, literal: ValueLiteral) -> int | None:
        """Return the mask of a literal from the other side; None if its choice has no converse."""
        converse = self.enums[literal.choice].converse
        if converse is None:
            return None
        return sum(1 << converse[value] for value in range(len(converse)) if literal.mask >> value & 1)

    def _others(self, literal: ValueLiteral) -> int:
        return ((1 << len(self.enums[literal.choice].values)) - 1) & ~literal.mask

    def prologue(self) -> list[str]:
        """Bind lists, slots and row starts to local names."""
        lines = ["domains, rows, assign, fail, n = store.domains, store.rows, store.assign, store.fail, line.objects"]
        lines += [f"members_{i}, zone_{i} = line.members[{i}], line.zones[{i}]" for i in range(3)]
        for k, literal in enumerate(self.literals):
            lines.append(f"s{k} = line.bits.slot_table({literal.choice!r})")
            for kind, mask in (("p", literal.mask), ("q", self._others(literal))):
                count = mask.bit_count()
                if not count:
                    continue
                for side in ("first", "second")[: len(literal.arguments)]:
                    names = ", ".join(f"{kind}{k}{side[0]}{i}" for i in range(count))
                    lines.append(f"({names},) = line.bits.{side}_rows({literal.choice!r}, {mask})")
        return lines

    def _row(self, kind: str, k: int, free: int) -> str:
        """Return the row over variable `free` of a literal's values (`p`) or other values (`q`)."""
        literal = self.literals[k]
        count = (literal.mask if kind == "p" else self._others(literal)).bit_count()
        if not count:
            return "0"
        if len(literal.arguments) == 1:
            return " | ".join(f"rows[{kind}{k}f{i}]" for i in range(count))
        first, second = literal.arguments
        side, fixed = ("s", first) if second != free and first == free else ("f", first)
        fixed = second if side == "s" else first
        return " | ".join(f"rows[{kind}{k}{side}{i} + v{fixed}]" for i in range(count))

    def _slot(self, k: int) -> str:
        literal = self.literals[k]
        if len(literal.arguments) == 1:
            return f"s{k}[v{literal.arguments[0]}]"
        first, second = literal.arguments
        return f"s{k}[v{first} * n + v{second}]"

    def _mask(self, k: int) -> str:
        """Return the mask of a literal in the stored direction of its slot."""
        literal = self.literals[k]
        converse = self._converse(literal)
        if len(literal.arguments) == 1 or converse in (None, literal.mask):
            return str(literal.mask)
        first, second = literal.arguments
        return f"({literal.mask} if v{first} < v{second} else {converse})"

    def _split(self, free: int, fixed: set[int]) -> tuple[list[int], list[int]]:
        """Return the literals over fixed variables only, and those over `free` (and fixed ones)."""
        scalars: list[int] = []
        crossing: list[int] = []
        for k, literal in enumerate(self.literals):
            used = set(literal.arguments)
            if used <= fixed:
                scalars.append(k)
            elif free in used and used <= fixed | {free}:
                crossing.append(k)
        return scalars, crossing

    def along(self, free: int) -> list[str]:
        """Write `along_{free}`."""
        x, y = (i for i in range(3) if i != free)
        scalars, crossing = self._split(free, {x, y})
        lines = [
            f"def along_{free}(pair):",
            f"    v{x}, v{y} = pair",
            f"    if not (rows[members_{x}] >> v{x} & 1 and rows[members_{y}] >> v{y} & 1):",
            "        return",
            f"    zero = zone_{free}(v{x}, v{y}) & rows[members_{free}]",
            "    last = -1",
        ]
        lines += self._scalars(scalars)
        for k in crossing:
            lines.append(f"    r{k} = {self._row('p', k, free)}")
            lines.append(f"    one, zero = one & ~r{k} | zero & r{k}, zero & ~r{k}")
        lines += [
            "    if not one | zero:",
            "        return",
            f"    reason = line, {free}, v{x}, v{y}",
            "    if zero:",
            "        fail(reason)",
        ]
        if scalars:
            rest = f" & ~({' | '.join(f'r{k}' for k in crossing)})" if crossing else ""
            lines += [
                f"    if last >= 0 and one{rest}:",
                "        assign(last, domains[last] & keep, reason)",
            ]
        for k in crossing:
            lines += self._enforce(k, free)
        return lines

    def _scalars(self, literals: Sequence[int]) -> list[str]:
        """Write the checks of literals over fixed variables; from them where one literal may hold, and where none."""
        checks = [line for k in literals for line in self._scalar(k)]
        return [*checks, "    one = 0 if last < 0 else zero", "    zero = zero if last < 0 else 0"]

    def _scalar(self, k: int) -> list[str]:
        """Write the check of a literal over fixed variables: done if it holds, or if it is the second that may."""
        return [
            f"    slot = {self._slot(k)}",
            f"    mask = {self._mask(k)}",
            "    if domains[slot] & mask:",
            "        if not domains[slot] & ~mask or last >= 0:",
            "            return",
            "        last, keep = slot, mask",
        ]

    def _enforce(self, k: int, free: int) -> list[str]:
        """Write the enforcement of a literal where it is the only one left."""
        return [
            f"    lost = one & r{k} & ({self._row('q', k, free)})",
            "    while lost:",
            f"        v{free} = lost.bit_length() - 1",
            f"        lost ^= 1 << v{free}",
            f"        slot = {self._slot(k)}",
            f"        assign(slot, domains[slot] & {self._mask(k)}, reason)",
        ]

    def starting(self, start: int) -> list[str]:
        """Write `from_{start}`: go through the second variable that fixes more literals, line by line."""
        others = [i for i in range(3) if i != start]
        over = max(others, key=lambda i: (len(self._split(i, {start})[1]), -i))
        free = next(i for i in others if i != over)
        scalars, crossing = self._split(over, {start})
        lines = [
            f"def from_{start}(v{start}):",
            f"    if not rows[members_{start}] >> v{start} & 1:",
            "        return",
            f"    zero = rows[members_{over}] & ~(1 << v{start})",
            "    last = -1",
        ]
        lines += self._scalars(scalars)
        for k in crossing:
            lines.append(f"    r, open_ = {self._row('p', k, over)}, {self._row('q', k, over)}")
            lines.append("    one, zero = (one & ~r | zero & r) & open_, zero & ~r & open_")
        x, y = sorted((start, over))
        lines += [
            "    left = one | zero",
            "    while left:",
            f"        v{over} = left.bit_length() - 1",
            f"        left ^= 1 << v{over}",
            f"        along_{free}((v{x}, v{y}))",
        ]
        return lines
