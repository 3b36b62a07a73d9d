"""`lower_body`: a recorded body and its loops as a nest: positions move, nothing is computed from indices."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from einloom.errors import ScheduleError
from einloom.ir.blocks import cut
from einloom.ir.nest import Access, Block, Buffer, Call, Cursor, Loop, Nest, Node, Test, When
from einloom.ir.operation import Axis, DimType, Operand
from einloom.ir.schedule import ExecType
from einloom.ir.sharing import Team
from einloom.ir.statement import Barrier, Signature
from einloom.loops.nest import LETTERS
from einloom.loops.spec import LARGEST
from einloom.loops.trace.index import Comparison, Index
from einloom.loops.trace.ranges import Ranges, check_inside
from einloom.loops.trace.recorder import Recorded, RecordedCall, Recorder
from einloom.loops.trace.starts import loops_of_start
from einloom.loops.trace.tensor import Base, Tensor

__all__ = ["lower_body"]

ALIGNMENT = 64


def lower_body(recording: Recorder, barriers: frozenset[int] = frozenset()) -> Nest:
    """Return the nest.

    Args:
        recording: what the body does.
        barriers: positions of loops behind which threads wait, beside those that the string says.

    Raises:
        ShapeError: a block leaves its tensor.
        ScheduleError: axes of one call follow two loops.
    """
    return _Lowering(recording, barriers).lowered()


class _Lowering:
    """Working state of one `lower_body`."""

    def __init__(self, recording: Recorder, barriers: frozenset[int]) -> None:
        self.recording = recording
        self.loops = recording.nest
        self.barriers = barriers
        self.ranges = Ranges.of(self.loops)
        self.cursors: dict[tuple[str | None, object], Cursor] = {}
        self.moves: dict[str, dict[str, int]] = {}  # by cursor: how far one index of a letter moves it
        self.blocks = {loop.letter: cut(loop.lengths, loop.step) for loop in self.loops.innermost}

    def lowered(self) -> Nest:
        is_empty = any(not loop.lengths for loop in self.loops.loops)
        body = () if is_empty else self._nodes(self.recording.root, self.ranges)
        for place in reversed(range(len(self.loops.loops))) if body else ():
            body = self._loop(place, body)
        axes = tuple(Axis(letter, spec.extent, DimType.C) for letter, spec in zip(LETTERS, self.loops.specs))
        operands = tuple(Operand(b.name, b.dtype, (0,) * len(axes)) for b in self._bases(is_scratch=False))
        team = Team(self.loops.threads, self.loops.grid, self.loops.clause)
        return Nest(Signature(axes, operands), axes, tuple(self._buffers()), body, tuple(self.cursors.values()), team)

    def _bases(self, is_scratch: bool) -> list[Base]:
        return [base for base in self.recording.bases if base.is_scratch == is_scratch]

    def _buffers(self) -> Iterable[Buffer]:
        for base in self._bases(is_scratch=False):
            yield Buffer(base.name, base.dtype)
        end = 0
        for base in self._bases(is_scratch=True):
            size = 1
            for extent in base.shape:
                size *= extent
            yield Buffer(base.name, base.dtype, end, size)
            end += -(-size * base.dtype.size // ALIGNMENT) * ALIGNMENT

    def _loop(self, place: int, body: tuple[Node, ...]) -> tuple[Node, ...]:
        loop = self.loops.loops[place]
        kind = ExecType.SHARED if loop.collapsed or loop.ways else ExecType.SEQ
        span, *shorter = loop.lengths
        moves = tuple(
            (name, by_letter[loop.letter] * loop.step)
            for name, by_letter in self.moves.items()
            if loop.letter in by_letter
        )
        node = Loop(
            loop.name, loop.letter, kind, min(loop.step, span), span, tuple(shorter), moves, body, ways=loop.ways
        )
        group = self.loops.string.group  # A barrier behind a parallel loop stands behind the outermost of its loops.
        behind = place if place not in group else group[-1] if place == group.start else None
        waits = behind is not None and (self.loops.loops[behind].barrier or behind in self.barriers)
        return (node, Barrier()) if waits else (node,)

    # ---- calls ------------------------------------------------------------------------------------------------------

    def _nodes(self, recorded: Recorded, ranges: Ranges) -> tuple[Node, ...]:
        nodes: list[Node] = []
        starts: tuple[str, ...] | None = None
        for each, following in zip(recorded.nodes, (*recorded.nodes[1:], None)):
            if isinstance(each, RecordedCall):
                check_inside(each, ranges)
            before, starts = starts, following and loops_of_start(each, following, self.loops)
            if starts is None:
                nodes += self._node(each, ranges, before)
        return tuple(nodes)

    def _node(self, recorded: RecordedCall | Recorded, ranges: Ranges, starts: tuple[str, ...] | None) -> list[Node]:
        """What a call, or others under a condition, become; nothing where the condition never holds."""
        if isinstance(recorded, RecordedCall):
            return [replace(self._call(recorded), starts=starts)]
        assert recorded.condition is not None
        inner = ranges.under(recorded.condition)
        body = () if inner.is_empty else self._nodes(recorded, inner)
        return [When(tuple(self._test(c) for c in recorded.condition.comparisons), body)] if body else []

    def _test(self, comparison: Comparison) -> Test:
        index, bound = comparison.index, comparison.bound - comparison.index.constant
        if comparison.modulus:
            low, _ = self.ranges.of_index(index)
            index = index + -(low // comparison.modulus) * comparison.modulus  # Never below 0.
            bound = comparison.bound
        else:
            index = index - index.constant
        if max(abs(bound), comparison.modulus) >= LARGEST:
            raise ScheduleError(f"the condition {comparison!r} is beyond 2**62\n  Compare with smaller numbers.")
        return Test(self._cursor(None, index), comparison.relation, bound, comparison.modulus)

    def _cursor(self, base: Base | None, index: Index) -> str:
        name = None if base is None else base.name
        key = (name, index.key)
        if key not in self.cursors:
            _check_size(index, self.ranges)
            starts = {letter: spec.start for letter, spec in zip(LETTERS, self.loops.specs)}
            start = index.constant + sum(starts.get(symbol, 0) * factor for symbol, factor in index.terms.items())
            by_thread = tuple((s, f) for s, f in index.terms.items() if s not in starts)
            cursor = Cursor(f"{name or 'test'}.{len(self.cursors)}", name, start, by_thread)
            self.cursors[key] = cursor
            self.moves[cursor.name] = {s: f for s, f in index.terms.items() if s in starts}
        return self.cursors[key].name

    def _call(self, call: RecordedCall) -> Call:
        if not call.primitive.is_contraction:
            into_groups = call.tensors[0].ndim < call.tensors[-1].ndim == 3
            return self._interleaving(call) if into_groups else self._element_wise(call)
        (a, b, c), offsets = self._pair(call)
        group = a.shape[-1] if a.ndim > b.ndim else 1
        inside = group > 1
        m, n = self._block(call, (a, -1 - inside), (c, 1)), self._block(call, (b, -2), (c, 0))
        k = Block(None, b.shape[-1]) if inside else self._block(call, (a, -2), (b, -1))
        batch, along = (Block(None, len(offsets)), (0, 0)) if offsets else self._batch(call, a, b)
        (a_k, a_m), (b_n, b_k), (c_n, c_m) = a.strides[: a.ndim - inside][-2:], b.strides[-2:], c.strides
        accesses = (
            Access(self._cursor(a.base, a.offset), (a_m, 0, a_k, along[0])),
            Access(self._cursor(b.base, b.offset), (0, b_n, group * b_k, along[1])),
            Access(self._cursor(c.base, c.offset), (c_m, c_n, 0, 0)),
        )
        return Call(call.primitive, (m, n, k, batch), accesses, group=group, offsets=offsets)

    def _interleaving(self, call: RecordedCall) -> Call:
        """A copy into groups of neighbours along the first axis of the source."""
        source, out = call.tensors
        blocks = Block(None, source.shape[1]), Block(None, source.shape[0])
        accesses = (
            Access(self._cursor(source.base, source.offset), source.strides[::-1]),
            Access(self._cursor(out.base, out.offset), (out.strides[1], out.strides[0])),
        )
        return Call(call.primitive, blocks, accesses, group=out.shape[-1])

    def _pair(self, call: RecordedCall) -> tuple[tuple[Tensor, Tensor, Tensor], tuple[tuple[int, int], ...]]:
        """The first pair of a contraction's inputs and the output, and where all pairs lie, if there are several."""
        *inputs, c = call.tensors
        a, b, pairs = inputs[0], inputs[1], list(zip(inputs[::2], inputs[1::2]))
        if len(pairs) == 1:
            return (a, b, c), ()
        offsets: list[tuple[int, int]] = []
        for one, other in pairs:
            behind = one.offset - a.offset, other.offset - b.offset
            if any(distance.terms for distance in behind):
                raise ScheduleError(
                    f"the pairs of {call.primitive} do not keep their distance: {a!r} and {one!r}, {b!r} and {other!r}"
                    f"\n  {call.line}\n  Subscript all of them with the same indices, plus numbers."
                )
            offsets.append((behind[0].constant, behind[1].constant))
        return (a, b, c), tuple(offsets)

    def _batch(self, call: RecordedCall, a: Tensor, b: Tensor) -> tuple[Block, tuple[int, int]]:
        if call.batch is not None:
            size, *tails = self.blocks[call.batch]
            strides = a.offset.terms.get(call.batch, 0), b.offset.terms.get(call.batch, 0)
            return Block(call.batch, size, tuple(tails)), strides
        if b.ndim == 3:
            return self._block(call, (a, 0), (b, 0)), (a.strides[0], b.strides[0])
        return Block(None, 1), (0, 0)

    def _element_wise(self, call: RecordedCall) -> Call:
        *inputs, out = call.tensors
        if out.ndim > 2:
            raise ScheduleError(f"{call.primitive} of {out.ndim} axes\n  {call.line}\n  Take blocks of up to 2 axes.")
        blocks = tuple(
            self._block(call, *((t, axis) for t in call.tensors if t.ndim >= -axis and t.shape[axis] > 1))
            if out.ndim >= -axis
            else Block(None, 1)
            for axis in (-1, -2)
        )
        accesses = tuple(
            Access(self._cursor(t.base, t.offset), (_stride(t, -1), _stride(t, -2))) for t in (*inputs, out)
        )
        return Call(call.primitive, blocks, accesses)

    def _block(self, call: RecordedCall, *places: tuple[Tensor, int]) -> Block:
        """The indices along an axis that several blocks share; as few as the loop's that one of them follows."""
        parts = [tensor.parts[tensor.axes[axis]] for tensor, axis in places]
        letters = {part.loop for part in parts if part.loop is not None}
        if len(letters) > 1:
            raise ScheduleError(
                f"{call.primitive}: one axis follows the loops {' and '.join(sorted(letters))}\n  {call.line}\n"
                "  Subscript all blocks along it with the same index."
            )
        if not letters:
            return Block(None, parts[0].length if parts else 1)
        (letter,) = letters
        size, *tails = self.blocks[letter]
        return Block(letter if tails else None, size, tuple(tails))


def _check_size(index: Index, ranges: Ranges) -> None:
    """Refuse numbers that registers do not hold, in any iteration."""
    terms = [Index({symbol: factor}) for symbol, factor in index.terms.items()]
    if any(abs(end) >= LARGEST for each in (index, *terms) for end in ranges.of_index(each)):
        raise ScheduleError(f"the index {index!r} is beyond 2**62\n  Take smaller factors, or another loop.")


def _stride(tensor: Tensor, axis: int) -> int:
    """The stride along an axis of the output; 0 where a block is repeated."""
    return tensor.strides[axis] if tensor.ndim >= -axis and tensor.shape[axis] > 1 else 0
