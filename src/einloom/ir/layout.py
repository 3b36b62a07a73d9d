"""`PackedLayout`: where the elements of a packed block lie in scratch.

A layout is a list of digits, outermost first. A digit `(axis, step)` stands for the index `(i % above) // step`, where
`above` is the step of the axis' digit before it, or the span of the whole block. The panels of a packed matrix, 16 rows
wide, are `m:16 k m`:

>>> from einloom.ir.schedule import Digit
>>> layout = PackedLayout.of((Digit("m", 16), Digit("k"), Digit("m")), {"m": 40, "k": 8}, "in0")
>>> layout.strides, layout.size
((128, 16, 1), 384)

Where elements are groups of neighbours along k, rows of them begin at lines, at distances that caches can keep apart:

>>> PackedLayout.of((Digit("n"), Digit("k")), {"n": 32, "k": 250}, "in1", rows="k").strides
(272, 1)
"""

from __future__ import annotations

from einloom.errors import ScheduleError
from einloom.frozen import frozen
from einloom.ir.schedule import Digit

__all__ = ["PackedLayout"]

ALIASED, PAGE, SPREAD = 64, 1024, 16
"""Elements of 4 bytes after which rows fall into a sixteenth of the sets of a first-level cache or fewer, those after
which all that is equally far from their beginnings falls into one, and those of a line, by which both are spread."""


@frozen
class PackedLayout:
    """The digits of a packed block with what follows from them; elements throughout.

    Attributes:
        digits: outermost first.
        spans: indices of the axis that each digit and those below it cover.
        strides: how far one step of each digit lies apart.
        size: elements of the whole block.
    """

    digits: tuple[Digit, ...]
    spans: tuple[int, ...]
    strides: tuple[int, ...]
    size: int

    @staticmethod
    def of(digits: tuple[Digit, ...], block: dict[str, int], operand: str, rows: str | None = None) -> PackedLayout:
        """Return the layout of a block with the extents `block`.

        With `rows`, the axis that groups lie along, neither rows of it nor panels share few sets of a cache: kernels
        read several rows at once, and copies write into several panels. Rows of a line and more begin at lines, which
        matrix tiles read whole.

        Raises:
            ScheduleError: a digit of an axis that the operand lacks, steps that do not nest, or an axis without its
                innermost digit.
        """
        left = dict(block)
        spans: list[int] = []
        for digit in digits:
            if digit.axis not in left:
                raise ScheduleError(
                    f"pack of {operand}: it does not depend on the axis {digit.axis}\n"
                    f"  Its axes are {' '.join(block)}: name each, perhaps with a panel before: m:4 k m."
                )
            above = left[digit.axis]
            if digit.step > max(above, 1) or (above % digit.step and above != block[digit.axis]):
                raise ScheduleError(
                    f"pack of {operand}: digit {digit.axis}:{digit.step} does not fit into {above}\n"
                    "  Panels of an axis get smaller from left to right, and inner ones divide outer ones."
                )
            spans.append(max(above, 1))
            left[digit.axis] = digit.step
        for axis, rest in left.items():
            if rest > 1:
                raise ScheduleError(
                    f"pack of {operand}: the layout lacks the innermost digit of axis {axis}\n"
                    f"  Name {axis} without a step behind its panels."
                )
        sizes = [-(-span // digit.step) for span, digit in zip(spans, digits)]
        *strides, size = _distances(sizes, digits, rows)
        return PackedLayout(digits, tuple(spans), tuple(reversed(strides)), size)

    def without(self, axis: str) -> PackedLayout:
        """Return the layout without the digits of an axis; all else keeps its place."""
        kept = [i for i, digit in enumerate(self.digits) if digit.axis != axis]
        spans, strides = (tuple(each[i] for i in kept) for each in (self.spans, self.strides))
        return PackedLayout(tuple(self.digits[i] for i in kept), spans, strides, self.size)

    def stride(self, axis: str, size: int) -> int:
        """Return the stride of the axis inside a block of `size` indices that a primitive takes (0: no such axis)."""
        places = [i for i, digit in enumerate(self.digits) if digit.axis == axis]
        if not places:
            return 0
        if size > self.spans[places[-1]]:
            panel = self.spans[places[-1]]
            raise ScheduleError(
                f"the primitive's block of {size} {axis} is larger than its packed panel of {panel}\n"
                f"  Add a loop over {axis} with step {panel}, or make panels of {size}."
            )
        return self.strides[places[-1]]

    def advance(self, axis: str, step: int, span: int) -> int:
        """Return how far a loop over `span` indices in steps of `step` moves along the packed block."""
        if span <= step:
            return 0  # A single iteration moves nothing.
        for i, digit in enumerate(self.digits):
            if digit.axis == axis and step % digit.step == 0 and span <= self.spans[i]:
                return step // digit.step * self.strides[i]
        raise ScheduleError(
            f"a loop over {axis} in steps of {step} does not follow the packed layout\n"
            f"  Take steps of whole panels, or make panels of {step}."
        )


def _distances(sizes: list[int], digits: tuple[Digit, ...], rows: str | None) -> list[int]:
    """Return how far one step of each digit lies apart, the innermost first, and how much all take together."""
    distances = [1]
    for place in reversed(range(len(sizes))):
        distance = distances[-1] * sizes[place]
        along = place == len(sizes) - 1 and digits[place].axis == rows
        if along and place and distance > SPREAD:
            distance = -(-distance // SPREAD) * SPREAD
        aliased = ALIASED if along else PAGE
        spread = rows is not None and place and distance % aliased == 0
        distances.append(distance + SPREAD if spread else distance)
    return distances
