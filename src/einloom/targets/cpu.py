"""`lower_nest(nest, machine) -> Program`: the loops around the kernels, as machine code in one buffer with them.

Every buffer's position, every loop's counter and, for axes with short last blocks, the indices that are left are
variables: the hottest in callee-saved registers, the others in slots of the frame. Kernels are functions of the same
buffer with the C calling convention, one for each combination of full and short blocks that occurs.

Here are the whole program and the walk over the tree; each kind of node has its own file: `loops`, `curves`, `shared`,
`teams`, `calls`, over the variables of `positions`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from einloom.asm import Assembler
from einloom.errors import UnsupportedTarget
from einloom.ir.nest import Call, Guard, Loop, Nest, Node, Pack, Relation, When, leading_loops, walk
from einloom.ir.schedule import ExecType
from einloom.ir.statement import Barrier
from einloom.kernels.select import machine_for
from einloom.kernels.verbs.frame import calling_frame
from einloom.machine import Machine
from einloom.targets.ahead import AheadLowering, asked_ahead
from einloom.targets.calls import CallLowering
from einloom.targets.curves import CurveLowering, curve_variables
from einloom.targets.leaving import LINE, PAGE, LeavingLowering, leaving_block
from einloom.targets.loops import LoopLowering, LoopState
from einloom.targets.positions import Positions, position_names
from einloom.targets.program import Place, Program
from einloom.targets.shared import SharedLowering, shared_variables
from einloom.targets.short_blocks import axes_with_short_blocks
from einloom.targets.teams import TeamLowering, team_variables

__all__ = ["lower_loops", "lower_nest"]

_OPPOSITE: dict[Relation, Relation] = {"lt": "ge", "le": "gt", "eq": "ne", "ne": "eq", "ge": "lt", "gt": "le"}


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


def lower_loops(nest: Nest, machine: Machine) -> tuple[Assembler, tuple[Place, ...]]:
    """Return what a nest's program executes around its kernels, which are left out, and where its nodes are."""
    lowering = _Lowering(nest, machine)
    lowering.around_kernels()
    return lowering.asm, (*lowering.places, *lowering.calls.places)


class _Lowering:
    """Working state of one `lower_nest`."""

    def __init__(self, nest: Nest, machine: Machine) -> None:
        self.nest = nest
        self.machine = machine
        self.asm = Assembler.plain(machine.isa)
        self.vm = machine_for(self.asm, machine)
        leaving = leaving_block(nest, machine)
        scratch_bytes, unit = (nest.scratch_bytes, LINE) if leaving is None else (leaving.scratch_bytes, PAGE)
        self.scratch_bytes = -(-scratch_bytes // unit) * unit  # That of the next thread begins behind.
        self.shared_loops, self.body = _shared_loops(nest.body) if nest.team is None else ([], nest.body)
        short = axes_with_short_blocks(nest)
        inner = [loop for loop in _inner_loops_first(nest.body) if loop not in self.shared_loops]
        states = {x.name: LoopState.of(x, x.axis in short) for x in inner if x.kind is not ExecType.SFC}
        asked = asked_ahead(nest, machine)
        needed = [*(asked.variables if asked else ()), *(leaving.variables if leaving else ())]
        self.variables = calling_frame(self.vm, _hot_first(nest), self._names(inner, states, short, needed))
        self.positions = Positions(nest, self.vm, self.variables, short)
        self.loops = LoopLowering(self.positions, states, self._nodes)
        self.curves = CurveLowering(self.positions, self._nodes)
        self.shared = SharedLowering(self.positions, self.curves, self._nodes)
        self.team = nest.team and TeamLowering(self.positions, nest.team, self.scratch_bytes, self._nodes)
        self.ahead = asked and AheadLowering(asked, self.positions, self.loops)
        self.leaving = leaving and LeavingLowering(leaving, self.positions)
        self.calls = CallLowering(self.positions, self.loops, asked, self.leaving)
        self.places: list[Place] = []

    def _names(
        self, loops: Sequence[Loop], states: dict[str, LoopState], short: Sequence[str], needed: Sequence[str]
    ) -> list[str]:
        """Return the names of all variables; those that come first have the nearer slots."""
        positions = position_names(self.nest, short)
        names = [*needed]
        for loop in loops:
            names += curve_variables(loop, positions) if loop.kind is ExecType.SFC else states[loop.name].variables
        names += [f"left {axis}" for axis in short]
        if self.nest.team is not None:
            return names + team_variables(self.nest, short)
        names += [f"at {buffer.name}" for buffer in self.nest.buffers]
        return names + shared_variables(self.nest) if self.shared_loops else names

    def program(self) -> Program:
        """Return the program."""
        entry = self.asm.forward("entry")
        self.asm.bind(entry)
        self.around_kernels()
        self.calls.emit_kernels()
        shares = self.nest.shared_trips if self.nest.team is None else self.nest.team.threads
        return Program(self.asm, entry, self.machine, self.scratch_bytes, shares)

    def around_kernels(self) -> None:
        """Emit the function that calls the kernels."""
        self.variables.enter()
        if self.team:
            self.team.start()
        else:
            self._load_arguments()
        self.positions.start_axes()
        if self.leaving:
            self.leaving.start()
        if self.shared_loops:
            self.shared.emit(self.shared_loops, self.body)
        else:
            self._nodes(self.body)
        self.calls.let_leave()
        if any(isinstance(node, Call) and node.streams for node in walk(self.nest.body)):
            self.vm.order_stores()
        self.variables.leave()

    def _load_arguments(self) -> None:
        """Positions begin at the operands' addresses and at the thread's own scratch."""
        vm, work, other = self.vm, self.positions.work, self.positions.other
        block, thread = vm.arguments[:2]
        operands = len(self.nest.operation.operands)
        for index, buffer in enumerate(self.nest.buffers):
            if buffer.offset is None:
                vm.load(work, block, 8 * index)
            else:
                vm.multiply_constant(work, thread, self.scratch_bytes)
                vm.load(other, block, 8 * operands)
                vm.add(work, other)
                vm.add_constant(work, buffer.offset)
            self.variables.write(f"at {buffer.name}", work)
            if self.shared_loops:
                self.variables.write(f"base {buffer.name}", work)

    def _nodes(self, nodes: Iterable[Node]) -> None:
        if self.ahead and isinstance(self.ahead.asked.at, Loop) and nodes is self.ahead.asked.at.body:
            self.ahead.start(self.ahead.asked.at)
        for node in nodes:
            start = len(self.asm.records)
            if isinstance(node, Loop):  # As few frames a loop as can be: Python limits them, and so how many loops go.
                self._loop(node)
            else:
                self._node(node)
            self.places.append(Place(node, start, len(self.asm.records)))

    def _node(self, node: Node) -> None:
        """Emit what is no loop."""
        if isinstance(node, Call):
            self.calls.emit(node)
        elif isinstance(node, Guard):
            self._guard(node)
        elif isinstance(node, Pack):
            self.asm.comment(f"pack {node.source} into {node.buffer}" if node.body else f"a block of {node.buffer}")
            self._nodes(node.body)
            if self.ahead:
                self.ahead.start(node)
        elif isinstance(node, When):
            self._when(node)
        elif isinstance(node, Barrier) and self.team:
            self.team.sync.barrier()
        else:
            raise UnsupportedTarget(f"CPU programs are made of calls to primitives; this nest has: {node}")

    def _loop(self, loop: Loop) -> None:
        self.asm.comment(f"{loop.kind} {loop.name} in steps of {loop.step}")
        if loop.kind is ExecType.SFC:
            self.curves.emit(*leading_loops((loop,), ExecType.SFC))
        elif self.team and loop.kind is ExecType.SHARED:
            self.team.emit(loop)
        elif not self.calls.take(loop):
            self.loops.emit(loop)

    def _guard(self, guard: Guard) -> None:
        skip = self.asm.forward("skip")
        for name in guard.loops:
            self.loops.unless(guard.when, self.loops.states[name], skip)
        self._nodes(guard.body)
        self.asm.bind(skip)

    def _when(self, node: When) -> None:
        vm, skip = self.vm, self.asm.forward("skip")
        for test in node.tests:
            if test.modulus:
                quotient, rest = vm.arguments[3:5]
                vm.divide_constant(quotient, rest, self.variables.read(f"at {test.cursor}"), test.modulus)
                vm.branch(_OPPOSITE[test.relation], rest, test.bound, skip)
            else:
                self.positions.branch(_OPPOSITE[test.relation], f"at {test.cursor}", test.bound, skip)
        self._nodes(node.body)
        self.asm.bind(skip)


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
