"""`Recorder`: what a body does while it is traced, as a tree of calls under conditions."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from operator import index
from typing import Any

from einloom.dtypes import DType
from einloom.errors import DTypeError, ScheduleError, ShapeError
from einloom.frozen import frozen
from einloom.ir.operation import Primitive
from einloom.ir.sharing import THREAD
from einloom.loops.nest import LETTERS, LoopNest
from einloom.loops.trace.captured import captured_arrays
from einloom.loops.trace.index import Condition, Index, line_of, refusal, where
from einloom.loops.trace.tensor import Base, Tensor

__all__ = ["Recorded", "RecordedCall", "Recorder", "current_recorder", "recorder", "trace", "when"]

MOST_SCRATCH = 2**30
"""Bytes that one scratch may have."""


@frozen(slots=False)
class RecordedCall:
    """A primitive on blocks, the output last. The inputs of a contraction may be a list of pairs, one behind the other.

    Attributes:
        primitive: what is computed.
        tensors: the blocks; a batch of a contraction is a first axis of both inputs, or lies along a loop.
        batch: the letter of the loop along which the batch lies.
        line: where the body calls it.
    """

    primitive: Primitive
    tensors: tuple[Tensor, ...]
    batch: str | None
    line: str


@frozen(slots=False)
class Recorded:
    """Calls, and others under a condition."""

    condition: Condition | None
    nodes: list[RecordedCall | Recorded] = field(default_factory=list["RecordedCall | Recorded"])


class Recorder:
    """Takes down what a body does.

    Attributes:
        nest: the loops.
        bases: arguments, then scratch.
        root: what was recorded.
    """

    def __init__(self, nest: LoopNest) -> None:
        self.nest = nest
        self.bases: list[Base] = []
        self.root = Recorded(None)
        self._open = [self.root]
        self._steps = {loop.letter: loop.step for loop in nest.innermost}
        ways = (str(loop.ways.dimension) for loop in nest.loops if loop.ways)
        self._symbols = {*LETTERS[: len(nest.specs)], THREAD, *ways}

    def argument(self, name: str, shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType) -> Tensor:
        """Return an argument of the body as a tensor."""
        self.bases.append(Base(name, shape, strides, dtype))
        return Tensor.whole(self.bases[-1], self._steps)

    def scratch(self, shape: Sequence[int], dtype: DType) -> Tensor:
        """Return memory that each thread has for itself; it holds anything at first.

        Raises:
            ShapeError: the shape is none, or more than memory holds.
        """
        extents = _extents(shape)
        if math.prod(extents) * dtype.size > MOST_SCRATCH:
            raise ShapeError(f"el.tpp.scratch of shape {extents}\n  {where()}\n  A thread may have 1 GiB.")
        strides = tuple(math.prod(extents[axis + 1 :]) for axis in range(len(extents)))
        number = sum(base.is_scratch for base in self.bases)
        self.bases.append(Base(f"scratch{number}", extents, strides, dtype, is_scratch=True))
        return Tensor.whole(self.bases[-1], self._steps)

    def block(self, primitive: Primitive, thing: object) -> Tensor:
        """Return a thing that is a block of this body's tensors.

        Raises:
            ScheduleError: it is none.
        """
        if not isinstance(thing, Tensor):
            kind = type(thing).__name__
            raise refusal(f"{primitive} of a {kind}", "Pass the array as an argument of the body, by keyword.")
        if not any(thing.base is base for base in self.bases):
            raise refusal(f"{primitive} of a tensor of another body", "Use this body's own arguments.")
        self._check_symbols(thing.symbols)
        return thing

    def call(self, primitive: Primitive, tensors: Sequence[Tensor], batch: str | None = None) -> None:
        """Take down a call.

        Raises:
            DTypeError: the tensors are of different kinds: numbers do not become other numbers on the way.
        """
        if not all(math.prod(tensor.shape) for tensor in tensors):
            return  # Nothing is written, or nothing is added.
        if len({tensor.dtype.kind for tensor in tensors}) > 1:
            types = ", ".join(f"{tensor.base.name} {tensor.dtype}" for tensor in tensors)
            raise DTypeError(f"{primitive} of different kinds of numbers: {types}\n  {where()}\n  Convert the arrays.")
        self._open[-1].nodes.append(RecordedCall(primitive, tuple(tensors), batch, where()))

    def _check_symbols(self, symbols: Iterable[str]) -> None:
        """Refuse indices that were kept from the trace of a body in other loops."""
        if strange := ", ".join(sorted(set(symbols) - self._symbols)):
            raise refusal(f"the index {strange} of another body", "Use this body's own indices.")

    def enter(self, condition: Condition) -> None:
        """Record what follows under a condition, until `leave`."""
        self._check_symbols(symbol for each in condition.comparisons for symbol in each.index.terms)
        node = Recorded(condition)
        self._open[-1].nodes.append(node)
        self._open.append(node)

    def leave(self) -> None:
        """Record what follows outside the last condition that was entered."""
        self._open.pop()


def _extents(shape: Sequence[int]) -> tuple[int, ...]:
    try:
        extents = tuple(map(index, shape))
    except TypeError:
        extents = (-1,)
    if any(extent < 0 for extent in extents):
        raise ShapeError(f"el.tpp.scratch of shape {shape!r:.80}\n  {where()}\n  Give a tuple of integers, 0 or more.")
    return extents


class _Current(threading.local):
    recorder: Recorder | None = None


_current = _Current()


def recorder(what: str) -> Recorder:
    """Return the recorder of the body that is traced on this thread.

    Raises:
        ScheduleError: no body is traced.
    """
    if _current.recorder is None:
        raise ScheduleError(f"{what} outside a traced body\n  {where()}\n  Use it in a function under @loop.body.")
    return _current.recorder


def current_recorder() -> Recorder | None:
    """Return the recorder of the body that is traced on this thread, if one is."""
    return _current.recorder


class when:
    """Do what the block says only where a condition on indices holds.

    >>> with when(a == 0):                      # doctest: +SKIP
    ...     el.tpp.zero(C[c, b])

    Args:
        condition: a comparison of indices, or several, joined by &.

    Raises:
        ScheduleError: outside a traced body, or the condition is none on indices.
    """

    def __init__(self, condition: Any) -> None:
        if condition is True or condition is False:
            raise refusal(
                "el.when of a plain bool", "Compare an index: el.when(a == 0); use `if` for what Python knows."
            )
        recorder("el.when")
        if not isinstance(condition, Condition):
            kind = type(condition).__name__
            raise refusal(f"el.when of a {kind}", "Compare an index: el.when(a == 0).")
        self.condition = condition
        self._entered: list[Recorder] = []

    def __enter__(self) -> None:
        self._entered.append(recorder("el.when"))
        self._entered[-1].enter(self.condition)

    def __exit__(self, *error: object) -> None:
        self._entered.pop().leave()


def trace(recording: Recorder, function: Callable[..., Any], tensors: dict[str, Tensor]) -> None:
    """Call a body once with symbolic indices and tensors.

    Raises:
        ScheduleError: it does what cannot be traced; the message quotes the line.
    """
    before = _current.recorder
    _current.recorder = recording
    indices = [Index.symbol(letter) for letter in LETTERS[: len(recording.nest.specs)]]
    captured = captured_arrays(function)  # Tracing must not write them.
    try:
        for array in captured:
            array.flags.writeable = False
        function(*indices, **tensors)
    except ValueError as error:
        if isinstance(error, ScheduleError) or "read-only" not in str(error):
            raise
        raise _assignment(error) from error
    finally:
        _current.recorder = before
        for array in captured:
            array.flags.writeable = True


def _assignment(error: ValueError) -> ScheduleError:
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    place = "" if last is None else line_of(last.tb_frame.f_code.co_filename, last.tb_lineno)
    return ScheduleError(
        f"an assignment to a captured array cannot be traced\n  {place}\n"
        "  Pass it to the body by keyword, and write blocks of it with el.tpp."
    )
