"""An independent meaning of the space language: evaluates the syntax tree over full assignments, by brute force.

It shares nothing with the engine but the parser. Sets are plain dictionaries, extensions the memberships they add.
"""

from __future__ import annotations

import itertools
import operator
import re
from dataclasses import dataclass, field

from einloom.csp.language.syntax import (
    Compare,
    Constant,
    CounterDef,
    EnumDef,
    Host,
    IntegerDef,
    Is,
    QuotientDef,
    Require,
    SetDef,
    SyntaxTree,
    TriggerDef,
)

COMPARE = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass
class World:
    """Objects of one instance. Memberships: `(set, owners) -> names`; `added` by each extension."""

    root: dict[tuple[str, tuple[str, ...]], list[str]]
    added: dict[str, dict[tuple[str, tuple[str, ...]], list[str]]] = field(default_factory=dict)
    host: dict[str, object] = field(default_factory=dict)


class Oracle:
    """Says which full assignments are solutions."""

    def __init__(self, tree: SyntaxTree, world: World) -> None:
        self.tree = tree
        self.world = world
        self.sets = {each.name: each for each in tree.statements if isinstance(each, (SetDef, QuotientDef))}
        self.choices = {
            each.name: each for each in tree.statements if isinstance(each, (EnumDef, IntegerDef, CounterDef))
        }
        self.marks = {each.representative: each for each in tree.statements if isinstance(each, QuotientDef)}
        self._grounded = {}
        self._code = {}
        self.order = []
        for source in (world.root, *world.added.values()):
            for names in source.values():
                self.order += [name for name in names if name not in self.order]

    def members(self, name: str, owners: tuple[str, ...], alive: frozenset[str]) -> list[str]:
        found: list[str] = []
        for source in (self.world.root, *(self.world.added[key] for key in sorted(alive))):
            for (set_name, set_owners), names in source.items():
                if set_owners == owners and self._inside(set_name, name):
                    found += [each for each in names if each not in found]
        return sorted(found, key=self.order.index)

    def _inside(self, name: str, wanted: str) -> bool:
        while name != wanted:
            definition = self.sets[name]
            if isinstance(definition, QuotientDef) or definition.superset is None:
                return False
            name = definition.superset.name
        return True

    def tuples(self, parameters, alive, start=()):
        """Yield the bindings of distinct objects; a quotient counts as its base set."""
        bindings = [dict(start)]
        for parameter in parameters:
            name = parameter.set.name
            while isinstance(self.sets[name], QuotientDef):
                name = self.sets[name].item.set.name
            plain = not isinstance(self.sets[parameter.set.name], QuotientDef)
            bindings = [
                {**binding, parameter.variable: each}
                for binding in bindings
                for each in self.members(
                    name, tuple(binding[a] for a in parameter.set.arguments) if plain else (), alive
                )
                if each not in binding.values()
            ]
        return bindings

    def variables(self, alive) -> list[tuple[str, tuple[str, ...]]]:
        """Return the decisions of the alive objects, (anti)symmetric ones in stored direction."""
        found = []
        for name, definition in self.choices.items():
            if isinstance(definition, CounterDef):
                continue
            for binding in self.tuples(definition.parameters, alive):
                objects = tuple(binding.values())
                if getattr(definition, "symmetry", None) and self.order.index(objects[-2]) > self.order.index(
                    objects[-1]
                ):
                    continue
                found.append((name, objects))
        return found

    def values(self, variable) -> list:
        name, objects = variable
        definition = self.choices[name]
        if isinstance(definition, EnumDef):
            return [value.name for value in definition.values]
        binding = {parameter.variable: each for parameter, each in zip(definition.parameters, objects)}
        return sorted(set(self.host(definition.universe, binding)))

    def host(self, host: Host, binding):
        if host.text not in self._code:
            text = re.sub(r"\$(\w+)", lambda match: f"_{match.group(1)}", host.text)
            self._code[host.text] = compile(text, "<oracle>", "eval")
        return eval(self._code[host.text], self.world.host, {f"_{name}": each for name, each in binding.items()})

    def read(self, assignment, name, objects):
        definition = self.choices.get(name)
        if (name, objects) in assignment:
            return assignment[name, objects]
        assert isinstance(definition, EnumDef) and definition.symmetry, (name, objects)
        value = assignment[name, (*objects[:-2], objects[-1], objects[-2])]
        pairs = dict(definition.mapping) | {b: a for a, b in definition.mapping}
        return pairs.get(value, value)

    def holds(self, condition, binding, assignment, alive) -> bool:
        match condition:
            case Constant():
                return condition.value
            case Host():
                return bool(self.host(condition, binding))
            case Is():
                objects = tuple(binding[each] for each in condition.choice.arguments)
                name = condition.choice.name
                if name in self.marks:
                    value = "TRUE" if self.mark(name, objects, assignment, alive) else "FALSE"
                    return (value in condition.values) != condition.negated
                wanted = set()
                for value in condition.values:
                    aliases = {alias.name: alias.values for alias in self.choices[name].aliases}
                    wanted |= set(aliases.get(value, (value,)))
                return (self.read(assignment, name, objects) in wanted) != condition.negated
            case Compare():
                left = self.number(condition.left, binding, assignment, alive)
                if isinstance(condition.right, Host):
                    right = self.host(condition.right, binding)
                else:
                    right = self.number(condition.right, binding, assignment, alive)
                return COMPARE[condition.operator](left, right)
        raise AssertionError(condition)

    def number(self, reference, binding, assignment, alive):
        objects = tuple(binding[each] for each in reference.arguments)
        if isinstance(self.choices.get(reference.name), CounterDef):
            return self.count(reference.name, objects, assignment, alive)
        return self.read(assignment, reference.name, objects)

    def count(self, name, objects, assignment, alive) -> int:
        definition = self.choices[name]
        start = {parameter.variable: each for parameter, each in zip(definition.parameters, objects)}
        product = definition.operation == "mul"
        total = self.host(definition.base, start) if definition.base else int(product)
        for binding in self.tuples(definition.quantifiers, alive, start):
            if not self.in_quotients(definition.quantifiers, binding, assignment, alive):
                continue
            if all(self.holds(each, binding, assignment, alive) for each in definition.conditions):
                increment = definition.increment
                value = (
                    self.host(increment, binding)
                    if isinstance(increment, Host)
                    else self.number(increment, binding, assignment, alive)
                )
                total = total * value if product else total + value
        return total

    def in_quotients(self, parameters, binding, assignment, alive) -> bool:
        for parameter in parameters:
            definition = self.sets[parameter.set.name]
            if isinstance(definition, QuotientDef):
                objects = (*(binding[each] for each in parameter.set.arguments), binding[parameter.variable])
                if not self.mark(definition.representative, objects, assignment, alive):
                    return False
        return True

    def mark(self, name, objects, assignment, alive) -> bool:
        quotient = self.marks[name]
        start = {parameter.variable: each for parameter, each in zip(quotient.parameters, objects)}
        item = quotient.item.variable

        def meets(each):
            binding = {**start, item: each}
            return all(self.holds(condition, binding, assignment, alive) for condition in quotient.conditions)

        def equivalent(each):
            aliases = {alias.name: alias.values for alias in self.choices[quotient.equivalence].aliases}
            wanted = {v for value in quotient.equivalence_values for v in aliases.get(value, (value,))}
            return self.read(assignment, quotient.equivalence, (each, objects[-1])) in wanted

        lower = [
            binding[item]
            for binding in self.tuples([quotient.item], alive, start)
            if self.order.index(binding[item]) < self.order.index(objects[-1])
        ]
        return meets(objects[-1]) and not any(meets(each) and equivalent(each) for each in lower)

    def fired(self, assignment, alive) -> frozenset[str]:
        """Return the extensions that awake objects fire."""
        found: set[str] = set()
        while True:
            more = set(found)
            for trigger in self.tree.statements:
                if not isinstance(trigger, TriggerDef):
                    continue
                for binding in self.tuples(trigger.quantifiers, frozenset(found)):
                    key = self.host(trigger.callback, binding)
                    if key is None or not self.in_quotients(trigger.quantifiers, binding, assignment, alive):
                        continue
                    if all(self.holds(each, binding, assignment, alive) for each in trigger.conditions):
                        more.add(key)
            if more == found or not more <= alive:
                return frozenset(more)
            found = more

    def satisfied(self, assignment, alive) -> bool:
        """Whether every constraint holds."""
        return all(
            any(self.holds(each, binding, assignment, alive) for each in clause)
            or not self.in_quotients(quantifiers, binding, assignment, alive)
            or (owner is not None and self.read(assignment, owner[0], owner[1]) not in owner[2])
            for quantifiers, binding, clause, owner in self.grounded(alive)
        )

    def grounded(self, alive):
        """Return all clauses for all objects: quantifiers, binding, conditions, and the value that requires it."""
        if alive not in self._grounded:
            found = []
            for statement in self.tree.statements:
                if isinstance(statement, Require):
                    found += self._ground(statement, {}, None, alive)
                elif isinstance(statement, EnumDef):
                    for value in (*statement.values, *statement.aliases):
                        covered = getattr(value, "values", (value.name,))
                        for requirement in value.requirements:
                            for binding in self.tuples(statement.parameters, alive):
                                owner = (statement.name, tuple(binding.values()), covered)
                                found += self._ground(requirement, binding, owner, alive)
            self._grounded[alive] = found
        return self._grounded[alive]

    def _ground(self, statement, start, owner, alive):
        return [
            (statement.quantifiers, binding, clause, owner)
            for binding in self.tuples(statement.quantifiers, alive, start)
            for clause in statement.clauses
        ]

    def solutions(self) -> list[tuple[frozenset[str], dict]]:
        """Return all solutions: awake extensions and assignment."""
        found = []
        keys = list(self.world.added)
        for size in range(len(keys) + 1):
            for chosen in itertools.combinations(keys, size):
                alive = frozenset(chosen)
                try:
                    variables = self.variables(alive)
                except KeyError:
                    continue
                for values in itertools.product(*(self.values(each) for each in variables)):
                    assignment = dict(zip(variables, values))
                    if self.satisfied(assignment, alive) and self.fired(assignment, alive) == alive:
                        found.append((alive, assignment))
        return found
