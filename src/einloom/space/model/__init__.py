"""Lower bounds on the time of every implementation below a candidate: what a search may cut without regret."""

from einloom.space.model.bound import Bound
from einloom.space.model.figure import Figure
from einloom.space.model.gpu import GpuModel

__all__ = ["Bound", "Figure", "GpuModel"]
