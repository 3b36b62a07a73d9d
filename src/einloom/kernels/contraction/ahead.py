"""`AskAhead`: while a kernel computes, it asks memory for a block that is wanted later.

The requests go along the block as it lies, since processors notice that and fetch on by themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

from einloom.asm import Label
from einloom.kernels.contraction.beside import LINE, WORD, Beside
from einloom.kernels.specs import Ahead
from einloom.kernels.verbs.frame import Frame
from einloom.kernels.verbs.scalar import A, R
from einloom.kernels.verbs.vector import V
from einloom.machine import Machine

__all__ = ["COLUMNS", "FEW_IN_PLACE", "MANY_TRIPS", "PIECE_IN_PLACE", "AskAhead", "is_worth_asking"]

FEW, FEW_IN_PLACE = 256, 64
"""Smaller blocks, in lines, are not asked for: what it takes to begin one would show. In place kernels would wait."""

MANY_TRIPS = 8
"""Blocks of a loop from which on it may end with a shorter one, for which too much is asked."""

PIECE, PIECE_IN_PLACE = 16, 5
"""Nor are packed blocks of shorter pieces, in lines: along longer ones processors fetch on by themselves. Each request
that memory answers keeps a buffer meanwhile that kernels need. For pieces that they read in place they would wait, one
after the other."""

ROOM, ROOM_IN_PLACE = 2, 8
"""The block takes at most one part in so many of the second-level cache, which keeps it until it is wanted."""

COLUMNS = 4
"""Columns that share the rows of a block in place: of fewer processors see far enough what is read next."""

AT, LEFT, STATE = "ahead_at", "ahead_left", "ahead"
"""Variables: the next line, how many are left of its piece, where they are kept between calls."""


def is_worth_asking(lines: float, pieces: float, size: int, machine: Machine, packed: bool = True) -> bool:
    """Whether kernels ask ahead for blocks of so many lines in so many pieces, of a tensor of `size` bytes."""
    few, piece, room = (FEW, PIECE, ROOM) if packed else (FEW_IN_PLACE, PIECE_IN_PLACE, ROOM_IN_PLACE)
    return few <= lines <= machine.l2 // room // LINE and lines >= piece * pieces and size > machine.l2


class AskAhead(Beside[R, V, A]):
    """The code that asks for lines.

    Args:
        ahead: the block.
        sums: over k, of all tiles of the kernel together.
    """

    kept, state = (AT, LEFT), STATE
    variables = (*kept, state)

    def __init__(self, ahead: Ahead, sums: int) -> None:
        super().__init__(ahead.lines, sums)
        self.levels = ahead.levels

    def _take(self, frame: Frame[R, A], free: Sequence[V]) -> None:
        km, within = frame.km, frame.km.asm.forward("within")
        (count, apart), *_ = self.levels
        km.prefetch_block(km.place(frame.read(AT)))
        km.add_constant(frame.read(AT), apart)
        km.count_down(frame.read(LEFT), within)
        km.constant(frame.read(LEFT), count)
        self._next_piece(frame, within)
        km.asm.bind(within)

    def _next_piece(self, frame: Frame[R, A], found: Label) -> None:
        """Go to the next index of the innermost level that has one; behind the last one begin again."""
        km, state, left = frame.km, frame.read(STATE), frame.temporary
        at = frame.read(AT)
        for word, ((count, apart), (outer_count, outer)) in enumerate(zip(self.levels, self.levels[1:]), 2):
            km.add_constant(at, outer - count * apart)
            km.load(left, state, word * WORD)
            km.add_constant(left, -1)
            km.store(state, word * WORD, left)
            km.branch("ne", left, 0, found)
            km.constant(left, outer_count)
            km.store(state, word * WORD, left)
        count, apart = self.levels[-1]
        km.add_constant(at, -count * apart)
