"""`absorbed`: loops that become part of the kernel that they call, which keeps registers loaded for all iterations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from einloom.ir.nest import Call, Loop
from einloom.ir.schedule import ExecType
from einloom.targets.loops import LoopState

__all__ = ["Absorbed", "Around", "absorbed"]

Around: TypeAlias = tuple[tuple[int, int, int, int], ...]
"""Of each loop: how many iterations it has, and how far apart they are in both inputs and the output, in elements."""


class Absorbed(NamedTuple):
    """A call and the loops around it, the outermost first."""

    call: Call
    loops: tuple[Loop, ...]

    @property
    def around(self) -> Around:
        """The loops as a spec of a kernel has them."""
        return tuple((loop.trips, *self._steps(dict(loop.advances))) for loop in self.loops)

    def _steps(self, advances: Mapping[str, int]) -> tuple[int, int, int]:
        first, second, output = (advances.get(access.buffer, 0) for access in self.call.accesses)
        return first, second, output


def absorbed(loop: Loop, states: Mapping[str, LoopState]) -> Absorbed | None:
    """Return the call in a loop and all loops from it to that call; None unless only counted loops are around it."""
    loops: list[Loop] = []
    node: object = loop
    while isinstance(node, Loop):
        if node.kind is not ExecType.SEQ or node.carries or states[node.name].dynamic or len(node.body) != 1:
            return None
        loops.append(node)
        node = node.body[0]
    if not isinstance(node, Call) or len(node.accesses) != 3 or {each.name for each in loops} & set(node.starts or ()):
        return None
    return Absorbed(node, tuple(loops))
