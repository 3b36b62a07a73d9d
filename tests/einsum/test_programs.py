"""Steps that differ in the names of their axes alone share a program, and what is shown of it is what runs."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

import einloom as el
from einloom.dtypes import FLOAT32
from einloom.expression.programs import decided, program_of
from einloom.ir.bind import bind
from einloom.ir.operation import Operation
from einloom.machine import AVX2, AVX512, NEON, Machine
from einloom.targets.image import image_of

from ..ir.strategies import random_operation


def renamed(operation: Operation, rng: random.Random) -> Operation:
    names = rng.sample("zyxwvutsrqponmlkjihgfedcba", len(operation.axes))
    return replace(operation, axes=tuple(replace(a, name=name) for a, name in zip(operation.axes, names)))


def test_steps_of_one_shape_share_a_program() -> None:
    chain = el.compile("ab,bc,cd,de->ae", *[(16, 16)] * 4, optimize=[(0, 1), (0, 1), (0, 1)], threads=1)
    code = chain.code
    assert len(code) % 3 == 0
    assert code == code[: len(code) // 3] * 3
    before = el.compile("ik,kj->ij", (16, 16), (16, 16), threads=1)
    assert before.code in code


@pytest.mark.parametrize("machine", [AVX512, AVX2, NEON], ids=lambda machine: machine.vector)
def test_names_of_axes_decide_nothing(machine: Machine) -> None:
    for seed in range(40):
        rng = random.Random(seed)
        operation = random_operation(rng, FLOAT32, points=100_000)
        threads = rng.choice((1, 2))
        shown = image_of(bind(*decided(renamed(operation, rng), None, machine, threads)), machine)
        assert program_of(operation, None, machine, threads).image == shown, str(operation)


def test_tiny_steps_of_a_tree_share_one_program() -> None:
    chain = el.compile("ab,bc,cd,de->ae", (2, 3), (3, 4), (4, 5), (5, 6), threads=1)
    code = chain.code
    assert code == code[: len(code) // 3] * 3
    assert "by table" in repr(chain)
    assert "by table" not in repr(el.compile("ab,bc,cd->ad", (2, 3), (3, 4), (4, 5), threads=1))
