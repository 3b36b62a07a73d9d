"""Random small spaces with every construct of the language, each with an instance and the oracle's view of it."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from einloom.csp import Extension, Instance, Problem, parse_space
from tests.csp.oracle import Oracle, World

MOST_ASSIGNMENTS = 6000


@dataclass
class Sample:
    """One random space: its text, the problem that the engine makes of it and the oracle for it."""

    text: str
    problem: Problem
    oracle: Oracle


class _Builder:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.lines: list[str] = []
        self.enums: dict[str, tuple[list[str], list[str]]] = {}
        self.integers: dict[str, list[str]] = {}

    def some(self, items, least=1):
        return self.random.sample(items, self.random.randint(least, len(items)))

    def enum(self, name, sets, values, symmetry=""):
        parameters = ", ".join(f"$p{i} in {each}" for i, each in enumerate(sets))
        self.lines.append(f"choice enum {name}({parameters}):")
        if symmetry:
            self.lines.append(f"  {symmetry}")
        self.lines += [f"  value {value}:" for value in values]
        if len(values) > 2 and self.random.random() < 0.5:
            self.lines.append(f"  alias {name}_SOME = {' | '.join(values[1:])}:")
        self.lines.append("end")
        self.enums[name] = (sets, values)

    def arguments(self, sets, scope):
        """Draw distinct variables of a scope (name -> set) for the parameters of a choice."""
        found: list[str] = []
        for wanted in sets:
            fits = [each for each, place in scope.items() if each not in found and (place == wanted or wanted == "A")]
            if not fits:
                return None
            found.append(self.random.choice(fits))
        return ", ".join(f"${each}" for each in found)

    def condition(self, scope, plain=False):
        """Draw a condition over the variables of a scope; None if none fits."""
        kind = self.random.random()
        if kind < 0.1 and not plain and scope:
            variable = self.random.choice(list(scope))
            return f"\"${variable} != '{self.random.choice(['a0', 'a1', 'b0'])}'\""
        if kind < 0.3 and not plain:
            name, sets = self.random.choice(list(self.integers.items()))
            arguments = self.arguments(sets, scope)
            operator = self.random.choice(["==", "<=", ">", "!="])
            return arguments and f'{name}({arguments}) {operator} "{self.random.choice([2, 3, 4])}"'
        if kind < 0.45 and not plain:
            table = self.integers if self.random.random() < 0.5 else self.enums
            name = self.random.choice(list(table))
            sets = table[name][0] if table is self.enums else table[name]
            one, other = self.arguments(sets, scope), self.arguments(sets, scope)
            operator = self.random.choice(["==", "!="] if table is self.enums else ["==", "<", ">=", "!="])
            return one and other and f"{name}({one}) {operator} {name}({other})"
        name = self.random.choice(list(self.enums))
        sets, values = self.enums[name]
        arguments = self.arguments(sets, scope)
        negation = self.random.choice(["", "not "])
        return arguments and f"{name}({arguments}) is {negation}{' | '.join(self.some(values)[: len(values) - 1])}"

    def conditions(self, scope, count, plain=False):
        found = [self.condition(scope, plain) for _ in range(count)]
        return [each for each in found if each]

    def requirement(self):
        sets = [self.random.choice(["A", "B"]) for _ in range(self.random.choice([1, 2, 2, 3]))]
        scope = {f"x{i}": each for i, each in enumerate(sets)}
        head = " ".join(f"forall $x{i} in {each}:" for i, each in enumerate(sets))
        clause = self.conditions(scope, self.random.choice([1, 2, 2, 3, 4]))
        if clause:
            self.lines.append(f"require {head} {' || '.join(clause)}")

    def counter(self):
        operation = self.random.choice(["sum", "mul"])
        half = self.random.choice(["", "half "])
        scope = {"x": self.random.choice(["A", "B"])}
        increment = self.random.choice(['"2"', "n($x)", '"len($x)"']) if scope["x"] == "B" else '"2"'
        head = f"forall $x in {scope['x']}:"
        if self.random.random() < 0.5:
            scope["y"] = "A"
            head += " forall $y in A:"
        when = " && ".join(self.conditions(scope, self.random.choice([0, 1, 2, 2, 3]), plain=True))
        self.lines.append(f"choice {half}counter total():")
        self.lines.append(f"  {head} {operation} {increment} {'when: ' + when if when else ''}")
        self.lines.append("end")
        operator = self.random.choice(["<=", "<"] if half else ["<=", ">=", "=="])
        bound = self.random.choice([2, 4, 6])
        guard = self.condition({}, plain=True)
        self.lines.append(f'require {guard + " || " if guard else ""}total() {operator} "{bound}"')

    def quotient(self, values):
        when = self.conditions({"x": "A"}, 1, plain=True) or ['"True"']
        self.lines.append(f"quotient Q of $x in A: marked = {' && '.join(when)} / same is {values} end")
        if self.random.random() < 0.7:
            self.lines.append('choice half counter classes(): forall $x in A: sum "1" when: marked($x) is TRUE end')
            self.lines.append(f'require classes() <= "{self.random.choice([1, 2])}"')
        if self.random.random() < 0.5:
            clause = self.conditions({"x": "A"}, 2)
            if clause:
                self.lines.append(f"require forall $x in Q: {' || '.join(clause)}")


def sample(seed: int, triggers: bool | None = None) -> Sample | None:
    """Return the random space of a seed; None if it has too many assignments for brute force."""
    random = Random(seed)
    builder = _Builder(random)
    builder.lines.append("set A: end set B subsetof A: end")
    builder.enum("kind", ["A"], ["K0", "K1", "K2"][: random.choice([2, 3])])
    if random.random() < 0.5:
        builder.enum("same", ["A", "A"], ["YES", "NO"], "symmetric")
        equivalence = "YES"
    else:
        builder.enum("same", ["A", "A"], ["LESS", "MORE", "EQUAL"], "antisymmetric: LESS -> MORE")
        equivalence = "EQUAL"
        if random.random() < 0.7:
            builder.lines.append(
                "require forall $a in A: forall $b in A: forall $c in A:"
                " same($a, $c) is LESS || same($a, $b) is not LESS || same($b, $c) is not LESS"
                " same($a, $c) is EQUAL || same($a, $b) is not EQUAL || same($b, $c) is not EQUAL"
            )
    builder.lines.append('choice integer n($b in B): "sizes[$b]" end')
    builder.integers["n"] = ["B"]
    for _ in range(random.choice([1, 2, 3, 4])):
        builder.requirement()
    if random.random() < 0.6:
        builder.quotient(equivalence)
    if random.random() < 0.6:
        builder.counter()
    added: dict[str, dict] = {}
    if triggers if triggers is not None else random.random() < 0.5:
        when = " && ".join(builder.conditions({"x": "A"}, random.choice([1, 2]), plain=True))
        if when:
            builder.lines.append(f'trigger forall $x in A: "lower($x)" when {when}')
            added["low"] = {("A", ()): ["z0"]}
            if random.random() < 0.4:
                added["deep"] = {("B", ()): ["z1"]}
    text = "\n".join(builder.lines)
    root = {("A", ()): ["a0", "a1"][: random.choice([1, 2])], ("B", ()): ["b0", "b1"][: random.choice([1, 1, 2])]}
    return _sample(text, root, added, random)


def _sample(text: str, root: dict, added: dict[str, dict], random: Random) -> Sample | None:
    sizes = {name: random.sample([1, 2, 3, 4, 6], random.choice([1, 2, 3])) for name in ("b0", "b1", "z1")}
    keys = {"a0": "low", "b0": "low", "z0": "deep" if "deep" in added else None}

    def key(name):
        return keys.get(name) if added else None

    def lower(name):
        if key(name) is None:
            return None
        extension = Extension(key(name))
        for (set_name, owners), names in added[key(name)].items():
            for each in names:
                extension.add(set_name, each, of=owners)
        return extension

    space = parse_space(text, "sample")
    instance = Instance(space, host={"sizes": sizes, "lower": lower})
    for (set_name, _), names in root.items():
        for each in names:
            instance.add(set_name, each)
    oracle = Oracle(space.definition, World(root, added, {"sizes": sizes, "lower": key}))
    alive = frozenset(added)
    count = 1
    for variable in oracle.variables(alive):
        count *= len(oracle.values(variable))
    if count > MOST_ASSIGNMENTS:
        return None
    return Sample(text, instance.freeze(), oracle)
