"""Nests with a team: parallel loops anywhere, grids of threads, barriers, tests of numbers. The rest is in `cpu`.

The program is for a fixed number of logical threads. Its argument block holds, behind the scratch, the address of
`SYNC_BYTES` zeroed bytes that the threads of one execution share, and that of a function that lets other threads run.

Where threads take pieces as they come, one counter hands out tickets for all encounters of the parallel loop in their
order: a thread that draws a ticket of a later encounter keeps it until it gets there, so no encounter needs a counter
of its own, and none waits for another.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence

from einloom.asm import Label
from einloom.ir.nest import Call, Loop, Node, Relation, When, parallel_loops, walk
from einloom.ir.schedule import ExecType
from einloom.ir.sharing import THREAD, Policy, Team, Ways
from einloom.targets.curves import CurveLowering, Register

__all__ = ["SYNC_BYTES", "TeamLowering"]

TICKETS, ARRIVALS, ENDED = 0, 64, 128
"""Where the shared bytes hold the next ticket, how many threads came to barriers, and how many were let through."""

SYNC_BYTES = 192
SPINS = 2000
"""How often a thread looks before it lets others run."""


class TeamLowering(CurveLowering):
    """The part of a lowering that knows threads."""

    @property
    def team(self) -> Team:
        """The threads of the nest."""
        return self.nest.team or Team()

    work: Register
    other: Register
    scratch_bytes: int

    @abstractmethod
    def _element(self, buffer: str) -> int: ...

    @abstractmethod
    def _skip_or_clip(self, loop: Loop, following: Label) -> None: ...

    # ---- variables --------------------------------------------------------------------------------------------------

    def _team_names(self) -> list[str]:
        names = [f"at {cursor.name}" for cursor in self.nest.cursors]
        names += ["thread", "sync", "others", "phase", "ticket", "round", "piece"]
        names += [f"coordinate {ways.dimension}" for ways in self._all_ways()]
        for node in walk(self.nest.body):
            if isinstance(node, Loop) and node.kind is ExecType.SHARED:
                loops, _ = parallel_loops(node)
                names += [f"iteration {node.name}", f"end {node.name}"]
                names += [f"base {node.name} {moved}" for moved in self._moved(loops)]
                names += [f"entry {node.name} {axis}" for axis in self._shortened(loops)]
        return names

    def _all_ways(self) -> list[Ways]:
        loops = (node for node in walk(self.nest.body) if isinstance(node, Loop))
        return [loop.ways for loop in loops if loop.ways is not None]

    def _moved(self, loops: Sequence[Loop]) -> list[str]:
        return sorted({buffer for loop in loops for buffer, _ in loop.advances})

    def _shortened(self, loops: Sequence[Loop]) -> list[str]:
        return sorted({loop.axis for loop in loops} & self.short)

    def _load_team(self) -> None:
        """Cursors begin where their buffers lie; then the thread's coordinates, and its first ticket."""
        vm, variables = self.vm, self.variables
        block, thread = vm.arguments[:2]
        variables.write("thread", thread)
        operands = len(self.nest.operation.operands)
        for name, word in (("sync", operands + 1), ("others", operands + 2)):
            vm.load(self.work, block, 8 * word)
            variables.write(name, self.work)
        for index, buffer in enumerate(self.nest.buffers):
            if buffer.offset is None:
                vm.load(self.other, block, 8 * index)
            else:
                vm.multiply_constant(self.work, variables.read("thread"), self.scratch_bytes)
                vm.load(self.other, block, 8 * operands)
                vm.add(self.other, self.work)
                vm.add_constant(self.other, buffer.offset)
            for cursor in self.nest.cursors:
                if cursor.buffer == buffer.name:
                    vm.sum_constant(self.work, self.other, cursor.start * self._element(cursor.name))
                    variables.write(f"at {cursor.name}", self.work)
        for cursor in self.nest.cursors:
            if cursor.buffer is None:
                variables.set(f"at {cursor.name}", cursor.start)
        for ways in self._all_ways():
            self._coordinate(str(ways.dimension), self.work)
            variables.write(f"coordinate {ways.dimension}", self.work)
        self._add_coordinates()
        if self._takes_tickets():
            self._draw()
        variables.set("round", 0)
        variables.set("phase", 0)

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
                self._coordinate(name, self.other)
                vm.multiply_constant(product, self.other, factor * self._element(cursor.name))
                self.variables.add(f"at {cursor.name}", product)

    # ---- parallel loops ---------------------------------------------------------------------------------------------

    def _parallel(self, outermost: Loop) -> None:
        """Run this thread's iterations of a parallel loop, or of one that a dimension of the grid shares."""
        vm, variables, tag = self.vm, self.variables, outermost.name
        loops, body = parallel_loops(outermost)
        total = math.prod(loop.trips for loop in loops)
        for moved in self._moved(loops):
            variables.copy(f"base {tag} {moved}", f"at {moved}")
        for axis in self._shortened(loops):
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
                variables.load(self.other, "thread")
                vm.add_constant(self.other, later)
                vm.multiply_constant(self.other, self.other, total)
                vm.divide_constant(quotient, rest, self.other, threads)
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
        self.vm.constant(self.other, total)
        self.vm.minimum(start, self.other)
        self.variables.write(f"end {tag}", start)

    def _in_turn(self, loops: Sequence[Loop], body: tuple[Node, ...], chunk: int, total: int) -> None:
        """Pieces number thread, thread + threads, …"""
        asm, variables, register = self.asm, self.variables, self.vm.arguments[3]
        top, done = asm.forward("piece"), asm.forward("pieces_done")
        variables.copy("piece", "thread")
        asm.bind(top)
        self._branch("ge", "piece", -(-total // chunk), done)
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
        vm.subtract(piece, variables.read("round", self.other))
        vm.branch("ge", piece, len(pieces), done)
        vm.multiply_constant(piece, piece, 8)
        vm.address_of(address, table)
        vm.add(address, piece)
        for name, offset in (("iteration", 0), ("end", 8)):
            vm.load(self.work, address, offset)
            variables.write(f"{name} {tag}", self.work)
        self._range(loops, body)
        self._draw()
        vm.jump(top)
        asm.bind(done)
        variables.add("round", len(pieces))

    def _takes_tickets(self) -> bool:
        shared = any(isinstance(n, Loop) and n.kind is ExecType.SHARED and n.ways is None for n in walk(self.nest.body))
        return shared and not self.team.clause.is_static

    def _draw(self) -> None:
        number, address = self.vm.arguments[3:5]
        self.vm.constant(number, 1)
        self.variables.load(address, "sync")
        self.vm.add_constant(address, TICKETS)
        self.vm.fetch_add(number, address)
        self.variables.write("ticket", number)

    def _range(self, loops: Sequence[Loop], body: tuple[Node, ...]) -> None:
        """Run the iterations from `iteration` on, below `end`, of several loops as one."""
        asm, vm, variables, tag = self.asm, self.vm, self.variables, loops[0].name
        top, following, done = asm.forward("shared"), asm.forward("next"), asm.forward("done")
        asm.bind(top)
        self._branch("ge", f"iteration {tag}", f"end {tag}", done)
        self._restore(loops)
        rest, index = vm.arguments[3:5]
        variables.load(rest, f"iteration {tag}")
        inner = math.prod(loop.trips for loop in loops)
        for loop in loops:
            inner //= loop.trips
            vm.divide_constant(index, rest, rest, inner)
            self._place_index(loop, index)
            self._skip_or_clip(loop, following)
        self._nodes(body)
        asm.bind(following)
        variables.add(f"iteration {tag}", 1)
        vm.jump(top)
        asm.bind(done)

    def _restore(self, loops: Sequence[Loop]) -> None:
        """Go back to where the encounter began."""
        for moved in self._moved(loops):
            self.variables.copy(f"at {moved}", f"base {loops[0].name} {moved}")
        for axis in self._shortened(loops):
            self.variables.copy(f"left {axis}", f"entry {loops[0].name} {axis}")

    # ---- tests and barriers -----------------------------------------------------------------------------------------

    def _when(self, node: When) -> None:
        vm, skip = self.vm, self.asm.forward("skip")
        opposite: dict[Relation, Relation] = {
            "lt": "ge",
            "le": "gt",
            "eq": "ne",
            "ne": "eq",
            "ge": "lt",
            "gt": "le",
        }
        for test in node.tests:
            if test.modulus:
                quotient, rest = vm.arguments[3:5]
                vm.divide_constant(quotient, rest, self.variables.read(f"at {test.cursor}"), test.modulus)
                vm.branch(opposite[test.relation], rest, test.bound, skip)
            else:
                self._branch(opposite[test.relation], f"at {test.cursor}", test.bound, skip)
        self._nodes(node.body)
        self.asm.bind(skip)

    def _barrier(self) -> None:
        """Arrive, and wait until all threads have: `phase` counts the arrivals that end this wait."""
        threads = self.team.threads
        if threads == 1:
            return
        asm, vm, variables = self.asm, self.vm, self.variables
        wait, look, done = asm.forward("wait"), asm.forward("look"), asm.forward("all_there")
        number, address, phase = vm.arguments[3:6]
        if any(isinstance(node, Call) and node.streams for node in walk(self.nest.body)):
            vm.order_stores()
        variables.add("phase", threads)
        variables.load(address, "sync")
        vm.add_constant(address, ARRIVALS)
        vm.constant(number, 1)
        vm.fetch_add(number, address)
        vm.add_constant(number, 1)
        variables.load(phase, "phase")
        vm.branch("ne", number, phase, wait)
        vm.publish(address, ENDED - ARRIVALS, phase)
        vm.jump(done)
        asm.bind(wait)
        variables.load(address, "sync")
        variables.load(phase, "phase")
        vm.constant(self.other, SPINS)
        asm.bind(look)
        vm.observe(number, address, ENDED)
        vm.branch("ge", number, phase, done)
        vm.pause()
        vm.add_constant(self.other, -1)
        vm.branch("gt", self.other, 0, look)
        vm.call_register(variables.read("others"))
        vm.jump(wait)
        asm.bind(done)
