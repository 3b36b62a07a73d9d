"""`Image`: what is left of a program when it has been generated: its bytes, and what a call has to know.

It holds no instructions and no nest, so thousands of programs are small, and it can be written to a file.
"""

from __future__ import annotations

import json
from dataclasses import asdict, field
from typing import TYPE_CHECKING

from einloom.frozen import frozen
from einloom.machine import Machine

if TYPE_CHECKING:
    from einloom.ir.nest import Nest

__all__ = ["SYNC_BYTES", "Image", "image_of"]

SYNC_BYTES = 192
"""Zeroed bytes that threads share which wait for each other, or take pieces as they come; see `sync`."""


@frozen
class Image:
    """A program as bytes; see `Program` for its function and for what the numbers mean.

    Attributes:
        code: the bytes, which run wherever they lie.
        isa, features: what they need, as in `Machine`.
        entry: where the function begins, in bytes.
        operands: how many addresses it takes besides that of the scratch.
        scratch_bytes: scratch of one thread.
        shared_trips: iterations that threads share.
        team: how many threads it is for, neither more nor fewer; 0: any number.
        has_sync: whether they share more than operands; then there are two more arguments, see `teams`.
        together: whether they must run at the same time.
        labels: names of places in the code, for profilers and debuggers.
        panels: positions of inputs that it reads as packed blocks, which another program makes once, with their bytes.
    """

    code: bytes = field(repr=False)
    isa: str
    features: frozenset[str]
    entry: int
    operands: int
    scratch_bytes: int
    shared_trips: int
    team: int = 0
    has_sync: bool = False
    together: bool = False
    labels: tuple[tuple[str, int], ...] = field(default=(), repr=False)
    panels: tuple[tuple[int, int], ...] = ()

    def to_bytes(self) -> bytes:
        """Return all of it as bytes, for a file: a line of JSON, then the code."""
        said = asdict(self) | {"code": len(self.code), "features": sorted(self.features)}
        return json.dumps(said).encode() + b"\n" + self.code

    @staticmethod
    def from_bytes(content: bytes) -> Image | None:
        """Return what `to_bytes` wrote; None if it did not write this."""
        said, _, code = content.partition(b"\n")
        try:
            fields = json.loads(said)
            labels = tuple((name, place) for name, place in fields["labels"])
            panels = tuple((int(position), int(size)) for position, size in fields["panels"])
            given = {"code": code, "features": frozenset(fields["features"]), "labels": labels, "panels": panels}
            image = Image(**fields | given)
            return image if fields["code"] == len(code) else None
        except (ValueError, TypeError, KeyError, RecursionError):
            return None

    def fits(self, operands: int, machine: Machine) -> bool:
        """Whether a call on so many operands begins inside the code, on some threads of this machine."""
        numbers = (self.operands, self.shared_trips, self.team, self.scratch_bytes, self.entry)
        least = (operands, 1, int(self.has_sync), 0, 0)
        whole = all(type(number) is int and number >= low for number, low in zip(numbers, least))
        whole = whole and all(0 <= position < operands - 1 and size > 0 for position, size in self.panels)
        runs = self.isa == machine.isa and self.features <= machine.features
        return runs and whole and self.operands == operands and self.entry < len(self.code)


def image_of(nest: Nest, machine: Machine) -> Image:
    """Return the image of a nest's program; inputs with a size are packed blocks.

    Raises:
        UnsupportedTarget: the machine has no vector ISA that kernels are written for.
    """
    # Late: who runs a program that was stored needs no code generator.
    from einloom.targets.cpu import lower_nest

    program = lower_nest(nest, machine)
    assembler = program.assembler
    assert program.entry.position is not None
    return Image(
        assembler.bytes(),
        assembler.isa,
        frozenset(assembler.features),
        program.entry.position,
        len(nest.operation.operands),
        program.scratch_bytes,
        program.shared_trips,
        0 if nest.team is None else nest.team.threads,
        nest.has_sync,
        nest.runs_together,
        assembler.labels,
        _panels(nest),
    )


def _panels(nest: Nest) -> tuple[tuple[int, int], ...]:
    inputs = nest.buffers[: len(nest.operation.operands) - 1]
    return tuple((i, buffer.size * buffer.dtype.size) for i, buffer in enumerate(inputs) if buffer.size)
