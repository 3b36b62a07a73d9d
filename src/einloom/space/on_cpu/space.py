"""`CpuSpace` and `CpuCandidate`: all schedules of a tensor operation, and sets of them. A leaf is a `Schedule`.

>>> from einloom.machine import AVX512
>>> from einloom.ir.text import parse_operation
>>> product = parse_operation("gemm first=zero last=none\\naxis m 96 m\\naxis n 64 n\\naxis k 32 k\\n"
...     "in0 float32 m=1 k=96\\nin1 float32 n=32 k=1\\nout float32 m=1 n=96")
>>> space = CpuSpace(product, AVX512)
>>> candidate = space.root.apply({"pack(in0)": "PACKED", "role(k)": "K", "around(in0, k.0)": "AROUND"})
>>> candidate.domain("kind(k.0)")
('SEQ',)
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from einloom import csp
from einloom.frozen import frozen
from einloom.ir.operation import Operation
from einloom.ir.schedule import Schedule
from einloom.machine import Machine
from einloom.once import cached_property
from einloom.space.on_cpu.backbone import CpuBackbone, cpu_backbone
from einloom.space.on_cpu.instance import cpu_problem, cpu_space_text
from einloom.space.on_cpu.model import CpuModel
from einloom.space.on_cpu.rates import CpuRates, cpu_rates
from einloom.space.on_cpu.schedules import decisions_of, schedule_of
from einloom.space.on_cpu.work import Lowered
from einloom.space.partial import PartialImplementation, SearchSpace

__all__ = ["CPU_ORDER", "CpuCandidate", "CpuSpace"]

CPU_ORDER = (
    "manner",
    "walked",
    "role",
    "kind",
    "step",
    "pack",
    "around",
    "order",
    "digit",
    "rows",
    "layout",
    "scratch",
    "curve",
    "form",
    "dimension",
    "ways",
    "threads",
    "policy",
    "sized",
    "chunk",
    "barrier",
)
"""The order of decisions: what bounds look at first, what follows from other decisions last."""


@frozen(slots=False, eq=False)
class CpuSpace(SearchSpace):
    """All schedules of an operation on a machine.

    Attributes:
        operation: what is computed; axes that lie like one are one already.
        machine: whose vectors and caches suggest the steps of loops, and whose rates bound times.
        known: schedules that have to be leaves.
        threads: how many may share loops.
        curves: whether blocks may follow a space-filling curve.
        teams: whether schedules may be for a fixed number of threads: shared loops anywhere, grids, barriers.
        order: groups of choices, in the order in which searches take decisions.
        rates: limits of a core that bounds divide by; None: what is recorded of the machine, or of any processor.
        lowered: generates what runs between kernels, for bounds that look at the code of leaves; None: they do not.
    """

    operation: Operation
    machine: Machine
    known: Sequence[Schedule] = ()
    threads: int = 1
    curves: bool = False
    teams: bool = False
    order: tuple[str, ...] = CPU_ORDER
    rates: CpuRates | None = None
    lowered: Lowered | None = None

    @property
    def name(self) -> str:
        """The operation and its extents."""
        extents = " ".join(f"{axis.name}={axis.extent}" for axis in self.operation.axes)
        return f"{self.operation.main} {extents}"

    @cached_property
    def backbone(self) -> CpuBackbone:
        """What there is to decide."""
        return cpu_backbone(
            self.operation, self.machine, self.known, threads=self.threads, curves=self.curves, teams=self.teams
        )

    @cached_property
    def problem(self) -> csp.Problem:
        """The constraint problem behind the space."""
        return cpu_problem(self.backbone)

    @cached_property
    def root(self) -> CpuCandidate:
        """The candidate that holds every schedule."""
        return CpuCandidate(self, self.problem.root)

    @cached_property
    def model(self) -> CpuModel:
        """What bounds the times of this space's candidates."""
        rates = self.rates or cpu_rates(self.machine)
        return CpuModel(self.problem, self.backbone, self.machine, rates, lowered=self.lowered)

    @cached_property
    def digest(self) -> str:
        """A hash of the operation, what may be decided about it, and the text of the constraints."""
        told = (
            f"{self.operation}\n{self.backbone.axes!r}\n{self.threads} {self.curves} {self.teams}\n{cpu_space_text()}"
        )
        return sha256(told.encode()).hexdigest()[:16]

    def leaf(self, schedule: Schedule) -> CpuCandidate:
        """Return the leaf that is a schedule.

        Raises:
            ScheduleError: the space has no word for something that the schedule says.
            DeadEnd: the schedule is illegal; the message names the constraint.
        """
        return self.root.apply(decisions_of(self.backbone, schedule))

    def schedule(self, state: csp.State) -> Schedule:
        """Return the schedule of a state of the engine that has nothing open."""
        return schedule_of(self.backbone, self.decided(state))

    @property
    def _told(self) -> tuple[Any, ...]:
        known = (*self.known,)
        how = self.threads, self.curves, self.teams, self.order, self.rates, self.lowered
        return self.operation, self.machine, known, *how

    def __eq__(self, other: object) -> bool:
        return self._told == other._told if isinstance(other, CpuSpace) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._told[:2])

    def __reduce__(self) -> tuple[Any, ...]:
        return CpuSpace, self._told

    def __repr__(self) -> str:
        packs = ", ".join(each.name for each in self.backbone.packs)
        return f"space {self.name}: {len(self.backbone.loops)} loops, packs of {packs}, {len(self.root.open)} decisions"


@frozen(slots=False, eq=False, repr=False)
class CpuCandidate(PartialImplementation):
    """A partially specified schedule."""

    space: CpuSpace

    @property
    def schedule(self) -> Schedule:
        """The schedule of a leaf.

        Raises:
            ScheduleError: decisions are still open.
        """
        self.check_is_leaf()
        return schedule_of(self.space.backbone, self.assignment)

    def show(self) -> str:
        """Return a leaf as the text of its schedule, and any other candidate as its table of open decisions."""
        return str(self.schedule) if self.is_leaf else repr(self)
