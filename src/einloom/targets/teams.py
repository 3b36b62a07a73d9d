"""`TeamLowering`: the parallel loops of nests with a team, anywhere, shared by a clause or by a grid of threads.

The program is for a fixed number of logical threads. If they wait for each other, or take pieces as they come, its
argument block holds, behind the scratch, the address of zeroed bytes that the threads of one execution share, and that
of a function that lets other threads run (`sync`).

Where threads take pieces as they come, one counter hands out tickets for all encounters of the parallel loop in their
order: a thread that draws a ticket of a later encounter keeps it until it gets there, so no encounter needs a counter
of its own, and none waits for another.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from einloom.ir.nest import Loop, Nest, Node, parallel_loops, walk
from einloom.ir.schedule import ExecType
from einloom.ir.sharing import THREAD, Policy, Team, Ways
from einloom.targets.loops import Body
from einloom.targets.positions import Positions, Register
from einloom.targets.sync import Sync, sync_variables

__all__ = ["TeamLowering", "team_variables"]


def team_variables(nest: Nest, short: Sequence[str]) -> list[str]:
    """Return the variables of a nest with a team, those of its other loops aside."""
    names = [f"at {cursor.name}" for cursor in nest.cursors] + [f"at {name}" for name in _without_cursor(nest)]
    names += ["thread", *sync_variables(), "round", "piece"]
    names += [f"coordinate {ways.dimension}" for ways in _all_ways(nest)]
    for node in walk(nest.body):
        if isinstance(node, Loop) and node.kind is ExecType.SHARED:
            loops, _ = parallel_loops(node)
            names += [f"iteration {node.name}", f"end {node.name}"]
            names += [f"base {node.name} {moved}" for moved in _moved(loops)]
            names += [f"entry {node.name} {axis}" for axis in _shortened(loops, short)]
    return names


class TeamLowering:
    """Code for what the threads of a team share; `body` emits what is inside parallel loops.

    Attributes:
        sync: what the threads have in common; it emits barriers.
    """

    def __init__(self, positions: Positions, team: Team, scratch_bytes: int, body: Body) -> None:
        self.positions = positions
        self.nest, self.vm, self.asm, self.variables = positions.nest, positions.vm, positions.asm, positions.variables
        self.team = team
        self.scratch_bytes = scratch_bytes
        self.sync = Sync(positions, team.threads)
        self._body = body

    # ---- the beginning ----------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Cursors begin where their buffers lie; then the thread's coordinates, and its first ticket."""
        vm, variables = self.vm, self.variables
        block, thread = vm.arguments[:2]
        variables.write("thread", thread)
        operands = len(self.nest.operation.operands)
        for name, word in (("sync", operands + 1), ("others", operands + 2)) if self.nest.has_sync else ():
            vm.load(self.positions.work, block, 8 * word)
            variables.write(name, self.positions.work)
        self._place_cursors(block, operands)
        for ways in _all_ways(self.nest):
            self._coordinate(str(ways.dimension), self.positions.work)
            variables.write(f"coordinate {ways.dimension}", self.positions.work)
        self._add_coordinates()
        if self.nest.takes_tickets:
            self.sync.draw()
        variables.set("round", 0)
        variables.set("phase", 0)

    def _place_cursors(self, block: Register, operands: int) -> None:
        vm, variables, work, other = self.vm, self.variables, self.positions.work, self.positions.other
        for index, buffer in enumerate(self.nest.buffers):
            if buffer.offset is None:
                vm.load(other, block, 8 * index)
            else:
                vm.multiply_constant(work, variables.read("thread"), self.scratch_bytes)
                vm.load(other, block, 8 * operands)
                vm.add(other, work)
                vm.add_constant(other, buffer.offset)
            if buffer.name in _without_cursor(self.nest):
                variables.write(f"at {buffer.name}", other)
            for cursor in self.nest.cursors:
                if cursor.buffer == buffer.name:
                    vm.sum_constant(work, other, cursor.start * self.positions.element(cursor.name))
                    variables.write(f"at {cursor.name}", work)
        for cursor in self.nest.cursors:
            if cursor.buffer is None:
                variables.set(f"at {cursor.name}", cursor.start)

    def _coordinate(self, name: str, into: Register) -> None:
        """Compute a coordinate of the thread: column, then row, then layer, the quotients of its number."""
        vm, grid = self.vm, self.team.grid
        self.variables.load(into, "thread")
        if name == THREAD or grid is None:
            return
        number, rest = vm.arguments[3:5]
        before, size = {"C": (1, grid.columns), "R": (grid.columns, grid.rows)}.get(
            name, (grid.columns * grid.rows, grid.layers)
        )
        vm.divide_constant(number, rest, into, before)
        vm.divide_constant(number, rest, number, size)
        vm.move(into, rest)

    def _add_coordinates(self) -> None:
        vm = self.vm
        product = vm.arguments[5]
        for cursor in self.nest.cursors:
            for name, factor in cursor.by_thread:
                self._coordinate(name, self.positions.other)
                vm.multiply_constant(product, self.positions.other, factor * self.positions.element(cursor.name))
                self.variables.add(f"at {cursor.name}", product)

    # ---- parallel loops ---------------------------------------------------------------------------------------------

    def emit(self, outermost: Loop) -> None:
        """Run this thread's iterations of a parallel loop, or of one that a dimension of the grid shares."""
        vm, variables, tag = self.vm, self.variables, outermost.name
        loops, body = parallel_loops(outermost)
        total = math.prod(loop.trips for loop in loops)
        for moved in _moved(loops):
            variables.copy(f"base {tag} {moved}", f"at {moved}")
        for axis in _shortened(loops, self.positions.short):
            variables.copy(f"entry {tag} {axis}", f"left {axis}")
        clause, threads = self.team.clause, self.team.threads
        if outermost.ways is not None:
            self._own_run(outermost, outermost.ways)
            self._range(loops, body)
        elif clause.policy is not Policy.STATIC:
            self._by_ticket(loops, body)
        elif clause.chunk is not None:
            self._in_turn(loops, body, clause.chunk, total)
        else:
            rest, quotient = vm.arguments[3:5]
            for name, later in (("iteration", 0), ("end", 1)):
                variables.load(self.positions.other, "thread")
                vm.add_constant(self.positions.other, later)
                vm.multiply_constant(self.positions.other, self.positions.other, total)
                vm.divide_constant(quotient, rest, self.positions.other, threads)
                variables.write(f"{name} {tag}", quotient)
            self._range(loops, body)
        self._restore(loops)

    def _own_run(self, loop: Loop, ways: Ways) -> None:
        """Set the range to the run of trips of this thread's team."""
        size = -(-loop.trips // ways.count)
        register = self.vm.arguments[3]
        self.vm.multiply_constant(register, self.variables.read(f"coordinate {ways.dimension}"), size)
        self.variables.write(f"iteration {loop.name}", register)
        self._end_of_piece(loop.name, register, size, loop.trips)

    def _end_of_piece(self, tag: str, start: Register, size: int, total: int) -> None:
        self.vm.add_constant(start, size)
        self.vm.constant(self.positions.other, total)
        self.vm.minimum(start, self.positions.other)
        self.variables.write(f"end {tag}", start)

    def _in_turn(self, loops: Sequence[Loop], body: tuple[Node, ...], chunk: int, total: int) -> None:
        """Pieces number thread, thread + threads, …"""
        asm, variables, register = self.asm, self.variables, self.vm.arguments[3]
        top, done = asm.forward("piece"), asm.forward("pieces_done")
        variables.copy("piece", "thread")
        asm.bind(top)
        self.positions.branch("ge", "piece", -(-total // chunk), done)
        self.vm.multiply_constant(register, variables.read("piece"), chunk)
        variables.write(f"iteration {loops[0].name}", register)
        self._end_of_piece(loops[0].name, register, chunk, total)
        self._range(loops, body)
        variables.add("piece", self.team.threads)
        self.vm.jump(top)
        asm.bind(done)

    def _by_ticket(self, loops: Sequence[Loop], body: tuple[Node, ...]) -> None:
        """Pieces whose tickets this thread draws; the tickets of this encounter begin at `round`."""
        asm, vm, variables, tag = self.asm, self.vm, self.variables, loops[0].name
        pieces = list(self.team.clause.pieces(math.prod(loop.trips for loop in loops), self.team.threads))
        bounds = [piece.start for piece in pieces] + [pieces[-1].stop if pieces else 0]
        table = asm.data(b"".join(bound.to_bytes(8, "little") for bound in bounds), 8, "pieces")
        top, done = asm.forward("ticket"), asm.forward("tickets_done")
        piece, address = vm.arguments[3:5]
        asm.bind(top)
        variables.load(piece, "ticket")
        vm.subtract(piece, variables.read("round", self.positions.other))
        vm.branch("ge", piece, len(pieces), done)
        vm.multiply_constant(piece, piece, 8)
        vm.address_of(address, table)
        vm.add(address, piece)
        for name, offset in (("iteration", 0), ("end", 8)):
            vm.load(self.positions.work, address, offset)
            variables.write(f"{name} {tag}", self.positions.work)
        self._range(loops, body)
        self.sync.draw()
        vm.jump(top)
        asm.bind(done)
        variables.add("round", len(pieces))

    def _range(self, loops: Sequence[Loop], body: tuple[Node, ...]) -> None:
        """Run the iterations from `iteration` on, below `end`, of several loops as one."""
        asm, vm, variables, tag = self.asm, self.vm, self.variables, loops[0].name
        top, following, done = asm.forward("shared"), asm.forward("next"), asm.forward("done")
        asm.bind(top)
        self.positions.branch("ge", f"iteration {tag}", f"end {tag}", done)
        self._restore(loops)
        rest, index = vm.arguments[3:5]
        variables.load(rest, f"iteration {tag}")
        inner = math.prod(loop.trips for loop in loops)
        for loop in loops:
            inner //= loop.trips
            vm.divide_constant(index, rest, rest, inner)
            self.positions.move_by(loop, index)
            self.positions.skip_or_clip(loop, following)
        self._body(body)
        asm.bind(following)
        variables.add(f"iteration {tag}", 1)
        vm.jump(top)
        asm.bind(done)

    def _restore(self, loops: Sequence[Loop]) -> None:
        """Go back to where the encounter began."""
        for moved in _moved(loops):
            self.variables.copy(f"at {moved}", f"base {loops[0].name} {moved}")
        for axis in _shortened(loops, self.positions.short):
            self.variables.copy(f"left {axis}", f"entry {loops[0].name} {axis}")


def _without_cursor(nest: Nest) -> list[str]:
    """The buffers whose own positions are used: a nest has cursors for all of them, or none."""
    return [] if nest.cursors else [buffer.name for buffer in nest.buffers]


def _all_ways(nest: Nest) -> list[Ways]:
    loops = (node for node in walk(nest.body) if isinstance(node, Loop))
    return [loop.ways for loop in loops if loop.ways is not None]


def _moved(loops: Sequence[Loop]) -> list[str]:
    return sorted({buffer for loop in loops for buffer, _ in loop.advances})


def _shortened(loops: Sequence[Loop], short: Sequence[str]) -> list[str]:
    walked = {loop.axis for loop in loops}
    return [axis for axis in short if axis in walked]
