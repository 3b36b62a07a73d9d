"""Why a value is gone and why nothing is left: the constraint, the chain of removals, and the decisions behind them.

It walks a state's trail backwards from the removal, through what each propagator read. The chain is sufficient, not
minimal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from einloom.csp.counters import Counter
from einloom.csp.disjunction import CounterPart, Disjunction
from einloom.csp.ground import Ground
from einloom.csp.linebinding import LineBinding
from einloom.csp.lowering import Trigger
from einloom.csp.quotients import Quotient
from einloom.csp.relation import Relation
from einloom.csp.rows import ValueLiteral
from einloom.csp.state import Decision, State
from einloom.csp.truth import Table
from einloom.errors import DeadEnd

if TYPE_CHECKING:
    from einloom.csp.problem import Problem

__all__ = ["Decisions", "Reason", "dead_end", "explain_removal"]

Decisions = tuple[tuple[str, tuple[Any, ...]], ...]


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a value is gone, or why nothing is left.

    Attributes:
        constraint: text of the constraint that removed it, with its objects and its place.
        decisions: the decisions that it followed from, as `(name, values)`.
        chain: what was removed on the way and by what, in order, one line each.
    """

    constraint: str
    decisions: Decisions
    chain: tuple[str, ...]

    def __str__(self) -> str:
        lines = [self.constraint]
        if self.decisions:
            lines.append(
                "  after " + ", ".join(f"{name} = {' | '.join(map(str, values))}" for name, values in self.decisions)
            )
        return "\n".join([*lines, *(f"  {line}" for line in self.chain)])


def dead_end(state: State, decision: tuple[str, tuple[Any, ...]] | None) -> DeadEnd:
    """Return the `DeadEnd` of a state that has failed; `conflict` on it is the `Reason`."""
    reason = _explain(state, state.failure, len(state.trail), None)
    head = "no implementation is left"
    if decision is not None:
        head = f"{decision[0]} = {' | '.join(map(str, decision[1]))} leaves no implementation"
    error = DeadEnd(f"{head}: {reason}")
    error.conflict = reason  # type: ignore[attr-defined]
    return error


def explain_removal(state: State, slot: int, mask: int) -> Reason | None:
    """Return why the values of `mask` are gone from a slot; None if they are not."""
    for index in range(len(state.trail) - 1, -1, -1):
        changed, old, reason = state.trail[index]
        if changed == slot and old & mask:
            return _explain(state, reason, index, slot)
    return None


def _explain(state: State, reason: Any, end: int, slot: int | None) -> Reason:
    """Walk back from the change at `end`, which `reason` made to `slot`."""
    problem = state.problem
    text, scope = _describe(problem, reason, slot)
    wanted = set(scope)
    chain: list[str] = []
    decisions: list[tuple[str, tuple[Any, ...]]] = []
    if isinstance(reason, Decision):
        decisions.append(_decision(problem, reason))
    for index in range(end - 1, -1, -1):
        changed, old, why = state.trail[index]
        if changed not in wanted:
            continue
        if isinstance(why, Decision):
            decisions.append(_decision(problem, why))
            chain.append(f"{problem.layout.name(changed)}: decided")
            continue
        said, more = _describe(problem, why, changed)
        wanted.update(more)
        if changed >= 0:
            lost = problem.layout.domain_of[changed].select(old & ~_after(state, index, changed))
            chain.append(f"{problem.layout.name(changed)} loses {' | '.join(map(str, lost))}: {said}")
        else:
            chain.append(said)
    return Reason(text, tuple(reversed(decisions)), tuple(reversed(chain)))


def _after(state: State, index: int, slot: int) -> int:
    """Return the mask of a slot after the change at `index`."""
    for changed, old, _ in state.trail[index + 1 :]:
        if changed == slot:
            return old
    return state.domains[slot]


def _decision(problem: Problem, decision: Decision) -> tuple[str, tuple[Any, ...]]:
    domain = problem.layout.domain_of[decision.slot]
    return problem.layout.name(decision.slot), domain.select(decision.mask & domain.full)


def _describe(problem: Problem, reason: Any, slot: int | None) -> tuple[str, tuple[int, ...]]:
    """Return what a reason says, and the slots that it read; lowerings count as slots -1, -2, .."""
    match reason:
        case Decision():
            return "decided", (reason.slot,)
        case Trigger():
            keys = problem.members.lowerings[reason.lowering].key
            return f"lowering {keys!r} wakes", (*(each for each, _ in reason.literals), *_needs(reason.need))
        case Counter():
            slots = [each for term in reason.terms for each, _ in term.literals]
            slots += [term.slot for term in reason.terms if term.slot >= 0]
            return f"limit of {problem.counters.name(reason.number)}", (*slots, *_needs(reason.need))
        case Disjunction():
            text = _clause(problem, *reason.source)
            counted = [part.counter for part in reason.others if isinstance(part, CounterPart)]
            inner = [each for number in counted for each in _describe(problem, problem.counters.all[number], None)[1]]
            return text, (*reason.slots, *inner, *_needs(reason.need))
        case (Ground() as ground, _):
            places = ground.sources.get(() if slot is None else (slot,), [])
            return "; ".join(_clause(problem, *source) for source in places[:3]) or "a constraint", _needs(ground.need)
        case (Table(), *rest):
            return _table(problem, tuple(rest[:-1]), rest[-1])
        case (Relation() as relation, cause):
            return _relation(problem, relation, cause, slot)
        case (LineBinding() as line, int() as free, first, second):
            return _line(problem, line, free, (first, second), slot)
        case (Quotient() as quotient, each):
            return _quotient(problem, quotient, each)
    return "a limit that was set", ()


def _needs(need: int) -> tuple[int, ...]:
    return tuple(-1 - i for i in range(need.bit_length()) if need >> i & 1)


def _clause(problem: Problem, number: int, objects: tuple[int, ...]) -> str:
    row = problem.space.clauses[number]
    return f"{_named(problem, row.text, row.quantifiers, objects)}  [{row.place}]"


def _named(problem: Problem, text: str, quantifiers: Any, objects: tuple[int, ...]) -> str:
    """Put the names of objects where the variables stand."""
    names = [(quantifier.variable, problem.members.names[each]) for quantifier, each in zip(quantifiers, objects)]
    for variable, name in sorted(names, key=lambda pair: -len(pair[0])):
        text = text.replace(f"${variable}", name)
    return text


def _table(problem: Problem, slots: tuple[int, ...], need: int) -> tuple[str, tuple[int, ...]]:
    sources = problem.ground(need).sources.get(slots, [])
    texts = dict.fromkeys(_clause(problem, *source) for source in sources)
    return "; ".join(list(texts)[:3]) or "a constraint", (*slots, *_needs(need))


def _relation(problem: Problem, relation: Relation, cause: int, slot: int | None) -> tuple[str, tuple[int, ...]]:
    a, b = problem.layout.objects_of[cause][-2:]
    slots = {cause}
    objects = {a, b}
    if slot is not None:
        pair = problem.layout.objects_of[slot][-2:]
        objects |= set(pair)
        count = relation.objects
        slots |= {relation.slots[x * count + y] for x in objects for y in objects if x != y} - {-1}
    names = ", ".join(problem.members.names[each] for each in sorted(objects))
    text = f"{relation.row.choice} among {names}  [{relation.row.place}]"
    return text, (*slots, *(each for number in slots for each in _needs(problem.layout.need_of[number])))


def _line(
    problem: Problem, line: LineBinding, free: int, fixed: tuple[int, int], slot: int | None
) -> tuple[str, tuple[int, ...]]:
    """Describe a line clause for the third object that the changed slot tells, or for the one that failed."""
    others = [i for i in range(3) if i != free]
    clause = line.clause
    candidates = _third(problem, line, free, fixed, slot)
    slots: set[int] = set()
    for third in candidates:
        objects = [0, 0, 0]
        objects[others[0]], objects[others[1]], objects[free] = *fixed, third
        for literal in clause.literals:
            assert isinstance(literal, ValueLiteral)
            slots.add(problem.layout.find(literal.choice, tuple(objects[each] for each in literal.arguments))[0])
    objects = [0, 0, 0]
    objects[others[0]], objects[others[1]], objects[free] = *fixed, candidates[0]
    needs = [each for number in slots for each in _needs(problem.layout.need_of[number])]
    return _clause(problem, line.number, tuple(objects)), (*slots, *needs)


def _third(problem: Problem, line: LineBinding, free: int, fixed: tuple[int, int], slot: int | None) -> list[int]:
    members = problem.members.sets[line.clause.quantifiers[free].set].get((), {})
    mentioned = set() if slot is None else set(problem.layout.objects_of[slot]) - set(fixed)
    inside = sorted(mentioned & set(members))
    return inside or [each for each in sorted(members) if each not in fixed]


def _quotient(problem: Problem, quotient: Quotient, each: int) -> tuple[str, tuple[int, ...]]:
    slots = [quotient.marks[each]]
    for other in quotient.marks:
        if other <= each:
            slots += [condition.slots[other][0] for condition in quotient.conditions]
            if other < each:
                slots.append(quotient.slots[other, each])
    slots += [slot for slot, _ in quotient.fixed]
    name = problem.layout.name(quotient.marks[each])
    return f"{name} marks the representatives of {quotient.row.name}  [{quotient.row.place}]", tuple(slots)
