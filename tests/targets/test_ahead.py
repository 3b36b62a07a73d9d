"""While kernels compute they ask for the next block, packed or in place: the right lines, and never another result."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from einloom.asm import Assembler
from einloom.dtypes import FLOAT32
from einloom.ir.bind import bind
from einloom.ir.operation import Axis, DimType, Operand, Operation, Primitive, Touch
from einloom.ir.text import parse_schedule
from einloom.jit.host import host
from einloom.kernels.select import machine_for
from einloom.machine import AVX512, Machine
from einloom.targets.ahead import asked_ahead
from einloom.targets.executable import Executable
from einloom.targets.image import image_of

from ..kernels.guarded import run_guarded
from .programs import difference

LINE = 64
FLOATS = LINE // FLOAT32.size
ROW = 256
"""Indices of a: 16 lines, as long as a piece must be to be asked for."""

EVERY_BLOCK = (
    "seq e:1 seq c:1 seq a:48 prim m=a n=b k=d pack in0@2 a:48 d a",
    "seq e:1 seq c:2 seq c:1 seq a:96 prim m=a n=b k=d pack in0@3 d a",
    "seq e:1 seq c:1 seq b:1 seq a:48 prim m=a n=b k=d pack in0@2 a:48 d a",
    "seq e:1 seq c:1 prim m=a n=b k=d",
    "seq e:1 seq c:2 seq c:1 seq a:96 prim m=a n=b k=d",
    "seq e:1 seq c:1 seq a:192 prim m=a n=b k=d",
)
"""Schedules whose blocks, packed or read in place, follow each other in the tensor."""

SCHEDULES = (
    *EVERY_BLOCK,
    "seq e:1 seq c:4 seq c:1 seq a:48 prim m=a n=b k=d pack in0@3 a:48 d a",
    "seq c:1 seq e:1 seq d:18 seq a:48 prim m=a n=b k=d pack in0@3 a:48 d a",
    "shared e:1 seq c:1 seq b:3 seq a:48 prim m=a n=b k=d pack in0@2 a:48 d a",
)

CUT = {
    "pieces of a few forms": (264, 4, "fuse ab=a*b seq e:1 seq ab:48 prim m=ab n=n k=d pack in0@1 ab:48 d ab"),
    "pieces of many forms and a rest": (
        260,
        4,
        "fuse ab=a*b seq e:1 seq ab:48 prim m=ab n=n k=d pack in0@1 ab:48 d ab",
    ),
    "half of the rows": (264, 2, "fuse ab=a*b seq e:1 seq ab:528 seq ab:48 prim m=ab n=n k=d pack in0@2 ab:48 d ab"),
    "rows in one panel": (264, 2, "fuse ab=a*b seq e:1 seq ab:528 prim m=ab n=n k=d pack in0@2 d ab"),
}
"""Fused axes whose panels cut rows of b, or hold several: the length of a row, how many a block has, a schedule."""


def _contraction() -> Operation:
    """`edca,bd->ecba`: rows of a lie apart along d."""
    e, c, d = 3, 6, 24
    axes = tuple(map(Axis, "ecabd", (e, c, ROW, 5, d), map(DimType, "mmmnk")))
    strides = ((d * c * ROW, ROW, 1, 0, c * ROW), (0, 0, 0, d, 1), (c * 5 * ROW, 5 * ROW, 1, ROW, 0))
    operands = tuple(Operand(name, FLOAT32, each) for name, each in zip(("in0", "in1", "out"), strides))
    return Operation(axes, operands, Primitive.GEMM, Touch(Primitive.ZERO))


def _fused(row: int) -> Operation:
    """`eadb,nd->enab`: rows of b lie apart along d and a."""
    e, a, n, d = 4, 4, 5, 12
    axes = tuple(map(Axis, "eabnd", (e, a, row, n, d), map(DimType, "mmmnk")))
    strides = ((a * d * row, d * row, 1, 0, row), (0, 0, 0, d, 1), (n * a * row, row, 1, a * row, 0))
    operands = tuple(Operand(name, FLOAT32, each) for name, each in zip(("in0", "in1", "out"), strides))
    return Operation(axes, operands, Primitive.GEMM, Touch(Primitive.ZERO))


def _small(vector: str, l2: int = 256 * 1024) -> Machine:
    """A machine whose second-level cache holds eight blocks, but not the tensor."""
    return replace(host().with_vector(vector), l2=l2)


@pytest.mark.parametrize("text", SCHEDULES)
def test_programs_that_ask_ahead_equal_the_interpreter(vector: str, text: str) -> None:
    operation, machine = _contraction(), _small(vector)
    schedule = parse_schedule(text)
    assert asked_ahead(bind(operation, schedule), machine) is not None
    rng = random.Random(1)
    assert run_guarded([operation], lambda each: difference(each, each, schedule, machine, rng)) is None


@pytest.mark.parametrize("case", CUT.values(), ids=CUT)
def test_programs_that_ask_for_rows_that_panels_cut_equal_the_interpreter(
    vector: str, case: tuple[int, int, str]
) -> None:
    row, _, text = case
    operation, machine, schedule = _fused(row), _small(vector, 128 * 1024), parse_schedule(text)
    assert asked_ahead(bind(operation, schedule), machine) is not None
    rng = random.Random(2)
    assert run_guarded([operation], lambda each: difference(each, each, schedule, machine, rng)) is None


def _mark_instead(monkeypatch: pytest.MonkeyPatch, machine: Machine) -> None:
    """Let programs write where they would ask."""
    verbs: Any = type(machine_for(Assembler(machine.isa), machine))

    def mark(self: Any, place: Any) -> None:
        if machine.isa == "x86_64":
            self.asm.mov(place, self.asm.rsp)
        else:
            self.asm.str(self.asm.x[29], self.near(place, 8))

    monkeypatch.setattr(verbs, "prefetch_block", mark)


def _marked(operation: Operation, schedule: str, machine: Machine) -> list[int]:
    """Return the lines of the first input that a program writes which marks instead of asking; all aligned."""
    sizes = [operation.elements(operand) for operand in operation.operands]
    memory = np.zeros(3 * sizes[0] + FLOATS, np.float32)
    begin = sizes[0] + (-memory.ctypes.data // 4 - sizes[0]) % FLOATS
    others = [np.zeros(size, np.float32) for size in sizes[1:]]
    addresses = (memory[begin:].ctypes.data, *(each.ctypes.data for each in others))
    Executable(image_of(bind(operation, parse_schedule(schedule)), machine))(addresses, 1)
    written = np.flatnonzero(memory.view(np.int32))
    return sorted({(int(index) - begin) // FLOATS for index in written})


def _lines_of(operation: Operation, fixed: Sequence[dict[str, int]]) -> set[int]:
    """The lines of some blocks of the first input, each with some indices fixed."""
    operand, found = operation.inputs[0], set[int]()
    for indices in fixed:
        ranges = [
            range(indices[a.name], indices[a.name] + 1) if a.name in indices else range(a.extent)
            for a in operation.axes
        ]
        starts = [0]
        for values, stride in zip(ranges, operand.strides):
            starts = [start + value * stride for start in starts for value in (values if stride else (0,))]
        found |= {start // FLOATS for start in starts}
    return found


@pytest.mark.parametrize("text", EVERY_BLOCK)
def test_all_blocks_but_the_first_are_asked_for(vector: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every line of them, and at most the line behind each piece, since pieces may begin within a line."""
    operation, machine = _contraction(), _small(vector)
    _mark_instead(monkeypatch, machine)
    marked = set(_marked(operation, text, machine))
    blocks = [{"e": e, "c": c} for e in range(3) for c in range(6)]
    wanted = _lines_of(operation, blocks[1:])
    assert wanted <= marked
    assert marked <= {line + further for line in wanted for further in (0, 1)}


@pytest.mark.parametrize(("row", "rows", "text"), CUT.values(), ids=CUT)
def test_rows_that_panels_cut_are_asked_for(
    vector: str, row: int, rows: int, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them but those of the first block."""
    operation, machine = _fused(row), _small(vector, 128 * 1024)
    _mark_instead(monkeypatch, machine)
    marked = set(_marked(operation, text, machine))
    wanted = _lines_of(operation, [{"e": e, "a": a} for e in range(4) for a in range(4)][rows:])
    assert wanted <= marked
    assert marked <= {line + further for line in wanted for further in (0, 1)}


def test_what_is_not_worth_it_is_not_asked_for() -> None:
    """A tensor that the cache holds; blocks beyond the cache; short blocks in place; packed pieces of a few lines."""
    text = "seq e:1 seq c:1 seq a:48 prim m=a n=b k=d pack in0@2 a:48 d a"
    nest, whole = bind(_contraction(), parse_schedule(text)), 3 * 6 * 24 * ROW * 4
    assert asked_ahead(nest, replace(AVX512, l2=whole - 1)) is not None
    assert asked_ahead(nest, replace(AVX512, l2=whole)) is None
    assert asked_ahead(nest, replace(AVX512, l2=2 * 24 * ROW * 4)) is None  # Each piece may touch a line more.
    in_place = bind(_contraction(), parse_schedule("seq d:4 seq e:1 seq c:1 prim m=a n=b k=d"))
    assert asked_ahead(in_place, replace(AVX512, l2=whole - 1)) is not None
    uneven = bind(_contraction(), parse_schedule("seq c:1 seq e:1 seq a:192 prim m=a n=b k=d"))
    asked = asked_ahead(uneven, replace(AVX512, l2=whole - 1))
    assert asked is not None and asked.at is asked.around[0] and asked.around[0].axis == "e"
    short = bind(_contraction(), parse_schedule("seq e:1 seq a:128 seq c:1 prim m=a n=b k=d pack in0@3 d a"))
    assert asked_ahead(short, replace(AVX512, l2=whole - 1)) is None
