"""`LoopLowering`: the code of loops that run their blocks one after another, and what calls inside ask of them.

A loop whose blocks are all whole counts its iterations down (*static*). Where the axis has short blocks it follows what
is left of the axis (*dynamic*). Loops along curves are in `curves`, those that threads share in `shared`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from einloom.asm import Label
from einloom.frozen import frozen
from einloom.ir.nest import Iteration, Loop, Node
from einloom.targets.positions import Positions
from einloom.targets.short_blocks import is_cut_unevenly

__all__ = ["Body", "LoopLowering", "LoopState"]

Body: TypeAlias = Callable[[Iterable[Node]], None]
"""Emits the nodes inside a loop."""


@frozen
class LoopState:
    """The variables of a loop: how to see that an iteration is the first or the last.

    Attributes:
        counter: static loops: iterations left.
        entry: dynamic loops: indices left at the loop's beginning.
        stop: dynamic loops: indices left at its end.
        kept: loops whose blocks others cut unevenly: indices left when an iteration began.
    """

    loop: Loop
    dynamic: bool
    counter: str
    entry: str
    stop: str
    kept: str | None

    @staticmethod
    def of(loop: Loop, dynamic: bool) -> LoopState:
        """Return the state of a loop; it is `dynamic` if its axis has short blocks."""
        name = loop.name
        kept = f"kept {name}" if is_cut_unevenly(loop) else None
        return LoopState(loop, dynamic, f"counter {name}", f"entry {name}", f"stop {name}", kept)

    @property
    def variables(self) -> list[str]:
        """The variables that the loop needs."""
        counter = [] if self.loop.trips == 1 else [self.counter]
        names = [self.entry, self.stop] if self.dynamic else counter
        names += [self.until(number) for number in range(len(self.loop.carries))]
        names += [self.begun(buffer) for buffer in self.carried]
        return [*names, self.kept] if self.kept else names

    @property
    def carried(self) -> tuple[str, ...]:
        """The buffers whose positions do not move evenly."""
        if not self.loop.carries:
            return ()
        return tuple(dict.fromkeys(carry.buffer for carry in self.loop.carries))

    def until(self, carry: int) -> str:
        """The variable that counts iterations down to the next time that a carry moves its buffer."""
        return f"until {self.loop.name}.{carry}"

    def begun(self, buffer: str) -> str:
        """The variable that keeps where the loop began in a buffer."""
        return f"begun {self.loop.name} {buffer}"

    @property
    def is_single(self) -> bool:
        """Whether the loop certainly has one iteration."""
        return self.loop.trips == 1 and not self.dynamic


class LoopLowering:
    """Code for the loops whose states these are, by name."""

    def __init__(self, positions: Positions, states: Mapping[str, LoopState], body: Body) -> None:
        self.positions = positions
        self.states = states
        self._body = body
        self._open: list[LoopState] = []  # dynamic ones, from the outside in
        self._around: list[Loop] = []

    def emit(self, loop: Loop) -> None:
        """Emit a loop and what is inside."""
        state = self.states[loop.name]
        if state.is_single:
            self._body(loop.body)
            return
        self._around.append(loop)
        (self._dynamic if state.dynamic else self._static)(state)
        self._around.pop()

    def onward(self, buffer: str) -> int:
        """Return how many elements the innermost open loop moves on in a buffer from one iteration to the next."""
        return dict(self._around[-1].advances).get(buffer, 0) if self._around else 0

    def unless(self, when: Iteration, state: LoopState, label: Label) -> None:
        """Branch to `label` unless the loop is in its first (or last) iteration."""
        positions, vm, loop = self.positions, self.positions.vm, state.loop
        if not state.dynamic:
            if loop.trips > 1:
                positions.branch("ne", state.counter, loop.trips if when is Iteration.FIRST else 1, label)
        elif when is Iteration.FIRST:
            positions.branch("ne", self._left_unless_cut(state), state.entry, label)
        else:
            positions.variables.load(positions.work, self._left_at(state))
            vm.add_constant(positions.work, -loop.step)
            positions.variables.load(positions.other, state.stop)
            vm.branch("gt", positions.work, positions.other, label)

    def _left_at(self, state: LoopState) -> str:
        """The variable that says what was left when the current iteration of a loop began: inner loops count on."""
        if state.kept:
            return state.kept
        inner = self._inside(state)
        return inner[0].entry if inner else f"left {state.loop.axis}"

    def _left_unless_cut(self, state: LoopState) -> str:
        """The same while inner loops are in their first iterations: they have not counted on.

        But inside a block that is cut unevenly, what is left ends with that block.
        """
        if any(other.kept for other in self._inside(state)):
            return self._left_at(state)
        return state.kept or f"left {state.loop.axis}"

    def _inside(self, state: LoopState) -> list[LoopState]:
        """The dynamic loops over the axis of a loop that are open inside it, from the outside in."""
        around = self._open[self._open.index(state) + 1 :]
        return [other for other in around if other.loop.axis == state.loop.axis]

    def _static(self, state: LoopState) -> None:
        """Count down; every iteration is whole."""
        loop, positions = state.loop, self.positions
        positions.variables.set(state.counter, loop.trips)
        self._start_carries(state)
        top = positions.asm.label()
        self._body(loop.body)
        positions.move(loop, 1)
        self._carry(state)
        positions.variables.count_down(state.counter, top)
        positions.move(loop, -loop.trips)
        self._return(state)

    def _dynamic(self, state: LoopState) -> None:
        """Follow the indices that are left of the axis, whose last block is short."""
        loop, positions, variables = state.loop, self.positions, self.positions.variables
        left = f"left {loop.axis}"
        self._set_bounds(state)
        self._start_carries(state)
        top = positions.asm.label()
        self._iteration(state)
        positions.move(loop, 1)
        self._carry(state)
        variables.add(left, -loop.step)
        positions.branch("gt", left, state.stop, top)
        if loop.is_clipped:
            positions.rewind(loop, state.entry)
        else:
            positions.move(loop, -loop.trips)
        self._return(state)
        variables.copy(left, state.entry)

    def _set_bounds(self, state: LoopState) -> None:
        """Note what is left of the axis now, and what will be left behind the loop."""
        loop, positions, vm, variables = state.loop, self.positions, self.positions.vm, self.positions.variables
        variables.load(positions.work, f"left {loop.axis}")
        variables.write(state.entry, positions.work)
        vm.constant(positions.other, loop.span)
        if loop.is_clipped:
            vm.minimum(positions.other, positions.work)
        vm.subtract(positions.work, positions.other)
        variables.write(state.stop, positions.work)

    def _iteration(self, state: LoopState) -> None:
        """Emit what is inside; where loops there cut the block unevenly, what is left ends with the block meanwhile."""
        left, variables = f"left {state.loop.axis}", self.positions.variables
        if state.kept:
            variables.copy(state.kept, left)
            self.positions.end_with_the_block(state.loop)
        self._open.append(state)
        self._body(state.loop.body)
        self._open.pop()
        if state.kept:
            variables.copy(left, state.kept)

    def _start_carries(self, state: LoopState) -> None:
        """Keep where the loop begins, and begin to count."""
        for buffer in state.carried:
            self.positions.variables.copy(state.begun(buffer), f"at {buffer}")
        for number, carry in enumerate(state.loop.carries):
            self.positions.variables.set(state.until(number), carry.every)

    def _carry(self, state: LoopState) -> None:
        """Move buffers whose rows or panels end with this iteration to the next ones."""
        positions, variables = self.positions, self.positions.variables
        for number, carry in enumerate(state.loop.carries):
            inside = positions.asm.forward("inside")
            variables.count_down(state.until(number), inside)
            variables.set(state.until(number), carry.every)
            variables.add(f"at {carry.buffer}", carry.delta * positions.element(carry.buffer))
            positions.asm.bind(inside)

    def _return(self, state: LoopState) -> None:
        """Go back to where the loop began, in buffers whose positions did not move evenly."""
        for buffer in state.carried:
            self.positions.variables.copy(f"at {buffer}", state.begun(buffer))
