"""`TunedKernel`: what tuning on a GPU found, as people read it."""

from __future__ import annotations

from einloom.frozen import frozen
from einloom.search.result import Found
from einloom.search.search import Ended
from einloom.space.candidate import Candidate, Space
from einloom.space.model.bound import Bound

__all__ = ["TunedKernel", "TunedLeaf"]


@frozen(slots=False)
class TunedLeaf:
    """A leaf that was measured in a fresh process, in turns with others.

    Attributes:
        leaf: of the space.
        time: the median of its turns, in seconds.
        times: of each turn: the least time of its runs on the device.
        interval: holds the median of all possible turns, with about 95 % probability.
    """

    leaf: Candidate
    time: float
    times: tuple[float, ...]
    interval: tuple[float, float]

    @property
    def schedule(self) -> str:
        """The kernel's loops as text."""
        return self.leaf.show()

    @property
    def bound(self) -> Bound:
        """A time that it cannot beat on a device of the space's rates."""
        return self.leaf.bound()

    def __str__(self) -> str:
        launch = self.leaf.launch()
        grid, block = (" x ".join(str(each.extent) for each in levels) for levels in (launch.grid, launch.block))
        return f"{grid or 1} blocks of {block or 1} threads, {launch.shared_bytes} bytes shared"


@frozen(slots=False, repr=False)
class TunedKernel(Found[TunedLeaf]):
    """What tuning a kernel found.

    Attributes:
        space: where was searched.
        run: what the search found, and how it ended.
        best: the fastest leaf; the expert's if none was faster.
        heuristic: the expert's leaf, measured in the same turns.
        finalists: the leaves of the search that were measured again, the fastest first.
    """

    space: Space
    run: Ended
    best: TunedLeaf
    heuristic: TunedLeaf
    finalists: tuple[TunedLeaf, ...]

    expert, shown = "expert", " leaf"

    def row(self, each: TunedLeaf) -> str:
        """Return the leaf."""
        return f" {each}"

    def explain(self) -> str:
        """Return why the best cannot be faster: its bound as a tree of figures."""
        return f"{self.best}\n{self.best.bound.explain()}"
