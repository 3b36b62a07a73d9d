"""What the copies of a schedule turn: how elements of a packed block follow each other in scratch and in the tensor."""

from __future__ import annotations

import math
from collections.abc import Iterable

from einloom.ir.copies import ROWS
from einloom.ir.cut_rows import MOST_PIECES
from einloom.kernels.elementwise.few import MOST
from einloom.passes.model.flow import Flow
from einloom.passes.model.footprint import LINE

__all__ = ["copied_matrix", "copied_run", "counted_piece", "finds_elements", "runs_apart", "turned_run"]


def copied_run(flow: Flow, position: int) -> int:
    """Return how many elements of a packed block follow each other in scratch and in the tensor.

    Rows of a fused axis end runs of the output; of inputs, by which the constants of copies were fitted, they do
    not.
    """
    tensor, run = flow.buffers.tensors[position], 1
    for each in flow.scratch[position].strided:
        part = next((part for part in tensor.along(each.axis) if part.stride == run), None)
        if part is None or each.stride != run or each.step > 1:
            break
        if position == flow.output and part.step > 1:
            break
        run *= max(min(each.most, part.most) if position == flow.output else each.most, 1)
    return run


def runs_apart(flow: Flow) -> int | None:
    """Return how many elements of the output lie from one run of a staged block to the next one.

    0: the block is one run; None: not all lie equally far apart, in scratch right behind each other.
    """
    run, apart, count = copied_run(flow, flow.output), 0, 1
    for follows, lies, extent in _digits(flow, flow.output):
        if follows < run or extent <= 1:
            continue
        apart = apart or lies
        if (follows, lies) != (run * count, apart * count):
            return None
        count *= extent
    return apart


def copied_matrix(flow: Flow, position: int) -> tuple[int, int, bool, bool]:
    """Return how many elements of a packed block follow each other in scratch, and how many in the tensor.

    And whether what follows each other in scratch lies in different lines of the tensor; and whether either is a
    few elements, the next ones right behind them.
    """
    digits = _digits(flow, position)
    rows, apart = _joined(digits)
    columns, behind = _joined((lies, follows, extent) for follows, lies, extent in digits)
    few = (rows <= MOST and behind == rows) or (columns <= MOST and apart == columns)
    return rows, columns, bool(digits) and min(digits)[1] * flow.buffers.sizes[position] >= LINE, few


def finds_elements(flow: Flow, position: int) -> bool:
    """Whether a copy finds single elements: panels cut rows of a fused axis that lie across what is contiguous."""
    if position == flow.output or not flow.schedule.fused:
        return False
    for each in flow.scratch[position].strided:
        parts = flow.buffers.tensors[position].along(each.axis)
        across = next((part for part in parts if part.stride == 1 and part.step > 1), None)
        if across is not None and each.step > 1 and each.step % across.step:
            return True
    return False


def counted_piece(flow: Flow, position: int) -> float | None:
    """Return the elements that each call of a copy moves which counts when rows and panels end; None: none counts.

    Rows are cut into pieces that do not repeat soon (`ir.cut_rows`): each has what both sides leave whole, and beside
    it all of another axis that is contiguous in the tensor, or a few indices of it.
    """
    tensor, scratch = flow.buffers.tensors[position], flow.scratch[position].strided
    for each in scratch:
        row = max((part.step for part in tensor.along(each.axis)), default=1)
        period = math.lcm(row, each.step)
        if each.step > 1 and each.step % row and period // row + period // each.step - 1 > MOST_PIECES:
            beside = [other.most for other in scratch if other.axis != each.axis and tensor.is_contiguous(other.axis)]
            return math.gcd(row, each.step) * max(beside, default=ROWS)
    return None


def turned_run(flow: Flow) -> int:
    """Return how many elements follow each other in the output where a block leaves scratch transposed.

    Rows that follow each other are one run.
    """
    digits = sorted((lies, extent) for _, lies, extent in _digits(flow, flow.output) if extent > 1)
    run = 1
    for lies, extent in digits[:2]:
        if lies != run:
            break
        run *= extent
    return run


def _digits(flow: Flow, position: int) -> list[tuple[int, int, int]]:
    """Return for each axis of a packed block how far apart its indices are in scratch and in the tensor, and how
    many there are."""
    found: list[tuple[int, int, int]] = []
    for each in flow.scratch[position].strided:
        for part in flow.buffers.tensors[position].along(each.axis):
            step, most = max(each.step, part.step), min(each.most, part.most)
            if step < most:
                found.append((each.stride * step // each.step, part.stride * step // part.step, -(-most // step)))
    return found


def _joined(digits: Iterable[tuple[int, int, int]]) -> tuple[int, int]:
    """Return how many indices follow each other by their first stride, in equal steps by the second, and the step."""
    ordered = sorted(digit for digit in digits if digit[2] > 1)
    length, step = 1, ordered[0][1] if ordered else 1
    for stride, other, extent in ordered:
        if (stride, other) != (ordered[0][0] * length, step * length):
            break
        length *= extent
    return length, step
