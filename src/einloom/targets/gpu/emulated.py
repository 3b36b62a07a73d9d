"""`fitted_launch`: a launch as the compiler of a device takes it; processors that emulate a GPU need one barrier more.

PoCL makes a loop over a block's threads of what stands between two barriers, and takes every branch around a barrier
for one that all threads take together. In the text that is so. But LLVM runs first: where a thread's last statement of
an iteration is behind a limit, it lets the threads that skip it jump to the next iteration by a way of their own, and
PoCL then sends all threads that way (its loop passes fail on some shapes of such loops). A barrier at the end of the
iteration forbids this, since LLVM copies no barrier. It costs nothing: PoCL adds one there itself, when it is too late.
"""

from __future__ import annotations

from dataclasses import replace

from einloom.ir.gpu.launch import Launch, LaunchNode, Repeat
from einloom.ir.statement import Barrier
from einloom.jit.gpu.driver import PROCESSOR, GpuLimits

__all__ = ["fitted_launch"]


def fitted_launch(launch: Launch, limits: GpuLimits) -> Launch:
    """Return a launch that a device's compiler takes as it is meant: on a processor, loops end with their barriers.

    `loop k 4 { t[i] = …; barrier; r[0] = … if i < 3 }` -> `loop k 4 { t[i] = …; barrier; r[0] = … if i < 3; barrier }`
    """
    if limits.architecture != PROCESSOR or not launch.has_barriers:
        return launch
    return replace(launch, body=tuple(map(_ended, launch.body)))


def _ended(node: LaunchNode) -> LaunchNode:
    """Return a node whose loops that hold a barrier end with one."""
    if not isinstance(node, Repeat) or not _holds_barrier(node):
        return node
    body = tuple(map(_ended, node.body))
    return replace(node, body=body if isinstance(body[-1], Barrier) else (*body, Barrier()))


def _holds_barrier(node: LaunchNode) -> bool:
    return isinstance(node, Barrier) or (isinstance(node, Repeat) and any(map(_holds_barrier, node.body)))
