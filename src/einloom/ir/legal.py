"""What a schedule must not say of an operation, whatever it packs: `check_schedule` refuses it."""

from __future__ import annotations

from itertools import pairwise

from einloom.errors import ScheduleError
from einloom.frozen import frozen
from einloom.ir.blocks import Blocks
from einloom.ir.curve import LONGEST_CURVE
from einloom.ir.operation import DimType, Operation, Primitive, Touch
from einloom.ir.schedule import OUTPUT, ExecType, Schedule

__all__ = ["check_schedule"]


def check_schedule(operation: Operation, schedule: Schedule, blocks: Blocks) -> None:
    """Refuse what is illegal about the loops, the axes of the primitive, and what is rounded.

    Raises:
        ScheduleError: the message names the dimension and the reason.
    """
    _Rules(operation, schedule, blocks).check()


@frozen
class _Rules:
    """What a schedule has to keep."""

    operation: Operation
    schedule: Schedule
    blocks: Blocks

    def check(self) -> None:
        """Raise for the first thing that is illegal."""
        schedule = self.schedule
        for name in (*(loop.axis for loop in schedule.loops), *schedule.prims.names):
            if name not in self.blocks.extents:
                raise ScheduleError(f"the schedule names the axis {name}\n  There are {' '.join(self.blocks.extents)}.")
        for loop in schedule.loops:
            if loop.kind is ExecType.SHARED and self.blocks.roles[loop.axis] is DimType.K:
                raise ScheduleError(
                    f"dimension {loop.axis} is contracted (role k) and shared\n"
                    "  Threads would add to the same elements. Make it seq.",
                )
        self._check_curves()
        for name, extent in self.blocks.extents.items():
            self._check_steps(name, extent)
        self._check_prims()
        self._check_rounding()

    def _check_curves(self) -> None:
        """Dimensions along a curve are not contracted, have no pack among them, and a table holds their blocks."""
        loops = self.schedule.loops
        for depth, (loop, outer) in enumerate(zip(loops, (None, *loops))):
            if loop.kind is not ExecType.SFC:
                continue
            if self.blocks.roles[loop.axis] is DimType.K:
                raise ScheduleError(
                    f"dimension {loop.axis} is contracted (role k) and sfc\n"
                    "  A curve runs over blocks of the output. Make it seq."
                )
            within = outer is not None and outer.kind is ExecType.SFC
            for pack in self.schedule.packs:
                if within and pack.loop == depth:
                    name = "the output" if pack.operand == OUTPUT else f"input {pack.operand}"
                    raise ScheduleError(
                        f"{name} is packed at loop {depth}, between sfc dimensions that are one loop ({loop.axis})\n"
                        "  Pack it outside or inside all of them."
                    )
            blocks = self._blocks_on_curve(depth)
            if not within and blocks > LONGEST_CURVE:
                raise ScheduleError(
                    f"the sfc dimensions from {loop.axis} on have {blocks:,} blocks; at most {LONGEST_CURVE:,} go\n"
                    "  Take larger steps, or make the outer ones seq or shared."
                )

    def _blocks_on_curve(self, depth: int) -> int:
        blocks = 1
        for inner, loop in enumerate(self.schedule.loops[depth:], depth):
            if loop.kind is not ExecType.SFC:
                break
            blocks *= -(-self.blocks.span(loop.axis, inner) // loop.step)
        return blocks

    def _check_steps(self, name: str, extent: int) -> None:
        loops = [loop for loop in self.schedule.loops if loop.axis == name]
        steps = [loop.step for loop in loops]
        together = [loop for loop in loops if loop.kind is not ExecType.SEQ and self.schedule.team is None]
        for outer, inner in pairwise(together):
            if outer.step < extent and outer.step % inner.step:
                raise ScheduleError(
                    f"dimension {name}: the step {inner.step} ({inner.kind}) does not divide the step {outer.step} "
                    f"({outer.kind}) around it\n  Threads count whole blocks. Take a divisor."
                )
        if name not in self.schedule.prims.names and extent > 1 and (not steps or steps[-1] != 1):
            rest = steps[-1] if steps else extent
            raise ScheduleError(f"dimension {name}: nothing covers the inner {rest} indices\n  Add a loop with step 1.")

    def _check_prims(self) -> None:
        prims, main, roles = self.schedule.prims, self.operation.main, self.blocks.roles
        for letter, name in (("k", prims.k), ("batch", prims.batch)):
            if name is not None and (not main.is_contraction or roles[name] is not DimType.K):
                what = f"dimension {name} (role {roles[name]}) cannot be the {letter} of {main}"
                advice = "Take a dimension of role k" if main.is_contraction else f"Leave {letter}={name} out"
                raise ScheduleError(f"{what}\n  {advice}, and loop over {name} with step 1.")
        for letter, name in (("m", prims.m), ("n", prims.n)):
            if name is not None and roles[name] is DimType.K:
                raise ScheduleError(
                    f"dimension {name} is contracted (role k) and cannot be the {letter} of {main}\n"
                    f"  Take a dimension of the output, and {name} as k or batch or in a loop."
                )

    def _check_rounding(self) -> None:
        """What is stored in a narrower type than it is computed in is stored once.

        Integers may wrap in between, and after each operator on what was copied.
        """
        operation, output = self.operation, self.operation.output
        if operation.rounds_sums and operation.first_touch != Touch(Primitive.ZERO):
            raise ScheduleError("sums of integers are added to float32\n  Start from zero, or give out the type int32.")
        if not operation.narrows or any(pack.operand == OUTPUT for pack in self.schedule.packs):
            return
        again = [
            loop.axis for loop in self.schedule.loops if self.blocks.cuts(loop, DimType.K) and output.dtype.epsilon
        ]
        wraps = output.dtype.is_integer and not operation.main.is_contraction
        touched = any(not touch.does_nothing for touch in operation.last_touches)
        if again or (touched and not wraps):
            why = f"loop over {again[0]} adds to it" if again else "last touch reads it"
            raise ScheduleError(
                f"out has type {output.dtype}, is computed in {operation.accumulate}, and a {why} after it was stored\n"
                "  Stage the output: pack out@….",
            )
