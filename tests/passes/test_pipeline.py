"""All passes in a row: the meaning stays, scratch keeps to its limit, and each says what it did and why."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from einloom.dtypes import FLOAT32, FLOAT64
from einloom.ir.bind import bind
from einloom.ir.interpret import interpret, interpret_nest
from einloom.ir.memory import Memory
from einloom.ir.text import parse_operation
from einloom.machine import AVX2, AVX512, NEON
from einloom.passes.model.tiles import SCRATCH_LIMIT
from einloom.passes.pipeline import PIPELINES, explain_passes, optimize_operation
from einloom.passes.values import Options, Rules

from ..ir.strategies import random_contraction, random_memories, random_operation
from .operations import PRODUCT

TINY = replace(AVX512, l1d=1024, l2=2048, l3=4096)
"""Caches so small that everything is blocked, packed and staged."""


@pytest.mark.parametrize("machine", [AVX512, AVX2, NEON, TINY], ids=["avx512", "avx2", "neon", "tiny caches"])
def test_optimising_keeps_the_meaning(machine: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("einloom.passes.parallelise.LEAST_WORK", 1)  # Threads share even the smallest work.
    for seed in range(120):
        rng = random.Random(seed)
        operation = random_operation(rng, rng.choice((FLOAT32, FLOAT64)), points=3000)
        memories = random_memories(rng, operation)
        expected = [Memory(memory.elements.copy(), memory.origin) for memory in memories]
        interpret(operation, expected)
        interpret_nest(bind(*optimize_operation(operation, machine, Options(rng.choice((1, 3))))), memories)  # type: ignore[arg-type]
        assert np.array_equal(memories[-1].elements, expected[-1].elements), f"seed {seed}\n{operation}"


def test_scratch_stays_below_its_limit() -> None:
    for seed in range(300):
        rng = random.Random(seed)
        operation = random_contraction(rng, FLOAT64, points=20_000)
        large = parse_operation(str(operation))
        for size in (4, 40, 400):
            grown = _grown(large, size)
            for machine in (AVX512, AVX2, NEON):
                assert bind(*optimize_operation(grown, machine, Options(2))).scratch_bytes <= SCRATCH_LIMIT


def _grown(operation, factor: int):
    """The operation with larger, contiguous axes: only sizes and strides count here, no memory is touched."""
    from dataclasses import replace

    axes = tuple(replace(axis, extent=min(axis.extent * factor, 5000)) for axis in operation.axes)
    operands = []
    for operand in operation.operands:
        order = sorted(range(len(axes)), key=lambda i: abs(operand.strides[i]))
        strides, step = [0] * len(axes), 1
        for i in order:
            if operand.strides[i]:
                strides[i] = step
                step *= axes[i].extent
        operands.append(replace(operand, strides=tuple(strides)))
    if np.prod([float(axis.extent) for axis in axes]) > 2**60:
        return operation
    try:
        return replace(operation, axes=axes, operands=tuple(operands))
    except Exception as error:  # an operand beyond 64-bit addresses
        assert "64-bit" in str(error)
        return operation


def test_every_pass_says_what_it_did_and_why() -> None:
    lines = explain_passes(PRODUCT, AVX512, Options(threads=2)).splitlines()
    said = dict(line.split("  ", 1) for line in lines if not line.startswith(" "))
    assert list(said) == [each.name for each in PIPELINES[Rules.CACHES]]
    assert said["fuse"].strip() == "no two axes lie like one in every operand"
    assert said["identify primitive"].strip() == "m=j n=i k=k: j is contiguous in in1 and out"
    assert "the cheapest of" in said["block contraction"]
    assert any("ms (arithmetic" in line and "element once: seq" in line for line in lines)
    assert said["parallelise"].endswith("among 2 threads")
    assert said["split"].strip().startswith("no: ")
