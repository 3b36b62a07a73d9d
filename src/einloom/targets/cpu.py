"""`lower_nest(nest, machine) -> Program`: the loops around the kernels, as machine code in one buffer with them.

Every buffer's position, every loop's counter and, for axes with short last blocks, the indices that are left are
variables: the hottest in callee-saved registers, the others in slots of the frame. Kernels are functions of the same
buffer with the C calling convention, one for each combination of full and short blocks that occurs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from einloom.asm import Assembler, Label
from einloom.errors import UnsupportedTarget
from einloom.ir.nest import Call, Guard, Iteration, Loop, Nest, Node, Pack, When, leading_loops, walk
from einloom.ir.schedule import ExecType
from einloom.ir.statement import Barrier
from einloom.kernels.emit import emit_kernel
from einloom.kernels.select import machine_for
from einloom.kernels.specs import Spec
from einloom.kernels.verbs.frame import calling_frame
from einloom.kernels.verbs.scalar import Condition
from einloom.machine import Machine
from einloom.targets.calls import kernel_spec
from einloom.targets.curves import Register
from einloom.targets.program import Program
from einloom.targets.teams import TeamLowering

__all__ = ["lower_nest"]

SCRATCH_ALIGNMENT = 64


def lower_nest(nest: Nest, machine: Machine) -> Program:
    """Return the program of a nest for a CPU.

    Raises:
        UnsupportedTarget: the machine has no vector ISA that kernels are written for.
    """
    if not machine.has_vectors:
        raise UnsupportedTarget(
            f"{machine.name} has no vector ISA that einloom knows (AVX2 with FMA, AVX-512 or Neon)\n"
            '  Use target="interpreter".',
        )
    return _Lowering(nest, machine).program()


@dataclass(slots=True)
class _LoopState:
    """What calls inside a loop ask of it: how to see that an iteration is the first or the last."""

    loop: Loop
    dynamic: bool
    counter: str  # static loops: iterations left
    entry: str  # dynamic loops: indices left at the loop's beginning
    stop: str  # dynamic loops: indices left at its end
    kept: str | None  # loops whose blocks others cut unevenly: indices left when an iteration began


class _Lowering(TeamLowering):
    """Working state of one `lower_nest`."""

    def __init__(self, nest: Nest, machine: Machine) -> None:
        self.nest = nest
        self.machine = machine
        self.asm = Assembler(machine.isa)
        self.vm = machine_for(self.asm, machine)
        self.extents = {axis.name: axis.extent for axis in nest.axes}
        self.short = _axes_with_short_blocks(nest)
        self.states: dict[str, _LoopState] = {}
        self.open_loops: list[_LoopState] = []  # dynamic ones, from the outside in
        self.kernels: dict[Spec, Label] = {}
        scratch = nest.scratch_bytes
        self.scratch_bytes = -(-scratch // SCRATCH_ALIGNMENT) * SCRATCH_ALIGNMENT
        self.work, self.other = self.vm.scratch[:2]
        sizes = {buffer.name: buffer.dtype.size for buffer in nest.buffers}
        self.dtypes = {buffer.name: buffer.dtype for buffer in nest.buffers}
        self.dtypes |= {c.name: self.dtypes[c.buffer] for c in nest.cursors if c.buffer is not None}
        self.elements = sizes | {cursor.name: sizes.get(cursor.buffer or "", 1) for cursor in nest.cursors}

    def program(self) -> Program:
        entry = self.asm.forward("entry")
        shared, body = _shared_loops(self.nest.body) if self.nest.team is None else ([], self.nest.body)
        self.variables = calling_frame(self.vm, _hot_first(self.nest), self._names(shared))
        self.asm.bind(entry)
        self.variables.enter()
        if self.nest.team is None:
            self._load_arguments(is_shared=bool(shared))
        else:
            self._load_team()
        for axis in sorted(self.short):
            self.variables.set(f"left {axis}", self.extents[axis])
        if shared:
            self._shared(shared, body)
        else:
            self._nodes(body)
        if any(isinstance(node, Call) and node.streams for node in walk(self.nest.body)):
            self.vm.order_stores()
        self.variables.leave()
        self._emit_kernels()
        shares = self.nest.shared_trips if self.nest.team is None else self.nest.team.threads
        return Program(self.asm, entry, self.machine, self.scratch_bytes, shares)

    # ---- variables --------------------------------------------------------------------------------------------------

    def _names(self, shared: Sequence[Loop]) -> list[str]:
        """Return the names of all variables; on the way, note what loops have to know of themselves."""
        names: list[str] = []
        for loop in _inner_loops_first(self.nest.body):
            if loop in shared:
                continue
            if loop.kind is ExecType.SFC:
                names += self._curve_names(loop)
                continue
            dynamic = loop.axis in self.short
            kept = f"kept {loop.name}" if _is_cut_unevenly(loop) else None
            self.states[loop.name] = _LoopState(
                loop, dynamic, f"counter {loop.name}", f"entry {loop.name}", f"stop {loop.name}", kept
            )
            if not dynamic and loop.trips > 1:
                names.append(f"counter {loop.name}")
            elif dynamic:
                names += [f"entry {loop.name}", f"stop {loop.name}"]
            if kept:
                names.append(kept)
        names += [f"left {axis}" for axis in sorted(self.short)]
        if self.nest.team is not None:
            return names + self._team_names()
        names += [f"at {buffer.name}" for buffer in self.nest.buffers]
        if shared:
            names += ["iteration", "end", *(f"base {buffer.name}" for buffer in self.nest.buffers)]
        return names

    def _load_arguments(self, is_shared: bool) -> None:
        """Positions begin at the operands' addresses and at the thread's own scratch."""
        vm = self.vm
        block, thread = vm.arguments[:2]
        operands = len(self.nest.operation.operands)
        for index, buffer in enumerate(self.nest.buffers):
            if buffer.offset is None:
                vm.load(self.work, block, 8 * index)
            else:
                vm.multiply_constant(self.work, thread, self.scratch_bytes)
                vm.load(self.other, block, 8 * operands)
                vm.add(self.work, self.other)
                vm.add_constant(self.work, buffer.offset)
            self.variables.write(f"at {buffer.name}", self.work)
            if is_shared:
                self.variables.write(f"base {buffer.name}", self.work)

    # ---- shared loops -----------------------------------------------------------------------------------------------

    def _shared(self, loops: Sequence[Loop], body: tuple[Node, ...]) -> None:
        """Run this thread's contiguous share of the flattened shared iterations."""
        vm, variables = self.vm, self.variables
        total = self.nest.shared_trips
        rest, quotient, thread, threads = (vm.arguments[i] for i in (0, 3, 4, 5))
        vm.move(thread, vm.arguments[1])  # Division may use the third argument's register.
        vm.move(threads, vm.arguments[2])
        for name in ("iteration", "end"):
            vm.multiply_constant(self.work, thread, total)
            vm.divide(quotient, rest, self.work, threads)
            variables.write(name, quotient)
            vm.add_constant(thread, 1)
        top, following, done = self.asm.forward("shared"), self.asm.forward("next"), self.asm.forward("done")
        self.asm.bind(top)
        self._branch("ge", "iteration", "end", done)
        self._place_iteration(loops, following)
        self._nodes(body)
        self.asm.bind(following)
        variables.add("iteration", 1)
        vm.jump(top)
        self.asm.bind(done)

    def _place_iteration(self, loops: Sequence[Loop], following: Label) -> None:
        """Turn the flat iteration into one index a loop; set positions and what is left of each axis."""
        vm, variables = self.vm, self.variables
        rest, index = self.vm.arguments[3:5]
        variables.load(rest, "iteration")
        for buffer in self.nest.buffers:
            variables.copy(f"at {buffer.name}", f"base {buffer.name}")
        for axis in sorted(self.short):
            variables.set(f"left {axis}", self.extents[axis])
        along = [loop for loop in loops if loop.kind is ExecType.SFC]
        if along:
            vm.divide_constant(rest, index, rest, math.prod(loop.trips for loop in along))
            self._place_on_curve(along, index)
        for loop in reversed(loops[: len(loops) - len(along)]):
            vm.divide_constant(rest, index, rest, loop.trips)
            self._place_index(loop, index)
        self._skip_outside(loops, following)

    def _place_index(self, loop: Loop, index: Register) -> None:
        """Move positions, and what is left of the axis, by `index` iterations."""
        product = self.vm.arguments[5]
        for buffer, delta in loop.advances:
            self.vm.multiply_constant(product, index, delta * self._element(buffer))
            self.variables.add(f"at {buffer}", product)
        if loop.axis in self.short:
            self.vm.multiply_constant(product, index, -loop.step)
            self.variables.add(f"left {loop.axis}", product)

    def _skip_outside(self, loops: Sequence[Loop], following: Label) -> None:
        for axis in {loop.axis for loop in loops if loop.is_clipped}:
            self._branch("le", f"left {axis}", 0, following)  # Beyond the end of an axis that several loops share.
        for loop in loops:
            if _is_cut_unevenly(loop):
                self._end_with_the_block(loop)

    def _skip_or_clip(self, loop: Loop, following: Label) -> None:
        if loop.is_clipped:
            self._branch("le", f"left {loop.axis}", 0, following)
        if _is_cut_unevenly(loop):
            self._end_with_the_block(loop)

    # ---- the tree ---------------------------------------------------------------------------------------------------

    def _nodes(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            if isinstance(node, Loop):
                self._loop(node)
            elif isinstance(node, Call):
                self._call(node)
            elif isinstance(node, Guard):
                self._guard(node)
            elif isinstance(node, Pack):
                self.asm.comment(f"pack {node.source} into {node.buffer}")
                self._nodes(node.body)
            elif isinstance(node, When):
                self._when(node)
            elif isinstance(node, Barrier) and self.nest.team is not None:
                self._barrier()
            else:
                raise UnsupportedTarget(f"CPU programs are made of calls to primitives; this nest has: {node}")

    def _loop(self, loop: Loop) -> None:
        self.asm.comment(f"{loop.kind} {loop.name} in steps of {loop.step}")
        if loop.kind is ExecType.SFC:
            self._curve(*leading_loops((loop,), ExecType.SFC))
            return
        if self.nest.team is not None and loop.kind is ExecType.SHARED:
            self._parallel(loop)
            return
        if self.states[loop.name].dynamic:
            self._dynamic_loop(self.states[loop.name])
        elif loop.trips == 1:
            self._nodes(loop.body)
        else:
            self._static_loop(self.states[loop.name])

    def _static_loop(self, state: _LoopState) -> None:
        """Count down; every iteration is whole."""
        loop = state.loop
        self.variables.set(state.counter, loop.trips)
        top = self.asm.label()
        self._nodes(loop.body)
        self._move(loop, 1)
        self.variables.add(state.counter, -1)
        self._branch("gt", state.counter, 0, top)
        self._move(loop, -loop.trips)

    def _dynamic_loop(self, state: _LoopState) -> None:
        """Follow the indices that are left of the axis, whose last block is short."""
        loop, variables, vm = state.loop, self.variables, self.vm
        left = f"left {loop.axis}"
        variables.load(self.work, left)
        variables.write(state.entry, self.work)
        vm.constant(self.other, loop.span)
        if loop.is_clipped:
            vm.minimum(self.other, self.work)
        vm.subtract(self.work, self.other)
        variables.write(state.stop, self.work)
        top = self.asm.label()
        if state.kept:
            variables.copy(state.kept, left)
            self._end_with_the_block(loop)
        self.open_loops.append(state)
        self._nodes(loop.body)
        self.open_loops.pop()
        if state.kept:
            variables.copy(left, state.kept)
        self._move(loop, 1)
        variables.add(left, -loop.step)
        self._branch("gt", left, state.stop, top)
        if loop.is_clipped:
            self._rewind_as_far_as_it_went(state)
        else:
            self._move(loop, -loop.trips)
        variables.copy(left, state.entry)

    def _end_with_the_block(self, loop: Loop) -> None:
        """Let what is left of the axis end with this iteration's block: loops inside cut it unevenly."""
        self.variables.load(self.work, f"left {loop.axis}")
        self.vm.constant(self.other, loop.step)
        self.vm.minimum(self.work, self.other)
        self.variables.write(f"left {loop.axis}", self.work)

    def _rewind_as_far_as_it_went(self, state: _LoopState) -> None:
        loop = state.loop
        rest, index, product = self.vm.arguments[3:6]
        self.variables.load(index, state.entry)
        self.variables.load(self.work, f"left {loop.axis}")
        self.vm.subtract(index, self.work)
        for buffer, delta in loop.advances:
            bytes_a_step = delta * self._element(buffer)
            if bytes_a_step % loop.step == 0:
                self.vm.multiply_constant(product, index, -bytes_a_step // loop.step)
            else:
                self.vm.divide_constant(product, rest, index, loop.step)
                self.vm.multiply_constant(product, product, -bytes_a_step)
            self.variables.add(f"at {buffer}", product)

    def _move(self, loop: Loop, iterations: int) -> None:
        for buffer, delta in loop.advances:
            if delta:
                self.variables.add(f"at {buffer}", iterations * delta * self._element(buffer))

    def _element(self, buffer: str) -> int:
        return self.elements[buffer]

    # ---- calls ------------------------------------------------------------------------------------------------------

    def _guard(self, guard: Guard) -> None:
        skip = self.asm.forward("skip")
        for name in guard.loops:
            self._unless(guard.when, self.states[name], skip)
        self._nodes(guard.body)
        self.asm.bind(skip)

    def _unless(self, when: Iteration, state: _LoopState, label: Label) -> None:
        """Branch to `label` unless the loop is in its first (or last) iteration."""
        if not state.dynamic:
            if state.loop.trips > 1:
                self._branch("ne", state.counter, state.loop.trips if when is Iteration.FIRST else 1, label)
        elif when is Iteration.FIRST:
            self._branch("ne", state.kept or f"left {state.loop.axis}", state.entry, label)
        else:
            self.variables.load(self.work, self._left_at(state))
            self.vm.add_constant(self.work, -state.loop.step)
            self.variables.load(self.other, state.stop)
            self.vm.branch("gt", self.work, self.other, label)

    def _left_at(self, state: _LoopState) -> str:
        """The variable that says what was left when the current iteration of a loop began: inner loops count on."""
        if state.kept:
            return state.kept
        around = self.open_loops[self.open_loops.index(state) + 1 :]
        inner = next((other for other in around if other.loop.axis == state.loop.axis), None)
        return f"left {state.loop.axis}" if inner is None else inner.entry

    def _call(self, call: Call) -> None:
        done = self.asm.forward("called")
        self._variants(call, [], done)
        self.asm.bind(done)

    def _variants(self, call: Call, sizes: list[int], done: Label) -> None:
        """Choose the kernel for the block's sizes: a branch for every axis whose last block is short."""
        if len(sizes) == len(call.blocks):
            self._call_kernel(call, tuple(sizes))
            return
        block = call.blocks[len(sizes)]
        *longer, shortest = (block.size, *block.tails)
        for size in longer:
            shorter = self.asm.forward("short")
            self._branch("lt", f"left {block.axis}", size, shorter)
            self._variants(call, [*sizes, size * block.unit], done)
            self.vm.jump(done)
            self.asm.bind(shorter)
        self._variants(call, [*sizes, shortest * block.unit], done)

    def _call_kernel(self, call: Call, sizes: tuple[int, ...]) -> None:
        undecided = [self.states[name] for name in call.starts or () if not self._single(self.states[name])]
        beta = 1 if call.starts is None else None if undecided else 0
        spec, places = kernel_spec(call, sizes, self.dtypes[call.accesses[-1].buffer], beta)
        for place, access in zip(places, call.accesses):
            self.variables.load(self.vm.arguments[place], f"at {access.buffer}")
        if undecided:
            self._set_flag(self.vm.arguments[places[-1] + 1], undecided)
        label = self.kernels.get(spec)
        if label is None:
            label = self.kernels[spec] = self.asm.forward(f"kernel{len(self.kernels)}")
        self.vm.call(label)

    @staticmethod
    def _single(state: _LoopState) -> bool:
        return state.loop.trips == 1 and not state.dynamic

    def _set_flag(self, register: Register, states: Sequence[_LoopState]) -> None:
        """1 adds to the output, 0 starts from zero: when every reduced loop is in its first iteration."""
        done = self.asm.forward("flag")
        self.vm.constant(register, 1)
        for state in states:
            self._unless(Iteration.FIRST, state, done)
        self.vm.constant(register, 0)
        self.asm.bind(done)

    def _branch(self, condition: Condition, name: str, other: str | int, label: Label) -> None:
        register = self.variables.read(name, self.work)
        bound = other if isinstance(other, int) else self.variables.read(other, self.other)
        self.vm.branch(condition, register, bound, label)

    def _emit_kernels(self) -> None:
        for spec, label in self.kernels.items():
            self.asm.align(32)
            self.asm.bind(label)
            self.asm.comment(repr(spec))
            emit_kernel(self.vm, spec)


def _axes_with_short_blocks(nest: Nest) -> set[str]:
    """Axes of which some loop or call covers fewer indices at the end."""
    short: set[str] = set()
    for node in walk(nest.body):
        if isinstance(node, Call):
            short |= {block.axis for block in node.blocks if block.axis is not None and block.tails}
        elif isinstance(node, Loop) and (node.is_clipped or node.span % node.step):
            short.add(node.axis)
    return short


def _is_cut_unevenly(loop: Loop) -> bool:
    """Whether something inside cuts the loop's blocks in steps that do not divide them."""
    if loop.step == loop.span:
        return False  # What encloses it ends with the block already.
    for node in walk(loop.body):
        if isinstance(node, Loop) and node.axis == loop.axis and loop.step % node.step:
            return True
        if isinstance(node, Call) and any(b.axis == loop.axis and b.size and loop.step % b.size for b in node.blocks):
            return True
    return False


def _shared_loops(body: tuple[Node, ...]) -> tuple[list[Loop], tuple[Node, ...]]:
    shared, body = leading_loops(body, ExecType.SHARED)
    along, body = leading_loops(body, ExecType.SFC)
    return shared + along, body


def _inner_loops_first(body: tuple[Node, ...]) -> list[Loop]:
    return [node for node in walk(body) if isinstance(node, Loop)][::-1]


def _hot_first(nest: Nest) -> list[str]:
    """Names of variables in the order in which they deserve a register: the main call's positions, inner counters."""
    calls = [node for node in walk(nest.body) if isinstance(node, Call)]
    is_main = {call.primitive: call.primitive is nest.operation.main for call in calls}
    if nest.team is not None:
        is_main = {primitive: primitive.is_contraction for primitive in is_main}
    main = next((call for call in calls if is_main[call.primitive]), None)
    positions = [f"at {access.buffer}" for access in main.accesses] if main else []
    packed = {loop.name for node in walk(nest.body) if isinstance(node, Pack) for loop in _inner_loops_first(node.body)}
    loops = [
        loop for loop in _inner_loops_first(nest.body) if loop.name not in packed and loop.kind is not ExecType.SFC
    ]
    return positions + [f"counter {loop.name}" for loop in loops]
