"""`Space` and `Candidate`: a kernel's implementations on a device, and sets of them, for people.

A candidate is an immutable vector of domains. Restricting one decision narrows the others; decisions commute, so two
candidates reached in different orders are equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

from einloom import csp
from einloom.errors import DeadEnd, EinloomError, ScheduleError
from einloom.ir.nest import Nest
from einloom.space.assignment import Assignment
from einloom.space.backbone import Backbone
from einloom.space.checker import violations
from einloom.space.decode import decode
from einloom.space.descent import PAPER_ORDER, decision_slots
from einloom.space.device import GpuDevice
from einloom.space.instance import gpu_problem, gpu_space_text
from einloom.space.kernels import Kernel
from einloom.space.model import Bound, GpuModel
from einloom.space.saved import Saved
from einloom.space.summary import as_html, as_text

__all__ = ["Candidate", "Space"]

Values = str | int | Iterable[str | int]
PATIENCE = 10
"""How long `complete` tries, in seconds."""


@dataclass(frozen=True, eq=False)
class Space:
    """All implementations of a kernel on a device.

    Attributes:
        kernel: what is computed.
        device: the limits.
        order: groups of choices, in the order in which searches take decisions.
    """

    kernel: Kernel
    device: GpuDevice
    order: tuple[str, ...] = PAPER_ORDER

    @property
    def name(self) -> str:
        """The kernel with its sizes."""
        return self.kernel.name

    @cached_property
    def problem(self) -> csp.Problem:
        """The constraint problem behind the space."""
        return gpu_problem(self.backbone, self.device)

    @property
    def backbone(self) -> Backbone:
        """What the kernel computes, without decisions."""
        return self.kernel.backbone

    @cached_property
    def root(self) -> Candidate:
        """The candidate that holds every implementation."""
        return Candidate(self, self.problem.root)

    @cached_property
    def _slots(self) -> dict[tuple[str, ...], tuple[int, ...]]:
        return {}

    def slots(self, order: Sequence[str] | str | None = None) -> tuple[int, ...]:
        """Return the engine's slots of all decisions in an order of groups; None is the space's own order.

        Raises:
            ScheduleError: a group names no choice.
        """
        named = order.split(",") if isinstance(order, str) else order
        groups = self.order if named is None else tuple(group.strip() for group in named)
        if groups not in self._slots:
            self._slots[groups] = decision_slots(self.problem, groups)
        return self._slots[groups]

    def random_leaf(self, seed: int | Random = 0) -> Candidate:
        """Return a leaf, by uniform random decisions from the root; see `Candidate.complete`."""
        return self.root.complete(seed)

    def decided(self, state: csp.State) -> dict[str, str | int]:
        """Return the decisions of a state of the engine that have one value, by name."""
        alive, domains = state.alive, state.domains
        return {
            name: values[domains[slot].bit_length() - 1]
            for name, slot, values, needed in self._variables
            if needed & alive == needed and not domains[slot] & (domains[slot] - 1)
        }

    @cached_property
    def _variables(self) -> list[tuple[str, int, tuple[str | int, ...], int]]:
        """For each decision its name, slot and values, and the bits of the extensions that it needs."""
        bits = {key: 1 << position for position, key in enumerate(self.problem.extensions)}
        return [
            (each.name, each.slot, each.values, sum(bits[key] for key in each.extensions))
            for each in self.problem.variables
        ]

    @cached_property
    def model(self) -> GpuModel:
        """What bounds the times of this space's candidates.

        Raises:
            ScheduleError: the device has no rates.
        """
        if self.device.rates is None:
            raise ScheduleError(f"{self.device.name} has no rates to bound times with\n  Give it `rates=GpuRates(…)`.")
        return GpuModel(self.problem, self.backbone, self.device, self.device.rates)

    @cached_property
    def digest(self) -> str:
        """A hash of the backbone, the device's limits and the text of the constraints."""
        told = f"{self.backbone!r}\n{self.device!r}\n{gpu_space_text()}"
        return sha256(told.encode()).hexdigest()[:16]

    def load(self, path: str | Path) -> Candidate:
        """Return the candidate that `Candidate.save` wrote."""
        return self.from_json(Path(path).read_text(encoding="utf-8"))

    def from_json(self, text: str) -> Candidate:
        """Return the candidate that `Candidate.to_json` describes; decisions count by their names.

        Raises:
            ScheduleError: it is no such text, it belongs to another kernel or device, or its decisions leave nothing.
        """
        saved = Saved.parse(text)
        saved.check(self.backbone.name, dict(self.kernel.options), self.device.name)
        try:
            return self.root.apply(saved.decisions)
        except EinloomError as error:
            if saved.space == self.digest:
                raise
            raise ScheduleError(
                f"these decisions were taken in another version of this space ({saved.space}; here {self.digest}), "
                f"and do not hold in this one\n  {error}"
            ) from None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Space):
            return NotImplemented
        return (self.name, self.device, self.backbone) == (other.name, other.device, other.backbone)

    def __hash__(self) -> int:
        return hash((self.name, self.device))

    def __repr__(self) -> str:
        counts = f"{len(self.backbone.instructions)} instructions, {len(self.backbone.dimensions)} dimensions"
        return f"space {self.name} on {self.device.name}: {counts}, {len(self.root.open)} open decisions"


@dataclass(frozen=True, eq=False)
class Candidate:
    """A partially specified implementation.

    Attributes:
        space: where it belongs.
        inner: the engine's vector of domains.
    """

    space: Space
    inner: csp.Domains

    @property
    def open(self) -> dict[str, tuple[str | int, ...]]:
        """The decisions that are not taken yet, with the values that are left."""
        return self.inner.open

    @property
    def is_leaf(self) -> bool:
        """Whether every decision is taken: one implementation."""
        return self.inner.is_leaf

    @property
    def decisions(self) -> dict[str, tuple[str | int, ...]]:
        """The decisions that led here from the root; the others followed."""
        names, found = self.space.problem.names, dict[str, tuple[str | int, ...]]()
        for name, values in self.inner.decisions:
            if name in found:
                variable = names.variable(name)
                values = names.values(variable, names.mask(variable, found[name]) & names.mask(variable, values))
            found[name] = values
        return found

    @cached_property
    def assignment(self) -> dict[str, str | int]:
        """Every decision that has one value, by name."""
        return self.space.decided(self.inner.state())

    def domain(self, name: str) -> tuple[str | int | None, ...]:
        """Return the values that a decision still has; of a counter, `(low, high)`, high None if it has no limit."""
        return self.inner.domain(name)

    def restrict(self, name: str, values: Values) -> Candidate:
        """Return the candidate that keeps only some values of one decision.

        Raises:
            DeadEnd: nothing is left; the message names the constraint and the decisions.
        """
        return Candidate(self.space, self.inner.restrict(name, _listed(name, values)))

    def apply(self, expert: Mapping[str, Values]) -> Candidate:
        """Return the candidate in which an expert's decisions are fixed, by name; their order does not matter.

        Raises:
            DeadEnd: nothing is left; the message names the constraint and the decisions.
            ScheduleError: `expert` is no mapping.
        """
        decisions: Any = expert
        if not isinstance(decisions, Mapping):
            raise ScheduleError(f"decisions are {decisions!r}\n  Give a mapping of their names to values.")
        state, taken = self.inner.state(), list(self.inner.decisions)
        for name, given in expert.items():
            values = _listed(name, given)
            if not state.restrict_name(name, *values):
                given_all = {each: _listed(each, some) for each, some in expert.items()}
                return Candidate(self.space, self.inner.apply(given_all))
            taken.append((name, values))
        return Candidate(self.space, csp.Domains(self.space.problem, state.snapshot(), tuple(taken)))

    def why(self, name: str, value: str | int) -> csp.Reason | None:
        """Say which constraint and which decisions took a value away; None if it is still there."""
        return self.inner.why(name, value)

    def complete(self, seed: int | Random = 0) -> Candidate:
        """Return a leaf below this candidate, by random decisions: uniform until they meet dead ends (`csp.complete`).

        Raises:
            DeadEnd: there is none, or none was found in `PATIENCE` seconds.
        """
        random = seed if isinstance(seed, Random) else Random(seed)
        problem, state = self.space.problem, self.inner.state()
        path: list[tuple[int, int]] = []
        if not csp.complete(state, random, self.space.slots(), path, seconds=PATIENCE):
            raise DeadEnd(f"random descents from this candidate met dead ends for {PATIENCE} s\n  Undo a decision.")
        taken = [(problem.describe(slot).name, self._values(slot, mask)) for slot, mask in path]
        return Candidate(self.space, csp.Domains(problem, state.snapshot(), (*self.inner.decisions, *taken)))

    def _values(self, slot: int, mask: int) -> tuple[str | int, ...]:
        values = self.space.problem.describe(slot).values
        return tuple(value for position, value in enumerate(values) if mask >> position & 1)

    def nest(self) -> Nest:
        """Return the one nest of a leaf.

        Raises:
            ScheduleError: decisions are still open.
        """
        if not self.is_leaf:
            raise ScheduleError(
                f"{len(self.open)} decisions are open, so this is no single implementation\n  Restrict them."
            )
        return decode(Assignment(self.space.backbone, self.assignment))

    def bound(self, above: Bound | None = None) -> Bound:
        """Return a time that no implementation below this candidate can beat, with its reasons.

        Args:
            above: the bound of a candidate that this one was narrowed from: it holds here too.

        Raises:
            ScheduleError: the device has no rates.
        """
        return self.space.model.bound(self.inner.state(), above=above)

    def violations(self) -> tuple[str, ...]:
        """Return what the independent checker finds illegal about a leaf: nothing."""
        return violations(Assignment(self.space.backbone, self.assignment), self.space.device)

    def show(self) -> str:
        """Return a leaf as a nest of loops, and any other candidate as its table of open decisions."""
        if not self.is_leaf:
            return repr(self)
        return "\n".join(line.rstrip() for line in str(self.nest()).splitlines())

    def to_json(self) -> str:
        """Return the decisions as text, by name, with the kernel, the device and the hash of the space."""
        space = self.space
        taken = {name: list(values) for name, values in self.decisions.items()}
        options = dict(space.kernel.options)
        return Saved(space.backbone.name, options, space.device.name, space.digest, taken).text()

    def save(self, path: str | Path) -> None:
        """Write the decisions to a file, by name; `Space.load` reads it."""
        Path(path).write_text(self.to_json() + "\n", encoding="utf-8")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Candidate):
            return NotImplemented
        return self.space == other.space and self.inner.snapshot() == other.inner.snapshot()

    def __hash__(self) -> int:
        return hash((self.space, self.inner.snapshot()))

    @property
    def _headline(self) -> str:
        return f"{self.space.name}: {len(self.decisions)} decisions taken, {len(self.open)} open"

    def __repr__(self) -> str:
        return as_text(self._headline, self.open)

    def _repr_html_(self) -> str:
        return as_html(self._headline, self.open)


def _listed(name: str, given: Values) -> tuple[str | int, ...]:
    """Return one value or several as a tuple.

    Raises:
        ScheduleError: there is none, or it is neither text nor a whole number.
    """
    several: Any = given
    try:
        values: tuple[Any, ...] = (several,) if isinstance(several, str | int) else tuple(several)
    except TypeError:
        values = ()
    if not values or not all(isinstance(each, str | int) for each in values):
        raise ScheduleError(f"{name} = {given!r}\n  Give a value, or a list of values, as texts or whole numbers.")
    return values
