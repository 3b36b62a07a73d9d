"""Which staged blocks leave scratch while the next one is computed: `targets` lets them, the cost model counts on it.

Such a block belongs to an output that the second-level cache does not hold, and nothing reads it again. It is one run,
and the first-level cache holds two of them; or several runs that begin at the same place of a line, and the
second-level cache does. Several runs leave so behind short sums alone.

>>> from einloom.machine import AVX512
>>> is_worth_leaving(block=6400, least=6400, scratch=20000, output=2**27, machine=AVX512)
True
>>> is_worth_leaving(block=6400, least=6400, scratch=20000, output=2**20, machine=AVX512)
False
"""

from __future__ import annotations

from math import prod

from einloom.machine import Machine
from einloom.passes.model.copied import copied_run, runs_apart
from einloom.passes.model.flow import Flow
from einloom.passes.model.footprint import LINE
from einloom.passes.model.tiles import SCRATCH_LIMIT

__all__ = ["is_worth_leaving", "joins_lines", "leaves"]

ROOM, ROOM_OF_RUNS = 3, 4
"""A block takes at most one part in so many of the first-level cache, which holds two of them beside the inputs; one of
several runs may take as much of it, or one part in so many of the second-level cache."""

CHARGED = 8
"""Blocks of several runs are charged as leaving later up to one part in so many of the second-level cache: two larger
ones crowd it beside packed inputs, and 12 choices for them took 1.1 times as long as what they replaced."""

LONG_SUM, LONG_SUM_BESIDE_PARTS = 1024, 48
"""Behind sums of more products stores hardly show, and kernels that go from run to run take longer. The second one
where processors join lines from parts (measured on Zen 3 alone, 84 blocks: with sums up to here it takes 0.92 times as
long to let them leave, with longer ones 1.01 and up to 1.37)."""


def is_worth_leaving(
    block: int, least: int, scratch: int, output: int, machine: Machine, apart: int = 0, products: int = 0
) -> bool:
    """Return whether a staged block leaves while the next one is computed.

    Args:
        block: bytes of it.
        least: bytes of the shortest run, at the end of an axis.
        scratch: bytes of all scratch of a thread, without a second block.
        output: bytes of the tensor.
        machine: what runs it.
        apart: bytes from one run of the block to the next one in the output; 0: it is one run.
        products: how many are summed in an element; not asked of one run.
    """
    room = max(machine.l1d // ROOM, machine.l2 // ROOM_OF_RUNS) if apart else machine.l1d // ROOM
    fits = block <= room and scratch + block <= SCRATCH_LIMIT and output > machine.l2
    is_plain = machine.isa == "x86_64" and least >= LINE and apart % LINE == 0
    long = LONG_SUM_BESIDE_PARTS if joins_lines(machine) else LONG_SUM
    return fits and is_plain and (not apart or products <= long)


def joins_lines(machine: Machine) -> bool:
    """Whether processors join the lines that pass the caches from parts, of which fewer are under way at once."""
    return machine.vector_bits // 8 < LINE


def leaves(flow: Flow) -> bool:
    """Return whether a flow's staged block, of the type that is computed in, is charged as leaving later."""
    pack = flow.packs.get(flow.output)
    if pack is None or flow.moves or flow.schedule.team is not None:
        return False
    run = copied_run(flow, flow.output)
    size, spans = flow.buffers.sizes[flow.output], flow.walk.spans[pack.loop]
    elements = prod([spans[flow.buffers.places[digit.axis]] for digit in pack.layout])
    block, apart = size * elements, 0
    if run < elements:
        apart = None if run == 1 or CHARGED * block > flow.machine.l2 else runs_apart(flow)
        if apart is None:
            return False
    inside = [each.axis for each in flow.scratch[flow.output].strided if each.stride < run]
    least = size * prod([flow.walk.extents[axis] % spans[axis] or spans[axis] for axis in inside])
    sizes = block, least, flow.scratch_bytes, flow.buffers.bytes[flow.output]
    return is_worth_leaving(*sizes, flow.machine, size * apart, flow.products)
