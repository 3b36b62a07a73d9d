"""Operands that stay the same from call to call: what a schedule packs of them is packed once, by a nest of its own.

>>> from einloom.ir.text import parse_operation, parse_schedule
>>> operation = parse_operation('''gemm first=zero last=none
... axis m 64 m
... axis n 32 n
... axis k 16 k
... in0 float32 m=16 k=1
... in1 float32 n=1 k=32
... out float32 m=32 n=1''')
>>> schedule = parse_schedule("seq k:8 seq m:4 seq n:16 prim m=n n=m k=k pack in1@1 n:16 k n")
>>> whole = packed_whole(operation, schedule, 1)
>>> print(whole)
seq k:8 seq m:4 seq n:16 prim m=n n=m k=k pack in1@0 k:8 n:16 k n
>>> from einloom.ir.bind import bind
>>> rest, copies = packs_apart(bind(operation, whole), (1,))
>>> print(str(rest).splitlines()[1].strip(), "|", str(copies[1]).splitlines()[0])
a block of scratch0 | pack in1 into scratch0
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from einloom.ir.fused import FusedView
from einloom.ir.nest import Buffer, Loop, Nest, Node, Pack
from einloom.ir.operation import Operation
from einloom.ir.schedule import Digit, Schedule, ScheduledPack

__all__ = ["packed_whole", "packs_apart"]


def packed_whole(operation: Operation, schedule: Schedule, operand: int) -> Schedule:
    """Return the schedule with all blocks of an input packed at the beginning; as it is if it packs none of it.

    What loops outside the pack counted are digits of its layout. Whether the copy can follow them, `bind` knows.

    before: seq k:200 seq j:96 … pack in1@2 j:48 k j
    after:  seq k:200 seq j:96 … pack in1@0 k:200 j:96 j:48 k j
    """
    packs = [pack for pack in schedule.packs if pack.operand != operand]
    for pack in schedule.packs:
        if pack.operand == operand:  # Last: then the others' scratch comes first, and stays as it is without this one.
            packs.append(replace(pack, loop=0, layout=(*_digits_outside(operation, schedule, pack), *pack.layout)))
    return replace(schedule, packs=tuple(packs))


def _digits_outside(operation: Operation, schedule: Schedule, pack: ScheduledPack) -> list[Digit]:
    view, name = FusedView.of(operation, schedule.fused), operation.operands[pack.operand].name
    left, digits = {axis.name: axis.extent for axis in view.axes}, list[Digit]()
    for loop in schedule.loops[: pack.loop]:
        if loop.step < left[loop.axis] and view.depends(name, loop.axis):
            digits.append(Digit(loop.axis, loop.step))
            left[loop.axis] = loop.step
    return digits


def packs_apart(nest: Nest, held: Collection[int]) -> tuple[Nest, dict[int, Nest]]:
    """Return the nest without the copies of some inputs at its beginning, and a nest for each one, by position.

    What such a copy wrote into scratch, the rest reads in the place of the operand, block by block, and the copy writes
    in place of the output.
    """
    names = {nest.operation.operands[position].name: position for position in held}
    packs = {names[node.source]: node for node in nest.body if isinstance(node, Pack) and node.source in names}
    written = {position: _panels(nest, pack) for position, pack in packs.items()}
    rest = [each for each in nest.buffers if each.name not in {pack.buffer for pack in packs.values()}]
    for position, panels in written.items():
        rest[position] = panels
    body = tuple(node for node in nest.body if node not in packs.values())
    for pack in packs.values():
        body = _with_blocks(body, pack.buffer)
    inputs = nest.buffers[: len(nest.operation.operands) - 1]
    copies = {i: replace(nest, buffers=(*inputs, written[i]), body=(pack,)) for i, pack in packs.items()}
    return replace(nest, buffers=tuple(rest), body=body), copies


def _with_blocks(nodes: tuple[Node, ...], panels: str, around: bool = False) -> tuple[Node, ...]:
    """Return the nodes with a mark where a block of panels begins that the loop behind it walks again and again.

    before: seq k:512 (panels+24576)    seq m:8
    after:  seq k:512 (panels+24576)    panels    seq m:8
    """
    marked: list[Node] = []
    for node in nodes:
        if not isinstance(node, Loop):
            marked.append(node)
        elif dict(node.advances).get(panels):
            marked.append(replace(node, body=_with_blocks(node.body, panels, around=True)))
        elif around:
            marked += [Pack(panels, panels, ()), node]
        else:
            marked.append(replace(node, body=_with_blocks(node.body, panels)))
    return tuple(marked)


def _panels(nest: Nest, pack: Pack) -> Buffer:
    scratch = next(buffer for buffer in nest.buffers if buffer.name == pack.buffer)
    return replace(scratch, offset=None)
