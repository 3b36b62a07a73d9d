"""`Leaving`: while a kernel computes, whole lines of a block that was computed before leave scratch past the caches."""

from __future__ import annotations

from collections.abc import Sequence

from einloom.dtypes import FLOAT32
from einloom.kernels.contraction.beside import LINE, WORD, Beside
from einloom.kernels.verbs.frame import Frame
from einloom.kernels.verbs.scalar import A, R
from einloom.kernels.verbs.vector import KernelMachine, V

__all__ = ["Leaving"]

SOURCE, TARGET, END, STATE = "leaving_source", "leaving_target", "leaving_end", "leaving"
"""Variables: the next line, where it goes, where the last one ends there; where these are kept between calls."""


class Leaving(Beside[R, V, A]):
    """The code that stores lines.

    Args:
        km: emits the code.
        lines: of a call.
        sums: over k, of all tiles of the kernel together.
    """

    kept, state = (SOURCE, TARGET), STATE
    hot, cold = kept, (END, STATE)

    def __init__(self, km: KernelMachine[R, V, A], lines: int, sums: int) -> None:
        super().__init__(lines, sums)
        self.vec = km.vectors(FLOAT32)  # Lines are lines, whatever they hold.
        self.vector = self.vec.lanes * FLOAT32.size

    def start(self, frame: Frame[R, A]) -> None:
        """Go on where the last call stopped."""
        super().start(frame)
        with frame.assigned(END) as register:
            frame.km.load(register, frame.read(STATE), len(self.kept) * WORD)

    def _take(self, frame: Frame[R, A], free: Sequence[V]) -> None:
        km, none = frame.km, frame.km.asm.forward("none")
        source, target = frame.read(SOURCE), frame.read(TARGET)
        km.branch("ge", target, frame.read(END), none)
        for place in range(0, LINE, self.vector):
            self.vec.load(free[0], km.place(source, place))
            self.vec.store(km.place(target, place), free[0], nontemporal=True)
        km.add_constant(source, LINE)
        km.add_constant(target, LINE)
        km.asm.bind(none)
