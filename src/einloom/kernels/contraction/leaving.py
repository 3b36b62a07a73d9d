"""`Leaving`: while a kernel computes, whole lines of a block that was computed before leave scratch past the caches."""

from __future__ import annotations

from collections.abc import Sequence

from einloom.asm import Label
from einloom.dtypes import FLOAT32
from einloom.kernels.contraction.beside import LINE, WORD, Beside
from einloom.kernels.specs import Leaves
from einloom.kernels.verbs.frame import Frame
from einloom.kernels.verbs.scalar import A, R
from einloom.kernels.verbs.vector import KernelMachine, V

__all__ = ["Leaving"]

SOURCE, TARGET, END, STATE = "leaving_source", "leaving_target", "leaving_end", "leaving"
"""Variables: the next line, where it goes, where the run's last one ends there; where these are kept between calls."""

RUNS, BACK = "leaving_runs", "leaving_back"
"""Variables: how many runs have not left, this one included; minus the bytes of a run's whole lines."""


class Leaving(Beside[R, V, A]):
    """The code that stores lines.

    Args:
        km: emits the code.
        leaves: what leaves in a call.
        sums: over k, of all tiles of the kernel together.
    """

    kept, state = (SOURCE, TARGET), STATE
    hot = kept

    def __init__(self, km: KernelMachine[R, V, A], leaves: Leaves, sums: int) -> None:
        super().__init__(leaves.lines, sums)
        self.apart = leaves.apart
        self.others = (END, RUNS, BACK) if self.apart else (END,)
        self.cold = (*self.others, STATE)
        self.vec = km.vectors(FLOAT32)  # Lines are lines, whatever they hold.
        self.vector = self.vec.lanes * FLOAT32.size

    def start(self, frame: Frame[R, A]) -> None:
        """Go on where the last call stopped."""
        super().start(frame)
        for word, name in enumerate(self.others, len(self.kept)):
            with frame.assigned(name) as register:
                frame.km.load(register, frame.read(STATE), word * WORD)

    def stop(self, frame: Frame[R, A]) -> None:
        """Let the next call go on from here."""
        super().stop(frame)
        if not self.apart:
            return
        state = frame.read(SOURCE)  # It is kept, and others may be in slots, as the state's address is.
        frame.load(state, STATE)
        for word, name in enumerate((END, RUNS), len(self.kept)):
            frame.km.store(state, word * WORD, frame.read(name))

    def _take(self, frame: Frame[R, A], free: Sequence[V]) -> None:
        km, none = frame.km, frame.km.asm.forward("none")
        source, target = frame.read(SOURCE), frame.read(TARGET)
        if self.apart:
            self._next_run(frame, none)
        else:
            km.branch("ge", target, frame.read(END), none)
        for place in range(0, LINE, self.vector):
            self.vec.load(free[0], km.place(source, place))
            self.vec.store(km.place(target, place), free[0], nontemporal=True)
        km.add_constant(source, LINE)
        km.add_constant(target, LINE)
        km.asm.bind(none)

    def _next_run(self, frame: Frame[R, A], none: Label) -> None:
        """Go to the next run at the end of one; behind the last one stay there."""
        km, within = frame.km, frame.km.asm.forward("within")
        km.branch("lt", frame.read(TARGET), frame.read(END), within)
        frame.branch("le", RUNS, 1, none)
        frame.add(RUNS, -1)
        for name, apart in zip((SOURCE, TARGET), self.apart):
            km.add(frame.read(name), frame.read(BACK))
            frame.add(name, apart)
        frame.add(END, self.apart[1])
        km.asm.bind(within)
