"""`fitted_launch`: a launch as the compiler of a device takes it; processors that emulate a GPU need two barriers more.

PoCL makes a loop over a block's threads of what stands between two barriers, and takes every branch around a barrier
for one that all threads take together. In the text that is so. But LLVM runs first: where a thread's last statement of
an iteration is behind a limit, it lets the threads that skip it jump to the next iteration by a way of their own, and
PoCL then sends all threads that way; loops that it makes vectors of at the beginning of an iteration end PoCL's
compiler. With barriers at both ends of the iteration it does neither, since it copies no barrier. They cost little:
PoCL adds the like itself, when it is too late.
"""

from __future__ import annotations

from dataclasses import replace

from einloom.ir.gpu.launch import Launch, LaunchNode, Repeat
from einloom.ir.statement import Barrier
from einloom.jit.gpu.driver import PROCESSOR, GpuLimits

__all__ = ["fitted_launch"]


def fitted_launch(launch: Launch, limits: GpuLimits) -> Launch:
    """Return a launch that a device's compiler takes as it is meant: processors get barriers at the ends of iterations.

    `loop k 4 { t[i] = …; barrier; r[0] = … if i < 3 }` -> `loop k 4 { barrier; t[i] = …; barrier; r[0] = …; barrier }`
    """
    if limits.architecture != PROCESSOR or not launch.has_barriers:
        return launch
    return replace(launch, body=tuple(map(_fenced, launch.body)))


def _fenced(node: LaunchNode) -> LaunchNode:
    """Return a node in which all loops that hold a barrier begin and end with one."""
    if not isinstance(node, Repeat) or not _holds_barrier(node):
        return node
    body = [*map(_fenced, node.body)]
    before = [] if isinstance(body[0], Barrier) else [Barrier()]
    behind = [] if isinstance(body[-1], Barrier) else [Barrier()]
    return replace(node, body=(*before, *body, *behind))


def _holds_barrier(node: LaunchNode) -> bool:
    return isinstance(node, Barrier) or (isinstance(node, Repeat) and any(map(_holds_barrier, node.body)))
