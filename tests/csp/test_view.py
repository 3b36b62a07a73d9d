"""Views: objects as bits and sizes as ranges, always what a plain reading of the state gives, across undo and jumps."""

from __future__ import annotations

from math import gcd, lcm
from random import Random

from einloom.csp import Instance, Problem, State, View, descend, parse_space
from einloom.csp.propagators.store import GONE
from tests.csp.test_commutation import lowered_problem, walk
from tests.csp.test_domains import TEXT

CHOICES = ("kind", "order", "place")


def read(problem: Problem, state: State, choice: str, mask: int, of: tuple[int, ...]) -> tuple[int, int]:
    """Read `(may, must)` object by object, by name."""
    may = must = 0
    gone = state.numbers[GONE]
    for number, name in enumerate(problem.members.names):
        if number in of:
            continue
        try:
            variable = problem.variable(f"{choice}({', '.join([*(problem.members.names[each] for each in of), name])})")
        except KeyError:
            continue
        domain, need = problem.layout.domain_of[variable.slot], problem.layout.need_of[variable.slot]
        left = domain.seen(state.domains[variable.slot], variable.flipped)
        may |= (left & mask != 0 and not need & state.asleep & gone) << number
        must |= (left & ~mask == 0 and not need & state.asleep) << number
    return may, must


def check(problem: Problem, state: State, view: View, random: Random) -> None:
    for choice in CHOICES:
        keys = {objects[:-1] for objects in problem.layout.choices[choice].slots}
        for of in keys | {(each,) for each in range(len(problem.members.items)) if choice == "order"}:
            mask = random.randrange(8)
            assert (view.may(choice, mask, *of), view.must(choice, mask, *of)) == read(problem, state, choice, mask, of)


def test_a_view_is_what_a_plain_reading_gives():
    problem = lowered_problem()
    state = problem.state()
    view, woke, packs = View(state, CHOICES), 0, [state.pack()]
    for seed in range(40):
        random = Random(seed)
        state.push()
        _, alive = walk(state, random, 0.05)
        if alive:
            before = view.domains
            assert view.refresh() == [i for i, (a, b) in enumerate(zip(before, state.domains)) if a != b]
            assert view.refresh() == []
            check(problem, state, view, random)
            packs.append(state.pack())
            woke += state.alive > 0
        state.pop()
        view.refresh()
        check(problem, state, view, random)
        if seed % 5 == 4:
            state.unpack(random.choice(packs))
            view.refresh()
            check(problem, state, view, random)
            state.unpack(packs[0])
    assert woke > 5 and len(packs) > 20


def test_sizes_are_sure():
    instance = Instance(parse_space(TEXT, "loops"))
    for name in "ijk":
        instance.add("Dims", name)
    problem = instance.freeze()
    slots = [problem.variable(f"size({name})").slot for name in "ijk"]
    state = problem.state()
    view = View(state, ())
    for seed in range(20):
        state.push()
        bounds = [view.product(slots)]
        for slot in slots:
            state.restrict(slot, Random(seed).choice([0b011, 0b110, 0b101]))
            view.refresh()
            values = [int(each) for each in problem.layout.domain_of[slot].select(state.domains[slot])]
            sizes = view.sizes(slot)
            assert (sizes.least, sizes.most) == (min(values), max(values))
            assert (sizes.divisor, sizes.multiple) == (gcd(*values), lcm(*values))
            bounds.append(view.product(slots))
        assert descend(state, Random(seed))
        view.refresh()
        leaf = view.product(slots)
        for each in bounds:
            assert each.least <= leaf.least == leaf.most <= each.most
            assert leaf.most % each.divisor == 0 and each.multiple % leaf.most == 0
        state.pop()
        view.refresh()
