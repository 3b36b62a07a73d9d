"""What the reasons on a trail say: the text of the constraint with its objects, and the slots that it read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from einloom.csp.compile.rows import Quantifier, ValueLiteral
from einloom.csp.engine.counters import Counter
from einloom.csp.engine.disjunction import CounterPart, Disjunction
from einloom.csp.engine.ground import Ground
from einloom.csp.engine.linebinding import LineBinding
from einloom.csp.engine.lowering import Trigger
from einloom.csp.engine.quotients import Quotient
from einloom.csp.engine.relation import Relation
from einloom.csp.engine.state import Decision
from einloom.csp.engine.truth import Table

if TYPE_CHECKING:
    from einloom.csp.engine.problem import Problem

__all__ = ["describe"]

Description = tuple[str, tuple[int, ...]]


def describe(problem: Problem, reason: Any, slot: int | None, lost: int, masks: Sequence[int]) -> Description:
    """Return what a reason says, and the slots that it read; lowering i counts as slot -1 - i.

    Args:
        slot: the slot that changed; None if a constraint failed without one.
        lost: the values that it lost.
        masks: all domains before the change.
    """
    match reason:
        case Decision():
            return "decided", (reason.slot,)
        case Trigger():
            key = problem.members.lowerings[reason.lowering].key
            said = f"lowering {key!r} wakes  [{reason.row.place}]"
            return said, (*(each for each, _ in reason.literals), *_needs(reason.need))
        case Counter():
            return _limit(problem, reason, masks)
        case Disjunction():
            counted = [part.counter for part in reason.others if isinstance(part, CounterPart)]
            inner = [each for number in counted for each in _counted(problem.counters.all[number])]
            return _clause(problem, *reason.source), (*reason.slots, *inner, *_needs(reason.need))
        case (Ground() as ground, _):
            sources = ground.sources.get(() if slot is None else (slot,), [])
            return _joined(_clause(problem, *source) for source in sources), _needs(ground.need)
        case (Table(), *slots, int(need)):
            return _table(problem, tuple(slots), need, slot, lost, masks), (*slots, *_needs(need))
        case (Relation() as relation, cause):
            return _relation(problem, relation, cause, slot)
        case (LineBinding() as line, int() as free, first, second):
            return _line(problem, line, free, (first, second), slot)
        case (Quotient() as quotient, each):
            return _quotient(problem, quotient, each)
    return "a limit that was set", ()


def _needs(need: int) -> tuple[int, ...]:
    return tuple(-1 - i for i in range(need.bit_length()) if need >> i & 1)


def _counted(counter: Counter) -> tuple[int, ...]:
    slots = [each for term in counter.terms for each, _ in term.literals]
    return (*slots, *(term.slot for term in counter.terms if term.slot >= 0), *_needs(counter.need))


def _limit(problem: Problem, counter: Counter, masks: Sequence[int]) -> Description:
    """Describe a counter by the constraints that limit it in these domains."""
    limits = [
        each
        for each in problem.watching.disjunctions
        if any(isinstance(part, CounterPart) and part.counter == counter.number for part in each.others)
        and not any(masks[slot] & mask for slot, mask in each.values)
    ]
    slots = [slot for each in limits for slot in each.slots]
    if not limits:
        return f"a limit of {problem.counters.name(counter.number)}  [{counter.row.place}]", _counted(counter)
    return _joined(_clause(problem, *each.source) for each in limits), (*_counted(counter), *slots)


def _joined(texts: Iterable[str]) -> str:
    return "; ".join(list(dict.fromkeys(texts))[:3]) or "a constraint"


def _clause(problem: Problem, number: int, objects: tuple[int, ...]) -> str:
    row = problem.space.clauses[number]
    return f"{_named(problem, row.text, row.quantifiers, objects)}  [{row.place}]"


def _named(problem: Problem, text: str, quantifiers: Sequence[Quantifier], objects: tuple[int, ...]) -> str:
    """Put the names of objects where the variables stand."""
    names = [(quantifier.variable, problem.members.names[each]) for quantifier, each in zip(quantifiers, objects)]
    for variable, name in sorted(names, key=lambda pair: -len(pair[0])):
        text = text.replace(f"${variable}", name)
    return text


def _table(
    problem: Problem, slots: tuple[int, ...], need: int, slot: int | None, lost: int, masks: Sequence[int]
) -> str:
    """Return the clauses of a table that remove the values on their own; all of them if none does."""
    sources = problem.ground(need).sources.get(slots, [])
    alone = [source for source in sources if _removes(problem, source, slots, slot, lost, masks)]
    return _joined(_clause(problem, *source) for source in alone or sources)


def _removes(
    problem: Problem,
    source: tuple[int, tuple[int, ...]],
    slots: tuple[int, ...],
    slot: int | None,
    lost: int,
    masks: Sequence[int],
) -> bool:
    table = problem.single_table(source, slots)
    narrowed = table[tuple(masks[each] for each in slots)]
    return bool(narrowed) and slot is not None and bool(lost & ~narrowed[slots.index(slot)])


def _relation(problem: Problem, relation: Relation, cause: int, slot: int | None) -> Description:
    objects = set(relation.ends[cause][:2])
    slots = {cause}
    if slot is not None:
        objects |= set(relation.ends[slot][:2])
        slots |= {relation.slots[x * relation.objects + y] for x in objects for y in objects if x != y} - {-1}
    names = ", ".join(problem.members.names[each] for each in sorted(objects))
    text = f"{relation.row.choice} among {names}  [{relation.row.place}]"
    return text, (*slots, *(each for number in slots for each in _needs(problem.layout.need_of[number])))


def _line(problem: Problem, line: LineBinding, free: int, fixed: tuple[int, int], slot: int | None) -> Description:
    """Describe a line clause for the third object that the changed slot tells; for all, if it does not tell."""
    found: set[int] = set()
    tuples = []
    for third in _thirds(problem, line, free, fixed, slot):
        objects = list(fixed)
        objects.insert(free, third)
        tuples.append(tuple(objects))
        for literal in line.clause.literals:
            assert isinstance(literal, ValueLiteral)
            found.add(problem.layout.find(literal.choice, tuple(objects[each] for each in literal.arguments))[0])
    needs = [each for number in found for each in _needs(problem.layout.need_of[number])]
    return _clause(problem, line.number, tuples[0]), (*found, *needs)


def _thirds(problem: Problem, line: LineBinding, free: int, fixed: tuple[int, int], slot: int | None) -> list[int]:
    members = problem.members.sets[line.clause.quantifiers[free].set].get((), {})
    mentioned = set() if slot is None else set(problem.layout.objects_of[slot]) - set(fixed)
    return sorted(mentioned & set(members)) or [each for each in sorted(members) if each not in fixed]


def _quotient(problem: Problem, quotient: Quotient, each: int) -> Description:
    slots = [quotient.marks[each], *(slot for slot, _ in quotient.fixed)]
    for other in quotient.marks:
        if other <= each:
            slots += [condition.slots[other][0] for condition in quotient.conditions]
            if other < each:
                slots.append(quotient.slots[other, each])
    name = problem.layout.name(quotient.marks[each])
    return f"{name} marks the representatives of {quotient.row.name}  [{quotient.row.place}]", tuple(slots)
