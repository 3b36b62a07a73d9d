"""The pack of the form 1e: a copy that writes for each complex element the matrix of its parts.

See `einloom.ir.turned` for the matrices. Levels and lengths count complex elements; strides and places are in reals.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import replace

from einloom.frozen import frozen
from einloom.ir.copies import Level, block_of, copy_loops, copy_runs
from einloom.ir.cut_rows import CutCopy, CutRows
from einloom.ir.nest import Access, Block, Call, Node, Pack, Turned
from einloom.ir.operation import Operand, Primitive

__all__ = ["TurnedCopy"]

Matrix = tuple[Turned, Turned, Turned, Turned]

_RE, _IM, _MINUS_RE, _MINUS_IM = Turned(0), Turned(1), Turned(0, True), Turned(1, True)
_MATRICES: dict[tuple[bool, bool], Matrix] = {
    (False, False): (_RE, _IM, _MINUS_IM, _RE),
    (True, False): (_RE, _MINUS_IM, _IM, _RE),
    (False, True): (_RE, _IM, _IM, _MINUS_RE),
    (True, True): (_RE, _MINUS_IM, _MINUS_IM, _MINUS_RE),
}
"""[term][part], by whether the operand that is turned, and the other one, are conjugated."""


@frozen
class TurnedCopy:
    """The copy of one pack: loops around blocks, which are written term by term.

    Attributes:
        operand: what is packed.
        other_conjugated: whether the factor is conjugated that the matrices are multiplied by.
        scratch: name of the packed block's buffer.
        part, term: how far the entries of a matrix lie apart there.
    """

    operand: Operand
    other_conjugated: bool
    scratch: str
    part: int
    term: int

    def node(self, levels: Sequence[Level]) -> Pack:
        """Return the copy of a block of these levels."""
        runs = copy_runs(levels)
        body: tuple[Node, ...] = tuple(self._turned(self._call(levels, runs)))
        for index in copy_loops(levels, tuple(level for run in runs for level in run)):
            body = (levels[index].loop(str(index), self.operand.name, self.scratch, body),)
        return Pack(self.scratch, self.operand.name, body)

    def node_of_cut_rows(self, rows: CutRows, others: Sequence[Level], axes: Container[str]) -> Pack:
        """Return the copy of a block with panels that cut rows, in a nest over some axes."""
        return CutCopy(self.operand.name, self.scratch, rows, axes, calls=self._turned).node(others)

    def _turned(self, call: Call) -> Iterator[Call]:
        """Yield the copies that a copy of elements becomes: of rows of matrices, or of single parts.

        Both parts are written at once where they lie side by side.
        """
        outside, inside = call.accesses
        matrix = _MATRICES[self.operand.conjugated, self.other_conjugated]
        if self.part == 1:
            for term, pair in enumerate((matrix[:2], matrix[2:])):
                yield replace(call, accesses=(outside, _behind(inside, term * self.term)), pair=pair)
            return
        for number, entry in enumerate(matrix):
            term, part = divmod(number, 2)
            accesses = _behind(outside, entry.part), _behind(inside, term * self.term + part * self.part)
            yield replace(call, primitive=Primitive.NEGATE if entry.negative else call.primitive, accesses=accesses)

    def _call(self, levels: Sequence[Level], runs: Sequence[tuple[int, ...]]) -> Call:
        blocks = tuple(block_of(levels, run) for run in runs) + (Block(None, 1),) * (2 - len(runs))
        first, pad = [levels[run[0]] for run in runs], (0,) * (2 - len(runs))
        outside = Access(self.operand.name, (*(level.outside for level in first), *pad))
        inside = Access(self.scratch, (*(level.inside for level in first), *pad))
        return Call(Primitive.IDENTITY, blocks, (outside, inside))


def _behind(access: Access, elements: int) -> Access:
    return replace(access, offset=access.offset + elements)
