"""`Space` and `Candidate`: a kernel's implementations on a GPU, and sets of them, for people."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from math import prod
from pathlib import Path
from random import Random

from einloom import csp
from einloom.errors import EinloomError, ScheduleError
from einloom.frozen import frozen
from einloom.ir.gpu.launch import Launch
from einloom.ir.nest import Nest
from einloom.once import cached_property
from einloom.space.assignment import Assignment
from einloom.space.backbone import Backbone
from einloom.space.checker import violations
from einloom.space.decode import decode
from einloom.space.descent import PAPER_ORDER
from einloom.space.device import GpuDevice
from einloom.space.instance import gpu_problem, gpu_space_text
from einloom.space.kernels import Kernel
from einloom.space.model import GpuModel
from einloom.space.on_gpu.fragments import with_lanes
from einloom.space.on_gpu.launch import launch_of
from einloom.space.partial import PartialImplementation, SearchSpace
from einloom.space.saved import Saved

__all__ = ["Candidate", "Space"]

_BY_WEIGHT = ("dim_kind",)
"""Choices whose decisions are taken by how often the instruction runs that they are about."""


@frozen(slots=False, eq=False)
class Space(SearchSpace):
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

    def weight(self, variable: csp.Variable) -> float:
        """Return how often the instruction runs that a decision is about, with all its objects: the heavier first."""
        if variable.choice not in _BY_WEIGHT:
            return 0.0
        return min((self._runs.get(name, 0.0) for name in variable.objects), default=0.0)

    @cached_property
    def _runs(self) -> dict[str, float]:
        """How often instructions run, and the most often run one that a dimension repeats."""
        backbone, found = self.backbone, dict[str, float]()
        for each in backbone.instruction.values():
            runs = float(prod(backbone.axis[axis].size for axis in backbone.axes_of(each)))
            for name in (each.name, *each.dimensions):
                found[name] = max(found.get(name, 0.0), runs)
        return found

    def random_leaf(self, seed: int | Random = 0) -> Candidate:
        """Return a leaf, by uniform random decisions from the root; see `Candidate.complete`."""
        return self.root.complete(seed)

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

    def launch(self, decided: Mapping[str, str | int]) -> Launch:
        """Return the launch that a full set of decisions describes: of fragments by the threads of warps.

        Raises:
            ScheduleError: a decision is missing.
        """
        launch = launch_of(Assignment(self.backbone, decided), self.device)
        return launch if self.kernel.grain is None else with_lanes(launch, self.kernel.grain, self.device.aligned)

    def load(self, path: str | Path) -> Candidate:
        """Return the candidate that `Candidate.save` wrote.

        Raises:
            ScheduleError: as `from_json`.
        """
        return self.from_json(Path(path).read_text(encoding="utf-8", errors="replace"))

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


@frozen(slots=False, eq=False, repr=False)
class Candidate(PartialImplementation):
    """A partially specified implementation of a kernel on a GPU."""

    space: Space

    def nest(self) -> Nest:
        """Return the one nest of a leaf.

        Raises:
            ScheduleError: decisions are still open.
        """
        self.check_is_leaf()
        return decode(Assignment(self.space.backbone, self.assignment))

    def launch(self) -> Launch:
        """Return a leaf as the launch that targets print.

        Raises:
            ScheduleError: decisions are still open.
        """
        self.check_is_leaf()
        return self.space.launch(self.assignment)

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
